"""Says in which ways a project is not as it was sealed, and asks how to go on."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QCheckBox, QDialogButtonBox, QFormLayout, QLineEdit, QWidget

from sfumato.project.errors import NotSealed, Part
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.widgets.layout import label


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
        tr = QCoreApplication.translate
        titles = {
            frozenset({Part.NEVER_SEALED}): tr("UnsealedDialog", "{project} has no seal"),
            frozenset({Part.OLDER}): tr("UnsealedDialog", "{project} is an older copy"),
        }
        changed = tr("UnsealedDialog", "{project} was changed outside Sfumato")
        super().__init__(
            titles.get(error.parts, changed).format(project=project),
            tr(
                "UnsealedDialog",
                "Nothing has been written and no unfinished work was carried out. The safest"
                " course is to restore a copy from before the change. You can also open the"
                " project read-only, to inspect it and save its rules. Accept it as it stands"
                " only if you know how the change came about and have checked every column,"
                " level and recipient.",
            ),
            parent,
        )
        self.reading = False
        self.findings = [label(spoken(finding.what), wrap=True) for finding in error.findings]
        for finding in self.findings:
            self.body.addWidget(finding)
        self.body.addSpacing(Space.INSIDE)
        form = QFormLayout()
        form.setHorizontalSpacing(Space.BETWEEN)
        self.reason = QLineEdit(self)
        self.reason.setPlaceholderText(self.tr("Restored from a backup"))
        form.addRow(self.tr("&Reason for accepting it"), self.reason)
        self.body.addLayout(form)
        self.understood = QCheckBox(
            self.tr("I have checked the project and take responsibility for it as it stands"), self
        )
        self.body.addWidget(self.understood)
        self.body.addWidget(
            label(
                self.tr("Your reason and the findings are recorded in the ledger."),
                "small",
                wrap=True,
            )
        )
        self.add_cancel()
        self.accept_button = self.buttons.addButton(
            self.tr("Accept and seal again"), QDialogButtonBox.ButtonRole.DestructiveRole
        )
        self.accept_button.setAutoDefault(False)
        self.accept_button.clicked.connect(self.accept)
        self.read_button = self.add_primary(self.tr("Open read-only"))
        self.buttons.accepted.disconnect(self.accept)
        self.buttons.accepted.connect(self._read)
        self.reason.textChanged.connect(self._judge)
        self.understood.toggled.connect(self._judge)
        self._judge()

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
