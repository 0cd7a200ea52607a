"""Rounding and bounds of released numbers, an attribute a line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QWidget

from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.gaussian.settings import FORM_SETTINGS
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.layout import ElidedLabel, boxed, clear_layout, label, row

FIELD: Final = 88
Forms = Mapping[str, Mapping[str, float]]
"""For each of `FORM_SETTINGS`, the attributes it applies to and the number."""


def forms_in(settings: Settings) -> dict[str, dict[str, float]]:
    """Return the rounding and the bounds of settings, without empty parts."""
    return {part: dict(settings[part]) for part in FORM_SETTINGS if settings.get(part)}


def with_forms(settings: Settings, forms: Forms) -> dict[str, object]:
    """Return settings with other rounding and bounds."""
    kept = {name: value for name, value in settings.items() if name not in FORM_SETTINGS}
    return {**kept, **{part: dict(forms[part]) for part in FORM_SETTINGS if forms.get(part)}}


@dataclass(frozen=True)
class _Cell:
    use: QCheckBox
    field: NumberField


class FormGrid(QWidget):
    """Shows what released numbers may look like, and tells what the person wants instead."""

    changed = Signal(object)
    """The rounding and the bounds that the person wants: `Forms`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spreads: dict[str, float] = {}
        self._forms: dict[str, dict[str, float]] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.BETWEEN)
        self._grid.setVerticalSpacing(Space.INSIDE)
        self.cells: dict[tuple[str, str], _Cell] = {}

    def show_forms(self, spreads: Mapping[str, float], forms: Forms) -> None:
        """Show rounding and bounds of attributes with these spreads, without telling anyone."""
        if list(spreads) != list(self._spreads):
            self._rebuild(list(spreads))
        self._spreads = dict(spreads)
        self._forms = {part: dict(numbers) for part, numbers in forms.items()}
        for (name, part), cell in self.cells.items():
            number = forms.get(part, {}).get(name)
            cell.use.setChecked(number is not None)
            cell.field.setEnabled(number is not None)
            cell.field.set_value(proposed(part, spreads[name]) if number is None else number)

    def _rebuild(self, names: Sequence[str]) -> None:
        clear_layout(self._grid)
        self.cells = {}
        titles = {
            "rounding": tr("multiples of"),
            "lowest": tr("no less than"),
            "highest": tr("no more than"),
        }
        for place, part in enumerate(FORM_SETTINGS):
            self._grid.setColumnStretch(place, 1)
            self._grid.addWidget(label(titles[part], "small", wrap=True), 0, place)
            for line, name in enumerate(names, start=1):
                cell = self._cell(name, part)
                for widget in (cell.use, cell.field.spin):
                    widget.setAccessibleName(f"{name}: {titles[part]}")
                box = boxed(row(cell.use, cell.field, None, spacing=Space.TIGHT))
                self._grid.addWidget(box, 2 * line, place)
        for line, name in enumerate(names, start=1):
            self._grid.addWidget(ElidedLabel(name, "strong"), 2 * line - 1, 0, 1, len(titles))

    def _cell(self, name: str, part: str) -> _Cell:
        least = 1e-6 if part == "rounding" else -1e15
        cell = _Cell(QCheckBox(), NumberField(least, 1e15, decimals=6, show_range=False))
        cell.field.spin.setFixedWidth(scaled(FIELD))
        cell.use.clicked.connect(lambda wanted: self._switch(name, part, wanted))
        cell.field.value_changed.connect(partial(self._set, name, part))
        self.cells[name, part] = cell
        return cell

    def _switch(self, name: str, part: str, wanted: bool) -> None:
        self._set(name, part, proposed(part, self._spreads[name]) if wanted else None)

    def _set(self, name: str, part: str, number: float | None) -> None:
        forms = {each: dict(numbers) for each, numbers in self._forms.items()}
        if number is None:
            forms.get(part, {}).pop(name, None)
        else:
            forms.setdefault(part, {})[name] = number
        kept = {each: numbers for each, numbers in forms.items() if numbers}
        self.show_forms(self._spreads, kept)
        self.changed.emit(kept)


def proposed(part: str, spread: float) -> float:
    """Return a number to begin with, from the published size of the noise and never from rows.

    Whether all numbers are whole, or none is negative, can hang on a single record.
    """
    scale = 10.0 ** math.floor(math.log10(spread)) if spread > 0 else 1.0
    if part == "rounding":
        return max(scale / 10.0, 1e-6)
    return 0.0 if part == "lowest" else min(10.0 * scale, 1e15)
