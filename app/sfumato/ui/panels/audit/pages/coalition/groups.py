"""Whose records are in most danger: a line for each true value, sortable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.engine.disclosure.coalition_risk import CoalitionRisk
from sfumato.engine.disclosure.record_risk import CERTAIN
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.ui.look.theme import Space
from sfumato.ui.widgets.layout import Card
from sfumato.ui.widgets.tables import (
    MISSING_TEXT,
    Cell,
    CellsModel,
    Heading,
    TableView,
    show_value,
)

VALUE, RECORDS, LADDER, INDEPENDENT, CERTAIN_SHARE = range(5)
ROWS_SHOWN: Final = 9
ROOM_FOR_ARROW: Final = "\u2003"
"""Keeps the sign of sorting clear of a heading that stands at the right."""


class GroupsModel(CellsModel):
    """A line for each value that occurs; the most endangered first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self._values: tuple[str, ...] = ()
        self._numbers = np.zeros((0, 5))
        self._order: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._sorted = LADDER, Qt.SortOrder.DescendingOrder
        self.lay_out(0, self._headings())

    def _headings(self) -> list[Heading]:
        certain = percent(CERTAIN, 0)
        share = self.tr(
            "Share of its records that independent noise restores with at least {certain}"
        ).format(certain=certain)
        titles = (
            (self.tr("True value"), self.tr("The record's true value")),
            (self.tr("Records"), self.tr("How many records have it")),
            (
                self.tr("On the ladder"),
                self.tr("Average probability given to it by the coalition, as released"),
            ),
            (
                self.tr("Independent noise"),
                self.tr("The same if every release had noise of its own"),
            ),
            (self.tr("Of these ≥ {certain}").format(certain=certain), share),
        )
        return [
            Heading(title + ROOM_FOR_ARROW * (at != VALUE), tip, right=at != VALUE)
            for at, (title, tip) in enumerate(titles)
        ]

    def show_risk(
        self, values: Sequence[object], counts: npt.NDArray[np.int64], risk: CoalitionRisk | None
    ) -> None:
        """Show what a coalition restores of each value's records; None shows nothing."""
        if risk is None:
            self._values, self._numbers = (), np.zeros((0, 5))
        else:
            occurs = np.flatnonzero(counts)
            self._values = tuple(
                MISSING_TEXT if values[at] is None else show_value(values[at])
                for at in occurs.tolist()
            )
            columns = (
                np.argsort(np.argsort(np.array(self._values), kind="stable")),
                counts[occurs],
                risk.on_ladder.by_value[occurs],
                risk.independent.by_value[occurs],
                risk.independent.certain_by_value[occurs],
            )
            self._numbers = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
        self._arrange()
        self.lay_out(len(self._values))

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        at = int(self._order[row])
        number = float(self._numbers[at, column])
        text = grouped(round(number)) if column == RECORDS else percent(number, 1)
        text = self._values[at] if column == VALUE else text
        return Cell(text, text)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column."""
        if column < 0:
            return
        self.layoutAboutToBeChanged.emit()
        self._sorted = column, order
        self._arrange()
        self.layoutChanged.emit()

    def _arrange(self) -> None:
        column, order = self._sorted
        numbers = self._numbers[:, column]
        falling = order == Qt.SortOrder.DescendingOrder
        self._order = np.argsort(-numbers if falling else numbers, kind="stable")


class GroupsCard(Card):
    """Which records a coalition restores best, by their true value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            QCoreApplication.translate("Audit", "Whose records are in most danger?"),
            QCoreApplication.translate(
                "Audit",
                "Average probability that the coalition gives to a record's true value. Click a"
                " heading to sort.",
            ),
            parent,
        )
        self.model = GroupsModel(self)
        self.table = TableView(self, row_numbers=False)
        self.table.setModel(self.model)
        self.table.setProperty("framed", False)
        self.table.setAccessibleName(self.heading.text())
        self.table.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        header.setSortIndicator(LADDER, Qt.SortOrder.DescendingOrder)
        self.table.setSortingEnabled(True)
        self.table.setMinimumHeight(Space.FIELD * 5)
        self.body.addWidget(self.table, 1)

    def show_risk(
        self, values: Sequence[object], counts: npt.NDArray[np.int64], risk: CoalitionRisk | None
    ) -> None:
        """Show a coalition's risk; None shows nothing."""
        self.model.show_risk(values, counts, risk)
        lines = min(max(self.model.rowCount(), 3), ROWS_SHOWN)
        self.table.setMinimumHeight((Space.FIELD + 4) + Space.FIELD * lines + 2)
