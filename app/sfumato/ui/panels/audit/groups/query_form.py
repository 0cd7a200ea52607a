"""The form of one count query: a choice for each public column, and the sensitive value."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from sfumato.analysis.attacker import Attacked
from sfumato.engine.core.columns import MISSING_LABEL
from sfumato.engine.core.values import Value, sort_key
from sfumato.engine.table.micro_groups import PublicAttribute
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import value_name
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import column, label
from sfumato.ui.widgets.tables import show_value

ANY = ("any",)
"""What stands for no condition; no value of a column is a tuple."""
MOST_VALUES = 2_000
"""Values offered of one column."""
FIELD_WIDTH = 190


class QueryForm(QWidget):
    """Fields that a person fills in to ask how many records are like this."""

    changed = Signal()
    """The person asked something else."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(Space.INSIDE)
        self.value = ChoiceField(parent=self)
        self.value.chosen.connect(self._tell)
        self.conditions: dict[str, ChoiceField] = {}
        self._cells: list[QWidget] = []

    def offer(self, known: Attacked) -> None:
        """Offer the values that occur; choices stay where they can."""
        before = {name: field.value for name, field in self.conditions.items()}
        value = self.value.value
        for cell in self._cells:
            self._grid.removeWidget(cell)
            self.value.setParent(self)
            cell.deleteLater()
        self._cells, self.conditions = [], {}
        for attribute in known.grouped.attributes:
            field = ChoiceField(_choices(attribute, self.tr("any")), self)
            field.set_value(before.get(attribute.name, ANY))
            field.chosen.connect(self._tell)
            self.conditions[attribute.name] = field
            self._cells.append(_named(attribute.name, field))
        domain = known.attribute.domain
        names = domain.names if domain is not None else ()
        self.value.set_choices(list(enumerate(map(value_name, names))))
        self.value.set_value(value)
        self._cells.append(_named(known.attribute.name, self.value))
        self._arrange()

    @property
    def asked(self) -> dict[str, Value]:
        """The conditions on public columns."""
        return {
            name: field.value  # type: ignore[misc]
            for name, field in self.conditions.items()
            if field.value != ANY
        }

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put as many fields side by side as there is room for."""
        super().resizeEvent(event)
        self._arrange()

    def minimumSizeHint(self) -> QSize:
        """Ask for no more width than one field: then there are several lines."""
        widths = [cell.minimumSizeHint().width() for cell in self._cells]
        return QSize(max(widths, default=0), super().minimumSizeHint().height())

    def _arrange(self) -> None:
        across = max(self.width() // (scaled(FIELD_WIDTH) + Space.INSIDE), 1)
        for place, cell in enumerate(self._cells):
            self._grid.addWidget(cell, place // across, place % across)
        for place in range(self._grid.columnCount()):
            self._grid.setColumnStretch(place, 1 if place < across else 0)

    def _tell(self, _chosen: object) -> None:
        self.changed.emit()


def _named(name: str, field: ChoiceField) -> QWidget:
    cell = QWidget()
    title = label(name, "muted", wrap=True)
    title.setBuddy(field)
    field.setAccessibleName(name)
    field.setMinimumWidth(scaled(120))
    cell.setLayout(column(title, field, spacing=Space.TIGHT))
    return cell


def _choices(attribute: PublicAttribute, any_word: str) -> list[tuple[Value | tuple[str], str]]:
    present = sorted(set(attribute.codes.tolist()))[: MOST_VALUES + 1]
    values = [attribute.value(code) for code in present]
    known = sorted((value for value in values if value is not None), key=sort_key)
    choices: list[tuple[Value | tuple[str], str]] = [(ANY, any_word)]
    choices += [(value, show_value(value)) for value in known]
    if None in values:
        choices.append((None, value_name(MISSING_LABEL)))
    return choices
