"""Who can get a release, and when they got one last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from sfumato.analysis.since_release import SinceRelease
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import Document, Recipient
from sfumato.ui.look.wording import local_day, spoken, statement_text
from sfumato.ui.widgets.tables import Cell, Heading, TickedModel

NAME, LEVELS, LAST = range(3)


@dataclass(frozen=True)
class Candidate:
    """One recipient.

    Parameters
    ----------
    name
        The recipient.
    levels
        Their levels, attribute by attribute.
    last
        When a release was made for them last, and whether anything has changed since.
    changes
        What has changed since.
    """

    name: str
    levels: str
    last: str
    changes: tuple[str, ...] = ()


class CandidatesModel(TickedModel):
    """Recipients with a tick each."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._candidates: tuple[Candidate, ...] = ()
        headings = (
            Heading(self.tr("Recipient")),
            Heading(self.tr("Levels"), tabular=True),
            Heading(self.tr("Last release"), tabular=True),
        )
        self.lay_out(0, headings)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names that are ticked, in order."""
        return tuple(each.name for each in self._candidates if self.is_ticked(each.name))

    def show_candidates(self, candidates: Sequence[Candidate]) -> None:
        """Show recipients; new ones are ticked."""
        self._candidates = tuple(candidates)
        names = [each.name for each in candidates]
        self._left_out &= set(names)
        self.show_lines(names)

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        one = self._candidates[row]
        text = (one.name, one.levels, one.last)[column]
        return Cell(text, "\n".join((text, *(one.changes if column == LAST else ()))))


def candidates_of(document: Document, since: Sequence[SinceRelease]) -> tuple[Candidate, ...]:
    """Return every recipient with their levels and their last release.

    Parameters
    ----------
    document
        The policy and the recipients.
    since
        What has changed since everybody's last release, in the recipients' order.
    """
    return tuple(
        Candidate(recipient.name, _levels(document, recipient), _last(one), changes_told(one))
        for recipient, one in zip(document.recipients, since, strict=True)
    )


def changes_told(since: SinceRelease) -> tuple[str, ...]:
    """Return what has changed since a recipient's last release, attribute by attribute."""
    return tuple(
        f"{name}: {spoken(words)}" if name else spoken(words) for name, words in since.changes
    )


def _levels(document: Document, recipient: Recipient) -> str:
    parts = []
    for entry in document.policy:
        statement = recipient.statements.get(entry.key)
        text = (
            statement_text(mechanism_called(entry.mechanism), statement)
            if statement is not None
            else _tr("not set")
        )
        parts.append(f"{entry.key}: {text}")
    return ";  ".join(parts)


def _last(since: SinceRelease) -> str:
    if since.record is None:
        return _tr("never")
    day = local_day(since.record.recorded_at)
    if since.current:
        return _tr("{day}, same levels").format(day=day)
    return _tr("{day}, changed since").format(day=day)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Releases", text)
