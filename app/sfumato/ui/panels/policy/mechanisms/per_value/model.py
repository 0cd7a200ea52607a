"""The grid's cells: each value with its limits, and what the solved matrix makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QWidget

from sfumato.plots.figure import percent
from sfumato.ui.look.theme import font, themes
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.mechanisms.per_value.draft import (
    EMPTY,
    RHO1,
    RHO2,
    LimitsDraft,
    meaning,
    shown,
)
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.icons import icon_pixmap

Index = QModelIndex | QPersistentModelIndex
Floats = npt.NDArray[np.float64]

VALUE, SHARE, LOW, HIGH, GAMMA, KEPT, UP, DOWN = range(8)
EDITABLE: Final = {LOW: RHO1, HIGH: RHO2}
NONE_TEXT: Final = "–"
Role = Qt.ItemDataRole


@dataclass(frozen=True)
class Solved:
    """What the matrix in force does to each value.

    Parameters
    ----------
    retention
        The retention probabilities p, shape (m,).
    up, down
        The worst odds ratios, shape (m,).
    """

    retention: Floats
    up: Floats
    down: Floats


class LimitsModel(QAbstractTableModel):
    """Values in rows, in the order and the selection that the person asked for."""

    written = Signal(object)
    """Cells were written: a mapping from (position, column of the draft) to text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draft: LimitsDraft | None = None
        self._gammas: Floats = np.zeros(0)
        self._solved: Solved | None = None
        self._problems: dict[tuple[int, int], str] = {}
        self._order: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._sorting = (-1, False)
        self._needle, self._only_own = "", False
        self._number_font = font(tabular=True)
        self._rule_font = QFont(font(tabular=True))
        self._rule_font.setItalic(True)
        themes().changed.connect(self._repaint)

    # ----- what is shown

    def show_draft(
        self, draft: LimitsDraft, gammas: Floats, problems: dict[tuple[int, int], str]
    ) -> None:
        """Show limits; of the same domain, order and selection stay."""
        same = self._draft is not None and self._draft.names == draft.names
        self._draft, self._gammas, self._problems = draft, gammas, problems
        if same:
            self._repaint()
        else:
            self._solved = None
            self.arrange()

    def show_solved(self, solved: Solved | None) -> None:
        """Show what comes of the limits in force; None where there is nothing yet."""
        self._solved = solved
        self._repaint()

    def narrow(self, needle: str, *, only_own: bool) -> None:
        """Show only values whose name contains a text, or that have limits of their own."""
        self._needle, self._only_own = needle.casefold().strip(), only_own
        self.arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; -1 restores the domain's order."""
        self._sorting = (column, order == Qt.SortOrder.DescendingOrder)
        self.arrange()

    def arrange(self) -> None:
        """Put the rows in order anew."""
        self.beginResetModel()
        self._order = self._arranged()
        self.endResetModel()

    def _arranged(self) -> npt.NDArray[np.intp]:
        draft = self._draft
        if draft is None:
            return np.zeros(0, dtype=np.intp)
        order = np.arange(len(draft.names), dtype=np.intp)
        column, descending = self._sorting
        if column == VALUE:
            order = np.argsort(np.array([name.casefold() for name in draft.names]), kind="stable")
        elif column > VALUE:
            # Values without a number stay at the end, whichever way the others go.
            keys = self._keys(column)
            order = np.argsort(-keys if descending else keys, kind="stable")
        if column == VALUE and descending:
            order = order[::-1]
        if self._needle:
            order = order[[self._needle in draft.names[place].casefold() for place in order]]
        if self._only_own:
            troubled = {place for place, _ in self._problems}
            order = order[[place in draft.own or place in troubled for place in order]]
        return order

    def _keys(self, column: int) -> Floats:
        draft = self._draft
        if draft is None:
            return np.zeros(0)
        if column == SHARE:
            return draft.frequencies
        if column in EDITABLE:
            texts = [self._limit(place, EDITABLE[column]) for place in range(len(draft.names))]
            return np.array([_leading_number(text) for text in texts])
        if column == GAMMA:
            return self._gammas
        if self._solved is None:
            return np.full(len(draft.names), np.nan)
        return (self._solved.retention, self._solved.up, self._solved.down)[column - KEPT]

    def place(self, row: int) -> int:
        """Return the position in the domain of a row in sight."""
        return int(self._order[row])

    def places_from(self, row: int) -> list[int]:
        """Return the positions of a row in sight and all below it."""
        return [int(place) for place in self._order[row:]]

    def row_of(self, place: int) -> int | None:
        """Return the row of a value; None where it is not in sight."""
        found = np.flatnonzero(self._order == place)
        return int(found[0]) if len(found) else None

    # ----- Qt's questions

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of values in sight."""
        return 0 if parent is not None and parent.isValid() else len(self._order)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else 8

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return that limits can be edited."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() in EDITABLE else flags

    def data(self, index: Index, role: int = Role.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        place, column = self.place(index.row()), index.column()
        if role in (Role.DisplayRole, Role.EditRole):
            return self._text(place, column)
        if role == Role.TextAlignmentRole:
            return _alignment(column)
        if role == Role.FontRole:
            by_rule = column in EDITABLE and self._by_rule(place)
            return self._rule_font if by_rule else self._number_font
        problem = self._problems.get((place, EDITABLE.get(column, -1)))
        if role == Role.ToolTipRole:
            return problem or self._tip(place, column)
        if role == Role.ForegroundRole:
            return self._ink(place, column, problem is not None)
        return self._mark(role) if problem is not None else None

    @staticmethod
    def _mark(role: int) -> Any:
        """Return what marks a cell with a problem: a sign and a ground."""
        theme = themes().current
        if role == Role.DecorationRole:
            return icon_pixmap("danger", "danger", 16, 2.0)
        return QColor(theme.tint(theme.style.danger)) if role == Role.BackgroundRole else None

    def _ink(self, place: int, column: int, wrong: bool) -> QColor | None:
        style = themes().current.style
        if wrong:
            return QColor(style.danger)
        if column in EDITABLE and self._by_rule(place):
            return QColor(style.muted)
        return QColor(style.muted) if column == SHARE else None

    def _by_rule(self, place: int) -> bool:
        return self._draft is not None and place not in self._draft.own

    def _text(self, place: int, column: int) -> str:
        draft = self._draft
        if draft is None:
            return ""
        if column == VALUE:
            return draft.names[place]
        if column == SHARE:
            return percent(float(draft.frequencies[place]), 1)
        if column in EDITABLE:
            return self._limit(place, EDITABLE[column])
        result = float(self._keys(column)[place])
        return NONE_TEXT if np.isnan(result) else number(result)

    def _limit(self, place: int, column: int) -> str:
        if self._draft is None:
            return ""
        pair = self._draft.own.get(place, EMPTY)
        if pair != EMPTY:
            return pair[column]
        rule = self._draft.rule(place)
        return shown(rule[column]) if rule is not None else ""

    def _tip(self, place: int, column: int) -> str:
        draft = self._draft
        if draft is None:
            return ""
        if column not in EDITABLE:
            return draft.names[place] if column == VALUE else ""
        pair = draft.own.get(place)
        if pair is not None:
            return meaning(pair)
        if draft.theta is None:
            return tr("No limit of its own, and no rule.")
        if not np.isfinite(self._gammas[place]):
            return tr("So frequent that the tolerance rule sets no limit.")
        return tr("By the tolerance rule: at most θ times as likely as its share here.")

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole
    ) -> Any:
        """Return a column's name and what it means."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Role.TextAlignmentRole:
            return _alignment(section)
        if role == Role.ToolTipRole:
            return _heading_tip(section)
        if role == Role.DisplayRole:
            heads = (tr("Value"), tr("Share"), "ρ1", "ρ2", "γ", "p", tr("Odds ↑"), tr("Odds ↓"))
            return heads[section]
        return None

    def setData(self, index: Index, value: Any, role: int = Role.EditRole) -> bool:
        """Ask for a cell to be written; the draft decides."""
        column = EDITABLE.get(index.column())
        if role != Role.EditRole or column is None:
            return False
        self.written.emit({(self.place(index.row()), column): str(value)})
        return True

    def _repaint(self) -> None:
        if len(self._order):
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._order) - 1, DOWN))


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignLeft if column == VALUE else Qt.AlignmentFlag.AlignRight
    return side | Qt.AlignmentFlag.AlignVCenter


def _leading_number(text: str) -> float:
    try:
        return float(text.split(";", maxsplit=1)[0].replace(",", "."))
    except ValueError:
        return float("nan")


def _heading_tip(column: int) -> str:
    return (
        "",
        tr("The value's share that limits are solved for"),
        tr("A belief of at most ρ1 in this value …"),
        tr("… stays at most ρ2, whatever is released"),
        tr("The bound on the odds that follows: ρ2(1−ρ1) / (ρ1(1−ρ2))"),
        tr("Retention probability: the value is kept on purpose this often"),
        tr("The most by which a released value multiplies the odds on this one"),
        tr("The least: below 1, a released value makes this one less likely"),
    )[column]
