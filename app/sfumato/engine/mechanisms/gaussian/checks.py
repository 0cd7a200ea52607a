"""Examining released numbers against what Gaussian noise would make of them, without keys.

Given the number before, a released number has a known distribution. Its place in it, from 0 to
1, is uniform over all records (probability integral transform); a rounded or clipped number
occupies an interval, of which the middle is taken, or to which the record is spread evenly.
Both only narrow the law down (Jensen's inequality), so the tests err on the side of believing:

* the mean of the places, and their product with other numbers, by Hoeffding's bound for sums of
  variables that are at most as spread as a uniform one;
* the numbers of places in equal cells by Pearson's statistic;
* the product of two attributes' noises by Chernoff's bound, exact for normal variables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats
from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.goodness_of_fit import ALARM, FALSE_ALARM
from sfumato.engine.mechanisms.base import Check, check_rows
from sfumato.engine.mechanisms.gaussian.settings import GaussianSettings, NumberForm, rounded

_CELLS: Final = 20
_LEAST_EXPECTED: Final = 10
_FAR: Final = 40.0


@dataclass(frozen=True)
class AttributeNoise:
    """One attribute's noise: what it was added to, what came out, and its law.

    Parameters
    ----------
    name
        The attribute's name.
    origin, shown
        The numbers before and after, shape (k,), none missing.
    spread
        The noise's standard deviation.
    form
        What the numbers after may look like.
    blur
        How far at most the numbers before were moved by a rounding.
    """

    name: str
    origin: Floats
    shown: Floats
    spread: float
    form: NumberForm
    blur: float = 0.0

    @property
    def places(self) -> tuple[Floats, Floats]:
        """Return the interval of places, from 0 to 1, that each shown number stands for."""
        below, above = reach(self.shown, self.form)
        return self._law(below - self.origin), self._law(above - self.origin)

    def _law(self, noise: Floats) -> Floats:
        """Return the probability of less noise: normal, or normal plus a rounding's error."""
        if self.blur == 0.0:
            return scipy.special.ndtr(noise / self.spread)
        far = self.blur + _FAR * self.spread
        noise = np.clip(noise, -far, far)
        high, low = (noise + self.blur) / self.spread, (noise - self.blur) / self.spread
        blurred: Floats = (
            (integral_of_normal(high) - integral_of_normal(low)) * self.spread / (2.0 * self.blur)
        )
        return np.clip(blurred, 0.0, 1.0)


def chance_of_sum(weights: Floats, middles: Floats) -> float:
    """Bound the chance of a weighted sum of centred places at least as far from 0."""
    length = float(weights @ weights)
    if length == 0.0:
        return 1.0
    score = float(weights @ (middles - 0.5)) / math.sqrt(length / 12.0)
    return min(1.0, 2.0 * math.exp(-0.5 * score * score))


def chance_of_shape(low: Floats, high: Floats) -> float:
    """Return the chance that places spread less evenly over equal cells; 1 if too few."""
    cells = min(_CELLS, len(low) // _LEAST_EXPECTED)
    if cells < 2:
        return 1.0
    width = np.maximum(high - low, np.finfo(np.float64).tiny)
    below = [float(np.clip((edge / cells - low) / width, 0.0, 1.0).sum()) for edge in range(cells)]
    counts = np.diff([*below, float(len(low))])
    expected = len(low) / cells
    statistic = float(np.square(counts - expected).sum() / expected)
    return float(scipy.special.chdtrc(cells - 1, statistic))


def chance_of_product(mean: float, correlation: float, count: int) -> float:
    """Bound the chance that a mean of products of two standard normals is as far off.

    The logarithm of E[exp(t·z1·z2)] is −½·ln(1 − 2tρ − t²(1−ρ²)); the best t makes its
    derivative equal to the mean.
    """
    own = 1.0 - correlation**2
    square, linear, constant = mean * own, 2.0 * mean * correlation + own, correlation - mean
    if abs(square) < 1e-12:
        tilt = -constant / linear if linear else 0.0
    else:
        root = math.sqrt(max(linear**2 - 4.0 * square * constant, 0.0))
        tilt = -2.0 * constant / (linear + root) if linear + root else 0.0
    inside = 1.0 - 2.0 * tilt * correlation - tilt**2 * own
    if not inside > 0.0:
        return 0.0
    exponent = -0.5 * math.log(inside) - tilt * mean
    return min(1.0, 2.0 * math.exp(min(0.0, count * exponent)))


def reach(shown: Floats, form: NumberForm) -> tuple[Floats, Floats]:
    """Return between which numbers each shown one lay before it was rounded and clipped."""
    half = 0.0 if form.step is None else form.step / 2.0
    below, above = shown - half, shown + half
    if form.lowest is not None:
        clipped = shown <= form.lowest
        edge = form.lowest
        if form.step is not None:
            edge = math.floor(edge / form.step + 1e-9) * form.step + half
        below, above = np.where(clipped, -np.inf, below), np.where(clipped, edge, above)
    if form.highest is not None:
        clipped = shown >= form.highest
        edge = form.highest
        if form.step is not None:
            edge = math.ceil(edge / form.step - 1e-9) * form.step - half
        below, above = np.where(clipped, edge, below), np.where(clipped, np.inf, above)
    return below, above


def integral_of_normal(score: Floats) -> Floats:
    """Return the integral of the normal distribution function up to a score."""
    density = np.exp(-0.5 * np.square(score)) / math.sqrt(2.0 * math.pi)
    return score * scipy.special.ndtr(score) + density


_CELL_LIMIT: Final = 1e-9
"""Far out, cells that expect ten records have a heavier tail than chi-square, see
`sfumato.engine.matrices.goodness_of_fit`."""

_FINE_STEP: Final = 0.5
"""Roundings up to so many standard deviations of the noise leave products of noises alone."""

_SLOPE: Final = 0.3
"""How many standard errors a rounding of the upper release may move a test of a pair."""


def check_noise(
    names: Sequence[str],
    true: Floats,
    columns: Sequence[pd.Series],
    settings: GaussianSettings,
    level: float,
) -> tuple[Check, ...]:
    """Examine released columns against the true ones.

    Parameters
    ----------
    names
        The attributes' names.
    true
        Their true values, NaN where missing, shape (N, n).
    columns
        The released columns.
    settings
        The noise's covariance and the numbers' form.
    level
        σ² of the release.
    """
    rows = _check_lengths(true.shape[1], columns, "the table")
    shown, numbers = _numbers_of(names, columns)
    if shown is None or not rows.holds:
        return rows, numbers
    gaps = _check_missing(names, np.isnan(true), np.isnan(shown), "the table")
    checks = (rows, numbers, gaps, *_check_forms(names, shown, settings.forms))
    if not all(check.holds for check in checks):
        return checks
    spreads = np.sqrt(level * np.diagonal(settings.noise_covariance))
    noises = [
        AttributeNoise(
            names[i], true[i][~np.isnan(true[i])], shown[i][~np.isnan(true[i])], float(s), form
        )
        for i, (s, form) in enumerate(zip(spreads, settings.forms, strict=True))
    ]
    return *checks, *_check_law(noises), *_check_products(names, true, shown, settings, level)


def check_noise_between(
    names: Sequence[str],
    upper: Sequence[pd.Series],
    upper_level: float,
    lower: Sequence[pd.Series],
    lower_level: float,
    settings: GaussianSettings,
) -> tuple[Check, ...]:
    """Examine whether one release is another with noise added.

    On the ladder the lower release differs from the upper one by noise of covariance
    (σ²_lower − σ²_upper)·K that is independent of it (Li et al. 2012, Theorem 5).

    Parameters
    ----------
    names
        The attributes' names.
    upper, lower
        The released columns of the more and of the less trusted release.
    upper_level, lower_level
        σ² of each, the first one not above the second.
    settings
        The noise's covariance and the numbers' form.
    """
    rows = _check_lengths(len(upper[0]), (*upper, *lower), "the more trusted release")
    above, above_numbers = _numbers_of(names, upper, "Values of the more trusted release")
    below, below_numbers = _numbers_of(names, lower, "Values of the less trusted release")
    checks = (rows, above_numbers, below_numbers)
    if above is None or below is None or not rows.holds:
        return checks
    gaps = _check_missing(names, np.isnan(above), np.isnan(below), "the more trusted release")
    if not gaps.holds:
        return *checks, gaps
    if upper_level == lower_level:
        return *checks, gaps, _check_same(above, below)
    spreads = np.sqrt(np.diagonal(settings.noise_covariance)).tolist()
    between = [
        _between(name, above[i], below[i], spreads[i], upper_level, lower_level, settings.forms[i])
        for i, name in enumerate(names)
    ]
    law = _check_law([noise for noise in between if noise is not None])
    left_out = [name for name, noise in zip(names, between, strict=True) if noise is None]
    if left_out:
        law = (*law, _not_examined(left_out))
    products = _check_products(names, above, below, settings, lower_level - upper_level)
    return *checks, gaps, *law, *products


def _between(
    name: str,
    above: Floats,
    below: Floats,
    spread: float,
    upper_level: float,
    lower_level: float,
    form: NumberForm,
) -> AttributeNoise | None:
    """Return the noise between two releases of an attribute; None where rounding hides it."""
    added = spread * math.sqrt(lower_level - upper_level)
    known = ~np.isnan(above)
    for bound in (form.lowest, form.highest):
        # A clipped number does not tell what it was before.
        known &= above != bound if bound is not None else True
    blur = 0.0 if form.step is None else form.step / 2.0
    origin = above[known]
    varied = float(origin.std()) if len(origin) else 0.0
    if blur and blur**2 / 3.0 * math.sqrt(len(origin)) > _SLOPE * varied * added:
        return None
    return AttributeNoise(name, origin, below[known], added, form, blur)


def _check_law(noises: Sequence[AttributeNoise]) -> tuple[Check, ...]:
    """Examine the noises' means, their shapes and whether they know of the values."""
    if not noises:
        return ()
    middles = [(noise, *noise.places) for noise in noises]
    means = [chance_of_sum(np.ones(len(low)), (low + high) / 2.0) for _, low, high in middles]
    values = [
        chance_of_sum(_centred(noise.origin), (low + high) / 2.0) for noise, low, high in middles
    ]
    shapes = [chance_of_shape(low, high) for _, low, high in middles]
    return (
        _worst("Centre of the noise", "as far off 0", noises, means, FALSE_ALARM),
        _worst("Size and shape of the noise", "as differently spread", noises, shapes, _CELL_LIMIT),
        _worst("Independence", "that goes as much with the values", noises, values, FALSE_ALARM),
    )


def _centred(numbers: Floats) -> Floats:
    return numbers - numbers.mean() if len(numbers) else numbers


def _worst(
    title: str, what: str, noises: Sequence[AttributeNoise], chances: Sequence[float], limit: float
) -> Check:
    """Return one check for all attributes: the least believable one decides."""
    place = int(np.argmin(chances))
    chance = min(1.0, chances[place] * len(chances))
    finding = Sentence(
        "The least usual is the noise of {name}: noise {what} has a chance of "
        "{chance:.2g} at most. {alarm}",
        name=noises[place].name,
        what=what,
        chance=chance,
        alarm=ALARM,
    )
    return Check(title, chance >= limit, finding)


def _check_products(
    names: Sequence[str], origin: Floats, shown: Floats, settings: GaussianSettings, level: float
) -> tuple[Check, ...]:
    """Examine the noises' variances and covariances, of all attributes where it is possible."""
    spreads = np.sqrt(level * np.diagonal(settings.noise_covariance))
    fine = [
        form.lowest is None
        and form.highest is None
        and (form.step is None or form.step <= _FINE_STEP * spread)
        for form, spread in zip(settings.forms, spreads, strict=True)
    ]
    pairs = [
        (one, other)
        for one in range(len(names))
        for other in range(one + 1)
        if fine[one] and fine[other]
    ]
    if not pairs:
        return ()
    chances = [_product_chance(*pair, origin, shown, settings, level) for pair in pairs]
    place = int(np.argmin(chances))
    chance = min(1.0, chances[place] * len(chances))
    one, other = pairs[place]
    which = (
        names[one]
        if one == other
        else Sentence("{names} and {names_2}", names=names[other], names_2=names[one])
    )
    finding = Sentence(
        "The least usual is the noise of {which}: a variance or covariance as far "
        "off has a chance of {chance:.2g} at most. {alarm}",
        which=which,
        chance=chance,
        alarm=ALARM,
    )
    return (Check("Covariance of the noise", chance >= FALSE_ALARM, finding),)


def _product_chance(
    one: int, other: int, origin: Floats, shown: Floats, settings: GaussianSettings, level: float
) -> float:
    """Bound the chance of a mean product of two noises at least as far from their covariance."""
    places = [one, other]
    noise = shown[places] - origin[places]
    noise = noise[:, ~np.isnan(noise).any(axis=0)]
    covariance = level * settings.noise_covariance[np.ix_(places, places)]
    steps = np.array([settings.forms[place].step or 0.0 for place in places])
    variances = np.diagonal(covariance) + steps**2 / 12.0
    scale = math.sqrt(variances[0] * variances[1])
    correlation = float(np.clip(covariance[0, 1] / scale, -1.0, 1.0))
    if not noise.shape[1]:
        return 1.0
    mean = float(noise[0] @ noise[1]) / noise.shape[1] / scale
    return chance_of_product(mean, correlation, noise.shape[1])


def _check_lengths(expected: int, columns: Sequence[pd.Series], whose: str) -> Check:
    found = next((len(column) for column in columns if len(column) != expected), expected)
    return check_rows(expected, found, whose)


def _numbers_of(
    names: Sequence[str], columns: Sequence[pd.Series], title: str = "Released values"
) -> tuple[Floats | None, Check]:
    """Return released columns as numbers, shape (N, n), if that is what they hold."""
    numbers = []
    for name, column in zip(names, columns, strict=True):
        found = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = (np.isnan(found) & ~column.isna().to_numpy()) | np.isinf(found)
        if wrong.any():
            finding = Sentence(
                "{outside:,} {outside:value|values} of {name}"
                " {outside:is not a number|are not numbers}, first in row {first:,}.",
                outside=int(wrong.sum()),
                name=name,
                first=int(wrong.argmax()) + 1,
            )
            return None, Check(title, False, finding)
        numbers.append(found)
    if len({len(column) for column in numbers}) > 1:
        return None, Check(title, False, "The columns have different numbers of records.")
    return np.array(numbers), Check(title, True, "All values are numbers.")


def _check_missing(names: Sequence[str], expected: Flags, found: Flags, whose: str) -> Check:
    for name, wanted, seen in zip(names, expected, found, strict=True):
        differing = np.flatnonzero(wanted != seen)
        if len(differing):
            finding = Sentence(
                "{differing:,} {differing:record|records} of {name} {differing:is|are} missing"
                " here and not in {whose}, or the other way round, first in row {first:,}.",
                differing=len(differing),
                name=name,
                whose=whose,
                first=int(differing[0]) + 1,
            )
            return Check("Missing numbers", False, finding)
    return Check.passed(
        "Missing numbers", "They are missing where they are in {whose}.", whose=whose
    )


def _check_forms(
    names: Sequence[str], shown: Floats, forms: Sequence[NumberForm]
) -> tuple[Check, ...]:
    """Examine whether numbers are rounded and clipped as they should be, where they should."""
    if not any(form.changes for form in forms):
        return ()
    for name, numbers, form in zip(names, shown, forms, strict=True):
        within = replace(form, step=None)
        wrong = ~np.isnan(numbers) & (within.apply(numbers) != numbers)
        if form.step is not None:
            off = np.abs(rounded(numbers, form.step) - numbers) > 1e-9 * form.step
            # A clipped number is the bound, whether or not that is a multiple of the step.
            wrong |= off & (numbers != form.lowest) & (numbers != form.highest)
        if wrong.any():
            finding = Sentence(
                "{outside:,} {outside:number|numbers} of {name} {outside:is|are} not rounded or"
                " clipped as stated, first in row {first:,}.",
                outside=int(wrong.sum()),
                name=name,
                first=int(wrong.argmax()) + 1,
            )
            return (Check("Rounding and bounds", False, finding),)
    return (Check("Rounding and bounds", True, "All numbers are rounded and clipped as stated."),)


def _check_same(above: Floats, below: Floats) -> Check:
    differing = np.flatnonzero(((above != below) & ~np.isnan(above)).any(axis=0))
    if len(differing):
        finding = Sentence(
            "{differing:,} {differing:record differs|records differ} from the other release of"
            " this level, first in row {first:,}.",
            differing=len(differing),
            first=int(differing[0]) + 1,
        )
    else:
        finding = Sentence(
            "Every record shows the same numbers as the other release of this level."
        )
    return Check("Equal values", len(differing) == 0, finding)


def _not_examined(names: Sequence[str]) -> Check:
    return Check.passed(
        "Coarsely rounded numbers",
        "The noise between the two releases of {names} can't be examined: they are "
        "rounded too coarsely. Each can be examined against the table.",
        names=", ".join(names),
    )
