"""The tables of the hierarchy editor: its rows, its levels and its problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from sfumato.engine.generalization.hierarchies import Problem, Rows
from sfumato.ui.panels.attributes.hierarchy.draft import Outcome, examples
from sfumato.ui.panels.attributes.hierarchy.wording import grouped, problem_text

Index = QModelIndex | QPersistentModelIndex

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class _Cells(QAbstractTableModel):
    """A table of texts; subclasses fill `headings` and `text`."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self.right: frozenset[int] = frozenset()

    def headings(self) -> Sequence[str]:
        """Return the columns' names."""
        return ()

    def text(self, row: int, column: int) -> str:
        """Return a cell."""
        del row, column
        return ""

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of rows."""
        return 0 if parent is not None and parent.isValid() else self.rows

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else len(self.headings())

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the columns' names, and the rows' numbers."""
        across = orientation == Qt.Orientation.Horizontal
        if role == Qt.ItemDataRole.DisplayRole:
            return self.headings()[section] if across else grouped(section + 1)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if not across or section in self.right else _LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        row, column = index.row(), index.column()
        if role in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.ToolTipRole,
            Qt.ItemDataRole.EditRole,
        ):
            return self.text(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column in self.right else _LEFT
        return None


class RowsModel(_Cells):
    """A hierarchy's table; a changed label is told, not made."""

    cell_given = Signal(int, int, str)
    """A row, a level, and the label that it should have."""

    def __init__(self) -> None:
        super().__init__()
        self._table: Rows = ()
        self._width = 0

    def show_rows(self, rows: Rows) -> None:
        """Show another table."""
        self.beginResetModel()
        self._table, self.rows = rows, len(rows)
        self._width = max((len(row) for row in rows[:5000]), default=0)
        self.endResetModel()

    def headings(self) -> Sequence[str]:
        """Return the value and its levels."""
        levels = [self.tr("Level {level}").format(level=i) for i in range(1, self._width)]
        return [self.tr("Value"), *levels] if self._width else []

    def text(self, row: int, column: int) -> str:
        """Return a label; a missing value as such."""
        cells = self._table[row]
        text = cells[column] if column < len(cells) else ""
        return text or (self.tr("(missing)") if column == 0 else "")

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return that labels can be edited, values can't."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        within = 0 < index.column() < len(self._table[index.row()])
        return flags | Qt.ItemFlag.ItemIsEditable if within else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tell a new label."""
        if role != Qt.ItemDataRole.EditRole:
            return False
        text = str(value).strip()
        if text != self.text(index.row(), index.column()):
            self.cell_given.emit(index.row(), index.column(), text)
        return True


class LevelsModel(_Cells):
    """What each level does: how many classes, how small, and what they are called."""

    def __init__(self, examples_shown: int = 3) -> None:
        super().__init__()
        self._outcome = Outcome()
        self._examples = examples_shown
        self.right = frozenset({1, 2})

    def show_outcome(self, outcome: Outcome) -> None:
        """Show another hierarchy, or none."""
        self.beginResetModel()
        self._outcome = outcome
        self.rows = outcome.hierarchy.height if outcome.hierarchy is not None else 0
        self.endResetModel()

    def headings(self) -> Sequence[str]:
        """Return the headings."""
        return [self.tr("Level"), self.tr("Classes"), self.tr("Smallest"), self.tr("For example")]

    def text(self, row: int, column: int) -> str:
        """Return a cell; the smallest class is counted in records."""
        hierarchy = self._outcome.hierarchy
        if hierarchy is None:
            return ""
        if column == 0:
            return str(row)
        if column == 1:
            return grouped(hierarchy.classes(row))
        if column == 2:
            return grouped(int(self._outcome.records[row].min()))
        return examples(hierarchy.names(row), self._examples)


class ProblemsModel(_Cells):
    """What is wrong with a table, one problem a row."""

    def __init__(self) -> None:
        super().__init__()
        self._problems: tuple[Problem, ...] = ()

    def show_problems(self, problems: tuple[Problem, ...]) -> None:
        """Show other problems."""
        self.beginResetModel()
        self._problems, self.rows = problems, len(problems)
        self.endResetModel()

    def problem(self, row: int) -> Problem:
        """Return the problem in a row."""
        return self._problems[row]

    def headings(self) -> Sequence[str]:
        """Return the headings."""
        return [self.tr("Problem")]

    def text(self, row: int, column: int) -> str:
        """Return what is wrong."""
        del column
        return problem_text(self._problems[row])
