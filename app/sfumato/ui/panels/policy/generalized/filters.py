"""Filters over the list of nodes: safe or not, and bounds on levels and measures."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.generalized.explore import Condition, NodeList
from sfumato.ui.panels.policy.generalized.wording import tr
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments
from sfumato.ui.widgets.layout import button

ALL, SAFE, MINIMAL, PINNED = "all", "safe", "minimal", "pinned"


class FilterBar(QWidget):
    """Which nodes are listed."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.conditions: list[Condition] = []
        self.which = Segments(
            [
                (SAFE, tr("Safe")),
                (MINIMAL, tr("Minimal")),
                (PINNED, tr("Pinned")),
                (ALL, tr("All")),
            ],
            self,
        )
        self.which.setAccessibleName(tr("Which combinations are listed"))
        self.which.chosen.connect(lambda _which: self.changed.emit())
        self.column = ChoiceField(parent=self)
        self.column.setAccessibleName(tr("Column to filter by"))
        self.column.setMinimumWidth(130)
        self.bound = ChoiceField([(True, tr("at most")), (False, tr("at least"))], self)
        self.bound.setAccessibleName(tr("Bound"))
        self.value = NumberField(0, 1_000_000_000, decimals=2, step=1.0, show_range=False)
        self.value.spin.setFixedWidth(96)
        self.value.spin.setAccessibleName(tr("Value"))
        self.add = button(tr("Filter"), self._add, icon="filter")
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        line.addWidget(self.which)
        line.addSpacing(Space.INSIDE)
        for widget in (self.column, self.bound, self.value, self.add):
            line.addWidget(widget)
        line.addStretch(1)
        self._chips = QHBoxLayout()
        self._chips.setSpacing(Space.INSIDE)
        self._chips.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(Space.TIGHT)
        whole.addLayout(line)
        whole.addLayout(self._chips)

    def offer(self, columns: list[str]) -> None:
        """Offer the columns of another list; conditions on others are dropped."""
        self.column.set_choices([(name, name) for name in columns])
        kept = [each for each in self.conditions if each.column in columns]
        if kept != self.conditions:
            self.conditions = kept
            self._show()

    def rows(self, nodes: NodeList, frame: pd.DataFrame) -> npt.NDArray[np.int64]:
        """Return the positions of the nodes that are listed."""
        which = self.which.value
        keep = np.ones(len(nodes.nodes), dtype=np.bool_)
        if which == SAFE:
            keep = nodes.safe.copy()
        elif which == MINIMAL:
            keep = nodes.minimal.copy()
        elif which == PINNED:
            keep = frame.iloc[:, 0].ne("").to_numpy()
        for condition in self.conditions:
            keep = keep & condition.keeps(frame).to_numpy()
        return np.flatnonzero(keep).astype(np.int64)

    def _add(self) -> None:
        condition = Condition(str(self.column.value), bool(self.bound.value), self.value.value)
        if self.column.value is not None and condition not in self.conditions:
            self.conditions.append(condition)
            self._show()
            self.changed.emit()

    def _remove(self, condition: Condition) -> None:
        self.conditions.remove(condition)
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        while self._chips.count() > 1:
            item = self._chips.takeAt(0)
            chip = item.widget() if item is not None else None
            if chip is not None:
                chip.hide()
                chip.deleteLater()
        for place, condition in enumerate(self.conditions):
            chip = button(
                condition.text,
                partial(self._remove, condition),
                "quiet",
                "close",
                tr("Remove this filter"),
            )
            self._chips.insertWidget(place, chip)
