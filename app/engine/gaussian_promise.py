"""What a release with Gaussian noise promises, in words and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from app.engine.gaussian_levels import Uncertainty, chance_to_tell_apart
from app.engine.gaussian_settings import GaussianSettings, Noise
from app.engine.mechanisms.base import Fact, Promise
from app.engine.wording import Sentence, listed

_NAMED: Final = 3

_LIMITS: Final = (
    "The widths are those of the best linear estimate, for numbers that are about normally"
    " distributed. Where few values occur, or groups lie far apart, somebody who knows that can"
    " do better than a linear estimate.",
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
    " the other attributes; the widths above allow for that."
)

_ROUNDED: Final = (
    "Several rounded or clipped releases together can tell slightly more than the most trusted"
    " of them, but never more than it would tell without rounding and clipping. The widths above"
    " are those without."
)


def promise_of(names: Sequence[str], settings: GaussianSettings, level: float) -> Promise:
    """Return what a release promises, computed from the covariance that the noise is made from.

    Parameters
    ----------
    names
        The attributes' names.
    settings
        Their moments, and the noise.
    level
        σ².
    """
    uncertainty = Uncertainty(settings)
    widths = uncertainty.half_widths(level).tolist()
    without = uncertainty.half_widths_without().tolist()
    told = [
        Sentence("{name} within ± {width}", name=name, width=at_least(w))
        for name, w in zip(names, widths, strict=True)
    ]
    untold = [f"± {at_least(width)}" for width in without]
    many = len(names) > _NAMED
    sentence = Sentence(
        "Whoever knows how the numbers are distributed and sees this release can "
        "tell a person's {widths}{more} at best, with 90 % confidence. Without the "
        "release it is {without}.",
        widths=listed(told[:_NAMED]),
        more=Sentence(" (and so on)") if many else "",
        without=listed(untold[:_NAMED]),
    )
    limits: tuple[str, ...] = _LIMITS
    if settings.noise is Noise.SEPARATE and settings.size > 1:
        limits = (*limits, _SEPARATE)
    if any(form.changes for form in settings.forms):
        limits = (*limits, _ROUNDED)
    return Promise(sentence, _facts(names, settings, level, uncertainty), limits)


def told_apart_over_editions(levels: Sequence[float]) -> str:
    """Say how often a guess between two histories is right, one spread apart in each edition.

    Noise that is independent from edition to edition counts by its precision: all of it tells
    the histories apart as one release with σ² = 1/Σ(1/σ²) would.

    Parameters
    ----------
    levels
        σ² of the most trusted release of each edition.
    """
    together = chance_to_tell_apart(1.0 / sum(1.0 / level for level in levels))
    return Sentence(
        "Between two values, one standard deviation apart, the best guess is right {one} of the"
        " time where the value stayed, and {together} at worst where it was another in each"
        " edition and each time one standard deviation apart.",
        one=_share_rounded_up(chance_to_tell_apart(min(levels))),
        together=_share_rounded_up(together),
    )


def _share_rounded_up(share: float) -> str:
    return f"{min(1.0, math.ceil(share * 1000 - 1e-9) / 1000):.1%}"


def _facts(
    names: Sequence[str], settings: GaussianSettings, level: float, uncertainty: Uncertainty
) -> tuple[Fact, ...]:
    spreads = settings.moments.spreads.tolist()
    widths = uncertainty.half_widths(level).tolist()
    without = uncertainty.half_widths_without().tolist()
    facts = [
        Fact("σ²", "Noise level", level, "The variance of the noise, relative to the data's."),
        Fact(
            "D",
            "Normalized error",
            uncertainty.normalized_error(level),
            "The share of an attribute's variance that the best linear estimate leaves open.",
        ),
        Fact(
            "Φ",
            "Chance to tell two values apart",
            chance_to_tell_apart(level),
            "How often the best guess between two values, one standard deviation apart, is right;"
            " 0.5 is chance. It holds for any distribution, for one attribute's noise alone.",
        ),
    ]
    for name, spread, width, blind in zip(names, spreads, widths, without, strict=True):
        facts += [
            Fact(
                "σ",
                Sentence("Noise added to {name}", name=name),
                spread * math.sqrt(level),
                "The noise's standard deviation, in the column's unit.",
            ),
            Fact(
                "±",
                Sentence("Uncertainty about {name}", name=name),
                width,
                "The best linear estimate is off by less with 90 % confidence.",
            ),
            Fact(
                "±",
                Sentence("Uncertainty about {name} without the release", name=name),
                blind,
                "The mean is off by less with 90 % confidence.",
            ),
        ]
    return tuple(facts)


def at_least(number: float) -> str:
    """Return a positive number rounded down to three digits, so that "at least" stays true."""
    digits = 2 - math.floor(math.log10(number))
    if digits <= 0:
        scale = 10.0**-digits
        return f"{math.floor(number / scale + 1e-9) * scale:,.0f}"
    if digits > 12:
        return f"{number:.2e}"
    return f"{math.floor(number * 10.0**digits + 1e-9) / 10.0**digits:,.{digits}f}"
