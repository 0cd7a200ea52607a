"""A loaded table: its rows, and what each column looks like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QItemSelectionModel, QModelIndex, Qt
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QStackedWidget, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.data.profiles import ProfileList, grouped
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import ElidedLabel, EmptyState, button, column, label, row
from sfumato.ui.widgets.tables import FrameModel, TableView

LIST_WIDTH = 304
TITLE_WIDTH = 168
SORTED_AT_ONCE = 200_000
SORT_KEY = "data-sort"


class LoadedPage(QWidget):
    """Shows the session's table beside its columns' profiles.

    Parameters
    ----------
    session
        Whose table is shown.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._model: FrameModel | None = None
        self.file = ElidedLabel("", "heading", Qt.TextElideMode.ElideMiddle)
        self.about = ElidedLabel("", "muted")
        self.reread = button(self.tr("How it is read…"), lambda: None, "quiet")
        self.title = QLineEdit()
        self.title.setFixedWidth(TITLE_WIDTH)
        self.title.setAccessibleName(self.tr("Title of the releases"))
        self.title.setToolTip(self.tr("Recipients read this title, and bundles are named by it."))
        self.title.editingFinished.connect(self._rename)
        self.profiles = ProfileList()
        self.profiles.setFixedWidth(LIST_WIDTH)
        self.looking = EmptyState("clock", self.tr("Looking at the columns"), "")
        self.looking.setFixedWidth(LIST_WIDTH)
        self.side = QStackedWidget()
        self.side.addWidget(self.looking)
        self.side.addWidget(self.profiles)
        self.side.setFixedWidth(LIST_WIDTH)
        self.table = TableView()
        self.table.setAccessibleName(self.tr("The table's rows"))
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.setSortIndicatorClearable(True)
        header.sortIndicatorChanged.connect(self._sort)
        self._lay_out()
        session.table_changed.connect(self.refresh)
        session.document_changed.connect(self._show_names)
        session.profiles_changed.connect(self._show_profiles)

    def _lay_out(self) -> None:
        names = column(self.file, self.about, spacing=2)
        caption = label(self.tr("Released as"), "small")
        caption.setBuddy(self.title)
        top = row(spacing=Space.INSIDE)
        top.addLayout(names, 1)
        for widget in (caption, self.title, self.reread):
            top.addWidget(widget)
        work = QHBoxLayout()
        work.setSpacing(Space.BETWEEN)
        work.addWidget(self.side)
        work.addWidget(self.table, 1)
        layout = column(spacing=12)
        layout.addLayout(top)
        layout.addLayout(work, 1)
        self.setLayout(layout)

    def refresh(self) -> None:
        """Show the session's table."""
        table = self._session.table
        self._model = None
        if table is not None:
            self._model = FrameModel(table.frame, table.value_labels)
            self._model.setParent(self.table)
            self.table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
            self.table.setModel(self._model)
            self.table.fit_columns()
        else:
            self.table.setModel(None)
        self._show_names()
        self._show_profiles()

    def _show_names(self) -> None:
        table, source = self._session.table, self._session.document.source
        if table is None:
            return
        self.file.setText(Path(source.path).name if source is not None else "")
        words = self.tr("{rows} records, {columns} columns").format(
            rows=grouped(table.rows), columns=grouped(len(table.columns))
        )
        self.title.setText(self._session.document.title)
        place = str(Path(source.path).parent) if source is not None else ""
        self.about.setText(f"{words} · {place}" if place else words)

    def _rename(self) -> None:
        title, document = self.title.text().strip(), self._session.document
        if not title:
            self.title.setText(document.title)
        elif title != document.title:
            self._session.edit(self.tr("Change the title"), replace(document, title=title))

    def _show_profiles(self) -> None:
        if self._session.table is None:
            return
        insight = self._session.insight()
        if insight is None:
            self.side.setCurrentWidget(self.looking)
            return
        self.profiles.show_profiles(insight.profiles)
        self.profiles.selectionModel().currentChanged.connect(self._follow)
        self.side.setCurrentWidget(self.profiles)

    def _follow(self, current: QModelIndex, _previous: QModelIndex) -> None:
        """Bring the column of a chosen profile into sight."""
        model = self.table.model()
        if model is None or not current.isValid():
            return
        row_in_sight = max(self.table.rowAt(0), 0)
        index = model.index(row_in_sight, current.row())
        self.table.scrollTo(index)
        flags = QItemSelectionModel.SelectionFlag
        self.table.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def _sort(self, section: int, order: Qt.SortOrder) -> None:
        """Sort at once, or in a job where there are many rows."""
        model = self._model
        if model is None:
            return
        if section < 0 or model.rowCount() <= SORTED_AT_ONCE:
            self._session.runner.cancel(SORT_KEY)
            model.sort(section, order)
            return
        descending = order == Qt.SortOrder.DescendingOrder
        self._session.runner.run(
            self.tr("Sorting"),
            lambda _context: model.order_by(section, descending),
            lambda found: model.set_order(found) if model is self._model else None,
            key=SORT_KEY,
        )
