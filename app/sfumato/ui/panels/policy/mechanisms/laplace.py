"""The editor of Laplace noise: recipients' levels, and the bounds that it is in proportion to."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import Sentence
from sfumato.engine.ladders.laplace import HIGHEST, LOWEST
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.laplace.mechanism import MECHANISM
from sfumato.engine.mechanisms.laplace.settings import (
    BOUNDS,
    BOUNDS_EPSILON,
    STEP,
    Bounds,
    usual_epsilon,
    usual_step,
)
from sfumato.engine.mechanisms.laplace.settings import HIGHEST as UPPER
from sfumato.engine.mechanisms.laplace.settings import LOWEST as LOWER
from sfumato.formats.language import grouped
from sfumato.plots.axes import amount, percent
from sfumato.ui.look.wording import plus_minus, typeset
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, Reach, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import FieldGrid, SourceChoice, number_field
from sfumato.ui.panels.policy.wording import NORMAL_95, mean_known, some_rows, tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Card, boxed, column

MEASURING: Final = "measure bounds"
FIELD: Final = 140
_DIGITS: Final = 3
"""A rung that is dragged stops at so many significant digits."""


class LaplaceSettings(SettingsEditor):
    """States the bounds and the step; what is no grid yet stays in the fields, with the reason."""

    engine = MECHANISM

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        bounds = FieldGrid()
        self.fields = {
            spec.name: number_field(spec, self._state, show_range=False, width=FIELD)
            for spec in (LOWER, UPPER, STEP)
        }
        for spec in (LOWER, UPPER):
            bounds.add_setting(spec, self.fields[spec.name])
        self.source = SourceChoice(
            tr("Bounds"), BOUNDS, BOUNDS_EPSILON, stated=boxed(bounds), again=tr("Measure again")
        )
        step = FieldGrid()
        step.add_setting(STEP, self.fields[STEP.name])
        card = Card(tr("Between which bounds numbers lie"), parent=self)
        card.put(self.source, step, self.problem, self.outcome)
        self.setLayout(column(card))
        self.problem.offer(self.take_back)
        self.source.source.chosen.connect(self._choose)
        self.source.measured.connect(self._measure)

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's bounds; what was typed and is no grid yet stays while they do."""
        before = self._names
        wanted = self.come_to(attributes, settings) or {}
        noisy = {**settings, **wanted}.get("bounds") == Bounds.NOISY
        self.source.arrange(Bounds.NOISY if noisy else Bounds.STATED)
        numbers = attributes[0].numbers
        usual = usual_epsilon(0 if numbers is None else len(numbers))
        self.source.epsilon.set_value(float(settings.get("bounds_epsilon", usual)))
        for name, field in self.fields.items():
            given = {**settings, **wanted}.get(name)
            if given is not None:
                field.set_value(float(given))
        if not wanted:
            self._tell()
        elif before != self._names:
            self.holds(self._completed(wanted))

    def show_in_force(self) -> None:
        """Show the bounds in force in the place of what was typed."""
        self.show_settings(self._attributes, self._in_force)

    def leave(self) -> None:
        """Stop measuring."""
        self.session.runner.cancel(MEASURING)

    def _tell(self) -> None:
        """Say what the settings in force mean."""
        try:
            grid = MECHANISM.grid(self._attributes, self._in_force)
        except SfumatoError as error:
            self.show_nothing(error)
            return
        self.problem.clear()
        told = MECHANISM.byproducts(self._attributes, self._in_force)
        unasked = tr("The table is not used, so the bounds disclose nothing about anyone.")
        words = typeset(told[0].sentence) if told else unasked
        self.source.say(f"{words} {some_rows(self._attributes[0])}".strip())
        lowest, highest = float(grid.lowest), float(grid.highest)
        words = tr(
            "Bounds {lowest} and {highest}, {steps} {steps:step|steps}.",
            lowest=amount(lowest, 12),
            highest=amount(highest, 12),
            steps=grouped(grid.steps),
        )
        numbers = self._attributes[0].numbers
        if numbers is not None and np.isfinite(numbers).any():
            known = numbers[np.isfinite(numbers)]
            outside = float(((known < lowest) | (known > highest)).mean())
            words += " " + tr(
                "{share} of the table's numbers lie outside and are released as a bound.",
                share=percent(outside, 2),
            )
        self.outcome.setText(words)

    def _choose(self, source: object) -> None:
        if source == Bounds.NOISY:
            self._measure(self.source.epsilon.value)
            return
        self.hold({"bounds": Bounds.STATED.value})
        self.source.arrange(Bounds.STATED)
        self.source.say(
            tr("Enter bounds that are known without this table, such as 0 and 120 for an age.")
        )
        self.fields["lowest"].spin.setFocus()

    def _state(self, name: str, given: float) -> None:
        """Put what was typed into force once it makes a grid; a step that divides nothing moves."""
        plain = int(given) if given.is_integer() else given
        wanted = {**(self.held or {}), name: plain}
        self.hold(wanted)
        settings = self._completed(wanted)
        if self.holds(settings):
            self.hold(None)
            self.state(settings)

    def _completed(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Return what was typed beside what is in force; a step that divides nothing moves."""
        stated = {n: v for n, v in self._in_force.items() if n != "bounds_epsilon"}
        noisy = {**self._in_force, **wanted}.get("bounds") == Bounds.NOISY
        kept = self._in_force if noisy else {**stated, "bounds": Bounds.STATED.value}
        settings = {**kept, **wanted}
        if wanted.keys() - {"bounds", "step"} and "step" not in wanted:
            settings["step"] = self._fitting(settings)
        return settings

    def _fitting(self, settings: Settings) -> float:
        """Return the step in force, or the usual one where it no longer divides the range."""
        try:
            MECHANISM.check_settings(self._attributes, settings)
        except SfumatoError:
            return usual_step(float(settings.get("lowest", 0.0)), settings.get("highest"))
        return float(settings["step"])

    def _measure(self, epsilon: float) -> None:
        """Measure the bounds in a job; the step follows from them."""
        wanted = {"bounds": Bounds.NOISY.value, "bounds_epsilon": epsilon}
        doing = Sentence("Measuring the bounds")
        self.complete_later(tr("Measuring the bounds"), doing, wanted, key=MEASURING)


class LaplaceEditor(LevelEditor):
    """States the level of Laplace noise."""

    mechanism: ClassVar[str] = "laplace"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Add noise that bounds the odds")
    effect = effects.peak
    settings_editor = LaplaceSettings
    reach: ClassVar[Reach] = {"epsilon": (0.1, 16.0), "gamma": (1.1, 1000.0)}
    logarithmic: ClassVar[frozenset[str]] = frozenset({"epsilon", "noise_spread", "gamma"})

    def reach_now(self) -> Reach:
        """Return the sizes that noise can have at the levels that differ in practice."""
        try:
            spreads = [self._spread(level) for level in (16.0, 0.1)]
        except SfumatoError:
            return {}
        return {"noise_spread": (spreads[0], spreads[1])}

    def level_at(self, trust: float) -> float:
        """Return the ε at which a rung stops that is dragged to a place on the ladder."""
        level = MECHANISM.level_at(max(trust, 1e-3))
        return min(max(self.rounded(level), LOWEST), HIGHEST)

    def rounded(self, value: float) -> float:
        """Return a number with a few significant digits."""
        return float(f"{value:.{_DIGITS}g}")

    def meaning_of(self, level: float) -> tuple[str, str]:
        """Return how unsure a guess stays, and how well the mean can be estimated."""
        each = self.of_each_row(level)
        here = typeset(MECHANISM.in_table(each, self._attributes, self._settings))
        return f"{self.consequence_of(level)} {here}".strip(), self._usefulness(level)

    def _usefulness(self, level: float) -> str:
        numbers = self._attributes[0].numbers
        if numbers is None:
            return ""
        rows, known = self._attributes[0].present, numbers[np.isfinite(numbers)]
        error = NORMAL_95 * self._spread(level) / math.sqrt(max(rows, 1))
        if known.size:  # numbers beyond the bounds are released as these, which moves the mean
            grid = MECHANISM.grid(self._attributes, self._settings)
            shown = grid.numbers(grid.places(known).astype(np.int64))
            error += abs(float(shown.mean() - known.mean()))
        return mean_known(self._attributes[0], plus_minus(amount(error)))

    def consequence_of(self, level: float) -> str:
        """Return how large the noise is, in the attribute's unit."""
        name, size = self._attributes[0].name, amount(self._spread(level))
        return tr("Moves {parts}, typically.", parts=f"{name} {plus_minus(size)}")

    def _spread(self, level: float) -> float:
        each = self.of_each_row(level)
        return float(MECHANISM.noise_law(each, self._attributes, self._settings).spreads[0])


EDITOR = LaplaceEditor
