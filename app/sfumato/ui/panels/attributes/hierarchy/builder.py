"""How a hierarchy is made: the kind of recipe, and the form that sets it."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from sfumato.engine.generalization.hierarchies import (
    RECIPES,
    Dates,
    FourLevels,
    Intervals,
    Masking,
    Orders,
    Recipe,
    Suppression,
    Taxonomy,
)
from sfumato.ui.panels.attributes.hierarchy.draft import Ground
from sfumato.ui.panels.attributes.hierarchy.forms import (
    DatesForm,
    Form,
    FourLevelsForm,
    IntervalsForm,
    MaskingForm,
    OrdersForm,
    SuppressionForm,
)
from sfumato.ui.panels.attributes.hierarchy.wording import kind_meaning, kind_name
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import button, column, label, row


class Builder(QWidget):
    """Shows a recipe's kind and settings, and gives the recipe they describe."""

    changed = Signal()
    """A setting was changed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kind = ChoiceField([(kind, kind_name(kind)) for kind in RECIPES])
        self.kind.setAccessibleName(self.tr("How the hierarchy is made"))
        self.propose = button(self.tr("Propose"), lambda: None, icon="refresh")
        self.propose.setToolTip(self.tr("Make a hierarchy from the column's kind and its values"))
        self.propose.setAutoDefault(False)
        self.meaning = label("", "muted", wrap=True)
        self.reason = label("", "muted", wrap=True)
        self.reason.hide()
        self.forms: Mapping[str, Form] = {
            Intervals.kind: IntervalsForm(),
            Orders.kind: OrdersForm(),
            Masking.kind: MaskingForm(),
            Dates.kind: DatesForm(),
            Taxonomy.kind: TableForm(),
            FourLevels.kind: FourLevelsForm(),
            Suppression.kind: SuppressionForm(),
        }
        self.stack = QStackedWidget()
        for form in self.forms.values():
            self.stack.addWidget(form)
            form.changed.connect(self.changed)
        choosing = row()
        choosing.addWidget(self.kind, 1)
        choosing.addWidget(self.propose)
        whole = column()
        whole.addLayout(choosing)
        for widget in (self.meaning, self.reason, self.stack):
            whole.addWidget(widget)
        self.setLayout(whole)

    def show_recipe(self, recipe: Recipe | None, ground: Ground) -> None:
        """Show a recipe; None stands for a table."""
        kind = recipe.kind if recipe is not None else Taxonomy.kind
        self.reason.hide()
        self.kind.set_value(kind)
        self.meaning.setText(kind_meaning(kind))
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


class TableForm(Form):
    """Says what can be done with a table; it is edited where it is shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        text = self.tr(
            "Import a file, paste rows from a spreadsheet, or double-click a label in the table"
            " to change it."
        )
        self.setLayout(column(label(text, wrap=True), None))
