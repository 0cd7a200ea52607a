"""Bins for a column of numbers: how many, how wide, and where, with the histogram beside them."""

from __future__ import annotations

import re

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from sfumato.engine.core.columns import Binning
from sfumato.engine.core.errors import DomainError
from sfumato.engine.table.profile import BinWidths, NumberSummary
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.attributes.histogram import Histogram
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import column, label, row
from sfumato.ui.widgets.tables import show_value

MOST_BINS = 60
USUAL_BINS = 6


def edges_of_text(text: str) -> tuple[float, ...]:
    """Return the numbers in a text, separated by semicolons or blanks.

    Raises
    ------
    DomainError
        If something in it is not a number.
    """
    pieces = [piece for piece in re.split(r"[;\s]+", text.strip()) if piece]
    try:
        return tuple(float(piece.replace(",", ".")) for piece in pieces)
    except ValueError:
        raise DomainError(
            "An edge of the binning is not a number.", "Separate the numbers by semicolons."
        ) from None


class BinningEditor(QWidget):
    """Shows a binning and tells which one the person wants instead."""

    switched = Signal(bool)
    """The person wants bins, or none."""
    suggestion_wanted = Signal(int, object)
    """So many bins, of these `BinWidths`."""
    edges_given = Signal(object)
    """A `Binning` with these edges."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._summary: NumberSummary | None = None
        self._binning: Binning | None = None
        self.use = QCheckBox(self.tr("Divide the numbers into bins"))
        self.use.clicked.connect(self.switched)
        self.consequence = label("", "muted", wrap=True)
        self.consequence.hide()
        self.histogram = Histogram()
        self.count = NumberField(2, MOST_BINS, decimals=0, unit=self.tr("bins"), show_range=False)
        self.count.spin.setAccessibleName(self.tr("About how many bins"))
        self.count.set_value(USUAL_BINS)
        self.count.value_changed.connect(lambda _value: self._suggest())
        self.widths = ChoiceField(
            (
                (BinWidths.QUANTILE, self.tr("of equal counts")),
                (BinWidths.EQUAL, self.tr("of equal widths")),
            )
        )
        self.widths.setAccessibleName(self.tr("How the bins divide the numbers"))
        self.widths.chosen.connect(lambda _value: self._suggest())
        self.edges = QLineEdit()
        self.edges.setAccessibleName(self.tr("Edges of the bins"))
        self.edges.textEdited.connect(self._preview)
        self.edges.editingFinished.connect(self._give)
        self.problem = label("", "danger", wrap=True)
        self.problem.hide()
        self._choices = QWidget()
        choosing = column(spacing=Space.INSIDE)
        choosing.addLayout(row(self.count, self.widths, None))
        choosing.addWidget(label(self.tr("Edges, with semicolons between"), "small"))
        choosing.addWidget(self.edges)
        choosing.addWidget(self.problem)
        self._choices.setLayout(choosing)
        self.setLayout(column(self.use, self.consequence, self.histogram, self._choices))

    def show_consequence(self, text: str) -> None:
        """Say what having bins, or none, means for a release; nothing where it is empty."""
        self.consequence.setText(text)
        self.consequence.setVisible(bool(text))

    def show_binning(self, binning: Binning | None, summary: NumberSummary | None) -> None:
        """Show a binning, or none, over the distribution of the numbers."""
        self._binning, self._summary = binning, summary
        edges = binning.edges if binning is not None else ()
        self.use.setChecked(binning is not None)
        self._choices.setVisible(binning is not None)
        self.histogram.show_numbers(summary, edges)
        self.edges.setText("; ".join(show_value(edge) for edge in edges))
        self.problem.hide()
        if edges:
            self.count.set_value(len(edges) - 1)

    def _suggest(self) -> None:
        self.suggestion_wanted.emit(int(self.count.value), self.widths.value)

    def _typed(self) -> Binning:
        """Return the binning that was typed; raise `DomainError` where it is none."""
        return Binning(edges_of_text(self.edges.text()))

    def _preview(self) -> None:
        """Draw the edges while they are being typed."""
        try:
            edges = self._typed().edges
        except DomainError as error:
            self.problem.setText(" ".join(error_texts(error)))
            self.problem.show()
            return
        self.problem.hide()
        self.histogram.show_numbers(self._summary, edges)

    def _give(self) -> None:
        try:
            typed = self._typed()
        except DomainError:
            return
        if self._binning is None or typed.edges != self._binning.edges:
            self.edges_given.emit(typed)
