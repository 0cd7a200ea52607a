"""Keeping work that no project holds yet against a crash, and offering it again."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.formats.language import moment
from sfumato.project.document.model import Document
from sfumato.project.errors import UnsavedUnreadable
from sfumato.project.store.seal import state_folder
from sfumato.project.store.unsaved import UnsavedWork, new_unsaved, unsaved_in
from sfumato.ui.state.projects import Projects
from sfumato.ui.state.session import AUTOSAVE_MILLISECONDS, Session
from sfumato.ui.widgets.messages import Action, MessageKind, error_texts
from sfumato.ui.widgets.paint_queue import delayed

TOPIC: Final = "unsaved"
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
        for signal in (
            session.document_changed,
            session.project_changed,
            session.changes_forgotten,
        ):
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
        if self._work is None:
            self._work = new_unsaved()
        work = self._work
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
            topic=TOPIC,
        )

    def _forget(self) -> None:
        self._timer.stop()
        if self._work is not None:
            self._remove(self._work)
            self._work = None

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
            self._session.say_error(found, discard, topic=TOPIC)
            return
        words = self.tr("Your work on {title}, of {time}, is not in a project yet.")
        self._session.say(
            MessageKind.INFO,
            words.format(title=found.title or self.tr("Untitled"), time=_time_of(work)),
            self.tr("Sfumato ended before you saved it. What you decided was kept."),
            Action(self.tr("Take it up again"), partial(self._take_up, work, found)),
            discard,
            topic=TOPIC,
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
