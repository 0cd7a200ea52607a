"""How much rounding and clipping tell a coalition: by Bayes' rule, record by record.

Two roundings of a ladder's copies are no ladder: each says where in the other's step a number
lay. For one attribute, the likelihood of all rounded numbers of a record is an integral over
the numbers before rounding, and these form a Markov chain: it is found by going along the chain
once, each step an integral over one interval. The attacker knows the distribution and takes the
posterior mean, from all copies or from the best one as they were rounded; beside it stands the
best one without rounding, which nobody can beat.

`sfumato.engine.mechanisms.postprocessing` measures linear estimates, of several attributes
and from what a mechanism releases; on one attribute's own numbers, this attacker is the strongest
there can be.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats
from sfumato.engine.disclosure.gaussian_attack import Prior, empirical_prior, posterior_means
from sfumato.engine.ladders.brownian import brownian_motion, check_noise_level
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.gaussian.checks import integral_of_normal, reach
from sfumato.engine.mechanisms.gaussian.settings import FORM_SETTINGS, NumberForm, settings_of
from sfumato.engine.mechanisms.postprocessing import (
    Forming,
    FormLeaks,
    RoundingLeak,
    measure_form_leak,
)
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.table.table import Attributes

_HALF: Final = np.linspace(0.0, 1.0, 21)
"""Where, from an end of an interval to its middle, numbers before rounding are looked at."""

_NARROW: Final = 0.02
"""An interval that is narrower beside the noise counts as a point."""

_FAR: Final = 8.0
"""An interval without an end is followed so many spreads of the noise beyond every true number."""

_MOST_RECORDS: Final = 2_000
_MOST_ATOMS: Final = 300
_BLOCK: Final = 100


def rounding_leak(
    true: Floats, spread: float, levels: Sequence[float], form: NumberForm, context: Context
) -> RoundingLeak:
    """Measure what a coalition gains from an attribute's rounded copies.

    Parameters
    ----------
    true
        The attribute's true numbers, NaN where missing, shape (n,). The attacker knows how they
        are distributed.
    spread
        The standard deviation of the noise at σ² = 1.
    levels
        σ² of the copies that the coalition holds, each once.
    form
        The rounding and the bounds.
    context
        Told of the progress; may stop the work.

    Raises
    ------
    LevelError
        If a level is not positive.
    EstimationError
        If there is no level, or no number.
    """
    rungs = sorted({check_noise_level(level) for level in levels})
    present = true[~np.isnan(true)]
    if not rungs or not len(present):
        raise EstimationError("There is nothing to measure.", "Choose a copy and an attribute.")
    prior = empirical_prior(present[np.newaxis], _MOST_ATOMS)
    rows = np.linspace(0, len(present) - 1, min(len(present), _MOST_RECORDS)).astype(np.intp)
    chosen = _nearest(present[rows], prior.atoms[0])
    copies = chosen + spread * _motion(chosen, rungs, Part(context, 0.0, 0.1))
    shown = form.apply(copies)
    plain = posterior_means(
        copies[:1], rungs[0], prior, np.array([[spread]]), Part(context, 0.1, 0.3)
    )[0]
    together = _estimates(shown, spread, rungs, form, prior, Part(context, 0.3, 0.8))
    best = _estimates(shown[:1], spread, rungs[:1], form, prior, Part(context, 0.8, 1.0))
    variance = float(chosen.var()) or 1.0
    gains = (np.square(best - chosen) - np.square(together - chosen)) / variance
    return RoundingLeak(
        float(np.square(plain - chosen).mean()) / variance,
        float(np.square(best - chosen).mean()) / variance,
        float(np.square(together - chosen).mean()) / variance,
        float(gains.std()) / math.sqrt(len(chosen)),
        len(chosen),
    )


def _nearest(numbers: Floats, atoms: Floats) -> Floats:
    """Return for each number the nearest one that the attacker reckons with."""
    after = np.clip(np.searchsorted(atoms, numbers), 1, len(atoms) - 1) if len(atoms) > 1 else 0
    before = np.maximum(after - 1, 0)
    nearer = np.abs(atoms[before] - numbers) <= np.abs(atoms[after] - numbers)
    return np.where(nearer, atoms[before], atoms[after])


def _motion(true: Floats, levels: Sequence[float], context: Context) -> Floats:
    """Return noise of a ladder under a key that everyone knows: nothing of it is released."""
    key = AttributeKey(hashlib.sha256(b"what rounding tells").digest())
    ids = np.arange(len(true), dtype=np.uint64)
    return brownian_motion(true[np.newaxis], ids, key, levels, context)[:, 0]


def _estimates(
    shown: Floats,
    spread: float,
    levels: Sequence[float],
    form: NumberForm,
    prior: Prior,
    context: Context,
) -> Floats:
    """Return the posterior mean of each record given rounded copies, shape (n,)."""
    rows = shown.shape[1]
    estimates = np.empty(rows)
    for start in range(0, rows, _BLOCK):
        context.report(start / rows, "Measuring what rounding tells")
        part = slice(start, start + _BLOCK)
        likelihood = likelihoods(shown[:, part], spread, levels, form, prior.atoms[0])
        chances = likelihood * prior.shares
        estimates[part] = chances @ prior.atoms[0] / chances.sum(axis=1)
    context.report(1.0, "Measuring what rounding tells")
    return estimates


def likelihoods(
    shown: Floats, spread: float, levels: Sequence[float], form: NumberForm, atoms: Floats
) -> Floats:
    """Return how probable each record's rounded numbers are for each true number.

    Parameters
    ----------
    shown
        Rounded and clipped copies, least noise first, shape (M, n).
    spread
        The standard deviation of the noise at σ² = 1.
    levels
        σ² of each, increasing, at least one.
    form
        The rounding and the bounds.
    atoms
        The true numbers in question, shape (A,).

    Returns
    -------
    numpy.ndarray
        Up to a factor for each record, shape (n, A).
    """
    nodes = np.empty(0)
    ahead = np.empty(0)
    # From the atoms' middle: beside years or times of day, noise would be lost to rounding.
    middle = float(atoms.mean())
    atoms = atoms - middle
    steps = np.sqrt(np.diff([0.0, *levels])) * spread
    for copy in range(len(levels) - 1, -1, -1):
        below, above = reach(shown[copy], form)
        own = spread * math.sqrt(levels[copy])
        low, high = _closed(below - middle, above - middle, own, atoms)
        here = _places(low, high, float(steps[min(copy + 1, len(levels) - 1)]))
        if copy + 1 == len(levels):
            nodes, ahead = here, np.ones_like(here)
            continue
        seen = _expected(here, nodes, float(steps[copy + 1]), ahead)
        # Far from where the other copy lies, next to nothing is probable: only ratios count.
        largest = np.maximum(seen.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        nodes, ahead = here, seen / largest
    everywhere = np.broadcast_to(atoms, (len(nodes), len(atoms)))
    return _expected(everywhere, nodes, float(steps[0]), ahead)


def _expected(start: Floats, nodes: Floats, scale: float, values: Floats) -> Floats:
    """Return what normal noise meets on average in an interval, from each of some starts.

    Between the nodes, the values are taken to be straight lines, whose integrals with the
    normal density are exact: it does not matter how fine the nodes lie beside the noise.

    Parameters
    ----------
    start
        Shape (n, S).
    nodes
        Where in the interval values are known, increasing, shape (n, G).
    scale
        The noise's standard deviation.
    values
        Shape (n, G).

    Returns
    -------
    numpy.ndarray
        Shape (n, S).
    """
    score = (nodes[:, np.newaxis, :] - start[:, :, np.newaxis]) / scale
    below = scipy.special.ndtr(score)
    # Twice integrated density, its slope between the nodes, and how the slope changes.
    risen = scale * integral_of_normal(score)
    slope = np.diff(risen, axis=2) / np.diff(nodes, axis=1)[:, np.newaxis, :]
    slope = np.concatenate([below[:, :, :1], slope, below[:, :, -1:]], axis=2)
    expected: Floats = np.einsum("rsg,rg->rs", np.diff(slope, axis=2), values)
    # Beside much noise an interval is a point: differences would be lost to rounding.
    width = nodes[:, -1] - nodes[:, 0]
    narrow = width < _NARROW * scale
    if narrow.any():
        middle = (nodes[narrow, :1] + nodes[narrow, -1:]) / 2.0
        density = np.exp(-0.5 * np.square((middle - start[narrow]) / scale))
        mean = np.trapezoid(values[narrow], nodes[narrow], axis=1) / width[narrow]
        expected[narrow] = density * mean[:, np.newaxis]
    return np.maximum(expected, 0.0)


def _closed(low: Floats, high: Floats, spread: float, atoms: Floats) -> tuple[Floats, Floats]:
    """Return between which numbers a copy's lay before, cut off where none can lie."""
    far, tiny = _FAR * spread, 1e-9 * spread
    # A bound may lie among the true numbers: whoever shows it can lie far beyond.
    low = np.where(np.isinf(low), np.minimum(high, atoms.min()) - far, low)
    high = np.where(np.isinf(high), np.maximum(low, atoms.max()) + far, high)
    return low, np.maximum(high, low + tiny)


def _places(low: Floats, high: Floats, scale: float) -> Floats:
    """Return where intervals are looked at: towards their ends as closely as the noise asks for.

    All copies are rounded alike, so the interval of the next one is this one or lies beyond an
    end. What noise makes of it varies within a few scales of the ends, and farther inside as
    slowly as the larger noise of later copies does: distances grow like a hyperbolic sine.

    Parameters
    ----------
    low, high
        The ends, shape (n,).
    scale
        The standard deviation of the noise between this copy and the next.

    Returns
    -------
    numpy.ndarray
        Increasing, shape (n, G).
    """
    half = (high - low)[:, np.newaxis] / 2.0
    inwards = scale * np.sinh(np.arcsinh(half / scale) * _HALF)
    return np.hstack([low[:, np.newaxis] + inwards, high[:, np.newaxis] - inwards[:, -2::-1]])


def clipped_moments(numbers: Floats, spread: float, form: NumberForm) -> tuple[Floats, Floats]:
    """Return the mean and the variance of numbers with normal noise, cut off at bounds.

    Parameters
    ----------
    numbers
        The numbers before the noise, shape (n,).
    spread
        The standard deviation of the noise, above 0.
    form
        The bounds.
    """
    mean, square = np.zeros_like(numbers), np.zeros_like(numbers)
    below, above = np.zeros_like(numbers), np.ones_like(numbers)
    # In spreads from the number: a standard normal variable cut off at both ends.
    if form.lowest is not None:
        low = (form.lowest - numbers) / spread
        below, density = scipy.special.ndtr(low), np.exp(-0.5 * low**2) / math.sqrt(2.0 * math.pi)
        mean += low * below + density
        square += low**2 * below + low * density
    if form.highest is not None:
        high = (form.highest - numbers) / spread
        above, density = scipy.special.ndtr(high), np.exp(-0.5 * high**2) / math.sqrt(2.0 * math.pi)
        mean += high * (1.0 - above) - density
        square += high**2 * (1.0 - above) - high * density
    square += above - below
    return numbers + spread * mean, spread**2 * np.maximum(square - mean**2, 0.0)


_LINEAR = 0.2
"""The part of the work that linear estimates are."""


class GaussianForming(Forming):
    """Rounds and clips numbers after the noise."""

    def forms(self, attributes: Attributes, settings: Settings) -> bool:
        """Return whether any attribute has a step or a bound."""
        return any(form.changes for form in settings_of(attributes, settings).forms)

    def rounding_variances(self, attributes: Attributes, settings: Settings) -> Floats:
        """Return a twelfth of each squared step (Sheppard 1898): noise spreads numbers evenly."""
        forms = settings_of(attributes, settings).forms
        return np.array([(form.step or 0.0) ** 2 / 12.0 for form in forms])

    def shown_moments(
        self, numbers: Floats, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[Floats, Floats]:
        """Return each number's mean and variance with noise, rounded and clipped, shape (N, n)."""
        read = settings_of(attributes, settings)
        noise = check_noise_level(level) * np.diagonal(read.noise_covariance)
        noise = noise + self.rounding_variances(attributes, settings)
        means, variances = np.array(numbers), np.repeat(noise[:, np.newaxis], numbers.shape[1], 1)
        for place, form in enumerate(read.forms):
            if form.lowest is not None or form.highest is not None:
                spread = math.sqrt(noise[place])
                means[place], variances[place] = clipped_moments(numbers[place], spread, form)
        return means, variances

    def form_leaks(
        self,
        levels: Sequence[float],
        attributes: Attributes,
        settings: Settings,
        context: Context,
    ) -> FormLeaks | None:
        """Measure the leak by linear estimates of all attributes, and by Bayes' rule of each."""
        read = settings_of(attributes, settings)
        changed = [place for place, form in enumerate(read.forms) if form.changes]
        if not changed:
            return None
        plain = {name: value for name, value in settings.items() if name not in FORM_SETTINGS}
        both = {"formed": settings, "plain": plain}
        linear = measure_form_leak(self, attributes, both, levels, Part(context, 0.0, _LINEAR))
        spreads, bayes = read.spreads.tolist(), {}
        share = (1.0 - _LINEAR) / len(changed)
        for done, place in enumerate(changed):
            numbers = attributes[place].numbers
            start = _LINEAR + share * done
            if numbers is not None:
                bayes[attributes[place].name] = rounding_leak(
                    numbers,
                    spreads[place],
                    levels,
                    read.forms[place],
                    Part(context, start, start + share),
                )
        return FormLeaks(linear, bayes)
