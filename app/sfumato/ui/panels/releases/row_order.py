"""The choice in which order the rows of all releases leave."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import column, label, row


class RowOrderChoice(QWidget):
    """A random order of each release's own, or the table's for a reason.

    Parameters
    ----------
    session
        Whose document keeps the choice: the reason, or none.
    caption_width
        The width of the word before the choice.
    """

    changed = Signal()

    def __init__(self, session: Session, caption_width: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._writing = False
        self.order = Segments(
            [(False, self.tr("In random order")), (True, self.tr("As in the table"))], self
        )
        self.order.setAccessibleName(self.tr("Order of rows"))
        self.reason = QLineEdit(self)
        self.reason.setAccessibleName(self.tr("Reason for the table's order"))
        self.reason.setPlaceholderText(self.tr("Reason, kept in the ledger"))
        self.warning = QWidget(self)
        icon = IconLabel("danger", "danger", 18)
        sign = row(icon)
        sign.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        told = label(spoken(ROWS_AS_IN_TABLE), "danger", wrap=True)
        sign.addLayout(column(told, self.reason, spacing=Space.TIGHT), 1)
        self.warning.setLayout(sign)
        name = label(self.tr("Rows"), "muted")
        name.setMinimumWidth(caption_width)
        name.setBuddy(self.order)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addLayout(row(name, self.order, None))
        whole.addWidget(self.warning)
        self.order.chosen.connect(self._choose)
        self.reason.textEdited.connect(self._write)
        session.document_changed.connect(self.refresh)
        session.project_changed.connect(self.refresh)
        self.refresh()

    @property
    def lacks_reason(self) -> bool:
        """Whether the table's order was chosen and nothing was said for it yet."""
        return bool(self.order.value) and not self._session.document.rows_as_in_table

    def refresh(self, _changed: object = None) -> None:
        """Show what the document has, unless a reason is being written."""
        reason = self._session.document.rows_as_in_table
        if not self._writing:
            self.order.set_value(bool(reason))
            if self.reason.text().strip() != reason:
                self.reason.setText(reason)
        self.warning.setVisible(bool(self.order.value))

    def _choose(self, as_in_table: object) -> None:
        self.warning.setVisible(bool(as_in_table))
        if as_in_table:
            self.reason.setFocus()
            self._write(self.reason.text())
        else:
            self._keep("")
        self.changed.emit()

    def _write(self, text: str) -> None:
        self._keep(text.strip())
        self.changed.emit()

    def _keep(self, reason: str) -> None:
        document = replace(self._session.document, rows_as_in_table=reason)
        self._writing = True
        try:
            self._session.edit(
                self.tr("Keep rows in the table's order")
                if reason
                else self.tr("Put rows in random order"),
                document,
                merge_key="order of rows",
            )
        finally:
            self._writing = False
