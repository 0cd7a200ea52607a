"""What every mechanism's editor can do, and the editor that its terms alone suffice for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QPushButton, QStackedWidget, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import (
    LevelField,
    LevelTerm,
    Mechanism,
    Promise,
    Settings,
    Statement,
)
from sfumato.engine.table.table import Attribute
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.units import promise_by_unit
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import spoken, term_of, term_text, typeset
from sfumato.ui.panels.policy.beliefs import kept, suspicion
from sfumato.ui.panels.policy.mechanisms.controls import CardRow, Notice
from sfumato.ui.panels.policy.mechanisms.effects import Effect
from sfumato.ui.panels.policy.wording import tr, usefulness
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField, SliderField
from sfumato.ui.widgets.layout import boxed, button, column, fill, label, row, set_look
from sfumato.ui.widgets.messages import error_texts, error_words
from sfumato.ui.widgets.painted import IconLabel

Attributes = Sequence[Attribute]
Reach = Mapping[str, tuple[float, float]]
"""By a field's name, the part of its range that its slider covers."""

NO_NUMBER = "–"


@dataclass(frozen=True)
class Preset:
    """A level for a kind of recipient, stated so that it means the same in every domain.

    Parameters
    ----------
    name
        Whom it is for, in plain words.
    statement
        The level.
    """

    name: str
    statement: Statement


@dataclass(frozen=True)
class OfUnit:
    """What becomes of a level that is stated for all rows of a unit.

    Parameters
    ----------
    rows
        How many rows share it: 1 where all show the same released value.
    promise
        What is promised of a row, and of all of them.
    """

    rows: int
    promise: Promise


class SettingsEditor(QWidget):
    """States the settings of one policy entry: they belong to the entry, to no recipient.

    What is not right yet stays here, marked where it is wrong; the document only ever gets
    settings that hold. A mechanism's `LevelEditor` names its subclass in `settings_editor`.

    Parameters
    ----------
    session
        Runs jobs and asks for files; the document is edited through the signals alone.
    """

    engine: ClassVar[Mechanism]
    """Whose settings they are."""

    settings_stated = Signal(object)
    """The person changed the settings: `Settings` that hold for the attributes in sight."""
    finished = Signal()
    """The next change is another step of undo."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._attributes: Attributes = ()
        self._in_force: Settings = {}
        self.problem = Notice(parent=self)
        self.outcome = label("", wrap=True)
        """What settings come to."""
        self.take_back = button(tr("Back to what is in force"), self._take_back)
        self._drafts: dict[tuple[str, ...], tuple[Settings, Any]] = {}

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's settings."""
        del attributes, settings

    def fitted(self, statement: Statement, settings: Settings) -> Statement:
        """Return what becomes of a recipient's statement under new settings.

        Itself, unless the settings leave no room for it and the nearest one that they allow is
        clear; what is not sound for another reason stays, for the person to put right.
        """
        del settings
        return statement

    def leave(self) -> None:
        """Stop what is being worked out: another entry comes into sight."""

    def state(self, settings: Settings) -> None:
        """Tell settings that should be in force, as one edit."""
        self.settings_stated.emit(settings)
        self.finished.emit()

    def refuse(self, error: SfumatoError) -> None:
        """Say what is wrong with what was stated."""
        if self.held is None:
            self.problem.say("danger", error_words(error))
        else:
            self.refuse_draft(error_words(error))

    def try_settings(self, settings: Settings) -> None:
        """State settings where they hold, or say why they don't."""
        if self.holds(settings):
            self.state(settings)

    def holds(self, settings: Settings) -> bool:
        """Return whether settings hold for the attributes in sight; say why where they don't."""
        try:
            self.engine.check_settings(self._attributes, settings)
        except SfumatoError as error:
            self.refuse(error)
            return False
        return True

    def show_nothing(self, error: SfumatoError) -> None:
        """Say what is wrong with settings, and nothing of what they come to."""
        self.refuse(error)
        self.outcome.setText("")

    def complete(self, stated: Settings) -> None:
        """State settings with what follows from them, or say what is wrong with them."""
        try:
            settings = self.engine.complete_settings(self._attributes, stated, self.session.noise)
        except SfumatoError as error:
            self.refuse(error)
        else:
            self.state(settings)

    def complete_later(
        self,
        title: str,
        doing: str,
        stated: Settings,
        then: Callable[[Settings], None] | None = None,
        refuse: Callable[[SfumatoError], None] | None = None,
        *,
        key: Hashable,
    ) -> None:
        """Complete settings in a job.

        Parameters
        ----------
        title, doing
            What the job is called, and what it does.
        stated
            What is known of the settings.
        then, refuse
            What takes the settings, and what an expected error, where these are not just stated
            and told.
        key
            The job's key.
        """
        attributes, noise = self._attributes, self.session.noise

        def work(context: Context) -> Settings:
            context.report(0.1, doing)
            return self.engine.complete_settings(attributes, stated, noise)

        self.session.runner.run(title, work, then or self.state, refuse or self.refuse, key=key)

    # ----- what is stated and not in force yet

    def come_to(self, attributes: Attributes, settings: Settings) -> Any:
        """Take an entry into sight; return what was stated of it and is not in force yet.

        None where nothing was, or where other settings are in force since.
        """
        self._attributes, self._in_force = tuple(attributes), settings
        before, draft = self._drafts.get(self._names, (settings, None))
        if before != settings:
            self.hold(None)
            return None
        return draft

    def hold(self, draft: object) -> None:
        """Keep what is stated and not in force yet, whichever entry is in sight; None for none."""
        if draft is None:
            self._drafts.pop(self._names, None)
        else:
            self._drafts[self._names] = (self._in_force, draft)

    @property
    def held(self) -> Any:
        """What is stated of the entry in sight and not in force yet; None where nothing is."""
        return self._drafts.get(self._names, (None, None))[1]

    def refuse_draft(self, words: str, *actions: QPushButton) -> None:
        """Say what is wrong with what is held, and offer to go back to what is in force."""
        stays = tr("Until this is corrected, the previous settings stay in force.")
        self.problem.say("danger", f"{words}\n{stays}", *actions, self.take_back)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self._attributes)

    def _take_back(self) -> None:
        self.hold(None)
        self.problem.clear()
        self.show_in_force()

    def show_in_force(self) -> None:
        """Show the settings in force in the place of what was held."""


class LevelEditor(QWidget):
    """States one recipient's level for one policy entry.

    A mechanism's editor subclasses it and names its `mechanism`; it may offer other `presets`,
    controls for the mechanism's settings, and say otherwise what a level means.
    """

    mechanism: ClassVar[str]
    plain_name: ClassVar[object] = ""
    """What the mechanism does, in a few plain words; untranslated. Empty: its title does."""
    effect: ClassVar[Effect | None] = None
    """Draws what it does, small; None where nothing does."""
    settings_editor: ClassVar[type[SettingsEditor] | None] = None
    """What the mechanism's settings are stated with; None where it has none."""
    reach: ClassVar[Reach] = {"epsilon": (0.001, 8.0), "gamma": (1.001, 1000.0)}
    """The part of each field's range that differs in practice."""
    logarithmic: ClassVar[frozenset[str]] = frozenset()
    """The fields on whose sliders equal ways are equal factors."""
    whole: ClassVar[object] = ""
    """What all of a matrix is called that recipients get a share of; untranslated."""

    stated = Signal(object)
    """The person stated a level: a `Statement`. Also while a slider is dragged."""
    finished = Signal()
    """A slider was let go; the next statement is another edit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._engine = mechanism_called(self.mechanism)
        self._attributes: tuple[Attribute, ...] = ()
        self._settings: Settings = {}
        self._statement: Statement = {}
        self._of_unit: OfUnit | None = None
        self._levels = self.presets()
        terms = self._engine.terms
        self.choices = CardRow([(at, each.name) for at, each in enumerate(self._levels)], self)
        self.terms = CardRow([(term.name, NO_NUMBER) for term in terms], self)
        self._pages = {term.name: _TermPage(term, self.reach, self.logarithmic) for term in terms}
        self._stack = QStackedWidget(self)
        self._notice = Notice(parent=self)
        self.meaning = _Meaning()
        for term in terms:
            self.terms.cards[term.name].show_sentence(spoken(term.title))
            self.terms.cards[term.name].setToolTip(spoken(term.explanation))
        for page in self._pages.values():
            page.stated.connect(self._state)
            page.finished.connect(self.finished)
            self._stack.addWidget(page)
        self.choices.chosen.connect(lambda at: self._state_and_finish(self._levels[at].statement))
        self.terms.chosen.connect(self._change_term)
        exactly = label(tr("Or state the level exactly, by any of these:"), "muted")
        if not self._levels:
            self.choices.hide()
            exactly.hide()
        fields = boxed(column(self._stack, self._notice))
        self.setLayout(
            column(self.choices, exactly, self.terms, fields, self.meaning, spacing=Space.BETWEEN)
        )

    # ----- what a mechanism's editor may say

    @classmethod
    def presets(cls) -> tuple[Preset, ...]:
        """Return levels in plain words, most trusted first.

        They are what the mechanism holds to be typical; one that does not know has none.
        """
        if cls.whole:
            shares = (
                (tr(str(cls.whole)), 1.0),
                (tr("Half of it"), 0.5),
                (tr("A quarter of it"), 0.25),
            )
            return tuple(Preset(name, {"trust_factor": share}) for name, share in shares)
        names = (tr("Trusted partner"), tr("Contract recipient"), tr("Public"))
        typical = mechanism_called(cls.mechanism).typical_statements
        return tuple(map(Preset, names, typical))

    def reach_now(self) -> Reach:
        """Return the reach of those sliders that depends on the attributes in sight."""
        return {}

    def level_at(self, trust: float) -> float:
        """Return the level at which a rung stops that is dragged to a place on the ladder."""
        return round(trust, 3) or trust

    def statement_at(self, trust: float, like: Statement) -> Statement | None:
        """Return the statement for a place on the ladder, in the term that `like` uses.

        None where there is none.
        """
        term = term_of(self._engine, like) or self._engine.terms[0]
        try:
            level = self.level_at(trust)
            restated = self._engine.restate(level, self._attributes, self._settings)
        except SfumatoError:
            return None
        found = restated.get(term.name) or restated[self._engine.terms[0].name]
        return {name: self.rounded(value) for name, value in found.items()}

    def rounded(self, value: float) -> float:
        """Return the number at which a field stops that follows a rung being dragged."""
        return value

    def meaning_of(self, level: float) -> tuple[str, str]:
        """Return what a level means to a person in the table, and to the recipient.

        Raises
        ------
        SfumatoError
            If the settings don't fit the attributes.
        """
        whole = self._engine.matrix(level, self._attributes, self._settings)
        each = self._engine.matrix(self.of_each_row(level), self._attributes, self._settings)
        if whole is None or each is None:
            return "", ""
        return (
            f"{kept(each, self._attributes)} {suspicion(whole)}",
            usefulness(each, self._attributes),
        )

    def consequence_of(self, level: float) -> str:
        """Return what a level means in one sentence, for the presets; raises as `meaning_of`."""
        matrix = self._engine.matrix(level, self._attributes, self._settings)
        return suspicion(matrix) if matrix is not None else ""

    # ----- what is shown

    def of_each_row(self, level: float) -> float:
        """Return the level at which each row is released, where a unit's rows share one."""
        if self._of_unit is None or self._of_unit.rows == 1:
            return level
        rows = self._of_unit.rows
        return self._engine.shared(level, rows, self._attributes, self._settings)

    def show_level(
        self,
        statement: Statement,
        attributes: Attributes,
        settings: Settings,
        of_unit: OfUnit | None = None,
    ) -> None:
        """Show a level, and what it means for these attributes, and for a unit's rows."""
        self._statement, self._settings, self._of_unit = dict(statement), settings, of_unit
        self._attributes = tuple(attributes)
        term = term_of(self._engine, statement) or self._engine.terms[0]
        self.terms.set_value(term.name)
        self._stack.setCurrentWidget(self._pages[term.name])
        self._page.show_statement(statement, self.reach_now())
        present = None
        for at, preset in enumerate(self._levels):
            self.choices.cards[at].show_sentence(self._consequence(preset.statement))
            if dict(preset.statement) == self._statement:
                present = at
        self.choices.set_value(present)
        self._show_meaning(statement)

    @property
    def problem(self) -> str:
        """What is wrong with the level in sight; empty where it is sound."""
        return self._notice.words

    @property
    def fields(self) -> Mapping[str, NumberField | SliderField]:
        """The fields of the term in sight."""
        return self._page.fields

    @property
    def _page(self) -> _TermPage:
        return self._pages[str(self.terms.value)]

    def _show_meaning(self, statement: Statement) -> None:
        try:
            level = self._engine.level(statement, self._attributes, self._settings)
            restated = self._engine.restate(level, self._attributes, self._settings)
            if self._of_unit is None:
                promise = self._engine.promise(level, self._attributes, self._settings)
            else:
                promise = self._of_unit.promise
            meaning = self.meaning_of(level)
        except SfumatoError as error:
            self._refuse(error)
            return
        self._notice.clear()
        self._page.mark_invalid(False)
        self._show_terms({**restated, str(self.terms.value): statement})
        self.meaning.show_texts((typeset(promise.sentence), *meaning))

    def _show_terms(self, statements: Mapping[str, Statement]) -> None:
        """Show the level in each of the terms."""
        for term in self._engine.terms:
            stated = statements.get(term.name)
            text = term_text(term, stated) if stated else NO_NUMBER
            card = self.terms.cards[term.name]
            card.setText(text)
            card.setAccessibleName(f"{spoken(term.title)}: {text}")

    def _refuse(self, error: SfumatoError) -> None:
        """Say at the fields what is wrong with them."""
        self._notice.say("danger", error_words(error))
        self._page.mark_invalid(True)
        self._show_terms({})
        self.meaning.show_texts((NO_NUMBER,) * 3)

    def _consequence(self, statement: Statement) -> str:
        """Return a preset's meaning for these attributes, in one sentence."""
        try:
            level = self._engine.level(statement, self._attributes, self._settings)
            return self.consequence_of(level)
        except SfumatoError as error:
            return error_texts(error)[0]

    # ----- what the person does

    def _state(self, statement: Statement) -> None:
        """Pass a statement on if it can be met; else say what is wrong and keep the old one."""
        try:
            self._engine.level(statement, self._attributes, self._settings)
        except SfumatoError as error:
            self._refuse(error)
            return
        self.stated.emit(dict(statement))

    def _state_and_finish(self, statement: Statement) -> None:
        self._state(statement)
        self.finished.emit()

    def _change_term(self, name: str) -> None:
        """State the present level in another term."""
        try:
            level = self._engine.level(self._statement, self._attributes, self._settings)
            restated = self._engine.restate(level, self._attributes, self._settings)
        except SfumatoError:
            restated = {}
        if name in restated:
            self._state_and_finish(restated[name])
        else:
            self.show_level(self._statement, self._attributes, self._settings, self._of_unit)


class _TermPage(QWidget):
    """The fields of one term: a slider for a single number, plain fields for several."""

    stated = Signal(object)
    finished = Signal()

    def __init__(self, term: LevelTerm, reach: Reach, logarithmic: frozenset[str]) -> None:
        super().__init__()
        single = len(term.fields) == 1
        self.fields: dict[str, NumberField | SliderField] = {}
        line = row()
        for each in term.fields:
            name = label(spoken(each.title))
            field = _slider(each, reach, logarithmic) if single else _number(each)
            field.spin.setAccessibleName(spoken(each.title))
            if isinstance(field, SliderField):
                field.editing_finished.connect(self.finished)
                field.slider.setAccessibleName(spoken(each.title))
            else:
                field.value_changed.connect(self.finished)
            field.value_changed.connect(self._tell)
            name.setBuddy(field)
            self.fields[each.name] = field
            fill(line, name, (field, 1 if single else 0))
        if not single:
            line.addStretch(1)
        self.setLayout(
            column(line, label(spoken(term.explanation), "small", wrap=True), spacing=Space.TIGHT)
        )

    def show_statement(self, statement: Statement, reach: Reach) -> None:
        for name, field in self.fields.items():
            if name in reach and isinstance(field, SliderField):
                field.set_reach(*reach[name])
            if name in statement:
                field.set_value(statement[name])

    def mark_invalid(self, invalid: bool) -> None:
        """Frame the fields in the colour of danger, or no longer."""
        for field in self.fields.values():
            set_look(field.spin, invalid, "invalid")

    def _tell(self, _value: float) -> None:
        self.stated.emit({name: field.value for name, field in self.fields.items()})


def _number(field: LevelField) -> NumberField:
    made = NumberField(field.minimum, field.maximum, decimals=field.decimals, unit=field.unit)
    made.spin.setFixedWidth(scaled(92))
    return made


def _slider(field: LevelField, reach: Reach, logarithmic: frozenset[str]) -> SliderField:
    """Return a slider, logarithmic where it should be or spans decades above 1."""
    low, high = reach.get(field.name, (field.minimum, field.maximum))
    return SliderField(
        field.minimum,
        field.maximum,
        decimals=field.decimals,
        unit=field.unit,
        logarithmic=field.name in logarithmic or (low >= 1 and high / low >= 100),
        reach=(low, high),
    )


class _Meaning(QWidget):
    """What is promised, what it means to the person in the table, and to the recipient."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[tuple[QWidget, QLabel]] = []
        for icon in ("shield", "person", "table"):
            text = label("", wrap=True)
            self._lines.append((boxed(row(IconLabel(icon, "muted", 18), (text, 1))), text))
        self.setLayout(column(*(line for line, _ in self._lines)))

    @property
    def texts(self) -> tuple[str, ...]:
        """What is said."""
        return tuple(text.text() for _, text in self._lines)

    def show_texts(self, texts: Sequence[str]) -> None:
        """Show what is promised, what it means to a person, and what to the recipient."""
        for (whole, line), text in zip(self._lines, texts, strict=True):
            line.setText(text)
            whole.setVisible(bool(text))


def of_unit(
    document: Document,
    entry: PolicyEntry,
    attributes: tuple[Attribute, ...],
    recipient: Recipient,
) -> OfUnit | None:
    """Return what becomes of a recipient's level where rows belong together, and it is sound."""
    if document.unit is None:
        return None
    known = {attribute.name: attribute for attribute in attributes}
    try:
        plan = plan_entry(document, entry, known, recipient)
        promise = promise_by_unit(document, plan, attributes)
    except SfumatoError:
        return None
    return OfUnit(document.unit.sharing(entry.attributes), promise)
