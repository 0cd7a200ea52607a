"""The ledger: every release, whether the record is intact, and the way to verify a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStackedWidget, QWidget

from app.project.records import ReleaseRecord
from app.project.verify import VerificationReport
from app.ui.panels.releases.ledger_model import BUNDLE, LEVELS, WHEN, LedgerModel
from app.ui.panels.releases.verification import VerificationView
from app.ui.widgets.layout import Badge, Card, EmptyState, button, row
from app.ui.widgets.tables import TableView

WIDE: Final = 780
"""From this width on, the bundles' names are shown."""


class LedgerCard(Card):
    """Shows the releases made, or what a verification found."""

    folder_asked = Signal(object)
    """The folder of a release should be shown: its `Path`."""
    verify_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Ledger"), parent=parent)
        self.model = LedgerModel(self)
        self.table = self._build_table()
        self.empty = EmptyState(
            "releases",
            self.tr("No release was made yet"),
            self.tr(
                "Each release is written down here: when, to whom, at which levels, and the"
                " digest of its files."
            ),
        )
        self.report = VerificationView(self)
        self.pages = QStackedWidget(self)
        self.report.closed.connect(lambda: self.pages.setCurrentWidget(self._list))
        for page in (self.table, self.empty, self.report):
            self.pages.addWidget(page)
        self._list: QWidget = self.empty
        self.pages.setCurrentWidget(self.empty)
        self.intact = Badge("verify", "muted", "")
        self.show_folder = button(self.tr("Show &folder"), self._ask_for_folder, icon="folder")
        self.verify = button(
            self.tr("&Verify a file…"),
            self.verify_asked.emit,
            icon="verify",
            tip=self.tr("Choose a bundle, or drop one here"),
        )
        self.show_folder.setEnabled(False)
        self.body.removeWidget(self.heading)
        head = row(self.heading)
        head.addSpacing(8)
        head.addWidget(self.intact)
        head.addStretch(1)
        head.addWidget(self.show_folder)
        head.addWidget(self.verify)
        self.body.addLayout(head)
        self.body.addWidget(self.pages, 1)
        self.setMinimumHeight(260)

    def _build_table(self) -> TableView:
        table = TableView(self, row_numbers=False)
        table.setModel(self.model)
        table.setProperty("framed", False)
        table.setAccessibleName(self.tr("Releases in the ledger"))
        table.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        table.setSelectionMode(TableView.SelectionMode.SingleSelection)
        table.setSortingEnabled(True)
        table.sortByColumn(WHEN, Qt.SortOrder.DescendingOrder)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(BUNDLE, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(LEVELS, QHeaderView.ResizeMode.Stretch)
        table.selectionModel().selectionChanged.connect(self._allow_folder)
        table.doubleClicked.connect(lambda _index: self._ask_for_folder())
        return table

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the bundles' names out where there is no room for them; the tip has them."""
        super().resizeEvent(event)
        self.table.setColumnHidden(BUNDLE, self.width() < WIDE)

    def show_records(self, records: Sequence[ReleaseRecord]) -> None:
        """Show the releases of a ledger."""
        reading = self.pages.currentWidget() is self.report
        self.model.show_records(records)
        self._list = self.table if records else self.empty
        self.show_folder.setVisible(bool(records))
        self._allow_folder()
        if not reading:
            self.pages.setCurrentWidget(self._list)

    def show_intact(self, icon: str, token: str, words: str, detail: str = "") -> None:
        """Say whether the ledger is as it was written."""
        self.intact.show_state(icon, token, words)
        self.intact.setToolTip(detail)
        self.intact.setVisible(bool(words))

    def show_ledger(self) -> None:
        """Show the releases, and no longer what a verification found."""
        self.pages.setCurrentWidget(self._list)

    def show_report(self, name: str, report: VerificationReport) -> None:
        """Show what a verification found."""
        self.report.show_report(name, report)
        self.pages.setCurrentWidget(self.report)

    def _chosen(self) -> ReleaseRecord | None:
        rows = self.table.selectionModel().selectedRows()
        return self.model.record(rows[0].row()) if rows else None

    def _allow_folder(self, *_changes: object) -> None:
        self.show_folder.setEnabled(self._chosen() is not None)

    def _ask_for_folder(self) -> None:
        record = self._chosen()
        if record is not None:
            self.folder_asked.emit(Path(record.target))
