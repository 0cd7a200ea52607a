"""The editor of joint retention: recipients' levels, and limits of values and combinations."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.privacy import gamma_for_rho
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.mechanisms.frequency_source import Frequencies, frequencies_in
from sfumato.engine.mechanisms.joint import (
    MECHANISM,
    OTHERS,
    STATED,
    USUAL_OTHERS,
    CombinationLimits,
    JointLimit,
)
from sfumato.engine.mechanisms.retention_profiles import MODE, RHOS
from sfumato.engine.mechanisms.retention_solver import BreachMode
from sfumato.engine.table.combinations import combined, domains_of
from sfumato.formats.language import grouped, localized
from sfumato.plots.axes import percent
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import (
    FieldGrid,
    FrequencyChoice,
    FrequencyWords,
    ObjectiveChoice,
    number_field,
    segments,
    states,
    value_list,
)
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, Segments, WrappedCheckBox
from sfumato.ui.widgets.layout import (
    Card,
    ElidedLabel,
    boxed,
    button,
    clear_layout,
    column,
    label,
    row,
)
from sfumato.ui.widgets.responsive import FlowLayout

JOB: Final = "solve limits of combinations"
AT_ONCE: Final = 2_000
"""Limits of so many combinations are solved without a job."""

WORDS: Final = FrequencyWords(
    noisy=QT_TRANSLATE_NOOP(
        "Policy",
        "Counts of the combinations with noise of about ± {spread} {spread:record|records}, drawn"
        " once. The retention probabilities that follow from them, which recipients see, disclose"
        " at most ε0; every figure includes it.",
    )
)


class JointSettings(SettingsEditor):
    """States whether all combinations are alike, or which have limits of their own."""

    engine = MECHANISM

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._limits = CombinationLimits()
        self.kind = Segments(
            [(False, tr("All alike")), (True, tr("Limits of their own"))], parent=self
        )
        self.kind.setAccessibleName(tr("How often combinations are kept"))
        self.mode = segments(
            MODE, self, lambda mode: self._take(replace(self._limits, mode=BreachMode(str(mode))))
        )
        self.objective = ObjectiveChoice(self)
        self.limit_others = WrappedCheckBox(spoken(OTHERS.title), self)
        self.others = tuple(number_field(spec, show_range=False) for spec in RHOS)
        self.values: dict[str, ChoiceField] = {}
        self._choices = FlowLayout()
        self.own = tuple(number_field(spec, show_range=False) for spec in RHOS)
        self.add = button(tr("Add the limit"), self._add)
        name = spoken(STATED.title)
        headings = [tr("Values"), tr("ρ1"), tr("ρ2"), tr("γ")]
        self.stated, self.list = value_list(name, headings, self)
        self.remove = button(tr("Remove the selected limits"), self._remove, "quiet")
        self.frequencies = FrequencyChoice(WORDS, self)
        headings = [tr("Combination"), tr("In the table"), tr("Kept at trust factor 1")]
        name = tr("How often each combination is kept")
        self.combinations, self.all = value_list(name, headings, self)
        states(self.limit_others, OTHERS)
        states(self.list, STATED)
        self.setLayout(column(self._build()))
        self.kind.chosen.connect(self._set_kind)
        self.objective.chosen.connect(lambda _objective: self._take(self._limits))
        self.limit_others.clicked.connect(self._set_others)
        for field in self.others:
            field.value_changed.connect(self._set_others)
        self.frequencies.stated.connect(lambda chosen: self._take(self._limits, chosen))

    def _build(self) -> Card:
        card = Card(tr("Combinations"), parent=self)
        card.body.addLayout(row(self.kind, None))
        for field, number in zip(self.own, (0.1, 0.3), strict=True):
            field.set_value(number)
        others = FieldGrid()
        for spec, field in zip(RHOS, self.others, strict=True):
            others.add_setting(spec, field)
        added = FlowLayout(
            boxed(row(label(spoken(RHOS[0].title)), self.own[0])),
            boxed(row(label(tr("after at most ρ2")), self.own[1])),
            self.add,
        )
        parts = column(
            FlowLayout(label(spoken(MODE.title)), self.mode),
            self.objective,
            self.limit_others,
            others,
            label(tr("A limit of a value holds for each of its combinations."), "muted", wrap=True),
            self._choices,
            added,
            self.list,
            row(self.remove, None),
            self.frequencies,
        )
        self._own = boxed(parts, self)
        card.put(self._own, self.problem, self.outcome, self.all)
        return card

    # ----- what is shown

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's combinations and their limits."""
        if [each.name for each in attributes] != list(self.values):
            self._offer_values(attributes)
        self._attributes, self._in_force = tuple(attributes), settings
        self.problem.clear()
        self.kind.set_value(bool(settings))
        self._own.setVisible(bool(settings))
        self.all.setVisible(bool(settings))
        try:
            whole = combined(attributes)
            size = MECHANISM.domain_of(attributes).size
            self._limits = CombinationLimits.from_dict(settings)
            self._show_limits(size)
            kept = MECHANISM.profile(attributes, settings)
        except SfumatoError as error:
            self.show_nothing(error)
            return
        occurring = 0 if whole.counts is None else int((whole.counts > 0).sum())
        words = tr(
            "{size} {size:combination|combinations}, of which {occurring} occur in the table. A"
            " replaced record shows any of them, also one that occurs nowhere.",
            size=grouped(size),
            occurring=grouped(occurring),
        )
        if settings:
            low, high = float(kept.min()), float(kept.max())
            between = tr(
                "At trust factor 1, combinations are kept with probabilities from {low} to {high}.",
                low=percent(low, 2),
                high=percent(high, 2),
            )
            words = f"{words} {between}"
            shares = np.zeros(size) if whole.counts is None else whole.frequencies
            figures = (shares, kept)
            names = MECHANISM.domain_of(attributes).names
            self.combinations.show_cells(
                size, lambda row, at: percent(float(figures[at - 1][row]), 2) if at else names[row]
            )
        self.outcome.setText(words)

    def fitted(self, statement: Statement, settings: Settings) -> Statement:
        """Return a level that keeps within new limits, or that means the same without them."""
        attributes, before = self._attributes, self._in_force
        try:
            level = MECHANISM.level(statement, attributes, before)
            if not settings:
                if "trust_factor" not in statement:
                    return statement
                odds = MECHANISM.odds_factor(level, attributes, before) or 1.0
                level = MECHANISM.level({"gamma": odds}, attributes, settings)
                return {"retention_probability": level}
            within = float(MECHANISM.profile(attributes, settings).max())
            stays = MECHANISM.level(statement, attributes, settings) <= within
            return statement if stays else {"trust_factor": 1.0}
        except SfumatoError:
            return statement  # the level's own field says what is wrong with it

    def leave(self) -> None:
        """Stop solving."""
        self.session.runner.cancel(JOB)

    def _offer_values(self, attributes: Attributes) -> None:
        clear_layout(self._choices)
        self.values = {}
        for attribute, domain in zip(attributes, domains_of(attributes), strict=True):
            choices = [("", tr("any value")), *((name, name) for name in domain.names)]
            field = ChoiceField(choices, self, name=tr("Value of {name}", name=attribute.name))
            self.values[attribute.name] = field
            name = ElidedLabel(attribute.name, "caption")
            self._choices.addWidget(boxed(column(name, field, spacing=Space.TIGHT)))

    def _show_limits(self, size: int) -> None:
        limits = self._limits
        self.mode.set_value(limits.mode)
        self.objective.show_settings(self._in_force)
        self.limit_others.setChecked(limits.others is not None)
        for field, number in zip(self.others, limits.others or USUAL_OTHERS, strict=True):
            field.set_value(number)
            field.setEnabled(limits.others is not None)
        lines = [self._line(limit) for limit in limits.stated]
        self.stated.show_cells(len(lines), lambda row, column: lines[row][column])
        self.list.setVisible(bool(limits.stated))
        self.remove.setVisible(bool(limits.stated))
        stated = {"frequencies": "equal", **self._in_force}
        self.frequencies.show_frequencies(frequencies_in(stated), size)

    def _line(self, limit: JointLimit) -> tuple[str, ...]:
        """Return for which values a limit is, and how far a belief may rise."""
        return (
            " · ".join(limit.values.get(name, tr("any {name}", name=name)) for name in self.values),
            localized(f"{limit.rho1:g}"),
            localized(f"{limit.rho2:g}"),
            localized(f"{gamma_for_rho(limit.rho1, limit.rho2):.4g}"),
        )

    # ----- what the person does

    def _set_kind(self, own: object) -> None:
        if own:
            self._take(CombinationLimits())
        else:
            self.state({})

    def _set_others(self, _changed: object = None) -> None:
        pair = (self.others[0].value, self.others[1].value)
        others = pair if self.limit_others.isChecked() else None
        if others != self._limits.others:
            self._take(replace(self._limits, others=others))

    def _add(self) -> None:
        values = {name: str(field.value) for name, field in self.values.items() if field.value}
        if not values:
            self.problem.say("info", tr("Choose a value first, of one column or of several."))
            return
        made = JointLimit(values, self.own[0].value, self.own[1].value)
        left = tuple(each for each in self._limits.stated if each.values != values)
        self._take(replace(self._limits, stated=(*left, made)))

    def _remove(self) -> None:
        rows = set(self.list.chosen_rows())
        left = tuple(each for at, each in enumerate(self._limits.stated) if at not in rows)
        if len(left) < len(self._limits.stated):
            self._take(replace(self._limits, stated=left))
        else:
            self.problem.say("info", tr("Select limits in the list first."))

    def _take(self, limits: CombinationLimits, chosen: Frequencies | None = None) -> None:
        """Solve limits: at once where that takes no time, else in a job."""
        self.session.runner.cancel(JOB)
        if chosen is None:
            chosen = frequencies_in({"frequencies": "equal", **self._in_force})
        best = {"objective": str(self.objective.value)}
        stated = {**limits.to_dict(), **chosen.to_dict(), **best}
        if combined(self._attributes).frequencies.size <= AT_ONCE:
            self.complete(stated)
            return
        self.problem.say("clock", tr("Solving the limits…"))
        before = self._in_force
        self.complete_later(
            tr("Solving the limits of combinations"),
            Sentence("Finding what keeps most"),
            stated,
            lambda settings: self.state(settings) if self._in_force is before else None,
            key=JOB,
        )

    def refuse(self, error: SfumatoError) -> None:
        """Say why limits can't be met; what is in force stays."""
        self.show_settings(self._attributes, self._in_force)
        super().refuse(error)


class JointEditor(LevelEditor):
    """States the level of combinations that are protected as one."""

    mechanism: ClassVar[str] = "joint"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Replace combinations at random")
    effect = effects.combinations
    settings_editor = JointSettings


EDITOR = JointEditor
