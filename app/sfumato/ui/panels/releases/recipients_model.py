"""Who can get a release, and when they got one last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtWidgets import QWidget

from sfumato.analysis.since_release import SinceRelease
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import Document, Recipient
from sfumato.ui.look.theme import font
from sfumato.ui.look.wording import local_day, spoken, statement_text

Index = QModelIndex | QPersistentModelIndex
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


class CandidatesModel(QAbstractTableModel):
    """Recipients with a tick each."""

    ticked = Signal()
    """Another recipient was ticked, or one was unticked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Candidate, ...] = ()
        self._left_out: set[str] = set()

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names that are ticked, in order."""
        return tuple(row.name for row in self._rows if row.name not in self._left_out)

    def show_candidates(self, candidates: Sequence[Candidate]) -> None:
        """Show recipients; new ones are ticked."""
        self.beginResetModel()
        self._rows = tuple(candidates)
        self._left_out &= {row.name for row in self._rows}
        self.endResetModel()

    def choose(self, names: Sequence[str]) -> None:
        """Tick exactly these recipients."""
        self._left_out = {row.name for row in self._rows} - set(names)
        if self._rows:
            self.dataChanged.emit(self.index(0, NAME), self.index(len(self._rows) - 1, NAME))
        self.ticked.emit()

    def choose_all(self, ticked: bool) -> None:
        """Tick everybody, or nobody."""
        self.choose([row.name for row in self._rows] if ticked else [])

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of recipients."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else 3

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        row = self._rows[index.row()]
        text = (row.name, row.levels, row.last)[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return text
        if role == Qt.ItemDataRole.ToolTipRole:
            return "\n".join((text, *(row.changes if index.column() == LAST else ())))
        if role == Qt.ItemDataRole.CheckStateRole and index.column() == NAME:
            left_out = row.name in self._left_out
            return Qt.CheckState.Unchecked if left_out else Qt.CheckState.Checked
        if role == Qt.ItemDataRole.FontRole and index.column() != NAME:
            return font(tabular=True)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tick or untick a recipient."""
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != NAME:
            return False
        name = self._rows[index.row()].name
        if Qt.CheckState(value) == Qt.CheckState.Checked:
            self._left_out.discard(name)
        else:
            self._left_out.add(name)
        self.dataChanged.emit(index, index)
        self.ticked.emit()
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return what can be done with a cell."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsUserCheckable if index.column() == NAME else flags

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return a column's name."""
        if orientation != Qt.Orientation.Horizontal or role != Qt.ItemDataRole.DisplayRole:
            return None
        return (self.tr("Recipient"), self.tr("Levels"), self.tr("Last release"))[section]


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
