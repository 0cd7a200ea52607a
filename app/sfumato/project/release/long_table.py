"""A source table that is too long for memory: what releases need of it, found in one pass.

What a mechanism is told of an attribute is counted over all rows, and so are unique records. What
the checks before a release estimate, they estimate from some rows drawn evenly, the same that they
are drawn from a long table in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_bytes
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.errors import PolicyError, SfumatoError, TableError
from sfumato.engine.core.parallel import made_ahead
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.open_columns import sample_rows
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import adopted_in
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey
from sfumato.engine.randomness.row_order import order_words
from sfumato.engine.table.marks import Marks, class_counts, value_marks
from sfumato.engine.table.table import Attribute, EncodedColumn, Table, encode_attribute
from sfumato.formats.columns.arrow import ArrowColumn, NativeColumn, precision
from sfumato.formats.formulas import begin_formulas
from sfumato.formats.table_format import Batches
from sfumato.project.document.model import Document
from sfumato.project.release.batches import table_of
from sfumato.project.release.buckets import Buckets
from sfumato.project.release.groups import is_known_to_others, public_names
from sfumato.project.release.uniqueness import AloneInRelease

SAMPLE: Final = 1 << 18
"""The rows that the checks before a release estimate from."""
_MOST_VALUES: Final = 1 << 20
"""A perturbed column of more different values is no attribute that is drawn from a list."""
_SKETCHED: Final = 1 << 15
"""Of a column with more different values, about so many stand for all."""
_SIZES: Final = 8
"""Classes of fewer records are counted by their sizes."""
_ONE: Final = np.uint64(1)
_COARSER: Final = {"s": "day", "ms": "second", "us": "millisecond", "ns": "microsecond"}


@dataclass(frozen=True)
class ColumnFacts:
    """What is known of a column that leaves unperturbed, over all rows.

    Parameters
    ----------
    missing
        How many values are missing.
    distinct
        How many different values there are, missing not counted; about, where `counts` is None.
    counts
        How many records have each of them; None where they are too many to be counted apart.
    ends
        How many records have the smallest number, and how many the largest; None without numbers.
    """

    missing: int
    distinct: int
    counts: npt.NDArray[np.int64] | None
    ends: tuple[int, int] | None


@dataclass(frozen=True)
class Summary:
    """What one pass over a long table found.

    Parameters
    ----------
    sample
        Rows that estimates are made from.
    witnesses
        Rows that show whatever decides how a column is stored and what its domain is.
    places
        Where these stand in the table, shape (k,).
    encoded
        Every attribute of the policy, by name: the values of the witnesses, counts of all rows.
    columns
        What is known of each column that leaves unperturbed.
    alone
        The records that are unique on these columns; None where there are none.
    small
        How many classes of 0, 1, 2, … records there are on these columns.
    """

    sample: Table
    witnesses: Table
    places: npt.NDArray[np.int64] = field(repr=False)
    encoded: Mapping[str, EncodedColumn]
    columns: Mapping[str, ColumnFacts]
    alone: AloneInRelease | None
    small: tuple[int, ...]


@dataclass(eq=False)
class LongTable:
    """The rows of a source that are read anew whenever they are needed.

    Parameters
    ----------
    batches
        The rows.
    folder
        Where there is room for numbers of all rows.
    """

    batches: Batches
    folder: Path
    _known: dict[str, Summary] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """The number of records, n."""
        return self.batches.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.batches.types)

    def read(self, names: Sequence[str], text: str, context: Context) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some columns, read on another thread, with progress."""
        done = 0
        for batch in made_ahead(self.batches.read(names)):
            context.report(done / self.rows, text)
            yield batch
            done += len(batch)

    def summary(self, document: Document, context: Context) -> Summary:
        """Return what is known of the table by a document, found in one pass.

        Raises
        ------
        DomainError, TableError
            If a row does not fit the document.
        CannotWrite, DiskFull
            If the disk has no room.
        """
        asked = repr((document.columns, document.policy))
        if asked not in self._known:
            self._known = {asked: _Pass(self, document).summary(context)}
        return self._known[asked]


def in_memory(table: Table | LongTable) -> Table:
    """Return a table that is in memory.

    Raises
    ------
    PolicyError
        If it is not, for whatever needs all rows at once.
    """
    if isinstance(table, LongTable):
        raise PolicyError(
            "What is asked for needs all rows of the table at once, and it is too long for the"
            " memory that may be taken.",
            "Let more memory be taken, or let an engine do it.",
        )
    return table


@contextmanager
def naming_rows(places: npt.NDArray[np.int64] | None = None) -> Iterator[None]:
    """Let errors in some rows name the table's rows, and say that there may be more such rows.

    Parameters
    ----------
    places
        Where each of the rows stands in the table, shape (k,); None where they are named right.
    """
    found = None
    try:
        yield
    except SfumatoError as error:
        row, counted = error.details.get("row"), "count" in error.details
        if not isinstance(row, int) or (places is None and not counted):
            raise
        if places is not None:
            error.details = {**error.details, "row": int(places[row - 1]) + 1}
        found = error
    if found is not None:
        raise type(found)(
            "{finding} There may be more such rows." if counted else "{finding}",
            found.remedy_template,
            finding=found.what,
        )


class _Pass:
    """One pass over a long table."""

    def __init__(self, table: LongTable, document: Document) -> None:
        self.table, self.document, self.types = table, document, table.batches.types
        names = [name for entry in document.policy for name in entry.attributes]
        self.attributes = dict.fromkeys(names)
        self.counters = {
            name: _ValueCounts(document.column(name))
            for name in self.attributes
            if not _stays_number(document.column(name))
        }
        self.open = {name: _OpenColumn(document.column(name)) for name in public_names(document)}
        self.marked = [name for name in self.open if is_known_to_others(document.column(name))]
        if len(self.marked) == len(self.open):
            self.marked = []
        self.witnesses = _Witnesses(self.types, self.open)

    def summary(self, context: Context) -> Summary:
        """Read all rows; see `LongTable.summary`."""
        table = self.table
        places = sample_rows(table.rows, SAMPLE)
        kept: list[pa.RecordBatch] = []
        key, first_row = AttributeKey(token_bytes(SECRET_BYTES)), 0
        with Buckets(table.folder, table.rows) as shown, Buckets(table.folder, table.rows) as some:
            reading = Part(context, 0.0, 0.9)
            for batch in table.read(table.columns, "Looking at the rows", reading):
                start, end = np.searchsorted(places, [first_row, first_row + len(batch)])
                kept.append(batch.take(pa.array(places[start:end] - first_row)))
                with naming_rows(np.arange(first_row, first_row + len(batch))):
                    self._count_values(batch, first_row)
                    if self.open:
                        _put(shown, self._marks(batch, list(self.open), True), key)
                    if self.marked:
                        _put(some, self._marks(batch, self.marked, False), key)
                first_row += len(batch)
            counting = Part(context, 0.9, 1.0)
            sizes = _class_sizes(shown, first_row, counting) if self.open else np.zeros(1, int)
            marked = _class_sizes(some, first_row, counting) if self.marked else None
        if first_row != table.rows:
            raise TableError("The table changed while it was read.", "Start again.")
        witnesses, rows = self.witnesses.gathered()
        labels = (table.batches.value_labels, table.batches.column_labels)
        found = Table(self._frame(witnesses), *labels, is_part=True)
        return Summary(
            Table(self._frame(kept), *labels),
            found,
            rows,
            {name: self._encoded(found, rows, name) for name in self.attributes},
            {name: column.facts() for name, column in self.open.items()},
            self._alone(sizes, marked),
            tuple(sizes[: _SIZES + 1].tolist()),
        )

    def _count_values(self, batch: pa.RecordBatch, first_row: int) -> None:
        firsts = [self.witnesses.of(batch)]
        firsts += [counter.add(batch[name]) for name, counter in self.counters.items()]
        self.witnesses.keep(batch, np.unique(np.concatenate(firsts)), first_row)

    def _marks(self, batch: pa.RecordBatch, names: Sequence[str], count: bool) -> Marks:
        """Return each row's mark by columns as they leave; count these columns' values too."""
        kinds = {name: str(self.types[name]) for name in names}
        frame = table_of(batch, kinds).frame
        total = np.zeros(len(batch), dtype=np.uint64)
        for name in names:
            total += self.open[name].marks(frame[name], count)
        return total

    def _frame(self, batches: Sequence[pa.RecordBatch]) -> pd.DataFrame:
        """Return rows as whoever reads the whole file has them."""
        columns = {}
        rows = sum(map(len, batches))
        for name, kind in self.types.items():
            column = NativeColumn(name, kind, rows)
            for batch in batches:
                column.add(batch[name])
            columns[name] = column.finish()
        return pd.DataFrame(columns, copy=False)

    def _encoded(self, witnesses: Table, rows: npt.NDArray[np.int64], name: str) -> EncodedColumn:
        """Return an attribute with the values of the witnesses, and how often each occurs."""
        spec = self.document.column(name)
        counter = self.counters.get(name)
        with naming_rows(rows):
            column = encode_attribute(witnesses, spec)
        domain = column.attribute.domain
        if counter is None or domain is None:
            return column
        counts = counter.by_domain(domain)
        return replace(column, attribute=Attribute(name, column.attribute.kind, domain, counts))

    def _alone(
        self, sizes: npt.NDArray[np.int64], marked: npt.NDArray[np.int64] | None
    ) -> AloneInRelease | None:
        if not self.open:
            return None
        smallest = int(np.flatnonzero(sizes)[0])
        found = AloneInRelease(tuple(self.open), self.table.rows, int(sizes[1]), smallest)
        if marked is None:
            return found
        return replace(found, marked=tuple(self.marked), marked_alone=int(marked[1]))


def _stays_number(spec: ColumnSpec) -> bool:
    return spec.kind == "numeric" and spec.binning is None


def _put(buckets: Buckets, marks: Marks, key: AttributeKey) -> None:
    """Put rows' marks aside under a key that nobody keeps: they tell of the rows' values."""
    hidden = order_words(marks, key)[:, 0].copy()
    buckets.add(pa.record_batch([pa.array(hidden)], names=["mark"]), hidden)


def _class_sizes(buckets: Buckets, rows: int, context: Context) -> npt.NDArray[np.int64]:
    """Return how many classes there are of each size, from 0 on; the largest may be left out."""
    found, smallest, done = np.zeros(_SIZES + 1, dtype=np.int64), rows, 0
    for batch in buckets:
        context.report(done / rows, "Counting unique records")
        counts = class_counts(np.sort(batch["mark"].to_numpy()))
        found += np.bincount(counts[counts <= _SIZES], minlength=_SIZES + 1)
        smallest, done = min(smallest, int(counts.min())), done + len(batch)
    if smallest > _SIZES:
        found = np.concatenate([found, np.zeros(smallest - _SIZES, dtype=np.int64)])
        found[smallest] = 1
    return found


class _Witnesses:
    """Finds the first row that shows something by which a column is stored otherwise."""

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
            if pa.types.is_timestamp(kind):
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

    def keep(self, batch: pa.RecordBatch, places: npt.NDArray[np.int64], first_row: int) -> None:
        """Keep some rows of a batch, ascending."""
        if len(places):
            self._batches.append(batch.take(pa.array(places)))
            self._rows.append(places + first_row)

    def gathered(self) -> tuple[list[pa.RecordBatch], npt.NDArray[np.int64]]:
        """Return the rows that were kept, and their places in the table."""
        return self._batches, np.concatenate(self._rows)


class _ValueCounts:
    """How often each value, or bin, of a column occurs, in whatever batches its rows come."""

    def __init__(self, spec: ColumnSpec) -> None:
        self._spec = spec
        self.values: pa.Array | None = None
        self.counts = np.zeros(0, dtype=np.int64)
        self.missing = 0

    def add(self, column: pa.Array) -> npt.NDArray[np.int64]:
        """Count some rows; return the places of the first ones with values not seen before."""
        if self._spec.binning is not None:
            bins = self._spec.binning.apply(self._series(column))
            column = ArrowColumn(self._spec.name, bins).block(slice(None))
        encoded = column.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        self.missing += column.null_count
        counts = np.bincount(codes + 1, minlength=len(encoded.dictionary) + 1)[1:]
        if self.values is None:
            self.values = encoded.dictionary.slice(0, 0)
        known = pc.index_in(encoded.dictionary, value_set=self.values)
        new = known.is_null().to_numpy(zero_copy_only=False)
        places = known.fill_null(-1).to_numpy(zero_copy_only=False).copy()
        places[new] = len(self.values) + np.arange(int(new.sum()))
        self.values = pa.concat_arrays([self.values, encoded.dictionary.filter(pa.array(new))])
        if len(self.values) > _MOST_VALUES:
            raise TableError(
                "Column {column} has more than {most:,} different {most:value|values}, too many to"
                " perturb them one by one.",
                "Treat it as numbers, or give it bins or fewer values.",
                column=self._spec.name,
                most=_MOST_VALUES,
            )
        grown = np.zeros(len(self.values), dtype=np.int64)
        grown[: len(self.counts)] = self.counts
        grown[places] += counts
        self.counts = grown
        firsts = [_first_place(encoded.indices, at) for at in np.flatnonzero(new).tolist()]
        return np.array(firsts, dtype=np.int64)

    def _series(self, values: pa.Array) -> pd.Series:
        name, kind = self._spec.name, str(values.type)
        return table_of(pa.record_batch([values], names=[name]), {name: kind}).column(name)

    def by_domain(self, domain: Domain) -> npt.NDArray[np.int64]:
        """Return how often each value of a domain occurs, shape (m,)."""
        assert self.values is not None
        codes = domain.encode(self._series(self.values), self._spec.name)
        counts = np.bincount(codes, weights=self.counts, minlength=domain.size)
        found: npt.NDArray[np.int64] = counts.astype(np.int64)
        if self.missing:
            found[domain.values.index(None)] += self.missing
        return found


def _first_place(codes: pa.Array, code: int) -> int:
    return int(pc.index(codes, pa.scalar(code, codes.type)).as_py())


class _OpenColumn:
    """A column that leaves unperturbed: its values' marks, and what is counted of them."""

    def __init__(self, spec: ColumnSpec) -> None:
        self._spec = spec
        self._missing = self._present = 0
        self._marks = np.zeros(0, dtype=np.uint64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._share = 64  # marks below 2 to this power stand for all
        self._ends: list[tuple[float, int]] = []

    def marks(self, column: pd.Series, count: bool) -> Marks:
        """Return each row's mark as the column leaves, and count its values if asked."""
        shown = self._spec.shown(column).rename(self._spec.name)
        found, places = value_marks(shown)
        if count:
            missing = shown.isna().to_numpy()
            self._missing += int(missing.sum())
            self._present += int((~missing).sum())
            if places is None:
                self._sketch(*np.unique(self._below(found[~missing]), return_counts=True))
            else:
                counts = np.bincount(places + 1, minlength=len(found))[1:]
                self._sketch(found[:-1][counts > 0], counts[counts > 0])
            self._look_at_ends(shown)
        return found if places is None else found[places]

    def _below(self, marks: Marks) -> Marks:
        return marks if self._share == 64 else marks[marks < _ONE << np.uint64(self._share)]

    def _sketch(self, marks: Marks, counts: npt.NDArray[np.int64]) -> None:
        """Add values by their marks; where they are too many, keep those with small marks."""
        if self._share < 64:
            kept = marks < _ONE << np.uint64(self._share)
            marks, counts = marks[kept], counts[kept]
        both = np.concatenate([self._marks, marks])
        self._marks, places = np.unique(both, return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(places, weights=weights).astype(np.int64)
        while len(self._marks) > _SKETCHED:
            self._share -= 1
            kept = self._marks < _ONE << np.uint64(self._share)
            self._marks, self._counts = self._marks[kept], self._counts[kept]

    def _look_at_ends(self, shown: pd.Series) -> None:
        if not pd.api.types.is_numeric_dtype(shown.dtype) or not shown.notna().any():
            return
        ends = [(end, int((shown == end).sum())) for end in (shown.min(), shown.max())]
        for place, better in enumerate((np.less, np.greater)):
            end, records = ends[place]
            if len(self._ends) < 2:
                self._ends.append((end, records))
            elif better(end, self._ends[place][0]):
                self._ends[place] = (end, records)
            elif end == self._ends[place][0]:
                self._ends[place] = (end, self._ends[place][1] + records)

    def facts(self) -> ColumnFacts:
        """Return what was found."""
        complete = self._share == 64
        distinct = len(self._marks)
        if not complete:
            about = min(distinct << (64 - self._share), self._present - 1)
            distinct = about if bool((self._counts > 1).any()) else self._present
        ends = (self._ends[0][1], self._ends[1][1]) if self._ends else None
        return ColumnFacts(self._missing, distinct, self._counts if complete else None, ends)


def reason_for_whole(document: Document) -> str:
    """Return why releases need all rows at once; empty where they don't."""
    found = [
        Sentence("{recipient} sees the quasi-identifiers more coarsely", recipient=each.name)
        for each in document.recipients
        if each.view is not None
    ]
    for entry in document.policy:
        if mechanism_called(entry.mechanism).needs_groups:
            found.append(Sentence("{entry} is released by groups of records", entry=entry.key))
        if adopted_in(entry.settings):
            found.append(Sentence("{entry} is fitted to earlier releases", entry=entry.key))
    if document.record_key is None:
        found.append(Sentence("records are told apart by their position"))
    if document.unit is not None:
        found.append(Sentence("rows belong to units"))
    if any(column.role is Role.WEIGHT for column in document.columns):
        found.append(Sentence("risks are weighed by sampling weights"))
    if sum(not column.is_dropped for column in document.columns) == 1:
        found.append(Sentence("a single column leaves"))
    return found[0] if found else ""
