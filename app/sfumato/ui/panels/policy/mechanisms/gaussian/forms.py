"""Rounding and bounds of released numbers, an attribute a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QWidget

from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.gaussian.settings import FORM_SETTINGS
from sfumato.engine.table.table import Attribute
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.layout import ElidedLabel, label, row

FIELD: Final = 88
PARTS: Final = FORM_SETTINGS
Forms = Mapping[str, Mapping[str, float]]
"""For each of `PARTS`, the attributes it applies to and the number."""


def forms_in(settings: Settings) -> dict[str, dict[str, float]]:
    """Return the rounding and the bounds of settings, without empty parts."""
    return {part: dict(settings[part]) for part in PARTS if settings.get(part)}


def with_forms(settings: Settings, forms: Forms) -> dict[str, object]:
    """Return settings with other rounding and bounds."""
    kept = {name: value for name, value in settings.items() if name not in PARTS}
    return {**kept, **{part: dict(forms[part]) for part in PARTS if forms.get(part)}}


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
        self._attributes: tuple[Attribute, ...] = ()
        self._spreads: tuple[float, ...] = ()
        self._forms: dict[str, dict[str, float]] = {}
        self._proposed: dict[tuple[str, str], float] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.BETWEEN)
        self._grid.setVerticalSpacing(Space.INSIDE)
        self.cells: dict[tuple[str, str], _Cell] = {}

    def show_forms(
        self, attributes: Sequence[Attribute], forms: Forms, spreads: Sequence[float]
    ) -> None:
        """Show rounding and bounds without telling anyone."""
        names = [attribute.name for attribute in attributes]
        if names != [attribute.name for attribute in self._attributes]:
            self._rebuild(names)
        self._attributes, self._spreads = tuple(attributes), tuple(spreads)
        self._proposed = {
            (name, part): proposed(part, spread)
            for name, spread in zip(names, spreads, strict=True)
            for part in PARTS
        }
        self._forms = {part: dict(numbers) for part, numbers in forms.items()}
        for (name, part), cell in self.cells.items():
            number = forms.get(part, {}).get(name)
            cell.use.setChecked(number is not None)
            cell.field.setEnabled(number is not None)
            cell.field.set_value(number if number is not None else self._proposed[name, part])

    def _rebuild(self, names: Sequence[str]) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.cells = {}
        titles = {
            "rounding": tr("multiples of"),
            "lowest": tr("no less than"),
            "highest": tr("no more than"),
        }
        for place, part in enumerate(PARTS):
            self._grid.addWidget(label(titles[part], "small"), 0, 1 + place)
        for line, name in enumerate(names, start=1):
            self._grid.addWidget(ElidedLabel(name), line, 0)
            for place, part in enumerate(PARTS):
                use = QCheckBox()
                use.setAccessibleName(f"{name}: {titles[part]}")
                field = NumberField(
                    1e-6 if part == "rounding" else -1e15, 1e15, decimals=6, show_range=False
                )
                field.spin.setFixedWidth(FIELD)
                field.spin.setAccessibleName(f"{name}: {titles[part]}")
                use.clicked.connect(self._switcher(name, part))
                field.value_changed.connect(partial(self._set, name, part))
                cell = QWidget(self)
                cell.setLayout(row(use, field, spacing=Space.TIGHT))
                self._grid.addWidget(cell, line, 1 + place)
                self.cells[name, part] = _Cell(use, field)
        self._grid.setColumnStretch(0, 1)

    def _switcher(self, name: str, part: str) -> Callable[[bool], None]:
        def switch(wanted: bool) -> None:
            if wanted:
                self._set(name, part, self._proposed[name, part])
                return
            forms = {each: dict(numbers) for each, numbers in self._forms.items()}
            forms.get(part, {}).pop(name, None)
            self._tell(forms)

        return switch

    def _set(self, name: str, part: str, number: float) -> None:
        forms = {each: dict(numbers) for each, numbers in self._forms.items()}
        forms.setdefault(part, {})[name] = number
        self._tell(forms)

    def _tell(self, forms: Forms) -> None:
        kept = {part: numbers for part, numbers in forms.items() if numbers}
        self.show_forms(self._attributes, kept, self._spreads)
        self.changed.emit(kept)


def proposed(part: str, spread: float) -> float:
    """Return a number to begin with, from the published size of the noise and never from rows.

    Whether all numbers are whole, or none is negative, can hang on a single record.
    """
    scale = 10.0 ** math.floor(math.log10(spread)) if spread > 0 else 1.0
    if part == "rounding":
        return max(scale / 10.0, 1e-6)
    return 0.0 if part == "lowest" else min(10.0 * scale, 1e15)


def any_form(forms: Forms) -> bool:
    """Whether anything is rounded or bounded."""
    return any(forms.values())


def explanation() -> str:
    """Return why this is a choice at all."""
    return tr(
        "Noise turns whole numbers into fractions and may make small ones negative. Rounding and"
        " bounds mend the looks, but several mended releases together tell a little more than one."
    )


def heading() -> QWidget:
    """Return the heading of the grid."""
    return label(tr("Let released numbers be"), "caption")
