"""Says that Sfumato itself failed, with details to copy that hold no value of the table."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QDialogButtonBox, QPlainTextEdit, QWidget

from sfumato.jobs.job import BugReport
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.state.versions import versions_text


class BugDialog(Dialog):
    """Shows a bug report.

    Parameters
    ----------
    report
        What failed and where.
    """

    def __init__(self, report: BugReport, parent: QWidget | None = None) -> None:
        super().__init__(
            QCoreApplication.translate("BugDialog", "Something in Sfumato failed"),
            QCoreApplication.translate(
                "BugDialog",
                "Your work is safe: nothing was changed by “{title}”. Please send the details"
                " below to the makers; they hold no value of your table.",
            ).format(title=report.title),
            parent,
        )
        self.setMinimumSize(640, 420)
        self.details = QPlainTextEdit(f"{report.text}\n\n{versions_text()}", self)
        self.details.setReadOnly(True)
        self.details.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.body.addWidget(self.details)
        self.copy_button = self.buttons.addButton(
            self.tr("Copy details"), QDialogButtonBox.ButtonRole.ActionRole
        )
        self.copy_button.clicked.connect(self._copy)
        self.add_primary(self.tr("Close"))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.details.toPlainText())
