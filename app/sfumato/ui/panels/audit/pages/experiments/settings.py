"""What an experiment begins with, and how much of it is run."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from sfumato.analysis.experiments import BELL, EVEN, Figure, Prior, Sizes
from sfumato.engine.core.columns import Kind
from sfumato.engine.disclosure.experiments.priors import LARGEST_SIZE
from sfumato.engine.table.table import encode_column
from sfumato.ui.look.theme import Space
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments
from sfumato.ui.widgets.layout import label

MOST_SIMULATIONS: Final = 1e10
MOST_RECIPIENTS: Final = 500
MOST_RELEASES: Final = 100_000
MOST_RECORDS: Final = 1_000_000


class ExperimentSettings(QWidget):
    """Chooses the figure, the true values it begins with, and how much is run."""

    changed = Signal()
    """Another figure, other values or another size was chosen."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.figure = Segments(
            [
                (Figure.COLLUSION, self.tr("Collusion (Fig. 5)")),
                (Figure.EQUIVALENCE, self.tr("Each release (Fig. 6)")),
                (Figure.GROWTH, self.tr("Many recipients (Fig. 7)")),
                (Figure.COST, self.tr("Cost (Fig. 8)")),
            ],
            self,
        )
        self.figure.setAccessibleName(self.tr("Experiment"))
        self.values = ChoiceField(parent=self)
        self.values.setAccessibleName(self.tr("True values"))
        self.values.setMinimumWidth(220)
        usual = Sizes()
        self.simulations = self._number(1000, MOST_SIMULATIONS, usual.simulations)
        self.recipients = self._number(1, MOST_RECIPIENTS, usual.recipients)
        self.releases = self._number(1, MOST_RELEASES, 1000)
        self.records = self._number(1, MOST_RECORDS, usual.records)
        self._names = {
            self.simulations: label(self.tr("Simulations"), "muted"),
            self.recipients: label(self.tr("Recipients"), "muted"),
            self.releases: label(self.tr("Releases"), "muted"),
            self.records: label(self.tr("Records"), "muted"),
        }
        self.line = QHBoxLayout()
        self.line.setSpacing(Space.INSIDE)
        values = label(self.tr("True &values"), "muted")
        values.setBuddy(self.values)
        self.line.addWidget(values)
        self.line.addWidget(self.values)
        for field, name in self._names.items():
            name.setBuddy(field)
            self.line.addSpacing(Space.INSIDE)
            self.line.addWidget(name)
            self.line.addWidget(field)
        self.line.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.INSIDE)
        column.addWidget(self.figure)
        column.addLayout(self.line)
        self.figure.chosen.connect(self._choose)
        self.values.chosen.connect(lambda _value: self.changed.emit())
        self.offer_values()
        self._choose(self.figure.value)

    def _number(self, low: float, high: float, usual: float) -> NumberField:
        made = NumberField(low, high, decimals=0, step=max(low, 1.0), show_range=False, parent=self)
        made.spin.setGroupSeparatorShown(True)
        made.set_value(usual)
        made.value_changed.connect(lambda _value: self.changed.emit())
        return made

    @property
    def chosen(self) -> Figure:
        """The experiment's figure."""
        return Figure(str(self.figure.value))

    @property
    def sizes(self) -> Sizes:
        """How much is run."""
        return Sizes(
            round(self.simulations.value),
            round(self.recipients.value),
            round(self.releases.value),
            round(self.records.value),
        )

    def prior(self) -> Prior | None:
        """Return the true values' distribution; None while a column of theirs is not known.

        Raises
        ------
        DomainError
            If a row of the column does not fit its domain.
        """
        chosen = self.values.value
        if isinstance(chosen, tuple):
            return BELL if chosen[1] == 1 else EVEN
        table, name = self._session.table, str(chosen)
        if table is None:
            return None
        encoded = self._session.attribute(name)
        attribute = encoded.attribute if encoded is not None else None
        if attribute is None and self._session.attribute_error(name) is not None:
            spec = self._session.document.column(name)
            attribute = encode_column(table, spec).attribute  # says why it does not fit
        if attribute is None or attribute.counts is None:
            return None
        return Prior(name, attribute.frequencies)

    def offer_values(self) -> None:
        """Offer the made-up distributions and the columns of the present table."""
        choices: list[tuple[Hashable, str]] = [
            (("shape", 0), self.tr("50 equally frequent values")),
            (("shape", 1), self.tr("50 values in a bell")),
        ]
        if self._session.table is not None:
            known = set(self._session.table.columns)
            choices += [
                (spec.name, self.tr("Column {name}").format(name=spec.name))
                for spec in self._session.document.columns
                if spec.kind is Kind.CATEGORICAL and spec.name in known
            ]
        self.values.set_choices(choices)

    def _choose(self, _figure: object) -> None:
        shown = {
            Figure.COLLUSION: (self.simulations,),
            Figure.EQUIVALENCE: (self.simulations,),
            Figure.GROWTH: (self.recipients,),
            Figure.COST: (self.releases, self.records),
        }[self.chosen]
        for field, name in self._names.items():
            field.setVisible(field in shown)
            name.setVisible(field in shown)
        tip = self.tr("Up to {most} values can be simulated").format(most=LARGEST_SIZE)
        self.values.setToolTip(tip if self.simulations in shown else "")
        self.changed.emit()
