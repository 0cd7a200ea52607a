"""What a release with Gaussian noise promises, in words and figures.

How closely the table's own numbers can be told is measured by
`sfumato.engine.disclosure.noise_law`. Of all attackers only this is proved: two values of an
attribute that lie d apart, and seemed equally likely, are told apart from one release with
probability Φ(d/(2s)) at most (the likelihood-ratio test; Neyman and Pearson 1933). Here s is the
standard deviation of the attribute's noise given the noise of all others, 1/√((σ²·K)⁻¹)_ii, so
that it holds for somebody who knows the person's other numbers as well, whatever the numbers'
distribution. Where the covariance was measured in the table with a privacy loss of ε0, it can
have moved the odds of the
two by e^ε0 before; then the best test is right with probability π·Φ(x/2 + ε0/x) + (1−π)·Φ(x/2 −
ε0/x) at most, with x = d/s and π/(1−π) = e^ε0.

The linear attacker of the paper knows μ_X and K_X and makes the best linear estimate from one
release. With noise
proportional to K_X the error has covariance σ²/(1+σ²)·K_X (Li, Chen, Li and Zhang, TKDE 2012,
equation 8). With separate noise, correlated attributes help to estimate one another; then the
error's covariance is K − K·(K + σ²·D)⁻¹·K with D the diagonal of K (equation 7), and the share
that is left of each attribute's variance is computed from the correlations. The half-widths are
those of this estimate for numbers that are normally distributed; of others somebody can be surer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.disclosure.noise_law import listed_widths
from sfumato.engine.ladders.brownian import HIGHEST, first_level
from sfumato.engine.mechanisms.base import Promise, PromiseFigure
from sfumato.engine.mechanisms.gaussian.settings import (
    CovarianceSource,
    GaussianSettings,
    NoiseDependence,
)
from sfumato.engine.mechanisms.promise_words import LIMITS, MISSING_VISIBLE, at_most

WITHIN_90: Final = 1.6448536269514722
"""A normal error lies within so many standard deviations with 90 % confidence."""

SHARES: Final = (0.75, 0.9, 0.99)
"""Distances are told at which guesses are right so often, the first that ε0 leaves room for."""

_TOLERATED: Final = 1.0 - 1e-12
"""A level restated and read again is the same level, whatever was rounded on the way."""


class Uncertainty:
    """What noise levels leave an attacker with.

    Parameters
    ----------
    settings
        The covariance of the attributes, and how the noise hangs together.
    """

    def __init__(self, settings: GaussianSettings) -> None:
        self._spreads = settings.spreads
        self._factor = settings.factor
        self._epsilon = settings.epsilon
        self._vectors: Floats | None = None
        self._values: Floats | None = None
        if settings.noise is NoiseDependence.SEPARATE and settings.size > 1:
            covariance = settings.covariance
            correlation = covariance / self._spreads / self._spreads[:, np.newaxis]
            values, vectors = np.linalg.eigh(correlation)
            self._values, self._vectors = np.maximum(values, 0.0), vectors

    def remaining(self, level: float) -> Floats:
        """Return the share that is left of each attribute's variance, shape (N,).

        Parameters
        ----------
        level
            σ².
        """
        if self._values is None or self._vectors is None:
            return np.full(len(self._spreads), level / (1.0 + level))
        return np.square(self._vectors) @ (self._values * level / (self._values + level))

    def own_noise(self, level: float) -> Floats:
        """Return the spread of each attribute's noise given all other attributes', shape (N,)."""
        inverse = np.linalg.inv(self._factor / self._spreads[:, np.newaxis])
        return self._spreads * math.sqrt(level) / np.linalg.norm(inverse, axis=0)

    @property
    def share(self) -> float | None:
        """How often two values are told apart at the distances of `indistinct`.

        None where ε0 alone can tell nearly all of them apart.
        """
        return next((s for s in SHARES if self._epsilon <= 0.5 * math.log(s / (1.0 - s))), None)

    def indistinct(self, level: float) -> Floats:
        """Return how far apart two values are that are told apart as often as `share`, (N,).

        Nobody does so more often, whatever else they know of the person; see above.
        """
        share, low, high = self.share, 0.0, 10.0
        if share is None:
            return np.zeros(len(self._spreads))
        while high - low > 1e-12:
            middle = (low + high) / 2.0
            apart = right_guesses(middle, self._epsilon) > share
            low, high = (low, middle) if apart else (middle, high)
        return low * self.own_noise(level)

    def chance_to_tell_apart(self, level: float) -> float:
        """Return how often a guess between two values, one spread apart, is right at most."""
        own = self.own_noise(level) / self._spreads
        return right_guesses(1.0 / float(own.min()), self._epsilon)

    def normalized_error(self, level: float) -> float:
        """Return the smallest of the attributes' shares: the attacker's best success."""
        return float(self.remaining(level).min())

    def half_widths(self, level: float) -> Floats:
        """Return how far off the linear attacker is at most for 90 % of normal numbers."""
        return WITHIN_90 * self._spreads * np.sqrt(self.remaining(level))

    def half_widths_without(self) -> Floats:
        """Return how far off somebody is who knows μ_X and K_X and has no release."""
        return WITHIN_90 * self._spreads

    def level_for_error(self, error: float) -> float:
        """Return the level that leaves at least this normalized error.

        Raises
        ------
        LevelError
            If the error is not above 0 and below 1, or takes more noise than there is.
        """
        if not 0.0 < error < 1.0:
            raise LevelError(
                "The normalized error {error:g} is not between 0 and 1.",
                "Give a number above 0 (the original) and below 1 (nothing is told).",
                error=error,
            )
        wanted = error * _TOLERATED
        level = first_level(lambda noise: self.normalized_error(noise) >= wanted)
        if level is None:
            raise LevelError(
                "The normalized error {error} takes more noise than can be added.",
                "Give at most {largest:.6g}.",
                error=error,
                largest=self.normalized_error(HIGHEST),
            )
        return level

    def level_for_half_width(self, width: float) -> float:
        """Return the level that leaves the attacker this unsure of the first attribute.

        Raises
        ------
        LevelError
            If the width is not positive, or even nobody without a release is as unsure.
        """
        if not 0.0 < width < math.inf:
            raise LevelError("The width ± {width:g} is not above 0.", "Widen it.", width=width)
        wanted = width * _TOLERATED
        level = first_level(lambda noise: float(self.half_widths(noise)[0]) >= wanted)
        if level is None:
            raise LevelError(
                "No noise leaves anyone as unsure as ± {width:g}: whoever knows how the numbers"
                " are distributed, and has no release at all, knows them within ± {most:.4g}.",
                "Give a smaller width.",
                width=width,
                most=float(self.half_widths_without()[0]),
            )
        return level


def right_guesses(apart: float, epsilon: float) -> float:
    """Return how often the best guess between two values is right at most; see above.

    Parameters
    ----------
    apart
        How far they lie apart, in standard deviations of the noise.
    epsilon
        ε0 of what is known beside the released value.
    """
    if math.isinf(epsilon):
        return 1.0
    likelier = 1.0 / (1.0 + math.exp(-epsilon))
    if apart <= 0.0:
        return likelier
    half, tilt = apart / math.sqrt(8.0), epsilon / apart / math.sqrt(2.0)
    first, second = 0.5 * math.erfc(-half - tilt), 0.5 * math.erfc(-half + tilt)
    return likelier * first + (1.0 - likelier) * second


_MUCH: Final = 1.5
"""An ε0 above it is no small change of anyone's odds any more: more than 4 times."""

_LIMITS: Final = (
    "How closely a number can be told depends on how all of them are distributed, which somebody"
    " may know: where few values occur, groups lie far apart or most numbers are small beside a few"
    " large ones, it can be told far more closely than the noise is wide.",
    "A number that lies far from everyone's stays recognizable: noise is as large for it as for"
    " all others.",
    "How numbers are distributed in a group of records, and how they depend on one another, can"
    " be estimated, the better the larger the group. That is what the release is for.",
    *LIMITS[1:],
    MISSING_VISIBLE,
)

_SEPARATE: Final = (
    "Noise that does not vary as the attributes do can partly be filtered out with the help of"
    " the other attributes."
)

_ROUNDED: Final = (
    "Several rounded or clipped releases together can tell slightly more than the most trusted"
    " of them, but never more than it would tell without rounding and clipping."
)


def promise_of(names: Sequence[str], settings: GaussianSettings, level: float) -> Promise:
    """Return what a release promises, computed from the covariance that the noise is made from.

    Parameters
    ----------
    names
        The attributes' names.
    settings
        The noise.
    level
        σ².
    """
    uncertainty = Uncertainty(settings)
    limits: tuple[str, ...] = _LIMITS
    if settings.noise is NoiseDependence.SEPARATE and settings.size > 1:
        limits = (*limits, _SEPARATE)
    if any(form.changes for form in settings.forms):
        limits = (*limits, _ROUNDED)
    measured = measured_sentence(names, settings)
    if measured:
        limits = (measured, *limits)
    sentence = _sentence(names, settings, level, uncertainty)
    return Promise(sentence, _facts(names, settings, level, uncertainty), limits)


_TIMES: Final = ("3 times in 4", "9 times in 10", "99 times in 100")
"""In words, how often each of `SHARES` is."""


def _sentence(
    names: Sequence[str], settings: GaussianSettings, level: float, uncertainty: Uncertainty
) -> Sentence:
    if settings.measured is CovarianceSource.EXACT:
        return measured_sentence(names, settings)
    added = Sentence(
        "Noise is added, with a standard deviation of {noise}.",
        noise=listed_widths("{width} for {name}", names, settings.spreads * math.sqrt(level)),
    )
    share = uncertainty.share
    if share is None:
        return joined(added, Sentence("Nothing is promised beyond that."))
    told = Sentence(
        "Of two values of {distances} that seemed equally likely, nobody can tell from this release"
        " which is a person's more often than {times}, whatever else they know{others}.",
        distances=listed_widths("{name} up to {width} apart", names, uncertainty.indistinct(level)),
        times=Sentence(_TIMES[SHARES.index(share)]),
        others=Sentence(", even the person's other numbers") if settings.size > 1 else "",
    )
    return joined(added, told)


def measured_sentence(names: Sequence[str], settings: GaussianSettings) -> Sentence:
    """Say what the size of the noise tells of the table; empty where it is stated."""
    if settings.measured is CovarianceSource.STATED:
        return Sentence("")
    if settings.measured is CovarianceSource.EXACT:
        return Sentence(
            "The size of the noise on {names} was computed from the exact numbers of the table"
            " and is published with every release: anyone who knows all other records can work"
            " out a person's numbers from it. Measure it again, with noise.",
            names=listed(names),
        )
    if settings.epsilon > _MUCH:
        return Sentence(
            "The size of the noise on {names} was measured in the table and is published. The"
            " table is so small that this can multiply anyone's odds on a person's numbers by"
            " {odds} (ε0 = {epsilon:g}). If the spreads are known without the table, state them.",
            names=listed(names),
            odds=at_most(math.exp(settings.epsilon)),
            epsilon=settings.epsilon,
        )
    return Sentence(
        "The size of the noise on {names} was measured in the table, with noise, and is"
        " published: that multiplies anyone's odds on a person's numbers by at most {odds} (ε0 ="
        " {epsilon:g}). The figures above include it.",
        names=listed(names),
        odds=at_most(math.exp(settings.epsilon)),
        epsilon=settings.epsilon,
    )


def told_apart_over_editions(settings: GaussianSettings, levels: Sequence[float]) -> str:
    """Say how often a guess between two histories is right, one spread apart in each edition.

    Noise that is independent from edition to edition counts by its precision: all of it tells
    the histories apart as one release with σ² = 1/Σ(1/σ²) would.

    Parameters
    ----------
    settings
        The noise.
    levels
        σ² of the most trusted release of each edition.
    """
    chance = Uncertainty(settings).chance_to_tell_apart
    together = chance(1.0 / sum(1.0 / level for level in levels))
    return Sentence(
        "Between two values one published standard deviation apart, the best guess is right {one}"
        " of the time if the value stayed the same, and at worst {together} if it changed with"
        " every edition, each time between values one such deviation apart.",
        one=_share_rounded_up(chance(min(levels))),
        together=_share_rounded_up(together),
    )


def _share_rounded_up(share: float) -> str:
    return formatted(min(1.0, math.ceil(share * 1000 - 1e-9) / 1000), ".1%")


def _facts(
    names: Sequence[str], settings: GaussianSettings, level: float, uncertainty: Uncertainty
) -> tuple[PromiseFigure, ...]:
    facts = [
        PromiseFigure(
            "σ²", "Noise level", level, "The variance of the noise, relative to the published one."
        ),
        PromiseFigure(
            "D",
            "Normalized error at the published variance",
            uncertainty.normalized_error(level),
            "The share of an attribute's variance that the best linear estimate leaves unexplained,"
            " if the numbers vary as is published with the noise. Where they vary more, as numbers"
            " with far extremes do, it leaves less; so can an estimate that is not linear.",
        ),
        PromiseFigure(
            "Φ",
            "Chance to tell two values apart",
            uncertainty.chance_to_tell_apart(level),
            "How often the best guess between two values, one published standard deviation apart,"
            " is right at most; 0.5 is chance. It holds for any distribution, and for somebody who"
            " knows the person's other numbers.",
        ),
    ]
    noise = settings.spreads * math.sqrt(level)
    distances, share = uncertainty.indistinct(level).tolist(), uncertainty.share
    if 0.0 < settings.epsilon < math.inf:
        told = "The published size of the noise multiplies anyone's odds by at most e^ε0."
        facts.append(
            PromiseFigure("ε0", "Privacy loss of the noise's size", settings.epsilon, told)
        )
    for name, spread, distance in zip(names, noise.tolist(), distances, strict=True):
        title = Sentence("Noise added to {name}", name=name)
        facts.append(
            PromiseFigure("σ", title, spread, "Its standard deviation, in the column's unit.")
        )
        if share is None:
            continue
        times = Sentence(_TIMES[SHARES.index(share)])
        facts.append(
            PromiseFigure(
                "d",
                Sentence("Told apart {times}: {name}", times=times, name=name),
                distance,
                Sentence(
                    "Two values so far apart, equally likely before, are told apart no more often"
                    " than {times}, whatever the distribution and whatever else is known.",
                    times=times,
                ),
            )
        )
    return tuple(facts)
