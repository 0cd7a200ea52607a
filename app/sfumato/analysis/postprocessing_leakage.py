"""What rounding and bounds tell somebody who pools releases, in plain words and in figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.gaussian.rounding_leakage import RoundingLeak
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeak, FormLeaks

NOTICED: Final = 0.0005
"""A smaller share of the variance drowns in what the measurement itself is off by."""

_BOUND: Final = (
    "Pooling never tells more than the most trusted release alone would tell without rounding and"
    " bounds."
)
_CHANCE: Final = " What pooling gains can't be told from chance."


def form_leak_sentences(leaks: FormLeaks) -> tuple[str, ...]:
    """Return what was measured, for the attributes that lose most, and what can't be exceeded."""
    return (*_linear(leaks.linear), *_bayes(leaks.bayes), Sentence(_BOUND))


def _linear(leaks: tuple[FormLeak, ...]) -> tuple[str, ...]:
    if not leaks:
        return (Sentence("There are too few records to measure what linear estimates tell."),)
    worst = max(leaks, key=lambda found: found.leak)
    gain = Sentence(_CHANCE)
    if worst.leak >= NOTICED:
        gain = Sentence(" Pooling gains {leak:.2f} %.", leak=100.0 * worst.leak)
    told = Sentence(
        "Measured on {rows:,} records: the best linear estimate from the most trusted release"
        " leaves {alone:.1f} % of the variance of {name} open, from all releases together"
        " {together:.1f} %; without rounding and bounds it would be {plain:.1f} %.{gain}",
        rows=worst.rows,
        name=worst.attribute,
        alone=100.0 * worst.alone,
        together=100.0 * worst.together,
        plain=100.0 * worst.plain,
        gain=gain,
    )
    return (told,)


def _bayes(leaks: Mapping[str, RoundingLeak]) -> tuple[str, ...]:
    if not leaks:
        return ()
    name = max(leaks, key=lambda each: leaks[each].leak)
    worst = leaks[name]
    gain = Sentence(_CHANCE)
    if worst.leak >= max(NOTICED, 2.0 * worst.error):
        gain = Sentence(
            " Pooling gains {leak:.2f} ± {error:.2f} %.",
            leak=100.0 * worst.leak,
            error=200.0 * worst.error,
        )
    told = Sentence(
        "By Bayes' rule, for somebody who knows how {name} is distributed and how it was rounded,"
        " on {records:,} records: {best:.1f} %, from all together {together:.1f} %; without"
        " rounding and bounds it would be {plain:.1f} %.{gain} On the numbers of {name} alone, no"
        " attack is stronger.",
        name=name,
        records=worst.records,
        best=100.0 * worst.best,
        together=100.0 * worst.together,
        plain=100.0 * worst.plain,
        gain=gain,
    )
    return (told,)


def form_leaks_plain(leaks: FormLeaks) -> dict[str, Any]:
    """Return what was measured as plain JSON values: shares of each attribute's variance."""
    return {
        "linear": [
            {
                "attribute": leak.attribute,
                "records": leak.rows,
                "without rounding": leak.plain,
                "alone": leak.alone,
                "together": leak.together,
            }
            for leak in leaks.linear
        ],
        "bayes": [
            {
                "attribute": name,
                "records": leak.records,
                "without rounding": leak.plain,
                "alone": leak.best,
                "together": leak.together,
                "gain ±": leak.error,
            }
            for name, leak in leaks.bayes.items()
        ],
    }
