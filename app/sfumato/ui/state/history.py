"""Undo and redo: since documents never change, remembering the old one is all it takes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field, replace
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.project.document.model import Document
from sfumato.ui.state.insights import SurveyedTable

STEPS_KEPT: Final = 200


@dataclass(frozen=True)
class EditState:
    """What an edit can change: the document, and the table it is about."""

    document: Document
    table: SurveyedTable | None = None


@dataclass(frozen=True)
class EditStep:
    """One edit: what it was, and the state before it."""

    text: str
    before: EditState
    merge_key: Hashable | None = None
    panel: str = ""
    """The panel in sight when it was made, by its name."""


@dataclass
class History:
    """The edits that can be undone, and those that can be done again.

    At most one table beside the present one is kept: they can be large.
    """

    _undo: list[EditStep] = field(default_factory=list)
    _redo: list[EditStep] = field(default_factory=list)

    @property
    def last(self) -> EditStep | None:
        """What undo would take back; None where there is nothing."""
        return self._undo[-1] if self._undo else None

    @property
    def next(self) -> EditStep | None:
        """What redo would do again; None where there is nothing."""
        return self._redo[-1] if self._redo else None

    def push(
        self, text: str, before: EditState, merge_key: Hashable | None = None, panel: str = ""
    ) -> None:
        """Remember the state before an edit, and the panel that it was made in.

        Edits in a row with the same `merge_key` (a slider being dragged) are one step.
        """
        self._redo.clear()
        if merge_key is not None and self.last is not None and self.last.merge_key == merge_key:
            return
        self._undo.append(EditStep(text, before, merge_key, panel))
        del self._undo[:-STEPS_KEPT]

    def forget_old_tables(self, present: SurveyedTable | None) -> None:
        """Drop the steps that lead back beyond the table before the present one."""
        earlier: SurveyedTable | None = None
        for place in range(len(self._undo) - 1, -1, -1):
            table = self._undo[place].before.table
            if table is None or table is present or table is earlier:
                continue
            if earlier is not None:
                del self._undo[: place + 1]
                return
            earlier = table

    def end_merge(self) -> None:
        """Let the next edit be a step of its own, whatever its merge key."""
        if self._undo:
            self._undo[-1] = replace(self._undo[-1], merge_key=None)

    def undo(self, now: EditState) -> EditState | None:
        """Return the state before the last edit, and keep `now` for redo."""
        return _move(self._undo, self._redo, now)

    def redo(self, now: EditState) -> EditState | None:
        """Return the state after the edit that was undone last, and keep `now` for undo."""
        return _move(self._redo, self._undo, now)

    def clear(self) -> None:
        """Forget every edit."""
        self._undo.clear()
        self._redo.clear()


def _move(source: list[EditStep], target: list[EditStep], now: EditState) -> EditState | None:
    if not source:
        return None
    step = source.pop()
    target.append(replace(step, before=now, merge_key=None))
    return step.before


def changed_place(before: Document, after: Document) -> tuple[str, str]:
    """Return the column or policy entry that differs between two documents, and the recipient.

    The first of several is named; both are empty where nothing of the kind differs.
    """
    for recipient in after.recipients:
        old = next((one for one in before.recipients if one.name == recipient.name), None)
        stated = {} if old is None else old.statements
        keys = [key for key, one in recipient.statements.items() if stated.get(key) != one]
        if old is not None and (keys or old.view != recipient.view):
            return next(iter(keys), ""), recipient.name
    entries = {entry.key: entry for entry in before.policy}
    changed = [entry.key for entry in after.policy if entries.get(entry.key) != entry]
    columns = {column.name: column for column in before.columns}
    changed += [column.name for column in after.columns if columns.get(column.name) != column]
    return next(iter(changed), ""), ""
