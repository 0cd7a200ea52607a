"""A table seen as an attacker sees it: micro groups with the sensitive values in each.

`group_view` shows one small group's true distribution beside what can be reconstructed of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.values import Floats, Integers
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


def grouped_values(groups: MicroGroups, codes: Codes, size: int) -> GroupedValues:
    """Return the sensitive values of each micro group.

    Parameters
    ----------
    groups
        The groups of n records.
    codes
        Each record's sensitive value, shape (n,).
    size
        The number of values in its domain, m.
    """
    return GroupedValues(groups.attributes, groups.sizes, value_counts(groups, codes, size))


def sampled_records(
    groups: MicroGroups, codes: Codes, records: int, seed: int
) -> tuple[MicroGroups, Codes]:
    """Return a random sample of the records, as a smaller table with its micro groups.

    Parameters
    ----------
    groups, codes
        As for `grouped_values`.
    records
        How many records are drawn, without replacement; at most n.
    seed
        The same seed draws the same records.
    """
    drawn = np.argsort(uniforms(groups.records, seed), kind="stable")[:records]
    present, numbers = np.unique(groups.codes[drawn], return_inverse=True)
    sample = MicroGroups(
        numbers.astype(np.int64),
        np.bincount(numbers).astype(np.int64),
        tuple(replace(each, codes=each.codes[present]) for each in groups.attributes),
    )
    return sample, codes[drawn]


def sampled_values(
    groups: MicroGroups, codes: Codes, size: int, records: int, seed: int
) -> GroupedValues:
    """Return the grouped values of a random sample of the records; see `sampled_records`."""
    return grouped_values(*sampled_records(groups, codes, records, seed), size)


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
