"""Files that are dropped or chosen: what they are to the open project, and what to do then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from sfumato.formats.bundles.packages import bundle_at, package_at
from sfumato.formats.files import is_folder
from sfumato.project.verification.found import FoundFile, find_file
from sfumato.ui.dialogs.projects import ChoiceDialog
from sfumato.ui.look.wording import local_day
from sfumato.ui.state.records import releases_of
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.files import table_filters

FIND_JOB: Final = "find out what a file is"
_ZIP: Final = ".zip"

Ways = tuple[tuple[str, str], ...]


class FoundFiles(QObject):
    """Finds out what a file is, and asks what is to be done where there is a choice.

    Parameters
    ----------
    session
        What is open.
    choose_project
        Asks which project to open.
    window
        What dialogs belong to.
    """

    def __init__(
        self, session: Session, choose_project: Callable[[], object], window: QWidget
    ) -> None:
        super().__init__(window)
        self._session = session
        self._choose_project = choose_project
        self._window = window

    def choose(self) -> None:
        """Ask for a file that turned up, and then what it is to be done with it."""
        filters = self.tr("Files that turned up (*)") + ";;" + table_filters()
        path = self._session.chooser.open_file(self.tr("Verify or trace a file"), filters)
        if path is not None:
            self._look(path)

    def is_plain(self, path: Path) -> bool:
        """Whether a file can only be meant as a table to open."""
        packed = is_folder(path) or path.suffix.lower() == _ZIP
        return not (packed or releases_of(self._session) or bundle_at(path))

    def open(self, path: Path) -> None:
        """Open a table, or ask what is to be done with what may be a release."""
        if self.is_plain(path):
            self._session.table_requested.emit(path)
        else:
            self._look(path)

    def _look(self, path: Path) -> None:
        releases = releases_of(self._session)
        self._session.runner.run(
            self.tr("Looking at {file}").format(file=path.name),
            lambda context: find_file(path, releases, context),
            self._ask,
            key=FIND_JOB,
        )

    def _ask(self, found: FoundFile) -> None:
        text, ways = self._question(found)
        if found.path.suffix.lower() == _ZIP:
            ways = tuple(way for way in ways if way[0] != "table")
            text = text + " " + self.tr("To open the table in it, unpack it first.")
        dialog = ChoiceDialog(
            self.tr("What do you want to do with {name}?").format(name=found.path.name),
            text,
            ways,
            self._window,
        )
        dialog.accepted.connect(lambda: self._do(dialog.chosen, found))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _question(self, found: FoundFile) -> tuple[str, Ways]:
        """Return what is said of a file, and the ways forward."""
        table = ("table", self.tr("Open as a table"))
        verify, trace = ("verify", self.tr("Verify it")), ("trace", self.tr("Trace it"))
        release = found.release
        if self._session.project is None:
            text = self.tr(
                "A file is verified or traced against the project that it was released from."
                " Open the project, then drop the file again."
            )
            if found.is_bundle:
                text = self.tr("It looks like a bundle.") + " " + text
            return text, (("project", self.tr("Open a project…")), table)
        if release is not None:
            text = self.tr(
                "It is {file} as it was released to {recipient} on {day}, byte for byte."
            ).format(
                file=found.name, recipient=release.recipient, day=local_day(release.recorded_at)
            )
            return text, (verify, trace, table)
        if found.is_bundle:
            text = self.tr(
                "It looks like a bundle. Verifying tells whether it was released from this"
                " project, is unchanged and keeps its promises; tracing tells whose rows it holds."
            )
            return text, (verify, trace, table)
        text = self.tr(
            "No file with these bytes was released from this project. If it turned up somewhere,"
            " trace it: a part of a release, in any order, or a changed one can still tell whose"
            " copy it is."
        )
        return text, (trace, table)

    def _do(self, way: str, found: FoundFile) -> None:
        if way == "verify":
            self._session.file_brought.emit("releases", found.path)
        elif way == "trace":
            self._session.file_brought.emit("audit", found.path)
        elif way == "project":
            self._choose_project()
        elif way == "table" and found.is_bundle:
            self._session.runner.run(
                self.tr("Looking at {file}").format(file=found.path.name),
                partial(_table_of, found.path),
                self._session.table_requested.emit,
                key=FIND_JOB,
            )
        elif way == "table":
            self._session.table_requested.emit(found.path)


def _table_of(bundle: Path, _context: object) -> Path:
    return package_at(bundle).path
