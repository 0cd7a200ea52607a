"""A second person's approval: whether one is asked for, who approved what, and approving it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.project.approval import (
    Approval,
    add_approver,
    approvals,
    approve,
    approvers,
    remove_approver,
)
from sfumato.project.project_file import ProjectFile
from sfumato.ui.dialogs.base import Dialog, NewPassphraseDialog, PassphraseDialog
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import local_time
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import text_field
from sfumato.ui.widgets.layout import boxed, button, column, form, label
from sfumato.ui.widgets.messages import Message, MessageKind
from sfumato.ui.widgets.responsive import FlowLayout

LISTED = 5
"""So many recipients are told of one by one."""


class ApproveDialog(PassphraseDialog):
    """Asks a second person for their own passphrase.

    Parameters
    ----------
    recipients
        Whose releases are approved.
    names
        Who can approve.
    """

    def __init__(
        self, recipients: Sequence[str], names: Sequence[str], parent: QWidget | None = None
    ) -> None:
        title = self.tr("Approve the release to {names}")
        text = self.tr(
            "You approve exactly what would be released now: the table, the columns, the levels,"
            " and the reasons given. If any of it changes, your approval lapses. Look at the checks"
            " and at the preview first, and type your own passphrase, which nobody else knows.",
        )
        action = self.tr("Approve")
        super().__init__(title.format(names=", ".join(recipients)), text, action, parent)
        self.name = QComboBox(self)
        self.name.addItems(list(names))
        self.form.insertRow(0, self.tr("&Name"), self.name)
        self._fields.append(self.name)
        QWidget.setTabOrder(self.name, self.first)


class ApproverDialog(NewPassphraseDialog):
    """Asks for the name of a person who approves, and for a passphrase of their own."""

    def __init__(self, parent: QWidget | None = None) -> None:
        text = self.tr(
            "Let the second person type a passphrase that nobody else knows; it is not the"
            " project's. Whoever knows both can release alone.",
        )
        title = self.tr("Who approves releases?")
        super().__init__("", parent, (title, text, self.tr("Add person")))
        self.name = text_field()
        self.form.insertRow(0, self.tr("&Name"), self.name)
        self._fields.append(self.name)
        QWidget.setTabOrder(self.name, self.first)
        QWidget.setTabOrder(self.first, self.second)
        self.name.textChanged.connect(self._judge)
        self.name.setFocus()

    def _is_filled_in(self) -> bool:
        name = getattr(self, "name", None)
        return isinstance(name, QLineEdit) and bool(name.text().strip())


class RemoveApproverDialog(Dialog):
    """Asks who should approve no more.

    Parameters
    ----------
    names
        Who can approve.
    """

    def __init__(self, names: Sequence[str], parent: QWidget | None = None) -> None:
        words = self.tr(
            "What the person approved lapses, unless it was released. The ledger keeps both. To"
            " approve again, the person has to be added again.",
        )
        super().__init__(self.tr("Who approves no more?"), words, parent)
        self.name = QComboBox(self)
        self.name.addItems(list(names))
        fields = form()
        fields.addRow(self.tr("&Name"), self.name)
        self.body.addLayout(fields)
        self.add_cancel()
        self.submit = self.add_primary(self.tr("Remove person"))


class ApprovalLine(QWidget):
    """The choice whether a second person approves, and how far that is.

    Parameters
    ----------
    session
        What is open; its document keeps the choice.
    """

    changed = Signal()
    """The choice, or what is approved."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._lacking: tuple[str, ...] = ()
        self._chosen: tuple[str, ...] = ()
        self.required = QCheckBox(self.tr("A second person approves each release"), self)
        self.state = label("", "small", wrap=True)
        self.add = button(self.tr("Add a person…"), self._ask_for_person, "quiet", "key")
        self.remove = button(self.tr("Remove a person…"), self._ask_to_remove, "quiet", "remove")
        self.below = boxed(
            column(
                self.state,
                FlowLayout(self.add, self.remove),
                spacing=Space.TIGHT,
            ),
            self,
        )
        whole = column(self.required, self.below, spacing=Space.TIGHT)
        self.setLayout(whole)
        self.required.clicked.connect(self._choose)
        self.refresh()

    def waiting(self, recipients: Sequence[str]) -> tuple[str, ...]:
        """Return who of these has no release that somebody approved, where that is asked for."""
        return tuple(name for name in recipients if name in self._lacking)

    def show_chosen(self, recipients: Sequence[str]) -> None:
        """Take note of whose releases are to be made."""
        self._chosen = tuple(recipients)

    def refresh(self) -> None:
        """Show what the document asks for, and what is approved."""
        session, project = self._session, self._session.project
        document = session.document
        needed = bool(document.needs_approval)
        self.required.setChecked(needed)
        self.below.setVisible(needed)
        names = [each.name for each in document.recipients]
        known: dict[str, Approval | None] = dict.fromkeys(names)
        if needed and project is not None:
            known = approvals(project, document, names)
        self._lacking = tuple(name for name, found in known.items() if found is None)
        told = [
            self.tr("{recipient}: approved by {name}, {time}").format(
                recipient=recipient, name=found.name, time=local_time(found.recorded_at)
            )
            for recipient, found in known.items()
            if found is not None
        ]
        if not needed:
            self._lacking = ()
        elif project is None:
            told = [self.tr("Nobody can approve yet. You are asked to save a project first.")]
        elif not approvers(project):
            told = [self.tr("Nobody can approve yet: add a person.")]
        elif self._lacking:
            waiting = self.tr("Not approved: {names}").format(names=_some(self._lacking))
            told = [waiting, *told[:LISTED]]
        else:
            told = told[:LISTED]
        self.state.setText("\n".join(told))
        self.add.setEnabled(self._can_write)
        self.remove.setVisible(project is not None and bool(approvers(project)))
        self.remove.setEnabled(self._can_write)

    @property
    def _can_write(self) -> bool:
        """Whether approvals can be kept, in a project that is saved first where there is none."""
        return self._session.project is None or not self._session.project.read_only

    def _open(self) -> ProjectFile | None:
        """Return the project, where it can be written."""
        project = self._session.project
        return None if project is None or project.read_only else project

    def _choose(self, needed: bool) -> None:
        document = replace(self._session.document, needs_approval=needed or None)
        words = (
            self.tr("Let a second person approve releases")
            if needed
            else self.tr("Ask for no second person's approval")
        )
        self._session.edit(words, document)
        self.refresh()
        self.changed.emit()

    # ----- people and approvals

    def _ask_for_person(self) -> None:
        """Ask who can approve, once there is a project that keeps it."""
        if self._can_write:
            self._session.once_saved(self._name_person)

    def _name_person(self) -> None:
        project = self._open()
        if project is None:
            return
        dialog = ApproverDialog(self.window())

        def submit() -> None:
            given = dialog.name.text(), dialog.passphrase
            told = self.tr("{name} can approve releases now.").format(name=given[0].strip())
            _carry_out(self._session, dialog, lambda: add_approver(project, *given), told)

        dialog.submitted.connect(submit)
        dialog.present()

    def _ask_to_remove(self) -> None:
        project = self._open()
        if project is None:
            return
        dialog = RemoveApproverDialog(approvers(project), self.window())

        def remove() -> None:
            name = dialog.name.currentText()
            try:
                remove_approver(project, name)
            except SfumatoError as error:
                self._session.say_error(error, topic="approval")
                return
            self._session.ledger_changed.emit()
            told = self.tr("{name} approves no more.").format(name=name)
            self._session.say(MessageKind.GOOD, told, topic="approval")

        dialog.present(remove)

    def ask(self) -> None:
        """Ask a second person to approve what was chosen; who that is, where nobody is named."""
        if self._can_write and self.waiting(self._chosen):
            self._session.once_saved(self._ask_to_approve)

    def _ask_to_approve(self) -> None:
        project, recipients = self._open(), self.waiting(self._chosen)
        if project is None or not recipients:
            return
        if not approvers(project):
            self._name_person()
            return
        ask_to_approve(
            self._session, project, recipients, partial(approve, project, recipients), self.window()
        )


def ask_to_approve(
    session: Session,
    project: ProjectFile,
    recipients: Sequence[str],
    deed: Callable[[str, str], object],
    parent: QWidget | None = None,
) -> None:
    """Ask who approves what recipients would get.

    Parameters
    ----------
    session, project
        What is open; somebody can approve.
    recipients
        Whose release it is.
    deed
        Approves it, by a name and its passphrase.
    parent
        The window.
    """
    dialog = ApproveDialog(recipients, approvers(project), parent)

    def submit() -> None:
        given = dialog.name.currentText(), dialog.passphrase
        words = QCoreApplication.translate(
            "ApprovalLine", "{name} approved the release to {recipients}."
        )
        told = words.format(name=given[0], recipients=", ".join(recipients))
        _carry_out(session, dialog, lambda: deed(*given), told)

    dialog.submitted.connect(submit)
    dialog.present()


def _carry_out(
    session: Session, dialog: ApproveDialog | ApproverDialog, deed: Callable[[], object], told: str
) -> None:
    """Do something that takes a passphrase, in a job."""

    def work(context: Context) -> None:
        context.report(0.1, "Checking the passphrase")
        deed()

    def done(_nothing: None) -> None:
        dialog.accept()
        session.ledger_changed.emit()
        session.say(MessageKind.GOOD, told, topic="approval")

    def refused(error: SfumatoError) -> None:
        dialog.ask_again(Message.of_error(error))

    dialog.set_busy(True)
    title = QCoreApplication.translate("ApprovalLine", "Approving")
    job = session.runner.run(title, work, done, refused)
    job.finished.connect(dialog.set_idle)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:LISTED])
    return shown if len(names) <= LISTED else f"{shown}, …"
