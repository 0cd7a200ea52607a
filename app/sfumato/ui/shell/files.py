"""Files beside projects: those that turn up, and what to do with them; and files of rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.formats.bundles.packages import bundle_at, package_at
from sfumato.formats.files import is_folder, opening, write_whole
from sfumato.project.document.edits import check_shown
from sfumato.project.document.model import Document
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.found import FoundFile, find_file
from sfumato.ui.dialogs.base import ChoiceDialog
from sfumato.ui.look.wording import local_day
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.messages import Action, MessageKind

RULES: Final = "rules"
RULES_SUFFIX: Final = ".toml"
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
        return not (packed or self._session.steps.releases() or bundle_at(path))

    def open(self, path: Path) -> None:
        """Open a table, or ask what is to be done with what may be a release."""
        if self.is_plain(path):
            self._session.table_requested.emit(path)
        else:
            self._look(path)

    def _look(self, path: Path) -> None:
        releases = self._session.steps.releases()
        title = self.tr("Looking at {file}").format(file=path.name)
        self._session.runner.run(
            title, lambda context: find_file(path, releases, context), self._ask, key=FIND_JOB
        )

    def _ask(self, found: FoundFile) -> None:
        text, ways = self._question(found)
        if found.path.suffix.lower() == _ZIP:
            ways = tuple(way for way in ways if way[0] != "table")
            text = text + " " + self.tr("To open the table in it, unpack it first.")
        words = self.tr("What do you want to do with {name}?")
        dialog = ChoiceDialog(words.format(name=found.path.name), text, ways, self._window)
        dialog.present(lambda: self._do(dialog.chosen, found))

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
                lambda _context: package_at(found.path).path,
                self._session.table_requested.emit,
                key=FIND_JOB,
            )
        elif way == "table":
            self._session.table_requested.emit(found.path)


class RulesFiles(QObject):
    """What the File menu does with rules files.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session

    def choose_and_save(self) -> None:
        """Ask where to save the rules, and save them."""
        name = self._session.document.title or self.tr("rules")
        path = self._session.chooser.save_file(
            self.tr("Save rules"), self._filters(), Path.home() / f"{name}{RULES_SUFFIX}"
        )
        if path is not None:
            self.save(path if path.suffix else path.with_suffix(RULES_SUFFIX))

    def save(self, path: Path) -> None:
        """Write the document's rules."""
        text = rules_of(self._session.document, path.parent)

        def saved(_result: None) -> None:
            self._session.say(
                MessageKind.GOOD,
                self.tr("The rules are saved at {path}.").format(path=path),
                self.tr("They hold no secret; the values a column can take are listed in them."),
                topic=RULES,
            )

        self._session.runner.run(
            self.tr("Saving rules"), lambda _context: write_whole(path, text.encode()), saved
        )

    def choose_and_apply(self) -> None:
        """Ask which rules to apply."""
        path = self._session.chooser.open_file(self.tr("Apply rules"), self._filters())
        if path is not None:
            self.apply(path)

    def apply(self, path: Path) -> None:
        """Apply a rules file to the open table, as one step that can be undone."""
        session = self._session
        document, noise = session.document, session.noise
        table, edit = session.survey, self.tr("Apply rules")
        if table is None:
            session.say(
                MessageKind.INFO,
                self.tr("Rules are applied to a table, and none is open yet."),
                self.tr("Open the table first, then apply the rules."),
                topic=RULES,
            )
            return

        def work(_context: Context) -> Document:
            try:
                with opening(path):
                    text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                raise SfumatoError(
                    "{path} is not a text file in UTF-8.", "Choose a rules file.", path=path
                ) from None
            applied = apply_rules(text, table, document, path.parent, noise)
            check_shown(applied)
            return applied

        def applied(changed: Document) -> None:
            session.edit(edit, changed)
            words = self.tr("The rules of {name} are applied.").format(name=path.name)
            undo = Action(self.tr("Undo"), session.undo, undoes=True)
            session.say(MessageKind.GOOD, words, "", undo, topic=RULES)

        taken = session.unless_changed(edit, applied)
        session.runner.run(self.tr("Applying rules"), work, taken, key=RULES)

    def _filters(self) -> str:
        return self.tr("Rules (*{suffix})").format(suffix=RULES_SUFFIX)
