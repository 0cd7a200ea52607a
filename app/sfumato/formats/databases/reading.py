"""Reading a table, a view or a query's result from any database, in an order of its own.

Rows of a database have no order, so they are asked for in one: by the primary key, then by all
other columns. Rows that are the same in all of them may change places without anyone seeing it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrow import NativeColumn, target_of
from sfumato.formats.columns.settling import gathered, usable_names, with_fixed_types
from sfumato.formats.databases.connection import Asking, Connection, Described, Place, Selected
from sfumato.formats.errors import (
    BadOptions,
    BadQuery,
    DriverMissing,
    EmptyFile,
    UnsupportedColumn,
)
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.table_format import ReadResult, TableFormat, refuse_many_cells

BATCH_ROWS: Final = 1 << 16
_FIRST: Final = np.datetime64("0001-01-01", "us")
_LAST: Final = np.datetime64("9999-12-31T23:59:59.999999", "us")


class ContentDigest:
    """A SHA-256 of columns that come block by block: of names, types, values and their order.

    Where the blocks begin and end is of no account, nor is how the database keeps the rows.

    Parameters
    ----------
    names, types
        The columns, and the Arrow types that they are read as.
    """

    def __init__(self, names: Sequence[str], types: Sequence[pa.DataType]) -> None:
        self._names = [[name, str(kind)] for name, kind in zip(names, types, strict=True)]
        self._columns = [[hashlib.sha256() for _ in range(3)] for _ in names]
        self._rows = 0

    def add(self, columns: Sequence[pa.Array]) -> None:
        """Add the next rows, each column of its own type."""
        self._rows += len(columns[0])
        for hashes, values in zip(self._columns, columns, strict=True):
            missing, lengths, plain = hashes
            missing.update(np.asarray(values.is_null()).astype("u1").data)
            if pa.types.is_string(values.type):
                filled = pc.fill_null(values, "")
                lengths.update(np.asarray(pc.binary_length(filled)).astype("<i4").data)
                plain.update(_bytes_of(filled))
            else:
                plain.update(_numbers_of(values).data)

    def finish(self) -> str:
        """Return the digest in hexadecimal."""
        parts = [[each.hexdigest() for each in hashes] for hashes in self._columns]
        whole = json.dumps([self._rows, self._names, parts], ensure_ascii=True)
        return hashlib.sha256(whole.encode()).hexdigest()


def _bytes_of(texts: pa.Array) -> memoryview:
    """Return the bytes of texts one after the other; none is missing."""
    offsets = np.frombuffer(texts.buffers()[1], dtype="i4")
    first, last = offsets[texts.offset], offsets[texts.offset + len(texts)]
    return memoryview(texts.buffers()[2] or b"")[first:last]


def _numbers_of(values: pa.Array) -> npt.NDArray[Any]:
    """Return values that are no texts as numbers that are the same on every machine."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    numbers = np.asarray(pc.fill_null(values, False if pa.types.is_boolean(values.type) else 0))
    if numbers.dtype.kind == "f":
        # One zero and one way to be no number, whatever the database calls them.
        return np.where(np.isnan(numbers), np.nan, numbers + 0.0).astype("<f8")
    return numbers.astype("u1" if numbers.dtype.kind == "b" else numbers.dtype.newbyteorder("<"))


class DatabaseFormat(TableFormat):
    """A kind of database: a format whose tables are known by their rows."""

    reading_options = frozenset({"sheet", "query", "column_types", "bad_values", "any_size"})
    is_database = True
    package: ClassVar[str] = ""
    module: ClassVar[str] = ""
    """What has to be installed for it beside what Sfumato always needs, and its module."""

    @abstractmethod
    def connect(self, place: Place) -> Connection:
        """Open a database for reading only.

        Raises
        ------
        DriverMissing
            See `driver`.
        FileError
            If there is none, or it lets nobody in.
        """

    def sheets(self, path: Place, context: Context) -> tuple[str, ...]:
        """Return the tables and views; those outside the usual schema with its name before."""
        asking = Asking(context)
        with asking.connected(lambda: self.connect(path)) as connection:
            return tuple(_tables(asking, connection, path.name))

    def read(
        self, path: Place, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        """Read a table, a view or a query's result, or its first rows in any order."""
        asking = Asking(context)
        with asking.connected(lambda: self.connect(path)) as connection:
            selected = _selected(asking, connection, options, path.name)
            found = _read(asking, connection, selected, options, rows)
        return with_fixed_types(found, options if rows is None else options.tolerant())

    def driver(self) -> Any:
        """Return the module that reads the database, imported no sooner than now.

        Raises
        ------
        DriverMissing
            If it is not installed.
        """
        with suppress(ImportError):
            return importlib.import_module(self.module)
        raise DriverMissing(
            "{title} is read by the package {package}, which is not installed.",
            'Install what databases need, with this Python: pip install "sfumato[databases]".',
            title=self.title,
            package=self.package,
        )


def quoted(name: str) -> str:
    """Return a name as SQL writes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _tables(asking: Asking, connection: Connection, database: str) -> dict[str, tuple[str, str]]:
    """Return tables by what a person calls them; those of the usual schema by name alone."""
    usual = {"public", "main"}
    tables = {
        name if schema in usual else f"{schema}.{name}": (schema, name)
        for schema, name in asking.ask(connection.tables)
    }
    if not tables:
        raise EmptyFile(
            "{database} has no tables that you may read.",
            "Choose another database, or ask its owner for the permission.",
            database=database,
        )
    return tables


def _selected(
    asking: Asking, connection: Connection, options: ReadOptions, database: str
) -> Selected:
    if options.query and options.sheet:
        raise BadOptions("A table and a query are asked for.", "Choose one of them.")
    if options.query:
        query = options.query.strip().removesuffix(";")
        if "\0" in query:
            raise BadQuery("The query holds a NUL.", "Write it again as plain text.")
        # The line's end closes a comment that the query may end with.
        return Selected(f"the query on {database}", f"(\n{query}\n)")
    tables = _tables(asking, connection, database)
    if not options.sheet and len(tables) > 1:
        raise BadOptions(
            "{database} has {count} {count:table|tables} and views.",
            "Say which one is read, by its name.",
            database=database,
            count=len(tables),
        )
    wanted = options.sheet or next(iter(tables))
    if wanted not in tables:
        raise BadOptions(
            "{database} has no table or view called {table} that you may read.",
            "Check the name and its schema, or ask the database's owner for the permission.",
            database=database,
            table=wanted,
        )
    schema, name = tables[wanted]
    return replace(asking.ask(lambda: connection.table(schema, name)), title=wanted)


def _read(
    asking: Asking,
    connection: Connection,
    selected: Selected,
    options: ReadOptions,
    rows: int | None,
) -> ReadResult:
    described = asking.ask(lambda: connection.describe(selected))
    names = usable_names([each.name for each in described])
    total = asking.ask(lambda: connection.count(selected)) if rows is None else rows
    columns = [
        NativeColumn(name, each.type, total) for name, each in zip(names, described, strict=True)
    ]
    if rows is None:
        refuse_many_cells(selected.title, total, len(names), options)
    digest = ContentDigest(names, [target_of(each.name, each.type) for each in described])
    batches = connection.batches(_statement(selected, described, rows), described)
    done = 0
    while (batch := asking.ask(lambda: next(batches, None))) is not None:
        digest.add([_taken(c, each) for c, each in zip(columns, batch.columns, strict=True)])
        done += len(batch)
        said = Sentence(
            "Reading {table}: {rows:,} {rows:row|rows}", table=selected.title, rows=done
        )
        asking.report(min(done / max(total, 1), 1.0), said)
    if not done or not names:
        raise EmptyFile(
            "{table} has no rows.",
            "Choose a table, a view or a query that has at least one.",
            table=selected.title,
        )
    frame = pd.DataFrame({column.name: column.finish() for column in columns}, copy=False)
    changed = {
        name: _settled(frame[name], each.later, options)
        for name, each in zip(names, described, strict=True)
        if each.later is not None and name not in options.column_types
    }
    frame = pd.DataFrame({**{name: frame[name] for name in names}, **changed}, copy=False)
    return ReadResult(Table(frame), digest=digest.finish())


def _statement(selected: Selected, described: Sequence[Described], rows: int | None) -> str:
    """Return the SELECT of all rows in order, or of a few in any."""
    listed = ", ".join(f"{each.expression} AS {quoted(each.name)}" for each in described)
    select = f"SELECT {listed} FROM {selected.source} AS q"
    if rows is not None:
        return f"{select} LIMIT {rows}"
    by_name = {each.name: each.order for each in described}
    order = dict.fromkeys([*selected.key, *by_name])
    return f"{select} ORDER BY {', '.join(by_name[name] for name in order)}"


def _taken(column: NativeColumn, values: pa.Array) -> pa.Array:
    """Append values to a column; refuse moments that no calendar has, as infinite ones."""
    plain = None
    # What Arrow says may quote a value.
    with suppress(pa.ArrowException):
        plain = column.add(values)
        if pa.types.is_timestamp(plain.type) and plain.null_count < len(plain):
            known = plain.drop_null().to_numpy(zero_copy_only=False).astype("M8[us]")
            if known.min() < _FIRST or known.max() > _LAST:
                plain = None
    if plain is None:
        raise UnsupportedColumn(
            "Column {column} holds a date that is infinite or not in the years 1 to 9999, or a"
            " number that Sfumato has no room for.",
            "Read a query that leaves such rows out, or turns the column into text.",
            column=column.name,
        )
    return plain


def _settled(texts: pd.Series, kind: ColumnType, options: ReadOptions) -> Any:
    """Return texts as what they stand for; as they are, where that would alter one."""
    name = str(texts.name)
    # A number is found out, not fixed: what is fixed may lose digits.
    wanted = options if kind is ColumnType.NUMBER else options.with_type(name, kind)
    column = gathered(texts, name, wanted)
    if column.given_up or column.code_at >= 0 or len(column.bad):
        return texts
    return column.finish(None)


_WHY: Final = {
    "syntax": Sentence("it is not one SELECT statement"),
    "table": Sentence("it names a table or view that is not there, or that you may not read"),
    "column": Sentence("it names a column that is not there"),
}


def refused_query(database: str, why: str = "") -> BadQuery:
    """Return the error of a database that does not take what is asked, or can't compute it.

    Parameters
    ----------
    database
        What it is called.
    why
        ``syntax``, ``table`` or ``column``, where the driver tells; its words are not repeated.
    """
    remedy = "A query is one SELECT that writes nothing. Try it in the database's own program."
    if why:
        return BadQuery(
            "{database} refuses the query: {why}.", remedy, database=database, why=_WHY[why]
        )
    return BadQuery(
        "{database} refuses what it is asked, or can't compute it.", remedy, database=database
    )
