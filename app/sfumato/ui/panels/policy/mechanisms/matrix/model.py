"""The grid's cells and the sums below them."""

from __future__ import annotations

import math
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from sfumato.engine.matrices.transition_matrix import TOLERANCE
from sfumato.ui.look.theme import font, mix, themes
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.mechanisms.matrix.draft import MatrixDraft
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.icons import icon_pixmap

Index = QModelIndex | QPersistentModelIndex
Role = Qt.ItemDataRole
ZERO: Final = "0"
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class EntriesModel(QAbstractTableModel):
    """Rows are released values, columns original ones."""

    written = Signal(object)
    """Cells were typed: a mapping from (released, original) to text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draft: MatrixDraft | None = None
        self._problems: dict[tuple[int, int], str] = {}
        self._font = font(tabular=True)
        themes().changed.connect(self.repaint)

    def show_draft(self, draft: MatrixDraft) -> None:
        """Show a matrix; of the same domain, selection and scrolling stay."""
        same = self._draft is not None and self._draft.matrix.names == draft.matrix.names
        if same:
            self._draft, self._problems = draft, draft.cell_problems()
            self.repaint()
        else:
            self.beginResetModel()
            self._draft, self._problems = draft, draft.cell_problems()
            self.endResetModel()

    def repaint(self) -> None:
        """Tell that every cell may look different."""
        size = self.rowCount()
        if size:
            self.dataChanged.emit(self.index(0, 0), self.index(size - 1, size - 1))

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of values."""
        if self._draft is None or (parent is not None and parent.isValid()):
            return 0
        return len(self._draft.matrix.names)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of values."""
        return self.rowCount(parent)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return that every cell can be edited."""
        del index
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def data(self, index: Index, role: int = Role.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        draft, cell = self._draft, (index.row(), index.column())
        if draft is None:
            return None
        if role == Role.EditRole:
            return draft.text(*cell)
        if role == Role.DisplayRole:
            chance = float(draft.matrix.entries[cell])
            return draft.text(*cell) if math.isnan(chance) else number(chance, 4)
        fixed = {Role.TextAlignmentRole: _RIGHT, Role.FontRole: self._font}
        if role in fixed:
            return fixed[Role(role)]
        return self._look(draft, cell, role)

    def _look(self, draft: MatrixDraft, cell: tuple[int, int], role: int) -> Any:
        """Return a cell's colours and tip: problems, structural zeros, and the others' shade."""
        problem, chance = self._problems.get(cell), float(draft.matrix.entries[cell])
        theme = themes().current
        style = theme.style
        if role == Role.ToolTipRole:
            return problem or self._tip(draft, cell, chance)
        if role == Role.DecorationRole:
            return icon_pixmap("danger", "danger", 16, 2.0) if problem else None
        if role == Role.ForegroundRole:
            return QColor(style.danger if problem else theme.quiet if chance == 0 else style.text)
        if role == Role.BackgroundRole:
            return QColor(theme.tint(style.danger) if problem else _shade(chance))
        return None

    def _tip(self, draft: MatrixDraft, cell: tuple[int, int], chance: float) -> str:
        names = draft.matrix.names
        if chance == 0:
            return tr(
                "{original} is never released as {released}. Normalising keeps this zero.",
                original=names[cell[1]],
                released=names[cell[0]],
            )
        return tr(
            "{original} is released as {released} with probability {chance}.",
            original=names[cell[1]],
            released=names[cell[0]],
            chance=f"{chance:.6g}",
        )

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole
    ) -> Any:
        """Return a value's name."""
        if self._draft is None:
            return None
        horizontal = orientation == Qt.Orientation.Horizontal
        if role == Role.DisplayRole:
            return self._draft.matrix.names[section]
        if role == Role.ToolTipRole:
            side = tr("Original value") if horizontal else tr("Released value")
            return f"{side}: {self._draft.matrix.names[section]}"
        if role == Role.TextAlignmentRole:
            return _RIGHT if horizontal else _LEFT
        return None

    def setData(self, index: Index, value: Any, role: int = Role.EditRole) -> bool:
        """Ask for a cell to be written; the draft decides."""
        if role != Role.EditRole:
            return False
        self.written.emit({(index.row(), index.column()): str(value)})
        return True


class SumsModel(QAbstractTableModel):
    """Two lines: what each column sums to, and what is too much or too little."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draft: MatrixDraft | None = None
        self._sums: list[float] = []

    def show_draft(self, draft: MatrixDraft) -> None:
        """Show the sums of a matrix."""
        self.beginResetModel()
        self._draft = draft
        self._sums = [float(total) for total in draft.matrix.column_sums]
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        """Return two."""
        return 0 if self._draft is None or (parent is not None and parent.isValid()) else 2

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of values."""
        return 0 if parent is not None and parent.isValid() else len(self._sums)

    def data(self, index: Index, role: int = Role.DisplayRole) -> Any:
        """Return what is shown of a sum, or of how far it is off."""
        total = self._sums[index.column()]
        right = abs(total - 1) <= TOLERANCE
        style = themes().current.style
        shown: dict[int, Any] = {
            Role.DisplayRole: (_sum_text if index.row() == 0 else _off_text)(total),
            Role.ToolTipRole: "" if right else self._tip(index.column(), total - 1),
            Role.TextAlignmentRole: _RIGHT,
            Role.FontRole: font(tabular=True, strong=not right),
            Role.ForegroundRole: QColor(style.muted if right else style.danger),
        }
        return shown.get(role)

    def _tip(self, column: int, off: float) -> str:
        name = self._draft.matrix.names[column] if self._draft is not None else ""
        if math.isnan(off):
            return tr("A chance of {name} is not a number.", name=name)
        return tr(
            "The chances of {name} sum to {total}: {off} too {side}.",
            name=name,
            total=f"{1 + off:.6g}",
            off=f"{abs(off):.3g}",
            side=tr("much") if off > 0 else tr("little"),
        )

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole
    ) -> Any:
        """Return what a line is."""
        if orientation == Qt.Orientation.Vertical and role == Role.DisplayRole:
            return tr("Sum") if section == 0 else tr("Too much, too little")
        return None


def _shade(chance: float) -> str:
    """Return the ground of a sound chance: greyed where it is 0, else by its size."""
    theme = themes().current
    if chance == 0:
        return theme.style.line
    return mix(theme.style.accent, theme.style.surface, 0.35 * min(chance, 1.0))


def _sum_text(total: float) -> str:
    return "?" if math.isnan(total) else number(total, 4)


def _off_text(total: float) -> str:
    """Return how far a sum is from 1; nothing where it is right."""
    off = total - 1
    if math.isnan(off) or abs(off) <= TOLERANCE:
        return ""
    return f"{'+' if off > 0 else '−'}{abs(off):.3g}"
