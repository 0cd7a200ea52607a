"""The board as a table: rows are columns of the data, columns the original and the recipients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtWidgets import QWidget

from sfumato.analysis.planning.board import BoardCell, BoardRow, Gauges
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.engine.core.columns import Leaves, Role
from sfumato.engine.core.frozen import dataclass
from sfumato.ui.look.theme import font, themes
from sfumato.ui.look.wording import spoken, typeset, value_name
from sfumato.ui.panels.policy.board.words import (
    GROUPS,
    NOT_STARRED,
    GaugeText,
    StarredRows,
    cell_said,
    cell_text,
    cell_word,
    effect_of,
    gauge_texts,
    original_text,
    role_text,
)
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.tables import Index

ORIGINAL: Final = 0
"""The column that shows what the table holds; the recipients follow."""
_ROLES: Final = Qt.ItemDataRole


@dataclass(frozen=True)
class RoleLine:
    """The line above the columns of one role, which folds them away."""

    role: Role
    columns: int
    folded: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return tr(str(GROUPS[self.role]))

    @property
    def count(self) -> str:
        """How many columns it has, to stand behind its name."""
        return f" ({self.columns})"

    @property
    def title(self) -> str:
        """What it is called, with how many columns it has."""
        return self.name + self.count

    @property
    def said(self) -> str:
        """The same for a screen reader, with its state."""
        words = "{title}, folded" if self.folded else "{title}, unfolded"
        return tr(words, title=self.title)


class BoardModel(QAbstractTableModel):
    """What everybody gets of every column; the columns of a role can be folded away."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[BoardRow, ...] = ()
        self._people: tuple[str, ...] = ()
        self._notes: Mapping[str, str] = {}
        self._gauges: Mapping[str, Gauges] = {}
        self._found: Mapping[str, Readiness] = {}
        self._folded: set[Role] = set()
        self._first: tuple[str, ...] = ()
        self._wanted = ""
        self.lines: tuple[BoardRow | RoleLine, ...] = ()
        """What stands in the rows in sight."""
        self.stale = True
        """Whether the gauges are those of earlier settings."""
        themes().changed.connect(self._tell_all)

    # ----- what is shown

    def show_rows(
        self,
        rows: Sequence[BoardRow],
        people: Sequence[str],
        notes: Mapping[str, str],
        first: Sequence[str] = (),
    ) -> None:
        """Show rows; where only cells changed, selection and scrolling stay.

        Of a role's columns those named stand first, in their order.
        """
        places = {name: place for place, name in enumerate(first)}
        ordered = sorted(rows, key=lambda row: places.get(row.spec.name, len(places)))
        self._rows, self._notes = tuple(ordered), notes
        lines, before = self._lines_of(), self.lines
        names = [_key(line) for line in lines]
        if tuple(people) == self._people and names == [_key(line) for line in before]:
            self.lines = lines
            for row, (line, known) in enumerate(zip(lines, before, strict=True)):
                if not _same(line, known):  # what stays is not drawn again: a drag asks often
                    last = self.index(row, self.columnCount() - 1)
                    self.dataChanged.emit(self.index(row, 0), last)
                    self.headerDataChanged.emit(Qt.Orientation.Vertical, row, row)
            return
        self.beginResetModel()
        self.lines, self._people = lines, tuple(people)
        self.endResetModel()

    def show_gauges(
        self,
        gauges: Sequence[Gauges],
        found: Sequence[Readiness],
        *,
        stale: bool,
    ) -> None:
        """Show the figures above the recipients; grey where they are of earlier settings."""
        before, was_stale = (*self._gauges.values(), *self._found.values()), self.stale
        self._gauges = {each.recipient: each for each in gauges}
        self._found = {each.recipient: each for each in found}
        self.stale = stale
        now = (*gauges, *found)
        if len(now) != len(before) or not all(map(is_, now, before)):
            self._tell_all()
        elif stale != was_stale and self._people:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self._people))

    def _tell_all(self, *_changed: object) -> None:
        if self.lines:
            last = self.index(len(self.lines) - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)
        if self._people:
            across = Qt.Orientation.Horizontal
            self.headerDataChanged.emit(across, 0, len(self._people))

    def seek(self, text: str) -> None:
        """Show the columns whose names have a text in them."""
        self._wanted = text.strip().casefold()
        self._arrange()

    def fold(self, role: Role) -> None:
        """Fold the columns of a role away, or unfold them."""
        self._folded ^= {role}
        self._arrange()

    def _arrange(self) -> None:
        self.beginResetModel()
        self.lines = self._lines_of()
        self.endResetModel()

    def _lines_of(self) -> tuple[BoardRow | RoleLine, ...]:
        lines: list[BoardRow | RoleLine] = []
        for role in GROUPS:
            rows = [
                row
                for row in self._rows
                if row.spec.role is role and self._wanted in row.spec.name.casefold()
            ]
            if rows:
                folded = role in self._folded and not self._wanted
                lines.append(RoleLine(role, len(rows), folded))
                lines += [] if folded else rows
        return tuple(lines)

    # ----- what stands where

    @property
    def people(self) -> tuple[str, ...]:
        """The recipients, in the order of their columns."""
        return self._people

    def cell(self, row: int, column: int) -> BoardCell | None:
        """Return what a recipient gets; None of the original and of a group's line."""
        line = self.lines[row] if 0 <= row < len(self.lines) else None
        if not isinstance(line, BoardRow) or not ORIGINAL < column <= len(line.cells):
            return None
        cell = line.cells[column - 1]
        gauges = self._gauges.get(cell.recipient)
        if gauges is not None and cell.column in gauges.untold:
            return replace(cell, leaves=Leaves.LEFT_OUT, trust=0.0)  # suppressed in every row
        hidden = self.hidden(cell)
        left = 1.0 - hidden.rows / hidden.of if hidden.mostly else 1.0
        return replace(cell, trust=cell.trust * left)

    def place_of(self, name: str, recipient: str = "") -> tuple[int, int]:
        """Return where a column stands, and a recipient; −1 for what is not in sight."""
        names = [line.spec.name if isinstance(line, BoardRow) else "" for line in self.lines]
        row = names.index(name) if name in names else -1
        known = recipient in self._people
        return row, self._people.index(recipient) + 1 if known else ORIGINAL

    def ranked(self, row: int, by: int = 0) -> str:
        """Return the quasi-identifier so many lines away from a row; empty where there is none."""
        for place in (row, row + by):
            line = self.lines[place] if 0 <= place < len(self.lines) else None
            quasi = isinstance(line, BoardRow) and line.spec.role is Role.QUASI_IDENTIFIER
            if not quasi:
                return ""
        return line.spec.name if isinstance(line, BoardRow) else ""

    def hidden(self, cell: BoardCell) -> StarredRows:
        """Return in how many rows a cell's column is suppressed."""
        gauges = self._gauges.get(cell.recipient)
        if gauges is None:
            return NOT_STARRED
        rows = gauges.hidden.get(cell.column, 0)
        return StarredRows(rows, 0 if gauges.by_unit else gauges.of)

    def gauges(self, section: int) -> tuple[GaugeText, ...]:
        """Return what is told above a recipient."""
        name = self._people[section - 1]
        return gauge_texts(self._gauges.get(name), None if self.stale else self._found.get(name))

    def note(self, section: int) -> str:
        """Return the custodian's remark on a recipient."""
        return self._notes.get(self._people[section - 1], "")

    # ----- what Qt asks

    def rowCount(self, parent: Index | None = None) -> int:
        """Return how many lines there are."""
        return 0 if parent is not None and parent.isValid() else len(self.lines)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return how many columns there are: the original's and the recipients'."""
        return 0 if parent is not None and parent.isValid() else 1 + len(self._people)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return one aspect of a cell."""
        if role == _ROLES.FontRole:
            return font()
        line, cell = self.lines[index.row()], self.cell(index.row(), index.column())
        if isinstance(line, RoleLine):
            told = {int(_ROLES.AccessibleTextRole): line.said, int(_ROLES.DisplayRole): ""}
            return told.get(int(role))
        return self._original(line, role) if cell is None else self._told(cell, role)

    def _told(self, cell: BoardCell, role: int) -> str | None:
        if role == _ROLES.DisplayRole:
            return value_name(cell_text(cell, self.hidden(cell)))
        if role == _ROLES.AccessibleTextRole:
            return cell_said(cell, self.hidden(cell))
        if role == _ROLES.AccessibleDescriptionRole:
            return self._why(cell)
        if role == _ROLES.ToolTipRole:
            hidden = self.hidden(cell)
            told = f"{cell.column}: {effect_of(cell, hidden)}"
            return "\n".join(filter(None, (cell_text(cell, hidden), told, self._why(cell))))
        return None

    def word(self, index: Index) -> str:
        """Return how a column leaves, as it stands below the example."""
        cell = self.cell(index.row(), index.column())
        return "" if cell is None else cell_word(cell, self.hidden(cell))

    def _original(self, row: BoardRow, role: int) -> str | None:
        text = original_text(row)
        if role == _ROLES.AccessibleTextRole:
            name = row.spec.name.replace("_", " ")
            return tr("Original, {column}: {value}", column=name, value=text)
        return value_name(text) if role in (_ROLES.DisplayRole, _ROLES.ToolTipRole) else None

    @staticmethod
    def _why(cell: BoardCell) -> str:
        return typeset(spoken(cell.problem)) if cell.problem else ""

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a recipient's name, with the gauges, or a column's."""
        if orientation == Qt.Orientation.Vertical:
            return self._name(section, role)
        if not 0 <= section <= len(self._people):
            return None
        if section == ORIGINAL:
            return tr("Original") if role in _NAMING else None
        return self._person(section, role)

    def _person(self, section: int, role: int) -> str | None:
        name = self._people[section - 1]
        if role == _ROLES.DisplayRole:
            return name
        if role == _ROLES.ToolTipRole:
            told = [f"{g.name}: {g.value}. {g.why}".strip() for g in self.gauges(section)]
            return "\n".join((name, *filter(None, (self.note(section),)), *told))
        if role == _ROLES.AccessibleTextRole:
            told = [f"{gauge.name} {gauge.value}" for gauge in self.gauges(section)]
            return f"{name}: {'; '.join(told)}"
        return None

    def _name(self, section: int, role: int) -> str | None:
        if not 0 <= section < len(self.lines):
            return None
        line = self.lines[section]
        if isinstance(line, RoleLine):
            if role == _ROLES.AccessibleTextRole:
                return line.said
            return line.title if role in (_ROLES.DisplayRole, _ROLES.ToolTipRole) else None
        name = value_name(line.spec.name)
        if role == _ROLES.DisplayRole:
            return name
        told = f"{name}: {role_text(line)}"
        if role == _ROLES.ToolTipRole and line.spec.role is Role.QUASI_IDENTIFIER:
            hint = tr("Drag it up or down, or press Alt+Up and Alt+Down: the most important first.")
            return f"{told}\n{hint}"
        return told if role in (_ROLES.ToolTipRole, _ROLES.AccessibleTextRole) else None


_NAMING: Final = (_ROLES.DisplayRole, _ROLES.AccessibleTextRole, _ROLES.ToolTipRole)


def _same(line: BoardRow | RoleLine, before: BoardRow | RoleLine) -> bool:
    """Return whether two lines are drawn alike."""
    if isinstance(line, BoardRow) and isinstance(before, BoardRow):
        told = line.spec is before.spec and line.example is before.example
        return told and (line.cells, line.beside) == (before.cells, before.beside)
    return line == before


def _key(line: BoardRow | RoleLine) -> object:
    return line if isinstance(line, RoleLine) else line.spec.name
