"""What a custodian has set for Laplace noise beside the levels: bounds, and steps between them.

Noise is in proportion to the range that numbers may lie in, so nobody may be able to tell a record
from the bounds: they are stated, or measured with noise. For that, numbers are counted at and
between round ones that everyone knows (…, 10, 20, 50, 100, …), each in just one place; the counts
get discrete Laplace noise, and the bounds are the ends of the places whose noisy counts are more
than noise alone leads to. What is made of noisy counts costs nothing further.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Integers, is_number
from sfumato.engine.core.wording import Sentence
from sfumato.engine.ladders.laplace import MOST_STEPS
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.setting_specs import (
    ChoiceSpec,
    NumberSpec,
    SettingSource,
    epsilon_spec,
    measured_unit_spec,
)
from sfumato.engine.randomness.noisy_statistics import (
    SENSITIVITY_OF_COUNTS,
    SMALLEST_EPSILON,
    KeyedNoise,
    check_epsilon,
)
from sfumato.engine.table.table import MEASURED_UNIT, Attribute, measured_rows, spent_by_unit

_LEAST_EPSILON: Final = 0.1
_MOST_EPSILON: Final = 2.0
_USUAL_SHARE: Final = 0.01
"""Bounds are found well where noise alone leads to less than this share of the records."""
_ALARM: Final = 0.01
"""How often noise alone may widen the bounds."""
_USUAL_STEPS: Final = 40
"""The least number of steps that are proposed between the bounds."""
_LARGEST: Final = 1e12
_MOST_DIGITS: Final = 10**15
"""Bounds in units of the last decimal place lie no further from 0 and from each other."""

_ROUND: Final = np.array([float(f"{m}e{k}") for k in range(-6, 16) for m in (1, 2, 5)])
_EDGES: Final = np.concatenate([-_ROUND[::-1], [0.0], _ROUND])
"""The round numbers. Place 2i + 1 is the i-th of them, and 2i lies below it."""
_PLACES: Final = 2 * len(_EDGES) + 1


class Bounds(StrEnum):
    """Where the bounds come from."""

    NOISY = "noisy"
    """From the table, with noise whose ε0 the promise counts."""
    STATED = "stated"
    """From the custodian, who knows them without the table."""


_FROM_BOUNDS: Final = ("bounds", "bounds_epsilon")
LOWEST: Final = NumberSpec(
    name="lowest",
    title="Lower bound",
    gloss="the lower bound of the numbers, known without this table",
    source=SettingSource.MEASURED,
    follows=_FROM_BOUNDS,
    least=-_LARGEST,
    most=_LARGEST,
    decimals=6,
    step=1.0,
)
HIGHEST: Final = replace(
    LOWEST,
    name="highest",
    title="Upper bound",
    gloss="the upper bound of the numbers, known without this table",
)
STEP: Final = replace(
    LOWEST,
    name="step",
    title="Step between released numbers",
    gloss="the step between released numbers, which divides the range between the bounds",
    hint="Numbers are rounded to it before noise is added; all releases share it.",
    least=0.0,
    above=True,
)
BOUNDS: Final = ChoiceSpec(
    name="bounds",
    title="Where the bounds come from",
    gloss="whether the bounds are measured in the table with noise, or stated",
    source=SettingSource.MEASURED,
    usual=Bounds.STATED,
    titles={Bounds.NOISY: "Measured with noise", Bounds.STATED: Sentence("Stated")},
)
BOUNDS_EPSILON: Final = epsilon_spec(
    name="bounds_epsilon",
    title="ε0 of the bounds",
    gloss="how much measured bounds may disclose of one record, as a privacy loss",
    hint="How much the bounds may disclose of one record. It multiplies anyone's odds"
    " by at most e^ε0; a smaller ε0 leaves more records outside the bounds.",
)
SETTINGS: Final = (LOWEST, HIGHEST, STEP, BOUNDS, BOUNDS_EPSILON, measured_unit_spec(_FROM_BOUNDS))


@dataclass(frozen=True)
class NumberGrid:
    """The numbers that can be released between the bounds, and beyond them in the same steps.

    Parameters
    ----------
    lowest, step
        The lower bound and the step, as exact decimal numbers.
    steps
        K, how many steps lie between the bounds.
    source
        Where the bounds come from.
    epsilon
        ε0 of the bounds; 0 where they are stated.
    """

    lowest: Decimal
    step: Decimal
    steps: int
    source: Bounds
    epsilon: float

    @property
    def highest(self) -> Decimal:
        """The upper bound."""
        return self.lowest + self.step * self.steps

    @cached_property
    def parts(self) -> tuple[int, int, int]:
        """The lower bound and the step as whole numbers, and what they are divided by."""
        exponents = [int(part.normalize().as_tuple().exponent) for part in (self.lowest, self.step)]
        scale = 10 ** max(0, -min(exponents))
        return int(self.lowest * scale), int(self.step * scale), scale

    @property
    def whole(self) -> bool:
        """Whether all released numbers are whole ones."""
        return self.parts[2] == 1

    def places(self, numbers: Floats) -> Codes:
        """Return numbers as steps above the lower bound, those outside as the bound; none missing.

        Returns
        -------
        numpy.ndarray
            Shape (n,), of an unsigned type.
        """
        steps = np.rint((numbers - float(self.lowest)) / float(self.step))
        return np.clip(steps, 0, self.steps).astype(np.uint32)

    def numbers(self, places: Integers) -> Floats:
        """Return the numbers that steps stand for: a quotient of whole numbers, rounded once."""
        lowest, step, scale = self.parts
        return (places * step + lowest) / scale


def grid_of(settings: Settings) -> NumberGrid:
    """Return the grid that settings state.

    Raises
    ------
    PolicyError
        If a setting is missing or impossible.
    """
    for spec in (LOWEST, HIGHEST, STEP):
        spec.check(settings.get(spec.name))
    lowest, highest, step = (_exact(settings[name]) for name in ("lowest", "highest", "step"))
    if not highest > lowest:
        raise PolicyError(
            "The lower bound is not below the upper one.", "Give a lower bound below the upper one."
        )
    steps = (highest - lowest) / step
    if steps != int(steps) or not 1 <= steps <= MOST_STEPS:
        raise PolicyError(
            "Between the bounds lie {count:.6g} {count:step|steps}; it takes a whole number up to"
            " {most:,}.",
            "Choose a step that divides the range, coarse enough.",
            count=float(steps),
            most=MOST_STEPS,
        )
    grid = NumberGrid(lowest, step, int(steps), *source_in(settings))
    if max(abs(part) for part in grid.parts[:2]) * grid.steps > _MOST_DIGITS:
        raise PolicyError(
            "The bounds or the step have too many decimal places.", "Round them to fewer."
        )
    return grid


def source_in(settings: Settings) -> tuple[Bounds, float]:
    """Return where bounds come from, and their ε0.

    Raises
    ------
    PolicyError, LevelError
        If the settings don't say it rightly.
    """
    source = BOUNDS.stated(settings)
    if source is Bounds.STATED:
        return source, 0.0
    epsilon = check_epsilon(settings.get("bounds_epsilon", _LEAST_EPSILON))
    return source, spent_by_unit(epsilon, settings)


def usual_epsilon(records: int) -> float:
    """Return the ε0 that is enough to measure the bounds of so many records."""
    needed = SENSITIVITY_OF_COUNTS * _far() / (_USUAL_SHARE * max(records, 1))
    return min(max(math.ceil(needed * 100) / 100, _LEAST_EPSILON), _MOST_EPSILON)


def within(attribute: Attribute, settings: Settings, most: float) -> dict[str, Any]:
    """Return settings that measure bounds with no larger ε0 than that, rounded down."""
    usual = usual_epsilon(_known(measured_rows((attribute,))[0][0]))
    known = "lowest" in settings and "highest" in settings
    if known or settings.get(BOUNDS.name, Bounds.NOISY) != Bounds.NOISY or usual <= most:
        return dict(settings)
    least = max(math.floor(most * 1000) / 1000, SMALLEST_EPSILON)
    return {**settings, BOUNDS_EPSILON.name: least}


def _known(attribute: Attribute) -> int:
    """Return how many numbers are known."""
    return 0 if attribute.numbers is None else int(np.isfinite(attribute.numbers).sum())


def completed(attribute: Attribute, settings: Settings, noise: KeyedNoise) -> dict[str, Any]:
    """Return settings with bounds and a step; those that are there already stay.

    Raises
    ------
    PolicyError, LevelError
        If the bounds can't be measured, or what is stated does not hold.
    """
    complete = dict(settings)
    if "bounds" not in complete:
        known = "lowest" in complete and "highest" in complete
        complete["bounds"] = (Bounds.STATED if known else Bounds.NOISY).value
    if complete["bounds"] == Bounds.NOISY:
        [measured], unit = measured_rows((attribute,))
        complete.setdefault("bounds_epsilon", usual_epsilon(_known(measured)))
        if not ("lowest" in complete and "highest" in complete):
            lowest, highest = _measured(measured, complete["bounds_epsilon"], noise)
            if unit is not None:
                complete[MEASURED_UNIT] = unit.to_setting()
            complete.setdefault("step", usual_step(lowest, highest))
            complete.update(_widened(lowest, highest, complete["step"]))
    if "step" not in complete and is_number(complete.get("lowest")):
        complete["step"] = usual_step(float(complete["lowest"]), complete.get("highest"))
    grid_of(complete)
    return complete


def usual_step(lowest: float, highest: object) -> float:
    """Return the largest power of ten with at least `_USUAL_STEPS` steps in the range."""
    if not is_number(highest) or not float(highest) > lowest:
        return 1.0
    step = 10.0 ** math.floor(math.log10((float(highest) - lowest) / _USUAL_STEPS) + 1e-9)
    return int(step) if step >= 1.0 else float(f"{step:.0e}")


def _measured(attribute: Attribute, epsilon: float, noise: KeyedNoise) -> tuple[float, float]:
    """Return the bounds between which noisy counts find numbers."""
    check_epsilon(epsilon)
    numbers = attribute.numbers
    known = np.empty(0) if numbers is None else numbers[np.isfinite(numbers)]
    places = np.searchsorted(_EDGES, known, "left") + np.searchsorted(_EDGES, known, "right")
    counts = np.bincount(np.clip(places, 1, _PLACES - 2), minlength=_PLACES)
    shown = noise.counts(f"bounds of {attribute.name}", counts, epsilon)
    enough = SENSITIVITY_OF_COUNTS * _far() / epsilon
    found = np.flatnonzero(np.array(shown) > enough)
    if not len(found):
        raise PolicyError(
            "The bounds of {column} can't be measured: it has too few records for ε0 ="
            " {epsilon:g}.",
            "State the bounds that are known without this table, such as 0 and 120 for an age.",
            column=attribute.name,
            epsilon=epsilon,
        )
    low, high = float(_EDGES[(found[0] - 1) // 2]), float(_EDGES[found[-1] // 2])
    return _plain(low), _plain(high)


def _widened(lowest: float, highest: float, step: object) -> dict[str, float]:
    """Return measured bounds that whole steps lie between: -0.000001 and 100 become -1 and 100."""
    bounds = {"lowest": lowest, "highest": highest}
    if is_number(step) and float(step) > 0:
        size = _exact(step)
        for name, rounding in (("lowest", ROUND_FLOOR), ("highest", ROUND_CEILING)):
            steps = (_exact(bounds[name]) / size).to_integral_value(rounding)
            bounds[name] = _plain(float(steps * size))
    return bounds


def _far() -> float:
    """Return how many times its size discrete Laplace noise reaches in none of the places."""
    return math.log(_PLACES / (2.0 * _ALARM))


def _plain(number: float) -> float:
    return int(number) if number.is_integer() else number


def _exact(number: Any) -> Decimal:
    """Return the decimal number that somebody wrote."""
    return Decimal(repr(float(number)))
