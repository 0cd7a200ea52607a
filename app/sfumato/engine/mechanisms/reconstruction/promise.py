"""What a release by reconstruction privacy promises, about groups and about records."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.base import Fact, Promise
from sfumato.engine.mechanisms.categorical import LIMITS, CategoricalMechanism, at_most
from sfumato.engine.mechanisms.reconstruction.privacy import Rule, allowed_size
from sfumato.engine.mechanisms.reconstruction.sizes import Limits, Sampling
from sfumato.engine.mechanisms.reconstruction.tails import release_tails
from sfumato.engine.table.table import Attribute

_LARGE: Final = 1 << 40
"""A group so large that copying its sample rounds nothing."""

_MOST_NAMED: Final = 3

_MANY_GROUPS = (
    "How values are distributed over many groups together can be estimated, the better the more"
    " groups there are. That is what the release is for."
)

_ONE_COLUMN = (
    "In a group that is resampled, values are dealt out to its rows anew: there they no longer"
    " belong to what else stands in their row, such as another sensitive column."
)

_ONE_EDITION = (
    "The promise about groups is for one edition of the table. Another edition draws other"
    " records, so both together tell more about a group."
)

_COPIES_SHOW = (
    "As published, how many records of a group are drawn follows from its largest share, and the"
    " number of copies shows it. Whoever knows the procedure can read from it how much of a group"
    " shares one value. Draw blindly to close this."
)

_OTHERS_KNOWN = (
    "As published, the same share of every value is drawn. Whoever already knows everybody else in"
    " a resampled group can learn more about the last person than the odds factor says."
)


def promise_of(level: float, attribute: Attribute, limits: Limits) -> Promise:
    """Return the promise of a release.

    Parameters
    ----------
    level
        Its retention probability p.
    attribute
        The sensitive attribute, with its groups where they are known.
    limits
        What was asked of every group; they can be kept.
    """
    if level == 0.0:
        return Promise(
            Sentence(
                "This release says nothing about anyone's {attribute}: all of it is random.",
                attribute=attribute.name,
            ),
            facts_of(level, limits),
            LIMITS[1:],
        )
    sentence = joined(
        _about_groups(level, attribute, limits), _about_records(level, attribute, limits)
    )
    return Promise(sentence, facts_of(level, limits), _limits(limits))


def facts_of(level: float, limits: Limits) -> tuple[Fact, ...]:
    """Return the figures behind the promise."""
    missed, explanation = _missed(limits)
    return (
        Fact(
            "error", "Relative error", limits.epsilon, "What counts as a wrong estimate of a share."
        ),
        Fact("side", "Probability on each side", limits.delta, _side_explained(limits)),
        Fact("Pr", "Least true probability of a wrong estimate", missed, explanation),
        Fact("p", "Retention probability", level, "A value is kept on purpose this often."),
        *_record_facts(limits),
    )


def _record_facts(limits: Limits) -> tuple[Fact, ...]:
    """Return what one draw tells."""
    facts = CategoricalMechanism.matrix_facts(
        uniform_matrix(limits.retention, limits.size_of_domain)
    )
    if limits.sampling is Sampling.PUBLISHED:
        gamma = next(fact for fact in facts if fact.symbol == "γ")
        one = "No draw multiplies anyone's odds on the value it was made from by more."
        return (replace(gamma, title="Odds factor of one draw", explanation=one),)
    return facts


def times(probability: float) -> str:
    """Return a probability as a sentence says it: "one time in three", or a percentage."""
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 8: "eight", 10: "ten"}
    for number, word in words.items():
        if 1.0 / number <= probability < 1.0 / number + 0.02:
            return Sentence("one time in {word}", word=Sentence(word))
    share = math.floor(probability * 1000 + 1e-9) / 10
    return Sentence("{share:g} % of the time", share=share)


def on_each_side(delta: float) -> str:
    """Return what the exact test keeps of δ, for every value of every group (`passes`)."""
    return Sentence(
        "too high at least {delta:.3g} % of the time and too low as often, or, where a value is"
        " too rare for both, on one side at least {nearly:.3g} % of the time",
        delta=100.0 * delta,
        nearly=100.0 * (1.0 - delta),
    )


def _side_explained(limits: Limits) -> str:
    if limits.rule is not Rule.EXACT:
        return "As you asked for it; the test bounds it from above, not from below."
    return (
        "An estimate is too high at least so often, and too low at least so often. Where a value"
        " is too rare for both, it is off on one side with the rest of this probability to 1."
    )


def _about_groups(level: float, attribute: Attribute, limits: Limits) -> str:
    groups = attribute.groups
    named = list(groups.names[:_MOST_NAMED]) if groups is not None else []
    if groups is not None and len(groups.names) > _MOST_NAMED:
        named.append(Sentence("all else that is public"))
    alike = (
        Sentence("alike in {columns}", columns=listed(named))
        if named
        else Sentence("alike in every public column")
    )
    missed, _ = _missed(limits)
    below = level < limits.retention
    whence = Sentence(" from the most trusted release") if below else ""
    after = Sentence(" This release is made from that one, so it tells no more.") if below else ""
    off = Sentence("is off by more than {epsilon:.0%}", epsilon=limits.epsilon)
    if limits.rule is Rule.EXACT:
        return Sentence(
            "For any group of people {alike}, an estimate{whence} of how many share a "
            "value of {attribute} {off} at least {missed}: {sides}.{after}",
            alike=alike,
            whence=whence,
            attribute=attribute.name,
            off=off,
            missed=times(missed),
            sides=on_each_side(limits.delta),
            after=after,
        )
    return Sentence(
        "For any group of people {alike}, Chernoff's bound can't show that an "
        "estimate{whence} of how many share a value of {attribute} {off} less "
        "often than {delta}. The true probability can be as low as "
        "{missed:.2%}.{after}",
        alike=alike,
        whence=whence,
        attribute=attribute.name,
        off=off,
        delta=times(limits.delta),
        missed=missed,
        after=after,
    )


def _about_records(level: float, attribute: Attribute, limits: Limits) -> str:
    if limits.sampling is Sampling.PUBLISHED:
        top = uniform_matrix(limits.retention, limits.size_of_domain)
        return Sentence(
            "Each value that is shown was perturbed once, which multiplies anyone's "
            "odds on the value it was made from by at most {gamma}.",
            gamma=at_most(top.gamma),
        )
    top = uniform_matrix(limits.retention, limits.size_of_domain)
    sentence = Sentence(
        "Whatever anyone believed about a person's {attribute}, this release "
        "multiplies the odds by at most {gamma}",
        attribute=attribute.name,
        gamma=at_most(top.gamma),
    )
    if level >= limits.retention:
        return Sentence("{sentence}.", sentence=sentence)
    whole = uniform_matrix(level, limits.size_of_domain)
    return Sentence(
        "{sentence}, and by at most {gamma} in groups that are not resampled.",
        sentence=sentence,
        gamma=at_most(whole.gamma),
    )


def _limits(limits: Limits) -> tuple[str, ...]:
    found = [_MANY_GROUPS, *LIMITS[1:], _ONE_COLUMN, _ONE_EDITION]
    if limits.sampling is Sampling.PUBLISHED:
        found += [_COPIES_SHOW, _OTHERS_KNOWN]
    return tuple(found)


def _missed(limits: Limits) -> tuple[float, str]:
    """Return the least true probability of a wrong estimate, and how it is known."""
    if limits.rule is Rule.EXACT:
        return limits.least_missed, "Computed exactly; no group falls below it."
    return (
        _least_by_bound(limits),
        "The published test bounds this probability from above, which keeps it from nothing.",
    )


@lru_cache(maxsize=64)
def _least_by_bound(limits: Limits) -> float:
    """Return how rarely an estimate is off in the worst of some groups that a bound lets pass."""
    p, m = limits.retention, limits.size_of_domain
    shares = np.linspace(0.1, 1.0, 10)
    asked = np.ones(10) if limits.sampling is Sampling.BLIND else shares
    allowed = allowed_size(limits.rule, p, m, asked, limits.epsilon, limits.delta)
    samples = np.clip(allowed, 1, 10_000).astype(np.int64)
    counts = np.round(shares * _LARGE).astype(np.int64)
    found = release_tails(np.full(10, _LARGE), counts, samples, p, m, limits.epsilon)
    return float(found.total.min())
