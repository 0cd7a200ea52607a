"""The Data panel: from a file to a table on screen.

The work of the loading job, and what becomes of earlier decisions, is here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from sfumato.analysis.steps import Step, StepState
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.formats.errors import FileError
from sfumato.formats.reading import Place, ReadOptions, detect_options, sheets_of
from sfumato.jobs import Ending, Job
from sfumato.project.document.model import Document, TableSource
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.rules.rules import apply_rules
from sfumato.project.source import check_keys, read_source, title_of
from sfumato.resources import resource_path
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.base import Panel
from sfumato.ui.panels.data import PANEL
from sfumato.ui.panels.data.loaded_page import LoadedPage
from sfumato.ui.panels.import_page import ImportPage
from sfumato.ui.state.insights import (
    SurveyedTable,
    insight_of,
)
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.layout import Badge, EmptyState, button, clear_layout, column, label, row
from sfumato.ui.widgets.messages import Action, MessageKind
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.responsive import Pages


@dataclass(frozen=True)
class FirstLook:
    """What a first look at a file told."""

    path: Place
    options: ReadOptions
    sheets: tuple[str, ...]
    stated: ReadOptions | None = None
    """How it is read, where that is not as it seems to be meant."""


@dataclass(frozen=True)
class Loaded:
    """A table that was read, with all that follows from it.

    Parameters
    ----------
    table
        The table.
    document
        What is decided about it now.
    kept
        Whether the decisions about an earlier table were taken over.
    """

    table: SurveyedTable
    document: Document
    kept: bool


def look(path: Place, context: Context = Silent()) -> FirstLook:  # noqa: B008 (it holds nothing)
    """Find out how a file is most likely meant, or which tables a database has."""
    options, sheets = detect_options(path), sheets_of(path, context)
    if sheets and not options.sheet:
        options = replace(options, sheet=sheets[0])
    return FirstLook(path, options, sheets)


def load(
    path: Place,
    options: ReadOptions,
    document: Document,
    context: Context,
    memory: float = inf,
    releases: Sequence[ReleaseRecord] = (),
) -> Loaded:
    """Read a file, look at its columns, and make the document that goes with it.

    Parameters
    ----------
    path, options
        The file or the database, and how it is read.
    document
        What was decided so far; kept where the new table has the same columns.
    context
        Progress and cancelling.
    memory
        How many bytes the table may take; a longer one is read in parts where it can be.
    releases
        Those made already: their record keys have to be read as they were.
    """
    path = path.absolute() if isinstance(path, Path) else path
    room = path.parent if isinstance(path, Path) else None
    reading = Part(context, 0.0, 0.6)
    table, source = read_source(path, options, reading, memory=memory, room=room)
    if releases:
        check_keys(document, table, path, options, releases)
    looked_at = SurveyedTable.of(table, Part(context, 0.6, 0.9))
    insight = looked_at.insight = insight_of(looked_at.survey, Part(context, 0.9, 1.0))
    columns = tuple(proposal.spec for proposal in insight.proposals)
    names = [spec.name for spec in columns]
    kept = bool(document.columns) and {c.name for c in document.columns} == set(names)
    if kept:
        ordered = tuple(document.column(name) for name in names)
        changed = replace(document, source=source, columns=ordered)
        # Nobody gave it a title, and nobody has a release that has this one.
        if document.source and document.title == _title(document.source) and not releases:
            changed = replace(changed, title=_title(source))
    else:
        changed = Document(title=_title(source), source=source, columns=columns)
    return Loaded(looked_at, changed, kept)


def _title(source: TableSource) -> str:
    """Return what releases of a table are called until somebody gives them a title."""
    return title_of(source.place, ReadOptions.from_dict(dict(source.options)))


SHOWN = 4


class WelcomePage(QWidget):
    """Offers the ways to begin.

    Parameters
    ----------
    session
        Knows the recent projects.
    choose, open_sample, open_blank
        What the person does to open a table: one of theirs, the sample with all decided, or with
        nothing decided.
    """

    def __init__(
        self,
        session: Session,
        choose: Callable[[], object],
        open_sample: Callable[[], object],
        open_blank: Callable[[], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session = session
        words = self.tr(
            "One row a person, in CSV, Excel, Parquet, SPSS, Stata or SAS. The file stays"
            " where it is: Sfumato only reads it."
        )
        self.empty = EmptyState("table", self.tr("Open a table, or drop one here"), words)
        ask = partial(session.database_requested.emit, None, None)
        self.open_button = button(self.tr("Open a table…"), choose, "primary", "open")
        self.database_button = button(self.tr("From a database…"), ask, icon="data")
        self.sample_button = button(self.tr("Try the sample"), open_sample, icon="sample")
        self.blank_button = button(self.tr("Blank sample"), open_blank, icon="file")
        for each in (self.open_button, self.database_button):
            self.empty.add_button(each)
        self.empty.add_line(self.sample_button, self.blank_button)
        words = self.tr(
            "The sample is a made-up clinic with 10,000 patients: everything is decided, or, if it"
            " is blank, yours to decide."
        )
        self.empty.add_note(words)
        self.facts = self._build_facts()
        self._recent = QVBoxLayout()
        self._recent.setSpacing(Space.TIGHT)
        self._recent_box = QWidget()
        self._recent_box.setLayout(self._recent)
        layout = column((self.empty, 1), self.facts, spacing=0)
        layout.addWidget(self._recent_box, 0, Qt.AlignmentFlag.AlignHCenter)
        self.setLayout(layout)
        session.project_changed.connect(self.refresh)
        self.refresh()

    def _build_facts(self) -> QWidget:
        """Return what one wants to know before the first project."""
        facts = (
            (
                "folder",
                self.tr(
                    "Your decisions become a project: one file that you save where you like,"
                    " without any row of the table."
                ),
            ),
            (
                "key",
                self.tr(
                    "The secret that releases are made with is in it, encrypted by your"
                    " passphrase. Only a recovery sheet, which you print, replaces a lost one."
                ),
            ),
            (
                "shield",
                self.tr(
                    "Nothing leaves this computer: Sfumato connects to no network, unless you"
                    " open a database."
                ),
            ),
        )
        box = QWidget()
        lines = QVBoxLayout(box)
        lines.setSpacing(Space.INSIDE)
        for icon, text in facts:
            fact = Badge(icon, "muted", text, wrap=True)
            fact.setMinimumWidth(scaled(EmptyState.NARROWEST))
            fact.setMaximumWidth(scaled(EmptyState.WIDTH))
            line = row(None, fact, None)
            line.setStretch(1, 1000)
            lines.addLayout(line)
        lines.addSpacing(Space.AROUND)
        return box

    def refresh(self) -> None:
        """List the recent projects; before the first, say what a project is."""
        clear_layout(self._recent)
        paths = self._session.recent.paths[:SHOWN]
        self._recent_box.setVisible(bool(paths))
        self.facts.setVisible(not paths)
        if not paths:
            return
        heading = label(self.tr("Recent projects"), "caption")
        self._recent.addWidget(heading, 0, Qt.AlignmentFlag.AlignHCenter)
        wanted = self._session.project_requested.emit
        for path in paths:
            made = button(path.stem, partial(wanted, path), "quiet", "file", str(path))
            self._recent.addWidget(made, 0, Qt.AlignmentFlag.AlignHCenter)
        self._recent.addSpacing(Space.AROUND)


WIDTH = 320


class WaitingPage(QWidget):
    """Shows one job in the middle of the page."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._job: Job | None = None
        self.title = label("", "heading")
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(scaled(WIDTH))
        self.step = label(" ", "muted")
        self.cancel = button(self.tr("Stop"), self._stop)
        layout = QVBoxLayout(self)
        layout.setSpacing(Space.BETWEEN)
        centre = Qt.AlignmentFlag.AlignHCenter
        layout.addStretch(2)
        layout.addWidget(IconLabel("table", "muted", 40), 0, centre)
        for widget in (self.title, self.bar, self.step, self.cancel):
            layout.addWidget(widget, 0, centre)
        layout.addStretch(3)

    def watch(self, job: Job) -> None:
        """Show another job."""
        self._job = job
        self.title.setText(job.title)
        self.bar.setAccessibleName(job.title)
        self.cancel.setEnabled(True)
        job.progressed.connect(self._show)
        self._show()

    def _show(self) -> None:
        job = self._job
        if job is not None and not job.stop_requested():
            self.bar.setValue(round(1000 * job.fraction))
            self.step.setText(spoken(job.text) or " ")

    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self.cancel.setEnabled(False)
        self.step.setText(self.tr("Stopping…"))


LOAD_KEY = "data-load"
TOPIC = "data"


class DataPanel(Panel):
    """Opens a table: choose a file, see how it is read, load it, look at it."""

    kind = PANEL

    def assemble(self) -> Steps:
        """Build the panel."""
        session = self.session
        self.pages = Pages(self)
        ways = (self.choose, self.open_finished_sample, self.open_sample)
        self.welcome = WelcomePage(session, *ways, self.pages)
        self.importing = ImportPage(session, self.pages)
        yield
        self.waiting = WaitingPage(self.pages)
        self.loaded = LoadedPage(session, self.pages)
        self.gone = self._build_gone()
        self.pages.add(self.welcome, self.importing, self.waiting, self.loaded, self.gone)
        self.body.addWidget(self.pages, 1)
        self.other = button(self.tr("Open another table…"), self.choose, icon="open")
        self.back = button(self.tr("Cancel"), self._cancel_import)
        follow = session.edition_requested.emit
        words = self.tr("The same table a month later: what it changes is told first.")
        self.next = button(self.tr("Open next edition…"), follow, icon="data", tip=words)
        for widget in (self.next, self.other, self.back):
            self.add_to_head(widget)
        self.load_button = self.set_primary(self.tr("Load table"), "table")
        self.load_button.clicked.connect(self._act)
        self._fresh = False
        self._beside: SurveyedTable | None = None
        """What was open when a file began to be chosen."""
        self._focus_then: QWidget | None = None
        self._connect()
        self._show_page()

    def _connect(self) -> None:
        session = self.session
        self.importing.previewed.connect(self._allow_loading)
        self.loaded.reread.clicked.connect(self._read_again)
        self.loaded.notes.wanted.connect(self.read_otherwise)
        session.table_requested.connect(self.open_file)
        session.reading_requested.connect(self.read_otherwise)
        session.table_changed.connect(self._show_page)
        session.document_changed.connect(self._show_page)
        session.project_changed.connect(self._show_page)
        session.runner.job_finished.connect(self._tell_state)

    def _build_gone(self) -> EmptyState:
        """Return the page of an opened project whose table is not read."""
        show = self.session.locate_requested.emit
        return EmptyState(
            "file",
            self.tr("The project's table is not open"),
            self.tr(
                "Everything you decided is here. To go on, show where the table is now; if the"
                " file is being read, it appears by itself."
            ),
            self.pages,
            button(self.tr("Show where it is…"), show, "primary", "folder"),
        )

    # ----- what the rail and the head show

    def step(self) -> Step:
        """Return how far this step is: in progress while a file is chosen and read."""
        if self.pages.currentWidget() in (self.importing, self.waiting):
            return Step(StepState.IN_PROGRESS, self.tr("A table is being chosen and read."))
        return super().step()

    def _show_page(self) -> None:
        """Show what fits the session, unless a file is being chosen beside what is open."""
        page, opened = self.pages.currentWidget(), self.session.surveyed
        beside = opened is None or opened is self._beside
        if page not in (self.importing, self.waiting) or (page is self.importing and not beside):
            self._settle()

    def _settle(self) -> None:
        """Show the table, or what takes its place."""
        if self.session.at_hand is not None:
            self._turn_to(self.loaded)
        elif self.session.document.source is not None:
            self._turn_to(self.gone)
        else:
            self._turn_to(self.welcome)

    def _turn_to(self, page: QWidget) -> None:
        self.pages.setCurrentWidget(page)
        importing, loaded = page is self.importing, page is self.loaded
        self.back.setVisible(importing)
        self.other.setVisible(loaded or page is self.gone)
        self.next.setVisible(self.session.project is not None and self.other.isVisibleTo(self))
        self.load_button.setVisible(importing or loaded)
        words = self.tr("Choose attributes") if loaded else self.tr("Load table")
        self.set_primary(words, "attributes" if loaded else "table")
        self.load_button.setEnabled(loaded)
        self.place_controls()
        self.state_changed.emit()

    # ----- choosing a file

    def choose(self) -> None:
        """Ask which table to open."""
        path = self.session.chooser.open_file(self.tr("Open table"), table_filters())
        if path is not None:
            self.open_file(path)

    def open_sample(self) -> None:
        """Look at the sample's table, of which nothing is decided."""
        self.open_file(resource_path("samples", "clinic.csv"))

    def open_finished_sample(self) -> None:
        """Open the sample with all that its rules decide, and show who gets what of it."""
        session, words = self.session, self.tr("Open the sample")
        path, noise, memory = resource_path("samples", "clinic.csv"), session.noise, session.memory
        rules = resource_path("samples", "clinic.toml").read_text(encoding="utf-8")

        def work(context: Context) -> Loaded:
            found = load(path, detect_options(path), Document(), Part(context, 0.0, 0.7), memory)
            context.report(0.7, "Deciding who gets what")
            survey = found.table.survey
            decided = apply_rules(rules, survey, found.document, path.parent, noise)
            return replace(found, document=decided)

        def take(found: Loaded) -> None:
            session.open_table(words, found.table, found.document)
            self._settle()
            session.panel_requested.emit("policy")

        self.messages.clear()
        job = session.runner.run(words, work, take, self.show_load_error, key=LOAD_KEY)
        self.wait_for(job, self.welcome)

    def open_file(self, path: Place) -> None:
        """Look at a file and show how it would be read."""
        self.messages.clear()
        self.waiting.watch(self._look(path, partial(look, path)))

    def _show_found(self, found: FirstLook) -> None:
        self._turn_to(self.importing)
        self._fresh, self._beside = True, self.session.surveyed
        options = found.stated or found.options
        self.importing.show_file(found.path, options, found.sheets, found.options)
        self._focus_then = self.window().focusWidget()  # whoever moves it has begun to choose

    def _read_again(self) -> None:
        """Show how the loaded table is read, to change it."""
        source = self.session.document.source
        if source is None:
            return
        path, stated = source.place, ReadOptions.from_dict(dict(source.options))
        self._look(path, lambda context: replace(look(path, context), stated=stated))

    def _look(self, path: Place, work: Callable[[Context], FirstLook]) -> Job:
        words = self.tr("Looking at {file}").format(file=path.name)
        run = self.session.runner.run
        return run(words, work, self._show_found, self._show_refusal, key=LOAD_KEY)

    def _cancel_import(self) -> None:
        self.session.runner.cancel(LOAD_KEY)
        self.messages.clear()
        self._settle()

    def _allow_loading(self, readable: bool) -> None:
        if self.pages.currentWidget() is self.importing:
            self.load_button.setEnabled(readable)
            if readable and self._fresh and self.window().focusWidget() is self._focus_then:
                self.load_button.setFocus()  # the options are mostly right as they were found
            self._fresh = False

    # ----- loading

    def _act(self) -> None:
        """Do what the primary button is for on the page in sight."""
        if self.pages.currentWidget() is self.loaded:
            self.session.panel_requested.emit("attributes")
        else:
            self.load()

    def load(self) -> None:
        """Read the chosen file as it is previewed."""
        if self.importing.path is not None:
            self._load(self.importing.path, self.importing.options, self.importing)

    def read_otherwise(self, options: ReadOptions) -> None:
        """Read the open table again by other options; earlier decisions are kept."""
        source = self.session.document.source
        if source is not None:
            self._load(source.place, options, self.loaded)

    def _load(self, path: Place, options: ReadOptions, page: QWidget) -> None:
        document, memory = self.session.document, self.session.memory
        releases = self.session.steps.releases()
        self.messages.clear()
        job = self.session.runner.run(
            self.tr("Reading {file}").format(file=path.name),
            lambda context: load(path, options, document, context, memory, releases),
            self._take,
            self.show_load_error,
            key=LOAD_KEY,
        )
        self.wait_for(job, page)

    def wait_for(self, job: Job, page: QWidget | None = None) -> None:
        """Show a job in the place of the options, or of another page, until it ends."""
        job.finished.connect(partial(self._stop_waiting, job, page or self.importing))
        self.waiting.watch(job)
        self._turn_to(self.waiting)

    def _tell_state(self, _job: Job) -> None:
        self.state_changed.emit()

    def _stop_waiting(self, job: Job, page: QWidget) -> None:
        """Go back to the page before, unless the table is about to take its place."""
        if job.ending is not Ending.DONE and self.pages.currentWidget() is self.waiting:
            self._turn_to(page)
            self.load_button.setEnabled(True)

    def _take(self, loaded: Loaded) -> None:
        name = loaded.document.title
        text = self.tr("Open {table}").format(table=name)
        self.session.open_table(text, loaded.table, loaded.document)
        source, sample = loaded.document.source, resource_path("samples", "clinic.csv")
        is_blank = source is not None and source.place == sample
        self.session.unplanned = None if loaded.kept or is_blank else loaded.table
        self._settle()
        self.load_button.setFocus()
        self._tell(loaded)

    def _tell(self, loaded: Loaded) -> None:
        if loaded.kept:
            words = self.tr("The columns are the same, so your earlier decisions are kept.")
            self.tell(
                MessageKind.INFO, words, "", Action(self.tr("Undo"), self.session.undo, undoes=True)
            )

    def _show_refusal(self, error: SfumatoError) -> None:
        self.show_error(error, Action(self.tr("Choose another file…"), self.choose), topic=TOPIC)

    def show_load_error(self, error: SfumatoError) -> None:
        """Show why the file can't be read so, with the ways that would do."""
        ways = error.ways if isinstance(error, FileError) else ()
        actions = [Action(spoken(way.title), partial(self._try, way.options)) for way in ways]
        self.show_error(error, *actions, topic=TOPIC)

    def _try(self, options: ReadOptions) -> None:
        """Load again with a way out of an error."""
        if self.pages.currentWidget() is self.loaded:
            self.read_otherwise(options)
            return
        self.importing.use_options(options)
        self.load()
