"""Sample, perturb, scale: the release that keeps small groups' distributions private.

Algorithm 1 of Wang, Han and Fu (2012), keyed: of a micro group with n records s are drawn, each
drawn value is perturbed once, and the s results are copied until there are n again. It differs
from the paper in one thing: where the paper tosses a coin for each value and each copy, so that
the group's size changes by chance, one shared start decides all of them (systematic sampling).
Each record is still drawn with probability s/n and copied n/s times on average, each value's
count still is what the paper says, rounded up or down; but the totals come out exactly, so a
group keeps its size and estimates stay unbiased to the last digit. The copies are dealt out to
the group's rows by a keyed permutation, so that no row tells which record it came from.

A group's draw needs all of its rows, and no others: a table that is too long for memory is drawn
from group by group, and each row then looks up what was dealt to it.

What protecting small groups costs those who count is told to the custodian only, as Wang, Han and
Fu (2012) do in Figs. 3 and 5, over p, ε, δ and the table's size: the error of a pool of random
count queries from a plain perturbed release, and from one whose groups were sampled, perturbed and
scaled, by the published way and by the exact test with blind draws. All releases of one setting
share their keyed draws, so what differs is the protection and not chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.values import Indices, Integers, Words
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.count_queries import QUERIES, SELECTIVITY, QueryPool, query_pool
from sfumato.engine.disclosure.group_privacy import PrivacyTest, allowed_size, private_groups
from sfumato.engine.disclosure.group_risk import (
    ModeCost,
    Parameter,
    QueryPoint,
    RiskSetting,
    settings_of,
)
from sfumato.engine.disclosure.group_tails import SampleDraw, release_tails
from sfumato.engine.disclosure.grouped_values import GroupedValues, sampled_values
from sfumato.engine.ladders.alias_sampling import ProfileTop
from sfumato.engine.ladders.uniform_cells import Blocks
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.reconstruction.limits import (
    GroupLimits,
    GroupSampling,
    blind_sizes,
    sample_sizes,
    uses_bounds,
)
from sfumato.engine.mechanisms.reconstruction.share_bounds import (
    MEASURED_SHARES,
    SHARES,
    ShareBounds,
    ShareSource,
    bounds_in,
    measured_shares,
    share_source,
)
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.micro_groups import GroupCounts, MicroGroups, value_counts
from sfumato.engine.table.table import GroupAssignment, GroupRows

_TILE: Final = 1 << 18
"""How many records' words are drawn at once."""

Rows = Indices


def resampled_codes(
    codes: Codes,
    groups: MicroGroups,
    samples: Integers,
    limits: GroupLimits,
    record_ids: Words,
    keys: tuple[AttributeKey, AttributeKey],
    context: Context,
    dealt: GroupAssignment | None = None,
) -> Codes:
    """Return the most trusted release's codes.

    Parameters
    ----------
    codes
        The true codes, shape (n,).
    groups
        The records' micro groups.
    samples
        How many records of each group are drawn, shape (G,); a group of which all are drawn
        is perturbed row by row.
    limits
        What is asked of every group: it says how records are drawn and perturbed.
    record_ids
        The records' identifiers, shape (n,).
    keys
        The key of the perturbation, and the key of the sampling.
    context
        Progress and cancelling.
    dealt
        What the groups' draws came to; None to draw here, where the rows are whole groups.

    Returns
    -------
    numpy.ndarray
        Shape (n,), a pure function of keys, identifiers, true codes and groups.
    """
    shown, rows, found = rows_to_draw(
        codes, groups, samples, limits, record_ids, keys, Part(context, 0.0, 0.6)
    )
    if not len(rows):
        return shown
    if dealt is None:
        context.report(0.8, "Copying what was drawn")
        dealt = dealt_from(found, groups.sizes, samples, limits)
    out = shown.copy()
    out[rows] = dealt.shown_to(found.members, found.words[3])
    context.report(1.0, "Groups are resampled")
    return out


def rows_to_draw(
    codes: Codes,
    groups: MicroGroups,
    samples: Integers,
    limits: GroupLimits,
    record_ids: Words,
    keys: tuple[AttributeKey, AttributeKey],
    context: Context,
) -> tuple[Codes, Rows, GroupRows]:
    """Return rows perturbed by themselves, and those of groups that are resampled.

    Parameters are those of `resampled_codes`; the rows may be any part of their groups. Returns
    codes of shape (n,), the places of the k rows of resampled groups, and what they are drawn by.
    """
    top = ProfileTop(np.full(limits.size_of_domain, limits.retention))
    shown = top.show(codes, record_ids, keys[0], Part(context, 0.0, 0.7))
    rows = np.flatnonzero((samples < groups.sizes)[groups.codes])
    words = _words(codes[rows], record_ids[rows], keys[1], Part(context, 0.7, 1.0))
    return shown, rows, GroupRows(groups.codes[rows], codes[rows], shown[rows], words)


def dealt_from(
    rows: GroupRows, sizes: Integers, samples: Integers, limits: GroupLimits
) -> GroupAssignment:
    """Draw from whole groups, copy what is drawn, and deal it out to their rows.

    Parameters
    ----------
    rows
        Every row of some resampled groups.
    sizes, samples
        How many records each group has, and how many are drawn, shape (G,).
    limits
        How records are drawn.
    """
    members = _Members(rows.members, sizes, samples)
    values = rows.codes if limits.sampling.draw is SampleDraw.BY_VALUE else None
    drawn = members.draw(values, order=rows.words[0], start=rows.words[1])
    copies = members.copies(drawn, rows.shown[drawn], start=rows.words[2])
    places = members.dealt(order=rows.words[3])
    return GroupAssignment.of(rows.members[places], rows.words[3][places], copies)


class _Members:
    """The rows of the groups that are resampled, sorted and drawn from group by group."""

    def __init__(self, members: Integers, sizes: Integers, samples: Integers) -> None:
        self._members = members
        self._sizes = sizes
        self._samples = samples

    def draw(self, values: Codes | None, order: Words, start: Words) -> Rows:
        """Return the rows drawn, group by group.

        Rows are lined up by keyed words, those of one value side by side where each value has
        to keep its share. A step of n/s records from a random start then hits s of them.
        """
        keys = (order, self._members) if values is None else (order, values, self._members)
        line = np.lexsort(keys)
        member = self._members[line]
        size, sample = self._sizes[member], self._samples[member]
        rank, first = _ranks(member)
        offset = _below(start[line][first], size)
        hit = ((rank + 1) * sample + offset) // size > (rank * sample + offset) // size
        return line[hit]

    def copies(self, drawn: Rows, shown: Codes, start: Words) -> Codes:
        """Return the released codes of every group in turn: what was drawn, copied.

        Equal values stand side by side, so that each keeps its share up to one copy.
        """
        member = self._members[drawn]
        line = np.lexsort((shown, member))
        sorted_member = member[line]
        size, sample = self._sizes[sorted_member], self._samples[sorted_member]
        rank, first = _ranks(sorted_member)
        # The start has to be the same whatever is shown: it hangs on the group's first draw.
        offset = _below(start[drawn][first], sample)
        times = ((rank + 1) * size + offset) // sample - (rank * size + offset) // sample
        return np.repeat(shown[line], times)

    def dealt(self, order: Words) -> Rows:
        """Return the rows that the copies go to, group by group, in keyed order."""
        return np.lexsort((order, self._members))


def _ranks(member: Integers) -> tuple[Integers, Rows]:
    """Return each row's place in its group's stretch, and where that stretch begins."""
    begins = np.flatnonzero(np.diff(member, prepend=-1))
    lengths = np.diff(begins, append=len(member))
    first: Rows = np.repeat(begins, lengths)
    return np.arange(len(member)) - first, first


def _below(words: Words, limit: Integers) -> Integers:
    """Return a number from 0 to limit - 1 for each word; even up to limit/2^53."""
    shares = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.minimum((shares * limit).astype(np.int64), limit - 1)


def _words(codes: Codes, record_ids: Words, key: AttributeKey, context: Context) -> Words:
    """Draw four words of 64 bits for each record, shape (4, n)."""
    words = np.empty((4, len(codes)), dtype=np.uint64)
    blocks = Blocks(key.cipher(), max(min(_TILE, len(codes)), 1))
    for start in range(0, len(codes), _TILE):
        context.report(start / len(codes), "Drawing samples")
        part = slice(start, start + _TILE)
        count = len(codes[part])
        blocks.fill(codes[part], record_ids[part])
        for stream in range(2):
            drawn = blocks.draw(count, stream).view("<u8")
            words[2 * stream, part] = drawn[0::2]
            words[2 * stream + 1, part] = drawn[1::2]
    return words


_EXAMPLES: Final = (5, 20, 100, 1000)
"""Group sizes for which the number of draws is shown."""

_LARGE: Final = 1 << 40


@dataclass(frozen=True)
class GroupFigures:
    """What the limits mean for the groups of a table.

    Parameters
    ----------
    groups, records
        How many there are.
    violating_groups, violating_records
        Those that could be estimated too well if they were perturbed whole.
    resampled_groups, resampled_records
        Those of which only some records are drawn.
    drawn_records
        How many are drawn of them.
    fewest, most
        The fewest and the most draws of a resampled group; 0 where there is none.
    single_groups
        Groups of one record: there is nobody to hide a distribution of, and their record's own
        perturbation protects it.
    examples
        For some group sizes, how many records are drawn; empty where that follows from the
        group's values.
    """

    groups: int
    records: int
    violating_groups: int
    violating_records: int
    resampled_groups: int
    resampled_records: int
    drawn_records: int
    fewest: int
    most: int
    single_groups: int
    examples: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Gap:
    """What a test lets pass where a share of a group has one value, and what is true there.

    Parameters
    ----------
    share
        The share f.
    allowed
        The largest group that passes, s_g.
    missed
        How often its estimate is truly off by more than ε, on either side.
    exact
        The largest group that passes the exact test.
    """

    share: float
    allowed: int
    missed: float
    exact: int


def group_figures(groups: GroupCounts, limits: GroupLimits, context: Context) -> GroupFigures:
    """Work out what limits mean for the groups of a table.

    Raises
    ------
    LevelError, PolicyError
        If the limits can't be kept, see `GroupLimits.check`.
    """
    samples = groups.kept.get(limits)
    if samples is None:
        samples = sample_sizes(limits, groups.counts, Part(context, 0.0, 0.8))
        groups.kept[limits] = samples
    sizes = groups.sizes
    private = private_groups(
        limits.rule,
        groups.counts,
        limits.retention,
        limits.size_of_domain,
        limits.epsilon,
        limits.delta,
    )
    few = samples < sizes
    examples: tuple[tuple[int, int], ...] = ()
    if limits.sampling is GroupSampling.BLIND:
        asked = np.array(_EXAMPLES)
        drawn = blind_sizes(limits, asked, Part(context, 0.9, 1.0))
        examples = tuple(zip(_EXAMPLES, drawn.tolist(), strict=True))
    return GroupFigures(
        groups=groups.count,
        records=groups.records,
        violating_groups=int(np.count_nonzero(~private)),
        violating_records=int(sizes[~private].sum()),
        resampled_groups=int(np.count_nonzero(few)),
        resampled_records=int(sizes[few].sum()),
        drawn_records=int(samples[few].sum()),
        fewest=int(samples[few].min(initial=int(sizes.max()))) if few.any() else 0,
        most=int(samples[few].max(initial=0)),
        single_groups=int(np.count_nonzero(sizes == 1)),
        examples=examples,
    )


def gap_of(limits: GroupLimits) -> Gap:
    """Return what a test lets pass where half have the most frequent value, and what is true there.

    Raises
    ------
    LevelError
        If ε or δ is out of its range.
    """
    p, m, share = limits.retention, limits.size_of_domain, 0.5
    exact_limits = replace(limits, delta=min(limits.delta, 0.5))
    exact = int(allowed_size(PrivacyTest.EXACT, p, m, share, limits.epsilon, exact_limits.delta))
    allowed = int(allowed_size(limits.rule, p, m, share, limits.epsilon, limits.delta))
    sample = np.array([max(min(allowed, 100_000), 1)])
    found = release_tails(
        np.array([_LARGE]), np.array([round(share * _LARGE)]), sample, p, m, limits.epsilon
    )
    return Gap(share, allowed, float(found.total[0]), exact)


PROTECTIONS = (
    (PrivacyTest.SIMPLIFIED, GroupSampling.PUBLISHED),
    (PrivacyTest.EXACT, GroupSampling.BLIND),
)
"""The two ways to protect groups that are compared with none."""


def query_curves(
    grouped: GroupedValues,
    start: RiskSetting,
    context: Context,
    queries: int = QUERIES,
    selectivity: float = SELECTIVITY,
) -> tuple[QueryPoint, ...]:
    """Return mean relative errors as p, ε, δ and the number of records move, one at a time.

    The same smaller tables and the same queries are drawn each time.

    Parameters
    ----------
    grouped
        The groups with their true values.
    start
        What the questions start from; its test is not used.
    context
        Progress and cancelling.
    queries, selectivity
        As for `query_pool`.

    Raises
    ------
    EstimationError
        If no query is answered by enough records.
    """
    desks: dict[int, _Desk] = {}
    points = []
    for (parameter, value, setting), part in one_by_one(context, list(settings_of(start))):
        part.report(0.0, Sentence("Moving {parameter}", parameter=parameter))
        if setting.records not in desks:
            table = sampled_values(grouped, setting.records, seed=1)
            desks[setting.records] = _Desk(table, query_pool(table, Silent(), queries, selectivity))
        points.append(desks[setting.records].answer(parameter, value, setting, part))
    context.report(1.0, "Curves are ready")
    return tuple(points)


MODES = (
    (PrivacyTest.EXACT, GroupSampling.BLIND, ShareSource.NOISY),
    (PrivacyTest.EXACT, GroupSampling.BLIND, ShareSource.ANY),
    (PrivacyTest.EXACT, GroupSampling.PUBLISHED, ShareSource.ANY),
    (PrivacyTest.SIMPLIFIED, GroupSampling.PUBLISHED, ShareSource.ANY),
)
"""The modes whose cost is told beside the one that is set, what is proposed first."""
COST_QUERIES: Final = 500
COST_SELECTIVITY: Final = 0.01


def mode_costs(
    grouped: GroupedValues, limits: GroupLimits, settings: Mapping[str, Any], context: Context
) -> tuple[ModeCost, ...]:
    """Return the mean relative error of count queries without protection, and by each mode.

    All are asked the same queries, drawn once and answered by at least 1 % of the records; see
    `query_curves` for what they are made with. Shares are measured for the comparison alone, with
    the ε0 of the settings and noise that everyone knows.

    Raises
    ------
    EstimationError
        If no query is answered by enough records.
    """
    pool = query_pool(grouped, Part(context, 0.0, 0.2), COST_QUERIES, COST_SELECTIVITY)
    desk = _Desk(grouped, pool)
    own = (limits.rule, limits.sampling, ShareSource.ANY)
    if uses_bounds(limits.rule, limits.sampling):
        own = (limits.rule, limits.sampling, share_source(settings))
    found = [ModeCost("", "", desk.error(limits, None, Part(context, 0.2, 0.3)))]
    modes = list(dict.fromkeys((own, *MODES)))
    for mode, part in one_by_one(Part(context, 0.3, 1.0), modes):
        part.report(0.0, "Asking count queries")
        rule, sampling, shares = mode
        bounds = _bounds_of_mode(shares, settings, grouped)
        asked = replace(limits, rule=rule, sampling=sampling, bounds=bounds)
        error = desk.error_of_mode(asked, part)
        found.append(ModeCost(rule.value, sampling.value, error, mode == own, shares.value))
    return tuple(found)


def _bounds_of_mode(
    shares: ShareSource, settings: Mapping[str, Any], grouped: GroupedValues
) -> ShareBounds | None:
    """Return the bounds on shares that a mode would have in these groups."""
    stated: Mapping[str, Any] = {
        name: value
        for name, value in {**settings, SHARES.name: shares.value}.items()
        if name != MEASURED_SHARES.name
    }
    if shares is not ShareSource.NOISY:
        return bounds_in(stated, None)
    groups = GroupCounts(grouped.names, grouped.counts, "")
    noise = KeyedNoise(KeyRing(bytes(SECRET_BYTES)))
    return bounds_in(measured_shares(stated, "count queries", groups, noise), None)


@dataclass(frozen=True)
class _Desk:
    """One table with its pool of queries."""

    grouped: GroupedValues
    pool: QueryPool

    def answer(
        self, parameter: Parameter, value: float, setting: RiskSetting, context: Context
    ) -> QueryPoint:
        plain = self.error(self._limits(setting, *PROTECTIONS[0]), None, Part(context, 0.0, 0.3))
        protected: list[float | None] = []
        for place, (rule, sampling) in enumerate(PROTECTIONS):
            part = Part(context, 0.3 + 0.35 * place, 0.65 + 0.35 * place)
            protected.append(self.error_of_mode(self._limits(setting, rule, sampling), part))
        return QueryPoint(parameter, value, plain, *protected)

    def _limits(
        self, setting: RiskSetting, rule: PrivacyTest, sampling: GroupSampling
    ) -> GroupLimits:
        asked = setting.limits
        size = self.grouped.values
        return GroupLimits(asked.epsilon, asked.delta, rule, sampling, setting.retention, size)

    def error_of_mode(self, limits: GroupLimits, context: Context) -> float | None:
        """Return the mean relative error of a protected release; None where there can be none."""
        try:
            samples = sample_sizes(limits, self.grouped.counts, context)
        except (LevelError, PolicyError):
            return None  # not even a single draw keeps these limits
        return self.error(limits, samples, context)

    def error(self, limits: GroupLimits, samples: Integers | None, context: Context) -> float:
        """Return the mean relative error of a release; without samples no group is resampled."""
        records = self.grouped.counts.data
        groups = MicroGroups(np.repeat(self.grouped.cell_groups, records), self.grouped.sizes)
        released = resampled_codes(
            np.repeat(self.grouped.counts.indices, records).astype(np.int64),
            groups,
            groups.sizes if samples is None else samples,
            limits,
            record_ids_by_position(groups.records),
            _known_keys(),
            context,
        )
        counts = value_counts(groups, released, limits.size_of_domain)
        matrix = uniform_matrix(limits.retention, limits.size_of_domain)
        return float(self.pool.relative_errors(counts, matrix).mean())


def _known_keys() -> tuple[AttributeKey, AttributeKey]:
    """Return keys that everyone knows: nothing made with them is released."""
    ring = KeyRing(bytes(SECRET_BYTES))
    return (
        ring.for_attribute("query curves", "", "perturbation"),
        ring.for_attribute("query curves", "", "sample"),
    )
