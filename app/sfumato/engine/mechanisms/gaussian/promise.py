"""What a release with Gaussian noise promises, in words and figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.disclosure.number_widths import width_without, widths_with
from sfumato.engine.mechanisms.base import Fact, Promise
from sfumato.engine.mechanisms.gaussian.levels import SHARES, Uncertainty
from sfumato.engine.mechanisms.gaussian.settings import GaussianSettings, Measured, Noise

Floats = npt.NDArray[np.float64]

_NAMED: Final = 3

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
    "Whoever knows that records depend on one another (relatives, visits of one person) can"
    " learn more from several of them together.",
    "That somebody is in the table, which numbers are missing, and the columns that are released"
    " as they are, stay visible.",
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
    if settings.noise is Noise.SEPARATE and settings.size > 1:
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
    if settings.measured is Measured.EXACT:
        return measured_sentence(names, settings)
    added = Sentence(
        "Noise with a standard deviation of {noise} is added.",
        noise=_listed("{width} to {name}", names, settings.spreads * math.sqrt(level)),
    )
    share = uncertainty.share
    if share is None:
        return joined(added, Sentence("Nothing is promised beyond that."))
    told = Sentence(
        "Of two values of {distances} that seemed equally likely, nobody can tell from this release"
        " which is a person's more often than {times}, whatever else they know{others}.",
        distances=_listed("{name} up to {width} apart", names, uncertainty.indistinct(level)),
        times=Sentence(_TIMES[SHARES.index(share)]),
        others=Sentence(", even the person's other numbers") if settings.size > 1 else "",
    )
    return joined(added, told)


def measured_sentence(names: Sequence[str], settings: GaussianSettings) -> Sentence:
    """Say what the size of the noise tells of the table; empty where it is stated."""
    if settings.measured is Measured.STATED:
        return Sentence("")
    if settings.measured is Measured.EXACT:
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
            odds=_at_most(math.exp(settings.epsilon)),
            epsilon=settings.epsilon,
        )
    return Sentence(
        "The size of the noise on {names} was measured in the table, with noise, and is"
        " published: that multiplies anyone's odds on a person's numbers by at most {odds} (ε0 ="
        " {epsilon:g}). The figures above include it.",
        names=listed(names),
        odds=_at_most(math.exp(settings.epsilon)),
        epsilon=settings.epsilon,
    )


def _at_most(factor: float) -> str:
    return f"{math.ceil(factor * 100 - 1e-9) / 100:,.3g}" if factor < 100 else f"{factor:,.0f}"


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
        "Between two values one standard deviation apart, the best guess is right {one} of the"
        " time if the value stayed the same, and at worst {together} if it changed with every"
        " edition, each time between values one standard deviation apart.",
        one=_share_rounded_up(chance(min(levels))),
        together=_share_rounded_up(together),
    )


def _share_rounded_up(share: float) -> str:
    return f"{min(1.0, math.ceil(share * 1000 - 1e-9) / 1000):.1%}"


def in_table(
    names: Sequence[str], true: Floats, settings: GaussianSettings, level: float
) -> Sentence:
    """Return how closely the table's numbers can be told, computed from its rows.

    It is for the custodian: what follows from the exact table never leaves with a release.

    Parameters
    ----------
    names
        The attributes' names.
    true
        Their numbers, not a number where missing, shape (N, n).
    settings
        The noise.
    level
        σ².
    """
    reached = widths_with(true, settings.factor * math.sqrt(level))
    if np.isnan(reached).any():
        return Sentence("")
    return Sentence(
        "In this table, an attacker who knows how the numbers are distributed can at best place"
        " 90 in 100 people's {widths}; without any release, {without}.",
        widths=_listed("{name} within ± {width}", names, reached),
        without=_listed("± {width}", names, [width_without(column) for column in true]),
    )


def _listed(template: str, names: Sequence[str], widths: Iterable[float]) -> str:
    """Return one phrase for each of the first attributes, as a list in a sentence."""
    told: list[str] = [
        Sentence(template, name=name, width=at_least(float(width)))
        for name, width in zip(names, widths, strict=True)
    ]
    if len(told) > _NAMED:
        return Sentence("{some} (and so on)", some=listed(told[:_NAMED]))
    return listed(told)


def _facts(
    names: Sequence[str], settings: GaussianSettings, level: float, uncertainty: Uncertainty
) -> tuple[Fact, ...]:
    facts = [
        Fact("σ²", "Noise level", level, "The variance of the noise, relative to the data's."),
        Fact(
            "D",
            "Normalized error",
            uncertainty.normalized_error(level),
            "The share of an attribute's variance that the best linear estimate leaves open, where"
            " numbers vary as the noise does. An estimate that is not linear can leave less.",
        ),
        Fact(
            "Φ",
            "Chance to tell two values apart",
            uncertainty.chance_to_tell_apart(level),
            "How often the best guess between two values, one standard deviation apart, is right"
            " at most; 0.5 is chance. It holds for any distribution, and for somebody who knows the"
            " person's other numbers.",
        ),
    ]
    noise = settings.spreads * math.sqrt(level)
    distances, share = uncertainty.indistinct(level).tolist(), uncertainty.share
    if 0.0 < settings.epsilon < math.inf:
        told = "The published size of the noise multiplies anyone's odds by at most e^ε0."
        facts.append(Fact("ε0", "Privacy loss of the noise's size", settings.epsilon, told))
    for name, spread, distance in zip(names, noise.tolist(), distances, strict=True):
        title = Sentence("Noise added to {name}", name=name)
        facts.append(Fact("σ", title, spread, "Its standard deviation, in the column's unit."))
        if share is None:
            continue
        times = Sentence(_TIMES[SHARES.index(share)])
        facts.append(
            Fact(
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


def at_least(number: float) -> str:
    """Return a number from 0 on, rounded down to three digits, so that "at least" stays true."""
    if number <= 0.0:
        return "0"
    digits = 2 - math.floor(math.log10(number))
    if digits <= 0:
        scale = 10.0**-digits
        return f"{math.floor(number / scale + 1e-9) * scale:,.0f}"
    if digits > 12:
        return f"{number:.2e}"
    return f"{math.floor(number * 10.0**digits + 1e-9) / 10.0**digits:,.{digits}f}"
