"""What reconstruction privacy does to a table, in figures: for its custodian only.

What protecting small groups costs those who count is shown as Wang, Han and Fu (2012) do in
Figs. 3 and 5, over p, ε, δ and the table's size: the error of a pool of random count queries
from a plain perturbed release, and from one whose groups were sampled, perturbed and scaled, by
the published way and by the exact test with blind draws. All releases of one setting share
their keyed draws, so what differs is the protection and not chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.values import Integers
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.count_queries import QUERIES, SELECTIVITY, QueryPool, query_pool
from sfumato.engine.disclosure.group_privacy import Rule, allowed_size, private_groups
from sfumato.engine.disclosure.group_risk import Parameter, QueryPoint, Setting, settings_of
from sfumato.engine.disclosure.group_tails import release_tails
from sfumato.engine.disclosure.grouped_values import GroupedValues, sampled_values
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.reconstruction.limits import (
    Limits,
    Sampling,
    blind_sizes,
    sample_sizes,
)
from sfumato.engine.mechanisms.reconstruction.release import resampled_codes
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.micro_groups import GroupCounts, MicroGroups, value_counts

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


def group_figures(groups: GroupCounts, limits: Limits, context: Context) -> GroupFigures:
    """Work out what limits mean for the groups of a table.

    Raises
    ------
    LevelError, PolicyError
        If the limits can't be kept, see `Limits.check`.
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
    if limits.sampling is Sampling.BLIND:
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


def gap_of(limits: Limits) -> Gap:
    """Return what a test lets pass where half have the most frequent value, and what is true there.

    Raises
    ------
    LevelError
        If ε or δ is out of its range.
    """
    p, m, share = limits.retention, limits.size_of_domain, 0.5
    exact_limits = replace(limits, delta=min(limits.delta, 0.5))
    exact = int(allowed_size(Rule.EXACT, p, m, share, limits.epsilon, exact_limits.delta))
    allowed = int(allowed_size(limits.rule, p, m, share, limits.epsilon, limits.delta))
    sample = np.array([max(min(allowed, 100_000), 1)])
    found = release_tails(
        np.array([_LARGE]), np.array([round(share * _LARGE)]), sample, p, m, limits.epsilon
    )
    return Gap(share, allowed, float(found.total[0]), exact)


PROTECTIONS = ((Rule.SIMPLIFIED, Sampling.PUBLISHED), (Rule.EXACT, Sampling.BLIND))
"""The two ways to protect groups that are compared with none."""


def query_curves(
    grouped: GroupedValues,
    start: Setting,
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


@dataclass(frozen=True)
class _Desk:
    """One table with its pool of queries."""

    grouped: GroupedValues
    pool: QueryPool

    def answer(
        self, parameter: Parameter, value: float, setting: Setting, context: Context
    ) -> QueryPoint:
        plain = self._error(self._limits(setting, *PROTECTIONS[0]), None, Part(context, 0.0, 0.3))
        protected: list[float | None] = []
        for place, (rule, sampling) in enumerate(PROTECTIONS):
            part = Part(context, 0.3 + 0.35 * place, 0.65 + 0.35 * place)
            limits = self._limits(setting, rule, sampling)
            try:
                samples = sample_sizes(limits, self.grouped.counts, part)
            except (LevelError, PolicyError):
                protected.append(None)  # not even a single draw keeps these limits
                continue
            protected.append(self._error(limits, samples, part))
        return QueryPoint(parameter, value, plain, *protected)

    def _limits(self, setting: Setting, rule: Rule, sampling: Sampling) -> Limits:
        asked = setting.limits
        size = self.grouped.values
        return Limits(asked.epsilon, asked.delta, rule, sampling, setting.retention, size)

    def _error(self, limits: Limits, samples: Integers | None, context: Context) -> float:
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
