"""What pages about small groups have in common: the line that says what is asked about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, Qt, Signal
from PySide6.QtGui import QAction, QPaintEvent
from PySide6.QtWidgets import (
    QMenu,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QWidget,
)

from sfumato.project.document.model import Document
from sfumato.project.release.groups import public_names, usual_knowledge
from sfumato.ui.look.theme import scaled
from sfumato.ui.panels.audit.pages.base import field_line
from sfumato.ui.widgets.fields import ChoiceField

MOST_NAMED = 2
LEAST_WIDTH = 110
NO_GROUPS: Final = (
    "audit",
    str(QT_TRANSLATE_NOOP("Audit", "Nothing to examine yet")),
    str(
        QT_TRANSLATE_NOOP(
            "Audit",
            "Once a sensitive attribute with a list of values has a mechanism, and somebody"
            " is to receive it, this page shows what its small groups give away.",
        )
    ),
)
"""What pages about small groups show before there is anything to ask."""


class KnowledgeButton(QPushButton):
    """A button that names the columns an attacker knows; its list ticks others."""

    changed = Signal()
    """The person ticked or unticked a column."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("What the attacker knows"))
        # Columns can be called anything: a long name must not widen the window.
        self.setMinimumWidth(scaled(LEAST_WIDTH))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.columns = QMenu(self)
        self.setMenu(self.columns)
        self._actions: dict[str, QAction] = {}
        self._chosen: dict[str, bool] = {}
        self._say()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are ticked, in the table's order."""
        return tuple(name for name, action in self._actions.items() if action.isChecked())

    def set_columns(self, public: Sequence[str], usual: Sequence[str]) -> None:
        """Offer columns; those the person has not touched are ticked as is usual."""
        ticked = {name: self._chosen.get(name, name in usual) for name in public}
        if ticked == {name: action.isChecked() for name, action in self._actions.items()}:
            return
        self.columns.clear()
        self._actions = {}
        for name, known in ticked.items():
            action = self.columns.addAction(name)
            action.setCheckable(True)
            action.setChecked(known)
            action.toggled.connect(self._take)
            self._actions[name] = action
        self._say()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw as much of the names as there is room for; the tip has them all."""
        del event
        option = QStyleOptionButton()
        self.initStyleOption(option)
        style = self.style()
        place = style.subElementRect(QStyle.SubElement.SE_PushButtonContents, option, self)
        arrow = style.pixelMetric(QStyle.PixelMetric.PM_MenuButtonIndicator, option, self)
        option.text = option.fontMetrics.elidedText(
            self.text(), Qt.TextElideMode.ElideRight, place.width() - arrow
        )
        QStylePainter(self).drawControl(QStyle.ControlElement.CE_PushButton, option)

    def _take(self, _known: bool) -> None:
        self._chosen = {name: action.isChecked() for name, action in self._actions.items()}
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        names = self.names
        if not names:
            self.setText(self.tr("nothing about a person"))
        elif len(names) <= MOST_NAMED:
            self.setText(", ".join(names))
        else:
            shown = ", ".join(names[:MOST_NAMED])
            more = len(names) - MOST_NAMED
            self.setText(self.tr("{names} and {more} more").format(names=shown, more=more))
        self.setToolTip(
            self.tr("The columns by which the attacker looks a person up: {names}").format(
                names=", ".join(names) or "–"
            )
        )


class QuestionBar(QWidget):
    """A line of choices above a page.

    Parameters
    ----------
    with_recipient
        Whether one recipient is chosen.
    with_knowledge
        Whether the columns are chosen by which the attacker looks a person up.
    """

    changed = Signal()
    """The person chose something else."""

    def __init__(
        self, with_recipient: bool, with_knowledge: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.attribute = ChoiceField(parent=self, name=self.tr("Attribute"))
        self.recipient = ChoiceField(parent=self, name=self.tr("Recipient"))
        self.knowledge = KnowledgeButton(self)
        for field in (self.attribute, self.recipient):
            field.setMinimumWidth(scaled(140))
            field.chosen.connect(self._tell)
        self.knowledge.changed.connect(self.changed)
        fields: list[tuple[str, QWidget]] = [(self.tr("&Attribute"), self.attribute)]
        if with_recipient:
            fields.append((self.tr("&Recipient"), self.recipient))
        if with_knowledge:
            fields.append((self.tr("Attacker &knows"), self.knowledge))
        self.setLayout(field_line(*fields))
        self.recipient.setVisible(with_recipient)
        self.knowledge.setVisible(with_knowledge)

    def offer(self, document: Document, attributes: Iterable[str]) -> None:
        """Offer what there is to choose; what is chosen stays where it can."""
        self.attribute.set_choices([(name, name) for name in attributes])
        self.recipient.set_choices([(each.name, each.name) for each in document.recipients])
        self.knowledge.set_columns(public_names(document), usual_knowledge(document))

    def _tell(self, _chosen: object) -> None:
        self.changed.emit()
