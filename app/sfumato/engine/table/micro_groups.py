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
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats, Integers, Value, Words, distinct, factorize, plain
from sfumato.engine.core.wording import Sentence, listed

_LARGEST_KEY: Final = 1 << 62
"""Mixed-radix keys stay below this; keys that would not are numbered afresh first."""

_PENDING: Final = 1 << 20
"""So many groups of single parts wait at most to be put together."""

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
        Each record's group, shape (n,); of rows that stand for several records, each row's.
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
    alike = AlikeRows(names)
    alike.add(frame, context)
    return alike.groups()


class AlikeRows:
    """Groups records by their public values, in whatever parts their rows come.

    Parameters
    ----------
    names
        The public attributes. With none of them all records are one group.
    most
        How many groups are counted at most; None for any number.
    called
        What these attributes are called where there are too many groups; None for their names.
    """

    def __init__(
        self, names: Sequence[str], most: int | None = None, called: Sequence[str] | None = None
    ) -> None:
        self._names, self._most = tuple(names), most
        self._called = self._names if called is None else tuple(called)
        self._values = [ValuesMet() for _ in names]
        self._parts: list[_CodedRows] = []
        self._of_rows: npt.NDArray[np.int64] | None = None

    def add(self, frame: pd.DataFrame, context: Context) -> None:
        """Group the rows that come next; for the rest see `micro_groups`.

        Raises
        ------
        TableError
            If they have no such column, or there are too many groups.
        """
        codes = []
        for number, (name, values) in enumerate(zip(self._names, self._values, strict=True)):
            done = 0.9 * number / len(self._names)
            context.report(done, Sentence("Grouping records by {name}", name=name))
            if name not in frame.columns:
                raise TableError(
                    "The table has no column {column} to group records by.",
                    "Choose other public attributes.",
                    column=name,
                )
            codes.append(values.codes(frame[name]))
        part, of_rows = self._merged(_CodedRows(codes, np.ones(len(frame), dtype=np.int64)))
        self._of_rows = None if self._parts else of_rows
        self._parts.append(part)
        if sum(len(each.sizes) for each in self._parts[1:]) > max(
            _PENDING, len(self._parts[0].sizes)
        ):
            self._join()
        context.report(1.0, "Records are grouped")

    def _join(self) -> _CodedRows:
        """Put what was found in all parts together, in the order of the first rows."""
        if len(self._parts) > 1:
            columns = zip(*(each.codes for each in self._parts), strict=True)
            sizes = np.concatenate([each.sizes for each in self._parts])
            joined = _CodedRows([np.concatenate(codes) for codes in columns], sizes)
            self._parts = [self._merged(joined)[0]]
        [part] = self._parts
        if self._most is not None and len(part.sizes) > self._most:
            raise TableError(
                "{columns} take more than {most:,} different {most:combination|combinations} of"
                " values, too many to be counted in parts.",
                "Choose fewer of these columns, give them bins, or let more memory be taken.",
                columns=listed(self._called),
                most=self._most,
            )
        return part

    def _merged(self, part: _CodedRows) -> tuple[_CodedRows, npt.NDArray[np.int64]]:
        """Return each group once, by its first row, and the group of every row."""
        numbers = merge(self._attributes(part.codes), len(part.sizes))
        first = _first_rows(numbers)
        sizes = np.bincount(numbers, weights=part.sizes).astype(np.int64)
        return _CodedRows([codes[first] for codes in part.codes], sizes), numbers

    def _attributes(
        self, columns: Sequence[npt.NDArray[np.integer]]
    ) -> tuple[PublicAttribute, ...]:
        return tuple(
            PublicAttribute(name, values.known, _with_missing_last(codes, len(values.known)))
            for name, values, codes in zip(self._names, self._values, columns, strict=True)
        )

    def groups(self) -> MicroGroups:
        """Return the groups of all rows.

        Where these came in several parts, each group stands for itself once (`MicroGroups.codes`),
        and `places` finds those of rows.

        Raises
        ------
        TableError
            If there are no rows, or too many groups.
        """
        if not self._parts or not len((part := self._join()).sizes):
            raise TableError("The table has no rows.", "Choose a file with at least one record.")
        of_rows = np.arange(len(part.sizes)) if self._of_rows is None else self._of_rows
        return MicroGroups(of_rows, part.sizes, self._attributes(part.codes))

    def places(self, frame: pd.DataFrame) -> npt.NDArray[np.int64]:
        """Return the group of some rows, once all rows were grouped, shape (n,).

        Raises
        ------
        TableError
            If one is in none of them.
        """
        key, found = np.zeros(len(frame), dtype=np.int64), np.ones(len(frame), dtype=np.bool_)
        for name, values, table in zip(self._names, self._values, self._tables, strict=True):
            codes = values.looked_up(frame[name])
            found &= codes < len(values.known) + 1
            key = key * (len(values.known) + 1) + codes
            key = np.minimum(np.searchsorted(table, wanted := key), len(table) - 1)
            found &= table[key] == wanted
        if not found.all():
            raise TableError("The table changed while it was read.", "Start again.")
        return self._order[key]

    @cached_property
    def _tables(self) -> list[npt.NDArray[np.int64]]:
        """For each column, the keys by the columns up to it that there are, ascending."""
        part, tables = self._join(), []
        key = np.zeros(len(part.sizes), dtype=np.int64)
        for values, codes in zip(self._values, part.codes, strict=True):
            size = len(values.known) + 1
            table, key = np.unique(
                key * size + _with_missing_last(codes, size - 1), return_inverse=True
            )
            tables.append(table)
        self._order = np.empty(len(tables[-1]) if tables else 1, dtype=np.int64)
        self._order[key] = np.arange(len(key))
        return tables


@dataclass(frozen=True)
class _CodedRows:
    """The codes of some rows by each column, -1 for missing, and how many rows they stand for."""

    codes: list[npt.NDArray[np.integer]]
    sizes: npt.NDArray[np.int64]


class ValuesMet:
    """The values of a column, each with a number, as they are met, in whatever parts.

    Attributes
    ----------
    known
        The values, missing not among them, each at the place of its number.
    """

    def __init__(self) -> None:
        self.known = pd.Index([])
        self._begun = self._missing = False

    def codes(self, column: pd.Series) -> npt.NDArray[np.integer]:
        """Return the numbers of some rows' values, -1 for missing; new ones get the next."""
        positions, uniques = factorize(column)
        self._missing = self._missing or bool((positions < 0).any())
        if not self._begun:
            self.known, self._begun = uniques, True
        if uniques.equals(self.known):
            return positions
        numbers: npt.NDArray[np.integer] = self.known.get_indexer(uniques)
        new = numbers < 0
        numbers[new] = np.arange(len(self.known), len(self.known) + int(new.sum()))
        if new.any():
            self.known = self.known.append(uniques[new])
        codes: npt.NDArray[np.integer] = np.append(numbers, np.int64(-1))[positions]
        return codes

    def looked_up(self, column: pd.Series) -> npt.NDArray[np.integer]:
        """Return the numbers of some rows' values, those of missing next, of others beyond."""
        positions, uniques = factorize(column)
        numbers: npt.NDArray[np.integer] = self.known.get_indexer(uniques)
        size = np.int64(len(self.known))
        numbers[numbers < 0] = size + 1
        codes: npt.NDArray[np.integer] = np.append(numbers, size)[positions]
        return codes

    def series(self, name: str) -> pd.Series:
        """Return each value once, by number; a missing one at the end if any was met."""
        values = pd.Series(self.known, name=name)
        return values.reindex(range(len(values) + 1)) if self._missing else values


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
    groups: MicroGroups,
    codes: Codes,
    size: int,
    records: npt.NDArray[np.integer] | None = None,
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
        cls,
        groups: MicroGroups,
        codes: Codes,
        size: int,
        records: npt.NDArray[np.integer] | None = None,
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
