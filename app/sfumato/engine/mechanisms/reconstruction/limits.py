"""How many records of each micro group are drawn so that its distribution stays private.

Algorithm 1 of Wang, Han and Fu (2012) takes as many as the group's largest share allows, s_g,
and the same share of every value. That number shows: a released group of 1,160 whose counts are
all multiples of 20 comes from 58 draws, and 58 draws mean, by equation 10 at p = 0.5,
ε = δ = 0.3 and m = 10, that one value holds all of the group. What was to be hidden stands in the
number of copies. The blind way closes this: how many records are drawn follows from the group's
size alone, for the worst distribution that the group could have, and which ones from nothing about
them. Then a record moves what is released by its own draw only, so that the odds bound of the
perturbation holds for resampled groups too, whoever knows the others. What is known of a group's
largest share lets more of it be drawn (`sfumato.engine.mechanisms.reconstruction.share_bounds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import numpy as np
import scipy

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Floats, Indices, Integers
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.group_privacy import (
    PrivacyTest,
    allowed_size,
    check_limits,
    largest_by_chernoff,
    largest_possible,
    passes,
    private_groups,
)
from sfumato.engine.disclosure.group_tails import (
    LARGEST_TABLE,
    SampleDraw,
    Tails,
    count_law,
    release_tails,
)
from sfumato.engine.mechanisms.reconstruction.share_bounds import (
    SHARE_SETTINGS,
    ShareBounds,
    bounds_in,
)
from sfumato.engine.mechanisms.setting_specs import (
    ChoiceSpec,
    ListSpec,
    NumberSpec,
    SettingSpec,
)
from sfumato.engine.table.micro_groups import GroupCounts

_LARGEST_BLIND: Final = LARGEST_TABLE
"""A blind draw by the exact test takes no more than this of any group."""

_SPARSE: Final = 16
"""How many stretches of counts are skipped at first."""

_FINENESS: Final = 100
"""Samples up to this size are tried one by one."""


class GroupSampling(StrEnum):
    """What decides how many records of a group are drawn, and which."""

    BLIND = "blind"
    """The group's size, and chance."""
    PUBLISHED = "published"
    """The group's largest share, and each value's share: algorithm 1 as it was published."""

    @property
    def draw(self) -> SampleDraw:
        """Which records are drawn."""
        return SampleDraw.AT_RANDOM if self is GroupSampling.BLIND else SampleDraw.BY_VALUE


@dataclass(frozen=True)
class GroupLimits:
    """What is asked of every group.

    Parameters
    ----------
    epsilon, delta
        The relative error ε, and the probability δ on each side.
    rule
        The test.
    sampling
        How records are drawn.
    retention
        The retention probability p of the most trusted release.
    size_of_domain
        The number of values m.
    bounds
        What is known of a group's largest share where its exact draws are blind; None for nothing.
    """

    epsilon: float
    delta: float
    rule: PrivacyTest
    sampling: GroupSampling
    retention: float
    size_of_domain: int
    bounds: ShareBounds | None = None

    def tails_pass(self, sizes: Integers, counts: Integers, samples: Integers) -> Flags:
        """Return which values of groups keep the exact promise when so many are drawn.

        Below bounds that may be too low, those which a bound is about keep both sides at δ'.
        """
        found = self.tails(sizes, counts, samples)
        passed = passes(found, self.delta)
        if self.bounds is None or not self.bounds.measured:
            return passed
        both = np.minimum(found.upper, found.lower) >= self._wanted(self.bounds)
        return np.where(counts > self.never_bounded(sizes), both, passed)

    def never_bounded(self, sizes: Integers) -> Integers:
        """Return up to which count a value is below every measured bound, for each group size.

        Of a value above it a single draw gives both estimates often enough, too high and too low.
        """
        if self.bounds is None:
            return np.zeros_like(sizes)
        other = (1.0 - self.retention) / self.size_of_domain
        share = (self._wanted(self.bounds) - other) / self.retention
        return np.floor(min(max(share, 0.0), 1.0) * sizes).astype(np.int64)

    def most_alike(self, sizes: Integers) -> Integers:
        """Return how many records a group is prepared for to share a value, by its size."""
        if self.bounds is None:
            return sizes
        most = self.bounds.most(sizes)
        return np.maximum(most, self.never_bounded(sizes)) if self.bounds.measured else most

    def _wanted(self, bounds: ShareBounds) -> float:
        """Return δ', which both sides keep where a bound holds, so that they keep δ in all."""
        return self.delta / (1.0 - bounds.failing)

    def tails(self, sizes: Integers, counts: Integers, samples: Integers) -> Tails:
        """Return how likely estimates are off when so many records are drawn."""
        return release_tails(
            sizes,
            counts,
            samples,
            self.retention,
            self.size_of_domain,
            self.epsilon,
            self.sampling.draw,
        )

    @property
    def least_missed(self) -> float:
        """The least probability of being off by more than ε that the exact test leaves."""
        return min(2.0 * self.delta, 1.0 - self.delta)

    def check(self, largest_share: float = 1.0) -> None:
        """Refuse limits that not even a single draw of a group keeps.

        Parameters
        ----------
        largest_share
            The largest share f that a value has in any group.

        Raises
        ------
        LevelError
            If ε or δ is out of its range.
        PolicyError
            Naming the δ, or the retention probability, that f allows.
        """
        check_limits(self.rule, self.epsilon, self.delta)
        most = self.largest_delta(largest_share)
        if self.delta <= most:
            return
        if most >= 0.001:
            raise PolicyError(
                "With p = {retention:g} and ε = {epsilon:g}, a group in which one value has the"
                " share f = {share:.3g} allows δ from 0 to {most:.3g}, not {delta:g}: even a"
                " single draw tells too much.",
                "Lower δ, or lower the retention probability.",
                retention=self.retention,
                epsilon=self.epsilon,
                share=largest_share,
                most=float(np.floor(most * 1000) / 1000),
                delta=self.delta,
            )
        raise PolicyError(
            "With p = {retention:g}, no δ can be promised for a group in which one value has the"
            " share f = {share:.3g}: an estimate never exceeds the truth by {epsilon:.0%}.",
            "Choose a retention probability below {highest:.3g}, or a smaller ε.",
            retention=self.retention,
            epsilon=self.epsilon,
            share=largest_share,
            highest=float(np.floor(self.highest_retention(largest_share) * 1000) / 1000),
        )

    def largest_delta(self, share: float = 1.0) -> float:
        """Return the largest δ that a group with this largest share allows.

        By the published tests, s_g is 1 there. By the exact one a single draw is off on either
        side, unless the estimate from a draw that shows the value is within ε of the truth.
        """
        if self.rule is not PrivacyTest.EXACT:
            # s_g is linear in ln δ.
            per_log = float(
                allowed_size(
                    self.rule,
                    self.retention,
                    self.size_of_domain,
                    share,
                    self.epsilon,
                    float(np.exp(-1.0)),
                )
            )
            return float(np.exp(-1.0 / per_log))
        shown = share * self.retention + (1.0 - self.retention) / self.size_of_domain
        if shown + self.epsilon * self.retention * share < 1.0:
            return 0.5
        return 0.0

    def highest_retention(self, share: float = 1.0) -> float:
        """Return the retention probability below which the exact test can be kept."""
        even = 1.0 / self.size_of_domain
        return (1.0 - even) / (share * (1.0 + self.epsilon) - even)


def sample_sizes(limits: GroupLimits, counts: scipy.sparse.csr_array, context: Context) -> Integers:
    """Return how many records of each group are drawn; all of them where it stays whole.

    Parameters
    ----------
    limits
        What is asked.
    counts
        How often each value occurs in each group, shape (G, m), only where it occurs.
    context
        Progress and cancelling.

    Returns
    -------
    numpy.ndarray
        From 1 to the group's size, shape (G,).

    Raises
    ------
    LevelError, PolicyError
        If the limits can't be kept, see `GroupLimits.check`.
    """
    sizes: Integers = np.add.reduceat(counts.data, counts.indptr[:-1])
    if not len(sizes):
        return sizes
    if limits.sampling is GroupSampling.BLIND:
        limits.check()
        distinct, inverse = np.unique(sizes, return_inverse=True)
        return _known_blind_sizes(limits, distinct, context)[inverse]
    shares: Floats = np.maximum.reduceat(counts.data, counts.indptr[:-1]) / sizes
    limits.check(float(shares.max()))
    p, m = limits.retention, limits.size_of_domain
    if limits.rule is not PrivacyTest.EXACT:
        allowed = allowed_size(limits.rule, p, m, shares, limits.epsilon, limits.delta)
        return np.where(sizes <= allowed, sizes, np.maximum(np.floor(allowed), 1)).astype(np.int64)
    whole = private_groups(limits.rule, counts, p, m, limits.epsilon, limits.delta)
    possible = largest_possible(p, m, shares, limits.epsilon, limits.delta)
    samples = np.where(whole, sizes, np.minimum(sizes - 1, possible)).astype(np.int64)
    hopeless = largest_by_chernoff(p, m, shares, limits.epsilon, limits.delta)
    while (above := ~whole & (samples > np.maximum(hopeless, 1.0))).any():
        # Step by step, so that the sizes that are tried are those that were always tried: another
        # number of draws would be another ladder.
        samples[above] -= _step(samples[above])
    _lower_until_private(limits, counts, samples, ~whole, context)
    return samples


@lru_cache(maxsize=16)
def _found_so_far(limits: GroupLimits) -> dict[int, int]:  # noqa: ARG001 (what it is kept for)
    """Return the samples of group sizes that were asked about, which grow."""
    return {}


def _known_blind_sizes(limits: GroupLimits, sizes: Integers, context: Context) -> Integers:
    """Return what `blind_sizes` does, of each size but once: parts of a table share most sizes."""
    known = _found_so_far(limits)
    new = np.array([size for size in sizes.tolist() if size not in known], dtype=np.int64)
    if len(new):
        known.update(zip(new.tolist(), blind_sizes(limits, new, context).tolist(), strict=True))
    return np.array([known[size] for size in sizes.tolist()], dtype=np.int64)


def _lower_until_private(
    limits: GroupLimits,
    counts: scipy.sparse.csr_array,
    samples: Integers,
    open_groups: Flags,
    context: Context,
) -> None:
    """Lower groups' samples to the largest that keeps the promise for every value."""
    starts = counts.indptr[:-1]
    sizes = np.add.reduceat(counts.data, starts)
    largest = np.maximum.reduceat(counts.data, starts)
    left = np.flatnonzero(open_groups & (samples > 1))
    total = max(len(left), 1)
    while len(left):
        context.report(1.0 - len(left) / total, "Finding out how many records may be drawn")
        # Nearly always the most frequent value decides, so it is asked first.
        passed = limits.tails_pass(sizes[left], largest[left], samples[left])
        asked = left[passed]
        row, entries = _entries_of(counts, asked)
        sound = limits.tails_pass(sizes[asked][row], counts.data[entries], samples[asked][row])
        passed[np.flatnonzero(passed)[np.unique(row[~sound])]] = False
        left = left[~passed]
        samples[left] -= _step(samples[left])
        # A single draw always keeps the promise (`GroupLimits.check`).
        left = left[samples[left] > 1]


def _step(samples: Integers) -> Integers:
    """Return by how much samples are lowered that break the promise.

    Large ones are lowered a hundredth at a time: what is found passes all the same.
    """
    return 1 + samples // _FINENESS


def _entries_of(counts: scipy.sparse.csr_array, rows: Indices) -> tuple[Indices, Indices]:
    """Return the stored entries of some rows, and the place in `rows` each belongs to."""
    lengths = np.diff(counts.indptr)[rows]
    place = np.repeat(np.arange(len(rows)), lengths)
    within = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return place, counts.indptr[rows][place] + within


def blind_sizes(limits: GroupLimits, sizes: Integers, context: Context) -> Integers:
    """Return how many records are drawn of groups, whatever their values.

    Parameters
    ----------
    limits
        What is asked; its `sampling` is blind.
    sizes
        Distinct group sizes, shape (k,).
    context
        Progress and cancelling.

    Returns
    -------
    numpy.ndarray
        By the published tests, what a group allows in which one value holds all, for that
        allows least. By the exact one the largest number, up to 192, with which both sides keep the
        promise (`passes`) for every count that a value could have.
    """
    p, m = limits.retention, limits.size_of_domain
    if limits.rule is not PrivacyTest.EXACT:
        allowed = float(allowed_size(limits.rule, p, m, 1.0, limits.epsilon, limits.delta))
        return np.where(sizes <= allowed, sizes, max(int(allowed), 1)).astype(np.int64)
    unknown = replace(limits, bounds=None)
    if limits.bounds is None:
        return np.maximum(_largest_blind(unknown, sizes, sizes, context), 1)
    samples = np.maximum(_largest_blind(unknown, sizes, sizes, context), 1)
    known = limits.bounds.helped(sizes)
    bounded, most = sizes[known], limits.most_alike(sizes[known])
    found = _largest_blind(limits, bounded, most, context)
    if limits.bounds.measured:
        # Where a bound comes to nothing, another sample is drawn, which has to keep δ' as well.
        whatever = _largest_blind(limits, bounded, bounded, context)
        found = np.where(whatever > 0, np.maximum(found, whatever), 0)
    samples[known] = np.where(found > 0, found, samples[known])
    return samples


def _largest_blind(
    limits: GroupLimits, sizes: Integers, most: Integers, context: Context
) -> Integers:
    """Return the largest samples that keep the promise for every count up to `most`; 0 for none."""
    samples = np.minimum(sizes, _possible_draws(limits, most / sizes))
    left = np.arange(len(sizes))
    total = max(len(left), 1)
    # Of most records alike, chance is least; it mostly decides, so it is asked first. So is the
    # count that a larger sample gave away.
    suspect = most.copy()
    while len(left):
        context.report(1.0 - len(left) / total, "Finding out how many records may be drawn")
        passed = limits.tails_pass(sizes[left], most[left], samples[left])
        passed &= limits.tails_pass(sizes[left], suspect[left], samples[left])
        asked = left[passed]
        given_away = _count_given_away(limits, sizes[asked], most[asked], samples[asked])
        suspect[asked] = np.maximum(given_away, 1)
        passed[passed] = given_away == 0
        left = left[~passed]
        samples[left] -= 1
        left = left[samples[left] > 0]
    return samples


def _possible_draws(limits: GroupLimits, shares: Floats) -> Integers:
    """Return numbers of draws above which no sample can keep the promise, from 1 to 192."""
    asked = limits.retention, limits.size_of_domain, shares, limits.epsilon, limits.delta
    possible = np.minimum(largest_possible(*asked), largest_by_chernoff(*asked))
    return np.clip(possible, 1, _LARGEST_BLIND).astype(np.int64)


def _count_given_away(
    limits: GroupLimits, sizes: Integers, most: Integers, samples: Integers
) -> Integers:
    """Return a count of a value, up to `most`, that breaks the promise for groups; 0 for none.

    More records with the value make it likelier to be overestimated, and less likely to be
    underestimated, as long as the numbers of draws at which an estimate is off stay the same. So
    of each stretch of counts over which they do, only single ones have to be asked about.
    """
    row, first, last = _stretches_of_counts(limits, sizes, most, samples)
    found = np.zeros(len(sizes), dtype=np.int64)
    # Most samples fail somewhere, so a few counts are asked about before all of them.
    for place in (slice(None, None, _SPARSE), slice(None)):
        open_yet = found[row[place]] == 0
        asked, counts = row[place][open_yet], last[place][open_yet]
        broken = ~limits.tails_pass(sizes[asked], counts, samples[asked])
        found[asked[broken]] = counts[broken]
    long = (found[row] == 0) & (last > first)
    row, first, last = row[long], first[long], last[long]
    left = limits.tails(sizes[row], first, samples[row])
    right = limits.tails(sizes[row], last, samples[row])
    broken = ~limits.tails_pass(sizes[row], first, samples[row])
    found[row[broken]] = first[broken]
    # Between the ends, one side may get too rare before the other is nearly certain.
    inside = (found[row] == 0) & (last - first > 1)
    too_rarely_above = (left.upper < limits.delta) & (right.upper >= limits.delta)
    too_rarely_below = (left.lower >= limits.delta) & (right.lower < limits.delta)
    for doubtful, above in ((too_rarely_above, True), (too_rarely_below, False)):
        here = np.flatnonzero(inside & doubtful)
        size, sample = sizes[row[here]], samples[row[here]]
        before = _last_before(limits, size, sample, first[here], last[here], above)
        for counts in (before, before + 1):
            broken = ~limits.tails_pass(size, counts, sample)
            found[row[here][broken]] = counts[broken]
    return found


def _stretches_of_counts(
    limits: GroupLimits, sizes: Integers, most: Integers, samples: Integers
) -> tuple[Indices, Integers, Integers]:
    """Cut each group's counts up to `most` where the draws at which an estimate is off change.

    They are cut as well above what is below every measured bound.

    Returns
    -------
    tuple of numpy.ndarray
        For each stretch the place in `sizes`, its first and its last count.
    """
    law = count_law(limits.retention, limits.size_of_domain)
    step = np.arange(1, int(samples.max(initial=1)) + 1)
    # A number of draws i stands for i·n/s copies, rounded down or up.
    copies = (step * sizes[:, None]) // samples[:, None]
    ends = most[:, None] + 1
    cuts = [np.ones_like(ends), ends]
    if limits.bounds is not None and limits.bounds.measured:
        cuts.append(limits.never_bounded(sizes)[:, None] + 1)
    for error in (limits.epsilon, -limits.epsilon):
        # By ε = 1 an estimate is too low only where it is below 0, whatever the count.
        slope = limits.retention * (1.0 + error) or 1.0
        for rounded in (0, 1):
            change = (copies + rounded - sizes[:, None] * law.other) / slope
            # Rounding may put a change one count off, so those beside it stand alone.
            around = np.clip(np.ceil(change), -2, sizes[:, None] + 3).astype(np.int64)
            cuts += [around + beside for beside in (-1, 0, 1, 2)]
    line = np.sort(np.clip(np.concatenate(cuts, axis=1), 1, ends), axis=1)
    row, place = np.nonzero(line[:, 1:] > line[:, :-1])
    return row, line[row, place], line[row, place + 1] - 1


def _last_before(
    limits: GroupLimits,
    sizes: Integers,
    samples: Integers,
    first: Integers,
    last: Integers,
    above: bool,
) -> Integers:
    """Return the last count of each stretch before a side gets as likely as δ, or less likely."""
    low, high = first.copy(), last.copy()
    while (high - low > 1).any():
        middle = (low + high) // 2
        found = limits.tails(sizes, middle, samples)
        before = found.upper < limits.delta if above else found.lower >= limits.delta
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return low


USUAL_RETENTION: Final = 0.5
USUAL_EPSILON: Final = 0.3
USUAL_DELTA: Final = 0.17
"""An estimate is off by more than 30 % at least one time in three: 17 % on each side."""


EPSILON: Final = NumberSpec(
    name="epsilon",
    title="An estimate is wrong when it is off by more than",
    gloss="the relative error above which an attacker's estimate is wrong",
    usual=USUAL_EPSILON,
    least=0.0,
    most=1.0,
    above=True,
    symbol="ε",
    decimals=1,
    unit="%",
    scale=100,
    step=1.0,
)
DELTA: Final = replace(
    EPSILON,
    name="delta",
    title="How likely it has to be wrong, on each side",
    gloss="how probable a wrong estimate has to be, on each side",
    usual=USUAL_DELTA,
    below=True,
    symbol="δ",
)
RETENTION: Final = NumberSpec(
    name="retention_probability",
    title="Retention probability of the most trusted release",
    gloss="the retention probability of the most trusted release: at 1 nothing is hidden, and at 0"
    " nothing is told",
    usual=USUAL_RETENTION,
    least=0.0,
    most=1.0,
    above=True,
    below=True,
    symbol="p",
    decimals=3,
    step=0.05,
)
RULE: Final = ChoiceSpec(
    name="rule",
    title="Test",
    gloss="the test that decides which groups are resampled",
    usual=PrivacyTest.EXACT,
    titles={
        PrivacyTest.EXACT: Sentence("Exact"),
        PrivacyTest.CHERNOFF: Sentence("Chernoff"),
        PrivacyTest.SIMPLIFIED: Sentence("Simplified"),
    },
)
SAMPLING: Final = ChoiceSpec(
    name="sampling",
    title="Draw records",
    gloss="what decides how many records of a group are drawn: its size alone (blind), or its"
    " largest share (published)",
    usual=GroupSampling.BLIND,
    titles={GroupSampling.BLIND: Sentence("Blindly"), GroupSampling.PUBLISHED: "As published"},
)
PUBLIC: Final = ListSpec(
    name="public",
    title="Public columns",
    gloss="the columns by which records are grouped; without it, all that are released",
)
_LIMITS: Final = (EPSILON, DELTA, RETENTION, RULE, SAMPLING)
SETTINGS: Final[tuple[SettingSpec, ...]] = (*_LIMITS, *SHARE_SETTINGS, PUBLIC)


def default_limits() -> dict[str, Any]:
    """Return the limits where settings don't state them: nothing is known of shares then."""
    usual = {spec.name: spec.usual for spec in _LIMITS}
    return {name: getattr(value, "value", value) for name, value in usual.items()}


def limits_of(
    settings: Mapping[str, Any], size_of_domain: int, groups: GroupCounts | None = None
) -> GroupLimits:
    """Return what settings ask of every group; what is not stated is as usual.

    Raises
    ------
    PolicyError, LevelError
        If a setting can't have its value.
    """
    rule, sampling = RULE.stated(settings), SAMPLING.stated(settings)
    bounds = bounds_in(settings, groups)
    return GroupLimits(
        epsilon=float(EPSILON.stated(settings)),
        delta=float(DELTA.stated(settings)),
        rule=rule,
        sampling=sampling,
        retention=float(RETENTION.stated(settings)),
        size_of_domain=size_of_domain,
        bounds=bounds if uses_bounds(rule, sampling) else None,
    )


def uses_bounds(rule: object, sampling: object) -> bool:
    """Return whether a mode draws more where a bound on shares is known: the exact blind one."""
    return rule == PrivacyTest.EXACT and sampling == GroupSampling.BLIND


def public_of(settings: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the columns that make groups; None where all that are released do.

    Raises
    ------
    PolicyError
        If they are not a list of names.
    """
    names = PUBLIC.stated(settings)
    return None if names is None else tuple(names)
