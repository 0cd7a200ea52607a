"""A source table in batches, and what releases need of it, found in one pass.

What a mechanism is told of an attribute is counted over all rows, and so are unique records. What
the checks before a release estimate of a table that does not fit into memory, they estimate from
some rows drawn evenly.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import field, fields, replace
from functools import partial
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import made_ahead, side_by_side
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing, sample_rows
from sfumato.engine.randomness.record_ids import NAMED_ROWS, key_hashes
from sfumato.engine.table.combinations import Marks
from sfumato.engine.table.table import (
    Attribute,
    EncodedColumn,
    Table,
    encode_attribute,
    no_column,
)
from sfumato.formats.table_format import Batches
from sfumato.project.adoption.rows import RowsToMatch
from sfumato.project.document.model import Document
from sfumato.project.release.batches import HELD_BYTES, HeldRows, batches_of
from sfumato.project.release.bucket_counts import (
    Buckets,
    ClassSizes,
    ColumnFacts,
    CountedOpenColumn,
    ValueCounts,
    class_sizes,
    first_repeats,
    put_keys,
    put_marks,
    repeated_in,
    series_of,
)
from sfumato.project.release.byproducts import released_weights, weight_column
from sfumato.project.release.groups import (
    GroupsInParts,
    counted_groups,
    is_known_to_others,
    public_names,
)
from sfumato.project.release.uniqueness import SampleUniques
from sfumato.project.release.units import LeavingUnits
from sfumato.project.release.witnesses import TypeEvidence, frame_of

SAMPLE: Final = 1 << 18
"""The rows that the checks before a release estimate from."""
_KEPT: Final = 16
_MISSING: Final = object()
_Found = TypeVar("_Found")


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
    alone: SampleUniques | None
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
class BatchedTable:
    """The rows of a source that are read anew whenever they are needed.

    Parameters
    ----------
    batches
        The rows.
    folder
        Where there is room for numbers of all rows.
    units
        Says which rows leave, where not all of them do; only these are read then.
    """

    @classmethod
    def of(cls, table: Table, beside: Path | None = None) -> BatchedTable:
        """Return a table in memory as one batch; `beside` may have room for numbers of all rows."""
        return cls(batches_of(table), writable(beside), _held=table)

    batches: Batches
    folder: Path
    units: LeavingUnits | None = None
    _held: Table | None = field(default=None, repr=False)
    _in_memory: HeldRows = field(default_factory=HeldRows, repr=False)
    _known: dict[SummaryKey, Summary] = field(default_factory=dict, repr=False)
    _recalled: tuple[SummaryKey, ReleaseSummary] | None = field(default=None, repr=False)
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """The number of records, n."""
        return self.batches.rows if self.units is None else self.units.rows

    def most_held(self, most: int) -> int:
        """Return how many rows may be in memory together: so many, or all that are there anyway."""
        return most if self._held is None else max(most, self._held.rows)

    def held_rows(self, most: float = math.inf) -> Table | None:
        """Return all rows, those too that don't leave, if they are in memory and at most so many.

        Nothing is read: what takes a moment can be done with them for every edit.
        """
        return None if self._held is None or self._held.rows > most else self._held

    @property
    def fits(self) -> bool:
        """Whether all rows that leave may be in memory together."""
        return self.most_held(0) >= self.rows

    @property
    def most_sampled(self) -> int:
        """How many rows estimates are made from at most."""
        return self.most_held(SAMPLE)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.batches.types)

    @property
    def whole(self) -> BatchedTable:
        """The table with the rows, too, that don't leave."""
        return self if self.units is None else self.leaving_by(None)

    def leaving_by(self, units: LeavingUnits | None) -> BatchedTable:
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
        if self._held is not None:
            return tuple(encode_attribute(self._held, document.column(name)) for name in names)
        read = self.whole.read(names, "Looking at the rows", context)
        types = {name: self.batches.types[name] for name in names}
        orders = {name: each for name, each in self.batches.orders.items() if name in names}
        frame = frame_of((batch for batch, _ in read), types, self.batches.rows, orders)
        table = self.batches.table(frame)
        return tuple(encode_attribute(table, document.column(name)) for name in names)

    def in_memory(self, context: Context) -> Table:
        """Return all rows, those too that don't leave, in memory: read where they are not there."""
        if self._held is not None:
            return self._held
        read = self.whole.read(self.columns, "Reading the rows", context)
        given = (self.batches.types, self.batches.rows, self.batches.orders)
        return self.batches.table(frame_of((batch for batch, _ in read), *given))

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
        for batch in self.every_row(names, text, context):
            left = self.leaving(batch, np.arange(done, done + len(batch)))
            done += len(batch)
            if len(left[1]):
                yield left

    def every_row(
        self, names: Sequence[str], text: str, context: Context
    ) -> Generator[pa.RecordBatch]:
        """Yield all rows of some columns, whether they leave or not; as `read` does otherwise."""
        done, rows = 0, self.batches.rows
        most = HELD_BYTES if self._held is None else 0
        read = self._in_memory.read(self.batches, names, most)
        for batch in made_ahead(read, rows):
            context.report(min(done / rows, 1.0), rows_done(text, done, rows))
            done += len(batch)
            yield batch
        if done != rows:
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
        asked = SummaryKey.by(document, for_checks, also)
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
            if known.tells(SummaryKey.by(document, for_checks)):
                return found
        return self.summary(document, context, for_checks)

    def recall(self, document: Document, known: ReleaseSummary) -> None:
        """Take what is known of the table by a document, so that it is not found out again."""
        self._recalled = SummaryKey.by(document), known


@dataclass(frozen=True)
class SummaryKey:
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
    def by(
        cls, document: Document, for_checks: bool = True, also: tuple[str, ...] = ()
    ) -> SummaryKey:
        """Return what is asked of a table by a document; see `BatchedTable.summary`."""
        unique = for_checks and (
            not document.recipients
            or any(
                each.view is None or not any(each.view.levels.values())
                for each in document.recipients
            )
        )
        return cls(repr((document.columns, document.policy, also)), for_checks, unique)

    def tells(self, asked: SummaryKey) -> bool:
        """Whether a summary of this tells what is asked."""
        return self == asked or (self.facts == asked.facts and not asked.for_checks)


def writable(folder: Path | None) -> Path:
    """Return a folder that takes files, this one if it does."""
    if folder is not None and os.access(folder, os.W_OK):
        return folder
    return Path(tempfile.gettempdir())


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


class RowSampler:
    """Keeps some rows of a table, drawn evenly, while all are read; all that are held anyway."""

    def __init__(self, table: BatchedTable) -> None:
        self._table = table
        self._places = sample_rows(table.rows if table.held_rows() is None else 0, SAMPLE)
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
        batches, held, units = self._table.batches, self._table.held_rows(), self._table.units
        if held is not None:
            if units is None or self._table.rows == held.rows:
                return held
            left = units.leave(np.arange(held.rows))
            return replace(held, frame=held.frame[left].reset_index(drop=True))
        frame = frame_of(self._kept, batches.types, len(self._places), batches.orders)
        return batches.table(frame)


class _Pass:
    """One pass over a long table."""

    def __init__(
        self, table: BatchedTable, document: Document, asked: SummaryKey, also: tuple[str, ...]
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
        self.open = {name: CountedOpenColumn(document.column(name)) for name in counted}
        self.marked = [name for name in self.open if is_known_to_others(document.column(name))]
        if len(self.marked) == len(self.open) or not asked.unique:
            self.marked = []
        self.count_unique = asked.unique and bool(self.open)
        self.witnesses = TypeEvidence(table.batches, self.types, leaving)
        self.left = TypeEvidence(table.batches, self.types, leaving)
        self.sampling, self.from_all = RowSampler(table), RowSampler(table.whole)
        self.beside: Callable[..., Iterator[Any]] = map
        self.key = AttributeKey(token_bytes(SECRET_BYTES))

    def summary(self, context: Context) -> Summary:
        """Read all rows; see `BatchedTable.summary`."""
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

    def _alone(self, sizes: ClassSizes | None, marked: ClassSizes | None) -> SampleUniques | None:
        if sizes is None:
            return None
        found = alone_by(sizes, self.table, self.document, tuple(self.open))
        if marked is None:
            return found
        return replace(found, marked=tuple(self.marked), marked_alone=marked.unique)


def alone_by(
    sizes: ClassSizes, table: BatchedTable, document: Document, names: tuple[str, ...]
) -> SampleUniques:
    """Return how many records, or units, are unique on some columns, by the sizes of classes."""
    found = SampleUniques(names, table.rows, sizes.unique, sizes.smallest)
    if (weight := weight_column(document)) is not None:
        found = replace(found, weight=weight.name, expected=sizes.expected)
    if (units := table.units) is not None:
        name, rows = units.unit.name, sizes.small[1]
        found = replace(found, unit=name, units=units.number, rows=rows)
    return found


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


def refuse_repeated(table: BatchedTable, name: str | None, count: int) -> None:
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


def refuse_soon(table: BatchedTable, name: str) -> None:
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
