"""A database: where it is, what it is asked, and how its answer is waited for and becomes a table.

A call of a driver may take hours and can't look up from its work, so it is made in a thread that
has ended when the call returns, or is left to its time-out where a person stops waiting for it.

An `Address` says where a server is, without the password; the passwords of those that are open
are remembered beside it.

Rows of a database have no order, so they are asked for in one: by the primary key, then by all
other columns. Rows that are the same in all of them may change places without anyone seeing it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import NativeColumn, target_of
from sfumato.formats.columns.parsing import outside_years
from sfumato.formats.columns.settling import usable_names
from sfumato.formats.columns.typed import finished
from sfumato.formats.database_columns import DatabaseColumn, frame_as_described
from sfumato.formats.errors import (
    BadAddress,
    BadOptions,
    BadQuery,
    DriverMissing,
    EmptyFile,
    FileError,
    UnsupportedColumn,
    WrongEncoding,
)
from sfumato.formats.long_texts import LongTexts
from sfumato.formats.options import ReadOptions
from sfumato.formats.parquet_columns import periods_in, zone_notes
from sfumato.formats.table_format import ReadResult, TableFormat, refuse_many_cells

_SCHEMES: Final = ("postgresql://", "postgres://")
_SETTINGS: Final = frozenset(
    {
        *("host", "port", "service", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey"),
        *("sslcrl", "channel_binding", "gssencmode", "target_session_attrs"),
    }
)
"""What may follow the question mark: how to reach the server, and nothing that is secret."""


@dataclass(frozen=True)
class Address:
    """A database on a PostgreSQL server.

    Parameters
    ----------
    host, port, database, user
        Empty or 0 where the driver's own ways are to find it (``PGHOST``, a service file …).
    settings
        Further settings of the connection, such as ``("sslmode", "verify-full")``.
    """

    host: str = ""
    port: int = 0
    database: str = ""
    user: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str) -> Address:
        """Return the address that a URL states.

        Raises
        ------
        BadAddress
            If it is no URL of a database, or holds a password or a setting that is not known.
        """
        parts, port = _split(text)
        settings = tuple(sorted(parse_qsl(parts.query, keep_blank_values=True)))
        if parts.password is not None or any("password" in name for name, _ in settings):
            raise BadAddress(
                "The address of the database holds a password. Others can see it on a command"
                " line, and it would be kept in the project.",
                "Leave it out. The window asks for it; a command takes it from the variable"
                " PGPASSWORD or from the file that PGPASSFILE names (default: ~/.pgpass).",
            )
        for name, _ in settings:
            if name not in _SETTINGS:
                raise BadAddress(
                    "The address of the database has a setting called {name}.",
                    "Known are: {known}.",
                    name=name if name.isidentifier() else "?",
                    known=", ".join(sorted(_SETTINGS)),
                )
        host, user = unquote(parts.hostname or ""), unquote(parts.username or "")
        return cls(host, port, unquote(parts.path.removeprefix("/")), user, settings)

    def __str__(self) -> str:
        """The URL, without a password."""
        return self.url()

    def url(self, password: str = "", **more: str) -> str:
        """Return the URL that a driver is given.

        Parameters
        ----------
        password
            Stands in it where there is one.
        **more
            Settings of the connection beside its own.
        """
        user = quote(self.user, safe="")
        if password:
            user += f":{quote(password, safe='')}"
        host = f"[{self.host}]" if ":" in self.host else quote(self.host, safe="")
        place = f"{host}:{self.port}" if self.port else host
        before = f"{user}@" if user else ""
        settings = urlencode([*self.settings, *more.items()], quote_via=quote)
        after = f"?{settings}" if settings else ""
        return f"postgresql://{before}{place}/{quote(self.database, safe='')}{after}"

    @property
    def name(self) -> str:
        """What the database is called in a sentence."""
        return self.database or dict(self.settings).get("service") or self.host or "PostgreSQL"

    @property
    def server(self) -> str:
        """What its server is called in a sentence."""
        host = self.host or dict(self.settings).get("host") or "the usual place"
        return f"{host}:{self.port}" if self.port else host


def _split(text: str) -> tuple[SplitResult, int]:
    found = None
    if text.startswith(_SCHEMES) and text.isprintable():
        # What is no number as a port, or a bracket that does not close.
        with suppress(ValueError):
            parts = urlsplit(text)
            found = parts, parts.port or 0
    if found is None:
        raise BadAddress(
            "This is not the address of a database.",
            "Write it as postgresql://user@host:5432/database, without the password.",
        )
    return found


Place = Path | Address
"""Where a source is: a file or a folder, or a database on a server."""


def place_of(text: str) -> Place:
    """Return the place that a text states: a database's URL, or else a path.

    Raises
    ------
    BadAddress
        See `Address.of`.
    """
    return Address.of(text) if text.startswith(_SCHEMES) else Path(text)


class Passwords:
    """The passwords of databases that are open, in this process's memory and nowhere else."""

    def __init__(self) -> None:
        self._known: dict[Address, str] = {}

    def keep(self, address: Address, password: str) -> None:
        """Use a password from now on wherever the address is read; an empty one for none."""
        self._known[address] = password

    def of(self, address: Address) -> str:
        """Return the password; empty where the driver's own ways are to find it."""
        return self._known.get(address, "")

    def forget(self) -> None:
        """Forget all of them."""
        self._known.clear()


PASSWORDS: Final = Passwords()


_POLL_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 5.0
"""How long a driver that was told to stop may take, before it is left to itself."""


_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Selected:
    """What is read: a table, a view, or the result of a query.

    Parameters
    ----------
    title
        What it is called.
    source
        What stands after FROM.
    key
        The columns of the primary key, where there is one.
    declared
        The types that are stated for columns of a database that does not hold them to these.
    """

    title: str
    source: str
    key: tuple[str, ...] = ()
    declared: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def table(
        cls, schema: str, name: str, key: Iterable[str], declared: Mapping[str, str] | None = None
    ) -> Selected:
        """Return how a table or view of a schema is selected from."""
        return cls(name, f"{quoted(schema)}.{quoted(name)}", tuple(key), declared or {})


class Connection(ABC):
    """An open database that nothing can be written to. Its calls may take long, or for ever.

    Parameters
    ----------
    name
        What the database is called.
    driver
        The driver's own connection.
    """

    def __init__(self, name: str, driver: Any) -> None:
        self.name = name
        self.driver = driver

    def rows(self, statement: str, *values: str) -> list[Any]:
        """Return the rows that a statement gives with some values."""
        return list(self.driver.execute(statement, values).fetchall())

    @abstractmethod
    def tables(self) -> Sequence[tuple[str, str]]:
        """Return the schema and name of every table and view that may be read."""

    @abstractmethod
    def table(self, schema: str, name: str) -> Selected:
        """Return how a table or view is selected from."""

    @abstractmethod
    def describe(self, selected: Selected) -> Sequence[DatabaseColumn]:
        """Return the columns."""

    def count(self, selected: Selected) -> int:
        """Return the number of rows."""
        return int(self.rows(f"SELECT count(*) FROM {selected.source} AS q")[0][0])

    @abstractmethod
    def batches(self, select: str, columns: Sequence[DatabaseColumn]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, each column as the type described."""

    def interrupt(self) -> None:
        """Let the call that another thread waits for end soon."""
        self.driver.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self.driver.close()

    @abstractmethod
    def explained(self, error: BaseException) -> FileError | None:
        """Return what a driver's complaint means, without the values that it may quote."""


class Asking:
    """Waits for a database in a thread, so that a person can stop it at any time.

    Parameters
    ----------
    context
        Progress and cancelling.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._connection: Connection | None = None
        self._stuck = False
        self._at: tuple[float, str] = (0.0, Sentence("Waiting for the database"))

    def report(self, fraction: float, text: str) -> None:
        """Tell how far the work is."""
        self._at = fraction, text
        self._context.report(fraction, text)

    def ask(self, call: Callable[[], _Answer]) -> _Answer:
        """Return what a call of a driver returns.

        Raises
        ------
        FileError
            If the driver complains.
        Cancelled
            If the context says so.
        """
        answer: Future[_Answer] = Future()
        Thread(target=_settle, args=(answer, call), daemon=True).start()
        try:
            while not wait([answer], _POLL_SECONDS).done:
                self._context.report(*self._at)
        except Cancelled:
            if self._connection is not None:
                self._connection.interrupt()
                self._stuck = not wait([answer], _PATIENCE_SECONDS).done
            raise
        error = answer.exception()
        if error is None:
            return answer.result()
        if isinstance(error, UnicodeDecodeError):  # of the driver's own words, which quote names
            raise WrongEncoding(
                "The database has names of tables, columns or functions that are not in UTF-8, or"
                " it is damaged.",
                "Copy it again from where it comes from, or write its tables again with names in"
                " UTF-8.",
            )
        connection = self._connection
        raise (connection.explained(error) if connection is not None else None) or error from None

    @contextmanager
    def connected(self, connect: Callable[[], Connection]) -> Iterator[Connection]:
        """Open a connection, and close it in the end."""
        self._context.report(*self._at)
        self._connection = self.ask(connect)
        try:
            yield self._connection
        finally:
            # A connection that still works for another thread can't be closed under it.
            if not self._stuck:
                with suppress(Exception):
                    self._connection.close()


def _settle(answer: Future[_Answer], call: Callable[[], _Answer]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:
        answer.set_exception(error)


BATCH_ROWS: Final = 1 << 16


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

    reading_options = frozenset(
        {"sheet", "query", "missing", "keep_blank_rows", "column_types", "bad_values", "any_size"}
    )
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
        return finished(found, options, rows, numbered=False)

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
        NativeColumn(name, each.type, total, options.version)
        for name, each in zip(names, described, strict=True)
    ]
    if rows is None:
        refuse_many_cells(selected.title, total, len(names), options)
    long_texts = LongTexts(selected.title, options)
    digest = ContentDigest(names, [target_of(each.name, each.type) for each in described])
    batches = connection.batches(_statement(selected, described, rows), described)
    done = 0
    while (batch := asking.ask(lambda: next(batches, None))) is not None:
        long_texts.see(batch.columns)
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
    frame, notes = frame_as_described(frame, described, options)
    schema = pa.schema([(name, each.type) for name, each in zip(names, described, strict=True)])
    notes = (*zone_notes(schema, names, options), *notes)
    periods = periods_in(schema, names, options.version)
    return ReadResult(Table(frame, periods=periods), notes=notes, digest=digest.finish())


def _statement(selected: Selected, described: Sequence[DatabaseColumn], rows: int | None) -> str:
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
        if outside_years(values) is None:
            plain = column.add(values)
    if plain is None:
        raise UnsupportedColumn(
            "Column {column} holds a date that is infinite or not in the years 1 to 9999, or a"
            " number that Sfumato has no room for.",
            "Read a query that leaves such rows out, or turns the column into text.",
            column=column.name,
        )
    return plain.dictionary_decode() if pa.types.is_dictionary(plain.type) else plain


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
