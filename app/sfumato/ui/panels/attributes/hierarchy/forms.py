"""How a hierarchy is made: the kind of recipe, and a form for what it is set by."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QLineEdit,
    QStackedWidget,
    QWidget,
)

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.generalization.hierarchies import (
    RECIPES,
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
    Taxonomy,
    value_text,
)
from sfumato.engine.generalization.hierarchies.recipes import MOST_LEVELS
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.attributes.hierarchy.preview import Ground
from sfumato.ui.widgets.fields import (
    ChoiceField,
    NumberField,
    Segments,
    WrappedCheckBox,
    text_field,
)
from sfumato.ui.widgets.layout import boxed, button, column, label, row
from sfumato.ui.widgets.order_list import OrderList
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import show_value

Number = TypeVar("Number", int, float)


def tr(text: str) -> str:
    """Return a text in the person's language."""
    return QCoreApplication.translate("Hierarchy", text)


def _kinds() -> Mapping[str, tuple[str, str]]:
    """Return for each kind of recipe its name, and what it does."""
    return {
        Intervals.kind: (
            tr("Intervals of numbers"),
            tr("37 becomes [35, 40), then [30, 40), then [20, 40), then *."),
        ),
        Orders.kind: (
            tr("Neighbours in an order"),
            tr("Values next to each other share a class, then neighbouring classes."),
        ),
        Masking.kind: (
            tr("Masked characters"),
            tr("12345 becomes 1234*, then 123**, then 12***, then *."),
        ),
        Dates.kind: (
            tr("Spans of the calendar"),
            tr("2026-11-20 becomes 2026-11, then 2026 Q4, then 2026, then *."),
        ),
        Taxonomy.kind: (
            tr("A table"),
            tr("Each value has a row: the value, then its label at each level."),
        ),
        FourLevels.kind: (
            tr("Four, two, one class"),
            tr("The values in their order, in four classes, then two, then one."),
        ),
        Suppression.kind: (
            tr("The value or nothing"),
            tr("The value is shown as it is, or hidden as *."),
        ),
    }


def kind_name(kind: str) -> str:
    """Return the name of a kind of recipe."""
    return _kinds()[kind][0]


_FIELD: Final = 148
"""Two fields of this width stand side by side."""


def _titled(title: str, field: QWidget, *beside: QWidget | None, wrap: bool = True) -> QWidget:
    """Return a field below its title, which is what it is called."""
    (field.spin if isinstance(field, NumberField) else field).setAccessibleName(title)
    whole = column(label(title, "small", wrap=wrap), row(field, *beside), spacing=Space.TIGHT)
    return boxed(whole)


def numbers_in(text: str, separators: str, kind: type[Number]) -> tuple[Number, ...]:
    """Return the numbers in a text; raise `ValueError` where something is not one."""
    pieces = [piece for piece in re.split(separators, text.strip()) if piece]
    return tuple(kind(piece.replace(",", ".")) for piece in pieces)


class RecipeForm(QWidget):
    """Shows a recipe's settings, and gives the recipe they describe."""

    changed = Signal()

    def show_recipe(self, recipe: Any, ground: Ground) -> None:
        """Show the settings of a recipe of this form's kind."""

    def recipe(self) -> Recipe:
        """Return the recipe; raise `HierarchyError` where the settings give none."""
        return Suppression()

    def _tell(self, *_values: object) -> None:
        self.changed.emit()

    def _number(self, low: float, high: float, decimals: int = 0) -> NumberField:
        made = NumberField(low, high, decimals=decimals, step=1, show_range=False, width=_FIELD)
        made.value_changed.connect(self._tell)
        return made

    def _line(self, placeholder: str = "") -> QLineEdit:
        made = text_field(hint=placeholder)
        made.textEdited.connect(self._tell)
        return made

    def _choice(self, choices: Sequence[tuple[Hashable, str]]) -> ChoiceField:
        return ChoiceField(choices, chosen=self._tell)

    def _wholes(self, field: QLineEdit) -> tuple[int, ...]:
        try:
            return numbers_in(field.text(), r"[;,\s]+", int)
        except ValueError:
            raise HierarchyError(
                "One of the numbers is not a whole number.", "Write them like this: 1; 1; 2"
            ) from None


class IntervalsForm(RecipeForm):
    """Intervals of one width, or between given edges."""

    def __init__(self) -> None:
        super().__init__()
        self.way = Segments((("width", self.tr("One width")), ("edges", self.tr("Own edges"))))
        self.way.chosen.connect(self._switch)
        self.width_ = self._number(1e-6, 1e12, decimals=6)
        self.origin = self._number(-1e12, 1e12, decimals=6)
        self.edges = self._line("18; 30; 65")
        self.steps = self._number(1, MOST_LEVELS)
        self.growth = self._number(2, 1000)
        styles = {IntervalStyle.HALF_OPEN: "[20, 30)", IntervalStyle.WHOLE: "20-29"}
        self.style_ = self._choice(list(styles.items()))
        self._sized = boxed(
            FlowLayout(
                _titled(self.tr("Width at level 1"), self.width_, wrap=False),
                _titled(self.tr("An interval starts at"), self.origin, wrap=False),
            )
        )
        self._edged = _titled(self.tr("Edges at level 1, with semicolons between"), self.edges)
        self.setLayout(
            column(
                self.way,
                self._sized,
                self._edged,
                FlowLayout(
                    _titled(self.tr("Levels of intervals"), self.steps, wrap=False),
                    _titled(self.tr("Merged per level"), self.growth, wrap=False),
                ),
                _titled(self.tr("Written as"), self.style_, None),
                None,
            )
        )

    def _switch(self, way: object) -> None:
        self._show_way()
        if way == "width" or self.edges.text().strip():
            self.changed.emit()
        else:
            self.edges.setFocus()

    def _show_way(self) -> None:
        self._sized.setVisible(self.way.value == "width")
        self._edged.setVisible(self.way.value == "edges")

    def show_recipe(self, recipe: Intervals, ground: Ground) -> None:
        """Show the settings of intervals."""
        del ground
        self.way.set_value("edges" if recipe.edges else "width")
        self.edges.setText("; ".join(show_value(edge) for edge in recipe.edges))
        self.width_.set_value(recipe.width)
        self.origin.set_value(recipe.origin)
        self.steps.set_value(recipe.steps)
        self.growth.set_value(recipe.growth)
        self.style_.set_value(recipe.style)
        self._show_way()

    def recipe(self) -> Recipe:
        """Return the intervals."""
        style = self.style_.value
        assert isinstance(style, IntervalStyle)
        own = self._own_edges() if self.way.value == "edges" else ()
        steps, growth = int(self.steps.value), int(self.growth.value)
        return Intervals(self.width_.value, self.origin.value, steps, growth, own, style)

    def _own_edges(self) -> tuple[float, ...]:
        try:
            found = numbers_in(self.edges.text(), r"[;\s]+", float)
        except ValueError:
            raise HierarchyError(
                "An edge of the intervals is not a number.", "Separate the numbers by semicolons."
            ) from None
        if not found:
            raise HierarchyError("There are no edges.", "Give at least one, such as 18; 30; 65.")
        return found


class FourLevelsForm(RecipeForm):
    """The order that is cut in four."""

    def __init__(self) -> None:
        super().__init__()
        self.order = OrderList()
        self.order.changed.connect(self.changed)
        self._page = column(self.order)
        self.setLayout(self._page)

    def show_recipe(self, recipe: Orders | FourLevels, ground: Ground) -> None:
        """Show the order."""
        texts = [value_text(value) for value in ground.values if value is not None]
        self.order.show_order(recipe.order, texts)

    def recipe(self) -> Recipe:
        """Return four, two and one class."""
        return FourLevels(self.order.order)


class OrdersForm(FourLevelsForm):
    """Groups of neighbours, and the order they are neighbours in."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes = self._line()
        words = self.tr("Members of a class, level by level")
        self._page.insertWidget(0, _titled(words, self.sizes))

    def show_recipe(self, recipe: Any, ground: Ground) -> None:
        """Show the settings of an order."""
        self.sizes.setText("; ".join(str(size) for size in recipe.sizes))
        super().show_recipe(recipe, ground)

    def recipe(self) -> Recipe:
        """Return the order."""
        return Orders(self._wholes(self.sizes), self.order.order)


class MaskingForm(RecipeForm):
    """How many characters each level hides, and at which end."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = self._line()
        sides = ((Side.RIGHT, tr("the last ones first")), (Side.LEFT, tr("the first ones first")))
        self.side = self._choice(sides)
        self.keep_length = WrappedCheckBox(self.tr("A star for every hidden character"))
        self.keep_length.clicked.connect(self._tell)
        self.digits = self._number(0, 100)
        self.setLayout(
            column(
                _titled(self.tr("Characters that each level hides, from level 1"), self.hidden),
                _titled(self.tr("Which characters are hidden first"), self.side),
                self.keep_length,
                _titled(self.tr("Fill up with zeros to a length of (0: don't)"), self.digits, None),
                None,
            )
        )

    def show_recipe(self, recipe: Masking, ground: Ground) -> None:
        """Show the settings of masking."""
        del ground
        self.hidden.setText("; ".join(str(count) for count in recipe.hidden))
        self.side.set_value(recipe.side)
        self.keep_length.setChecked(recipe.keep_length)
        self.digits.set_value(recipe.digits)

    def recipe(self) -> Recipe:
        """Return the masking."""
        side = self.side.value
        assert isinstance(side, Side)
        hidden = self._wholes(self.hidden)
        return Masking(hidden, side, self.keep_length.isChecked(), int(self.digits.value))


class DatesForm(RecipeForm):
    """Which spans of the calendar are levels."""

    def __init__(self) -> None:
        super().__init__()
        names = {
            DateUnit.DAY: tr("Day"),
            DateUnit.MONTH: tr("Month"),
            DateUnit.QUARTER: tr("Quarter"),
            DateUnit.HALF_YEAR: tr("Half-year"),
            DateUnit.YEAR: tr("Year"),
            DateUnit.FIVE_YEARS: tr("Five years"),
            DateUnit.DECADE: tr("Decade"),
            DateUnit.CENTURY: tr("Century"),
        }
        self.units = {unit: QCheckBox(name) for unit, name in names.items()}
        boxes = list(self.units.values())
        half = len(boxes) // 2
        sides = (boxed(column(*part)) for part in (boxes[:half], boxes[half:]))
        self.setLayout(column(FlowLayout(*sides, spacing=Space.AROUND), None))
        for box in boxes:
            box.clicked.connect(self._tell)

    def show_recipe(self, recipe: Dates, ground: Ground) -> None:
        """Show the chosen spans."""
        del ground
        for unit, box in self.units.items():
            box.setChecked(unit in recipe.units)

    def recipe(self) -> Recipe:
        """Return the spans."""
        chosen = tuple(unit for unit, box in self.units.items() if box.isChecked())
        if not chosen:
            raise HierarchyError("No span of the calendar is chosen.", "Tick at least one.")
        return Dates(chosen)


class Builder(QWidget):
    """Shows a recipe's kind and settings, and gives the recipe they describe."""

    changed = Signal()
    """A setting was changed."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = ChoiceField([(kind, kind_name(kind)) for kind in RECIPES])
        self.kind.setAccessibleName(self.tr("How the hierarchy is made"))
        self.propose = button(self.tr("Propose"), None, icon="refresh")
        self.propose.setToolTip(self.tr("Make a hierarchy from the column's kind and its values"))
        self.propose.setAutoDefault(False)
        self.meaning = label("", "muted", wrap=True)
        self.reason = label("", "muted", wrap=True)
        self.reason.hide()
        by_hand = RecipeForm()
        words = self.tr(
            "Import a file, paste rows from a spreadsheet, or double-click a label in the table"
            " to change it."
        )
        by_hand.setLayout(column(label(words, wrap=True), None))
        self.forms: Mapping[str, RecipeForm] = {
            Intervals.kind: IntervalsForm(),
            Orders.kind: OrdersForm(),
            Masking.kind: MaskingForm(),
            Dates.kind: DatesForm(),
            Taxonomy.kind: by_hand,
            FourLevels.kind: FourLevelsForm(),
            Suppression.kind: RecipeForm(),
        }
        self.stack = QStackedWidget()
        for form in self.forms.values():
            self.stack.addWidget(form)
            form.changed.connect(self.changed)
        choosing = row((self.kind, 1), self.propose)
        self.setLayout(column(choosing, self.meaning, self.reason, self.stack))

    def show_recipe(self, recipe: Recipe | None, ground: Ground) -> None:
        """Show a recipe; None stands for a table."""
        kind = recipe.kind if recipe is not None else Taxonomy.kind
        self.reason.hide()
        self.kind.set_value(kind)
        self.meaning.setText(_kinds()[kind][1])
        if recipe is not None:
            self.forms[kind].show_recipe(recipe, ground)
        self.stack.setCurrentWidget(self.forms[kind])

    def show_reason(self, reason: str) -> None:
        """Say why this was proposed."""
        self.reason.setText(self.tr("Proposed: {reason}").format(reason=reason))
        self.reason.show()

    def recipe(self) -> Recipe:
        """Return the recipe that is set; raise `HierarchyError` where there is none."""
        return self.forms[str(self.kind.value)].recipe()
