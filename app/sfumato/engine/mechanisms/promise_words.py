"""What releases promise, and what they don't, in the words that several mechanisms share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.matrices.privacy import rho2_of_gamma
from sfumato.engine.mechanisms.base import PromiseFigure

LIMITS = (
    "How values are distributed in a group of records can be estimated, the better the larger"
    " the group. That is what the release is for.",
    "Whoever knows that records depend on one another (relatives, visits of one person) can"
    " learn more from several of them together.",
    "That somebody is in the table, and the columns that are released as they are, stay visible,"
    " with all that these tell of the others.",
)
"""What no perturbation of single records promises."""


MISSING_VISIBLE = "Which numbers are missing stays visible."
"""What no noise on numbers promises."""


BY_BOUNDS = "The published bounds multiply anyone's odds by at most e^ε0."


TELL_OF_EACH_OTHER = Sentence(
    "Attributes that depend on each other tell about each other, so whoever holds several may learn"
    " more of one than its own promise says."
)
"""What the promise of one attribute leaves open where several are released."""


_LARGEST_TOLD: Final = 13.8
"""Odds beyond a million say no more than ε does."""


USUAL_RHO1 = 0.1
"""The belief beforehand for which ρ2 is shown when nobody has stated one."""


def highest_belief(gamma: float) -> PromiseFigure:
    """Return how probable at most becomes, by odds multiplied by γ, what hardly anybody held so."""
    return PromiseFigure(
        "ρ2",
        Sentence("Highest belief after {belief:g}", belief=USUAL_RHO1),
        rho2_of_gamma(gamma, USUAL_RHO1),
        Sentence(
            "Whoever held something to be at most {belief:g} probable comes to "
            "hold it at most this probable.",
            belief=USUAL_RHO1,
        ),
    )


def kept_this_often(retention: float) -> PromiseFigure:
    """Return the retention probability as a figure behind a promise."""
    said = "A value is kept on purpose this often."
    return PromiseFigure("p", "Retention probability", retention, said)


def all_told(name: str) -> Sentence:
    """Return the promise of a release of true values."""
    return Sentence("This release shows everyone's true {name}: it promises nothing.", name=name)


def nothing_told(name: str) -> Sentence:
    """Return the promise of a release of nothing but noise."""
    return Sentence(
        "This release says nothing about anyone's {name}: all of it is random.", name=name
    )


def losses_added(losses: Sequence[float]) -> str:
    """Say the sum of the losses ε of editions that each show a value with draws of its own."""
    if not math.isfinite(sum(losses)):
        return ""
    return Sentence(
        "If it is known that its value was another in each edition, the loss about which ones is ε"
        " = {total} at worst, where it is {one} for a value that is known to have stayed. No"
        " figure bounds what is revealed about whether it stayed.",
        total=formatted(math.ceil(sum(losses) * 1000 - 1e-9) / 1000, ".4g"),
        one=formatted(math.ceil(max(losses) * 1000 - 1e-9) / 1000, ".4g"),
    )


def told_by_all(losses: Mapping[str, float | None], whom: str) -> str:
    """Say what several attributes tell together; empty for fewer than two that count.

    Parameters
    ----------
    losses
        ε of each; infinite where true values are shown, None where no odds are bounded.
    whom
        Whose odds they change.
    """
    counted = {key: loss for key, loss in losses.items() if loss is not None}
    others = [key for key, loss in losses.items() if loss is None]
    if len(counted) < 2:
        return ""
    total, keys = sum(counted.values()), listed(list(counted))
    if math.isinf(total):
        true = listed([key for key, loss in counted.items() if math.isinf(loss)])
        said = Sentence("True values of {true} are shown: ε has no bound.", true=true)
    elif total > _LARGEST_TOLD:
        said = Sentence(
            "{keys} together: ε = {total} for {whom}, the sum over them.",
            keys=keys,
            total=at_most(total),
            whom=whom,
        )
    else:
        said = Sentence(
            "{keys} together multiply the odds on anything about {whom} by at most {odds}"
            " (ε = {total}, the sum over them).",
            keys=keys,
            whom=whom,
            odds=at_most(math.exp(total)),
            total=at_most(total),
        )
    if not others:
        return said
    names = listed(others)
    return joined(said, Sentence("Not counted, as noise bounds no odds: {names}.", names=names))


def at_most(gamma: float) -> str:
    """Return γ rounded up to a few digits, so that "at most" stays true."""
    decimals = 2 if gamma < 2.0 else 1 if gamma < 100.0 else 0
    scale = 10**decimals
    shown = math.ceil(gamma * scale - 1e-9) / scale
    return formatted(shown, ",.0f" if decimals == 1 and shown.is_integer() else f",.{decimals}f")
