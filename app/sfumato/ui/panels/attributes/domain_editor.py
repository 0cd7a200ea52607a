"""Which values a column can take: added, removed, put in order and named."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QToolButton,
    QWidget,
)

from sfumato.engine.core.columns import Domain
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.attributes.domain_model import RECORDS, SHOWN, DomainModel, RecordsDelegate
from sfumato.ui.widgets.icons import themed_icon
from sfumato.ui.widgets.layout import button, column, label, row
from sfumato.ui.widgets.tables import TableView

MOST_ROWS_SHOWN = 8
ROW = 32
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
        self.model = DomainModel()
        self.model.setParent(self)
        self.model.label_given.connect(self.labelled)
        self.view = self._build_view()
        self.problem = label("", "danger", wrap=True)
        self.problem.hide()
        self.new_value = QLineEdit()
        self.new_value.setPlaceholderText(self.tr("A value that could occur"))
        self.new_value.setAccessibleName(self.tr("A value to add to the domain"))
        self.new_value.returnPressed.connect(self._add)
        self.add_button = button(self.tr("Add"), self._add, icon="add")
        self.add_button.setAutoDefault(False)
        self.up = self._tool("up", self.tr("Move up"), lambda: self._move(-1))
        self.down = self._tool("down", self.tr("Move down"), lambda: self._move(1))
        self.remove = self._tool("remove", "", self._remove)
        self.sort = self._tool("chevron-down", self.tr("Sort by value"), self.sort_asked.emit)
        self._build_origin()
        self._adding = QWidget()
        self._adding.setLayout(row(self.new_value, self.add_button))
        self._tools = QWidget()
        self._tools.setLayout(row(self.sort, self.up, self.down, self.remove, spacing=2))
        self.caption = label("", "caption")
        head = row(self.caption, None, self._tools)
        whole = column(spacing=Space.TIGHT)
        whole.addLayout(head)
        for widget in (self.view, self._adding, self._origin, self.problem):
            whole.addWidget(widget)
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
        self._origin = QWidget()
        self.confirm = button(self.tr("Confirm"), self.confirmed.emit)
        self.confirm.setAutoDefault(False)
        self._origin.setLayout(row(label(words, "small", wrap=True), self.confirm))
        self._origin.hide()

    def show_origin(self, *, from_rows: bool) -> None:
        """Say whether nobody has confirmed the values yet."""
        self._origin.setVisible(from_rows)

    def _build_view(self) -> TableView:
        view = TableView(row_numbers=False)
        view.setModel(self.model)
        view.setItemDelegateForColumn(RECORDS, RecordsDelegate(view))
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        triggers = QAbstractItemView.EditTrigger
        view.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        view.setAccessibleName(self.tr("Values of the domain"))
        header = view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        for section, width in ((SHOWN, 104), (RECORDS, 84)):
            header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(section, width)
        view.installEventFilter(self)
        return view

    def _tool(self, icon: str, words: str, run: Callable[[], None]) -> QToolButton:
        made = QToolButton(self)
        made.setIcon(themed_icon(icon))
        made.setToolTip(words)
        made.setAccessibleName(words)
        made.clicked.connect(lambda _checked=False: run())
        return made

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
        shown = min(max(self.model.rowCount(), 2), MOST_ROWS_SHOWN)
        self.view.setFixedHeight(HEAD + ROW * shown)
        if 0 <= place < self.model.rowCount() and self.view.currentIndex() != before:
            self.view.selectRow(place)
        self.view.verticalScrollBar().setValue(scrolled)
        self._tools.setVisible(not fixed)
        self._adding.setVisible(not fixed)
        self._allow()

    def show_problem(self, text: str) -> None:
        """Say why something could not be done; empty to take it back."""
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def clear_new_value(self) -> None:
        """Empty the field for a new value, and show where the value was added."""
        self.new_value.clear()
        values = self.model.domain.values if self.model.domain is not None else ()
        known = [place for place, value in enumerate(values) if value is not None]
        if known:
            self.view.selectRow(known[-1])
            self.view.scrollTo(self.model.index(known[-1], SHOWN))

    def _rows(self) -> list[int]:
        return sorted({index.row() for index in self.view.selectionModel().selectedIndexes()})

    def _allow(self) -> None:
        """Allow what can be done with the chosen values, and say why not."""
        rows = self._rows()
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
        self.removed.emit(self._rows())

    def _move(self, by: int) -> None:
        rows = self._rows()
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
