"""What every file format offers, and what reading and writing a table tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Value
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import Period
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Integers
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import MissingReasons, Table
from sfumato.formats.columns.arrays import Chosen, NativeColumn, is_ordered
from sfumato.formats.errors import TooLarge, UnknownFormat, Way
from sfumato.formats.files import digest_of
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions

Order = Integers
"""Which row of a table stands at each place, shape (n,)."""


Near = tuple[int, pa.RecordBatch] | None


@dataclass(frozen=True)
class Batches:
    """The rows of a file that may be too long for memory, some at a time, as often as asked for.

    Parameters
    ----------
    types
        What each column is read as, by its name.
    rows
        How many rows there are.
    value_labels, column_labels, periods
        See `Table`.
    read
        Yields the rows of some columns in the file's order, no more than `BATCH_ROWS` at a time.
        Texts may be dictionaries that hold them once, and others that no row has.
    notes
        What the custodian should know.
    digest
        By what the file is known again, where it was read already; rows of another are refused.
    types_suffice
        Whether rows of the same file can be read again by these types, see `KnownFile`.
    skipped
        How many rows of the file the options left out.
    near
        Returns some rows around one by its place, and where the first of them stands, or None
        where the file has to be read from its start.
    orders
        The texts of columns that are categories in an order.
    parts
        Returns the rows cut into parts, in their order, that other processes read by themselves:
        of about so many rows each, or more.
    check
        Refuses the file where it is another one than it was.
    missing_reasons
        See `Table`.
    """

    types: Mapping[str, pa.DataType]
    rows: int
    value_labels: Mapping[str, Mapping[Value, str]] = field(repr=False)
    column_labels: Mapping[str, str]
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]] = field(repr=False)
    notes: tuple[Note, ...] = ()
    digest: str = ""
    types_suffice: bool = False
    skipped: int = 0
    near: Callable[[int], Near] | None = field(default=None, repr=False)
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    parts: Callable[[int], Sequence[TablePart]] = field(default=lambda _: (), repr=False)
    check: Callable[[], None] = field(default=lambda: None, repr=False)
    missing_reasons: Mapping[str, MissingReasons] = field(default_factory=dict, repr=False)
    periods: Mapping[str, Period] = field(default_factory=dict)

    def table(self, frame: pd.DataFrame, *, is_part: bool = False) -> Table:
        """Return some of the rows as a table, with all that is known of the columns."""
        labels = (self.value_labels, self.column_labels)
        return Table(frame, *labels, is_part, self.missing_reasons, self.periods)

    @property
    def ordered(self) -> frozenset[str]:
        """The columns that are categories in an order."""
        held_once = {name for name, kind in self.types.items() if pa.types.is_dictionary(kind)}
        return frozenset(self.orders) | held_once

    def around(self, place: int, context: Context) -> tuple[int, pa.RecordBatch]:
        """Return some rows around one of them, and where the first of them stands.

        Raises
        ------
        TableError
            If the table has become shorter.
        """
        if self.near is not None and (found := self.near(place)) is not None:
            return found
        return batch_at(self.read(tuple(self.types)), 0, place, context)

    def mapped(self, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Batches:
        """Return the same rows, each batch of them changed; its types stay.

        Parameters
        ----------
        change
            Returns a batch's rows; a function of a module, which other processes find again.
        """

        def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            return map(change, self.read(names))

        def near(place: int) -> Near:
            found = None if self.near is None else self.near(place)
            return None if found is None else (found[0], change(found[1]))

        def parts(rows: int) -> Sequence[TablePart]:
            return [_MappedPart(part, change) for part in self.parts(rows)]

        return replace(self, read=read, near=near, parts=parts)


class TablePart(Protocol):
    """Some rows of a file that stand together. It holds none of them, and can be pickled."""

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some columns.

        Raises
        ------
        TableError
            If the file is another one than it was.
        """


@dataclass(frozen=True)
class _MappedPart:
    """Some rows of a file, each batch of them changed; see `TablePart`."""

    part: TablePart
    change: Callable[[pa.RecordBatch], pa.RecordBatch]

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return map(self.change, self.part.read(names))


@dataclass(frozen=True)
class KnownFile:
    """A file whose rows were read in parts before: the types, rows and digest of `Batches`."""

    types: Mapping[str, pa.DataType]
    rows: int
    digest: str


BATCH_ROWS: Final = 1 << 18
_WIDE: Final = 16
"""Tables of more columns are worked on fewer rows at a time."""
SHOWN_ROWS: Final = 1 << 14
"""So many rows are shown at once of a table that is too long for memory."""


def batch_at(
    batches: Iterator[pa.RecordBatch], first: int, place: int, context: Context
) -> tuple[int, pa.RecordBatch]:
    """Return the rows around a place, of batches that begin at a place, and where they begin.

    Raises
    ------
    TableError
        If there are no such rows.
    """
    for batch in batches:
        if place < first + len(batch):
            start = (place - first) // SHOWN_ROWS * SHOWN_ROWS
            return first + start, batch.slice(start, SHOWN_ROWS)
        first += len(batch)
        context.report(min(1.0, first / max(place, 1)), "Reading rows")
    raise TableError("The table changed while it was read.", "Start again.")


def rows_together(rows: int, columns: int) -> int:
    """Return how many rows are worked on at a time: of a wide table fewer, for the same memory.

    Parameters
    ----------
    rows
        How many of a table that is not wide.
    columns
        How many columns the table has.
    """
    return max(1, rows * _WIDE // max(columns, _WIDE))


def in_blocks(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of batches so many at a time, the last ones as many as are left."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += len(batch)
        if count < size:
            continue
        whole = held[0] if len(held) == 1 else pa.concat_batches(held)
        for start in range(0, count - size + 1, size):
            yield whole.slice(start, size)
        count %= size
        held = [whole.slice(len(whole) - count)] if count else []
    if held:
        yield pa.concat_batches(held)


MakesRows = Callable[[Context, Path], Iterator[pa.RecordBatch]]
"""Makes rows as batches of any size; is told of the progress, and which folder may take files."""


KeptTexts = dict[Hashable, Sequence[pa.Array] | None]
"""Columns as a format writes them, by whatever that depends on; None where they are too large."""


@dataclass(frozen=True)
class SharedColumns:
    """Columns that are the same in several streams of a table's rows, but for the rows' order.

    Parameters
    ----------
    names
        The columns.
    in_table
        Makes these columns, in the table's order.
    others
        Makes the other columns in the stream's order, and `PLACE`; both as `RowStream.made`.
    kept
        These columns as they were written for the streams before.
    """

    names: tuple[str, ...]
    in_table: MakesRows = field(repr=False)
    others: MakesRows = field(repr=False)
    kept: KeptTexts = field(repr=False)


PLACE: Final = "sfumato row"
"""The column of rows that says where they stand in the table."""


@dataclass(frozen=True)
class RowStream:
    """Rows that are made while they are written.

    Parameters
    ----------
    rows
        How many there are.
    made
        Makes them in the order in which they are written.
    fits
        Whether all of them may be held in memory.
    shared
        Which columns others have as well, where all of them may be held in memory as text.
    """

    rows: int
    made: MakesRows = field(repr=False)
    fits: bool = False
    shared: SharedColumns | None = field(default=None, repr=False)

    def blocks(self, size: int, context: Context, folder: Path) -> Iterator[pa.RecordBatch]:
        """Yield the rows so many at a time; see `in_blocks`."""
        return in_blocks(self.made(context, folder), size)


Rows = Order | RowStream | None
"""The rows of a table in an order; or those that are made, of which the table shows the types."""


class WrittenColumn(Protocol):
    """A column of a table as a format writes it."""

    def block(self, rows: Chosen) -> pa.Array:
        """Return some of its rows."""

    def fitted(self, values: pa.Array) -> pa.Array:
        """Return rows that were made elsewhere, as they are written."""


def arrays_of(
    table: Table,
    columns: Mapping[str, WrittenColumn],
    rows: Rows,
    size: int,
    context: Context,
    folder: Path,
) -> Iterator[list[pa.Array]]:
    """Yield a table's columns as they are written, so many rows at a time.

    Parameters
    ----------
    table, columns
        The table, and its columns as the format writes them.
    rows
        The order of its rows; None for as they stand; or what makes rows in their place.
    size
        How many rows are written together.
    context
        Told of the progress.
    folder
        Where the file is written.
    """
    if isinstance(rows, RowStream):
        for batch in rows.blocks(size, context, folder):
            yield [column.fitted(batch[name]) for name, column in columns.items()]
        return
    for start in range(0, table.rows, size):
        context.report(start / table.rows, "Writing the file")
        part = slice(start, start + size) if rows is None else rows[start : start + size]
        yield [column.block(part) for column in columns.values()]


def in_order(table: Table, order: Rows, context: Context, folder: Path) -> Table:
    """Return a table with its rows in an order, numbered from 0; None for as they stand.

    Other parameters are those of `arrays_of`.

    Raises
    ------
    TooLarge
        If its rows are made while they are written, and may not be held in memory.
    """
    if isinstance(order, RowStream) and order.fits:
        made = pa.Table.from_batches(list(order.made(context, folder)))
        read = {}
        for name in table.columns:
            column = NativeColumn(name, made.schema.field(name).type, order.rows)
            for chunk in made[name].chunks:
                column.add(chunk)
            read[name] = pd.Series(column.finish(), name=name)
            if is_ordered(read[name]):
                read[name] = read[name].cat.set_categories(table.frame[name].cat.categories)
        return replace(table, frame=pd.DataFrame(read, copy=False))
    if isinstance(order, RowStream):
        raise TooLarge(
            "Files of this format are made in memory, and the table has {rows:,} {rows:row|rows}.",
            "Choose Parquet or CSV, or let the release take more memory.",
            rows=order.rows,
        )
    if order is None:
        return table
    columns = {
        name: series.take(order).reset_index(drop=True) for name, series in table.frame.items()
    }
    return replace(table, frame=pd.DataFrame(columns, copy=False))


@dataclass(frozen=True)
class ReadResult:
    """What was read.

    Parameters
    ----------
    table
        The table.
    skipped_rows
        How many rows of the file the options left out.
    notes
        What the custodian should know.
    digest
        By what the table is known again, where it is not its file's digest.
    """

    table: Table
    skipped_rows: int = 0
    notes: tuple[Note, ...] = ()
    digest: str = ""


@dataclass(frozen=True)
class WrittenFile:
    """A file of a table.

    Parameters
    ----------
    sha256
        Its digest, in hexadecimal.
    losses
        What the table holds and the file doesn't, as recipients are told.
    """

    sha256: str
    losses: tuple[Sentence, ...] = ()


class TableFormat(ABC):
    """One file format: a module of `sfumato.formats.tables` holds it.

    A format that can't be written, or not be read, leaves the methods for it as they are here.
    """

    name: ClassVar[str]
    """Its identifier in files; also the extension that is written."""
    title: ClassVar[str]
    """Its name in plain words."""
    extensions: ClassVar[tuple[str, ...]]
    """The endings of file names, in lower case, with the dot."""
    order: ClassVar[int]
    """Where it stands among the formats on offer."""
    reading_options: ClassVar[frozenset[str]] = frozenset({"column_types", "bad_values"})
    """The fields of `ReadOptions` that change how this format is read, beside `format`."""
    heeds_missing: ClassVar[bool] = False
    """Whether it leaves out, as it reads, the texts that mean a missing value in every column."""
    can_read: ClassVar[bool] = True
    can_write: ClassVar[bool] = False
    is_database: ClassVar[bool] = False
    """Whether its tables are known by their rows and not by the file that holds them."""
    reads_folders: ClassVar[bool] = False
    """Whether a folder of such files is read as one table; see `recognises_folder`."""
    last_resort: ClassVar[bool] = False
    """Whether its files can be told from others only by not being any of them."""

    @abstractmethod
    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether a file's first bytes are those of this format, whatever its name."""

    def recognises_folder(self, path: Path) -> bool:  # noqa: ARG002
        """Whether a folder is one table of this format."""
        return False

    def detect(self, path: Path) -> ReadOptions:  # noqa: ARG002
        """Propose how to read a file of this format; see `reading.detect_options`."""
        # Where rows have types, one without any value is stated to be a record.
        return ReadOptions(
            format=self.name, keep_blank_rows="keep_blank_rows" in self.reading_options
        )

    def detect_beside(self, path: Path, stated: Mapping[str, Any]) -> ReadOptions:
        """Propose how to read a file, by some options that are stated already."""
        return replace(self.detect(path), **stated)

    @abstractmethod
    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        """Read a file, or its first rows, which refuse nothing; see `sfumato.formats.reading`."""

    def batches(
        self,
        path: Path,  # noqa: ARG002
        options: ReadOptions,  # noqa: ARG002
        context: Context,  # noqa: ARG002
        plain: bool = False,  # noqa: ARG002
        least: float = 0,  # noqa: ARG002
        known: KnownFile | None = None,  # noqa: ARG002
    ) -> Batches | None:
        """Return a file's rows as batches; None where it has to be read as a whole.

        What is `known` of the same file need not be found out again.

        Where values are to be `plain`, categories may be given as texts, without their order.
        None, too, where there are fewer than the `least` values, or about as many.
        """
        return None

    def digest(self, path: Path, context: Context) -> str:
        """Return by what a file is known again."""
        return digest_of(path, context)

    def sheets(self, path: Path, context: Context) -> tuple[str, ...]:  # noqa: ARG002
        """Return the tables a file holds, where it can hold several."""
        return ()

    def names_in_file(self, columns: tuple[str, ...]) -> dict[str, str]:
        """Return what each column is called in a file of this format."""
        return {name: name for name in columns}

    def write(
        self,
        table: Table,  # noqa: ARG002
        path: Path,  # noqa: ARG002
        context: Context,  # noqa: ARG002
        order: Rows = None,  # noqa: ARG002
    ) -> WrittenFile:
        """Write a table's rows, in an order, to a path where no file stands yet.

        See `arrays_of` for rows that are made meanwhile.
        """
        raise UnknownFormat(
            "Sfumato does not write {title} files.",
            "Choose another format.",
            title=self.title,
        )


MOST_CELLS: Final = 250_000_000
"""About 2 GB of numbers. A packed file of a few kilobytes can state as many."""


def refuse_many_cells(name: str, rows: int, columns: int, options: ReadOptions) -> None:
    """Refuse a file that states more cells than are read unasked.

    Raises
    ------
    TooLarge
        If it does, unless the options let any size be read.
    """
    if options.any_size or rows * columns <= MOST_CELLS:
        return
    raise TooLarge(
        "{file} states {rows:,} {rows:row|rows} of {columns:,} {columns:column|columns}, more than"
        " are read unasked.",
        "If you know where it comes from and there is memory for it, let any size be read.",
        ways=(Way("Read it all the same", replace(options, any_size=True)),),
        file=name,
        rows=rows,
        columns=columns,
    )
