"""The dialogs about the recovery sheet: making one, and opening a project by its code."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from sfumato.project.store.recovery_code import mistyped
from sfumato.ui.dialogs.base import NewPassphraseDialog, PassphraseDialog
from sfumato.ui.look.wording import spoken
from sfumato.ui.widgets.fields import text_field
from sfumato.ui.widgets.layout import label


class RecoverDialog(NewPassphraseDialog):
    """Asks for the code of a recovery sheet, and for the passphrase that is to be.

    Parameters
    ----------
    project
        The project's name.
    """

    def __init__(self, project: str, parent: QWidget | None = None) -> None:
        tr = QCoreApplication.translate
        text = tr(
            "RecoverDialog",
            "Type the code of the project's newest recovery sheet, and a passphrase that opens the"
            " project from now on. The sheet stays valid.",
        )
        title = tr("RecoverDialog", "Open {project} by its recovery sheet").format(project=project)
        action = tr("RecoverDialog", "Set passphrase and open")
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
        tr = QCoreApplication.translate
        text = tr(
            "SheetDialog",
            "Its code opens the project where the passphrase is lost. Whoever has the sheet and the"
            " project's file can tell which released values are true: print it, lock it away apart"
            " from the file, and delete what was saved. Earlier sheets no longer open the project.",
        )
        title = tr("SheetDialog", "Make a recovery sheet for {project}").format(project=project)
        super().__init__(title, text, tr("SheetDialog", "Save the sheet…"), parent)
        self.first.textChanged.connect(lambda typed: self.submit.setEnabled(bool(typed)))
