"""The report: for the files of whoever answers for the releases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QProgressBar, QTextBrowser

from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.jobs import Ending, Job
from sfumato.project.store.files import utc_now
from sfumato.report.blocks import Drawn, Report
from sfumato.report.material import (
    USUAL_THRESHOLD,
    Audience,
    ReportMaterial,
    ReportOptions,
    collect,
)
from sfumato.report.sections import compose
from sfumato.report.writing import drawing, fill, picture_kind, write_report
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.audit.pages.base import AuditPage, named
from sfumato.ui.widgets.fields import NumberField, Segments
from sfumato.ui.widgets.layout import ElidedLabel, boxed, button, row
from sfumato.ui.widgets.messages import Action, Message, MessageKind
from sfumato.ui.widgets.paint_queue import Steps, turns

COLLECT_JOB: Final = "collect a report"
WRITE_JOB: Final = "write a report"
MOST_RECORDS: Final = 1_000_000
COLLECTED: Final = 0.6
"""How much of the work is done once the report is collected; the rest is drawing."""
PAPER: Final = "QTextBrowser { background: #FFFFFF; color: #1E2328; }"
"""A report is shown as it is written, dark on white; while there is none, nothing is."""
DRAWN: Final = 0.8
"""How much of saving is done once the plots are drawn for the file."""


class ReportPage(AuditPage):
    """Shows the report as it will be written, and writes it."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Report"))
    topic: ClassVar[Topic] = Topic.REPORT
    order: ClassVar[int] = 90
    nothing: ClassVar[tuple[str, str, str]] = (
        "file",
        str(QT_TRANSLATE_NOOP("Audit", "A report tells of a project")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Save your work as a project. The report then says what its releases promise, who"
                " got what, and how to check it.",
            )
        ),
    )
    leads_to: ClassVar[str] = "releases"
    listens: ClassVar[tuple[str, ...]] = (
        "document_changed",
        "table_changed",
        "project_changed",
        "ledger_changed",
    )

    def build(self) -> None:
        """Put the choices above the report as it will be written."""
        self._material: ReportMaterial | None = None
        self._job: Job | None = None
        self._saving = False
        self._stale = True
        self.audience = Segments(
            [
                (Audience.INTERNAL, self.tr("For your house")),
                (Audience.OUTSIDE, self.tr("For outsiders")),
            ],
            self,
        )
        self.audience.setAccessibleName(self.tr("Who the report is for"))
        self.threshold = NumberField(
            1, MOST_RECORDS, decimals=0, step=1, show_range=False, parent=self, given=self._compose
        )
        self.threshold.set_value(USUAL_THRESHOLD)
        self._least_count = named(self.tr("No &count below"), self.threshold)
        self.pdf = button(self.tr("Save as &PDF…"), partial(self._ask, ".pdf"), "primary")
        self.html = button(self.tr("Save as &HTML…"), partial(self._ask, ".html"))
        self.view = QTextBrowser(self)
        self.view.setAccessibleName(self.tr("The report as it will be written"))
        self.controls(self.audience, self._least_count, None, self.html, self.pdf)
        self.fill_with(self.view)
        self._build_progress()
        self.audience.chosen.connect(self._compose)
        for signal in self.listens:
            getattr(self.session, signal).connect(self._outdate)

    def _build_progress(self) -> None:
        self.bar = QProgressBar(self)
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Progress of the report"))
        self.doing = ElidedLabel("", "small")
        self.cancel = button(self.tr("Cancel"), self._stop, "quiet")
        self.again = button(self.tr("Collect the report"), self._collect)
        self.work_line = boxed(row((self.bar, 1), (self.doing, 1), self.cancel, self.again), self)
        self._above.insertWidget(self._above.count() - 1, self.work_line)
        self._rest()

    @property
    def options(self) -> ReportOptions:
        """What the custodian chose."""
        return ReportOptions(Audience(str(self.audience.value)), int(self.threshold.value))

    # ----- what it tells

    def _outdate(self) -> None:
        self._stale = True

    def refresh(self, _changed: object = None) -> None:
        """Collect what the report tells of, now that somebody looks."""
        session = self.session
        project, table = session.project, session.source
        self.show_work(project is not None and table is not None)
        if not self._stale or not self.isVisible() or project is None or table is None:
            return
        self._collect()

    def _collect(self) -> None:
        session = self.session
        project, table = session.project, session.source
        if project is None or table is None:
            return
        self._stale = False
        self._enable(False)
        if session.unsaved:
            session.save()
        job = session.runner.run(
            self.tr("Collecting the report"),
            lambda context: collect(project, table, utc_now, context),
            self._keep,
            self._fail,
            key=COLLECT_JOB,
        )
        self._follow(job, 0.0, COLLECTED)

    def _keep(self, material: ReportMaterial) -> None:
        self._material = material
        self._compose()

    def _fail(self, error: SfumatoError) -> None:
        self._material = None
        self._enable(False)
        self._rest()
        self.view.clear()
        self.view.setStyleSheet("")
        self.tell(Message.of_error(error, topic="report"))

    def _compose(self, _changed: object = None) -> None:
        outside = self.options.audience is Audience.OUTSIDE
        self._least_count.setVisible(outside)
        if self._material is None:
            return
        report = compose(self._material, self.options)
        self._saving = False
        self._draw(report, "image", partial(self._show, report))

    def _show(self, report: Report, pictures: list[Drawn]) -> None:
        self.view.setStyleSheet(PAPER)
        place = self.view.verticalScrollBar().value()
        document = self.view.document()
        room = self.view.viewport().width() - 2 * Space.AROUND - Space.BETWEEN
        fill(document, report, pictures, max(room, 200))
        document.setDocumentMargin(Space.AROUND)
        self.view.verticalScrollBar().setValue(place)
        self._rest()
        self._enable(True)

    def _enable(self, ready: bool) -> None:
        self.pdf.setEnabled(ready)
        self.html.setEnabled(ready)

    # ----- how far it is

    def _follow(self, job: Job, start: float, end: float) -> None:
        """Show a job as one stretch of the work; one stopped elsewhere is stopped here, too."""

        def progressed() -> None:
            if self._job is job:
                self._say_doing(start + (end - start) * job.fraction, spoken(job.text) or job.title)

        def ended() -> None:
            if self._job is job and job.ending in (Ending.CANCELLED, Ending.BUG):
                self._stop()

        self._job = job
        job.progressed.connect(progressed)
        job.finished.connect(ended)
        progressed()

    def _say_doing(self, fraction: float, words: str) -> None:
        self.bar.setValue(round(1000 * fraction))
        self.doing.setText(words)
        self.again.hide()
        for part in (self.work_line, self.bar, self.cancel):
            part.show()

    def _rest(self) -> None:
        self._saving, self._job = False, None
        self.work_line.hide()

    def _stop(self) -> None:
        """Leave the work as it is; a report that is in sight can still be saved."""
        saving = self._saving
        self._rest()
        turns().leave(self)
        for key in (COLLECT_JOB, WRITE_JOB):
            self.session.runner.cancel(key)
        if saving:
            self._enable(True)
            return
        self._stale = True
        self._say_doing(0.0, self.tr("The report was not collected."))
        self.bar.hide()
        self.cancel.hide()
        self.again.show()

    # ----- drawing in turns: the window has to go on answering

    def _draw(self, report: Report, kind: str, then: Callable[[list[Drawn]], None]) -> None:
        self._enable(False)
        turns().ask(self, self._drawing(report, kind, then))

    def _drawing(self, report: Report, kind: str, then: Callable[[list[Drawn]], None]) -> Steps:
        drawn: list[Drawn] = []
        start, end = (0.0, DRAWN) if self._saving else (COLLECTED, 1.0)
        count = len(report.pictures)
        for place, picture in enumerate(report.pictures):
            words = self.tr("Drawing plot {number} of {count}")
            part = start + (end - start) * place / count
            self._say_doing(part, words.format(number=place + 1, count=count))
            drawn.append((yield from drawing(picture, kind)))
            yield
        then(drawn)

    # ----- writing

    def _ask(self, ending: str) -> None:
        project = self.session.project
        if project is None or self._material is None:
            return
        name = f"{project.path.stem}-report-{self.options.audience.value}{ending}"
        pattern = "PDF (*.pdf)" if ending == ".pdf" else "HTML (*.html)"
        path = self.session.chooser.save_file(
            self.tr("Save the report"), pattern, project.path.with_name(name)
        )
        if path is not None:
            self.save(path if path.suffix else path.with_suffix(ending))

    def save(self, path: Path) -> None:
        """Write the report as it is shown; the ending says how."""
        if self._material is None:
            return
        report = compose(self._material, self.options)
        try:
            kind = picture_kind(path)
        except SfumatoError as error:
            self.tell(Message.of_error(error, topic="report"))
            return
        self._saving = True
        self._draw(report, kind, partial(self._write, report, path))

    def _write(self, report: Report, path: Path, pictures: list[Drawn]) -> None:
        def work(context: Context) -> Path:
            write_report(report, pictures, path, context)
            return path

        job = self.session.runner.run(
            self.tr("Writing {name}").format(name=path.name),
            work,
            self._tell_written,
            self._refuse_to_write,
            key=WRITE_JOB,
        )
        self._follow(job, DRAWN, 1.0)

    def _refuse_to_write(self, error: SfumatoError) -> None:
        self._rest()
        self._enable(True)
        self.tell(Message.of_error(error, topic="report"))

    def _tell_written(self, path: Path) -> None:
        self._rest()
        self._enable(True)
        self.tell(
            Message(
                MessageKind.GOOD,
                self.tr("The report is in {path}.").format(path=path),
                "",
                (
                    Action(
                        self.tr("Open"),
                        lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))),
                    ),
                ),
                topic="report",
            )
        )


PAGE = ReportPage
