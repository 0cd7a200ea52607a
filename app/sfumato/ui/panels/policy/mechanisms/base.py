"""What every mechanism's editor can do, and the editor that its terms alone suffice for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLabel,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelField, LevelTerm, Settings, Statement
from sfumato.engine.table.table import Attribute
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken, term_of, typeset
from sfumato.ui.panels.policy.mechanisms.cards import Preset, PresetRow, TermTiles
from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor
from sfumato.ui.panels.policy.wording import kept, suspicion, tr, usefulness
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.widgets.fields import NumberField, SliderField
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import label

Attributes = Sequence[Attribute]


class LevelEditor(QWidget):
    """States one recipient's level for one policy entry.

    A mechanism's editor subclasses it, names its `mechanism`, and may offer `presets`, a place
    for a trust on the ladder (`statement_at`) and controls for the mechanism's settings.
    """

    mechanism: ClassVar[str]

    stated = Signal(object)
    """The person stated a level: a `Statement`. Also while a slider is dragged."""
    finished = Signal()
    """A slider was let go; the next statement is another edit."""
    settings_stated = Signal(object)
    """The person changed the mechanism's settings: `Settings`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._engine = mechanism_called(self.mechanism)
        self._attributes: tuple[Attribute, ...] = ()
        self._settings: Settings = {}
        self._statement: Statement = {}
        self._presets = PresetRow(self.presets(), self)
        self._presets.chosen.connect(self._state_and_finish)
        self._terms = TermTiles(self._engine.terms, self)
        self._terms.chosen.connect(self._change_term)
        self._pages = QStackedWidget(self)
        self._editors = {
            term.name: _TermPage(term, self.slider_reach(), self.logarithmic_fields())
            for term in self._engine.terms
        }
        for page in self._editors.values():
            page.stated.connect(self._state)
            page.finished.connect(self.finished)
            self._pages.addWidget(page)
        self._problem = _Problem()
        self._meaning = _Meaning()
        self._lay_out()

    # ----- what a mechanism's editor may say

    @classmethod
    def presets(cls) -> tuple[Preset, ...]:
        """Return levels in plain words, most trusted first."""
        return ()

    @classmethod
    def settings_editor(cls) -> type[SettingsEditor] | None:
        """Return what the mechanism's settings are stated with; None where it has none."""
        return None

    def slider_reach(self) -> Mapping[str, tuple[float, float]]:
        """Return, by a field's name, the part of its range that its slider covers."""
        return {}

    def logarithmic_fields(self) -> frozenset[str]:
        """Return the fields on whose sliders equal ways are equal factors."""
        return frozenset()

    def reach_now(self) -> Mapping[str, tuple[float, float]]:
        """Return the reach of those sliders that depends on the attributes in sight."""
        return {}

    def statement_at(self, trust: float, like: Statement) -> Statement | None:
        """Return the statement for a place on the ladder, in the term that `like` uses.

        None where rungs of this mechanism can't be dragged.
        """
        del trust, like
        return None

    def meaning_of(self, level: float) -> tuple[str, str]:
        """Return what a level means to a person in the table, and to the recipient.

        Raises
        ------
        SfumatoError
            If the settings don't fit the attributes.
        """
        matrix = self._engine.matrix(level, self._attributes, self._settings)
        if matrix is None:
            return "", ""
        return (
            f"{kept(matrix, self._attributes)} {suspicion(matrix)}",
            usefulness(matrix, self._attributes),
        )

    def consequence_of(self, level: float) -> str:
        """Return what a level means in one sentence, for the presets; raises as `meaning_of`."""
        matrix = self._engine.matrix(level, self._attributes, self._settings)
        return suspicion(matrix) if matrix is not None else ""

    # ----- what is shown

    def show_level(self, statement: Statement, attributes: Attributes, settings: Settings) -> None:
        """Show a level, and what it means for these attributes."""
        self._statement, self._settings = dict(statement), settings
        self._attributes = tuple(attributes)
        term = term_of(self._engine, statement) or self._engine.terms[0]
        self._terms.set_value(term.name)
        for name, page in self._editors.items():
            if name != term.name:
                page.forget_typing()
        self._pages.setCurrentWidget(self._editors[term.name])
        self._editors[term.name].show_statement(statement, self.reach_now())
        self._presets.show_consequences(self._consequence, statement)
        self._show_meaning(statement)

    @property
    def problem(self) -> str:
        """What is wrong with the level in sight; empty where it is sound."""
        return self._problem.text

    def _show_meaning(self, statement: Statement) -> None:
        try:
            level = self._engine.level(statement, self._attributes, self._settings)
            restated = self._engine.restate(level, self._attributes, self._settings)
            promise = self._engine.promise(level, self._attributes, self._settings)
            meaning = self.meaning_of(level)
        except SfumatoError as error:
            self._refuse(error)
            return
        self._problem.clear()
        self._editors[self._terms.value].mark_invalid(False)
        self._terms.show_statements({**restated, self._terms.value: statement})
        self._meaning.show_texts((typeset(promise.sentence), *meaning))

    def _refuse(self, error: SfumatoError) -> None:
        """Say at the fields what is wrong with them."""
        what, remedy = error_texts(error)
        self._problem.show_text(f"{what} {remedy}".strip())
        self._editors[self._terms.value].mark_invalid(True)
        self._terms.clear()
        self._meaning.clear()

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
            self.show_level(self._statement, self._attributes, self._settings)

    # ----- how it is laid out

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.BETWEEN)
        if self.presets():
            column.addWidget(self._presets)
            column.addWidget(label(tr("Or state the level exactly, by any of these:"), "muted"))
        column.addWidget(self._terms)
        fields = QVBoxLayout()
        fields.setSpacing(Space.INSIDE)
        fields.addWidget(self._pages)
        fields.addWidget(self._problem)
        column.addLayout(fields)
        column.addWidget(self._meaning)


class _TermPage(QWidget):
    """The fields of one term: a slider for a single number, plain fields for several."""

    stated = Signal(object)
    finished = Signal()

    def __init__(
        self,
        term: LevelTerm,
        reach: Mapping[str, tuple[float, float]],
        logarithmic: frozenset[str],
    ) -> None:
        super().__init__()
        self._term = term
        self._reach = reach
        self._logarithmic = logarithmic
        self._fields: dict[str, NumberField | SliderField] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.TIGHT)
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._line.setSpacing(Space.INSIDE)
        for field in term.fields:
            self._add_field(field)
        if len(term.fields) > 1:
            self._line.addStretch(1)
        column.addLayout(self._line)
        column.addWidget(label(spoken(term.explanation), "small", wrap=True))

    def _add_field(self, field: LevelField) -> None:
        name = label(spoken(field.title))
        made: NumberField | SliderField
        if len(self._term.fields) == 1:
            reach = self._reach.get(field.name)
            made = _slider(field, reach, logarithmic=field.name in self._logarithmic)
            made.editing_finished.connect(self.finished)
            made.slider.setAccessibleName(spoken(field.title))
            spin = made.field.spin
        else:
            made = NumberField(
                field.minimum, field.maximum, decimals=field.decimals, unit=field.unit
            )
            made.spin.setFixedWidth(92)
            made.value_changed.connect(self.finished)
            spin = made.spin
        spin.setAccessibleName(spoken(field.title))
        name.setBuddy(made)
        made.value_changed.connect(self._tell)
        self._fields[field.name] = made
        self._line.addWidget(name)
        self._line.addWidget(made, 1 if isinstance(made, SliderField) else 0)

    def show_statement(
        self, statement: Statement, reach: Mapping[str, tuple[float, float]]
    ) -> None:
        for name, field in self._fields.items():
            if name in reach and isinstance(field, SliderField):
                field.set_reach(*reach[name])
            if name in statement:
                field.set_value(statement[name])

    def forget_typing(self) -> None:
        """Drop what was typed and not given yet: a page that is hidden would give it then."""
        for field in self._fields.values():
            field.set_value(field.value)

    def mark_invalid(self, invalid: bool) -> None:
        """Frame the fields in the colour of danger, or no longer."""
        for field in self._fields.values():
            spin = field.field.spin if isinstance(field, SliderField) else field.spin
            if bool(spin.property("invalid")) != invalid:
                spin.setProperty("invalid", invalid)
                spin.style().unpolish(spin)
                spin.style().polish(spin)

    def _tell(self, _value: float) -> None:
        self.stated.emit({name: field.value for name, field in self._fields.items()})


def _slider(
    field: LevelField, reach: tuple[float, float] | None, *, logarithmic: bool
) -> SliderField:
    """Return a slider, logarithmic where it should be or spans decades above 1."""
    low, high = reach if reach is not None else (field.minimum, field.maximum)
    return SliderField(
        field.minimum,
        field.maximum,
        decimals=field.decimals,
        unit=field.unit,
        logarithmic=logarithmic or (low >= 1 and high / low >= 100),
        reach=reach,
    )


class _Problem(QWidget):
    """What is wrong with a field, right below it."""

    def __init__(self) -> None:
        super().__init__()
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Space.INSIDE)
        self._label = label("", "danger", wrap=True)
        line.addWidget(IconLabel("danger", "danger", 16))
        line.addWidget(self._label, 1)
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text() if not self.isHidden() else ""

    def show_text(self, text: str) -> None:
        self._label.setText(text)
        self.setAccessibleName(text)
        self.show()

    def clear(self) -> None:
        self._label.setText("")
        self.hide()


class _Meaning(QWidget):
    """What the level means to the person in the table and to the recipient."""

    def __init__(self) -> None:
        super().__init__()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(Space.INSIDE)
        self._wholes: dict[QLabel, QWidget] = {}
        self._lines = [
            self._add_line("shield"),
            self._add_line("person"),
            self._add_line("table"),
        ]

    def _add_line(self, icon: str) -> QLabel:
        whole = QWidget(self)
        line = QHBoxLayout(whole)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Space.INSIDE)
        text = label("", wrap=True)
        line.addWidget(IconLabel(icon, "muted", 18), 0)
        line.addWidget(text, 1)
        self._column.addWidget(whole)
        self._wholes[text] = whole
        return text

    def clear(self) -> None:
        self.show_texts(("–", "–", "–"))

    def show_texts(self, texts: Sequence[str]) -> None:
        """Show what is promised, what it means to a person, and what to the recipient."""
        for line, text in zip(self._lines, texts, strict=True):
            line.setText(text)
            self._wholes[line].setVisible(bool(text))
