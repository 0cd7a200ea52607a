"""What every dialog has, and the dialogs that ask about a project: its passphrase, or a choice.

Every dialog has a title, a sentence, its content, and buttons where they belong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QWidget,
)

from sfumato.project.errors import NotSealed, ProjectPart
from sfumato.project.store.secret import Strength, strength_of
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import spoken
from sfumato.ui.widgets.fields import WrappedCheckBox, text_field
from sfumato.ui.widgets.keyboard import give_letters
from sfumato.ui.widgets.layout import (
    Badge,
    button,
    column,
    fill,
    form,
    label,
    press_by_enter,
    row,
    set_look,
)
from sfumato.ui.widgets.messages import Message, MessageBar
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.painted import themed_icon
from sfumato.ui.widgets.responsive import RoomyScrollArea


class Dialog(QDialog):
    """A dialog; subclasses fill `body` and add buttons.

    Parameters
    ----------
    title
        What it is about.
    text
        One or two sentences.
    """

    def __init__(self, title: str, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lettering = delayed(self, partial(give_letters, self))
        self.setWindowTitle(title)
        self.setMinimumWidth(scaled(480))
        self.setWindowFlag(Qt.WindowType.WindowContextHelpButtonHint, False)
        work = column(
            label(title, "heading", wrap=True),
            spacing=Space.BETWEEN,
            margins=(Space.AROUND, Space.AROUND, Space.AROUND, 0),
        )
        self.explanation = label(text, "muted", wrap=True)
        self.explanation.setVisible(bool(text))
        work.addWidget(self.explanation)
        self.messages = MessageBar(self)
        work.addWidget(self.messages)
        self.body = column()
        work.addLayout(self.body, 1)
        self.buttons = QDialogButtonBox(self)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._room = RoomyScrollArea(work, self)
        self._page = column((self._room, 1), spacing=Space.BETWEEN, margins=(0, 0, 0, Space.AROUND))
        self.setLayout(self._page)
        below = row(self.buttons, margins=(Space.AROUND, 0, Space.AROUND, 0))
        self._page.addLayout(below)

    def present(self, accepted: Callable[[], object] | None = None) -> Self:
        """Open in front of its window, and go away by itself once it is closed."""
        if accepted is not None:
            self.accepted.connect(accepted)
        self.finished.connect(self.deleteLater)
        self.open()
        return self

    def showEvent(self, event: QShowEvent) -> None:
        """Be as large as the content needs."""
        super().showEvent(event)
        self.grow()

    def event(self, event: QEvent) -> bool:
        """Give every button, box and field a letter of its own, whenever there are others."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.LayoutRequest):
            self._lettering.start()
        return super().event(event)

    def done(self, result: int) -> None:
        """Close, and give the keyboard back to the window; not every desktop does so by itself."""
        super().done(result)
        parent = self.parentWidget()
        if parent is not None and QApplication.activeWindow() is None:
            parent.window().activateWindow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the button that has the focus on Enter, not the one that is pressed elsewhere."""
        if not press_by_enter(self.focusWidget(), event):
            super().keyPressEvent(event)

    def grow(self) -> None:
        """Be as high as what is shown needs, so that a message is there to its last line."""
        for _ in range(2):  # what wraps tells its height once it has its width
            QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
            most = self.screen().availableSize() if self.parentWidget() is None else self._around()
            wanted = self.size() + self._room.lacking()
            least = self.minimumSize().expandedTo(self._page.totalMinimumSize())
            self.resize(wanted.boundedTo(most).expandedTo(least))

    def _around(self) -> QSize:
        """Return the size of the window that it stands in front of."""
        parent = self.parentWidget()
        return parent.window().size() if parent is not None else self.size()

    def add_primary(self, text: str, run: Callable[[], object] | None = None) -> QPushButton:
        """Add the button that does what the dialog is for, where that is more than to close it."""
        made = self.buttons.addButton(text, QDialogButtonBox.ButtonRole.AcceptRole)
        set_look(made, "primary")  # the box has polished it already
        made.setDefault(True)
        if run is not None:
            self.buttons.accepted.disconnect(self.accept)
            self.buttons.accepted.connect(run)
        return made

    def add_button(
        self,
        text: str,
        run: Callable[[], object],
        role: QDialogButtonBox.ButtonRole = QDialogButtonBox.ButtonRole.ActionRole,
        tip: str = "",
    ) -> QPushButton:
        """Add a button that does something of its own."""
        made = button(text, run, tip=tip)
        made.setAutoDefault(False)
        self.buttons.addButton(made, role)
        return made

    def add_cancel(self, text: str = "") -> QPushButton:
        """Add the button that leaves everything as it is."""
        made = self.buttons.addButton(
            text or self.tr("Cancel"), QDialogButtonBox.ButtonRole.RejectRole
        )
        made.setAutoDefault(False)
        return made


class SecretField(QLineEdit):
    """A field for a passphrase or a password, with an action that shows what was typed.

    Parameters
    ----------
    words
        What the action is called.
    """

    def __init__(self, words: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setEchoMode(QLineEdit.EchoMode.Password)
        self.setMinimumWidth(scaled(280))
        self._show = QAction(themed_icon("preview"), words, self)
        self._show.setCheckable(True)
        self._show.toggled.connect(self._reveal)
        self.addAction(self._show, QLineEdit.ActionPosition.TrailingPosition)

    def _reveal(self, shown: bool) -> None:
        modes = QLineEdit.EchoMode
        self.setEchoMode(modes.Normal if shown else modes.Password)


class PassphraseDialog(Dialog):
    """Hands a passphrase over and stays until whoever asked for it closes the dialog."""

    submitted = Signal()
    """The person is content with `passphrase`."""

    def __init__(self, title: str, text: str, action: str, parent: QWidget | None = None) -> None:
        super().__init__(title, text, parent)
        self.form = form()
        self.first = SecretField(self.tr("Show the passphrase"), self)
        self.form.addRow(self.tr("&Passphrase"), self.first)
        self.body.addLayout(self.form)
        self._fields: list[QWidget] = [self.first]
        self.add_cancel()
        self.submit = self.add_primary(action, self.submitted.emit)
        self.submit.setEnabled(False)
        self.first.textChanged.connect(self._judge)

    def _judge(self) -> None:
        """Let it be handed over once there is something."""
        self.submit.setEnabled(bool(self.passphrase))

    @property
    def passphrase(self) -> str:
        """What was typed."""
        return self.first.text()

    def set_busy(self, busy: bool) -> None:
        """Show that the passphrase is being tried; the dialog can still be cancelled."""
        for field in self._fields:
            field.setEnabled(not busy)
        self.submit.setEnabled(not busy)
        if not busy:
            self.first.setFocus()

    def set_idle(self) -> None:
        """Take the passphrase again."""
        self.set_busy(False)

    def ask_again(self, message: Message) -> None:
        """Say why it did not work, and let the person type another."""
        self.messages.show_message(message)
        self.grow()
        self.first.selectAll()
        self.first.setFocus()


class OpenPassphraseDialog(PassphraseDialog):
    """Asks for the passphrase of a project.

    Parameters
    ----------
    project
        The project's name.
    """

    forgotten = Signal()
    """The person has a recovery sheet, and no passphrase any more."""

    def __init__(self, project: str, parent: QWidget | None = None) -> None:
        words = self.tr("Open {project}")
        told = self.tr("Open")
        super().__init__(words.format(project=project), "", told, parent)
        self.forgot = self.add_button(
            self.tr("&Forgot the passphrase?"),
            self._forget,
            tip=self.tr("Open it by the code of its recovery sheet, and choose another"),
        )

    def _forget(self) -> None:
        self.reject()
        self.forgotten.emit()


class NewPassphraseDialog(PassphraseDialog):
    """Asks twice for the passphrase of a new project, with a hint on its strength.

    Parameters
    ----------
    project
        The new project's name.
    words
        Title, text and button, where it is asked for something else.
    """

    def __init__(
        self,
        project: str,
        parent: QWidget | None = None,
        words: tuple[str, str, str] | None = None,
    ) -> None:
        title, text, action = words or (
            self.tr("Choose a passphrase for {project}").format(project=project),
            self.tr(
                "It protects the secret that every release is made with. Whoever has both the"
                " project and the passphrase can tell which released values are true. A lost"
                " passphrase is replaced by a recovery sheet alone, which you make and print under"
                " File.",
            ),
            self.tr("Create project"),
        )
        super().__init__(title, text, action, parent)
        self.second = SecretField(self.tr("Show the passphrase"), self)
        self._fields.append(self.second)
        self.strength = Badge("info", "muted", "", wrap=True)
        self.same = label(" ", "small")
        self.form.addRow(self.tr("&Again"), self.second)
        # Below both fields: its words take more lines or fewer while somebody types.
        self.form.addRow("", self.strength)
        self.form.addRow("", self.same)
        self.aware = WrappedCheckBox(
            self.tr("&Use it: I know that whoever gets the project file can find it out"), self
        )
        policy = self.aware.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.aware.setSizePolicy(policy)
        self._fields.append(self.aware)
        self.body.addWidget(self.aware)
        # Qt goes through fields in the order in which they were made: the buttons came first.
        QWidget.setTabOrder(self.first, self.second)
        QWidget.setTabOrder(self.second, self.aware)
        QWidget.setTabOrder(self.aware, self.submit)
        self.first.textChanged.connect(lambda: self.aware.setChecked(False))
        self.second.textChanged.connect(self._judge)
        self.aware.toggled.connect(self._judge)
        self._judge()

    def _judge(self) -> None:
        words = {
            Strength.EMPTY: ("info", "muted", self.tr("Four or five random words are strong.")),
            Strength.WEAK: (
                "caution",
                "caution",
                self.tr("Weak: a program guesses it. Add words, or say below that you know."),
            ),
            Strength.FAIR: ("info", "accent", self.tr("Fair: one more word makes it strong.")),
            Strength.STRONG: ("good", "good", self.tr("Strong.")),
        }
        strength = strength_of(self.first.text())
        self.strength.show_state(*words[strength])
        self.aware.setVisible(strength is Strength.WEAK)
        agree = self.first.text() == self.second.text()
        differs = bool(self.second.text()) and not agree
        self.same.setText(self.tr("The two are not the same yet.") if differs else " ")
        informed = strength is not Strength.WEAK or self.aware.isChecked()
        whole = bool(self.first.text()) and agree and informed and self._is_filled_in()
        self.submit.setEnabled(whole)
        if self.isVisible():
            self.grow()

    def _is_filled_in(self) -> bool:
        """Return whether what else is asked for is there."""
        return True


class UnsealedDialog(Dialog):
    """Offers to look at a project only, or to accept it as it stands, for a reason.

    Parameters
    ----------
    project
        The project's name.
    error
        What was found.

    Attributes
    ----------
    reading
        Whether the person chose to look at it only.
    """

    def __init__(self, project: str, error: NotSealed, parent: QWidget | None = None) -> None:
        titles = {
            frozenset({ProjectPart.NEVER_SEALED}): self.tr("{project} has no seal"),
            frozenset({ProjectPart.OLDER}): self.tr("{project} is an older copy"),
        }
        changed = self.tr("{project} was changed outside Sfumato")
        words = self.tr(
            "Nothing has been written and no unfinished work was carried out. The safest"
            " course is to restore a copy from before the change. You can also open the"
            " project read-only, to inspect it and save its rules. Accept it as it stands"
            " only if you know how the change came about and have checked every column,"
            " level and recipient.",
        )
        super().__init__(titles.get(error.parts, changed).format(project=project), words, parent)
        self.reading = False
        self._add_findings(error)
        self.body.addSpacing(Space.INSIDE)
        form = QFormLayout()
        form.setHorizontalSpacing(Space.BETWEEN)
        self.reason = text_field(hint=self.tr("Restored from a backup"))
        form.addRow(self.tr("&Reason for accepting it"), self.reason)
        self.body.addLayout(form)
        self.understood = WrappedCheckBox(
            self.tr("I have checked the project and take responsibility for it as it stands"), self
        )
        words = self.tr("Your reason and the findings are recorded in the ledger.")
        fill(self.body, self.understood, label(words, "small", wrap=True))
        self.add_cancel()
        role = QDialogButtonBox.ButtonRole.DestructiveRole
        self.accept_button = self.add_button(self.tr("Accept and seal again"), self.accept, role)
        self.read_button = self.add_primary(self.tr("Open read-only"), self._read)
        self.reason.textChanged.connect(self._judge)
        self.understood.toggled.connect(self._judge)
        self._judge()

    def _add_findings(self, error: NotSealed) -> None:
        words = self.tr("Danger: Sfumato cannot vouch for what this project says")
        self.warning = Badge("danger", "danger", words, look="danger", wrap=True)
        self.body.addWidget(self.warning)
        self.findings = [
            label(spoken(finding.what), "danger", wrap=True) for finding in error.findings
        ]
        for finding in self.findings:
            finding.setIndent(Space.AROUND)
            self.body.addWidget(finding)

    @property
    def accepting(self) -> str:
        """The reason to accept the project; empty where it is only looked at."""
        return "" if self.reading else self.reason.text().strip()

    def _read(self) -> None:
        self.reading = True
        self.accept()

    def _judge(self) -> None:
        informed = self.understood.isChecked() and bool(self.reason.text().strip())
        self.accept_button.setEnabled(informed)


class ChoiceDialog(Dialog):
    """Offers a few ways forward, the first of them the primary one.

    Parameters
    ----------
    title, text
        What is to be decided.
    ways
        Pairs of a name that `chosen` gives back and the button's text.
    """

    def __init__(
        self, title: str, text: str, ways: Sequence[tuple[str, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(title, text, parent)
        self.chosen = ""
        (first, words), *others = ways
        self.add_cancel()
        for name, other_words in others:
            role = QDialogButtonBox.ButtonRole.DestructiveRole
            self.add_button(other_words, partial(self._choose, name), role)
        self._first = first
        self.add_primary(words)

    def accept(self) -> None:
        """Close with what was chosen; without a choice, with the first way."""
        self.chosen = self.chosen or self._first
        super().accept()

    def _choose(self, name: str) -> None:
        self.chosen = name
        self.accept()
