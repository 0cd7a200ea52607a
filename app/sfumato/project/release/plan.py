"""What a release is a function of, but for the key and the rows; and what makes it of these.

Whoever releases, verifies, traces or audits asks a mechanism through here, so that a verification
makes exactly what a release made. No files, no clocks, no state between two tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Adopted, ReleaseRequest
from sfumato.engine.randomness.keys import SECRET_BYTES, DerivedKeys, KeyRing, WantedKeys
from sfumato.engine.randomness.record_ids import (
    key_hashes,
    record_ids_by_key,
    record_ids_by_position,
)
from sfumato.engine.randomness.row_order import Hashes, Positions
from sfumato.engine.table.table import EncodedColumn, Table, encode_attribute
from sfumato.formats.columns.arrays import ArrowColumn, is_ordered
from sfumato.formats.options import READING_VERSION
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import (
    Unit,
    canonical_json,
    from_plain,
    to_plain,
)
from sfumato.project.release.batches import ColumnType, arrow_type, batch_of, table_of
from sfumato.project.release.byproducts import pseudonym_column, released_weights
from sfumato.project.release.groups import GroupsInParts
from sfumato.project.release.units import unit_ids_of
from sfumato.project.release.views import (
    Coarsening,
    columns_listed,
    counts_rows,
    hidden_in,
    labels_stand_alone,
    shown_alone,
)

VERSION: Final = 1
"""Of the plain form; another one can't be read by this version."""

_AT_FIRST: Final[Mapping[str, Any]] = {
    "pseudonyms": {},
    "schema": {},
    "release_id": "",
    "suppressed": None,
    "group_marks": {},
    "keys": "",
    "reading": 1,
}
"""What plans from before these were stated mean; only what differs is written."""

RecordIds = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Plan:
    """A release for one recipient: everything it is a function of but the key and the rows.

    Parameters
    ----------
    columns
        The table's columns with their roles, domains and bins; the domain of every attribute of
        the policy is filled in where the rows had to suggest it.
    record_key
        The column that tells records apart; None for their position.
    entries
        The policy entries: mechanisms with settings, resolved levels and ladders.
    released
        The columns that leave, in order.
    groups
        For the key of an entry whose mechanism needs groups, the columns that make them.
    rows_as_in_table
        Whether rows leave in the table's order instead of the release's own.
    coarsening
        How coarsely the quasi-identifiers leave; None for as they are.
    pseudonyms
        For each identifying column that leaves as a pseudonym, whose it is
        (`sfumato.project.release.byproducts.scope_of`).
    unit
        Which rows belong together, and how many of them leave at most; None where each stands
        alone.
    schema
        How the record key and each released column are read, by name
        (`sfumato.project.release.batches.schema_of`); rows that come in batches are read so.
    release_id
        The release that it makes, whose keyed order its rows leave in; empty for any.
    suppressed
        What `sfumato.project.release.views` lists of the rows that the view suppresses;
        None where that was not found out.
    group_marks
        For the key of an entry in `groups`, by what groups are known again that an engine brings
        together (`sfumato.project.release.prepared.mark_of`).
    keys
        The fingerprint of the keys that were made for it
        (`sfumato.engine.randomness.keys.DerivedKeys`); empty where none were.
    reading
        The version of reading of the project that it was made by.
    """

    columns: tuple[ColumnSpec, ...]
    record_key: str | None
    entries: tuple[EntryPlan, ...]
    released: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows_as_in_table: bool = False
    coarsening: Coarsening | None = None
    pseudonyms: Mapping[str, str] = field(default_factory=dict)
    unit: Unit | None = None
    schema: Mapping[str, ColumnType] = field(default_factory=dict)
    release_id: str = ""
    suppressed: tuple[str, ...] | None = None
    group_marks: Mapping[str, str] = field(default_factory=dict)
    keys: str = ""
    reading: int = READING_VERSION

    @property
    def others_count(self) -> bool:
        """Whether a record's release depends on others, as where too few rows are not shown.

        Which rows of a unit leave is decided before, of the whole table.
        """
        fitted = any(entry.settings.get("adopted") for entry in self.entries)
        coarsening = self.coarsening
        counted = coarsening is not None and (
            not labels_stand_alone(coarsening, self.columns)
            or (counts_rows(coarsening) and self.suppressed is None)
        )
        grouped = bool(self.groups.keys() - self.group_marks.keys())
        return grouped or fitted or counted

    def column(self, name: str) -> ColumnSpec:
        """Return a column's specification."""
        return next(spec for spec in self.columns if spec.name == name)

    @property
    def once_drawn(self) -> tuple[str, ...]:
        """The attributes that are the same in all rows of a unit, and are drawn once for it."""
        return tuple(name for each in self.entries if each.by_unit for name in each.attributes)

    def to_json(self) -> str:
        """Return the plan as JSON, in one form only; it holds no key and no row."""
        plain = {"version": VERSION, "unit": None, **to_plain(self)}
        usual = [name for name, each in _AT_FIRST.items() if plain[name] == each]
        return canonical_json({name: each for name, each in plain.items() if name not in usual})

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that `to_json` wrote.

        Raises
        ------
        PolicyError
            If it is of another version.
        SfumatoError
            If a column can't be read.
        """
        plain: dict[str, Any] = json.loads(text)
        if plain.get("version") != VERSION:
            raise PolicyError(
                "The plan is of version {found}, and this program reads version {version}.",
                "Make the plan again with this version.",
                found=plain.get("version"),
                version=VERSION,
            )
        plan: Plan = from_plain(cls, {"coarsening": None, "unit": None, **_AT_FIRST, **plain})
        return plan

    def table_of(self, batch: pa.RecordBatch, names: Collection[str] | None = None) -> Table:
        """Return some rows, or some of their columns, as they are read; see `table_of`."""
        kinds = self.schema if names is None else {name: self.schema[name] for name in names}
        return table_of(batch, kinds, self.reading)

    def output_schema(self) -> pa.Schema:
        """Return the Arrow schema of what `Releaser.release_part` returns of rows that leave.

        Raises
        ------
        PolicyError
            If a record's release depends on other records.
        """
        return self.bind(KeyRing(bytes(SECRET_BYTES))).output_schema

    def with_keys(self, keys: KeyRing) -> tuple[Plan, DerivedKeys]:
        """Return the plan with the fingerprint of its keys, and these: of a project's only they.

        Raises
        ------
        PolicyError
            If a record's release depends on other records.
        """
        wanted = WantedKeys()
        _ = self.bind(wanted).output_schema  # of no rows, asks for every key
        if self.unit is not None:
            wanted.for_unit_rows()
        if self.release_id and not self.rows_as_in_table:
            wanted.for_row_order(self.release_id)
        if self.suppressed:
            wanted.for_suppressed_rows()
        wanted.for_classes()
        for key in self.groups:
            wanted.for_groups(key)
        found = keys.only(wanted)
        return replace(self, keys=found.fingerprint), found

    def frame_of(self, released: pa.Table) -> pd.DataFrame:
        """Return rows that `Releaser.release_part` made, wherever that was, as a frame.

        Raises
        ------
        TableError
            If they are another plan's.
        """
        kinds: dict[str, ColumnType] = {}
        for each in self.output_schema():
            kinds[each.name] = str(each.type)
            if pa.types.is_dictionary(each.type):
                binning = self.column(each.name).binning
                kinds[each.name] = self.schema[each.name] if binning is None else binning.names
        batches = released.combine_chunks().to_batches()
        frames = [table_of(batch, kinds).frame for batch in batches]
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)

    def bind(
        self,
        keys: KeyRing,
        seen: SeenInParts | None = None,
        groups: Mapping[str, GroupsInParts] | None = None,
        adopted: Mapping[str, tuple[Adopted, ...]] | None = None,
        placed: bool = False,
        known: KnownHashes | None = None,
    ) -> Releaser:
        """Return what releases rows that leave by the plan with a project's keys.

        Where its view was counted in a table whose parts are released, that is `seen`; `groups`
        and `adopted` say by which of them, and of earlier releases, entries are released, and
        `placed` that it is known where rows stand. What is `known` of their record keys is not
        computed again.
        """
        return Releaser(self, keys, seen, groups or {}, adopted or {}, placed, known)


@dataclass(frozen=True)
class Rows:
    """A table as any release is made from it, whoever it is for.

    Parameters
    ----------
    table
        The rows.
    encoded
        Every attribute of the policy, by name, with its rows.
    record_ids
        Each record's identifier, shape (n,).
    adopted
        For a policy entry's key, the rows of earlier releases that it is fitted to.
    unit_ids
        The identifier of each row's unit, shape (n,); None where rows stand alone.
    """

    table: Table
    encoded: Mapping[str, EncodedColumn]
    record_ids: RecordIds
    adopted: Mapping[str, tuple[Adopted, ...]] = field(default_factory=dict)
    unit_ids: RecordIds | None = None


class SeenInParts(Protocol):
    """What a view makes of a table, whose parts it shows by themselves."""

    @property
    def changed(self) -> Collection[str]:
        """The columns that hold labels in place of their values."""

    def shown_in(self, table: Table) -> Mapping[str, pd.Series]:
        """Return these columns of some rows."""


class KnownHashes:
    """The keyed hashes of a table's record keys, once they were computed: 17 bytes a row.

    Parameters
    ----------
    rows
        How many rows the table has.
    """

    def __init__(self, rows: int) -> None:
        self._hashes = np.empty((rows, 2), dtype=np.uint64)
        self._known = np.zeros(rows, dtype=bool)

    def of(self, places: Positions, find: Callable[[], Hashes]) -> Hashes:
        """Return the hashes of the rows in some places, shape (n, 2); `find` computes them."""
        if self._known[places].all():
            return self._hashes[places]
        hashes = find()
        self._hashes[places] = hashes
        self._known[places] = True
        return hashes


@dataclass(frozen=True)
class Releaser:
    """A plan with the keys that it is carried out by, see `Plan.bind`."""

    plan: Plan
    keys: KeyRing = field(repr=False)
    seen: SeenInParts | None = field(default=None, repr=False)
    groups: Mapping[str, GroupsInParts] = field(default_factory=dict, repr=False)
    adopted: Mapping[str, tuple[Adopted, ...]] = field(default_factory=dict, repr=False)
    placed: bool = False
    known: KnownHashes | None = field(default=None, repr=False)

    def release_part(
        self,
        batch: pa.RecordBatch,
        *,
        coded: bool = False,
        places: Positions | None = None,
    ) -> tuple[pa.RecordBatch, Hashes]:
        """Return some rows of a table as the recipient is given them, in the order they came.

        Each row is released by itself: it does not matter where a table is cut, in which order
        its parts come, how many threads release them, or which types their reader chose. That
        no record key stands in two rows is checked over the whole table, by their hashes.

        Parameters
        ----------
        batch
            With the record key and all released columns, in any order; others are left out.
        coded
            Whether texts may be coded, see `batch_of`.
        places
            Where the rows stand in the table, from 0, shape (n,): without a record key, that is
            what tells them apart.

        Returns
        -------
        pyarrow.RecordBatch
            Of the schema `output_schema`, shape (n, released columns).
        Hashes
            What `record_hashes` returns.

        Raises
        ------
        PolicyError
            If a record's release depends on other records.
        SfumatoError
            If a column is missing or a row does not fit the plan. Columns and rows are named, and
            never a value.
        """
        schema = self.output_schema
        if not batch.num_rows:
            return pa.RecordBatch.from_pylist([], schema), np.empty((0, 2), dtype=np.uint64)
        if self.plan.groups.keys() - self.groups.keys():
            raise _not_alone(self.plan)
        frame, hashes = self.shown_alone(self.plan.table_of(batch), places)
        return batch_of(frame, schema, coded=coded), hashes

    def record_hashes(self, batch: pa.RecordBatch) -> Hashes:
        """Return the keyed hash of each row's record key, by which repeated ones are found.

        Parameters and errors are those of `release_part`. Shape (n, 2): two rows with the same
        128 bits have the same key.
        """
        name = self.plan.record_key
        if name is None:
            raise _not_alone(self.plan)
        table = self.plan.table_of(batch, (name,))
        return key_hashes(table.column(name), self.keys, Silent())

    @cached_property
    def _starred(self) -> set[str]:
        """The quasi-identifiers that show * in some row that the plan lists."""
        names = () if self.plan.coarsening is None else self.plan.coarsening.hierarchies
        return columns_listed(names, self.plan.suppressed or ())

    @cached_property
    def output_schema(self) -> pa.Schema:
        """What `release_part` returns, see `Plan.output_schema`."""
        plan, coarsening = self.plan, self.plan.coarsening
        counted = plan if self.seen is None else replace(plan, coarsening=None)
        if self.groups.keys() >= plan.groups.keys():
            counted = replace(counted, groups={})
        others = (each for each in plan.entries if each.key not in self.adopted)
        counted = replace(counted, entries=tuple(others))
        by_place = plan.record_key is None and not self.placed
        if by_place or counted.others_count or not plan.schema:
            raise _not_alone(plan)
        levels = {} if coarsening is None else coarsening.own.levels
        hidden = {name for name, level in levels.items() if level}
        hidden |= self._starred
        coarser = hidden if self.seen is None else set(self.seen.changed)
        read = pa.schema([(name, arrow_type(kind)) for name, kind in plan.schema.items()])
        none = table_of(pa.RecordBatch.from_pylist([], read), plan.schema)
        finer = replace(plan, coarsening=None)
        domains = {spec.name: spec.domain for spec in plan.columns if spec.domain is not None}
        of_none = {
            entry.key: GroupsInParts.of_none(
                plan.groups[entry.key], {name: domains[name] for name in entry.attributes}
            )
            for entry in plan.entries
            if entry.key in plan.groups
        }
        none_of_them = Releaser(finer, self.keys, groups=of_none, adopted=self.adopted)
        shown, _ = none_of_them.shown_alone(none, np.empty(0, dtype=np.int64))
        perturbed = {name for entry in plan.entries for name in entry.attributes}
        fields = []
        for name in plan.released:
            spec, series = plan.column(name), shown[name]
            if name in coarser:
                kind = pa.string()
            elif is_ordered(series):
                kind = arrow_type(tuple(series.cat.categories))
            elif name in perturbed or name in plan.pseudonyms or spec.coded is not None:
                kind = ArrowColumn(name, series).type
            else:
                kind = read.field(name).type
            fields.append((name, kind))
        return pa.schema(fields)

    def shown_alone(
        self, table: Table, places: Positions | None = None
    ) -> tuple[pd.DataFrame, Hashes]:
        """Return some rows as they are released, each by itself, and their hashes."""
        plan = self.plan
        for spec in plan.columns:
            if spec.role is Role.WEIGHT and spec.name in plan.schema and table.rows:
                released_weights(table, spec)
        rows, hashes = self.rows_alone(table, places)
        coarsening = plan.coarsening
        shown: Mapping[str, pd.Series] = {}
        if self.seen is not None:
            shown = self.seen.shown_in(table)
        elif coarsening is not None:
            names = coarsening.hierarchies
            hidden = None
            if plan.suppressed:
                hidden = hidden_in(table, names, plan.suppressed, self.keys)
            shown = shown_alone(coarsening, plan.columns, table, hidden, self._starred)
        columns = self._columns(rows, shown)
        return pd.DataFrame(columns, index=table.frame.index, copy=False), hashes

    def of_every_sort(self, table: Table, places: Positions) -> pd.DataFrame:
        """Return some rows as `shown_alone` does, by which a file is laid out.

        Categories in an order are those that one of these rows has, since others would tell of
        rows that don't leave. Bins are stated, and all of them stay.
        """
        frame, _ = self.shown_alone(table, places)
        for name in self.plan.released:
            if is_ordered(frame[name]) and self.plan.column(name).binning is None:
                frame[name] = frame[name].cat.remove_unused_categories()
        return frame

    def rows_alone(self, table: Table, places: Positions | None = None) -> tuple[Rows, Hashes]:
        """Return some rows as they are released from, each by itself, and their keys' hashes.

        Without a record key, these are where the rows stand; see `release_part`.
        """
        plan = self.plan
        attributes = [name for entry in plan.entries for name in entry.attributes]
        encoded = {name: encode_attribute(table, plan.column(name)) for name in attributes}
        for found in self.groups.values():
            encoded |= {name: found.column(table, encoded[name]) for name in found.counts}
        if plan.record_key is not None:
            find = partial(key_hashes, table.column(plan.record_key), self.keys, Silent())
            hashes = (
                self.known.of(places, find)
                if self.known is not None and places is not None
                else find()
            )
        else:
            assert places is not None  # `output_schema` refuses others
            hashes = np.stack([places, np.zeros_like(places)], axis=1).astype(np.uint64)
        units, adopted = unit_ids_of(plan.unit, table, self.keys), {}
        for key, held in self.adopted.items():
            assert places is not None  # who knows earlier releases knows where rows stand
            adopted[key] = tuple(one.at(places) for one in held)
        return Rows(table, encoded, hashes[:, 0].copy(), adopted, units), hashes

    def _columns(self, rows: Rows, shown: Mapping[str, pd.Series]) -> dict[str, pd.Series]:
        """Return the columns that leave, by name; `shown` are those that a view coarsens.

        Identifying columns are dropped or shown as pseudonyms, sensitive attributes pass through
        their mechanism, quasi-identifiers show the labels of the recipient's levels, all others
        are binned, coded or as they are.
        """
        made: dict[str, pd.Series] = {}
        for entry in self.plan.entries:
            made |= release_entry(entry, rows, self.keys, Silent())
        for name, scope in self.plan.pseudonyms.items():
            made[name] = pseudonym_column(rows.table, name, scope, self.keys, Silent())
        return {
            name: made[name].set_axis(rows.table.frame.index)
            if name in made
            else shown[name]
            if name in shown
            else open_column(rows.table, self.plan.column(name))
            for name in self.plan.released
        }


def _not_alone(plan: Plan) -> PolicyError:
    """Say why a plan can't be carried out row by row."""
    why = "which rows are too few to be shown, or which neighbours are grouped, is counted"
    if not plan.schema:
        return PolicyError(
            "The plan does not say how the columns are read, so rows can't be released in batches.",
            "Make the plan again from the table.",
        )
    if plan.record_key is None:
        return PolicyError(
            "Records are told apart by their position, which a part of a table does not tell.",
            "State the column that tells records apart (the record key) before the first release.",
        )
    if plan.groups:
        why = "{entry} is released by groups of records"
    elif any(entry.settings.get("adopted") for entry in plan.entries):
        why = "earlier releases were adopted, whose rows are matched with the whole table"
    return PolicyError(
        "What is released of a row depends on other rows: {why}.",
        "Release the whole table at once.",
        why=Sentence(why, entry=", ".join(plan.groups)),
    )


def release_entry(
    entry: EntryPlan, rows: Rows, keys: KeyRing, context: Context
) -> Mapping[str, pd.Series]:
    """Return one policy entry's released columns, by name, each of shape (n,)."""
    return mechanism_called(entry.mechanism).release(request_of(entry, rows, keys), context)


def request_of(entry: EntryPlan, rows: Rows, keys: KeyRing) -> ReleaseRequest:
    """Return what a mechanism is asked for a policy entry."""
    ids = rows.record_ids
    if entry.by_unit:
        assert rows.unit_ids is not None
        ids = rows.unit_ids
    return ReleaseRequest(
        columns=tuple(rows.encoded[name] for name in entry.attributes),
        settings=entry.settings,
        level=entry.level,
        record_ids=ids,
        keys=keys,
        adopted=rows.adopted.get(entry.key, ()),
    )


def record_ids_of(
    record_key: str | None,
    table: Table,
    keys: KeyRing,
    context: Context,
    rows: npt.NDArray[np.intp] | None = None,
) -> RecordIds:
    """Return records' identifiers, by record key or else by position.

    Parameters
    ----------
    record_key
        The column that tells records apart; None for their position.
    table, keys
        The rows and the project's keys.
    context
        Progress and cancelling.
    rows
        Which rows of the table, shape (k,).

    Raises
    ------
    TableError
        If the record key is not in the table, or is missing or repeated in a row.
    """
    if record_key is not None:
        column = table.column(record_key)
        return record_ids_by_key(column if rows is None else column.iloc[rows], keys, context)
    if rows is None:
        return record_ids_by_position(table.rows)
    return rows.astype(np.uint64)  # a position is its own identifier


def open_column(table: Table, spec: ColumnSpec) -> pd.Series:
    """Return a column that is released unperturbed: as it is, binned or coded."""
    return spec.shown(table.column(spec.name))
