"""The recovery sheet: making one in time, and opening a project by its code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.project.errors import PassphraseError
from sfumato.project.project_file import ProjectFile, shown_whole
from sfumato.project.recovery_sheet import recover
from sfumato.project.store.recovery_code import mistyped
from sfumato.report.recovery_page import check_ending, save_sheet
from sfumato.ui.dialogs.base import NewPassphraseDialog, PassphraseDialog
from sfumato.ui.look.wording import spoken
from sfumato.ui.widgets.fields import text_field
from sfumato.ui.widgets.layout import label
from sfumato.ui.widgets.messages import Message, MessageKind

if TYPE_CHECKING:
    from sfumato.jobs import Job
    from sfumato.ui.state.session import Session


class RecoverDialog(NewPassphraseDialog):
    """Asks for the code of a recovery sheet, and for the passphrase that is to be.

    Parameters
    ----------
    project
        The project's name.
    """

    def __init__(self, project: str, parent: QWidget | None = None) -> None:
        text = self.tr(
            "Type the code of the project's newest recovery sheet, and a passphrase that opens the"
            " project from now on. The sheet stays valid.",
        )
        title = self.tr("Open {project} by its recovery sheet").format(project=project)
        action = self.tr("Set passphrase and open")
        super().__init__(project, parent, (title, text, action))
        self.code = text_field(hint=self.tr("Eight groups of five characters"))
        whole = self.code.fontMetrics().horizontalAdvance("MMMM0-" * 8)
        self.code.setMinimumWidth(whole)
        self.fault = label(" ", "danger", wrap=True)
        self.form.insertRow(0, self.tr("&Code"), self.code)
        self.form.insertRow(1, "", self.fault)
        self._fields.insert(0, self.code)
        QWidget.setTabOrder(self.code, self.first)
        QWidget.setTabOrder(self.first, self.second)
        self.code.textChanged.connect(self._read)
        self.code.setFocus()
        self._judge()

    def _read(self, text: str) -> None:
        """Say which group is mistyped, as soon as it is whole."""
        wrong = mistyped(text)
        self.fault.setText(" " if wrong is None else spoken(wrong))
        self._judge()

    def _is_filled_in(self) -> bool:
        code = getattr(self, "code", None)
        return code is not None and bool(code.text().strip()) and mistyped(code.text()) is None


class SheetDialog(PassphraseDialog):
    """Asks for a project's passphrase before a recovery sheet is made.

    Parameters
    ----------
    project
        The project's name.
    """

    def __init__(self, project: str, parent: QWidget | None = None) -> None:
        text = self.tr(
            "Its code opens the project where the passphrase is lost. Whoever has the sheet and the"
            " project's file can tell which released values are true: print it, lock it away apart"
            " from the file, and delete what was saved. Earlier sheets no longer open the project.",
        )
        title = self.tr("Make a recovery sheet for {project}").format(project=project)
        super().__init__(title, text, self.tr("Save the sheet…"), parent)


class ProjectOpener(Protocol):
    """What opens projects: `Projects`, as far as this depends on it."""

    session: Session

    def busy(
        self,
        dialog: PassphraseDialog,
        title: str,
        work: Callable[[Context], ProjectFile],
        on_done: Callable[[ProjectFile], None],
        on_error: Callable[[SfumatoError], None],
    ) -> Job:
        """Run a job while a dialog waits for it."""

    def take(self, project: ProjectFile) -> None:
        """Show a project that was opened."""


def ask_to_recover(projects: ProjectOpener, path: Path, window: QWidget) -> None:
    """Ask for the code of a project's recovery sheet and a new passphrase, and open it."""
    dialog = RecoverDialog(path.stem, window)

    def submit() -> None:
        given = path, dialog.code.text(), dialog.passphrase

        def work(context: Context) -> ProjectFile:
            context.report(0.1, "Checking the recovery code")
            return shown_whole(recover(*given))

        def refused(error: SfumatoError) -> None:
            if isinstance(error, PassphraseError):
                dialog.ask_again(Message.of_error(error))
                return
            dialog.reject()
            projects.session.say_error(error, topic="project")

        def opened(project: ProjectFile) -> None:
            dialog.accept()
            projects.take(project)
            told = _tr("The passphrase has been reset.")
            projects.session.say(
                MessageKind.GOOD, told, _tr("The recovery sheet stays valid."), topic="recovered"
            )

        projects.busy(dialog, _tr("Opening the project"), work, opened, refused)

    dialog.submitted.connect(submit)
    dialog.present()


def ask_for_sheet(session: Session, window: QWidget) -> None:
    """Make a recovery sheet of the open project, where the person wants it."""
    project = session.project
    if project is None or project.read_only:
        session.say(
            MessageKind.CAUTION,
            _tr("A recovery sheet is made of a project that is open for writing."),
            _tr("Save your work in a project first, or open one."),
            topic="recovery sheet",
        )
        return
    dialog = SheetDialog(project.path.stem, window)
    dialog.submitted.connect(partial(_save, session, project, dialog))
    dialog.present()


def _save(session: Session, project: ProjectFile, dialog: SheetDialog) -> None:
    proposal = project.path.with_name(_tr("{name} recovery sheet").format(name=project.path.stem))
    path = session.chooser.save_file(
        _tr("Save the recovery sheet"),
        _tr("Page to print (*.html);;Text (*.txt)"),
        proposal.with_name(proposal.name + ".html"),
    )
    if path is None:
        return
    passphrase = dialog.passphrase

    def work(context: Context) -> None:
        context.report(0.1, "Making the recovery sheet")
        check_ending(path)
        save_sheet(project, passphrase, path)

    def made(_nothing: None) -> None:
        dialog.accept()
        session.ledger_changed.emit()
        session.say(
            MessageKind.GOOD,
            _tr("The recovery sheet is at {path}.").format(path=path),
            _tr("Print it, lock it away, and delete the file. Earlier sheets are of no use now."),
            topic="recovery sheet",
        )

    dialog.set_busy(True)
    job = session.runner.run(
        _tr("Making the recovery sheet"),
        work,
        made,
        lambda error: dialog.ask_again(Message.of_error(error)),
    )
    job.finished.connect(dialog.set_idle)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Recovering", text)
