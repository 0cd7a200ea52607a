"""One policy entry: its mechanism, what it covers, its ladder, and the chosen recipient's level."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.analysis.utility.worth import ColumnWorth
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.mechanisms import all_mechanisms, mechanism_called, serving
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.table.combinations import association, combined
from sfumato.engine.table.covariance import correlation
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import ENGLISH, grouped, languages, shown
from sfumato.plots.ladders import LadderRung
from sfumato.project.document import recipients
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.policy.adoption import AdoptedCard, fixed_rungs
from sfumato.ui.panels.policy.ladder_view import LadderView
from sfumato.ui.panels.policy.lists import LevelStanding, RecipientsCard
from sfumato.ui.panels.policy.mechanisms import all_editors
from sfumato.ui.panels.policy.mechanisms.base import LevelEditor, OfUnit, Preset, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import Notice
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import name_of
from sfumato.ui.widgets.fields import ChoiceField, Segments, WrappedCheckBox, text_field, when_given
from sfumato.ui.widgets.layout import (
    Card,
    ElidedLabel,
    boxed,
    button,
    clear_layout,
    column,
    label,
    row,
    tool,
)
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.paint_queue import Steps, turns
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.responsive import ResponsiveRow

TELLING: Final = 0.1
"""A correlation from which on one attribute noticeably tells about another."""


@dataclass(frozen=True)
class AttributeCandidate:
    """An attribute that an entry covers, or could cover.

    Parameters
    ----------
    name
        The attribute.
    inside
        Whether the entry covers it.
    partner, correlation
        The other member that it depends on most, and how much (−1 to 1); an empty name where
        there is none.
    obstacle
        Why it can't join; empty where it can.
    of_values
        Whether it has values and not numbers: then Cramér's V takes the correlation's place.
    """

    name: str
    inside: bool
    partner: str = ""
    correlation: float = 0.0
    obstacle: str = ""
    of_values: bool = False


def candidates_for(
    entry: PolicyEntry, attributes: Mapping[str, Attribute]
) -> tuple[AttributeCandidate, ...]:
    """Return the attributes that an entry covers or could cover, in the given order.

    Parameters
    ----------
    entry
        The policy entry.
    attributes
        Every sensitive attribute that is known, by name.

    Returns
    -------
    tuple of AttributeCandidate
        Empty where the entry can only ever cover one attribute.
    """
    members = [attributes[name] for name in entry.attributes]
    of_values = members[0].domain is not None
    mechanism = mechanism_called(entry.mechanism)
    if mechanism.needs_groups:
        return ()
    found = []
    for name, attribute in attributes.items():
        if (attribute.domain is not None) != of_values:
            continue
        inside = name in entry.attributes
        obstacle = ""
        if not inside:
            together = (*members, attribute)
            try:
                chosen = serving(together, entry.mechanism) if of_values else mechanism
                chosen.check_attributes(together)
            except SfumatoError as error:
                obstacle = error_texts(error)[0]
        others = [member for member in members if member.name != name]
        partner, value = _strongest(attribute, others)
        found.append(AttributeCandidate(name, inside, partner, value, obstacle, of_values))
    several = len(entry.attributes) > 1 or any(not c.inside and not c.obstacle for c in found)
    return tuple(found) if several else ()


def _strongest(attribute: Attribute, others: Sequence[Attribute]) -> tuple[str, float]:
    depends = correlation if attribute.domain is None else association
    found = [(other.name, depends(attribute, other)) for other in others]
    return max(found, key=lambda pair: abs(pair[1]), default=("", 0.0))


class TogetherCard(Card):
    """Shows which attributes are perturbed together, and lets others join or leave."""

    members_chosen = Signal(object)
    """The person wants the entry to cover these attributes: a tuple of names."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Protect together"), parent=parent)
        self.about = label("", "muted", wrap=True)
        self.body.addWidget(self.about)
        self.boxes: dict[str, WrappedCheckBox] = {}
        self._shown: tuple[AttributeCandidate, ...] = ()
        self._list = column(spacing=Space.TIGHT)
        self.body.addLayout(self._list)
        self.advice = label("", wrap=True)
        icon = IconLabel("caution", "caution", 16)
        self._advice = boxed(row(icon, (self.advice, 1)), self)
        self.body.addWidget(self._advice)

    def show_candidates(self, candidates: Sequence[AttributeCandidate]) -> None:
        """Show who is in and who could join; nothing where nobody could."""
        self.setVisible(bool(candidates))
        if candidates:
            self.about.setText(_why_together(candidates[0].of_values))
        if tuple(candidates) != self._shown:
            self._shown = tuple(candidates)
            self._rebuild()
        for candidate in self._shown:
            self.boxes[candidate.name].setChecked(candidate.inside)
        self.advice.setText(self._advised())
        self._advice.setVisible(bool(self.advice.text()))

    def _rebuild(self) -> None:
        focused = next((name for name, box in self.boxes.items() if box.hasFocus()), "")
        clear_layout(self._list)
        inside = sum(candidate.inside for candidate in self._shown)
        self.boxes = {}
        for candidate in self._shown:
            box = WrappedCheckBox(candidate.name.replace("&", "&&"), clicked=self._tell)
            only_one = candidate.inside and inside == 1
            box.setEnabled(not candidate.obstacle and not only_one)
            words = candidate.obstacle or _bond(candidate)
            box.setToolTip(words)
            box.setAccessibleDescription(words)
            self.boxes[candidate.name] = box
            line = row(box, (label(words, "small", wrap=True), 1), spacing=Space.BETWEEN)
            self._list.addWidget(boxed(line, self))
        if focused in self.boxes:
            self.boxes[focused].setFocus()

    def _advised(self) -> str:
        """Return who had better join; empty where nobody outside tells much."""
        free = (each for each in self._shown if not each.inside and not each.obstacle)
        outside = [each for each in free if abs(each.correlation) >= TELLING]
        if not outside:
            return ""
        worst = max(outside, key=lambda each: abs(each.correlation))
        told = {"name": worst.name, "partner": worst.partner, "value": _signed(worst.correlation)}
        if worst.of_values:
            return tr(
                "{name} depends on {partner} (Cramér's V {value}). Tick it; otherwise whoever holds"
                " both learns more about each than its own level says.",
                **told,
            )
        return tr(
            "{name} depends on {partner} (correlation {value}). Tick it; otherwise whoever holds"
            " both learns more about each than its own level says.",
            **told,
        )

    def _tell(self, _checked: bool = False) -> None:
        self.members_chosen.emit(tuple(name for name, box in self.boxes.items() if box.isChecked()))


def _why_together(of_values: bool) -> str:
    if of_values:
        return tr(
            "Attributes that depend on one another are protected as one: a record's combination of"
            " values is kept or replaced as a whole, and one promise holds for all of them. Levels"
            " stated as a retention probability are lowered so that the odds stay what they are."
        )
    return tr(
        "Correlated attributes must be perturbed together: perturbed separately, each helps"
        " to remove the noise from the other. Each recipient then has one level of trust"
        " for all of them."
    )


def _bond(candidate: AttributeCandidate) -> str:
    if not candidate.partner:
        return ""
    value, partner = _signed(candidate.correlation), candidate.partner
    if candidate.of_values:
        return tr("Cramér's V {value} with {partner}", value=value, partner=partner)
    return tr("correlation {value} with {partner}", value=value, partner=partner)


def _signed(value: float) -> str:
    return shown(f"{value:.2f}")


NAME_WIDE: Final = 480
"""From this width on, an entry's name stands beside its mechanism; pixels at scale 1."""
WIDE: Final = 600
"""From this width on, ladder and recipients stand side by side."""


@dataclass(frozen=True)
class ChosenRecipient:
    """The recipient whose level is edited.

    Parameters
    ----------
    name
        The recipient.
    statement
        The level as stated; None where none is.
    note
        The custodian's remark.
    empty
        Why the level hides nothing; empty where it does.
    language
        What bundles tell the recipient in.
    of_unit
        What becomes of the level where rows belong together; None where they don't.
    worth
        What each of the entry's columns is worth at the level; none where that is not known.
    """

    name: str
    statement: Statement | None
    note: str = ""
    empty: str = ""
    language: str = ENGLISH
    of_unit: OfUnit | None = None
    worth: tuple[ColumnWorth, ...] = ()


def suitable(attributes: Sequence[Attribute]) -> tuple[tuple[str, str], ...]:
    """Return (name, title) of each mechanism that serves these attributes."""
    return tuple(
        (mechanism.name, spoken(mechanism.title))
        for mechanism in all_mechanisms().values()
        if mechanism.serves(attributes) and mechanism.name in all_editors()
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
    first = combined(attributes)
    if first.domain is not None and len(attributes) > 1:
        return tr("{count} {count:combination|combinations}", count=grouped(first.domain.size))
    if first.domain is not None:
        return tr("{count} {count:value|values}", count=grouped(first.domain.size))
    if len(attributes) > 1:
        return tr("{count} {count:attribute|attributes} together", count=grouped(len(attributes)))
    return tr("numbers")


def _same(before: Sequence[Attribute], now: Sequence[Attribute]) -> bool:
    """Return whether attributes are the same objects: those of one table, read in one way."""
    return len(before) == len(now) and all(map(operator.is_, before, now))


class EntryPage(QWidget):
    """Everything about one policy entry; the panel turns what it asks for into edits."""

    mechanism_chosen = Signal(str)
    stated = Signal(object)
    """A `Statement` for the chosen recipient."""
    finished = Signal()
    """A drag ended: the next statement is another edit."""
    level_asked = Signal()
    """The chosen recipient has no level and should get one."""
    settings_stated = Signal(str, object)
    """An entry's key, and the `Settings` of its mechanism."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._recipient = session, ""
        self.recipients = RecipientsCard(self)
        self.ladder = LadderView(self)
        self._editors: dict[str, LevelEditor] = {}
        self.editor: LevelEditor | None = None
        self._settings_editors: dict[str, SettingsEditor] = {}
        self.settings: SettingsEditor | None = None
        """What the settings of the mechanism in sight are stated with."""
        self._shown: tuple[str, str, tuple[Attribute, ...]] = ("", "", ())
        """The entry in sight: its key, its mechanism and its attributes."""
        self.adopted = AdoptedCard(session, self)
        self._fixed: tuple[LadderRung, ...] = ()
        self._build_ladder_card()
        self._middle = ResponsiveRow(WIDE, self._ladder_card, self.recipients, parent=self)
        self.level_card = Card(parent=self)
        self._level_title = label("", "heading", wrap=True)
        self._level_missing = button(tr("Set a level"), self.level_asked.emit)
        tip = tr("Give the recipient this level for every attribute; change single ones afterwards")
        words = tr("Same trust for all attributes")
        self.for_all = button(words, None, icon="people", tip=tip)
        self.note = text_field(hint=tr("Note: who this is, what the release is for"))
        self.note.setAccessibleName(tr("Note on the recipient"))
        when_given(self.note, self._note)
        self.language = ChoiceField([(each, name_of(each)) for each in languages()], self)
        self.language.setAccessibleName(tr("Language of the recipient's bundles"))
        self.language.setToolTip(
            tr("The language of what a bundle tells the recipient: its README and descriptions")
        )
        self.language.chosen.connect(self._choose_language)
        self.level_card.body.addWidget(self._level_title)
        self.empty = Notice(self)
        self.worth = Notice(self)
        self.refused = Notice(self)
        self.level_card.put(
            self.empty,
            self._level_missing,
            self.worth,
            row(self.for_all, None),
            Space.INSIDE,
            row(self.note, self.language),
        )
        self.together = TogetherCard(self)
        self._settings_place = QVBoxLayout()
        parts = (
            self._build_head(),
            self.refused,
            self.together,
            self._settings_place,
            self._middle,
        )
        self.setLayout(column(*parts, self.level_card, self.adopted, None, spacing=Space.BETWEEN))

    def _build_head(self) -> QVBoxLayout:
        self._name = ElidedLabel("", "heading")
        self._about = label("", "muted")
        self.mechanism = ChoiceField(parent=self, name=tr("Mechanism"))
        self.mechanism.setSizeAdjustPolicy(ChoiceField.SizeAdjustPolicy.AdjustToContents)
        self.mechanism.chosen.connect(lambda name: self.mechanism_chosen.emit(str(name)))
        self.mechanism.installEventFilter(self)
        remove = tr("Remove the protection")
        self.remove = tool("remove", remove, None)
        self._summary = label("", "muted", wrap=True)
        chosen = boxed(row(self._about, None, self.mechanism, self.remove))
        line = ResponsiveRow(NAME_WIDE, self._name, (chosen, 0))
        return column(line, self._summary, spacing=Space.TIGHT)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Build what another mechanism needs once somebody is about to choose one."""
        if event.type() == QEvent.Type.FocusIn and watched is self.mechanism:
            self.prepare([str(name) for name in self.mechanism.values])
        return super().eventFilter(watched, event)

    def _build_ladder_card(self) -> None:
        self._ladder_card = Card(parent=self)
        scale = Segments([(False, tr("Linear")), (True, tr("Log"))], self)
        scale.setAccessibleName(tr("Scale of the ladder"))
        scale.chosen.connect(lambda logarithmic: self.ladder.set_logarithmic(bool(logarithmic)))
        heading = label(tr("Trust ladder"), "heading")
        words = tr("Drag a rung to change a level.")
        self._ladder_card.put(
            row(heading, None, scale), (self.ladder, 1), label(words, "small", wrap=True)
        )

    def show_entry(
        self,
        entry: PolicyEntry,
        attributes: tuple[Attribute, ...],
        candidates: Sequence[AttributeCandidate] = (),
    ) -> None:
        """Show an entry's mechanism, and which attributes it could protect together."""
        mechanism = mechanism_called(entry.mechanism)
        self._name.setText(entry.key)
        self._about.setText(_extent(attributes))
        self.together.show_candidates(candidates)
        self.mechanism.set_choices(suitable(attributes))
        self.mechanism.set_value(entry.mechanism)
        self._summary.setText(f"{spoken(mechanism.summary)} {self._of_units(entry)}".strip())
        self._fixed = fixed_rungs(entry, self.adopted.show_entry(entry))
        self._use_settings_editor(entry, attributes)
        if self.settings is not None:
            self.settings.show_settings(attributes, entry.settings)
            self.settings.show()

    def _of_units(self, entry: PolicyEntry) -> str:
        """Say what a level is stated for where rows belong together."""
        unit = self._session.document.unit
        if unit is None:
            return ""
        if unit.draws_once(entry.attributes):
            return tr("Drawn once for all rows with the same {unit}.", unit=unit.name)
        return tr(
            "Levels are stated for all rows with the same {unit}: at most {rows} of them leave,"
            " each at so low a level that together they tell no more.",
            unit=unit.name,
            rows=grouped(unit.most_rows),
        )

    def _use_settings_editor(self, entry: PolicyEntry, attributes: tuple[Attribute, ...]) -> None:
        """Put an entry's settings in the place of another's; most mechanisms have none.

        What was being worked out for other attributes, or for these as they were, is stopped.
        """
        before, self._shown = self._shown, (entry.key, entry.mechanism, attributes)
        made = self._settings_editor(entry.mechanism)
        if self.settings is not None:
            if before[:2] != self._shown[:2] or not _same(before[2], attributes):
                self.settings.leave()
            if made is not self.settings:
                self.settings.hide()
        self.settings = made

    def _state_settings(self, editor: SettingsEditor, settings: Settings) -> None:
        """Tell settings, unless a job found them for what is not open any more.

        Another table or project may be open by then while nobody looks at this page.
        """
        key, mechanism, attributes = self._shown
        encoded = [self._session.attribute(each.name) for each in attributes]
        now = tuple(each.attribute for each in encoded if each is not None)
        policy = self._session.document.policy
        in_force = any((each.key, each.mechanism) == (key, mechanism) for each in policy)
        if editor is self.settings and in_force and _same(attributes, now):
            self.settings_stated.emit(key, settings)

    def _settings_editor(self, mechanism: str) -> SettingsEditor | None:
        """Return what a mechanism's settings are stated with, built where it is new."""
        editor = all_editors().get(mechanism)
        if editor is None or editor.settings_editor is None:
            return None
        if mechanism not in self._settings_editors:
            made = editor.settings_editor(self._session, self)
            made.hide()
            made.settings_stated.connect(partial(self._state_settings, made))
            made.finished.connect(self.finished)
            self._settings_editors[mechanism] = made
            self._settings_place.addWidget(made)
        return self._settings_editors[mechanism]

    def prepare(self, mechanisms: Sequence[str]) -> None:
        """Build the editors of mechanisms that may be chosen next, each in a turn of its own."""
        known = [name for name in mechanisms if name in all_editors()]
        if not set(known) <= self._editors.keys():
            turns().ask(self, self._preparing(known))

    def _preparing(self, mechanisms: Sequence[str]) -> Steps:
        for name in mechanisms:
            for build in (self._settings_editor, self._level_editor):
                made = build(name)
                yield
                for part in made.findChildren(QWidget) if made is not None else ():
                    part.ensurePolished()
                yield

    def show_recipients(self, standings: Sequence[LevelStanding], selected: str) -> None:
        """Show who is where."""
        self.recipients.show_rows(standings, selected)
        rungs = [standing.rung for standing in standings if standing.rung is not None]
        self.ladder.show_rungs(rungs, selected, self._fixed)
        self._ladder_card.setVisible(bool(standings) or bool(self._fixed))

    def show_level(
        self, entry: PolicyEntry, attributes: tuple[Attribute, ...], chosen: ChosenRecipient | None
    ) -> None:
        """Show the chosen recipient's level in the editor of the entry's mechanism."""
        self.level_card.setVisible(chosen is not None)
        if chosen is None:
            return
        self._recipient = chosen.name
        words = tr(
            "How far {recipient} is trusted with {attribute}",
            recipient=chosen.name,
            attribute=entry.key,
        )
        self._level_title.setText(words)
        if self.note.text() != chosen.note and not self.note.hasFocus():
            self.note.setText(chosen.note)
        self.language.set_value(chosen.language)
        told = tr("Danger: {text}", text=typeset(chosen.empty)) if chosen.empty else ""
        self.empty.warn(told)
        self._show_worth(chosen.worth)
        self._use_editor(entry.mechanism)
        self._level_missing.setVisible(chosen.statement is None)
        if self.editor is not None:
            if chosen.statement is not None:
                self.editor.show_level(chosen.statement, attributes, entry.settings, chosen.of_unit)
            self.editor.setVisible(chosen.statement is not None)

    def _show_worth(self, found: Sequence[ColumnWorth]) -> None:
        """Say what the columns are worth at the level: like a danger where that is nothing."""
        useless = " ".join(typeset(one.as_danger) for one in found if one.worthless)
        if useless:
            self.worth.say("danger", tr("Worthless: {text}", text=useless))
        elif found:
            self.worth.say("table", " ".join(typeset(one.sentence) for one in found))
        else:
            self.worth.clear()

    def _note(self) -> None:
        session, name = self._session, self._recipient
        changed = recipients.with_note(session.document, name, self.note.text().strip())
        session.edit(tr("Change the note on {name}", name=name), changed)

    def _choose_language(self, language: object) -> None:
        session = self._session
        changed = recipients.with_language(session.document, self._recipient, str(language))
        session.edit(tr("Choose the language of a recipient's bundles"), changed)

    def _use_editor(self, mechanism: str) -> None:
        """Put a mechanism's editor in the place of another's."""
        if self.editor is not None and self.editor.mechanism == mechanism:
            return
        if self.editor is not None:
            self.editor.hide()
        self.editor = self._level_editor(mechanism)

    def _level_editor(self, mechanism: str) -> LevelEditor | None:
        """Return what a mechanism's levels are stated with, built where it is new."""
        editor = all_editors().get(mechanism)
        if editor is not None and mechanism not in self._editors:
            made = editor(self)
            made.hide()
            made.stated.connect(self.stated)
            made.finished.connect(self.finished)
            self._editors[mechanism] = made
            place = self.level_card.body.indexOf(self._level_missing)
            self.level_card.body.insertWidget(place + 1, made)
        return self._editors.get(mechanism)
