"""A table seen as an attacker sees it: micro groups with the sensitive values in each.

`group_view` shows one small group's true distribution beside what can be reconstructed of it.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd
import scipy

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.disclosure.group_privacy import DistinctCells
from sfumato.engine.disclosure.resampled_law import ResampledLaw
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.randomness.keys import uniforms
from sfumato.engine.table.micro_groups import (
    MicroGroups,
    PublicAttribute,
    largest_counts,
    merge,
    merged_counts,
    most_frequent,
    value_counts,
)

_DRAWN_AT_ONCE: Final = 1 << 20
"""So many records' numbers are drawn at once; each block of the sequence has two."""


@dataclass(frozen=True)
class GroupedValues:
    """The sensitive values of each micro group, with all that risks are computed from.

    Parameters
    ----------
    attributes
        The public attributes, each with a code for every group.
    sizes
        Each group's number of records, shape (G,).
    counts
        How often each value occurs in each group, shape (G, m).
    """

    attributes: tuple[PublicAttribute, ...]
    sizes: Integers = field(repr=False)
    counts: scipy.sparse.csr_array = field(repr=False)

    @property
    def groups(self) -> int:
        """The number of groups, G."""
        return len(self.sizes)

    @property
    def values(self) -> int:
        """The number of values in the sensitive attribute's domain, m."""
        return int(self.counts.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """The public attributes' names."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def records(self) -> int:
        """The number of records, n."""
        return int(self.sizes.sum())

    @cached_property
    def largest(self) -> Integers:
        """How often each group's most frequent value occurs in it, shape (G,)."""
        return largest_counts(self.counts)

    @cached_property
    def commonest(self) -> Integers:
        """The code of each group's most frequent value, shape (G,)."""
        return most_frequent(self.counts)

    @cached_property
    def shares(self) -> Floats:
        """The largest share f of one value in each group, shape (G,)."""
        return self.largest / self.sizes

    @cached_property
    def cell_groups(self) -> Integers:
        """The group of each stored entry of `counts`."""
        return np.repeat(np.arange(self.groups), np.diff(self.counts.indptr))

    @cached_property
    def cells(self) -> DistinctCells:
        """The stored entries of `counts` by size and count, the same for every recipient."""
        return DistinctCells.of(self.counts)

    def merged(self, attributes: tuple[PublicAttribute, ...]) -> GroupedValues:
        """Return the groups that some attributes tell apart, or coarser ones in their place."""
        numbers = merge(attributes, self.groups)
        count = int(numbers.max()) + 1
        first = np.full(count, self.groups, dtype=np.int64)
        np.minimum.at(first, numbers, np.arange(self.groups))
        return GroupedValues(
            tuple(replace(each, codes=each.codes[first]) for each in attributes),
            np.bincount(numbers, weights=self.sizes).astype(np.int64),
            merged_counts(self.counts, numbers, count),
        )


def grouped_values(
    groups: MicroGroups, codes: Codes, size: int, records: Integers | None = None
) -> GroupedValues:
    """Return the sensitive values of each micro group.

    Parameters
    ----------
    groups
        The groups of n records.
    codes
        Each record's sensitive value, shape (n,).
    size
        The number of values in its domain, m.
    records
        How many records each of them stands for, shape (n,); None for one.
    """
    counts = value_counts(groups, codes, size, records)
    return GroupedValues(groups.attributes, groups.sizes, counts)


def sampled_values(grouped: GroupedValues, records: int, seed: int) -> GroupedValues:
    """Return a random sample of the records, drawn without replacement, as a smaller table.

    Parameters
    ----------
    grouped
        The groups with their values.
    records
        How many records are drawn, at most n.
    seed
        The same seed draws the same records.
    """
    counts = grouped.counts.data
    if records >= grouped.records:
        return grouped
    kept = _kept_by_chance(counts, records / grouped.records, seed)
    short = records - int(kept.sum())
    # As many as are missing are drawn of those that are left, or as many too many of the others.
    left, change = (counts - kept, 1) if short > 0 else (kept, -1)
    kept += change * _drawn(left, abs(short), seed + 1)
    drawn = grouped.counts.copy()
    drawn.data = kept.copy()
    drawn.eliminate_zeros()
    sizes = np.bincount(grouped.cell_groups, weights=kept, minlength=grouped.groups)
    present = np.flatnonzero(sizes)
    attributes = tuple(replace(each, codes=each.codes[present]) for each in grouped.attributes)
    return GroupedValues(attributes, sizes[present].astype(np.int64), drawn[present])


def _kept_by_chance(counts: Integers, share: float, seed: int) -> Integers:
    """Return of how many records a number drawn for each is below a share, shape of `counts`."""
    kept, ends = np.zeros(len(counts), dtype=np.int64), np.cumsum(counts)
    for start in range(0, int(ends[-1]), _DRAWN_AT_ONCE):
        places = np.arange(start, min(start + _DRAWN_AT_ONCE, int(ends[-1])))
        chosen = places[uniforms(len(places), seed, start // 2) < share]
        kept += np.bincount(np.searchsorted(ends, chosen, "right"), minlength=len(counts))
    return kept


def _drawn(counts: Integers, number: int, seed: int) -> Integers:
    """Return how many of some records are drawn of each cell, shape of `counts`."""
    ends, found = np.cumsum(counts), np.zeros(0, dtype=np.int64)
    more = number
    while len(found) < number:
        more *= 2
        found = pd.unique((uniforms(more, seed) * ends[-1]).astype(np.int64))
    places = np.searchsorted(ends, found[:number], "right")
    return np.bincount(places, minlength=len(counts)).astype(np.int64)


@dataclass(frozen=True)
class GroupView:
    """One group's true distribution and what can be reconstructed of it. For the custodian only.

    Parameters
    ----------
    size
        The group's number of records.
    values
        The values' codes, the most frequent first, shape (k,).
    true
        Their true shares, shape (k,).
    estimated
        Their shares as reconstructed from the release, shape (k,); None where there is none.
    spread
        Half the width of the interval that holds 95 % of all estimates, shape (k,).
    """

    size: int
    values: Integers
    true: Floats
    estimated: Floats | None
    spread: Floats


def group_view(
    grouped: GroupedValues,
    group: int,
    matrix: PerturbationMatrix,
    released: Integers | None = None,
    law: ResampledLaw | None = None,
) -> GroupView:
    """Return one group's true distribution beside its reconstruction.

    Parameters
    ----------
    grouped
        The groups with their true values.
    group
        The group.
    matrix
        The release's perturbation matrix.
    released
        How often each value was released in the group, shape (m,); None where no release is at
        hand.
    law
        The law of the groups where the release repeats records; None where every record is
        perturbed by itself.

    Raises
    ------
    EstimationError
        If the release can't tell values apart.
    """
    size = int(grouped.sizes[group])
    true = np.asarray(grouped.counts[[group]].todense(), dtype=np.float64).ravel() / size
    variances = np.maximum(matrix.apply_squared_inverse(matrix.apply(true)) - true, 0.0) / size
    if law is not None:
        asked = np.arange(grouped.groups) == group
        variances = law.estimate_variance(asked, true) / size**2
    spread = 1.96 * np.sqrt(variances)
    estimated = None if released is None else matrix.solve(released / released.sum())
    order = np.argsort(-true, kind="stable")
    return GroupView(
        size,
        order.astype(np.int64),
        true[order],
        None if estimated is None else estimated[order],
        spread[order],
    )
