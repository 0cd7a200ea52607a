"""Sample rows of numbers: the true one, and what each recipient sees instead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from sfumato.plots.numbers import amount
from sfumato.ui.look.theme import font, themes
from sfumato.ui.look.wording import grouped
from sfumato.ui.panels.preview.numbers import NumberSample

Index = QModelIndex | QPersistentModelIndex
ROW, TRUE = 0, 1
DIGITS = 3
"""Digits shown of a number, counted from the first of the attribute's spread."""


class NumberSampleModel(QAbstractTableModel):
    """A line for each row of the sample, a column for each recipient."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sample: NumberSample | None = None
        self._place = 0
        self._spreads: list[float] = []
        themes().changed.connect(self._repaint)

    def show_sample(self, sample: NumberSample | None, place: int) -> None:
        """Show other rows, or another attribute of them, by its place in the entry."""
        self.beginResetModel()
        self._sample, self._place = sample, place
        self._spreads = [] if sample is None else self._columns_spreads(sample, place)
        self.endResetModel()

    @staticmethod
    def _columns_spreads(sample: NumberSample, place: int) -> list[float]:
        """Return the spread that decides about each column's decimals; whole ones have none."""
        columns = [sample.true, *(seen.values for seen in sample.seen)]
        found = []
        for column in columns:
            known = column[np.isfinite(column[:, place]), place]
            whole = np.array_equal(known, np.round(known))
            spread = float(sample.spreads[place])
            found.append(max(spread, 10.0**DIGITS) if whole else spread)
        return found

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of rows."""
        if self._sample is None or (parent is not None and parent.isValid()):
            return 0
        return len(self._sample.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        if self._sample is None or (parent is not None and parent.isValid()):
            return 0
        return 2 + len(self._sample.seen)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        if self._sample is None:
            return None
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._shown(self._sample, row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(self._sample, row, column)
        style = themes().current.style
        looks = {
            Qt.ItemDataRole.TextAlignmentRole: Qt.AlignmentFlag.AlignRight
            | Qt.AlignmentFlag.AlignVCenter,
            Qt.ItemDataRole.FontRole: font(tabular=True),
            Qt.ItemDataRole.ForegroundRole: QColor(
                (style.muted, style.original, style.released)[min(column, 2)]
            ),
        }
        return looks.get(Qt.ItemDataRole(role))

    def _shown(self, sample: NumberSample, row: int, column: int) -> str:
        if column == ROW:
            return grouped(sample.rows[row])
        numbers = sample.true if column == TRUE else sample.seen[column - 2].values
        return self._text(float(numbers[row, self._place]), self._spreads[column - TRUE])

    def _tip(self, sample: NumberSample, row: int, column: int) -> str | None:
        """Return how far a released number is off."""
        if column in (ROW, TRUE):
            return None
        seen = sample.seen[column - 2].values[row, self._place]
        off = float(seen - sample.true[row, self._place])
        if not np.isfinite(off):
            return None
        spread = float(sample.spreads[self._place])
        return self.tr("Off by {units}").format(units=self._text(off, spread))

    def _text(self, value: float, spread: float) -> str:
        return fixed(value, spread) if math.isfinite(value) else self.tr("missing")

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return a column's name."""
        if orientation != Qt.Orientation.Horizontal or self._sample is None:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if section == ROW:
            return self.tr("Row")
        if section == TRUE:
            name = self._sample.attributes[self._place]
            return self.tr("True {attribute}").format(attribute=name)
        return self._sample.seen[section - 2].recipient

    def _repaint(self) -> None:
        if self.rowCount():
            self.dataChanged.emit(
                self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1)
            )


def fixed(value: float, spread: float) -> str:
    """Return a number with as many decimals as tell in a column of this spread."""
    if spread <= 0 or not 1e-9 < spread < 1e12:
        return amount(value, 6)
    decimals = max(DIGITS - 1 - math.floor(math.log10(spread)), 0)
    text = f"{value:,.{decimals}f}".replace(",", "\u202f")
    return text.replace("-", "\u2212")


def typical_error(sample: NumberSample, seen: npt.NDArray[np.float64], place: int) -> float:
    """Return the root of the mean squared error of an attribute in the sample rows."""
    error = seen[:, place] - sample.true[:, place]
    known = error[np.isfinite(error)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else math.nan
