"""What a mechanism knows of an attribute's micro groups, beside the rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from sfumato.engine.core.columns import Codes
from sfumato.engine.table.micro_groups import MicroGroups, largest_counts, value_counts


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """How often each sensitive value occurs in each group of records alike in public.

    Parameters
    ----------
    names
        The public columns; none where the whole table is one group.
    counts
        Shape (G, m), with an entry only where a value occurs; no group is empty.
    digest
        What tells these groups from others: their public values and their counts, in any order.
    """

    names: tuple[str, ...]
    # Who is alike in what is the secret: no log may show it.
    counts: sparse.csr_array = field(repr=False)
    digest: str = field(repr=False)
    kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    """What was worked out from these groups and takes long, by what it was worked out for."""

    @classmethod
    def of(cls, groups: MicroGroups, codes: Codes, size: int) -> GroupCounts:
        """Count a sensitive attribute's values in micro groups.

        Parameters
        ----------
        groups
            The groups of n records.
        codes
            Each record's sensitive value, shape (n,).
        size
            The number of values in its domain, m.
        """
        counts = value_counts(groups, codes, size)
        return cls(groups.names, counts, _digest(groups, counts))

    @property
    def records(self) -> int:
        """The number of records, n."""
        return int(self.counts.data.sum())

    @property
    def count(self) -> int:
        """The number of groups, G."""
        return int(self.counts.shape[0])

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Each group's number of records, shape (G,)."""
        sizes: npt.NDArray[np.int64] = np.add.reduceat(self.counts.data, self.counts.indptr[:-1])
        return sizes

    @cached_property
    def largest_shares(self) -> npt.NDArray[np.float64]:
        """The share of each group's most frequent value, shape (G,)."""
        shares: npt.NDArray[np.float64] = largest_counts(self.counts) / self.sizes
        return shares


def _digest(groups: MicroGroups, counts: sparse.csr_array) -> str:
    """Return a digest of the groups that the order of the rows does not change."""
    marks = np.zeros(groups.count, dtype=np.uint64)
    for attribute in groups.attributes:
        texts = np.array([str(value) for value in attribute.values] + [""], dtype=object)
        marks = _mixed(marks, pd.util.hash_array(texts)[attribute.codes])
    row = np.repeat(np.arange(groups.count), np.diff(counts.indptr))
    cells = _mixed(counts.indices.astype(np.uint64), counts.data.astype(np.uint64))
    sums = np.zeros(groups.count, dtype=np.uint64)
    np.add.at(sums, row, cells)
    marks = np.sort(_mixed(marks, sums))
    label = json.dumps(list(groups.names)).encode()
    return hashlib.sha256(label + marks.astype("<u8").tobytes()).hexdigest()


def _mixed(one: npt.NDArray[np.uint64], other: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix two words into one (the finisher of MurmurHash3)."""
    word = one * np.uint64(0x9E3779B97F4A7C15) + other
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    answer: npt.NDArray[np.uint64] = word ^ (word >> np.uint64(33))
    return answer
