"""One policy entry: its mechanism, its ladder, its recipients and the chosen one's level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from sfumato.engine.mechanisms import all_mechanisms, mechanism_called
from sfumato.engine.mechanisms.base import Statement
from sfumato.engine.table.table import Attribute
from sfumato.plots.trust_ladder import Rung
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import grouped, spoken
from sfumato.ui.panels.policy.adoption.card import AdoptedCard
from sfumato.ui.panels.policy.adoption.desk import AdoptionDesk
from sfumato.ui.panels.policy.adoption.wording import fixed_rungs
from sfumato.ui.panels.policy.ladder_view import LadderView
from sfumato.ui.panels.policy.mechanisms import all_editors
from sfumato.ui.panels.policy.mechanisms.base import LevelEditor
from sfumato.ui.panels.policy.mechanisms.cards import Preset
from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor
from sfumato.ui.panels.policy.recipients import Row
from sfumato.ui.panels.policy.recipients_card import RecipientsCard
from sfumato.ui.panels.policy.together import Candidate, Together
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, Segments
from sfumato.ui.widgets.icons import themed_icon
from sfumato.ui.widgets.layout import Card, ElidedLabel, button, label
from sfumato.ui.widgets.responsive import ResponsiveRow

WIDE: Final = 600
"""From this width on, ladder and recipients stand side by side."""


@dataclass(frozen=True)
class Chosen:
    """The recipient whose level is edited.

    Parameters
    ----------
    name
        The recipient.
    statement
        The level as stated; None where none is.
    note
        The custodian's remark.
    """

    name: str
    statement: Statement | None
    note: str = ""


def suitable(attributes: Sequence[Attribute]) -> tuple[tuple[str, str], ...]:
    """Return (name, title) of each mechanism that serves attributes of these kinds."""
    kinds = {attribute.kind for attribute in attributes}
    return tuple(
        (mechanism.name, spoken(mechanism.title))
        for mechanism in all_mechanisms().values()
        if kinds <= mechanism.kinds and mechanism.name in all_editors()
    )


def levels_of(entry: PolicyEntry) -> tuple[Preset, ...]:
    """Return three levels to start from, most trusted first: in plain words where there are."""
    editor = all_editors().get(entry.mechanism)
    presets = editor.presets() if editor is not None else ()
    if presets:
        return presets
    names = (tr("High trust"), tr("Some trust"), tr("Low trust"))
    proposed = mechanism_called(entry.mechanism).default_statements(len(names))
    return tuple(Preset(name, statement) for name, statement in zip(names, proposed, strict=True))


def _extent(attributes: Sequence[Attribute]) -> str:
    """Return how many values an entry's attributes can take, or how many numbers they are."""
    first = attributes[0]
    if first.domain is not None:
        return tr("{count} values", count=grouped(first.domain.size))
    if len(attributes) > 1:
        return tr("{count} attributes together", count=len(attributes))
    return tr("numbers")


class EntryPage(QWidget):
    """Everything about one policy entry; the panel turns what it asks for into edits."""

    mechanism_chosen = Signal(str)
    removal_asked = Signal()
    stated = Signal(object)
    """A `Statement` for the chosen recipient."""
    finished = Signal()
    """A drag ended: the next statement is another edit."""
    level_asked = Signal()
    """The chosen recipient has no level and should get one."""
    settings_stated = Signal(object)
    """The mechanism's `Settings`."""
    noted = Signal(str)
    """The remark on the chosen recipient."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.recipients = RecipientsCard(self)
        self.ladder = LadderView(self)
        self._editors: dict[str, LevelEditor] = {}
        self.editor: LevelEditor | None = None
        self._settings_editors: dict[str, SettingsEditor] = {}
        self.settings: SettingsEditor | None = None
        """What the settings of the mechanism in sight are stated with."""
        self.adopted = AdoptedCard(self)
        self.adoption = AdoptionDesk(session, self.adopted)
        self._fixed: tuple[Rung, ...] = ()
        self._build_ladder_card()
        self._middle = ResponsiveRow(WIDE, parent=self)
        self._middle.add(self._ladder_card)
        self._middle.add(self.recipients)
        self._level_card = Card(parent=self)
        self._level_title = label("", "heading", wrap=True)
        self._level_missing = button(self.tr("Set a level"), self.level_asked.emit)
        self.note = QLineEdit(self)
        self.note.setPlaceholderText(self.tr("Note: who this is, what the release is for"))
        self.note.setAccessibleName(self.tr("Note on the recipient"))
        self.note.editingFinished.connect(lambda: self.noted.emit(self.note.text().strip()))
        self._level_card.body.addWidget(self._level_title)
        self._level_card.body.addWidget(self._level_missing)
        self._level_card.body.addSpacing(Space.INSIDE)
        self._level_card.body.addWidget(self.note)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.BETWEEN)
        column.addLayout(self._build_head())
        self.together = Together(self)
        column.addWidget(self.together)
        self._settings_place = QVBoxLayout()
        column.addLayout(self._settings_place)
        column.addWidget(self._middle)
        column.addWidget(self._level_card)
        column.addWidget(self.adopted)
        column.addStretch(1)

    def _build_head(self) -> QVBoxLayout:
        self._name = ElidedLabel("", "heading")
        self._about = label("", "muted")
        self.mechanism = ChoiceField(parent=self)
        self.mechanism.setSizeAdjustPolicy(ChoiceField.SizeAdjustPolicy.AdjustToContents)
        self.mechanism.setAccessibleName(self.tr("Mechanism"))
        self.mechanism.chosen.connect(lambda name: self.mechanism_chosen.emit(str(name)))
        self.remove = QToolButton(self)
        self.remove.setIcon(themed_icon("remove"))
        self.remove.setToolTip(self.tr("Take the protection away"))
        self.remove.setAccessibleName(self.tr("Take the protection away"))
        self.remove.clicked.connect(self.removal_asked)
        self._summary = label("", "muted", wrap=True)
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        for widget, stretch in (
            (self._name, 1),
            (self._about, 0),
            (self.mechanism, 0),
            (self.remove, 0),
        ):
            line.addWidget(widget, stretch)
        head = QVBoxLayout()
        head.setSpacing(Space.TIGHT)
        head.addLayout(line)
        head.addWidget(self._summary)
        return head

    def _build_ladder_card(self) -> None:
        self._ladder_card = Card(parent=self)
        scale = Segments([(False, self.tr("Linear")), (True, self.tr("Log"))], self)
        scale.setAccessibleName(self.tr("Scale of the ladder"))
        scale.chosen.connect(lambda logarithmic: self.ladder.set_logarithmic(bool(logarithmic)))
        line = QHBoxLayout()
        line.addWidget(label(self.tr("Trust ladder"), "heading"))
        line.addStretch(1)
        line.addWidget(scale)
        self._ladder_card.body.addLayout(line)
        self._ladder_card.body.addWidget(self.ladder, 1)
        self._ladder_card.body.addWidget(
            label(self.tr("Drag a rung to change a level."), "small", wrap=True)
        )

    def show_entry(
        self,
        entry: PolicyEntry,
        attributes: tuple[Attribute, ...],
        candidates: Sequence[Candidate] = (),
    ) -> None:
        """Show an entry's mechanism, and which attributes it could protect together."""
        mechanism = mechanism_called(entry.mechanism)
        self._name.setText(entry.key)
        self._about.setText(_extent(attributes))
        self.together.show_candidates(candidates)
        self.mechanism.set_choices(suitable(attributes))
        self.mechanism.set_value(entry.mechanism)
        self._summary.setText(spoken(mechanism.summary))
        self._fixed = fixed_rungs(entry, self.adoption.show_entry(entry))
        self._use_settings_editor(entry.mechanism)
        if self.settings is not None:
            self.settings.show_settings(attributes, entry.settings)

    def _use_settings_editor(self, mechanism: str) -> None:
        """Put a mechanism's settings in the place of another's; most have none."""
        editor = all_editors().get(mechanism)
        made = editor.settings_editor() if editor is not None else None
        if self.settings is not None and self._settings_editors.get(mechanism) is not self.settings:
            self.settings.leave()
            self.settings.hide()
        if made is not None and mechanism not in self._settings_editors:
            widget = made(self._session, self)
            widget.settings_stated.connect(self.settings_stated)
            widget.finished.connect(self.finished)
            self._settings_editors[mechanism] = widget
            self._settings_place.addWidget(widget)
        self.settings = self._settings_editors[mechanism] if made is not None else None
        if self.settings is not None:
            self.settings.show()

    def show_recipients(self, rows: Sequence[Row], rungs: Sequence[Rung], selected: str) -> None:
        """Show who is where."""
        self.recipients.show_rows(rows, selected)
        self.ladder.show_rungs(rungs, selected, self._fixed)
        self._ladder_card.setVisible(bool(rows) or bool(self._fixed))

    def show_level(
        self, entry: PolicyEntry, attributes: tuple[Attribute, ...], chosen: Chosen | None
    ) -> None:
        """Show the chosen recipient's level in the editor of the entry's mechanism."""
        self._level_card.setVisible(chosen is not None)
        if chosen is None:
            return
        self._level_title.setText(
            tr(
                "How far {recipient} is trusted with {attribute}",
                recipient=chosen.name,
                attribute=entry.key,
            )
        )
        if self.note.text() != chosen.note and not self.note.hasFocus():
            self.note.setText(chosen.note)
        self._use_editor(entry.mechanism)
        self._level_missing.setVisible(chosen.statement is None)
        if self.editor is not None:
            self.editor.setVisible(chosen.statement is not None)
            if chosen.statement is not None:
                self.editor.show_level(chosen.statement, attributes, entry.settings)

    def _use_editor(self, mechanism: str) -> None:
        """Put a mechanism's editor in the place of another's."""
        if self.editor is not None and self.editor.mechanism == mechanism:
            return
        if self.editor is not None:
            self.editor.hide()
            self.editor = None
        editor = all_editors().get(mechanism)
        if editor is None:
            return
        if mechanism not in self._editors:
            made = editor(self)
            made.stated.connect(self.stated)
            made.finished.connect(self.finished)
            made.settings_stated.connect(self.settings_stated)
            self._editors[mechanism] = made
            place = self._level_card.body.indexOf(self._level_missing)
            self._level_card.body.insertWidget(place + 1, made)
        self.editor = self._editors[mechanism]
        self.editor.show()
