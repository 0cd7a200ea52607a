"""What a release by reconstruction privacy promises, about groups and about records.

Releases are examined against the true table, without keys. Whole groups are perturbed row by row
and are examined as any such release. In a resampled group only the totals mean something: how
often each value is shown.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
import pandas as pd
import scipy

from sfumato.engine.core.columns import Codes, Domain
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.values import Floats, Indices, Integers
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.disclosure.group_privacy import PrivacyTest, allowed_size
from sfumato.engine.disclosure.group_tails import release_tails
from sfumato.engine.matrices.goodness_of_fit import FALSE_ALARM
from sfumato.engine.matrices.privacy import whole_odds
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.base import Check, PromiseFigure
from sfumato.engine.mechanisms.categorical import CategoricalMechanism, check_against_table
from sfumato.engine.mechanisms.promise_words import (
    BY_BOUNDS,
    LIMITS,
    at_most,
    kept_this_often,
    nothing_told,
)
from sfumato.engine.mechanisms.reconstruction.limits import GroupLimits, GroupSampling
from sfumato.engine.table.micro_groups import MicroGroups, value_counts
from sfumato.engine.table.table import Attribute

_LARGE: Final = 1 << 40
"""A group so large that copying its sample rounds nothing."""

_MOST_NAMED: Final = 3

_MANY_GROUPS = (
    "How values are distributed over many groups together can be estimated, the better the more"
    " groups there are. That is what the release is for."
)

_ONE_COLUMN = (
    "In a group that is resampled, values are assigned to its rows at random: there they no longer"
    " belong to the rest of their row, such as another sensitive column."
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


def sentence_of(
    level: float, attribute: Attribute, limits: GroupLimits, spent: float = 0.0
) -> Sentence:
    """Say what a release promises.

    Parameters
    ----------
    level
        Its retention probability p.
    attribute
        The sensitive attribute, with its groups where they are known.
    limits
        What was asked of every group; they can be kept.
    spent
        ε0 of the bounds on shares; 0 where none were measured.
    """
    if level == 0.0:
        return nothing_told(attribute.name)
    about = [_about_groups(level, attribute, limits), *_about_shares(limits, spent)]
    return joined(*about, _about_records(level, attribute, limits, spent))


def shares_measured(name: str, spent: float) -> Sentence:
    """Say that bounds on shares were measured, and what that tells."""
    return Sentence(
        "How many records of a group are drawn follows from bounds on the largest share of"
        " {name} in groups, which were measured in the table with noise and are published: that"
        " multiplies anyone's odds by at most {odds} (ε0 = {epsilon:g}). The figures above"
        " include it.",
        name=name,
        odds=at_most(math.exp(spent)),
        epsilon=spent,
    )


def _about_shares(limits: GroupLimits, spent: float) -> tuple[Sentence, ...]:
    """Return under which bounds on shares the promise about groups is made."""
    bounds = limits.bounds
    if bounds is None:
        return ()
    if not bounds.measured:
        [(least, share)] = bounds.shares
        words = (
            "Of groups of at least {least:,} {least:record|records} this is said because it is"
            " known without the table that no value has more than {share:.3g} % of them."
        )
        return (Sentence(words, least=least, share=100.0 * share),)
    words = (
        "More records are drawn where bounds on the largest share, measured with noise, allow it"
        " (ε0 = {epsilon:g}). A bound is too low with a probability of at most {failing:.3g} %,"
        " which these figures include."
    )
    return (Sentence(words, epsilon=spent, failing=100.0 * bounds.failing),)


def facts_of(level: float, limits: GroupLimits, spent: float = 0.0) -> tuple[PromiseFigure, ...]:
    """Return the figures behind the promise; `spent` as for `sentence_of`."""
    missed, explanation = _missed(limits)
    shares: tuple[PromiseFigure, ...] = ()
    if spent > 0.0:
        shares = (PromiseFigure("ε0", "Privacy loss of the bounds on shares", spent, BY_BOUNDS),)
    return (
        PromiseFigure(
            "error", "Relative error", limits.epsilon, "What counts as a wrong estimate of a share."
        ),
        PromiseFigure("side", "Probability on each side", limits.delta, _side_explained(limits)),
        PromiseFigure("Pr", "Least true probability of a wrong estimate", missed, explanation),
        kept_this_often(level),
        *_record_facts(limits, spent),
        *shares,
    )


def _record_facts(limits: GroupLimits, spent: float) -> tuple[PromiseFigure, ...]:
    """Return what one draw tells, and the bounds on shares with it."""
    facts = CategoricalMechanism.matrix_facts(
        uniform_matrix(limits.retention, limits.size_of_domain), spent
    )
    if limits.sampling is GroupSampling.PUBLISHED:
        gamma = next(fact for fact in facts if fact.symbol == "γ")
        one = "No draw multiplies anyone's odds on the value it was made from by more."
        return (replace(gamma, title="Odds factor of one draw", explanation=one),)
    return facts


def times(probability: float) -> str:
    """Return a probability as a sentence says it: "one time in three", or a percentage."""
    words = {
        2: Sentence("two"),
        3: Sentence("three"),
        4: Sentence("four"),
        5: Sentence("five"),
        6: Sentence("six"),
        8: Sentence("eight"),
        10: Sentence("ten"),
    }
    for number, word in words.items():
        if 1.0 / number <= probability < 1.0 / number + 0.02:
            return Sentence("one time in {word}", word=word)
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


def _side_explained(limits: GroupLimits) -> str:
    if limits.rule is not PrivacyTest.EXACT:
        return "As you asked for it; the test bounds it from above, not from below."
    return (
        "An estimate is too high at least so often, and too low at least so often. Where a value"
        " is too rare for both, it is off on one side with the rest of this probability to 1."
    )


def _about_groups(level: float, attribute: Attribute, limits: GroupLimits) -> str:
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
    if limits.rule is PrivacyTest.EXACT:
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


def _about_records(level: float, attribute: Attribute, limits: GroupLimits, spent: float) -> str:
    if limits.sampling is GroupSampling.PUBLISHED:
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
        gamma=at_most(whole_odds(top.gamma, spent)),
    )
    if level >= limits.retention:
        return Sentence("{sentence}.", sentence=sentence)
    whole = uniform_matrix(level, limits.size_of_domain)
    return Sentence(
        "{sentence}, and by at most {gamma} in groups that are not resampled.",
        sentence=sentence,
        gamma=at_most(whole_odds(whole.gamma, spent)),
    )


def not_promised(level: float, limits: GroupLimits) -> tuple[str, ...]:
    """Say what is not promised."""
    if level == 0.0:
        return LIMITS[1:]
    found = [_MANY_GROUPS, *LIMITS[1:], _ONE_COLUMN, _ONE_EDITION]
    if limits.sampling is GroupSampling.PUBLISHED:
        found += [_COPIES_SHOW, _OTHERS_KNOWN]
    return tuple(found)


def _missed(limits: GroupLimits) -> tuple[float, str]:
    """Return the least true probability of a wrong estimate, and how it is known."""
    if limits.rule is PrivacyTest.EXACT:
        return limits.least_missed, "Computed exactly; no group falls below it."
    return (
        _least_by_bound(limits),
        "The published test bounds this probability from above, which keeps it from nothing.",
    )


@lru_cache(maxsize=64)
def _least_by_bound(limits: GroupLimits) -> float:
    """Return how rarely an estimate is off in the worst of some groups that a bound lets pass."""
    p, m = limits.retention, limits.size_of_domain
    shares = np.linspace(0.1, 1.0, 10)
    asked = np.ones(10) if limits.sampling is GroupSampling.BLIND else shares
    allowed = allowed_size(limits.rule, p, m, asked, limits.epsilon, limits.delta)
    samples = np.clip(allowed, 1, 10_000).astype(np.int64)
    counts = np.round(shares * _LARGE).astype(np.int64)
    found = release_tails(np.full(10, _LARGE), counts, samples, p, m, limits.epsilon)
    return float(found.total.min())


_TOTALS: Final = "Resampled groups: totals"
_COPIES: Final = "Resampled groups: copies"


def check_groups(
    domain: Domain,
    codes: Codes,
    groups: MicroGroups | None,
    samples: Integers | None,
    released: pd.Series,
    level: float,
    limits: GroupLimits,
) -> tuple[Check, ...]:
    """Examine one released column.

    Parameters
    ----------
    domain, codes
        The attribute's domain, m values, and the true codes, shape (n,).
    groups, samples
        The records' groups, and how many of each were drawn, shape (G,).
    released
        The released column.
    level
        Its retention probability.
    limits
        What was asked of every group.
    """
    whole_table = groups is not None and len(codes) == int(groups.sizes.sum())
    if groups is None or samples is None or not whole_table or len(released) != len(codes):
        finding = Sentence(
            "{released:,} {released:record|records}; the table has {codes:,}.",
            released=len(released),
            codes=len(codes),
        )
        return (
            Check("Number of records", len(released) == len(codes), finding),
            _check_domain(domain, released),
        )
    inside = _check_domain(domain, released)
    if not inside.holds:
        return (inside,)
    seen = domain.encode(released)
    resampled = samples < groups.sizes
    rows = resampled[groups.codes]
    checks: tuple[Check, ...] = (inside,)
    if not rows.all():
        apart = check_against_table(
            domain,
            codes[~rows],
            released[~rows].reset_index(drop=True),
            np.full(domain.size, level),
        )
        checks = tuple(_about_whole_groups(check) for check in apart)
    if not resampled.any():
        return checks
    members = MicroGroups((np.cumsum(resampled) - 1)[groups.codes[rows]], groups.sizes[resampled])
    true = value_counts(members, codes[rows], domain.size)
    shown = value_counts(members, seen[rows], domain.size)
    drawn = samples[resampled]
    totals = _check_totals(true, shown, members.sizes, drawn, level, limits)
    if level < limits.retention:
        return *checks, totals
    return *checks, totals, _check_copies(shown, members.sizes, drawn)


def _check_domain(domain: Domain, released: pd.Series) -> Check:
    try:
        domain.encode(released)
    except DomainError as error:
        return Check("Released values", False, error.what)
    return Check("Released values", True, "All values are in the domain.")


def _about_whole_groups(check: Check) -> Check:
    return Check(
        Sentence("Whole groups: {lower}", lower=check.title.lower()), check.holds, check.finding
    )


def _check_totals(
    true: scipy.sparse.csr_array,
    shown: scipy.sparse.csr_array,
    sizes: Integers,
    drawn: Integers,
    level: float,
    limits: GroupLimits,
) -> Check:
    """Examine how often groups show their own values.

    The sum over groups and values of the true share times the released count has a known mean;
    it is a sum of independent bounded draws, so Bernstein's inequality bounds the chance of a
    deviation whatever else their law is.
    """
    shares = scipy.sparse.csr_array(
        (true.data / sizes[_rows_of(true)], true.indices, true.indptr), shape=true.shape
    )
    found = float(shares.multiply(shown).sum())
    square, cube = (np.add.reduceat(shares.data**power, true.indptr[:-1]) for power in (2, 3))

    def mean_of(retention: float, kept: Floats, others: Floats | float) -> Floats:
        return retention * kept + (1.0 - retention) / limits.size_of_domain * others

    expected = float((sizes * mean_of(level, square, 1.0)).sum())
    copies = sizes / drawn
    # A draw counts with all its copies; below the top, each row is replaced on its own as well;
    # and copies are rounded, which moves a group by less than one.
    variance = sizes * copies * mean_of(limits.retention, cube, square)
    variance += sizes * mean_of(level, cube, square)
    largest = np.maximum.reduceat(shares.data, true.indptr[:-1]) * copies + 1.0
    chance = _bernstein(
        abs(found - expected), float(((np.sqrt(variance) + 1.0) ** 2).sum()), float(largest.max())
    )
    finding = Sentence(
        "In {sizes:,} resampled {sizes:group|groups}, released values weigh {found:,.0f} by their"
        " true shares; {expected:,.0f} is expected (chance at most {chance:.2g}). A sound release"
        " fails this less than once in {times:,.0f} times.",
        sizes=len(sizes),
        found=found,
        expected=expected,
        chance=chance,
        times=1 / FALSE_ALARM,
    )
    return Check(_TOTALS, chance >= FALSE_ALARM, finding)


def _bernstein(distance: float, variance: float, largest: float) -> float:
    """Bound the chance that a sum of independent terms is so far from its mean."""
    exponent = distance**2 / (2.0 * (variance + largest * distance / 3.0))
    return min(1.0, 2.0 * math.exp(-exponent))


def _rows_of(counts: scipy.sparse.csr_array) -> Indices:
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))


def _check_copies(shown: scipy.sparse.csr_array, sizes: Integers, drawn: Integers) -> Check:
    """Examine that every count is a number of draws, each copied as often as the others."""
    row = _rows_of(shown)
    n, s = sizes[row], drawn[row]
    # Of k draws, k·n/s copies are shown, rounded down or up: the count O has |O - k·n/s| < 1.
    least = (shown.data - 1) * s // n + 1
    most = -(-(shown.data + 1) * s // n) - 1
    fewest = np.bincount(row, least, len(sizes))
    highest = np.bincount(row, most, len(sizes))
    wrong = (fewest > drawn) | (highest < drawn)
    wrong[row[least > most]] = True
    finding = Sentence(
        "{wrong:,} of {sizes:,} resampled {sizes:group|groups} {wrong:shows|show} counts that"
        " copies of so few draws can't give.",
        wrong=int(wrong.sum()),
        sizes=len(sizes),
    )
    return Check(_COPIES, not wrong.any(), finding)
