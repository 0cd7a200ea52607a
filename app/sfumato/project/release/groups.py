"""Micro groups: of the mechanisms that need them, and of attackers who know public columns.

In a table that is too long for memory groups are found in one pass, by counting the rows that
differ in the public columns, as these are released, and in the attributes. They are numbered, and
what mechanisms are told of them is, as in memory. A row's group is then looked up by its public
values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.errors import PolicyError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.values import Value, factorize, plain
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.table.micro_groups import (
    GroupCounts,
    MicroGroups,
    PublicAttribute,
    micro_groups,
)
from sfumato.engine.table.table import EncodedColumn, GroupAssignment, Table
from sfumato.formats.columns.arrays import NativeColumn
from sfumato.project.document.model import Document
from sfumato.project.release.bucket_counts import Packing, series_of


def public_columns(document: Document, settings: Settings, mechanism: str) -> tuple[str, ...]:
    """Return the columns that make a policy entry's micro groups, in the table's order.

    Parameters
    ----------
    document
        The columns' roles.
    settings, mechanism
        The policy entry's. What the settings name counts, or else all columns; of them, those
        that are released as they are.

    Raises
    ------
    PolicyError
        If there is no column of a name.
    """
    shown = [
        column.name
        for column in document.columns
        if column.role not in {Role.SENSITIVE, Role.IDENTIFYING}
    ]
    named = mechanism_called(mechanism).public_columns(settings)
    if named is None:
        return tuple(shown)
    known = {column.name for column in document.columns}
    for name in named:
        if name not in known:
            raise PolicyError(
                "{column} is to make groups of records alike in public, but there is no such"
                " column.",
                "Take it out of the public columns, or correct its name.",
                column=name,
            )
    return tuple(name for name in shown if name in named)


def groups_by(table: Table, specs: Sequence[ColumnSpec], context: Context) -> MicroGroups:
    """Group a table's records by public columns as they are released: bins as their labels.

    Raises
    ------
    TableError
        If the table has no such column.
    DomainError
        If a row does not fit a column's bins.
    """
    columns = {spec.name: spec.shown(table.column(spec.name)) for spec in specs}
    frame = pd.DataFrame(columns, index=table.frame.index, copy=False)
    return micro_groups(frame, tuple(columns), context)


def with_groups(
    document: Document,
    table: Table,
    encoded: Mapping[str, EncodedColumn],
    mechanism: str,
    settings: Settings,
    context: Context,
) -> dict[str, EncodedColumn]:
    """Return a policy entry's columns, with their rows' groups where its mechanism needs them.

    Raises the errors of `public_columns` and `groups_by`.
    """
    if not mechanism_called(mechanism).needs_groups:
        return dict(encoded)
    names = public_columns(document, settings, mechanism)
    groups = groups_by(table, [document.column(name) for name in names], context)
    return {name: column.grouped(groups) for name, column in encoded.items()}


def public_names(document: Document) -> tuple[str, ...]:
    """Return the columns that recipients see as they are, in the table's order."""
    hidden = (Role.IDENTIFYING, Role.SENSITIVE)
    return tuple(column.name for column in document.columns if column.role not in hidden)


def is_known_to_others(spec: ColumnSpec) -> bool:
    """Return whether a column counts as a quasi-identifier: so does a weight unless rounded."""
    rounded = spec.coded is not None and spec.coded.step is not None
    weight = spec.role is Role.WEIGHT and spec.binning is None and not rounded
    return weight or spec.role is Role.QUASI_IDENTIFIER


def usual_knowledge(document: Document) -> tuple[str, ...]:
    """Return what an attacker is usually taken to know: the quasi-identifiers.

    Where nothing is marked as one, every column that is released as it is.
    """
    marked = tuple(column.name for column in document.columns if is_known_to_others(column))
    return marked or public_names(document)


def check_knowledge(document: Document, names: Sequence[str]) -> None:
    """Refuse columns that no recipient sees as they are.

    Raises
    ------
    PolicyError
        Naming the column.
    """
    public = public_names(document)
    for name in names:
        if name not in public:
            raise PolicyError(
                "The column {column} is not released as it is, so no attacker can look people up"
                " by it.",
                "Choose among: {public}.",
                column=name,
                public=", ".join(public) or "none",
            )


MOST_COMBINATIONS: Final = 1 << 22
"""So many combinations of public values and values of an attribute are counted at most: some 8
bytes for each column, and as much again while they are counted."""
_PENDING: Final = 1 << 20

Numbers = npt.NDArray[np.int64]


def _none() -> Numbers:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class GroupsInParts:
    """The groups of a long table, in which its parts' rows are looked up.

    Parameters
    ----------
    counts
        For each attribute, what mechanisms are told of its groups.
    sizes
        Each group's number of records, shape (G,).
    dealt
        What was dealt to the rows of groups that are drawn from; None while they were not.
    """

    counts: Mapping[str, GroupCounts]
    sizes: Numbers = field(repr=False)
    dealt: GroupAssignment | None = field(repr=False, default=None)
    _columns: tuple[_ReleasedValues, ...] = field(repr=False, default=())
    _keys: npt.NDArray[np.generic] = field(repr=False, default_factory=_none)
    _members: Numbers = field(repr=False, default_factory=_none)

    @classmethod
    def of_none(cls, names: Sequence[str], domains: Mapping[str, Domain]) -> GroupsInParts:
        """Return the groups of no rows by some columns, of attributes with these domains."""
        public = tuple(PublicAttribute(name, pd.Index([]), _none()) for name in names)
        groups = MicroGroups(_none(), _none(), public)
        none = np.zeros(0, dtype=np.uint8)
        counts = {name: GroupCounts.of(groups, none, each.size) for name, each in domains.items()}
        return cls(counts, groups.sizes)

    def told(self, columns: Mapping[str, EncodedColumn]) -> dict[str, EncodedColumn]:
        """Return those of some attributes that have groups, with what is told of these."""
        return {
            name: replace(columns[name], attribute=replace(columns[name].attribute, groups=counts))
            for name, counts in self.counts.items()
            if name in columns
        }

    def column(self, table: Table, encoded: EncodedColumn) -> EncodedColumn:
        """Return an attribute of some rows with their groups.

        Raises
        ------
        TableError
            If they are no rows of the table.
        """
        counts = self.counts.get(encoded.attribute.name)
        if counts is None:
            return encoded
        shown = [each.spec.shown(table.column(each.spec.name)) for each in self._columns]
        found = [each.known(one) for each, one in zip(self._columns, shown, strict=True)]
        members = np.zeros(table.rows, dtype=np.int64)
        if found:
            keys = Packing([len(each) for each in self._columns]).pack(found)
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            if any((each < 0).any() for each in found) or (self._keys[places] != keys).any():
                raise TableError("The table changed while it was read.", "Start again.")
            members = self._members[places]
        attribute = replace(encoded.attribute, groups=counts)
        return EncodedColumn(
            attribute, encoded.values, MicroGroups(members, self.sizes), self.dealt
        )


class CountedGroups:
    """Counts the groups of a policy entry's records, in whatever batches their rows come.

    Parameters
    ----------
    public, own
        The columns that make the groups, and the entry's attributes.
    types
        What the table's columns are read as.
    """

    def __init__(
        self,
        public: Sequence[ColumnSpec],
        own: Sequence[ColumnSpec],
        types: Mapping[str, pa.DataType],
    ) -> None:
        self._public = [_ReleasedValues(spec, types[spec.name]) for spec in public]
        self._own = [
            _ReleasedValues(replace(spec, coding=None), types[spec.name])
            for spec in own
            if spec.kind != "numeric" or spec.binning is not None
        ]
        self._rows = self._pending = self._merged = 0
        self._parts: list[Numbers] = []

    @property
    def read(self) -> list[str]:
        """The columns that are looked at."""
        return [each.spec.name for each in (*self._public, *self._own)]

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows that come next.

        Raises
        ------
        DomainError
            If a row does not fit a column's bins.
        TableError
            If there are too many combinations.
        """
        columns = [*self._public, *self._own]
        if not self._own or not len(batch):
            return
        codes = [each.add(batch[each.spec.name]) for each in columns]
        rows = np.arange(self._rows, self._rows + len(batch))
        self._rows += len(batch)
        self._parts.append(self._distinct(np.stack([*codes, rows, np.ones_like(rows)])))
        self._pending += self._parts[-1].shape[1]
        if self._pending > max(_PENDING, self._merged):
            self._merge()

    def _distinct(self, found: Numbers) -> Numbers:
        """Return each combination once: its codes, its first row and how many rows have it."""
        *codes, rows, counts = found
        keys = Packing([len(each) for each in (*self._public, *self._own)]).pack(codes)
        _, firsts, places = np.unique(keys, return_index=True, return_inverse=True)
        added = np.bincount(places, weights=counts).astype(np.int64)
        return np.stack([*(each[firsts] for each in codes), rows[firsts], added])

    def _merge(self) -> Numbers:
        merged = self._distinct(np.concatenate(self._parts, axis=1))
        self._parts, self._merged, self._pending = [merged], merged.shape[1], 0
        if self._merged > MOST_COMBINATIONS:
            raise TableError(
                "The public columns and {attribute} take more than {most:,} different"
                " {most:combination|combinations} of values, too many for groups of records to be"
                " counted in parts.",
                "Choose fewer public columns, give them bins, or let more memory be taken.",
                attribute=self._own[0].spec.name,
                most=MOST_COMBINATIONS,
            )
        return merged

    def found(self, columns: Mapping[str, EncodedColumn]) -> GroupsInParts:
        """Return the groups of all rows, with the attributes as they are encoded."""
        own = [each for each in self._own if each.spec.name in columns]
        if not own:
            return GroupsInParts({}, _none())
        merged = self._merge()
        merged = merged[:, np.argsort(merged[-2])]  # as their first rows stand in the table
        records = merged[-1]
        names = [each.spec.name for each in self._public]
        frame = pd.DataFrame(
            {
                each.spec.name: each.shown().take(codes).reset_index(drop=True)
                for each, codes in zip(self._public, merged, strict=False)
            },
            index=range(len(records)),
        )
        groups = micro_groups(frame, names, Silent())
        sizes = np.bincount(groups.codes, weights=records).astype(np.int64)
        counts = {}
        for each, codes in zip(self._own, merged[len(names) :], strict=False):
            domain = columns[each.spec.name].attribute.domain
            if domain is not None:
                values = domain.encode(each.shown(), each.spec.name)[codes]
                counts[each.spec.name] = GroupCounts.of(groups, values, domain.size, records)
        if not names:
            return GroupsInParts(counts, sizes)
        packing = Packing([len(each) for each in self._public])
        keys, firsts = np.unique(packing.pack(list(merged[: len(names)])), return_index=True)
        return GroupsInParts(counts, sizes, None, tuple(self._public), keys, groups.codes[firsts])


def counted_groups(
    document: Document, types: Mapping[str, pa.DataType]
) -> dict[str, CountedGroups]:
    """Return what counts the groups of each policy entry that needs them, by its key.

    Raises
    ------
    PolicyError
        If an entry's groups are made by a column that there is not.
    """
    found = {}
    for entry in document.policy:
        if mechanism_called(entry.mechanism).needs_groups and document.unit is None:
            public = public_columns(document, entry.settings, entry.mechanism)
            own = [document.column(name) for name in entry.attributes]
            found[entry.key] = CountedGroups([document.column(each) for each in public], own, types)
    return found


class _ReleasedValues:
    """The values of a column as it is released, each with a number, as they are met."""

    def __init__(self, spec: ColumnSpec, kind: pa.DataType) -> None:
        self.spec, self._kind = spec, kind
        self._numbers: dict[Value, int] = {}
        self._firsts: list[pa.Array] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, values: pa.Array) -> Numbers:
        """Return the numbers of some rows' values, shape (n,); what is new gets the next ones."""
        shown = self.spec.shown(series_of(values, self.spec.name))
        positions, uniques = factorize(shown)
        before = len(self._numbers)
        met, firsts = np.unique(positions, return_index=True)
        numbers = np.full(len(uniques) + 1, -1, dtype=np.int64)
        new = []
        for place, first in zip(met.tolist(), firsts.tolist(), strict=True):
            value = None if place < 0 else plain(uniques[place])
            numbers[place] = self._numbers.setdefault(value, len(self._numbers))
            if numbers[place] >= before:
                new.append(first)
        if new:
            self._firsts.append(values.take(pa.array(new)))
        found: Numbers = numbers[positions]
        return found

    def known(self, shown: pd.Series) -> Numbers:
        """Return the numbers of some rows' values, shape (n,); -1 where one was never met."""
        positions, uniques = factorize(shown)
        values = [plain(each) for each in uniques]
        numbers = [self._numbers.get(each, -1) for each in [*values, None]]
        found: Numbers = np.array(numbers, dtype=np.int64)[positions]
        return found

    def shown(self) -> pd.Series:
        """Return each value once, as the whole column in memory has it, by its number."""
        column = NativeColumn(self.spec.name, self._kind, len(self))
        for each in self._firsts:
            column.add(each)
        return self.spec.shown(pd.Series(column.finish(), name=self.spec.name))
