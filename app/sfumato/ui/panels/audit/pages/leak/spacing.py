"""A level of its own for every recipient: what it costs, and what it makes traceable."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.project.document.model import Document
from sfumato.project.release.fingerprinting import USUAL_SPACING, WIDEST_SPACING, TracingPrice
from sfumato.ui.look.wording import typeset
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.layout import Card, button, label, row

PERCENT = 100.0


class SpacingCard(Card):
    """Proposes a spacing of recipients' levels, says what it would do, and sets it."""

    drafted = Signal()
    """The person wants to know what another spacing would do."""
    accepted = Signal(float)
    """The person wants this spacing, a share."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("A level of its own for every recipient"),
            self.tr(
                "Recipients at the same level get the same values, so a leaked file names them"
                " all. Levels that lie a hair apart stay on one ladder, and give every file"
                " values of its own."
            ),
            parent,
        )
        self.field = NumberField(
            0.0, WIDEST_SPACING * PERCENT, decimals=2, unit="%", step=0.1, parent=self
        )
        name = label(self.tr("Distance to the &next level"), "muted")
        name.setBuddy(self.field)
        self.field.value_changed.connect(lambda _value: self.drafted.emit())
        self.outcome = label("", wrap=True)
        self.use = button(self.tr("&Use this distance"), self._accept)
        self.stop = button(self.tr("Same level again"), lambda: self.accepted.emit(0.0), "quiet")
        self.body.addLayout(row(name, self.field, None))
        self.body.addWidget(self.outcome)
        self.body.addLayout(row(self.use, self.stop, None))

    @property
    def spacing(self) -> float:
        """The spacing in the field, a share."""
        return self.field.value / PERCENT

    def show_document(self, document: Document) -> None:
        """Show the spacing in force; where there is none, propose the usual one."""
        self.field.set_value((document.level_spacing or USUAL_SPACING) * PERCENT)
        self.stop.setVisible(document.level_spacing > 0.0)
        self._refresh_use(document)

    def _refresh_use(self, document: Document) -> None:
        self.use.setEnabled(abs(self.spacing - document.level_spacing) > 1e-9)

    def show_working(self, document: Document) -> None:
        """Say that the cost is being computed."""
        self._refresh_use(document)
        self.outcome.setText(self.tr("Computing how many rows would name a recipient…"))

    def show_price(self, price: TracingPrice) -> None:
        """Say what the spacing in the field does."""
        self.outcome.setText(typeset(price.sentence))

    def show_problem(self, text: str) -> None:
        """Say why that can't be computed."""
        self.outcome.setText(text)

    def _accept(self) -> None:
        self.accepted.emit(self.spacing)
