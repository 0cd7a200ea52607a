"""A bundle's rows beside those of the release made again, in whatever batches both come.

Both are read once, side by side. Where they differ, another pass says whether the bundle's rows
are the release's in other places: hashes of all rows come together by their first bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from pathlib import Path
from secrets import token_bytes
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Flags
from sfumato.engine.core.wording import Sentence
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, sample_rows
from sfumato.engine.randomness.row_order import Positions, order_words
from sfumato.engine.table.combinations import Marks, value_marks
from sfumato.formats.bundles.reading import Bundle, data_batches
from sfumato.formats.formulas import rows_with_escapes, unescaped
from sfumato.formats.table_format import BATCH_ROWS, PLACE, RowStream
from sfumato.project.release.bucket_counts import Buckets, series_of
from sfumato.project.release.release_stream import UNIT
from sfumato.project.release.witnesses import frame_of

Names = tuple[str, ...]
"""Columns that are compared together."""


class Order(Enum):
    """How a bundle's records stand to those of the release."""

    SAME = "same"
    """Record by record in the same place, as far as there are as many."""
    OTHER = "other"
    """Records of the release, but in other places."""


@dataclass(frozen=True)
class Difference:
    """In how many rows something differs, and which is the first.

    Parameters
    ----------
    count, rows
        How many rows differ, of how many.
    first, record
        The first of them in the file, and which row of the table it should show, from 1.
    """

    count: int
    rows: int
    first: int
    record: int

    @property
    def sentence(self) -> str:
        """The difference in words, without any value."""
        words = Sentence(
            "{count:,} of {rows:,} {rows:row|rows} {count:differs|differ}, first in row {first:,}",
            count=self.count,
            rows=self.rows,
            first=self.first,
        )
        if self.record == self.first:
            return words
        return Sentence(
            "{words}, which is row {record:,} of the source table", words=words, record=self.record
        )


class CountsRows(Protocol):
    """What a bundle's own rows are counted by."""

    def add(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows, of these units where they are known."""


@dataclass(frozen=True)
class ExaminedRows:
    """Some rows of a bundle, drawn evenly, that stand where the release has them.

    Parameters
    ----------
    rows
        Where they stand in the file, from 0, ascending, shape (k,).
    places
        Which row of the table each of them should show, shape (k,).
    shown
        Some columns of them, as the file has them.
    """

    rows: Positions
    places: Positions
    shown: Mapping[str, pd.Series]


@dataclass(frozen=True)
class BundleComparison:
    """How a bundle's rows stand to those that the release must have.

    Parameters
    ----------
    found, leaving
        How many rows the bundle and the release have.
    rows
        How many were compared, from the first on: those that both have.
    order
        How the bundle's records stand to those of the release.
    columns, known
        The bundle's columns, and those that could be compared.
    differing
        Where columns differ, alone or several together; only those that do.
    examined
        Rows that are looked at more closely.
    """

    found: int
    leaving: int
    rows: int
    order: Order
    columns: Names
    known: frozenset[str]
    differing: Mapping[Names, Difference]
    examined: ExaminedRows

    @property
    def all_alike(self) -> bool:
        """Whether no compared value differs."""
        return not self.differing

    @property
    def whole(self) -> bool:
        """Whether the bundle has as many rows as the release, compared one by one."""
        return self.found == self.rows == self.leaving


@dataclass
class _Compared:
    """Counts in how many rows columns differ, and keeps rows to be examined.

    Parameters
    ----------
    together
        Columns of which it is counted in how many rows any of them differs.
    wanted
        Where the rows stand in the file that are kept, ascending, shape (k,).
    kept
        Which columns of these.
    counts
        Counts the bundle's own rows, too; None where nothing is asked of these.
    """

    together: Collection[Names]
    wanted: Positions
    kept: Sequence[str]
    counts: CountsRows | None
    found: int = 0
    rows: int = 0
    known: set[str] = field(default_factory=set)
    differing: dict[Names, tuple[int, int, int]] = field(default_factory=dict)
    places: list[npt.NDArray[np.int64]] = field(default_factory=list)
    parts: list[pa.RecordBatch] = field(default_factory=list)

    def add_all(self, made: Iterator[pa.RecordBatch], shown: Iterator[pa.RecordBatch]) -> None:
        """Compare all rows, in whatever batches both come."""
        held: pa.RecordBatch | None = None
        for batch in made:
            done = 0
            while done < len(batch):
                if held is None or not len(held):
                    held = next(shown, None)
                    if held is None:
                        break
                count = min(len(held), len(batch) - done)
                self.add(batch.slice(done, count), held.slice(0, count))
                held, done = held.slice(count), done + count
        for rest in itertools.chain([] if held is None else [held], shown):
            self.see(rest)

    def see(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows of the bundle, of these units where they are known."""
        self.found += len(shown)
        if self.counts is not None and len(shown):
            self.counts.add(shown, whose)

    def add(self, made: pa.RecordBatch, shown: pa.RecordBatch) -> None:
        """Compare as many rows of both."""
        names = made.schema.names
        self.see(shown, made[UNIT] if UNIT in names else None)
        places = made[PLACE].to_numpy()
        both = [name for name in names if name in shown.schema.names]
        found = {name: differing(made[name], shown[name]) for name in both}
        self.known |= found.keys()
        for name, rows in found.items():
            self._count((name,), rows, places)
        for each in self.together:
            if len(each) > 1 and (known := [found[name] for name in each if name in found]):
                self._count(each, np.logical_or.reduce(known), places)
        here = slice(*np.searchsorted(self.wanted, [self.rows, self.rows + len(made)]))
        chosen = self.wanted[here] - self.rows
        self.places.append(places[chosen])
        self.parts.append(shown.select([n for n in self.kept if n in both]).take(pa.array(chosen)))
        self.rows += len(made)

    def _count(self, names: Names, differ: Flags, places: npt.NDArray[np.int64]) -> None:
        if differ.any():
            at = int(differ.argmax())
            here = (0, self.rows + at + 1, int(places[at]) + 1)
            before, first, record = self.differing.get(names, here)
            self.differing[names] = (before + int(np.count_nonzero(differ)), first, record)

    def examined(self, escaped: bool) -> ExaminedRows:
        """Return the rows that were kept."""
        rows = self.wanted[: np.searchsorted(self.wanted, self.rows)]
        places = np.concatenate([np.empty(0, dtype=np.int64), *self.places])
        kinds = self.parts[0].schema if self.parts else pa.schema([])
        types = {each.name: _plain_type(each.type) for each in kinds}
        frame = frame_of(self.parts, types, max(len(rows), 1))
        shown = {name: unescaped_texts(frame[name]) if escaped else frame[name] for name in types}
        return ExaminedRows(rows, places, shown)


def compared_rows(
    again: RowStream,
    bundle: Bundle,
    folder: Path,
    room: Path,
    context: Context,
    *,
    together: Collection[Names] = (),
    counts: CountsRows | None = None,
    examine: int = 0,
) -> BundleComparison:
    """Compare a bundle's rows with those made again, which say where they stand (`PLACE`).

    Parameters
    ----------
    again
        The rows as they must be; columns that the bundle has not are left out.
    bundle, folder
        The bundle, and where its files are.
    room
        Which folder takes what is put aside.
    context
        Progress and cancelling.
    together
        Columns of which it is told in which rows any of them differs.
    counts
        Counts the bundle's own rows, too.
    examine
        How many rows are kept at most, of the columns that are asked for together.

    Raises
    ------
    BundleError
        If the data can't be read.
    SfumatoError
        If the rows can't be made again.
    """
    wanted = sample_rows(again.rows, examine) if examine else np.empty(0, dtype=np.intp)
    kept = dict.fromkeys(name for each in together for name in each)
    found = _Compared(together, wanted, list(kept), counts)
    names = [each.column for each in bundle.descriptor.fields]
    path = folder / bundle.descriptor.data_name
    shown = (rows.select(names) for rows in data_batches(path, bundle.descriptor))
    found.add_all(_made(again, bundle, room, context), shown)
    told = {
        each: Difference(count, found.rows, first, record)
        for each, (count, first, record) in found.differing.items()
    }
    examined = found.examined(bundle.descriptor.escaped)
    facts = (found.found, again.rows, found.rows, Order.SAME)
    return BundleComparison(*facts, tuple(names), frozenset(found.known), told, examined)


def all_rows_within(
    again: RowStream, bundle: Bundle, folder: Path, room: Path, context: Context
) -> bool:
    """Whether every row of a bundle is one of those made again, wherever, and none too often.

    Raises what `compared_rows` does.
    """
    shown = data_batches(folder / bundle.descriptor.data_name, bundle.descriptor)
    first = next(shown, None)
    if first is None:
        return True
    key, kinds = AttributeKey(token_bytes(SECRET_BYTES)), dict[str, pa.DataType]()
    with Buckets(room, 2 * again.rows) as buckets:
        try:
            for made in _made(again, bundle, room, Part(context, 0.0, 0.6)):
                if not kinds:
                    both = [name for name in made.schema.names if name in first.schema.names]
                    kinds = {name: _common(made[name], first[name]) for name in both}
                _put_rows(buckets, made, kinds, key, 1)
            for batch in itertools.chain([first], shown):
                context.report(0.8, "Comparing rows")
                _put_rows(buckets, batch, kinds, key, -1)
        except pa.ArrowException:  # values that the release could not have
            return False
        return all(_none_left(bucket) for bucket in buckets)


def _put_rows(
    buckets: Buckets,
    batch: pa.RecordBatch,
    kinds: Mapping[str, pa.DataType],
    key: AttributeKey,
    count: int,
) -> None:
    """Put hashes of rows aside, each of which counts so much."""
    marks: Marks = np.zeros(len(batch), dtype=np.uint64)
    for name, kind in kinds.items():
        values = _plain(batch[name])
        values = _without_nothing(values if values.type == kind else values.cast(kind))
        found, places = value_marks(series_of(values, name))
        marks += found if places is None else found[places]
    hidden = order_words(marks, key)[:, 0].copy()
    counts = np.full(len(batch), count, dtype=np.int8)
    buckets.add(pa.record_batch({"row": hidden, "count": counts}), hidden)


def _none_left(bucket: pa.RecordBatch) -> bool:
    """Whether no row of the bundle is left once those made again are taken away."""
    found, rows = np.unique(bucket["row"].to_numpy(), return_inverse=True)
    left = np.bincount(rows, weights=bucket["count"].to_numpy(), minlength=len(found))
    return bool((left >= 0).all())


def _made(
    again: RowStream, bundle: Bundle, room: Path, context: Context
) -> Iterator[pa.RecordBatch]:
    """Yield the rows made again as they stand in the bundle, its columns as the table calls them.

    Names that are escaped in a file are called as they were.
    """
    escaped = bundle.descriptor.escaped
    for batch in (rows_with_escapes(again) if escaped else again).blocks(BATCH_ROWS, context, room):
        names = batch.schema.names
        yield batch.rename_columns([unescaped(n) for n in names]) if escaped else batch


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def unescaped_texts(column: pd.Series) -> pd.Series:
    """Return texts as they were before they were escaped."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not isinstance(
        column.dtype, pd.CategoricalDtype
    ):
        return column
    return column.map(lambda value: unescaped(value) if isinstance(value, str) else value)


def differing(made: pa.Array, shown: pa.Array) -> Flags:
    """Return in which rows two arrays differ, shape (n,); an empty text is a missing value."""
    if _is_coded(made) and _is_coded(shown):
        return np.not_equal(_codes_of(made, shown), _codes_of(shown, shown))
    made, shown = _plain(made), _plain(shown)
    kind = _common(made, shown)
    made, shown = (_without_nothing(each.cast(kind)) for each in (made, shown))
    unlike = pc.fill_null(pc.not_equal(made, shown), False)
    either = pc.xor(pc.is_null(made), pc.is_null(shown))
    found: Flags = pc.or_(unlike, either).to_numpy(zero_copy_only=False)
    return found


def _common(made: pa.Array, shown: pa.Array) -> pa.DataType:
    """Return the type by which values of two arrays are compared: that of the file, or texts."""
    made, shown = _plain(made), _plain(shown)
    if made.type == shown.type:
        return shown.type
    try:
        made.cast(shown.type)
    except pa.ArrowException:
        return pa.string()
    return shown.type


def _without_nothing(values: pa.Array) -> pa.Array:
    """Return texts without the empty ones, which no file but Parquet tells from missing values."""
    if not pa.types.is_string(values.type):
        return values
    return pc.if_else(pc.equal(values, ""), None, values)


def _is_coded(values: pa.Array) -> bool:
    kind = values.type
    return bool(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))


def _codes_of(values: pa.DictionaryArray, among: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """Return where texts stand among others: -1 where nowhere, -2 where missing or empty."""
    texts = values.dictionary
    places = pc.index_in(texts, value_set=among.dictionary).fill_null(-1)
    nothing = pc.fill_null(pc.equal(texts, ""), True).to_numpy(zero_copy_only=False)
    codes = np.append(np.where(nothing, -2, places.to_numpy()), -2)
    found: npt.NDArray[np.int64] = codes[values.indices.fill_null(-1).to_numpy()]
    return found
