"""Micro groups: the records that agree on every public attribute.

Whoever knows a person's public values reads the release of that person's micro group, and of
no other rows (Wang, Han and Fu 2012, definition 1). Rows are grouped once, by hashing whole
numbers; whatever is asked later works on the groups' distinct tuples.

`GroupCounts` is what a mechanism knows of an attribute's micro groups, beside the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats, Integers, Value, Words, distinct, factorize, plain
from sfumato.engine.core.wording import Sentence

_LARGEST_KEY: Final = 1 << 62
"""Mixed-radix keys stay below this; keys that would not are numbered afresh first."""

_DENSE_SHARE: Final = 4
"""Group and value are counted in one dense pass up to this many cells a record."""


@dataclass(frozen=True)
class PublicAttribute:
    """One public attribute, seen from the groups.

    Parameters
    ----------
    name
        The column's name.
    values
        Its distinct values, missing not among them.
    codes
        The position in `values` that each group has, shape (G,); ``len(values)`` is missing.
    """

    name: str
    # Public to an attacker who knows a person, but still cell values: no log may show them.
    values: pd.Index = field(repr=False)
    codes: Integers = field(repr=False)

    @property
    def size(self) -> int:
        """How many codes there are, missing included."""
        return len(self.values) + 1

    def value(self, code: int) -> Value:
        """Return the value that `code` stands for; None for missing."""
        return None if code == len(self.values) else plain(self.values[code])


@dataclass(frozen=True)
class MicroGroups:
    """A table's records, grouped by their public values.

    Groups are numbered by their first record, so the numbering depends on the rows' order and
    nothing else.

    Parameters
    ----------
    codes
        Each record's group, shape (n,).
    sizes
        Each group's number of records, shape (G,); every one at least 1.
    attributes
        The public attributes; none where the whole table is one group.
    """

    codes: Integers = field(repr=False)
    sizes: Integers = field(repr=False)
    attributes: tuple[PublicAttribute, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The public attributes' names."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def records(self) -> int:
        """The number of records, n."""
        return len(self.codes)

    @property
    def count(self) -> int:
        """The number of groups, G."""
        return len(self.sizes)

    def attribute(self, name: str) -> PublicAttribute:
        """Return one public attribute; raise `KeyError` where there is none of that name."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)


def micro_groups(frame: pd.DataFrame, names: Sequence[str], context: Context) -> MicroGroups:
    """Group a table's records by their public values, in one pass.

    Parameters
    ----------
    frame
        The table, one row a record, as recipients see its public columns (bins as labels).
    names
        The public attributes. With none of them the whole table is one group.
    context
        Progress and cancelling.

    Returns
    -------
    MicroGroups
        A missing value is a value like any other.

    Raises
    ------
    TableError
        If the table has no such column, or no rows.
    """
    if len(frame) == 0:
        raise TableError("The table has no rows.", "Choose a file with at least one record.")
    key, radix = np.zeros(len(frame), dtype=np.int64), 1
    columns: list[tuple[str, pd.Index, npt.NDArray[np.integer]]] = []
    for number, name in enumerate(names):
        context.report(0.9 * number / len(names), Sentence("Grouping records by {name}", name=name))
        if name not in frame.columns:
            raise TableError(
                "The table has no column {column} to group records by.",
                "Choose other public attributes.",
                column=name,
            )
        positions, uniques = factorize(frame[name])
        columns.append((name, uniques, positions))
        key, radix = _extended(key, radix, positions, len(uniques) + 1)
    codes, sizes = _numbered(key)
    first = _first_rows(codes)
    attributes = tuple(
        PublicAttribute(name, uniques, _with_missing_last(positions[first], len(uniques)))
        for name, uniques, positions in columns
    )
    context.report(1.0, "Records are grouped")
    return MicroGroups(codes, sizes, attributes)


def without(groups: MicroGroups, dropped: Sequence[str]) -> MicroGroups:
    """Return the groups that remain when some public attributes are not known.

    Works on the groups' distinct tuples; the rows are only renumbered.
    """
    kept = tuple(each for each in groups.attributes if each.name not in dropped)
    return regrouped(groups, kept)


def regrouped(groups: MicroGroups, attributes: Sequence[PublicAttribute]) -> MicroGroups:
    """Return groups merged by other attributes, each of which has one code a present group.

    Parameters
    ----------
    groups
        The present groups.
    attributes
        What tells groups apart from now on: some of the present attributes, or coarser ones.
    """
    merged = merge(attributes, groups.count)
    first = _first_rows(merged)
    return MicroGroups(
        merged[groups.codes],
        np.bincount(merged, weights=groups.sizes).astype(np.int64),
        tuple(replace(each, codes=each.codes[first]) for each in attributes),
    )


def merge(attributes: Sequence[PublicAttribute], count: int) -> Integers:
    """Return the merged group of each of `count` groups, shape (count,), by first appearance."""
    key, radix = np.zeros(count, dtype=np.int64), 1
    for attribute in attributes:
        key, radix = _extended(key, radix, attribute.codes, attribute.size)
    return _numbered(key)[0]


def value_counts(
    groups: MicroGroups, codes: Codes, size: int, records: Codes | None = None
) -> scipy.sparse.csr_array:
    """Count the sensitive values in each group.

    Parameters
    ----------
    groups
        The groups of n records.
    codes
        Each record's sensitive value, shape (n,).
    size
        The number of values in the sensitive attribute's domain, m.
    records
        How many records each of them stands for, shape (n,); None for one.

    Returns
    -------
    scipy.sparse.csr_array
        Counts, shape (G, m), with an entry only where a value occurs, columns in order. There
        are at most n entries, however many groups and values there are.
    """
    cells = groups.count * size
    key = groups.codes * size + codes
    if cells <= _DENSE_SHARE * groups.records + (1 << 16):
        dense = np.bincount(key, records, minlength=cells)
        found = np.flatnonzero(dense)
        counts = dense[found]
    else:
        found, places = np.unique(key, return_inverse=True)
        counts = np.bincount(places, records)
    return _compressed(found, counts, groups.count, size)


def merged_counts(
    counts: scipy.sparse.csr_array, merged: Integers, count: int
) -> scipy.sparse.csr_array:
    """Add up the rows of `counts` that merge into one group, shape (count, m).

    Parameters
    ----------
    counts
        As `value_counts` gives them, shape (G, m).
    merged
        The merged group of each row, shape (G,).
    count
        The number of merged groups.
    """
    rows = np.repeat(merged, np.diff(counts.indptr))
    size = counts.shape[1]
    key = rows * size + counts.indices
    found, inverse = distinct(key)
    added = np.bincount(inverse, weights=counts.data).astype(np.int64)
    return _compressed(found, added, count, size)


def largest_counts(counts: scipy.sparse.csr_array) -> Integers:
    """Return how often each group's most frequent sensitive value occurs in it, shape (G,)."""
    return np.maximum.reduceat(counts.data, counts.indptr[:-1])


def most_frequent(counts: scipy.sparse.csr_array) -> Integers:
    """Return the code of each group's most frequent value, the first of equals, shape (G,)."""
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    tops = np.flatnonzero(counts.data == largest_counts(counts)[row])
    _, first = np.unique(row[tops], return_index=True)
    return counts.indices[tops[first]].astype(np.int64)


def _extended(
    key: Integers, radix: int, positions: npt.NDArray[np.integer], size: int
) -> tuple[Integers, int]:
    """Add one more digit to the keys, which are numbered afresh where they would overflow."""
    if radix > _LARGEST_KEY // size:
        key, sizes = _numbered(key)
        radix = len(sizes)
    digits = _with_missing_last(positions, size - 1)
    return key * size + digits, radix * size


def _with_missing_last(positions: npt.NDArray[np.integer], missing: int) -> Integers:
    """Return positions as codes, -1 replaced by `missing`."""
    codes = positions.astype(np.int64)
    codes[codes < 0] = missing
    return codes


def _numbered(key: Integers) -> tuple[Integers, Integers]:
    """Number distinct keys by first appearance; return each one's number and the sizes."""
    codes, _ = pd.factorize(key)
    return codes.astype(np.int64, copy=False), np.bincount(codes).astype(np.int64, copy=False)


def _first_rows(codes: Integers) -> Integers:
    """Return where each number appears first; numbers are given by first appearance."""
    highest = np.maximum.accumulate(codes)
    return np.flatnonzero(np.diff(highest, prepend=-1))


def _compressed(
    found: Integers, counts: Integers, groups: int, size: int
) -> scipy.sparse.csr_array:
    """Return sorted cells ``group * size + value`` with their counts as compressed rows."""
    rows, columns = np.divmod(found, size)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=groups))])
    return scipy.sparse.csr_array(
        (counts.astype(np.int64), columns.astype(np.int64), starts), shape=(groups, size)
    )


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
    counts: scipy.sparse.csr_array = field(repr=False)
    digest: str = field(repr=False)
    kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    """What was worked out from these groups and takes long, by what it was worked out for."""

    @classmethod
    def of(
        cls, groups: MicroGroups, codes: Codes, size: int, records: Codes | None = None
    ) -> GroupCounts:
        """Count a sensitive attribute's values in micro groups.

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
    def sizes(self) -> Integers:
        """Each group's number of records, shape (G,)."""
        return np.add.reduceat(self.counts.data, self.counts.indptr[:-1])

    @cached_property
    def largest_shares(self) -> Floats:
        """The share of each group's most frequent value, shape (G,)."""
        return largest_counts(self.counts) / self.sizes


def _digest(groups: MicroGroups, counts: scipy.sparse.csr_array) -> str:
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


def _mixed(one: Words, other: Words) -> Words:
    """Mix two words into one (the finisher of MurmurHash3)."""
    word = one * np.uint64(0x9E3779B97F4A7C15) + other
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    return word ^ (word >> np.uint64(33))
