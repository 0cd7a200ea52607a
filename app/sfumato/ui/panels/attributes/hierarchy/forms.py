"""A form for each kind of recipe: what it is set by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.generalization.hierarchies import (
    Dates,
    DateUnit,
    FourLevels,
    Intervals,
    IntervalStyle,
    Masking,
    Orders,
    Recipe,
    Side,
    Suppression,
)
from sfumato.engine.generalization.hierarchies.intervals import MOST_LEVELS
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.attributes.hierarchy.draft import Ground
from sfumato.ui.panels.attributes.hierarchy.order_list import OrderList
from sfumato.ui.panels.attributes.hierarchy.wording import side_name, style_name, unit_name
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments
from sfumato.ui.widgets.layout import column, label, row
from sfumato.ui.widgets.tables import show_value

_FIELD: Final = 148
"""Two fields of this width stand side by side."""


class Form(QWidget):
    """Shows a recipe's settings, and gives the recipe they describe."""

    changed = Signal()

    def show_recipe(self, recipe: Recipe, ground: Ground) -> None:
        """Show a recipe's settings."""
        del recipe, ground

    def recipe(self) -> Recipe:
        """Return the recipe; raise `HierarchyError` where the settings give none."""
        return Suppression()


def _titled(title: str, *fields: QWidget | None) -> QWidget:
    """Return fields side by side below their title."""
    made = QWidget()
    line = row(*fields)
    whole = column(label(title, "small"), spacing=Space.TIGHT)
    whole.addLayout(line)
    made.setLayout(whole)
    return made


def wholes_in(text: str) -> tuple[int, ...]:
    """Return the whole numbers in a text, whatever stands between them.

    Raises
    ------
    HierarchyError
        If something in it is not a whole number.
    """
    pieces = [piece for piece in re.split(r"[;,\s]+", text.strip()) if piece]
    try:
        return tuple(int(piece) for piece in pieces)
    except ValueError:
        raise HierarchyError(
            "One of the numbers is not a whole number.", "Write them like this: 1; 1; 2"
        ) from None


def edges_in(text: str) -> tuple[float, ...]:
    """Return the numbers in a text, separated by semicolons or blanks.

    Raises
    ------
    HierarchyError
        If something in it is not a number, or there is none.
    """
    pieces = [piece for piece in re.split(r"[;\s]+", text.strip()) if piece]
    try:
        found = tuple(float(piece.replace(",", ".")) for piece in pieces)
    except ValueError:
        raise HierarchyError(
            "An edge of the intervals is not a number.", "Separate the numbers by semicolons."
        ) from None
    if not found:
        raise HierarchyError("There are no edges.", "Give at least one, such as 18; 30; 65.")
    return found


class IntervalsForm(Form):
    """Intervals of one width, or between given edges."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.way = Segments((("width", self.tr("One width")), ("edges", self.tr("Own edges"))))
        self.width_ = NumberField(1e-6, 1e12, decimals=6, step=1, show_range=False)
        self.width_.spin.setAccessibleName(self.tr("Width at level 1"))
        self.origin = NumberField(-1e12, 1e12, decimals=6, step=1, show_range=False)
        self.origin.spin.setAccessibleName(self.tr("An interval starts at"))
        self.edges = QLineEdit()
        self.edges.setPlaceholderText("18; 30; 65")
        self.edges.setAccessibleName(self.tr("Edges at level 1"))
        self.steps = NumberField(1, MOST_LEVELS, decimals=0, step=1, show_range=False)
        self.steps.spin.setAccessibleName(self.tr("Levels of intervals"))
        self.growth = NumberField(2, 1000, decimals=0, step=1, show_range=False)
        self.growth.spin.setAccessibleName(self.tr("Intervals merged per level"))
        self.style_ = ChoiceField([(style, style_name(style)) for style in IntervalStyle])
        self.style_.setAccessibleName(self.tr("How intervals are written"))
        self._sized = QWidget()
        self._sized.setLayout(
            row(
                _titled(self.tr("Width at level 1"), self.width_),
                _titled(self.tr("An interval starts at"), self.origin),
                None,
            )
        )
        self._edged = _titled(self.tr("Edges at level 1, with semicolons between"), self.edges)
        levels = row(
            _titled(self.tr("Levels of intervals"), self.steps),
            _titled(self.tr("Merged per level"), self.growth),
            None,
        )
        whole = column(self.way, self._sized, self._edged)
        whole.addLayout(levels)
        whole.addWidget(_titled(self.tr("Written as"), self.style_, None))
        whole.addStretch(1)
        self.setLayout(whole)
        for field in (self.width_, self.origin, self.steps, self.growth):
            field.spin.setFixedWidth(_FIELD)
        for field in (self.width_, self.origin, self.steps, self.growth):
            field.value_changed.connect(lambda _value: self.changed.emit())
        self.style_.chosen.connect(lambda _value: self.changed.emit())
        self.edges.textEdited.connect(lambda _text: self.changed.emit())
        self.way.chosen.connect(lambda _value: self._switch())

    def _switch(self) -> None:
        self._show_way()
        if self.way.value == "width" or self.edges.text().strip():
            self.changed.emit()
        else:
            self.edges.setFocus()

    def _show_way(self) -> None:
        self._sized.setVisible(self.way.value == "width")
        self._edged.setVisible(self.way.value == "edges")

    def show_recipe(self, recipe: Recipe, ground: Ground) -> None:
        """Show the settings of intervals."""
        del ground
        if isinstance(recipe, Intervals):
            self.way.set_value("edges" if recipe.edges else "width")
            self.width_.set_value(recipe.width)
            self.origin.set_value(recipe.origin)
            self.edges.setText("; ".join(show_value(edge) for edge in recipe.edges))
            self.steps.set_value(recipe.steps)
            self.growth.set_value(recipe.growth)
            self.style_.set_value(recipe.style)
            self._show_way()

    def recipe(self) -> Recipe:
        """Return the intervals."""
        style = self.style_.value
        assert isinstance(style, IntervalStyle)
        own = edges_in(self.edges.text()) if self.way.value == "edges" else ()
        steps, growth = int(self.steps.value), int(self.growth.value)
        return Intervals(self.width_.value, self.origin.value, steps, growth, own, style)


class OrdersForm(Form):
    """Groups of neighbours, and the order they are neighbours in."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sizes = QLineEdit()
        self.sizes.setAccessibleName(self.tr("Members of a class, level by level"))
        self.sizes.textEdited.connect(lambda _text: self.changed.emit())
        self.order = OrderList()
        self.order.changed.connect(self.changed)
        self.setLayout(
            column(_titled(self.tr("Members of a class, level by level"), self.sizes), self.order)
        )

    def show_recipe(self, recipe: Recipe, ground: Ground) -> None:
        """Show the settings of an order."""
        if isinstance(recipe, Orders):
            self.sizes.setText("; ".join(str(size) for size in recipe.sizes))
            self.order.show_order(recipe.order, ground.values)

    def recipe(self) -> Recipe:
        """Return the order."""
        return Orders(wholes_in(self.sizes.text()), self.order.order)


class FourLevelsForm(Form):
    """The order that is cut in four."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.order = OrderList()
        self.order.changed.connect(self.changed)
        self.setLayout(column(self.order))

    def show_recipe(self, recipe: Recipe, ground: Ground) -> None:
        """Show the order."""
        if isinstance(recipe, FourLevels):
            self.order.show_order(recipe.order, ground.values)

    def recipe(self) -> Recipe:
        """Return four, two and one class."""
        return FourLevels(self.order.order)


class MaskingForm(Form):
    """How many characters each level hides, and at which end."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hidden = QLineEdit()
        self.hidden.setAccessibleName(self.tr("Characters that each level hides"))
        self.side = ChoiceField([(side, side_name(side)) for side in Side])
        self.side.setAccessibleName(self.tr("Which characters are hidden first"))
        self.keep_length = QCheckBox(self.tr("A star for every hidden character"))
        self.digits = NumberField(0, 100, decimals=0, step=1, show_range=False)
        self.digits.spin.setAccessibleName(self.tr("Fill up with zeros to a length of"))
        self.setLayout(
            column(
                _titled(self.tr("Characters that each level hides, from level 1"), self.hidden),
                _titled(self.tr("Which characters are hidden first"), self.side),
                self.keep_length,
                _titled(self.tr("Fill up with zeros to a length of (0: don't)"), self.digits, None),
                None,
            )
        )
        self.hidden.textEdited.connect(lambda _text: self.changed.emit())
        self.side.chosen.connect(lambda _value: self.changed.emit())
        self.keep_length.clicked.connect(lambda _checked: self.changed.emit())
        self.digits.value_changed.connect(lambda _value: self.changed.emit())

    def show_recipe(self, recipe: Recipe, ground: Ground) -> None:
        """Show the settings of masking."""
        del ground
        if isinstance(recipe, Masking):
            self.hidden.setText("; ".join(str(count) for count in recipe.hidden))
            self.side.set_value(recipe.side)
            self.keep_length.setChecked(recipe.keep_length)
            self.digits.set_value(recipe.digits)

    def recipe(self) -> Recipe:
        """Return the masking."""
        side = self.side.value
        assert isinstance(side, Side)
        hidden = wholes_in(self.hidden.text())
        return Masking(hidden, side, self.keep_length.isChecked(), int(self.digits.value))


class DatesForm(Form):
    """Which spans of the calendar are levels."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.units: Mapping[DateUnit, QCheckBox] = {
            unit: QCheckBox(unit_name(unit)) for unit in DateUnit
        }
        boxes: Sequence[QCheckBox] = list(self.units.values())
        half = len(boxes) // 2
        both = row(column_of(boxes[:half]), column_of(boxes[half:]), None, spacing=Space.AROUND)
        whole = column()
        whole.addLayout(both)
        whole.addStretch(1)
        self.setLayout(whole)
        for box in boxes:
            box.clicked.connect(lambda _checked: self.changed.emit())

    def show_recipe(self, recipe: Recipe, ground: Ground) -> None:
        """Show the chosen spans."""
        del ground
        if isinstance(recipe, Dates):
            for unit, box in self.units.items():
                box.setChecked(unit in recipe.units)

    def recipe(self) -> Recipe:
        """Return the spans."""
        chosen = tuple(unit for unit, box in self.units.items() if box.isChecked())
        if not chosen:
            raise HierarchyError("No span of the calendar is chosen.", "Tick at least one.")
        return Dates(chosen)


def column_of(widgets: Sequence[QWidget]) -> QWidget:
    """Return widgets below one another as one."""
    made = QWidget()
    made.setLayout(column(*widgets))
    return made


class SuppressionForm(Form):
    """Nothing to set."""
