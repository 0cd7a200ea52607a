"""The Releases panel: make releases, keep the ledger in sight, verify a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, QMimeData, QStandardPaths, QUrl
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from sfumato.analysis.editions.since_release import since_releases
from sfumato.analysis.releasing import Made, Refusal, make_all
from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.packages import bundle_at
from sfumato.formats.language import grouped
from sfumato.jobs import Ending, Job
from sfumato.project.count_tables.held import CountTableRecord
from sfumato.project.count_tables.making import withdraw_counts
from sfumato.project.ledger import ReleaseRecord, ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.byproducts import exact_byproducts
from sfumato.project.release.release_compatibility import exposed_columns, off_ladder
from sfumato.project.verification.found import verify_file
from sfumato.project.verification.verify import VerificationReport
from sfumato.project.withdrawal import withdraw
from sfumato.resources import resource_path
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import filled_in, spoken, typeset
from sfumato.ui.panels.base import Panel
from sfumato.ui.panels.releases import PANEL
from sfumato.ui.panels.releases.counts_page import CountsPage
from sfumato.ui.panels.releases.ledger import LedgerCard
from sfumato.ui.panels.releases.order_card import OrderCard, candidates_of
from sfumato.ui.panels.releases.readiness_card import ReadinessCard, ReadinessGrid
from sfumato.ui.panels.releases.terms_card import TermsCard
from sfumato.ui.panels.releases.verification_view import WithdrawDialog
from sfumato.ui.state.settings import is_on
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.files import DropHint, dropped_file, name_folder, table_filters
from sfumato.ui.widgets.keyboard import reading_order
from sfumato.ui.widgets.layout import EmptyState, ScrollPage, button
from sfumato.ui.widgets.messages import Action, MessageKind, error_texts
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.responsive import Pages


def dropped_bundle(mime: QMimeData) -> Path | None:
    """Return the bundle that is being dropped; None for anything else."""
    path = dropped_file(mime)
    if path is None or path.is_dir() or path.suffix.lower() == ".zip":
        return path
    return path if path.name == DATAPACKAGE_NAME else None


REFUSALS_TOLD: Final = 2
"""More are told in one message: beside the one about what was made, there is room for two."""


def tell_made(panel: Panel, made: Made, show_folder: Callable[[Path], None]) -> None:
    """Tell what became of an order.

    Parameters
    ----------
    panel
        Where it is told.
    made
        The releases and the refusals.
    show_folder
        Shows where a bundle is.
    """
    _tell_refused(panel, made.refusals)
    if not made.outcomes:
        return
    tr = QCoreApplication.translate
    first = made.outcomes[0].path
    words = tr("Releases", "{count} {count:release is|releases are} in {folder}.")
    if len(made.outcomes) == 1:
        words = tr("Releases", "The release is in {folder}.")
    panel.tell(
        MessageKind.GOOD,
        words.format(count=grouped(len(made.outcomes)), folder=first.parent),
        tr("Releases", "Hand each recipient only the bundle with their name."),
        Action(tr("Releases", "Show folder"), partial(show_folder, first)),
        topic="release",
    )


def _tell_refused(panel: Panel, refusals: tuple[Refusal, ...]) -> None:
    """Tell of each release that was refused; of many in one message, with the first reason."""
    tr = QCoreApplication.translate
    together = len(refusals) > REFUSALS_TOLD
    for refusal in reversed(refusals[:1] if together else refusals):
        what, remedy = error_texts(refusal.error)
        told = tr("Releases", "No release for {name}: {what}")
        told = told.format(name=refusal.recipient, what=what)
        if together:
            names = ", ".join(other.recipient for other in refusals)
            remedy = f"{told} {remedy}"
            told = tr("Releases", "No release for {names}.").format(names=names)
        panel.tell(MessageKind.DANGER, told, remedy, topic=f"refused {refusal.recipient}")


RELEASE_JOB: Final = "release"
VERIFY_JOB: Final = "verify"
LEDGER_JOB: Final = "ledger"
_FORMAT: Final = "releases/format"
_ZIP: Final = "releases/zip"
_DCAT: Final = "releases/dcat"
FOLDER_NAME: Final = "releases"


class ReleasesPanel(Panel):
    """Makes bundles for the chosen recipients and examines bundles that come back."""

    kind = PANEL

    def assemble(self) -> Steps:
        """Build the panel."""
        session = self.session
        self._job: Job | None = None
        self._off_ladder: SfumatoError | None = None
        self._folder_proposed = ""
        self._earlier = 0
        self.setAcceptDrops(True)
        self.set_primary(self.tr("&Release"), "export").clicked.connect(self._press)
        self.what = Segments(
            [(False, self.tr("Records")), (True, self.tr("Tables of counts"))],
            self,
            name=self.tr("What is released"),
        )
        self.add_to_head(self.what)
        self.pages = Pages(self)
        self.body.addWidget(self.pages, 1)
        self.empty = self._build_empty()
        self.work = ScrollPage(self.pages)
        self.pages.add(self.empty, self.work)
        below = self.work.column
        below.setSpacing(Space.BETWEEN)
        self.grid = ReadinessGrid(session, self.work.widget())
        below.addWidget(self.grid)
        self.form = OrderCard(session, self.work.widget())
        below.addWidget(self.form)
        self.terms = TermsCard(session, self.work.widget())
        below.addWidget(self.terms)
        yield
        self.readiness = ReadinessCard(session, self.work.widget())
        below.addWidget(self.readiness)
        self.ledger = LedgerCard(self.work.widget())
        below.addWidget(self.ledger, 1)
        yield
        self.counts = CountsPage(session, self.pages)
        self.pages.add(self.counts)
        yield
        self._hint = DropHint(self)
        self._restore_choices()
        self._connect()
        yield
        self._refresh()
        self._refresh_ledger()

    def _build_empty(self) -> EmptyState:
        empty = EmptyState("releases", self.tr("Nothing can be released yet"), "")
        self.go_on = empty.add_button(button("", self._go_on, "primary"))
        return empty

    def _choose_what(self, _counts: object) -> None:
        """Show where records are released, or where tables of counts are."""
        if self.what.value:
            self.counts.propose_folder(self.form.folder.text())
        self._refresh()

    def _press(self) -> None:
        if self.what.value:
            self.counts.release()
        else:
            self._release()

    def _tell_counts(self, path: Path) -> None:
        self.tell(
            MessageKind.GOOD,
            self.tr("The table of counts is in {folder}.").format(folder=path),
            self.tr("Hand it to this recipient alone."),
            Action(self.tr("Show folder"), partial(self._show_folder, path)),
            topic="counts",
        )

    def _go_on(self) -> None:
        """Bring the panel into sight where the next step is to be done."""
        document = self.session.document
        if self.session.source is None:
            wanted = "data"
        else:
            wanted = "policy" if document.sensitive else "attributes"
        self.session.panel_requested.emit(wanted)

    def _restore_choices(self) -> None:
        store = self.session.store
        stored = store.value(_FORMAT, "csv")
        if stored in self.form.format.values:
            self.form.format.set_value(stored)
            self.form.escape_formulas.setEnabled(stored == "csv")
        self.form.kind.set_value(is_on(store, _ZIP))
        self.form.format.chosen.connect(lambda value: store.setValue(_FORMAT, value))
        self.form.kind.chosen.connect(lambda value: store.setValue(_ZIP, int(value)))
        self.form.dcat.setChecked(is_on(store, _DCAT))
        self.form.dcat.toggled.connect(lambda value: store.setValue(_DCAT, int(value)))

    def _connect(self) -> None:
        session = self.session
        refresh = self.in_sight(self._refresh)
        self.follow_state(session, self._refresh)
        for signal in (session.attribute_changed, session.project_changed):
            signal.connect(refresh)
        session.ledger_changed.connect(self._refresh_ledger)
        session.project_changed.connect(self._refresh_ledger)
        session.project_changed.connect(self.ledger.show_ledger)
        self.form.changed.connect(self._refresh_button)
        self.readiness.changed.connect(self._refresh_button)
        self.readiness.reason.textChanged.connect(self._refresh_button)
        self.what.chosen.connect(self._choose_what)
        self.counts.changed.connect(self._refresh_button)
        self.counts.made.connect(self._tell_counts)
        self.counts.failed.connect(partial(self.show_error, topic="counts"))
        self.grid.chosen.connect(self._show_findings)
        self.form.choose.clicked.connect(self._choose_folder)
        self.form.cancel.clicked.connect(lambda: session.runner.cancel(RELEASE_JOB))
        self.ledger.folder_asked.connect(self._show_folder)
        self.ledger.withdrawal_asked.connect(self._ask_to_withdraw)
        self.ledger.verify.clicked.connect(self._choose_bundle)

    # ----- what is shown

    def _missing(self) -> tuple[str, ...]:
        """Return what is missing before a release can be made."""
        if self.session.document.columns and self.session.source is None:
            return (self.tr("Open the table."),)
        if steps := self.session.steps.guarantee().next_steps:
            return steps
        return () if self._off_ladder is None else (self._off_ladder.sentence,)

    def _read_only(self) -> bool:
        project = self.session.project
        return project is not None and project.read_only

    def _refresh(self, _changed: object = None) -> None:
        session = self.session
        records = session.steps.releases()
        self._off_ladder = off_ladder(session.document, session.attributes(), records)
        since = since_releases(session.document, session.attributes(), records)
        self.form.show_candidates(candidates_of(session.document, since))
        self.form.table.setVisible(bool(session.document.recipients))
        self._propose_folder()
        self.form.approval.refresh()
        exact = exact_byproducts(session.document)
        conflicts = {**exposed_columns(session.document, records), **exact}.values()
        self.form.show_conflict(
            "; ".join(map(typeset, conflicts))
            + self.tr(". To release in spite of it, give the reason for the ledger.")
            if conflicts
            else ""
        )
        checked = bool(session.document.recipients) and not self._missing()
        self.grid.setVisible(checked)
        self.readiness.setVisible(checked)
        self.ledger.let_write(session.project is not None and not self._read_only())
        self.ledger.let_verify(session.project is not None and session.source is not None)
        self._refresh_button()
        self._choose_page(bool(records))

    def _choose_page(self, released: bool) -> None:
        """Show what is missing instead of a form that can't be used."""
        missing = self._missing()
        shown = self.work if released or not missing else self.empty
        self.what.setVisible(shown is self.work)
        self.pages.setCurrentWidget(self.counts if self._counts_asked(shown) else shown)
        if self.primary is not None:
            self.primary.setVisible(self.pages.currentWidget() is not self.empty)
        self.empty.text.setText("\n".join(map(spoken, missing)))
        self.go_on.setText(
            self.tr("Go to Data")
            if self.session.source is None
            else self.tr("Go to Policy")
            if self.session.document.sensitive
            else self.tr("Go to Attributes")
        )

    def _counts_asked(self, otherwise: QWidget) -> bool:
        return bool(self.what.value) and otherwise is self.work

    def _refresh_button(self) -> None:
        if self.primary is not None and self.what.value:
            self.primary.setText(self.tr("&Release the table"))
            self.primary.setEnabled(self.counts.ready)
            return
        missing = self._missing()
        chosen = len(self.form.model.chosen)
        self.form.approval.show_chosen(self.form.model.chosen)
        ready = not missing and self._job is None and not self._read_only()
        if self.primary is not None:
            waits = self._waits()
            self.primary.setEnabled(ready and (waits or self.form.order() is not None))
            words = self.tr("&Release to {count}").format(count=chosen)
            words = words if chosen > 1 else self.tr("&Release")
            words = self.tr("&Have it approved…") if waits else words
            open_now = self._open_now()
            blocked = self.tr("&Resolve {count} {count:danger|dangers}")
            self.primary.setText(filled_in(blocked, count=open_now) if open_now else words)
        self.form.show_hint(self._hint_text(missing))

    def _waits(self) -> bool:
        """Return whether a second person has to approve first what was chosen."""
        return bool(self.form.approval.waiting(self.form.model.chosen))

    def _open_now(self) -> int:
        """Return how many dangers keep the chosen releases back, and have no reason yet."""
        if self.readiness.reason.text().strip():
            return 0
        return len(self.readiness.open_for(self.form.model.chosen))

    def _show_open(self) -> None:
        """Bring the first danger into sight with what mends it; a reason can be given below."""
        open_for, chosen = self.readiness.open_for, self.form.model.chosen
        exposed = next((name for name in chosen if open_for((name,))), "")
        self._show_findings(exposed)
        block = self.readiness.block_of(exposed)
        offers = () if block is None else reading_order(block)
        (offers[0] if offers else self.readiness.reason).setFocus()

    def _show_findings(self, recipient: str) -> None:
        """Bring what was found for a recipient into sight."""
        shown = self.readiness.block_of(recipient)
        self.work.bring_top(shown if shown is not None else self.readiness)

    def _hint_text(self, missing: tuple[str, ...]) -> str:
        if missing:
            return self.tr("Before a release: {steps}").format(steps=" ".join(map(spoken, missing)))
        if self._read_only():
            return self.tr("The project is open for reading only, so no release can be made.")
        if lacking := self._lacking():
            return lacking
        if self.session.project is None:
            return self.tr(
                "You are asked to save a project first: it keeps the secret and the ledger."
            )
        return self.tr(
            "Each bundle holds the data, a description and a README. Nothing is ever overwritten."
        )

    def _lacking(self) -> str:
        """Return what the form still lacks; empty where it lacks nothing."""
        if not self.form.model.chosen:
            return self.tr("Tick at least one recipient.")
        if self.form.folder_path is None:
            return self.tr("Choose a folder for the bundles.")
        if waiting := self.form.approval.waiting(self.form.model.chosen):
            told = self.tr("A second person has to approve what {names} would get.")
            return told.format(names=", ".join(waiting))
        if self.form.rows.lacks_reason:
            return self.tr("Say why rows have to stay as they are in the table.")
        return ""

    def _propose_folder(self) -> None:
        """Propose a folder beside the project or the table, unless another was named."""
        session = self.session
        if self.form.folder.text() != self._folder_proposed:
            return
        source, project = session.document.source, session.project_path
        base = source.folder if source is not None else None
        if base is not None and base == resource_path("samples", "clinic.csv").parent:
            documents = QStandardPaths.StandardLocation.DocumentsLocation
            base = Path(QStandardPaths.writableLocation(documents))  # not among the program's files
        base = project.parent if project is not None else base
        self._folder_proposed = str(base / FOLDER_NAME) if base is not None else ""
        self.form.folder.setText(self._folder_proposed)

    def _refresh_ledger(self) -> None:
        """Show the releases and examine the chain that holds them together."""
        project = self.session.project
        self.session.steps.take_tampering(None if project is None else project.tampering)
        self.ledger.show_events(self.session.steps.events())
        self.ledger.show_intact("", "muted", "")
        if project is not None:
            title = self.tr("Examining the ledger")
            work = project.count_entries
            self.session.runner.run(
                title, work, self._show_intact, self._show_tampering, key=LEDGER_JOB
            )
        self._refresh()

    def _show_intact(self, entries: int) -> None:
        self.session.steps.take_tampering(None)
        words = self.tr("Intact, {n} {n:entry|entries}").format(n=grouped(entries))
        lines = self.ledger.model.events
        if lines < entries:
            words = self.tr("Intact, {n} {n:entry|entries} in {lines} {lines:line|lines}").format(
                n=grouped(entries), lines=grouped(lines)
            )
        detail = self.tr(
            "Each entry is sealed to the one before; none was changed or cut off. A release has an"
            " entry where it begins and one where it ends, on one line."
        )
        self.ledger.show_intact("verify", "good", words, detail)

    def _show_tampering(self, error: SfumatoError) -> None:
        self.session.steps.take_tampering(error)
        words = self.tr("Not as it was written")
        self.ledger.show_intact("danger", "danger", words, error_texts(error)[0])
        self.show_error(error, topic="ledger")

    # ----- releasing

    def _choose_folder(self) -> None:
        name_folder(self.session.chooser, self.form.folder, self.tr("Folder for the bundles"))

    def _release(self) -> None:
        """Release, once nothing grave is open and the work is safe in a project."""
        if not self.readiness.settle(self.form.model.chosen):
            self._show_open()
            return
        if self._waits():
            self.work.bring(self.form.approval)
            self.form.approval.ask()
            return
        if self.session.project is None:
            self._folder_proposed = ""  # the folder in sight is the one that is meant
        self.session.once_saved(self._start)

    def _start(self) -> None:
        session, order = self.session, self.form.order()
        project, source = session.project, session.source
        if order is None or project is None or source is None or self._job is not None:
            return
        self.messages.clear()  # what became of an earlier order would contradict this one
        title = self.tr("Releasing to {names}").format(names=", ".join(order.recipients))
        work = partial(make_all, project, source, order)
        self._earlier = len(session.steps.releases())
        self._job = session.runner.run(
            title, work, self._tell_made, partial(self.show_error, topic="release"), key=RELEASE_JOB
        )
        self._job.progressed.connect(self._show_progress)
        self._job.finished.connect(self._end)
        self._show_progress()
        self._refresh_button()

    def _show_progress(self) -> None:
        self.form.show_job(self._job)

    def _end(self) -> None:
        """Take notice of what the ledger has now; cancelled work may have made some releases."""
        stopped = self._job is not None and self._job.ending is Ending.CANCELLED
        self._job = None
        self.form.show_job(None)
        self.session.ledger_changed.emit()
        if stopped:
            self._tell_stopped()

    def _tell_stopped(self) -> None:
        """Say who has a release though the others were cancelled, or that nobody has."""
        made = self.session.steps.releases()[self._earlier :]
        names = [one.recipient for one in made if one.state is ReleaseState.COMPLETED]
        if names:
            words = self.tr("Stopped. Made already: {names}.")
            self.tell(
                MessageKind.INFO,
                words.format(names=", ".join(names)),
                self.tr("These bundles are whole and stay; the ledger tells of them."),
                topic="release",
            )
        else:
            words = self.tr("Stopped. Nothing was released.")
            self.tell(MessageKind.INFO, words, topic="release")

    def _tell_made(self, made: Made) -> None:
        tell_made(self, made, self._show_folder)

    def _show_folder(self, target: Path) -> None:
        if not target.exists():
            self.tell(
                MessageKind.CAUTION,
                self.tr("The bundle is not at {path} any more.").format(path=target),
                self.tr("It was moved or handed over; the ledger still knows it."),
                topic="folder",
            )
            return
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(target.parent)))

    def _ask_to_withdraw(self, record: ReleaseRecord | CountTableRecord) -> None:
        """Ask what was wrong with a release, and record that."""
        dialog = WithdrawDialog(record.recipient, record.recorded_at, self)
        dialog.present(lambda: self._withdraw(record, dialog.reason.text()))

    def _withdraw(self, record: ReleaseRecord | CountTableRecord, reason: str) -> None:
        project = self.session.project
        if project is None:
            return
        try:
            if isinstance(record, CountTableRecord):
                withdraw_counts(project, record.number, reason)
            else:
                withdraw(project, record, reason)
        except SfumatoError as error:
            self.show_error(error, topic="withdrawn")
            return
        self.session.ledger_changed.emit()
        self.tell(
            MessageKind.INFO,
            self.tr("The release to {name} is withdrawn.").format(name=record.recipient),
            self.tr("Ask the recipient to delete it. It goes on counting."),
            topic="withdrawn",
        )

    # ----- verifying

    def _choose_bundle(self) -> None:
        words = self.tr("Bundles ({files})")
        path = self.session.chooser.open_file(
            self.tr("Verify a bundle"),
            words.format(files=f"{DATAPACKAGE_NAME} data.* *.zip") + ";;" + table_filters(),
            self.form.folder_path,
        )
        if path is not None:
            self.verify(path)

    def take_file(self, path: Path) -> None:
        """Verify a file that was brought here."""
        self.verify(path)

    def verify(self, path: Path) -> None:
        """Examine a bundle, folder or zip, any of the files in one, or such a file for itself."""
        project, source = self.session.project, self.session.source
        if project is None or source is None:
            self.tell(
                MessageKind.CAUTION,
                self.tr("A bundle is verified against a project and its table."),
                self.tr("Open both, then drop the bundle again."),
                topic="verify",
            )
            return
        name = (bundle_at(path) or path).name
        self.messages.clear("verify")
        self.session.runner.run(
            self.tr("Verifying {name}").format(name=name),
            lambda context: verify_file(project, source, path, context),
            partial(self._show_report, project, path, name),
            partial(self.show_error, topic="verify"),
            key=VERIFY_JOB,
        )

    def _show_report(
        self, project: ProjectFile, path: Path, name: str, report: VerificationReport
    ) -> None:
        """Show what was found, from its first line on."""
        if project is not self.session.project:
            return
        self.what.set_value(False)
        self._refresh()
        self.ledger.show_report(name, report)
        self.pages.setCurrentWidget(self.work)
        self.work.bring_top(self.ledger)
        if report.release is None and not report.whole:
            trace = partial(self.session.file_brought.emit, "audit", path)
            words = self.tr("A changed file, or a part of one, can still tell whose copy it is.")
            told = self.tr("Trace it")
            self.tell(MessageKind.INFO, words, "", Action(told, trace), topic="verify")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Say that a bundle can be dropped; leave everything else to the window."""
        path = dropped_bundle(event.mimeData())
        if path is None:
            event.ignore()
            return
        self._hint.show_text(self.tr("Let go to verify {name}").format(name=path.name))
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Take the hint away."""
        super().dragLeaveEvent(event)
        self._hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        """Verify what was dropped."""
        self._hint.hide()
        path = dropped_bundle(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            self.verify(path)
