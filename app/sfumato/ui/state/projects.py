"""The open project: making, opening and saving it, and keeping work that no project holds yet.

Such work is kept against a crash, and offered again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QStandardPaths, QTimer, Signal
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import Cancelled, SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.formats.language import moment
from sfumato.jobs import Job
from sfumato.project import SUFFIX
from sfumato.project.document.model import Document
from sfumato.project.errors import (
    NotSealed,
    PassphraseError,
    UnsavedUnreadable,
)
from sfumato.project.project_file import ProjectFile, copy_project, shown_whole
from sfumato.project.source import (
    create_project,
)
from sfumato.project.store.seal import state_folder
from sfumato.project.store.unsaved import UnsavedWork, new_unsaved, unsaved_in
from sfumato.resources import resource_path
from sfumato.ui.dialogs.base import (
    ChoiceDialog,
    NewPassphraseDialog,
    OpenPassphraseDialog,
    PassphraseDialog,
    UnsealedDialog,
)
from sfumato.ui.state.recovering import ask_to_recover
from sfumato.ui.state.session import AUTOSAVE_MILLISECONDS, Session
from sfumato.ui.state.source_reader import SourceReader
from sfumato.ui.widgets.files import is_table, table_filters
from sfumato.ui.widgets.messages import Action, Message, MessageKind, error_texts
from sfumato.ui.widgets.paint_queue import delayed

PROJECT_KEY: Final = "project"
"""Opening and creating projects supersede one another."""

Then = Callable[[], object]


class Projects(QObject):
    """What the File menu does with projects.

    Parameters
    ----------
    session
        What is open.
    window
        What dialogs belong to.
    """

    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self.session = self._session = session
        self._window = window
        self.sources = SourceReader(session, self)

    # ----- leaving what is open

    def leave(self, then: Then) -> None:
        """Make sure that nothing is lost, then go on; the person may think better of it."""
        session = self._session
        if not session.unsaved or session.save():
            then()
            return
        title, text, ways = self._question()
        dialog = ChoiceDialog(title, text, ways, self._window)

        def decide() -> None:
            if dialog.chosen == "discard":
                self._session.forget_changes()
                then()
            else:
                self.save(then)

        dialog.present(decide)

    def _question(self) -> tuple[str, str, tuple[tuple[str, str], ...]]:
        """Return what a person who leaves unsaved work is asked, and the ways forward."""
        project, discard = self._session.project, ("discard", self.tr("Discard"))
        if project is None:
            title = self.tr("Keep this work in a project?")
            text = self.tr(
                "What you decided about the table is not in a project file yet. Without one it"
                " is gone, and this can't be undone."
            )
            return title, text, (("save", self.tr("Save…")), discard)
        if project.read_only:
            title = self.tr("The last changes can't be saved")
            text = self.tr("The project is open for reading only. Leaving drops the changes.")
            return title, text, (("discard", self.tr("Leave without them")),)
        title = self.tr("The last changes could not be saved")
        text = self.tr("Make room or allow writing, and save again; or leave without them.")
        return title, text, (("save", self.tr("Save again")), discard)

    def new(self) -> None:
        """Start afresh, where the work begins: at the data."""
        self.leave(self._start_afresh)

    def _start_afresh(self) -> None:
        self._session.set_project(None)
        self._session.panel_requested.emit("data")

    # ----- opening

    def choose_and_open(self) -> None:
        """Ask which project to open."""
        filters = f"{self._filters()};;{table_filters()}"
        path = self._session.chooser.open_file(self.tr("Open project"), filters)
        if path is not None and is_table(path):
            self._session.table_requested.emit(path)
        elif path is not None:
            self.open(path)

    def open(self, path: Path) -> None:
        """Ask for a project's passphrase and open it, once what is open is safe."""
        self.leave(lambda: self._ask_to_open(path))

    def _ask_to_open(self, path: Path) -> None:
        if not path.is_file():
            self._session.say(
                MessageKind.DANGER,
                self.tr("There is no project at {path}.").format(path=path),
                self.tr("Open it from where it is now."),
                Action(self.tr("Choose…"), self.choose_and_open),
            )
            return
        dialog = OpenPassphraseDialog(path.stem, self._window)
        dialog.submitted.connect(lambda: self._start_opening(path, dialog))
        dialog.forgotten.connect(partial(ask_to_recover, self, path, self._window))
        dialog.present()

    def _start_opening(
        self,
        path: Path,
        dialog: OpenPassphraseDialog,
        *,
        read_only: bool = False,
        accepting: str = "",
    ) -> None:
        open_it = partial(ProjectFile.open, path, dialog.passphrase, read_only=read_only)

        def work(context: Context) -> ProjectFile:
            context.report(0.1, "Checking the passphrase")
            return shown_whole(open_it(accepting=accepting))

        def refused(error: SfumatoError) -> None:
            if isinstance(error, PassphraseError):
                dialog.ask_again(Message.of_error(error))
                return
            if isinstance(error, NotSealed):
                self._ask_how_to_go_on(path, dialog, error)
                return
            dialog.reject()
            self._session.say_error(error, topic="project")

        def opened(project: ProjectFile) -> None:
            dialog.accept()
            self.take(project)

        title = self.tr("Opening {project}").format(project=path.stem)
        self.busy(dialog, title, work, opened, refused)

    def _ask_how_to_go_on(self, path: Path, dialog: OpenPassphraseDialog, error: NotSealed) -> None:
        """Explain why a project is refused; the passphrase stays typed for either way on."""
        asking = UnsealedDialog(path.stem, error, dialog)

        def go_on() -> None:
            self._start_opening(path, dialog, read_only=asking.reading, accepting=asking.accepting)

        asking.rejected.connect(dialog.reject)
        asking.present(go_on)

    def take(self, project: ProjectFile) -> None:
        """Show a project that was opened."""
        session = self._session
        session.set_project(project)
        session.panel_requested.emit("data")
        for recovered in project.recovered:
            session.say(MessageKind.INFO, recovered.explanation)
        if project.tampering is not None:
            session.say_error(project.tampering, topic="tampering")
        if project.accepted:
            words = self.tr("Your reason and the findings are recorded in its ledger.")
            session.say(MessageKind.GOOD, self.tr("The project is sealed as it stands."), words)
        if session.document.source is not None:
            self.sources.read()

    # ----- saving

    def save(self, then: Then | None = None) -> None:
        """Save into the open project file, or ask for a new one."""
        session = self._session
        if session.project is None:
            self.save_as(then)
        elif session.save() and then is not None:
            then()

    def save_as(self, then: Then | None = None) -> None:
        """Ask where to save: a new project, or a copy of the open one."""
        session = self._session
        copying = session.project is not None
        title = self.tr("Save a copy") if copying else self.tr("Save project")
        path = session.chooser.save_file(title, self._filters(), self._proposal())
        if path is None:
            return
        if path.suffix.lower() != SUFFIX:
            path = path.with_name(path.name + SUFFIX)
        if copying:
            self._copy(path)
        else:
            self._ask_to_create(path, then)

    def _ask_to_create(self, path: Path, then: Then | None) -> None:
        dialog = NewPassphraseDialog(path.stem, self._window)
        dialog.submitted.connect(lambda: self._start_creating(path, dialog, then))
        dialog.present()

    def _start_creating(self, path: Path, dialog: NewPassphraseDialog, then: Then | None) -> None:
        passphrase, document = dialog.passphrase, self._session.document
        rows = self._session.source

        def work(context: Context) -> ProjectFile:
            context.report(0.1, "Deriving the key")
            return create_project(path, passphrase, document, rows, Part(context, 0.2, 1.0))

        def created(project: ProjectFile) -> None:
            dialog.accept()
            self._session.set_project(project, keep_state=True)
            if then is not None:
                then()

        title = self.tr("Creating {project}").format(project=path.stem)
        refused = dialog.ask_again
        self.busy(dialog, title, work, created, lambda error: refused(Message.of_error(error)))

    def _copy(self, path: Path) -> None:
        project = self._session.project
        if project is None or not self._session.save(anywhere=True):
            return

        def work(context: Context) -> None:
            context.report(0.1, "Copying")
            copy_project(project, path)

        def copied(_result: None) -> None:
            words = self.tr("It opens with the same passphrase.")
            told = self.tr("The copy is at {path}.")
            self._session.say(MessageKind.GOOD, told.format(path=path), words)

        self._session.runner.run(self.tr("Saving a copy"), work, copied)

    # ----- helpers

    def busy(
        self,
        dialog: PassphraseDialog,
        title: str,
        work: Callable[[Context], ProjectFile],
        on_done: Callable[[ProjectFile], None],
        on_error: Callable[[SfumatoError], None],
    ) -> Job:
        """Run a job while a dialog waits for it; closing the dialog cancels the job."""
        dialog.set_busy(True)
        job = self._session.runner.run(
            title, _guarded(work), on_done, on_error, key=PROJECT_KEY, discard=ProjectFile.close
        )
        dialog.rejected.connect(job.cancel)
        job.finished.connect(dialog.set_idle)  # which nobody calls once it is gone
        return job

    def _filters(self) -> str:
        return self.tr("Sfumato projects (*{suffix})").format(suffix=SUFFIX)

    def _proposal(self) -> Path:
        """Propose a name beside the table, or beside the open project.

        Where the table's folder takes no project, as the sample's and a read-only share's, the
        person's documents are proposed.
        """
        session = self._session
        if session.project_path is not None:
            path = session.project_path
            return path.with_name(self.tr("{name} copy").format(name=path.stem) + SUFFIX)
        source = session.document.source
        name = session.document.title or self.tr("Untitled")
        folder = source.folder if source is not None else None
        if folder is None or folder == resource_path("samples") or not os.access(folder, os.W_OK):
            documents = QStandardPaths.StandardLocation.DocumentsLocation
            folder = Path(QStandardPaths.writableLocation(documents))
            folder = folder if folder.is_dir() else Path.home()
        return folder / f"{name}{SUFFIX}"


def _guarded(work: Callable[[Context], ProjectFile]) -> Callable[[Context], ProjectFile]:
    """Close the project again where the person gave up while it was being opened."""

    def run(context: Context) -> ProjectFile:
        project = work(context)
        try:
            context.report(1.0, "")
        except Cancelled:
            project.close()
            raise
        return project

    return run


UNSAVED_TOPIC: Final = "unsaved"
KEEPING: Final = "keeping unsaved work"

Left = tuple[UnsavedWork, Document | UnsavedUnreadable]
"""What was left behind, and what could be read of it."""


class Unsaved(QObject):
    """Keeps a window's work until a project holds it, and offers what a crash left behind.

    Parameters
    ----------
    session
        What is open.
    projects
        Asks what becomes of what is open before something else takes its place.
    parent
        The owner.
    """

    settled = Signal()
    """The person has decided about what was offered."""

    def __init__(self, session: Session, projects: Projects, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._projects = projects
        self._work: UnsavedWork | None = None
        self._offered: UnsavedWork | None = None
        self._failed = False
        self._timer = delayed(self, self.keep, AUTOSAVE_MILLISECONDS)
        signals = session.document_changed, session.project_changed, session.changes_forgotten
        for signal in signals:
            signal.connect(self._follow)

    # ----- keeping

    @property
    def _wanted(self) -> bool:
        """Whether the window has work that would be lost with it."""
        session = self._session
        return session.project is None and session.unsaved and session.document != Document()

    def _follow(self) -> None:
        """Keep what changed, a moment after the last change, or forget what is safe elsewhere."""
        if self._wanted:
            self._timer.start()
        else:
            self._forget()

    def keep(self) -> None:
        """Keep the work as it is now, in a job."""
        self._timer.stop()
        if not self._wanted or self._session.runner.closed:
            return
        work = self._work = self._work or new_unsaved()
        if work is None:
            return  # the user has no folder for it
        work.document = self._session.document
        words = self.tr("Keeping unsaved work")
        self._session.runner.run(
            words, partial(_write, work), on_error=self._tell_failure, key=KEEPING
        )

    def _tell_failure(self, error: SfumatoError) -> None:
        """Say once that the work is not safe: it is tried again with each change."""
        if self._failed or not self._wanted:
            return
        self._failed = True
        words = self.tr("This work would be lost in a crash: {reason}")
        self._session.say(
            MessageKind.CAUTION,
            words.format(reason=error_texts(error)[0]),
            self.tr("Save it as a project; Sfumato could not keep a copy until then."),
            Action(self.tr("Save…"), self._projects.save),
            topic=UNSAVED_TOPIC,
        )

    def _forget(self) -> None:
        self._timer.stop()
        work, self._work = self._work, None
        if work is not None:
            self._remove(work)

    def take_over(self, before: Unsaved) -> None:
        """Keep what another window kept, whose place this one takes."""
        self._work, self._offered = before._work, before._offered
        before._work = before._offered = None  # and it is deleted before its timer ends

    def close(self) -> None:
        """Let go of everything; what is not forgotten is offered at the next start."""
        self._timer.stop()
        if self._work is not None and self._wanted:  # the window ends without having asked
            self._work.document = self._session.document
            with suppress(SfumatoError, OSError):
                self._work.write()
        for work in (self._work, self._offered):
            if work is not None:
                work.leave()
        self._work = self._offered = None

    # ----- offering

    def offer(self) -> None:
        """Look for work that was left behind, and offer the newest."""
        self._session.runner.run(self.tr("Looking for unsaved work"), _look, self._offer)

    def _offer(self, left: Left | None) -> None:
        if left is None:
            return
        work, found = left
        self._offered = work
        discard = Action(self.tr("Discard"), partial(self._discard, work))
        if isinstance(found, UnsavedUnreadable):
            self._session.say_error(found, discard, topic=UNSAVED_TOPIC)
            return
        words = self.tr("Your work on {title}, of {time}, is not in a project yet.")
        self._session.say(
            MessageKind.INFO,
            words.format(title=found.title or self.tr("Untitled"), time=_time_of(work)),
            self.tr("Sfumato ended before you saved it. What you decided was kept."),
            Action(self.tr("Take it up again"), partial(self._take_up, work, found)),
            discard,
            topic=UNSAVED_TOPIC,
        )

    def _discard(self, work: UnsavedWork) -> None:
        self._offered = None
        self._remove(work)
        self.offer()

    def _take_up(self, work: UnsavedWork, document: Document) -> None:
        """Go on with work that was left, once what is open is safe."""
        if self._session.unsaved:  # the person may think better of it: the offer stands
            QTimer.singleShot(0, self, partial(self._offer_again, work, document))
        self._projects.leave(partial(self._taken_up, work, document))

    def _offer_again(self, work: UnsavedWork, document: Document) -> None:
        if self._offered is work:
            self._offer((work, document))

    def _taken_up(self, work: UnsavedWork, document: Document) -> None:
        session = self._session
        session.take_up(document)  # which forgets what this window has kept so far
        self._forget()
        self._offered, self._work = None, work
        self.settled.emit()
        self.keep()
        session.panel_requested.emit("data")
        if document.source is not None:
            self._projects.sources.read()

    # ----- helpers

    def _remove(self, work: UnsavedWork) -> None:
        try:
            work.forget()
        except OSError as error:
            self._session.say_error(error)


def _write(work: UnsavedWork, _context: Context) -> None:
    work.write()


def _look(_context: Context) -> Left | None:
    work = unsaved_in(state_folder())
    if work is None:
        return None
    try:
        return work, work.read()
    except UnsavedUnreadable as error:
        return work, error.with_traceback(None)
    except OSError:
        work.leave()
        return None


def _time_of(work: UnsavedWork) -> str:
    """Return when work was kept last, as the person's language writes it."""
    try:
        return moment(work.kept_at.astimezone())
    except OSError:
        return "?"
