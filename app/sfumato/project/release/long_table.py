"""A source table that is too long for memory: what releases need of it, found in one pass.

What a mechanism is told of an attribute is counted over all rows, and so are unique records. What
the checks before a release estimate, they estimate from some rows drawn evenly, the same that they
are drawn from a long table in memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from secrets import token_bytes
from types import MappingProxyType
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError, TableError
from sfumato.engine.core.parallel import made_ahead, side_by_side
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.disclosure.open_columns import sample_rows
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.randomness.record_ids import NAMED_ROWS, key_hashes
from sfumato.engine.table.combinations import Marks
from sfumato.engine.table.table import (
    Attribute,
    EncodedColumn,
    Table,
    encode_attribute,
    no_column,
)
from sfumato.formats.columns.arrays import NativeColumn, in_stated_order, precision
from sfumato.formats.formulas import begin_formulas
from sfumato.formats.table_format import Batches
from sfumato.project.adoption.rows import RowsToMatch
from sfumato.project.document.model import Document
from sfumato.project.release.batches import HELD_BYTES, HeldRows, batches_of
from sfumato.project.release.byproducts import released_weights, weight_column
from sfumato.project.release.groups import (
    GroupsInParts,
    counted_groups,
    is_known_to_others,
    public_names,
)
from sfumato.project.release.long_counts import (
    Buckets,
    ClassSizes,
    ColumnFacts,
    OpenColumn,
    ValueCounts,
    class_sizes,
    first_repeats,
    put_keys,
    put_marks,
    repeated_in,
    series_of,
)
from sfumato.project.release.uniqueness import AloneInRelease
from sfumato.project.release.units import LongUnits

SAMPLE: Final = 1 << 18
"""The rows that the checks before a release estimate from."""
_KEPT: Final = 16
_SIGNED: Final = pa.scalar((1 << 63) - 1, pa.uint64())
"""The largest of the whole numbers with a sign."""
_MISSING: Final = object()
_Found = TypeVar("_Found")
_COARSER: Final = {"s": "day", "ms": "second", "us": "millisecond", "ns": "microsecond"}


@dataclass(frozen=True)
class ReleaseSummary:
    """What a release needs to know of a table.

    Parameters
    ----------
    witnesses
        Rows that show whatever decides how a column is stored and what its domain is.
    places
        Where these stand in the table, shape (k,).
    left, left_places
        As many of the rows that leave; the same where all do.
    encoded
        Every attribute of the policy, by name: the values of the witnesses, counts of all rows.
    alone
        The records that are unique on the columns that leave unperturbed; None where there are
        none, or nobody sees them as they are.
    groups
        The groups of policy entries that need them, by the entry's key.
    """

    witnesses: Table
    places: npt.NDArray[np.int64] = field(repr=False)
    left: Table
    left_places: npt.NDArray[np.int64] = field(repr=False)
    encoded: Mapping[str, EncodedColumn]
    alone: AloneInRelease | None
    groups: Mapping[str, GroupsInParts]


@dataclass(frozen=True)
class Summary(ReleaseSummary):
    """What one pass over a long table found.

    Parameters
    ----------
    sample
        Rows that estimates are made from, of those that leave.
    every
        The same of all rows; the same rows where all leave.
    columns
        What is known of each column that leaves unperturbed.
    small
        How many records classes of 0, 1, 2, … records, or units, have on these columns.
    """

    sample: Table
    every: Table
    columns: Mapping[str, ColumnFacts]
    small: tuple[int, ...]

    def for_release(self) -> ReleaseSummary:
        """Return the part that a release needs."""
        names = [each.name for each in fields(ReleaseSummary)]
        return ReleaseSummary(**{name: getattr(self, name) for name in names})


@dataclass(eq=False)
class LongTable:
    """The rows of a source that are read anew whenever they are needed.

    Parameters
    ----------
    batches
        The rows.
    folder
        Where there is room for numbers of all rows.
    units
        Says which rows leave, where not all of them do; only these are read then.
    held
        Whether all rows are in memory anyway.
    """

    @classmethod
    def of(cls, table: Table | LongTable, beside: Path) -> LongTable:
        """Return a table that may be in memory as one whose rows are read whenever needed."""
        if isinstance(table, LongTable):
            return table
        return cls(batches_of(table), writable(beside), held=True)

    batches: Batches
    folder: Path
    units: LongUnits | None = None
    held: bool = False
    _in_memory: HeldRows = field(default_factory=HeldRows, repr=False)
    _known: dict[Asked, Summary] = field(default_factory=dict, repr=False)
    _recalled: tuple[Asked, ReleaseSummary] | None = field(default=None, repr=False)
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """The number of records, n."""
        return self.batches.rows if self.units is None else self.units.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.batches.types)

    @property
    def whole(self) -> LongTable:
        """The table with the rows, too, that don't leave."""
        return self if self.units is None else self.leaving_by(None)

    def leaving_by(self, units: LongUnits | None) -> LongTable:
        """Return the same rows, of which these leave."""
        return replace(self, units=units, _known={}, _recalled=None, _kept={})

    def keep(self, key: Hashable, find: Callable[[], _Found]) -> _Found:
        """Return what was found before under a key, or find it; the last few are kept."""
        # Several jobs may ask at once: each step is whole by itself.
        kept = self._kept.pop(key, _MISSING)
        found: _Found = find() if kept is _MISSING else kept
        self._kept[key] = found
        for oldest in list(self._kept)[:-_KEPT]:
            self._kept.pop(oldest, None)
        return found

    def to_match(self, context: Context) -> RowsToMatch:
        """Return all rows, those too that don't leave, to match earlier releases to them."""

        def column(name: str) -> Iterator[pd.Series]:
            if name not in self.columns:
                raise no_column(name)
            for batch, _ in self.whole.read([name], "Matching records", context):
                yield series_of(batch[name], name)

        return RowsToMatch(self.batches.rows, column, partial(Buckets, self.folder), self.folder)

    def encoded(
        self, document: Document, names: Sequence[str], context: Context
    ) -> tuple[EncodedColumn, ...]:
        """Return some attributes with all rows, those too that don't leave; nothing else is held.

        Raises
        ------
        DomainError, TableError
            If a row does not fit the document.
        """
        read = self.whole.read(names, "Looking at the rows", context)
        types = {name: self.batches.types[name] for name in names}
        orders = {name: each for name, each in self.batches.orders.items() if name in names}
        frame = frame_of((batch for batch, _ in read), types, self.batches.rows, orders)
        table = Table(frame, self.batches.value_labels, self.batches.column_labels)
        return tuple(encode_attribute(table, document.column(name)) for name in names)

    def read(
        self, names: Sequence[str], text: str, context: Context
    ) -> Generator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
        """Yield the rows of some columns that leave, and where they stand, shape (n,) each.

        They are read on another thread, with progress.

        Raises
        ------
        TableError
            If there are not as many rows as there were.
        """
        done = 0
        most = 0 if self.held else HELD_BYTES
        for batch in made_ahead(self._in_memory.read(self.batches, names, most)):
            rows = self.batches.rows
            context.report(min(done / rows, 1.0), rows_done(text, done, rows))
            left = self.leaving(batch, np.arange(done, done + len(batch)))
            done += len(batch)
            if len(left[1]):
                yield left
        if done != self.batches.rows:
            raise TableError("The table changed while it was read.", "Start again.")

    def leaving(
        self, batch: pa.RecordBatch, rows: npt.NDArray[np.int64]
    ) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
        """Return those of some rows that leave, and where they stand in the table."""
        if self.units is None:
            return batch, rows
        chosen = self.units.leave(rows)
        return (batch, rows) if chosen.all() else (batch.filter(pa.array(chosen)), rows[chosen])

    def summary(
        self,
        document: Document,
        context: Context,
        for_checks: bool = True,
        also: tuple[str, ...] = (),
    ) -> Summary:
        """Return what is known of the table by a document, found in one pass.

        Attributes of the policy are counted, and `also` others.

        What checks before a release need is left out where it is not `for_checks`: the values of
        columns that leave unperturbed, and unique records, which are counted where somebody sees
        the columns as they are.

        Raises
        ------
        DomainError, TableError
            If a row does not fit the document.
        CannotWrite, DiskFull
            If the disk has no room.
        """
        asked = Asked.by(document, for_checks, also)
        for known, found in self._known.items():
            if known.tells(asked):
                return found
        found = _Pass(self, document, asked, also).summary(context)
        self._known = {asked: found}
        return found

    def for_release(
        self, document: Document, context: Context, for_checks: bool = True
    ) -> ReleaseSummary:
        """Return what a release needs to know of the table: recalled, or as `summary`."""
        if self._recalled is not None:
            known, found = self._recalled
            if known.tells(Asked.by(document, for_checks)):
                return found
        return self.summary(document, context, for_checks)

    def recall(self, document: Document, known: ReleaseSummary) -> None:
        """Take what is known of the table by a document, so that it is not found out again."""
        self._recalled = Asked.by(document), known


@dataclass(frozen=True)
class Asked:
    """What a summary tells.

    Parameters
    ----------
    facts
        The columns, the policy, and other attributes that are counted.
    for_checks, unique
        Whether it is for checks, and counts unique records.
    """

    facts: str
    for_checks: bool
    unique: bool

    @classmethod
    def by(cls, document: Document, for_checks: bool = True, also: tuple[str, ...] = ()) -> Asked:
        """Return what is asked of a table by a document; see `LongTable.summary`."""
        unique = for_checks and (
            not document.recipients
            or any(
                each.view is None or not any(each.view.levels.values())
                for each in document.recipients
            )
        )
        return cls(repr((document.columns, document.policy, also)), for_checks, unique)

    def tells(self, asked: Asked) -> bool:
        """Whether a summary of this tells what is asked."""
        return self == asked or (self.facts == asked.facts and not asked.for_checks)


def writable(folder: Path) -> Path:
    """Return a folder that takes files, this one if it does."""
    return folder if os.access(folder, os.W_OK) else Path(tempfile.gettempdir())


def rows_done(text: str, done: int, rows: int) -> Sentence:
    """Return what is done of rows, and with how many."""
    return Sentence(
        "{doing}: {done:,} of {rows:,} {rows:row|rows}",
        doing=as_sentence(text),
        done=done,
        rows=rows,
    )


@contextmanager
def naming_rows(places: npt.NDArray[np.int64]) -> Iterator[None]:
    """Let errors in some rows name the table's rows, and say that there may be more such rows.

    Parameters
    ----------
    places
        Where each of the rows stands in the table, shape (k,).
    """
    found = None
    try:
        yield
    except SfumatoError as error:
        row, counted = error.details.get("row"), "count" in error.details
        if not isinstance(row, int):
            raise
        error.details = {**error.details, "row": int(places[row - 1]) + 1}
        found = error
    if found is not None:
        raise type(found)(
            "{finding} There may be more such rows." if counted else "{finding}",
            found.remedy_template,
            finding=found.what,
        )


class Sampling:
    """Keeps some rows of a table, drawn evenly, while all are read."""

    def __init__(self, table: LongTable) -> None:
        self._table, self._places = table, sample_rows(table.rows, SAMPLE)
        self._kept: list[pa.RecordBatch] = []
        self._met = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep the chosen ones of the rows that come next."""
        end = self._met + len(batch)
        chosen = slice(*np.searchsorted(self._places, [self._met, end]))
        self._kept.append(batch.take(pa.array(self._places[chosen] - self._met)))
        self._met = end

    def sample(self) -> Table:
        """Return the rows that were kept."""
        batches = self._table.batches
        frame = frame_of(self._kept, batches.types, len(self._places), batches.orders)
        return Table(frame, batches.value_labels, batches.column_labels)


class _Pass:
    """One pass over a long table."""

    def __init__(
        self, table: LongTable, document: Document, asked: Asked, also: tuple[str, ...]
    ) -> None:
        self.table, self.document, self.types = table, document, table.batches.types
        names = [name for entry in document.policy for name in entry.attributes]
        self.attributes = dict.fromkeys([*names, *also])
        self.counters = {
            name: ValueCounts(document.column(name))
            for name in self.attributes
            if not stays_number(document.column(name))
        }
        self.groups = counted_groups(document, self.types)
        leaving = public_names(document)
        counted = leaving if asked.for_checks else ()
        self.open = {name: OpenColumn(document.column(name)) for name in counted}
        self.marked = [name for name in self.open if is_known_to_others(document.column(name))]
        if len(self.marked) == len(self.open) or not asked.unique:
            self.marked = []
        self.count_unique = asked.unique and bool(self.open)
        self.witnesses = Witnesses(self.types, leaving)
        self.left = Witnesses(self.types, leaving)
        self.sampling, self.from_all = Sampling(table), Sampling(table.whole)
        self.beside: Callable[..., Iterator[Any]] = map
        self.key = AttributeKey(token_bytes(SECRET_BYTES))

    def summary(self, context: Context) -> Summary:
        """Read all rows; see `LongTable.summary`."""
        table = self.table
        alone = table.units is None and weight_column(self.document) is None
        with (
            Buckets(table.folder, table.rows, numbers=alone) as shown,
            Buckets(table.folder, table.rows, numbers=alone) as some,
            side_by_side(pa.cpu_count()) as beside,
        ):
            self.beside, reading = beside, Part(context, 0.0, 0.9)
            for batch, rows in table.whole.read(table.columns, "Looking at the rows", reading):
                self._look_at(batch, rows, shown, some)
            pa.default_memory_pool().release_unused()  # what reading took, before counting
            counting = Part(context, 0.9, 1.0)
            sizes = marked = None
            if self.count_unique:
                sizes = class_sizes(shown, table.rows, counting, self.key)
            if self.marked:
                marked = class_sizes(some, table.rows, counting, self.key)
        witnesses, rows = self.witnesses.gathered(table.batches)
        encoded = {name: self._encoded(witnesses, rows, name) for name in self.attributes}
        groups = {key: each.found(encoded) for key, each in self.groups.items()}
        for found in groups.values():
            encoded |= found.told(encoded)
        left = witnesses, rows
        sample = every = self.sampling.sample()
        if table.units is not None:
            left, every = self.left.gathered(table.batches), self.from_all.sample()
        return Summary(
            witnesses,
            rows,
            *left,
            encoded,
            self._alone(sizes, marked),
            groups,
            sample,
            every,
            {name: column.facts() for name, column in self.open.items()},
            () if sizes is None else sizes.small,
        )

    def _look_at(
        self, every: pa.RecordBatch, places: npt.NDArray[np.int64], shown: Buckets, some: Buckets
    ) -> None:
        """Count some rows, and put marks of those that leave aside."""
        units, (batch, rows) = self.table.units, self.table.leaving(every, places)
        with naming_rows(places):
            self._count_values(every, places)
            weights = weights_in(every, self.document)
            for each in self.groups.values():
                each.add(every)
        self.sampling.add(batch)
        whose = None
        if units is not None:
            self.from_all.add(every)
            if not len(rows):
                return
            with naming_rows(rows):
                whose = units.of(batch, rows)
                weights = weights_in(batch, self.document)
            self.left.keep(batch, self.left.of(batch), rows)
        with naming_rows(rows):
            marks, known = self._marks(batch, None if whose is None else whose.units)
        if self.count_unique:
            put_marks(shown, marks, self.key, weights, whose)
        if self.marked:
            put_marks(some, known, self.key, whose=whose)

    def _count_values(self, batch: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> None:
        firsts = [self.witnesses.of(batch)]
        firsts += [counter.add(batch[name]) for name, counter in self.counters.items()]
        self.witnesses.keep(batch, np.concatenate(firsts), rows)

    def _marks(self, batch: pa.RecordBatch, units: Marks | None) -> tuple[Marks, Marks]:
        """Return each row's mark by columns as they leave: by all, and by those others know.

        Count these columns' values too.
        """
        total, marked = np.zeros((2, len(batch)), dtype=np.uint64)

        def of_column(name: str) -> Marks:
            return self.open[name].marks(series_of(batch[name], name), True, units)

        for name, found in zip(self.open, self.beside(of_column, self.open), strict=True):
            total += found
            if name in self.marked:
                marked += found
        return total, marked

    def _encoded(self, witnesses: Table, rows: npt.NDArray[np.int64], name: str) -> EncodedColumn:
        """Return an attribute with the values of the witnesses, and how often each occurs."""
        spec = self.document.column(name)
        counter = self.counters.get(name)
        with naming_rows(rows):
            column = encode_attribute(witnesses, spec)
        domain = column.attribute.domain
        if counter is None or domain is None:
            return column
        counts = None
        if self.table.units is not None:
            counts = self.table.units.counts(counter.seen(), domain, name)
        if counts is None:
            counts = counter.by_domain(domain)
        return replace(column, attribute=Attribute(name, column.attribute.kind, domain, counts))

    def _alone(self, sizes: ClassSizes | None, marked: ClassSizes | None) -> AloneInRelease | None:
        if sizes is None:
            return None
        found = alone_by(sizes, self.table, self.document, tuple(self.open))
        if marked is None:
            return found
        return replace(found, marked=tuple(self.marked), marked_alone=marked.unique)


def alone_by(
    sizes: ClassSizes, table: LongTable, document: Document, names: tuple[str, ...]
) -> AloneInRelease:
    """Return how many records, or units, are unique on some columns, by the sizes of classes."""
    found = AloneInRelease(names, table.rows, sizes.unique, sizes.smallest)
    if (weight := weight_column(document)) is not None:
        found = replace(found, weight=weight.name, expected=sizes.expected)
    if (units := table.units) is not None:
        name, rows = units.unit.name, sizes.small[1]
        found = replace(found, unit=name, units=units.number, rows=rows)
    return found


def frame_of(
    batches: Iterable[pa.RecordBatch],
    types: Mapping[str, pa.DataType],
    rows: int = 1,
    orders: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return columns of rows, about so many, as whoever reads the whole file has them.

    Those that have `orders` are categories in these; without them, they are texts.
    """
    columns = {name: NativeColumn(name, kind, rows) for name, kind in types.items()}
    for batch in batches:
        for name, column in columns.items():
            column.add(batch[name])
    found = {name: each.finish() for name, each in columns.items()}
    for name, order in orders.items():
        found[name] = in_stated_order(pd.Series(found[name]), order)
    return pd.DataFrame(found, copy=False)


def stays_number(spec: ColumnSpec) -> bool:
    """Whether a column is perturbed as numbers, and not as values of a list."""
    return spec.kind == "numeric" and spec.binning is None


def weights_in(batch: pa.RecordBatch, document: Document) -> npt.NDArray[np.float64] | None:
    """Return some rows' weights that risks are computed with, shape (n,); None without any.

    Raises
    ------
    TableError
        If a weight, in any column of that role, says nothing.
    """
    specs = [spec for spec in document.columns if spec.role is Role.WEIGHT]
    frame = pd.DataFrame({spec.name: series_of(batch[spec.name], spec.name) for spec in specs})
    found = [released_weights(Table(frame, is_part=True), spec) for spec in specs]
    return found[0] if found else None


def refuse_repeated(table: LongTable, name: str | None, count: int) -> None:
    """Refuse a table in which several rows share a record key, where some do.

    Raises
    ------
    TableError
        Naming the first rows, which are looked for now.
    """
    if not count or name is None:
        return
    pairs, keys = list[tuple[int, int]](), KeyRing(token_bytes(SECRET_BYTES))
    with Buckets(table.folder, table.rows) as buckets:
        for batch, rows in table.read([name], "Looking for a row", Silent()):
            put_keys(buckets, key_hashes(series_of(batch[name], name), keys, Silent()), rows)
        for bucket in buckets:
            pairs = sorted([*pairs, *first_repeats(bucket.to_pandas())])[: NAMED_ROWS + 1]
    raise repeated_in(name, pairs)


def refuse_soon(table: LongTable, name: str) -> None:
    """Refuse a record key that so many of the first rows share that all are named that would be.

    Reading all rows takes long, and those that share a key are in memory together.

    Raises
    ------
    TableError
        Naming these rows, or one without a key.
    """
    with closing(table.read([name], "Looking at the record keys", Silent())) as read:
        batch, rows = next(read)
    with naming_rows(rows):
        keys = key_hashes(
            series_of(batch[name], name), KeyRing(token_bytes(SECRET_BYTES)), Silent()
        )
    found = pd.DataFrame({"first": keys[:, 0], "second": keys[:, 1], "row": rows})
    if len(pairs := first_repeats(found)) > NAMED_ROWS:
        raise repeated_in(name, pairs)


class Witnesses:
    """Finds the first row that shows something by which a column is stored otherwise.

    Parameters
    ----------
    types
        What each column is read as.
    leaving
        The columns whose texts may leave as they are.
    """

    def __init__(self, types: Mapping[str, pa.DataType], leaving: Iterable[str]) -> None:
        self._types, self._leaving = types, frozenset(leaving)
        self._seen: set[tuple[str, str]] = set()
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[npt.NDArray[np.int64]] = []

    def of(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return the places of the rows of a batch that show something new."""
        found = [] if self._rows else [0]
        for name, kind in self._types.items():
            values = batch[name]
            if values.null_count:
                found += self._first(name, "missing", pc.is_null(values))
            if pa.types.is_uint64(kind):
                found += self._first(name, "large", pc.greater(values, _SIGNED))
            elif pa.types.is_timestamp(kind):
                if unit := precision(values.to_pandas()):
                    coarser = pc.floor_temporal(values, unit=_COARSER[unit])
                    found += self._first(name, unit, pc.not_equal(coarser, values))
            elif pa.types.is_floating(kind):
                found += self._first(name, "infinite", pc.is_inf(values))
            elif pa.types.is_string(kind) and name in self._leaving:
                found += self._first(name, "formula", begin_formulas(values))
        return np.array(found, dtype=np.int64)

    def _first(self, name: str, what: str, shows: pa.Array) -> list[int]:
        if (name, what) in self._seen:
            return []
        place = pc.index(shows, True).as_py()
        if place >= 0:
            self._seen.add((name, what))
        return [] if place < 0 else [place]

    def keep(
        self,
        batch: pa.RecordBatch,
        places: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int64],
    ) -> None:
        """Keep the rows in some places of a batch, whose rows stand in these of the table."""
        if len(places):
            places = np.unique(places)
            self._batches.append(batch.take(pa.array(places)))
            self._rows.append(rows[places])

    def gathered(self, batches: Batches) -> tuple[Table, npt.NDArray[np.int64]]:
        """Return the rows that were kept, and their places in the table that was read."""
        labels = (batches.value_labels, batches.column_labels)
        orders = {name: order for name, order in batches.orders.items() if name in self._types}
        frame = frame_of(self._batches, self._types, orders=orders)
        return Table(frame, *labels, is_part=True), np.concatenate(self._rows)
