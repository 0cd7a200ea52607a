"""The editor of per-value limits: recipients by a trust factor, values by limits of their own.

Many limits follow at once from a preset: a tolerance, rarity, a class.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP, Signal
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.frequency_source import (
    Frequencies,
    FrequencySource,
    frequencies_in,
    records_of,
    usual_frequencies,
)
from sfumato.engine.mechanisms.per_value import LIMITS, MECHANISM, THETA, PrivacyLimits
from sfumato.engine.mechanisms.retention_profiles import MODE, objective_in
from sfumato.engine.mechanisms.retention_solver import BreachMode
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import number, spoken
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import (
    ChoiceCard,
    FrequencyChoice,
    FrequencyWords,
    ObjectiveChoice,
    segments,
    states,
)
from sfumato.ui.panels.policy.mechanisms.per_value.best_matrix import BestMatrixProposer
from sfumato.ui.panels.policy.mechanisms.per_value.grid import (
    EDITABLE,
    LOW,
    LimitsDraft,
    LimitsGrid,
    LimitsModel,
    SensitivityClass,
    Solved,
    by_rarity,
    classes,
    is_list,
    names_of,
    paste_block,
    paste_list,
)
from sfumato.ui.panels.policy.mechanisms.per_value.utility import AT_ONCE, LimitsUtility, solved_of
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import (
    NumberField,
    Segments,
    SliderField,
    WrappedCheckBox,
    text_field,
)
from sfumato.ui.widgets.layout import Card, boxed, button, column, label
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.responsive import FlowLayout, ResponsiveGrid, ResponsiveRow
from sfumato.ui.widgets.sheets import sheet_rows

WIDE = 600
"""From this width on, all classes of sensitivity stand in one line; pixels."""
THETA_RANGE = (1.01, 1000.0)
THETA_REACH = (1.1, 100.0)
FREQUENCY_WORDS: Final = FrequencyWords(
    noisy=QT_TRANSLATE_NOOP(
        "Policy",
        "Counts of the table with noise of about ± {spread} {spread:record|records}, drawn once."
        " The retention probabilities, which recipients see, disclose at most ε0; every limit"
        " includes it.",
    ),
    exact=QT_TRANSLATE_NOOP(
        "Policy",
        "These limits were solved for the exact counts of the table: anyone who knows all other"
        " records can tell a person's value from the retention probabilities. Solve them again, or"
        " treat all values as equal.",
    ),
)


class Presets(QWidget):
    """Three ways to set many limits at once, one in sight."""

    theta_stated = Signal(object)
    """The tolerance θ, or None where values without limits of their own are to have none."""
    theta_settled = Signal()
    """The slider was let go."""
    rarity_stated = Signal(float, float)
    """Shares below which a value is rare, and uncommon."""
    class_chosen = Signal(object)
    """A `SensitivityClass` for the selected values."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.way = Segments(
            [
                ("class", tr("By sensitivity")),
                ("tolerance", tr("By tolerance")),
                ("rarity", tr("By rarity")),
            ],
            self,
        )
        self.way.setAccessibleName(tr("How limits are set"))
        pages = QStackedWidget(self)
        for page in (self._build_classes(), self._build_tolerance(), self._build_rarity()):
            pages.addWidget(page)
        ways = self.way.values
        self.way.chosen.connect(lambda way: pages.setCurrentIndex(ways.index(way)))
        self.setLayout(column(FlowLayout(label(tr("Set limits")), self.way), pages))

    def show_theta(self, theta: float | None) -> None:
        """Show the tolerance in force."""
        self.rule.setChecked(theta is not None)
        self.theta.setEnabled(theta is not None)
        if theta is not None:
            self.theta.set_value(theta)
        self._say_theta()

    # ----- the pages

    def _build_classes(self) -> QWidget:
        grid = ResponsiveGrid(WIDE, 3, self)
        self.cards: list[ChoiceCard] = []
        for each in classes():
            card = ChoiceCard(each.name, grid)
            card.setCheckable(False)
            card.show_sentence(each.sentence)
            card.clicked.connect(partial(self._choose_class, each))
            grid.add(card)
            self.cards.append(card)
        how = label(
            tr("Select values in the grid, then say how sensitive they are:"), "muted", wrap=True
        )
        return boxed(column(how, grid, None, spacing=Space.TIGHT))

    def _build_tolerance(self) -> QWidget:
        self.rule = WrappedCheckBox(tr("Values without limits of their own follow the tolerance θ"))
        # Not toggled: showing what is in force must not state it.
        self.rule.clicked.connect(self._toggle_rule)
        self.theta = SliderField(*THETA_RANGE, decimals=2, logarithmic=True, reach=THETA_REACH)
        for part in (self.theta.spin, self.theta.slider):
            part.setAccessibleName(spoken(THETA.title))
        states(self.theta, THETA)
        self.theta.set_value(3.0)
        self.theta.value_changed.connect(self._state_theta)
        self.theta.editing_finished.connect(self.theta_settled)
        self._theta_words = label("", "muted", wrap=True)
        return boxed(column(self.rule, self.theta, self._theta_words, None, spacing=Space.TIGHT))

    def _build_rarity(self) -> QWidget:
        self.rare = NumberField(0.0, 100.0, decimals=2, unit="%", show_range=False)
        self.uncommon = NumberField(0.0, 100.0, decimals=2, unit="%", show_range=False)
        self.rare.set_value(2.0)
        self.uncommon.set_value(10.0)
        self.rare.spin.setAccessibleName(tr("Rare below"))
        self.uncommon.spin.setAccessibleName(tr("Uncommon below"))
        self.apply_rarity = button(
            tr("Set by rarity"),
            lambda: self.rarity_stated.emit(self.rare.value / 100, self.uncommon.value / 100),
        )
        rare = FlowLayout(label(tr("Very sensitive below")), self.rare)
        uncommon = FlowLayout(label(tr("sensitive below")), self.uncommon, self.apply_rarity)
        line = ResponsiveRow(WIDE, (boxed(rare), 0), boxed(uncommon))
        why = tr("A value that few records have says more about them. Others: ordinary.")
        gloss = label(why, "muted", wrap=True)
        return boxed(column(line, gloss, None, spacing=Space.TIGHT))

    # ----- what the person does

    def _choose_class(self, each: SensitivityClass, _checked: bool = False) -> None:
        self.class_chosen.emit(each)

    def _toggle_rule(self, follows: bool) -> None:
        self.theta.setEnabled(follows)
        self._say_theta()
        self.theta_stated.emit(self.theta.value if follows else None)
        self.theta_settled.emit()

    def _state_theta(self, theta: float) -> None:
        self._say_theta()
        self.theta_stated.emit(theta)

    def _say_theta(self) -> None:
        if not self.rule.isChecked():
            self._theta_words.setText(tr("Values without limits of their own have none."))
            return
        words = tr(
            "Whoever believes in a value as often as it occurs comes to believe in it at most"
            " {theta} times as much. Values that {share}\u202f% or more of the records have"
            " need no limit.",
            theta=number(self.theta.value),
            share=number(100 / self.theta.value),
        )
        self._theta_words.setText(words)


MOST_NAMED: Final = 3

JOB: Final = "solve limits"


class FineGrainSettings(SettingsEditor):
    """States the limits of every value; what they lead to stands below."""

    engine = MECHANISM

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._attribute: Attribute | None = None
        self._draft = LimitsDraft((), np.zeros(0))
        self.mode = segments(MODE, self)
        self.mode_words = label("", "muted", wrap=True)
        self.objective = ObjectiveChoice(self)
        self.frequencies = FrequencyChoice(FREQUENCY_WORDS, self)
        self._chosen = Frequencies(FrequencySource.EQUAL)
        self.presets = Presets(self)
        self.search = text_field(name=tr("Find a value"), hint=tr("Find a value"))
        self.search.setClearButtonEnabled(True)
        self.only_own = WrappedCheckBox(tr("Only with limits of their own"), self)
        self.model = LimitsModel(self)
        self.grid = LimitsGrid(self.model, self)
        states(self.grid, LIMITS)
        self.show_cell = button(tr("Show the cell"), self._show_problem)
        self.remove_strays = button(tr("Remove the unknown values"), self._remove_strays)
        self.solve_again = button(tr("Solve again"), self._solve, "primary")
        actions = (self.show_cell, self.remove_strays, self.take_back, self.solve_again)
        self.problem.offer(*actions)
        self.result = LimitsUtility(session, self)
        self.best_matrix = BestMatrixProposer(session, self)
        self.best_matrix.refused.connect(self._say_no_best)
        self._lay_out()
        self.mode.chosen.connect(self._set_mode)
        self.objective.chosen.connect(self._set_objective)
        self.frequencies.stated.connect(self._set_frequencies)
        self.presets.theta_stated.connect(self._set_theta)
        self.presets.theta_settled.connect(self.finished)
        self.presets.rarity_stated.connect(self._set_by_rarity)
        self.presets.class_chosen.connect(self._set_class)
        self.search.textChanged.connect(self._narrow)
        self.only_own.toggled.connect(self._narrow)
        self.model.written.connect(self._write)
        self.grid.pasted.connect(self._paste)

    def _lay_out(self) -> None:
        grid, tip = self.grid, tr("A list (value, ρ1, ρ2) or a block of cells from a spreadsheet")
        paste = button(tr("Paste"), grid.paste, "quiet", tip=tip)
        tip = tr("The top cell, to all below it")
        fill = button(tr("Fill down"), grid.fill_down, "quiet", tip=tip)
        tip = tr("Back to the tolerance rule")
        clear = button(tr("Clear"), grid.clear_cells, "quiet", tip=tip)
        card = Card(parent=self)
        card.put(
            FlowLayout(label(spoken(LIMITS.title), "heading"), self.mode, apart=1),
            self.mode_words,
            self.objective,
            self.frequencies,
            self.presets,
            FlowLayout(self.search, self.only_own, paste, fill, clear),
            grid,
            self.problem,
            FlowLayout(self.best_matrix.button),
        )
        self.setLayout(column(card, self.result, spacing=Space.BETWEEN))

    # ----- what is shown

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's limits; a draft that is not in force yet stays as it is."""
        attribute = attributes[0]
        if attribute.domain is None:
            return
        before = self._attribute
        if before is not None and settings == self._in_force and _same(before, attribute):
            self._attribute, self._attributes = attribute, (attribute,)
            return
        self.leave()
        self.best_matrix.show_attribute(attribute.name)
        draft = self.come_to(attributes, settings)
        self._attribute = attribute
        self._chosen = self._frequencies_in(settings, attribute)
        self.objective.show_settings(settings)
        if isinstance(draft, LimitsDraft) and draft.names == attribute.domain.names:
            draft = replace(draft, frequencies=self._shares(attribute))
        else:
            draft = self._draft_in_force(attribute)
        self._show_in_force()
        self._show_draft(draft)
        if not self._settled() and draft.sound and "profile" in settings:
            self._solve()

    def leave(self) -> None:
        """Stop solving and comparing."""
        self.session.runner.cancel(JOB)
        self.result.curve.leave()
        self.best_matrix.leave()

    def _draft_in_force(self, attribute: Attribute) -> LimitsDraft:
        try:
            limits = PrivacyLimits.from_dict(self._in_force)
        except SfumatoError:
            limits = PrivacyLimits()
        return LimitsDraft.of(limits, names_of(attribute), self._shares(attribute))

    def _frequencies_in(self, settings: Settings, attribute: Attribute) -> Frequencies:
        """Return where the frequencies of settings come from, with counts drawn."""
        records = records_of(attribute)
        try:
            chosen = frequencies_in(settings, records).drawn(attribute, self.session.noise)
            chosen.of(attribute)
        except SfumatoError:
            return usual_frequencies(records).drawn(attribute, self.session.noise)
        return chosen

    def _to_solve_for(self, attribute: Attribute) -> Frequencies:
        """Return what limits would be solved for now: the exact counts never again."""
        if self._chosen.source is not FrequencySource.EXACT:
            return self._chosen
        return self._frequencies_in({}, attribute)

    def _shares(self, attribute: Attribute) -> Floats:
        """Return the shares by which values are frequent or rare, shape (m,)."""
        return self._to_solve_for(attribute).of(attribute)

    def _settled(self) -> bool:
        """Whether the grid shows just what is in force."""
        if self._attribute is None:
            return True
        try:
            in_force = PrivacyLimits.from_dict(self._in_force)
            if frequencies_in(self._in_force) != self._chosen:
                return False
            if objective_in(self._in_force) is not self.objective.value:
                return False
        except SfumatoError:
            return False
        names = names_of(self._attribute)
        return LimitsDraft.of(in_force, names, self._draft.frequencies) == self._draft

    def _show_in_force(self) -> None:
        """Show what comes of the settings in force."""
        if self._attribute is None:
            return
        try:
            profile = MECHANISM.solved((self._attribute,), self._in_force)
            shares = frequencies_in(self._in_force).of(self._attribute)
            objective = objective_in(self._in_force)
        except SfumatoError:
            self.result.hide()
            return
        self.result.show()
        self.result.show_profile(profile, self._attribute, shares, objective)

    def _show_draft(self, draft: LimitsDraft) -> None:
        self._draft = draft
        attribute = self._attribute
        if attribute is None or attribute.domain is None:
            return
        problems, solved = draft.problems(), self._solved_in_force(attribute)
        self.model.show_draft(draft, draft.gammas(attribute.domain), problems, solved)
        self.mode.set_value(draft.mode)
        self.mode_words.setText(_promise(draft.mode))
        self.presets.show_theta(draft.theta)
        self.frequencies.show_frequencies(self._chosen, len(draft.names))
        self.best_matrix.button.setEnabled(draft.sound)
        if not draft.sound:
            self._say_problems(draft, problems)
        elif solved is None:
            words = tr("These limits were solved for other values of the attribute.")
            self.problem.say("danger", words, self.solve_again)
        elif self._chosen.source is FrequencySource.EXACT:
            words = tr(
                "These limits were solved for the exact counts, which the profile gives away."
            )
            self.problem.say("danger", words, self.solve_again)
        else:
            self.problem.clear()

    def _say_problems(self, draft: LimitsDraft, problems: dict[tuple[int, int], str]) -> None:
        """Name what is wrong; the limits in force stay until it is right."""
        places = sorted(problems)
        lines = [f"{draft.names[at[0]]}: {problems[at]}" for at in places[:MOST_NAMED]]
        if len(places) > MOST_NAMED:
            lines.append(tr("{count} more are marked.", count=grouped(len(places) - MOST_NAMED)))
        actions: list[QPushButton] = []
        if draft.strays:
            actions.insert(0, self.remove_strays)
            named = ", ".join(value or "–" for value, _, _ in draft.strays[:MOST_NAMED])
            more = len(draft.strays) - MOST_NAMED
            words = tr(
                "Not in the domain: {named}{more}.",
                named=named,
                more=tr(" and {count} {count:other|others}", count=grouped(more))
                if more > 0
                else "",
            )
            lines.append(words)
        if places:
            actions.insert(0, self.show_cell)
        self.refuse_draft("\n".join(lines), *actions)

    def _say_no_best(self, error: SfumatoError) -> None:
        self.problem.say("info", error_words(error))

    def _solved_in_force(self, attribute: Attribute) -> Solved | None:
        """Return what the profile in force does to each value; None where it fits no more."""
        try:
            retention = MECHANISM.profile((attribute,), self._in_force)
            return solved_of(retention, MECHANISM.byproduct_epsilon(self._in_force))
        except SfumatoError:
            return None

    # ----- what the person does

    def _take(self, draft: LimitsDraft, *, merge: bool = False) -> None:
        """Take a change over: solve it where it is sound, else say what is wrong."""
        self._show_draft(draft)
        self.hold(None if self._settled() else draft)
        self.session.runner.cancel(JOB)
        if not draft.sound or self._settled():
            return
        self._solve()
        if not merge:
            self.finished.emit()

    def _solve(self) -> None:
        """Solve the draft: at once where that takes no time, else in a job."""
        attribute, draft = self._attribute, self._draft
        if attribute is None:
            return
        self._chosen = self._to_solve_for(attribute)
        stated = {
            **draft.limits().to_dict(),
            **self._chosen.to_dict(),
            "objective": str(self.objective.value),
        }
        if len(draft.names) <= AT_ONCE:
            try:
                noise = self.session.noise
                self._adopt(draft, MECHANISM.complete_settings((attribute,), stated, noise))
            except SfumatoError as error:
                self.refuse(error)
            return
        words = tr(
            "Solving the limits of {count} {count:value|values}…", count=grouped(len(draft.names))
        )
        self.problem.say("clock", words)
        title = tr("Solving the limits of {name}", name=attribute.name)
        doing, then = Sentence("Finding what keeps most"), partial(self._adopt_later, draft)
        self.complete_later(title, doing, stated, then, key=JOB)

    def _adopt_later(self, draft: LimitsDraft, settings: Settings) -> None:
        if draft is self._draft:
            self._adopt(draft, settings)
            if not self.presets.theta.slider.isSliderDown():
                self.finished.emit()

    def _adopt(self, draft: LimitsDraft, settings: Settings) -> None:
        """Put solved limits in force."""
        self.hold(None)
        self._in_force = settings
        self._chosen = frequencies_in(settings)
        self._show_in_force()
        self._show_draft(draft)
        self.settings_stated.emit(settings)

    def _set_mode(self, mode: object) -> None:
        self._take(replace(self._draft, mode=BreachMode(str(mode))))

    def _set_objective(self, _objective: object) -> None:
        self._take(self._draft)

    def _set_frequencies(self, chosen: Frequencies) -> None:
        attribute, draft = self._attribute, self._draft
        if attribute is None:
            return
        self._chosen = chosen.drawn(attribute, self.session.noise)
        self._take(replace(draft, frequencies=self._shares(attribute)))

    def _set_theta(self, theta: float | None) -> None:
        if self._draft.theta != theta:
            self._take(replace(self._draft, theta=theta), merge=True)

    def _set_by_rarity(self, rare: float, uncommon: float) -> None:
        pairs = by_rarity(self._draft.frequencies, rare, uncommon)
        self._take(replace(self._draft, own=pairs))

    def _set_class(self, each: SensitivityClass) -> None:
        places = [self.model.place(row) for row in self.grid.chosen_rows()]
        if places:
            self._take(self._draft.with_limits(places, each.pair))
        else:
            self.problem.say("info", tr("Select values in the grid first."))

    def _write(self, texts: dict[tuple[int, int], str]) -> None:
        cells = {
            (self.model.place(row), EDITABLE[column]): text for (row, column), text in texts.items()
        }
        self._take(self._draft.with_texts(cells))

    def _paste(self, text: str) -> None:
        rows, current = sheet_rows(text), self.grid.currentIndex()
        if not rows:
            self.problem.say("info", tr("There is no text on the clipboard."))
            return
        if is_list(rows, self._draft.names):
            draft, words = paste_list(self._draft, rows)
        else:
            first = max(current.column(), LOW) - LOW
            places = self.model.places_from(max(current.row(), 0))
            draft, words = paste_block(self._draft, rows, places, first)
        self._take(draft)
        self.problem.add(words)

    def _remove_strays(self) -> None:
        self._take(replace(self._draft, strays=()))

    def show_in_force(self) -> None:
        """Show the limits in force in the place of what was typed."""
        if self._attribute is not None:
            self._chosen = self._frequencies_in(self._in_force, self._attribute)
            self.objective.show_settings(self._in_force)
            self._take(replace(self._draft_in_force(self._attribute), strays=()))

    def _narrow(self, _changed: object = None) -> None:
        self.model.narrow(self.search.text(), only_own=self.only_own.isChecked())

    def _show_problem(self) -> None:
        """Bring the first cell with a problem into sight."""
        place, column = min(self._draft.problems())
        self.search.clear()
        row = self.model.row_of(place)
        if row is not None:
            self.grid.show_cell(row, LOW + column)


def _same(first: Attribute, second: Attribute) -> bool:
    """Whether two states of an attribute have the same values, equally often."""
    return (
        first.name == second.name
        and names_of(first) == names_of(second)
        and np.array_equal(first.frequencies, second.frequencies)
    )


def _promise(mode: BreachMode) -> str:
    if mode is BreachMode.STRICT:
        return tr(
            "Nothing released makes a value more likely than its limit allows, nor less likely by"
            " the same factor."
        )
    return tr(
        "Nothing released makes a value more likely than its limit allows. It may become less"
        " likely by more: the paper says this can't happen, but that half of its theorem fails."
    )


class FineGrainEditor(LevelEditor):
    """States how much of the profile a recipient gets."""

    mechanism: ClassVar[str] = "finegrain"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Limit each value by itself")
    effect = effects.each_its_own
    settings_editor = FineGrainSettings
    whole = QT_TRANSLATE_NOOP("Policy", "All that the limits allow")

    def level_at(self, trust: float) -> float:
        """Return the level at a place on the ladder: what is stated of it stops at thousandths."""
        return trust

    def rounded(self, value: float) -> float:
        """Return a number in thousandths."""
        return round(value, 3) or value


EDITOR = FineGrainEditor
