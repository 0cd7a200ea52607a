"""Bins for a column of numbers: how many, how wide, and where, over a histogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from sfumato.engine.core.columns import Binning
from sfumato.engine.core.errors import DomainError
from sfumato.engine.table.profile import BinWidths, NumberSummary
from sfumato.ui.look.theme import TextSize, current_theme, font, scaled
from sfumato.ui.panels.attributes.hierarchy.forms import numbers_in
from sfumato.ui.widgets.fields import ChoiceField, NumberField, WrappedCheckBox, text_field
from sfumato.ui.widgets.layout import column, label, say
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import show_value

Across = Callable[[float], float]
"""From a number to its place across the widget."""

HEIGHT = 132
BELOW = 20


class Histogram(QWidget):
    """Draws how numbers are distributed and where bins would divide them."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._summary: NumberSummary | None = None
        self._edges: tuple[float, ...] = ()
        self.setAccessibleName(self.tr("Distribution of the numbers"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return the room it needs."""
        return QSize(scaled(280), scaled(HEIGHT))

    def show_numbers(self, summary: NumberSummary | None, edges: Sequence[float]) -> None:
        """Show a distribution and edges.

        Parameters
        ----------
        summary
            The column's numbers.
        edges
            The bins' edges, increasing; none where it has no bins.
        """
        self._summary, self._edges = summary, tuple(edges)
        self.setAccessibleDescription("" if summary is None else self._told(summary))
        self.update()

    def _told(self, summary: NumberSummary) -> str:
        """Return what is drawn, for who can't see it."""
        line = self.tr("{low} to {high}: {count}")
        bars = zip(summary.edges[:-1], summary.edges[1:], summary.counts, strict=True)
        told = [
            line.format(low=show_value(low), high=show_value(high), count=count)
            for low, high, count in bars
            if count
        ]
        if self._edges:
            edges = ", ".join(map(show_value, self._edges))
            told.append(self.tr("Bins end at {edges}").format(edges=edges))
        return "; ".join(told)

    @property
    def edges(self) -> tuple[float, ...]:
        """The edges that are drawn."""
        return self._edges

    def _span(self, summary: NumberSummary) -> tuple[float, float]:
        low = min((summary.edges[0], *self._edges[:1]))
        high = max((summary.edges[-1], *self._edges[-1:]))
        return (low, high) if high > low else (low - 0.5, low + 0.5)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw bars, edges and the edges' numbers."""
        del event
        summary = self._summary
        if summary is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(1, 4, -1, -scaled(BELOW))
        low, high = self._span(summary)

        def across(number: float) -> float:
            return area.left() + area.width() * (number - low) / (high - low)

        self._draw_bars(painter, area, summary, across)
        self._draw_edges(painter, area, across)

    def _draw_bars(
        self, painter: QPainter, area: QRectF, summary: NumberSummary, across: Across
    ) -> None:
        style = current_theme().style
        painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), QColor(style.line))
        highest = max(summary.counts) or 1
        colour = QColor(style.blend(style.original, 0.75))
        if len(summary.edges) == 2 and summary.edges[0] == summary.edges[1]:
            painter.fillRect(QRectF(area.center().x() - 6, area.top(), 12, area.height()), colour)
            return
        for count, left, right in zip(
            summary.counts, summary.edges[:-1], summary.edges[1:], strict=True
        ):
            if count:
                height = max(1.5, area.height() * count / highest)
                start, end = across(left), across(right)
                painter.fillRect(
                    QRectF(start + 0.5, area.bottom() - height, max(end - start - 1, 1), height),
                    colour,
                )

    def _draw_edges(self, painter: QPainter, area: QRectF, across: Across) -> None:
        style = current_theme().style
        painter.setFont(font(TextSize.SMALL, tabular=True))
        metrics = painter.fontMetrics()
        taken = -1e9
        for edge in self._edges:
            x = across(edge)
            painter.setPen(QPen(QColor(style.released), 1.5))
            painter.drawLine(int(x), int(area.top()), int(x), int(area.bottom() + 3))
            text = show_value(edge)
            width = metrics.horizontalAdvance(text)
            left = min(max(x - width / 2, 0), self.width() - width)
            if left > taken + 4:
                painter.setPen(QColor(style.muted))
                room = QRectF(left, area.bottom() + 3, width + 2, scaled(BELOW) - 3)
                painter.drawText(room, int(Qt.AlignmentFlag.AlignLeft), text)
                taken = left + width

    def changeEvent(self, event: QEvent) -> None:
        """Redraw in the new theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()


MOST_BINS = 60
USUAL_BINS = 6


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
        self.use = WrappedCheckBox(self.tr("Divide the numbers into bins"))
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
        self.edges = text_field(name=self.tr("Edges of the bins"), given=self._give)
        self.edges.textEdited.connect(self._preview)
        self.problem = label("", "danger", wrap=True)
        self.problem.hide()
        self._choices = QWidget()
        self._choices.setLayout(
            column(
                FlowLayout(self.count, self.widths),
                label(self.tr("Edges, with semicolons between"), "small", wrap=True),
                self.edges,
                self.problem,
            )
        )
        self.setLayout(column(self.use, self.consequence, self.histogram, self._choices))

    def show_consequence(self, text: str) -> None:
        """Say what having bins, or none, means for a release; nothing where it is empty."""
        say(self.consequence, text)

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
        try:
            edges = numbers_in(self.edges.text(), r"[;\s]+", float)
        except ValueError:
            raise DomainError(
                "An edge of the binning is not a number.", "Separate the numbers by semicolons."
            ) from None
        return Binning(edges)

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
