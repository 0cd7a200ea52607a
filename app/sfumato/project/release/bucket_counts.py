"""What is counted of a table, however long it is, in whatever batches its rows come.

What fits into one bucket stays in memory. Else rows are put aside on the disk by the first bits of
a number, and read back bucket by bucket. The files have no names: nobody else can open them, and
they are gone with the process, however it ends. (Windows gives them names, and removes them when
they are closed.)

So are counted a column's values, and how large the classes of records are that agree on what is
shown of them. Each row's mark is put aside under a key that nobody keeps, so that a class's rows
come together. Where rows belong to units, units are counted: one is unique where all rows of a
class are its own.
"""

from __future__ import annotations

import math
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_bytes
from typing import IO, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Domain
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.randomness.record_ids import NAMED_ROWS, repeated_key
from sfumato.engine.randomness.row_order import order_words
from sfumato.engine.table.combinations import Marks, class_counts, value_marks
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import ArrowColumn, Distinct
from sfumato.formats.files import refusal_to_write
from sfumato.project.release.batches import column_from
from sfumato.project.release.byproducts import chances_in_population

BUCKET_ROWS: Final = 1 << 19
"""Into so many rows a bucket the rows are spread, where that is no more than `_MOST` buckets."""
BUCKET_NUMBERS: Final = 1 << 21
"""The same where a row is a single number of 64 bits and there are more than `HELD_NUMBERS`."""
HELD_NUMBERS: Final = 1 << 24
"""So many numbers stay in memory."""
_MOST: Final = 256
_BUFFER: Final = 1 << 16


class Buckets:
    """Rows in buckets that follow each other in the order of a number, which is as good as random.

    Parameters
    ----------
    folder
        Where there is room for all rows.
    rows
        About how many rows will come.
    again
        Whether they are read more than once; the files then stay as long as the object does.
    numbers
        Whether each row is a single number.
    """

    def __init__(self, folder: Path, rows: int, again: bool = False, numbers: bool = False) -> None:
        size = BUCKET_NUMBERS if numbers else BUCKET_ROWS
        held = numbers and rows <= HELD_NUMBERS
        self._bits = 0 if held else min(_MOST - 1, rows // size).bit_length()
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = []
        self._writers: list[pa.ipc.RecordBatchStreamWriter] = []
        self._kept: list[pa.RecordBatch] = []
        self.folder, self._again = folder, again
        if again:
            weakref.finalize(self, self._stack.close)

    def __enter__(self) -> Buckets:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, batch: pa.RecordBatch, numbers: npt.NDArray[np.uint64]) -> None:
        """Put rows aside, by their numbers, shape (n,).

        Raises
        ------
        CannotWrite, DiskFull
            If the folder does not take them.
        """
        try:
            self._add(batch, numbers)
        except OSError as error:
            raise refusal_to_write(error, self.folder) from None

    def _add(self, batch: pa.RecordBatch, numbers: npt.NDArray[np.uint64]) -> None:
        if not self._bits:
            self._kept.append(batch)
            return
        if not self._writers:
            for _ in range(1 << self._bits):
                nameless = tempfile.TemporaryFile(dir=self.folder, buffering=_BUFFER)  # noqa: SIM115
                file = self._stack.enter_context(nameless)
                self._files.append(file)
                self._writers.append(pa.ipc.new_stream(file, batch.schema))
        places = (numbers >> np.uint64(64 - self._bits)).astype(np.uint8)
        order = np.argsort(places, kind="stable")
        sorted_apart = batch.take(pa.array(order))
        ends = np.cumsum(np.bincount(places, minlength=len(self._writers))).tolist()
        for writer, start, end in zip(self._writers, [0, *ends], ends, strict=False):
            if end > start:
                writer.write_batch(sorted_apart.slice(start, end - start))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each bucket, in the order in which they came; see `again`."""
        if self._kept:
            kept = pa.Table.from_batches(self._kept)
            self._kept = self._kept if self._again else []
            yield from kept.combine_chunks().to_batches()
        for writer, file in zip(self._writers, self._files, strict=True):
            writer.close()
            file.seek(0)
            found = pa.ipc.open_stream(file).read_all().combine_chunks().to_batches()
            if not self._again:
                file.close()
            yield from found


def put_keys(
    buckets: Buckets, hashes: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64] | None = None
) -> None:
    """Put the keyed hashes of rows' record keys aside, shape (n, 2), with their places if given."""
    words = {"first": hashes[:, 0].copy(), "second": hashes[:, 1].copy()}
    placed = {} if rows is None else {"row": rows}
    buckets.add(pa.record_batch({**words, **placed}), words["first"])


def repeated_keys(buckets: Buckets) -> int:
    """Return how many record keys stand in several of the rows that were put aside."""
    repeated = 0
    for bucket in buckets:
        first, second = (column.to_numpy() for column in bucket.columns)
        ordered = np.sort(first)
        alike = ordered[1:] == ordered[:-1]
        if alike.any():
            near = np.isin(first, ordered[1:][alike])
            pairs = np.stack([first[near], second[near]])
            repeated += int((np.unique(pairs, axis=1, return_counts=True)[1] > 1).sum())
    return repeated


def first_repeats(found: pd.DataFrame) -> list[tuple[int, int]]:
    """Return the first rows whose key another one has before them, with the first of these."""
    firsts = found.groupby(["first", "second"])["row"].transform("first")
    again = found["row"] > firsts
    return sorted(zip(found["row"][again], firsts[again], strict=True))[: NAMED_ROWS + 1]


def repeated_in(name: str, pairs: Sequence[tuple[int, int]]) -> TableError:
    """Return the refusal of a record key that rows share, see `first_repeats`."""
    return repeated_key(name, [(first + 1, row + 1) for row, first in pairs])


MOST_VALUES: Final = 1 << 20
"""A perturbed column of more different values is no attribute that is drawn from a list."""
_SKETCHED: Final = 1 << 15
"""Of a column with more different values, about so many stand for all."""
_UNITS: Final = 4
"""Units of a value are counted up to so many: from fewer on, it is rare."""
_ONE: Final = np.uint64(1)
_LARGEST: Final = 1 << 62


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
        Where records belong to units, how many of these, up to 4.
    ends
        How many records have the smallest number, and how many the largest; None without numbers.
        Where records belong to units, how many of these, up to 2.
    single
        Whether some value, or a missing one, is found to be one record's; where `counts` is None,
        others may be.
    """

    missing: int
    distinct: int
    counts: npt.NDArray[np.int64] | None
    ends: tuple[int, int] | None
    single: bool = False


class ValueCounts:
    """How often each value, or bin, of a column occurs, in whatever batches its rows come."""

    def __init__(self, spec: ColumnSpec) -> None:
        self._spec = spec
        self._distinct: Distinct | None = None
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
        if self._distinct is None:
            self._distinct = Distinct(encoded.dictionary.type)
        places = self._distinct.places_of(encoded.dictionary)
        new = places >= len(self.counts)
        if len(self._distinct) > MOST_VALUES:
            raise TableError(
                "Column {column} has more than {most:,} different {most:value|values}, too many to"
                " perturb them one by one.",
                "Treat it as numbers, or give it bins or fewer values.",
                column=self._spec.name,
                most=MOST_VALUES,
            )
        grown = np.zeros(len(self._distinct), dtype=np.int64)
        grown[: len(self.counts)] = self.counts
        grown[places] += counts
        self.counts = grown
        firsts = np.full(len(new), -1, dtype=np.int64)
        if new.any():  # Of the rows with a value, the first one is written last.
            some = codes >= 0
            firsts[codes[some][::-1]] = np.flatnonzero(some)[::-1]
        return firsts[new & (firsts >= 0)]

    @property
    def values(self) -> pa.Array:
        """The values, each once."""
        assert self._distinct is not None
        return self._distinct.values

    def _series(self, values: pa.Array) -> pd.Series:
        return series_of(values, self._spec.name)

    def seen(self) -> pd.Series:
        """Return each value once, and a missing one at the end where there is any."""
        none = pa.nulls(int(self.missing > 0), self.values.type)
        return self._series(pa.concat_arrays([self.values, none]))

    def by_domain(self, domain: Domain) -> npt.NDArray[np.int64]:
        """Return how often each value of a domain occurs, shape (m,)."""
        codes = domain.encode(self._series(self.values), self._spec.name)
        counts = np.bincount(codes, weights=self.counts, minlength=domain.size)
        found: npt.NDArray[np.int64] = counts.astype(np.int64)
        if self.missing:
            found[domain.values.index(None)] += self.missing
        return found


def series_of(values: pa.Array, name: str) -> pd.Series:
    """Return values as whoever reads the whole file has them."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    # A table of its own for each column would take longer than most columns do.
    found = column_from(values, name, str(kind))
    return pd.Series(found, range(len(values)), name=name, copy=False)


def columns_of(batch: pa.RecordBatch, names: Sequence[str]) -> Table:
    """Return some columns of rows as whoever reads the whole file has them."""
    frame = pd.DataFrame({name: series_of(batch[name], name) for name in names}, copy=False)
    return Table(frame, is_part=True)


class CountedOpenColumn:
    """A column that leaves unperturbed: its values' marks, and what is counted of them."""

    def __init__(self, spec: ColumnSpec) -> None:
        self._spec = spec
        self._missing = self._present = 0
        self._marks = np.zeros(0, dtype=np.uint64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._share = 64  # marks below 2 to this power stand for all
        self.ends: list[tuple[float, int]] = []
        """The smallest and the largest number, each with its records; empty without numbers."""
        self._by_unit = False
        self._end_units: list[Marks] = [self._marks, self._marks]
        self._pairs = np.zeros((2, 0), dtype=np.uint64)  # marks, and units that have them

    def marks(self, column: pd.Series, count: bool, units: Marks | None = None) -> Marks:
        """Return each row's mark as the column leaves, and count its values if asked.

        Where rows belong to units, these are counted.
        """
        shown = self._spec.shown(column).rename(self._spec.name)
        found, places = value_marks(shown)
        if count:
            missing = shown.isna().to_numpy()
            self._missing += int(missing.sum())
            self._present += int((~missing).sum())
            if places is None:
                present = found[~missing] if missing.any() else found
                ordered = np.sort(self._below(present))
                counts = class_counts(ordered)
                self._sketch(ordered[np.cumsum(counts) - 1], counts)
            else:
                counts = np.bincount(places + 1, minlength=len(found))[1:]
                self._sketch(found[:-1][counts > 0], counts[counts > 0])
            self._look_at_ends(shown, units)
            if units is not None:
                of_row = found if places is None else found[places]
                self._count_units(of_row[~missing], units[~missing])
        return found if places is None else found[places]

    def add_counted(self, counted: ValueCounts) -> None:
        """Count the values of rows that were counted one by one."""
        shown = counted.seen().iloc[: len(counted.counts)]
        present = shown.notna().to_numpy()
        missing = int(counted.counts[~present].sum()) + counted.missing
        shown, counts = shown[present], counted.counts[present]
        found, places = value_marks(shown)
        self._missing += missing
        self._present += int(counts.sum())
        self._sketch(found if places is None else found[places], counts)
        self._look_at_ends(shown, counts=counts)

    def _count_units(self, marks: Marks, units: Marks) -> None:
        """Keep the first few units of each value, as long as all values are kept."""
        self._by_unit = True
        if self._share < 64:
            self._pairs = self._pairs[:, :0]
            return
        pairs = np.concatenate([self._pairs, [marks, units]], axis=1)
        pairs = pairs[:, np.lexsort(pairs[::-1])]
        other = np.append(True, (pairs[:, 1:] != pairs[:, :-1]).any(axis=0))
        pairs = pairs[:, other[: pairs.shape[1]]]
        begins = np.flatnonzero(np.append(True, pairs[0, 1:] != pairs[0, :-1])[: pairs.shape[1]])
        sizes = np.diff(begins, append=pairs.shape[1])
        rank = np.arange(pairs.shape[1]) - np.repeat(begins, sizes)
        self._pairs = pairs[:, rank < _UNITS]

    def _below(self, marks: Marks) -> Marks:
        return marks if self._share == 64 else marks[marks < _ONE << np.uint64(self._share)]

    def _sketch(self, marks: Marks, counts: npt.NDArray[np.signedinteger]) -> None:
        """Add values by their marks; where they are too many, keep those with small marks."""
        if self._share < 64:
            kept = marks < _ONE << np.uint64(self._share)
            marks, counts = marks[kept], counts[kept]
        while len(marks) > _SKETCHED:  # with those that are kept, they are no fewer
            self._share -= 1
            kept = marks < _ONE << np.uint64(self._share)
            marks, counts = marks[kept], counts[kept]
        if not len(self._marks) and bool((marks[1:] > marks[:-1]).all()):
            self._marks, self._counts = marks, counts.astype(np.int64)
            return
        both = np.concatenate([self._marks, marks])
        self._marks, places = np.unique(both, return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(places, weights=weights).astype(np.int64)
        while len(self._marks) > _SKETCHED:
            self._share -= 1
            kept = self._marks < _ONE << np.uint64(self._share)
            self._marks, self._counts = self._marks[kept], self._counts[kept]

    def _look_at_ends(
        self,
        shown: pd.Series,
        units: Marks | None = None,
        counts: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Count the rows with the smallest and the largest number; `counts` are those of each."""
        if not pd.api.types.is_numeric_dtype(shown.dtype) or not shown.notna().any():
            return
        ends, whose = [], [self._marks[:0]] * 2
        for place, end in enumerate((shown.min(), shown.max())):
            same = (shown == end).to_numpy(dtype=np.bool_, na_value=False)
            ends.append((end, int(same.sum() if counts is None else counts[same].sum())))
            if units is not None:
                whose[place] = np.unique(units[same])
        for place, better in enumerate((np.less, np.greater)):
            end, records = ends[place]
            if len(self.ends) == 2 and end == self.ends[place][0]:
                self._end_units[place] = np.union1d(whose[place], self._end_units[place])[:2]
            elif len(self.ends) < 2 or better(end, self.ends[place][0]):
                self._end_units[place] = whose[place][:2]
            if len(self.ends) < 2:
                self.ends.append((end, records))
            elif better(end, self.ends[place][0]):
                self.ends[place] = (end, records)
            elif end == self.ends[place][0]:
                self.ends[place] = (end, self.ends[place][1] + records)

    def facts(self) -> ColumnFacts:
        """Return what was found."""
        complete = self._share == 64
        distinct = len(self._marks)
        if not complete:
            about = min(distinct << (64 - self._share), self._present - 1)
            distinct = about if bool((self._counts > 1).any()) else self._present
        ends = (self.ends[0][1], self.ends[1][1]) if self.ends else None
        counts = self._counts
        single = self._missing == 1 or bool((counts == 1).any())
        if self._by_unit:
            counts = np.unique(self._pairs[0], return_counts=True)[1]
            low, high = self._end_units
            ends = (len(low), len(high)) if self.ends else None
        return ColumnFacts(self._missing, distinct, counts if complete else None, ends, single)


class Packing:
    """Several columns of codes as one number, or as few bytes as hold them, and back."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._words: list[list[int]] = [[]]
        for size in sizes:
            if math.prod(self._words[-1]) > _LARGEST // size:
                self._words.append([])
            self._words[-1].append(size)

    def pack(self, columns: Sequence[npt.NDArray[np.integer]]) -> npt.NDArray[np.generic]:
        """Return one key for each row, shape (n,), which tells it apart and can be sorted."""
        left, words = iter(columns), []
        for sizes in self._words:
            word = np.zeros(len(columns[0]), dtype=np.int64)
            for size in sizes:
                word = word * size + next(left)
            words.append(word)
        if len(words) == 1:
            return words[0]
        return np.stack(words, axis=1).astype(">i8").view(f"S{8 * len(words)}").ravel()

    def unpack(self, keys: npt.NDArray[np.generic]) -> list[npt.NDArray[np.integer]]:
        """Return the columns that keys were made of."""
        words = keys.reshape(-1, 1)
        if len(self._words) > 1:
            words = np.ascontiguousarray(keys).view(">i8").reshape(len(keys), -1)
        columns: list[npt.NDArray[np.integer]] = []
        for place, sizes in enumerate(self._words):
            word, own = words[:, place].astype(np.int64), []
            for size in reversed(sizes):
                word, rest = np.divmod(word, size)
                own.append(rest)
            columns += reversed(own)
        return columns


SIZES: Final = 8
"""Classes of fewer records, or units, are counted by their sizes."""


@dataclass(frozen=True)
class ClassSizes:
    """How large classes of records are.

    Parameters
    ----------
    small
        How many records classes of 0, 1, 2, … records, or units, have, up to `SIZES`.
    smallest
        The records, or units, of the smallest class.
    unique
        How many records, or units, are alone in a class.
    expected
        How many of these are expected to be so in the population, by their weights.
    """

    small: tuple[int, ...]
    smallest: int
    unique: int
    expected: float = 0.0

    @classmethod
    def of(cls, counts: npt.NDArray[np.integer]) -> ClassSizes:
        """Return the sizes of classes whose records were counted; at least one."""
        small = np.bincount(counts[counts <= SIZES], minlength=SIZES + 1)
        found = tuple((small * np.arange(SIZES + 1)).tolist())
        return cls(found, int(counts.min()), found[1])


@dataclass(frozen=True)
class RowsUnits:
    """Whose some rows are, and where they stand in the table, shape (n,) each.

    A unit is a number that was made under a key that nobody keeps.
    """

    units: Marks
    rows: npt.NDArray[np.int64]


def put_marks(
    buckets: Buckets,
    marks: Marks,
    key: AttributeKey,
    weights: npt.NDArray[np.float64] | None = None,
    whose: RowsUnits | None = None,
) -> None:
    """Put rows' marks aside under a key that nobody keeps: they tell of the rows' values.

    So do weights, which are encrypted: each has a pad of its own, made of a random number.
    """
    hidden = order_words(marks, key)[:, 0].copy()
    columns = {"mark": pa.array(hidden)}
    if whose is not None:
        columns |= {"unit": pa.array(whose.units), "row": pa.array(whose.rows)}
    if weights is not None:
        pads = np.frombuffer(token_bytes(8 * len(weights)), dtype=np.uint64)
        columns["pad"] = pa.array(pads)
        columns["weight"] = pa.array(weights.view(np.uint64) ^ order_words(pads, key)[:, 1])
    buckets.add(pa.record_batch(columns), hidden)


def class_sizes(
    buckets: Buckets, rows: int, context: Context, key: AttributeKey, by_unit: bool = True
) -> ClassSizes:
    """Return how large the classes of all rows are that were put aside under a key.

    Units are counted where rows were put aside with theirs, unless it shall not be `by_unit`.
    """
    found: list[ClassSizes] = []
    units: list[int] = []

    def chances() -> Iterator[float]:
        with Buckets(buckets.folder, rows) as alone:
            done = 0
            for batch in buckets:
                context.report(done / rows, "Counting unique records")
                done += len(batch)
                if by_unit and "unit" in batch.schema.names:
                    found.append(_by_unit(batch, alone))
                    continue
                marks = batch["mark"].to_numpy()
                if "weight" not in batch.schema.names:
                    found.append(ClassSizes.of(class_counts(np.sort(marks))))
                    continue
                order = np.argsort(marks)
                counts = class_counts(marks[order])
                found.append(ClassSizes.of(counts))
                yield from _chances(batch, order[(np.cumsum(counts) - 1)[counts == 1]], key)
            for batch in alone:
                order = np.lexsort((batch["row"].to_numpy(), batch["unit"].to_numpy()))
                firsts = order[_begins(batch["unit"].to_numpy()[order])]
                units.append(len(firsts))
                if "weight" in batch.schema.names:
                    yield from _chances(batch, firsts, key)

    # Rounded once, the sum does not depend on the order of the rows.
    expected = math.fsum(chances())
    small = np.sum([each.small for each in found], axis=0)
    smallest = min(each.smallest for each in found)
    unique = sum(each.unique for each in found) + sum(units)
    return ClassSizes(tuple(small.tolist()), smallest, unique, expected)


def _by_unit(batch: pa.RecordBatch, alone: Buckets) -> ClassSizes:
    """Return how many units classes have; rows of units that are alone are put aside by unit.

    A unit may be alone in several classes, so how many are is counted there.
    """
    order, classes, sizes = units_by_class(batch)
    few = sizes[classes]
    small = np.bincount(few[few <= SIZES], minlength=SIZES + 1)
    chosen = batch.drop_columns("mark").take(pa.array(order[few == 1]))
    if len(chosen):
        alone.add(chosen, chosen["unit"].to_numpy())
    return ClassSizes(tuple(small.tolist()), int(sizes.min()), 0)


def units_by_class(
    batch: pa.RecordBatch,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return an order of rows by class and unit, the class of each there, and classes' units."""
    marks, units = batch["mark"].to_numpy(), batch["unit"].to_numpy()
    order = np.lexsort((units, marks))
    marks, units = marks[order], units[order]
    begins = _begins(marks)
    classes = np.cumsum(begins) - 1
    return order, classes, np.bincount(classes[begins | _begins(units)])


def _begins(ordered: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Return where a number stands that is not the one before it, shape (n,); at first, always."""
    return np.append(True, ordered[1:] != ordered[:-1])


def _chances(
    batch: pa.RecordBatch, rows: npt.NDArray[np.intp], key: AttributeKey
) -> Iterator[float]:
    """Yield the chances of some rows that were put aside, by their weights."""
    yield from chances_in_population(put_weights(batch, key)[rows]).tolist()


def put_weights(batch: pa.RecordBatch, key: AttributeKey) -> npt.NDArray[np.float64]:
    """Return the weights of rows that were put aside with them, shape (n,)."""
    pads = order_words(batch["pad"].to_numpy(), key)[:, 1]
    found: npt.NDArray[np.float64] = (batch["weight"].to_numpy() ^ pads).view(np.float64)
    return found
