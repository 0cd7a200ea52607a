"""The question for what reason a release is withdrawn."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.wording import local_day
from sfumato.ui.widgets.fields import text_field
from sfumato.ui.widgets.layout import form


class WithdrawDialog(Dialog):
    """Asks what was wrong with a release.

    Parameters
    ----------
    recipient
        Whom it was made for.
    recorded_at
        When; ISO 8601, UTC.
    """

    def __init__(self, recipient: str, recorded_at: str, parent: QWidget | None = None) -> None:
        tr = QCoreApplication.translate
        title = tr("WithdrawDialog", "Withdraw the release to {recipient} of {day}")
        words = tr(
            "WithdrawDialog",
            "The ledger, the report and every verification of its bundle say from now on that it"
            " should not be used. Ask the recipient to delete it. Nobody can take back what they"
            " know: the release goes on counting, and later ones stay on its ladder.",
        )
        title = title.format(recipient=recipient, day=local_day(recorded_at))
        super().__init__(title, words, parent)
        fields = form()
        self.reason = text_field(hint=self.tr("Made from the wrong extract"))
        fields.addRow(self.tr("&Reason"), self.reason)
        self.body.addLayout(fields)
        self.add_cancel()
        self.submit = self.add_primary(self.tr("Withdraw"))
        self.submit.setEnabled(False)
        self.reason.textChanged.connect(lambda text: self.submit.setEnabled(bool(text.strip())))
