"""What reconstruction privacy does to a table, in figures: for its custodian only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.mechanisms.reconstruction.privacy import Rule, allowed_size, private_groups
from sfumato.engine.mechanisms.reconstruction.sizes import (
    Limits,
    Sampling,
    blind_sizes,
    sample_sizes,
)
from sfumato.engine.mechanisms.reconstruction.tails import release_tails
from sfumato.engine.table.group_counts import GroupCounts

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


def gap_of(limits: Limits, share: float = 0.5) -> Gap:
    """Return what a test lets pass at a share of the most frequent value, and what is true there.

    Raises
    ------
    LevelError
        If ε or δ is out of its range.
    """
    p, m = limits.retention, limits.size_of_domain
    exact_limits = replace(limits, delta=min(limits.delta, 0.5))
    exact = int(allowed_size(Rule.EXACT, p, m, share, limits.epsilon, exact_limits.delta))
    allowed = int(allowed_size(limits.rule, p, m, share, limits.epsilon, limits.delta))
    sample = np.array([max(min(allowed, 100_000), 1)])
    found = release_tails(
        np.array([_LARGE]), np.array([round(share * _LARGE)]), sample, p, m, limits.epsilon
    )
    return Gap(share, allowed, float(found.total[0]), exact)
