"""How believable released numbers are, given the law of the noise: tests without keys.

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
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from sfumato.engine.mechanisms.gaussian.settings import NumberForm

Floats = npt.NDArray[np.float64]

_CELLS: Final = 20
_LEAST_EXPECTED: Final = 10
_FAR: Final = 40.0


@dataclass(frozen=True)
class Noise:
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
            law: Floats = special.ndtr(noise / self.spread)
            return law
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
    return float(special.chdtrc(cells - 1, statistic))


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
    integral: Floats = score * special.ndtr(score) + density
    return integral
