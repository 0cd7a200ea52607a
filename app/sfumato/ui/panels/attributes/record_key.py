"""What records are known by: their position, or a column that numbers them."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QSizePolicy

from sfumato.ui.look.theme import Space
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import Card, label, row


class RecordKeyField(Card):
    """Chooses the record key among the columns that can be one.

    Parameters
    ----------
    session
        Whose document is edited.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.body.setContentsMargins(
            Space.BETWEEN, Space.INSIDE + 4, Space.BETWEEN, Space.INSIDE + 4
        )
        self.field = ChoiceField()
        self.field.setAccessibleName(self.tr("Records are known by"))
        self.field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.field.setMinimumWidth(120)
        self.field.chosen.connect(self._choose)
        caption = label(self.tr("Records are known by"), "strong")
        caption.setBuddy(self.field)
        line = row(caption, self.field, spacing=Space.BETWEEN)
        line.setStretch(1, 1)
        self.note = label("", "small", wrap=True)
        self.body.addLayout(line)
        self.body.addWidget(self.note)

    def candidates(self) -> tuple[str, ...]:
        """Return the columns whose values are all there and all different."""
        insight, table = self._session.insight(), self._session.table
        if insight is None or table is None:
            return ()
        return tuple(
            profile.name
            for profile in insight.profiles
            if profile.is_unique and not profile.missing
        )

    def refresh(self) -> None:
        """Show the document's record key."""
        document = self._session.document
        names = list(self.candidates())
        if document.record_key is not None and document.record_key not in names:
            names.append(document.record_key)
        self.field.set_choices(
            [("", self.tr("their position in the table")), *((name, name) for name in names)]
        )
        self.field.set_value(document.record_key or "")
        if document.record_key is not None:
            words = self.tr("Rows can be sorted, added and removed between releases.")
        elif names:
            words = self.tr("The table must not change between releases; with a key it may.")
        else:
            words = self.tr(
                "The table must stay as it is between releases: no column numbers its records."
            )
        self.note.setText(words)

    def _choose(self, name: object) -> None:
        key = str(name) or None
        text = QCoreApplication.translate("Attributes", "Record key")
        self._session.edit(text, replace(self._session.document, record_key=key))
