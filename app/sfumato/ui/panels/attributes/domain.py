"""Which values a column can take: added, removed, put in order and named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QWidget

from sfumato.engine.core.columns import Domain
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space, TextSize, current_theme, font, scaled
from sfumato.ui.panels.attributes.columns import tr
from sfumato.ui.widgets.fields import text_field
from sfumato.ui.widgets.layout import boxed, button, column, label, row, say, tool
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
        area = QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, QColor(theme.selected))
        painter.fillRect(
            QRectF(area.left(), area.bottom() - 1, area.width(), 1), QColor(theme.style.line)
        )
        model = index.model()
        assert isinstance(model, DomainModel)
        width = (area.width() - 16) * model.share(index.row())
        bar = QRectF(area.right() - 8 - width, area.bottom() - 7, width, 3)
        painter.fillRect(bar, QColor(theme.style.blend(theme.style.original, 0.75)))
        painter.setPen(QColor(theme.style.text if model.count(index.row()) else theme.quiet))
        painter.setFont(font(TextSize.BODY, tabular=True))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(area.adjusted(8, -2, -11, -2), int(side), str(index.data()))
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

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        view = TableView(row_numbers=False, model=self.model, whole_rows=True)
        view.setItemDelegateForColumn(RECORDS, RecordsDelegate(view))
        triggers = QAbstractItemView.EditTrigger
        view.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        view.setAccessibleName(self.tr("Values of the domain"))
        view.set_widths({SHOWN: 104, RECORDS: 84})
        view.wrap_rows(VALUE)
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
        self.remove.setToolTip(words)
        self.remove.setAccessibleName(words)

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
