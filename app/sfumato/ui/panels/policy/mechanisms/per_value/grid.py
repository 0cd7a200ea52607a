"""The grid of limits: each value with its limits, and what the solved matrix makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.plots.axes import percent
from sfumato.ui.look.theme import Space, scaled, themes
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.mechanisms.per_value.limits import (
    EMPTY,
    RHO1,
    RHO2,
    Floats,
    LimitsDraft,
    meaning,
    shown,
)
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.sheets import SheetView
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading

VALUE, SHARE, LOW, HIGH, GAMMA, KEPT, UP, DOWN = range(8)
EDITABLE: Final = {LOW: RHO1, HIGH: RHO2}
NONE_TEXT: Final = "–"
ROWS_IN_SIGHT = 9
NARROWEST = 56
WIDTHS = {SHARE: 68, LOW: 82, HIGH: 82, GAMMA: 60, KEPT: 84, UP: 66, DOWN: 66}


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


class LimitsModel(CellsModel):
    """Values in rows, in the order and the selection that the person asked for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_headings(), parent)
        self._draft = LimitsDraft((), np.zeros(0))
        self._gammas: Floats = np.zeros(0)
        self._solved: Solved | None = None
        self._problems: dict[tuple[int, int], str] = {}
        self._order: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._sorting = (-1, False)
        self._needle, self._only_own = "", False

    # ----- what is shown

    def show_draft(
        self,
        draft: LimitsDraft,
        gammas: Floats,
        problems: dict[tuple[int, int], str],
        solved: Solved | None,
    ) -> None:
        """Show limits, and what comes of those in force; None where there is nothing yet.

        Of the same domain, order and selection stay.
        """
        same = self._draft.names == draft.names
        self._draft, self._gammas, self._problems, self._solved = draft, gammas, problems, solved
        if same:
            self.repaint()
        else:
            self._arrange()

    def narrow(self, needle: str, *, only_own: bool) -> None:
        """Show only values whose name contains a text, or that have limits of their own."""
        self._needle, self._only_own = needle.casefold().strip(), only_own
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; -1 restores the domain's order."""
        self._sorting = (column, order == Qt.SortOrder.DescendingOrder)
        self._arrange()

    def _arrange(self) -> None:
        """Put the rows in order anew."""
        self._order = self._ordered()
        self.lay_out(len(self._order))

    def _ordered(self) -> npt.NDArray[np.intp]:
        draft = self._draft
        order = np.arange(len(draft.names), dtype=np.intp)
        column, descending = self._sorting
        if column == VALUE:
            order = np.argsort(np.array([name.casefold() for name in draft.names]), kind="stable")
            order = order[::-1] if descending else order
        elif column > VALUE:
            # Values without a number stay at the end, whichever way the others go.
            keys = self._keys(column)
            order = np.argsort(-keys if descending else keys, kind="stable")
        if self._needle:
            order = order[[self._needle in draft.names[place].casefold() for place in order]]
        if self._only_own:
            troubled = {place for place, _ in self._problems}
            order = order[[place in draft.own or place in troubled for place in order]]
        return order

    def _keys(self, column: int) -> Floats:
        """Return the numbers of a column, shape (m,); NaN where there is none."""
        draft = self._draft
        if column in EDITABLE:
            places = range(len(draft.names))
            return np.array([_leading_number(self._limit(at, EDITABLE[column])) for at in places])
        if column in (SHARE, GAMMA):
            return draft.frequencies if column == SHARE else self._gammas
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

    # ----- its cells

    def cell(self, row: int, column: int) -> Cell:
        """Return a value's name, its share, a limit or what comes of it."""
        place, draft = self.place(row), self._draft
        if column == VALUE:
            return Cell(draft.names[place], draft.names[place])
        if column == SHARE:
            share = percent(float(draft.frequencies[place]), 1)
            return Cell(share, ink=themes().current.style.muted)
        if column in EDITABLE:
            return self._limit_cell(place, EDITABLE[column])
        result = float(self._keys(column)[place])
        return Cell(NONE_TEXT if np.isnan(result) else number(result))

    def _limit_cell(self, place: int, column: int) -> Cell:
        """Return a limit: slanted where it follows the rule, marked where it is wrong."""
        text, problem = self._limit(place, column), self._problems.get((place, column))
        theme, by_rule = themes().current, place not in self._draft.own
        if problem is not None:
            danger = theme.style.danger
            ground = theme.tint(danger)
            return Cell(text, problem, ink=danger, ground=ground, icon="danger", italic=by_rule)
        tip = self._tip(place)
        return Cell(text, tip, ink=theme.style.muted if by_rule else "", italic=by_rule)

    def _limit(self, place: int, column: int) -> str:
        pair = self._draft.own.get(place, EMPTY)
        if pair != EMPTY:
            return pair[column]
        rule = self._draft.rule(place)
        return shown(rule[column]) if rule is not None else ""

    def _tip(self, place: int) -> str:
        pair = self._draft.own.get(place)
        if pair is not None:
            return meaning(pair)
        if self._draft.theta is None:
            return tr("No limit of its own, and no rule.")
        if not np.isfinite(self._gammas[place]):
            return tr("So frequent that the tolerance rule sets no limit.")
        return tr("By the tolerance rule: at most θ times as likely as its share here.")


def _leading_number(text: str) -> float:
    try:
        return float(text.split(";", maxsplit=1)[0].replace(",", "."))
    except ValueError:
        return float("nan")


def _headings() -> tuple[Heading, ...]:
    numbers = (
        (tr("Share"), tr("The value's share that limits are solved for")),
        ("ρ1", tr("A belief of at most ρ1 in this value …")),
        ("ρ2", tr("… stays at most ρ2, whatever is released")),
        ("γ", tr("The bound on the odds that follows: ρ2(1−ρ1) / (ρ1(1−ρ2))")),
        ("p", tr("Retention probability: the value is kept on purpose this often")),
        (
            tr("Odds ↑"),
            tr("The most by which a released value multiplies the odds on this one"),
        ),
        (
            tr("Odds ↓"),
            tr("The least: below 1, a released value makes this one less likely"),
        ),
    )
    columns = enumerate(numbers, start=SHARE)
    return (
        Heading(tr("Value")),
        *(Heading(*said, right=True, editable=column in EDITABLE) for column, said in columns),
    )


class LimitsGrid(SheetView):
    """Shows the limits."""

    def __init__(self, model: LimitsModel, parent: QWidget | None = None) -> None:
        super().__init__(model, row_numbers=False, parent=parent)
        self._limits = model
        self.setAccessibleName(tr("Limits of the values"))
        self.setSortingEnabled(True)
        header = self.horizontalHeader()
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setSortIndicatorClearable(True)
        header.setMinimumSectionSize(scaled(NARROWEST))
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        for column, width in WIDTHS.items():
            self.setColumnWidth(column, scaled(width))
        model.modelReset.connect(self._fit_height)
        self._fit_height()

    def _fit_height(self) -> None:
        """Take the height of a few rows, however many there are."""
        rows = min(max(self._limits.rowCount(), 4), ROWS_IN_SIGHT)
        self.setFixedHeight(rows * Space.FIELD + Space.FIELD + 4 + 14)

    def clear_cells(self) -> None:
        """Take the limits of the selected values away, so that they follow the rule."""
        cells = [(row, column) for row in self.chosen_rows() for column in EDITABLE]
        if cells:
            self._limits.written.emit(dict.fromkeys(cells, ""))
