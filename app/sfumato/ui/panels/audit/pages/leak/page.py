"""A file that was found: whose copy it is, and what would make every copy traceable."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.datapackage import DATAPACKAGE_NAME
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.fingerprinting import tracing_price, with_spacing
from sfumato.project.verification.leak import LeakReport, read_leak, trace_file
from sfumato.ui.panels.audit.pages.base import AuditPage, Theme
from sfumato.ui.panels.audit.pages.leak.finding import FindingCard
from sfumato.ui.panels.audit.pages.leak.spacing import SpacingCard
from sfumato.ui.panels.base import PanelState
from sfumato.ui.shell.choosers import table_filters
from sfumato.ui.shell.messages import Message, error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import EmptyState, ScrollPage, button

TRACE_JOB: Final = "trace a leak"
PRICE_JOB: Final = "price of tracing"


class LeakPage(AuditPage):
    """Traces found files to recipients."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Leaks"))
    theme: ClassVar[Theme] = Theme.EVIDENCE
    order: ClassVar[int] = 80

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setAcceptDrops(True)
        self._priced: tuple[Document, Table] | None = None
        self.finding = FindingCard(self)
        self.spacing = SpacingCard(self)
        page = ScrollPage(self)
        page.column.addWidget(self.finding)
        page.column.addWidget(self.spacing)
        page.column.addStretch(1)
        self.empty = EmptyState(
            "verify",
            self.tr("Nothing was released yet"),
            self.tr(
                "Once releases were made from a project, choose a file that turned up somewhere"
                " and see whose copy it is."
            ),
        )
        self.empty.add_button(
            button(
                self.tr("Go to Releases"),
                lambda: self.session.panel_requested.emit("releases"),
                "primary",
            )
        )
        self.pages = QStackedWidget(self)
        self.pages.addWidget(self.empty)
        self.pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.pages)
        self.finding.asked.connect(self._choose)
        self.spacing.drafted.connect(self._price)
        self.spacing.accepted.connect(self._accept)
        for signal in (session.project_changed, session.table_changed):
            signal.connect(self._start_anew)
        session.document_changed.connect(self._refresh)
        self._start_anew()

    def state(self) -> PanelState:
        """Return empty: tracing is never part of the work that is due."""
        return PanelState.EMPTY

    def showEvent(self, event: QShowEvent) -> None:
        """Compute what the spacing does, now that somebody looks."""
        super().showEvent(event)
        self._price()

    def _start_anew(self) -> None:
        self.session.runner.cancel(TRACE_JOB)
        self.finding.show_nothing()
        self._refresh()

    def _refresh(self) -> None:
        ready = self.session.project is not None and self.session.table is not None
        self.pages.setCurrentIndex(int(ready))
        self.spacing.show_document(self.session.document)
        self._price()

    # ----- a file

    def _choose(self) -> None:
        path = self.session.chooser.open_file(self.tr("The found file"), table_filters())
        if path is not None:
            self.trace(path)

    def trace(self, path: Path) -> None:
        """Say whose copy a file is: a table, a zipped bundle, or a bundle's description."""
        project, table = self.session.project, self.session.table
        if project is None or table is None:
            return
        self.finding.show_working(path.name)
        self.session.runner.run(
            self.tr("Tracing {name}").format(name=path.name),
            partial(_read_and_trace, project, table, path),
            partial(self._show_report, project, path.name),
            self._fail,
            key=TRACE_JOB,
        )

    def _show_report(self, project: ProjectFile, name: str, report: LeakReport) -> None:
        if project is self.session.project:
            self.finding.show_report(name, report)

    def _fail(self, error: SfumatoError) -> None:
        self.finding.show_nothing()
        self.tell(Message.of_error(error, topic="leak"))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take one file that is dropped."""
        files = [url for url in event.mimeData().urls() if url.isLocalFile()]
        if len(files) == 1 and self.pages.currentIndex() == 1:
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        """Trace what was dropped."""
        path = Path(event.mimeData().urls()[0].toLocalFile())
        bundle = path.is_dir() and (path / DATAPACKAGE_NAME).is_file()
        if bundle or path.is_file():
            event.acceptProposedAction()
            self.trace(path)

    # ----- a level of its own

    def _price(self) -> None:
        """Compute what the spacing in the field would do, once somebody looks."""
        session = self.session
        if not self.isVisible() or session.table is None or session.project is None:
            return
        try:
            drafted = with_spacing(session.document, self.spacing.spacing)
        except SfumatoError as error:
            self._show_problem(error)
            return
        asked = (drafted, session.table)
        if self._priced is not None and self._priced[1] is asked[1] and self._priced[0] == asked[0]:
            return
        self._priced = asked
        self.spacing.show_working(session.document)
        session.runner.run(
            self.tr("Computing what tracing costs"),
            partial(
                tracing_price,
                drafted,
                session.table,
                session.keys,
                folders=session.project_folders,
            ),
            self.spacing.show_price,
            self._show_problem,
            key=PRICE_JOB,
        )

    def _show_problem(self, error: SfumatoError) -> None:
        self.session.runner.cancel(PRICE_JOB)
        self._priced = None
        self.spacing.show_problem(" ".join(error_texts(error)))

    def _accept(self, spacing: float) -> None:
        try:
            changed = with_spacing(self.session.document, spacing)
        except SfumatoError as error:
            self._show_problem(error)
            return
        text = self.tr("Levels apart") if spacing else self.tr("Levels as chosen")
        self.session.edit(text, changed)


def _read_and_trace(project: ProjectFile, table: Table, path: Path, context: Context) -> LeakReport:
    leak = read_leak(path, Part(context, 0.0, 0.3))
    return trace_file(project, table, leak, Part(context, 0.3, 1.0))


PAGE = LeakPage
