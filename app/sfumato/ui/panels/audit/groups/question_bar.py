"""Whom a page asks about: the attribute, the recipient and what the attacker knows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.audit.groups.knowledge import KnowledgeButton
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import label


class QuestionBar(QWidget):
    """A line of choices above a page.

    Parameters
    ----------
    with_recipient
        Whether one recipient is chosen.
    """

    changed = Signal()
    """The person chose something else."""

    def __init__(self, with_recipient: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.attribute = ChoiceField(parent=self)
        self.attribute.setAccessibleName(self.tr("Attribute"))
        self.recipient = ChoiceField(parent=self)
        self.recipient.setAccessibleName(self.tr("Recipient"))
        self.knowledge = KnowledgeButton(self)
        for field in (self.attribute, self.recipient):
            field.setMinimumWidth(140)
            field.chosen.connect(self._tell)
        self.knowledge.changed.connect(self.changed)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Space.INSIDE)
        fields: list[tuple[str, QWidget]] = [(self.tr("&Attribute"), self.attribute)]
        if with_recipient:
            fields.append((self.tr("&Recipient"), self.recipient))
        fields.append((self.tr("Attacker &knows"), self.knowledge))
        for text, chooser in fields:
            name = label(text, "muted")
            name.setBuddy(chooser)
            line.addWidget(name)
            line.addWidget(chooser)
            line.addSpacing(Space.INSIDE)
        line.addStretch(1)
        self.recipient.setVisible(with_recipient)

    def offer(
        self,
        attributes: Sequence[str],
        recipients: Sequence[str],
        public: Sequence[str],
        usual: Sequence[str],
    ) -> None:
        """Offer what there is to choose; what is chosen stays where it can."""
        self.attribute.set_choices([(name, name) for name in attributes])
        self.recipient.set_choices([(name, name) for name in recipients])
        self.knowledge.set_columns(public, usual)

    def _tell(self, _chosen: object) -> None:
        self.changed.emit()
