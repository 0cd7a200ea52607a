"""Which values a column can take: added, removed, put in order and named; or bins of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QStyledItemDelegate, QWidget

from sfumato.engine.core.columns import Binning, Domain
from sfumato.engine.core.errors import DomainError
from sfumato.engine.table.profile import BinWidths, NumberSummary
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space, TextSize, current_theme, font, scaled
from sfumato.ui.panels.attributes.columns import tr
from sfumato.ui.panels.attributes.hierarchy.forms import numbers_in
from sfumato.ui.widgets.fields import ChoiceField, NumberField, WrappedCheckBox, text_field
from sfumato.ui.widgets.layout import boxed, button, column, label, row, say, show_tool, tool
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.painted import RIGHT, draw_row_ground, draw_text, painter_on
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, Index, TableView, show_value

VALUE, SHOWN, RECORDS = range(3)


class DomainModel(CellsModel):
    """A domain's values in order; new labels are told, not made."""

    label_given = Signal(int, str)

    def __init__(self, parent: QWidget) -> None:
        shown, records = Heading(tr("Shown as"), editable=True), Heading(tr("Records"), right=True)
        super().__init__((Heading(tr("Value")), shown, records), parent)
        self._counts: tuple[int, ...] | None = None
        self._highest = 1
        self.domain: Domain | None = None
        self.written.connect(self._tell)

    def show_domain(self, domain: Domain | None, counts: tuple[int, ...] | None) -> None:
        """Show other values; `counts` are the records that have each, where known."""
        before, self.domain = self.domain, domain
        fits = counts is not None and domain is not None and len(counts) == domain.size
        self._counts = counts if fits else None
        self._highest = max(self._counts or (1,)) or 1
        if before is not None and domain is not None and before.values == domain.values:
            self.repaint()  # only names or counts: whoever edits a name stays where they are
        else:
            self.lay_out(domain.size if domain is not None else 0)

    def count(self, row: int) -> int | None:
        """Return how many records have a value; None while that is not known."""
        return self._counts[row] if self._counts is not None else None

    def share(self, row: int) -> float:
        """Return how many records have a value, beside the most frequent one."""
        return (self.count(row) or 0) / self._highest

    def cell(self, row: int, column: int) -> Cell:
        """Return what is shown of a value."""
        if self.domain is None:
            return Cell("")
        value = self.domain.values[row]
        text = tr("(missing)") if value is None else show_value(value)
        if column == SHOWN:
            tip = tr("Double-click to give the value another name")
            return Cell(self.domain.labels.get(value, ""), tip)
        if column == RECORDS:
            count = self.count(row)
            return Cell("…" if count is None else grouped(count) if count else tr("none"), text)
        return Cell(text, text)

    def _tell(self, typed: Mapping[tuple[int, int], str]) -> None:
        for place, text in typed.items():
            if text != self.cell(*place).text:
                self.label_given.emit(place[0], text)


class RecordsDelegate(QStyledItemDelegate):
    """Draws how many records have a value, with a bar behind the number."""

    def paint(self, painter: QPainter, option: Any, index: Index) -> None:
        """Draw a cell."""
        theme = current_theme()
        painter.save()
        area = draw_row_ground(painter, option)
        model = index.model()
        assert isinstance(model, DomainModel)
        width = (area.width() - 16) * model.share(index.row())
        bar = QRectF(area.right() - 8 - width, area.bottom() - 7, width, 3)
        painter.fillRect(bar, QColor(theme.style.blend(theme.style.original, 0.75)))
        colour, face = theme.style.text, font(tabular=True)
        if not model.count(index.row()):
            colour = theme.quiet
        inner = area.adjusted(8, -2, -11, -2)
        draw_text(painter, inner, str(index.data()), face, colour, RIGHT)
        painter.restore()


MOST_ROWS_SHOWN = 8
HEAD = 39


class DomainEditor(QWidget):
    """Shows a domain and tells what the person wants changed in it."""

    added = Signal(str)
    removed = Signal(list)
    moved = Signal(int, int)
    sort_asked = Signal()
    confirmed = Signal()
    """These are the values that could occur, says the person."""
    labelled = Signal(int, str)

    def __init__(self) -> None:
        super().__init__()
        self.model = DomainModel(self)
        self.model.label_given.connect(self.labelled)
        self.view = self._build_view()
        self.problem = label("", "danger", wrap=True)
        self.problem.hide()
        self.new_value = text_field(hint=self.tr("A value that could occur"))
        self.new_value.setAccessibleName(self.tr("A value to add to the domain"))
        self.new_value.returnPressed.connect(self._add)
        self.add_button = button(self.tr("Add"), self._add, icon="add")
        self.add_button.setAutoDefault(False)
        self.up = tool("up", self.tr("Move up"), lambda: self._move(-1))
        self.down = tool("down", self.tr("Move down"), lambda: self._move(1))
        self.remove = tool("remove", "", self._remove)
        self.sort = tool("chevron-down", self.tr("Sort by value"), self.sort_asked.emit)
        self._build_origin()
        self._adding = boxed(row(self.new_value, self.add_button))
        self._tools = boxed(row(self.sort, self.up, self.down, self.remove, spacing=2))
        self.caption = label("", "caption")
        head = row(self.caption, None, self._tools)
        whole = column(
            head, self.view, self._adding, self._origin, self.problem, spacing=Space.TIGHT
        )
        whole.insertSpacing(2, Space.TIGHT)
        self.setLayout(whole)
        self.view.selectionModel().selectionChanged.connect(lambda *_: self._allow())
        self._allow()

    def _build_origin(self) -> None:
        """Build what says that the values were taken from the rows, and the button beside it."""
        words = self.tr(
            "Taken from the rows: recipients can tell that somebody has each value. Add any"
            " other values that could occur, or confirm that the list is complete."
        )
        self.confirm = button(self.tr("Confirm"), self.confirmed.emit)
        self.confirm.setAutoDefault(False)
        self._origin = boxed(row(label(words, "small", wrap=True), self.confirm))
        self._origin.hide()

    def show_origin(self, *, from_rows: bool) -> None:
        """Say whether nobody has confirmed the values yet."""
        self._origin.setVisible(from_rows)

    def _build_view(self) -> TableView:
        view = TableView(row_numbers=False, model=self.model, whole_rows=True, edits=True)
        view.setItemDelegateForColumn(RECORDS, RecordsDelegate(view))
        view.setAccessibleName(self.tr("Values of the domain"))
        view.set_widths({SHOWN: 104, RECORDS: 84})
        view.wrap_rows()
        view.wrapped.connect(self._fit)
        view.installEventFilter(self)
        return view

    def show_domain(
        self, domain: Domain | None, counts: tuple[int, ...] | None, *, fixed: bool
    ) -> None:
        """Show a domain.

        Parameters
        ----------
        domain
            The values.
        counts
            How many records have each, where that is known.
        fixed
            Whether the values follow from something else (bins) and only their names change.
        """
        before = self.view.currentIndex()
        place = before.row() if before.isValid() else -1
        scrolled = self.view.verticalScrollBar().value()
        self.model.show_domain(domain, counts)
        self._fit()
        if 0 <= place < self.model.rowCount() and self.view.currentIndex() != before:
            self.view.selectRow(place)
        self.view.verticalScrollBar().setValue(scrolled)
        self._tools.setVisible(not fixed)
        self._adding.setVisible(not fixed)
        self._allow()

    def _fit(self) -> None:
        """Make the view as high as its first values are, and two rows at least."""
        shown = min(self.model.rowCount(), MOST_ROWS_SHOWN)
        high = sum(map(self.view.rowHeight, range(shown)))
        self.view.setFixedHeight(scaled(HEAD) + max(high, 2 * Space.FIELD))

    def show_problem(self, text: str) -> None:
        """Say why something could not be done; empty to take it back."""
        say(self.problem, text)

    def clear_new_value(self) -> None:
        """Empty the field for a new value, and show where the value was added."""
        self.new_value.clear()
        values = self.model.domain.values if self.model.domain is not None else ()
        known = [place for place, value in enumerate(values) if value is not None]
        if known:
            self.view.selectRow(known[-1])
            self.view.scrollTo(self.model.index(known[-1], SHOWN))

    def _allow(self) -> None:
        """Allow what can be done with the chosen values, and say why not."""
        rows = self.view.chosen_rows()
        one = len(rows) == 1
        self.up.setEnabled(one and rows[0] > 0)
        self.down.setEnabled(one and rows[0] < self.model.rowCount() - 1)
        occurring = [place for place in rows if self.model.count(place) != 0]
        enough = self.model.rowCount() - len(rows) >= 1
        self.remove.setEnabled(bool(rows) and not occurring and enough)
        words = self.tr("Remove from the domain")
        if occurring:
            words = self.tr("A value that records have can't be removed")
        show_tool(self.remove, "remove", words)

    def _add(self) -> None:
        self.added.emit(self.new_value.text())

    def _remove(self) -> None:
        self.removed.emit(self.view.chosen_rows())

    def _move(self, by: int) -> None:
        rows = self.view.chosen_rows()
        if len(rows) == 1:
            target = min(max(rows[0] + by, 0), self.model.rowCount() - 1)
            self.view.setCurrentIndex(self.model.index(rows[0], SHOWN))
            self.moved.emit(rows[0], by)
            self.view.selectRow(target)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Remove by Delete, move by Alt with an arrow key."""
        if watched is self.view and isinstance(event, QKeyEvent):
            pressed = event.type() == QEvent.Type.KeyPress
            alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
            if pressed and event.key() == Qt.Key.Key_Delete and self.remove.isEnabled():
                self._remove()
                return True
            if pressed and alt and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
                self._move(-1 if event.key() == Qt.Key.Key_Up else 1)
                return True
        return super().eventFilter(watched, event)


Across = Callable[[float], float]
"""From a number to its place across the widget."""

HISTOGRAM: Final = 132
BELOW: Final = 20
"""The height of a histogram, and of the numbers below it; pixels at scale 1."""


class Histogram(QWidget):
    """Draws how numbers are distributed and where bins would divide them."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self) -> None:
        super().__init__()
        self._summary: NumberSummary | None = None
        self.edges: tuple[float, ...] = ()
        """The edges that are drawn."""
        self.setAccessibleName(self.tr("Distribution of the numbers"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return the room it needs."""
        return QSize(scaled(280), scaled(HISTOGRAM))

    def show_numbers(self, summary: NumberSummary | None, edges: Sequence[float]) -> None:
        """Show a distribution and edges.

        Parameters
        ----------
        summary
            The column's numbers.
        edges
            The bins' edges, increasing; none where it has no bins.
        """
        self._summary, self.edges = summary, tuple(edges)
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
        if self.edges:
            edges = ", ".join(map(show_value, self.edges))
            told.append(self.tr("Bins end at {edges}").format(edges=edges))
        return "; ".join(told)

    def _span(self, summary: NumberSummary) -> tuple[float, float]:
        low = min((summary.edges[0], *self.edges[:1]))
        high = max((summary.edges[-1], *self.edges[-1:]))
        return (low, high) if high > low else (low - 0.5, low + 0.5)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw bars, edges and the edges' numbers."""
        del event
        summary = self._summary
        if summary is None:
            return
        painter = painter_on(self)
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
        for edge in self.edges:
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


MOST_BINS: Final = 60
USUAL_BINS: Final = 6


class BinningEditor(QWidget):
    """Shows a binning and tells which one the person wants instead."""

    suggestion_wanted = Signal(int, object)
    """So many bins, of these `BinWidths`."""
    edges_given = Signal(object)
    """A `Binning` with these edges, or None for no bins."""

    def __init__(self) -> None:
        super().__init__()
        self._summary: NumberSummary | None = None
        self._binning: Binning | None = None
        words = self.tr("Divide the numbers into bins")
        self.use = WrappedCheckBox(words, clicked=self._switch)
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

    def _switch(self, wanted: bool) -> None:
        if wanted:
            self._suggest()
        else:
            self.edges_given.emit(None)

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
            self.problem.setText(error_words(error))
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
