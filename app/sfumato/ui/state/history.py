"""Undo and redo: since documents never change, remembering the old one is all it takes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document

STEPS_KEPT: Final = 200


@dataclass(frozen=True)
class State:
    """What an edit can change: the document, and the table it is about."""

    document: Document
    table: Table | None = None


@dataclass(frozen=True)
class Step:
    """One edit: what it was, and the state before it."""

    text: str
    before: State
    merge_key: Hashable | None = None


@dataclass
class History:
    """The edits that can be undone, and those that can be done again.

    At most one table beside the present one is kept: they can be large.
    """

    _undo: list[Step] = field(default_factory=list)
    _redo: list[Step] = field(default_factory=list)

    @property
    def undo_text(self) -> str | None:
        """What undo would take back; None where there is nothing."""
        return self._undo[-1].text if self._undo else None

    @property
    def redo_text(self) -> str | None:
        """What redo would do again; None where there is nothing."""
        return self._redo[-1].text if self._redo else None

    def push(self, text: str, before: State, merge_key: Hashable | None = None) -> None:
        """Remember the state before an edit.

        Edits in a row with the same `merge_key` (a slider being dragged) are one step.
        """
        self._redo.clear()
        last = self._undo[-1] if self._undo else None
        if merge_key is not None and last is not None and last.merge_key == merge_key:
            return
        self._undo.append(Step(text, before, merge_key))
        del self._undo[:-STEPS_KEPT]

    def forget_old_tables(self, present: Table | None) -> None:
        """Drop the steps that lead back beyond the table before the present one."""
        earlier: Table | None = None
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
            last = self._undo[-1]
            self._undo[-1] = Step(last.text, last.before)

    def undo(self, now: State) -> State | None:
        """Return the state before the last edit, and keep `now` for redo."""
        return _move(self._undo, self._redo, now)

    def redo(self, now: State) -> State | None:
        """Return the state after the edit that was undone last, and keep `now` for undo."""
        return _move(self._redo, self._undo, now)

    def clear(self) -> None:
        """Forget every edit."""
        self._undo.clear()
        self._redo.clear()


def _move(source: list[Step], target: list[Step], now: State) -> State | None:
    if not source:
        return None
    step = source.pop()
    target.append(Step(step.text, now))
    return step.before
