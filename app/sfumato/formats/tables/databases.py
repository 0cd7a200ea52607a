"""Databases: SQLite, DuckDB and PostgreSQL.

A column of SQLite holds values of any type, whatever is declared. So all values are looked at
before the column's type is settled, in the same transaction in which they are read. DuckDB is read
by the package ``duckdb`` and PostgreSQL by ``adbc-driver-postgresql``, imported when one is read.
PostgreSQL's library looks for what the address does not say where every program of PostgreSQL
does: in ``PGHOST``, ``PGUSER``, ``PGPASSWORD``, a password file or a service file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sfumato.formats.database_columns import DatabaseColumn
from sfumato.formats.databases import (
    BATCH_ROWS,
    PASSWORDS,
    Address,
    Connection,
    DatabaseFormat,
    Place,
    Selected,
    quoted,
    refused_query,
)
from sfumato.formats.errors import (
    BadAddress,
    BadQuery,
    CannotConnect,
    DamagedFile,
    FileError,
    WrongEncoding,
    WrongPassword,
)
from sfumato.formats.options import ColumnType

_BUSY_SECONDS: Final = 5.0
_ASKED: Final = (
    "max(typeof({name}) = 'integer'), max(typeof({name}) = 'real'), sum(typeof({name}) = 'text'),"
    " max(typeof({name}) = 'blob'), max({name} NOT IN (0, 1)),"
    " max(typeof({name}) = 'integer' AND abs({name} / 2) >= 4503599627370496)"
)
"""What is asked about all values of a column; the last is whether a decimal would alter one."""
_ANSWERS: Final = 6
_AT_ONCE: Final = 300
"""Of so many columns one SELECT can ask all this."""


class _SQLite(DatabaseFormat):
    name = "sqlite"
    title = "SQLite"
    extensions = (".sqlite", ".sqlite3", ".db")
    order = 70

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(b"SQLite format 3\0")

    def connect(self, place: Place) -> Connection:
        assert isinstance(place, Path)
        try:
            return _OpenSQLite(place)
        except sqlite3.Error as error:
            found = _explained_sqlite(error, place.name)
        raise found


class _OpenSQLite(Connection):
    def __init__(self, path: Path) -> None:
        # Calls come from one thread after the other, never from two at once.
        driver = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        super().__init__(path.name, driver)
        self.driver.execute("PRAGMA query_only = ON")
        # All that follows sees the database as it is at the first look.
        self.driver.execute("BEGIN")

    def tables(self) -> Sequence[tuple[str, str]]:
        found = self.rows(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name"
        )
        return [("main", name) for (name,) in found]

    def table(self, schema: str, name: str) -> Selected:
        columns = self.rows("SELECT name, type, pk FROM pragma_table_info(?)", name)
        key = sorted((place, column) for column, _, place in columns if place)
        declared = {column: declared.upper() for column, declared, _ in columns}
        return Selected.table(schema, name, (column for _, column in key), declared)

    def describe(self, selected: Selected) -> Sequence[DatabaseColumn]:
        empty = self.driver.execute(f"SELECT * FROM {selected.source} AS q LIMIT 0")
        names = [name for name, *_ in empty.description]
        asked = [_ASKED.format(name=f"q.{quoted(name)}") for name in names]
        answers: list[Any] = []
        for start in range(0, len(asked), _AT_ONCE):
            listed = ", ".join(asked[start : start + _AT_ONCE])
            answers += self.rows(f"SELECT {listed} FROM {selected.source} AS q")[0]
        return [
            _described_by_answers(
                name,
                selected.declared.get(name, ""),
                [each or 0 for each in answers[place * _ANSWERS : (place + 1) * _ANSWERS]],
            )
            for place, name in enumerate(names)
        ]

    def batches(self, select: str, columns: Sequence[DatabaseColumn]) -> Iterator[pa.RecordBatch]:
        cursor = self.driver.execute(select)
        schema = pa.schema([(each.name, each.type) for each in columns])
        while rows := cursor.fetchmany(BATCH_ROWS):
            values = zip(*rows, strict=True)
            arrays = [_array(list(each), t) for each, t in zip(values, schema.types, strict=True)]
            yield pa.record_batch(arrays, schema=schema)

    def explained(self, error: BaseException) -> FileError | None:
        return _explained_sqlite(error, self.name) if isinstance(error, sqlite3.Error) else None


def _described_by_answers(name: str, declared: str, answers: Sequence[int]) -> DatabaseColumn:
    """Return how a column is read, by what its values are."""
    whole, decimal, text, blob, other_than_bits, large = answers
    shown = f"q.{quoted(name)}"
    expression, later = shown, None
    if blob:
        kind = pa.binary()
    elif text or (decimal and large) or not (whole or decimal):
        kind = pa.string()
        expression = f"CAST({shown} AS TEXT)"
        later = ColumnType.DATE if declared.startswith(("DATE", "TIMESTAMP")) else None
        if not text and decimal:  # and whole numbers with more digits than a decimal holds
            later = ColumnType.NUMBER
    elif decimal:
        kind = pa.float64()
    else:
        bits = declared.startswith("BOOL") and not other_than_bits
        kind = pa.bool_() if bits else pa.int64()
    others = ColumnType.NUMBER if decimal else ColumnType.INTEGER
    texts = text if whole or decimal else 0
    return DatabaseColumn(name, kind, expression, f"{shown} COLLATE BINARY", later, texts, others)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def _explained_sqlite(error: sqlite3.Error, database: str) -> FileError:
    """Return what SQLite's complaint means; its own words may quote values."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return CannotConnect(
            "{database} is being written to by another program.",
            "Wait until it is done, and try again.",
            database=database,
        )
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT")):
        return DamagedFile(
            "{database} is not a whole SQLite database, or it is encrypted.",
            "Copy it again from where it comes from.",
            database=database,
        )
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM", "SQLITE_READONLY_")):
        return CannotConnect(
            "{database} can't be opened for reading.",
            "Check whether you may read it, and the files that SQLite keeps beside it.",
            database=database,
        )
    if str(error).startswith("Could not decode"):
        return WrongEncoding(
            "{database} holds texts that are not in UTF-8.",
            "Write them again in UTF-8, or read a query without their column.",
            database=database,
        )
    said = {"no such column": "column", "no such table": "table", "near ": "syntax"}
    why = next((why for start, why in said.items() if str(error).startswith(start)), "")
    return refused_query(database, why)


SQLITE: Final = _SQLite()


_CLOSED: Final = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""A query reads this database and no file or server beside it."""
_MAGIC_AT: Final = 8


class _DuckDB(DatabaseFormat):
    name = "duckdb"
    title = "DuckDB"
    extensions = (".duckdb", ".ddb")
    order = 75
    package = module = "duckdb"

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head[_MAGIC_AT:].startswith(b"DUCK")

    def connect(self, place: Place) -> Connection:
        driver = self.driver()
        try:
            return _OpenDuckDB(driver, place.name, str(place))
        except driver.Error as error:
            found = _explained_duckdb(error, place.name)
        raise found


class _OpenDuckDB(Connection):
    def __init__(self, driver: Any, name: str, path: str) -> None:
        super().__init__(name, driver.connect(path, read_only=True, config=_CLOSED))
        self._errors = driver.Error
        for statement in ("SET TimeZone = 'UTC'", "SET lock_configuration = true", "BEGIN"):
            self.driver.execute(statement)

    def tables(self) -> Sequence[tuple[str, str]]:
        return self.rows(
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_catalog = current_database() ORDER BY table_type, 1, 2"
        )

    def table(self, schema: str, name: str) -> Selected:
        keys = self.rows(
            "SELECT constraint_column_names FROM duckdb_constraints()"
            " WHERE constraint_type = 'PRIMARY KEY' AND database_name = current_database()"
            " AND schema_name = ? AND table_name = ?",
            schema,
            name,
        )
        key = tuple(column for (columns,) in keys for column in columns)
        return Selected.table(schema, name, key)

    def describe(self, selected: Selected) -> Sequence[DatabaseColumn]:
        empty = self.driver.sql(f"SELECT * FROM {selected.source} AS q LIMIT 0")
        kinds = [str(kind).upper() for kind in empty.types]
        schema = empty.to_arrow_reader(1).schema
        return [
            replace(
                _described_by_duckdb(field),
                zoned=kind == "TIME WITH TIME ZONE",
                categories=self._categories(field, selected),
            )
            for field, kind in zip(schema, kinds, strict=True)
        ]

    def _categories(self, field: pa.Field, selected: Selected) -> tuple[str, ...]:
        """Return the values of an enumeration in their order."""
        if not pa.types.is_dictionary(field.type):
            return ()
        column = f"q.{quoted(field.name)}"
        found = self.rows(f"SELECT enum_range({column}) FROM {selected.source} AS q LIMIT 1")
        return tuple(found[0][0]) if found else ()

    def batches(self, select: str, columns: Sequence[DatabaseColumn]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([(each.name, each.type) for each in columns])
        for batch in self.driver.sql(select).to_arrow_reader(BATCH_ROWS):
            yield batch.cast(schema)

    def explained(self, error: BaseException) -> FileError | None:
        return _explained_duckdb(error, self.name) if isinstance(error, self._errors) else None


def _described_by_duckdb(field: pa.Field) -> DatabaseColumn:
    shown = f"q.{quoted(field.name)}"
    kind, expression, order, later = field.type, shown, shown, None
    if pa.types.is_decimal(kind):
        kind, expression, later = pa.string(), f"CAST({shown} AS VARCHAR)", ColumnType.NUMBER
    elif pa.types.is_string(kind) or pa.types.is_dictionary(kind):
        kind = pa.string()
        expression, order = f"CAST({shown} AS VARCHAR)", f"CAST({shown} AS VARCHAR) COLLATE C"
    return DatabaseColumn(field.name, kind, expression, order, later)


def _explained_duckdb(error: Exception, database: str) -> FileError:
    """Return what DuckDB's complaint means, by its kind; its own words may quote values."""
    kind = type(error).__name__
    if kind == "IOException" and "lock" in str(error).lower():
        return CannotConnect(
            "{database} is open in another program that may write to it.",
            "Close it there, and try again.",
            database=database,
        )
    if kind in ("IOException", "SerializationException", "InternalException", "FatalException"):
        return DamagedFile(
            "{database} can't be opened as a DuckDB database.",
            "It may be damaged or encrypted, or a later version of DuckDB made it: update the"
            " package duckdb, or copy the file again.",
            database=database,
        )
    why = {"ParserException": "syntax", "CatalogException": "table", "BinderException": "column"}
    return refused_query(database, why.get(kind, ""))


DUCKDB: Final = _DuckDB()


_CONNECTION: Final = {
    "application_name": "sfumato",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
    # Nothing is written, all statements see the table as it was at the first, no other program's
    # lock is waited for longer than a person would, and texts are the same everywhere.
    "options": (
        "-c default_transaction_read_only=on -c default_transaction_isolation=repeatable\\ read"
        " -c lock_timeout=10s -c client_encoding=UTF8 -c datestyle=ISO -c timezone=UTC"
    ),
}
_TABLES: Final = """
    SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname <> 'public', n.nspname, c.relkind IN ('v', 'm'), c.relname
"""
_KEY: Final = """
    SELECT a.attname FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
    WHERE i.indisprimary AND n.nspname = $1 AND c.relname = $2
    ORDER BY array_position(i.indkey::int2[], a.attnum)
"""
_NUMBERS: Final = frozenset({"numeric", "money"})
_WHY: Final = {"42601": "syntax", "42P01": "table", "42703": "column"}
_STATES: Final = {
    "42501": ("You may not read all that is asked for.", "Ask the database's owner for it."),
    "55P03": ("Another program keeps the table locked.", "Wait until it is done, and try again."),
    "25006": (
        "The query would write to the database. Sfumato only reads.",
        "Write it as one SELECT that changes nothing.",
    ),
}
"""What the server's codes mean, where there is more to say than that it refuses."""


class _PostgreSQL(DatabaseFormat):
    name = "postgresql"
    title = "PostgreSQL"
    extensions = ()
    order = 80
    package = "adbc-driver-postgresql"
    module = "adbc_driver_postgresql.dbapi"

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return False

    def connect(self, place: Place) -> Connection:
        if not isinstance(place, Address):
            raise BadAddress(
                "A PostgreSQL database is on a server, not in a file.",
                "Write its address as postgresql://user@host:5432/database.",
            )
        driver = self.driver()
        try:
            return _OpenPostgreSQL(driver, place)
        except driver.Error as error:
            found = _unreachable(str(error), place)
        raise found


class _OpenPostgreSQL(Connection):
    def __init__(self, driver: Any, address: Address) -> None:
        url = address.url(PASSWORDS.of(address), **_CONNECTION)
        super().__init__(address.name, driver.connect(url))
        self._errors = driver.Error
        self._cursor = self.driver.cursor()

    def rows(self, statement: str, *values: str) -> list[Any]:
        self._cursor.execute(statement, values or None)
        return list(self._cursor.fetchall())

    def tables(self) -> Sequence[tuple[str, str]]:
        return self.rows(_TABLES)

    def table(self, schema: str, name: str) -> Selected:
        key = tuple(column for (column,) in self.rows(_KEY, schema, name))
        return Selected.table(schema, name, key)

    def describe(self, selected: Selected) -> Sequence[DatabaseColumn]:
        schema = self._cursor.adbc_execute_schema(f"SELECT * FROM {selected.source} AS q")
        return [_described_by_arrow(field) for field in schema]

    def batches(self, select: str, columns: Sequence[DatabaseColumn]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([(each.name, each.type) for each in columns])
        self._cursor.execute(select)
        for batch in self._cursor.fetch_record_batch():
            yield batch.cast(schema)

    def interrupt(self) -> None:
        self._cursor.adbc_cancel()

    def close(self) -> None:
        self._cursor.close()
        self.driver.close()

    def explained(self, error: BaseException) -> FileError | None:
        # While rows come, the driver's complaints are those of Arrow's streams.
        if not isinstance(error, self._errors | OSError | pa.ArrowException):
            return None
        state = getattr(error, "sqlstate", None) or ""
        if state in _STATES:
            what, remedy = _STATES[state]
            return BadQuery(what, remedy)
        if state.startswith(("08", "57P")):
            return CannotConnect(
                "The database {database} ended the connection.",
                "Ask who runs the server, and try again.",
                database=self.name,
            )
        return refused_query(self.name, _WHY.get(state, ""))


def _described_by_arrow(field: pa.Field) -> DatabaseColumn:
    """Return how a column is read: as the text shown, where Arrow has no type for it."""
    shown = f"q.{quoted(field.name)}"
    own = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode().strip("'")
    text = f"CAST({shown} AS text)"
    if own in _NUMBERS:
        number = f"CAST(CAST({shown} AS numeric) AS text)"
        return DatabaseColumn(field.name, pa.string(), number, shown, ColumnType.NUMBER)
    if pa.types.is_string(field.type) or isinstance(field.type, pa.BaseExtensionType):
        return DatabaseColumn(field.name, pa.string(), text, f'{text} COLLATE "C"')
    return DatabaseColumn(field.name, field.type, shown, shown)


def _unreachable(said: str, address: Address) -> FileError:
    """Return why there is no connection; the driver has no code for it, only English words."""
    details: Any = {"server": address.server, "database": address.name}
    if "no password supplied" in said:
        return WrongPassword(
            "The server {server} wants a password for {database}.",
            "The window asks for it; a command takes it from the variable PGPASSWORD or from the"
            " file that PGPASSFILE names (default: ~/.pgpass).",
            **details,
        )
    if "authentication failed" in said:
        return WrongPassword(
            "The server {server} refuses this user or password for {database}.",
            "Check both, and which database the user may connect to.",
            **details,
        )
    if "does not exist" in said:
        return CannotConnect(
            "The server {server} has no such database or user for {database}.",
            "Check the address.",
            **details,
        )
    return CannotConnect(
        "The server {server} does not answer, or does not let you connect to {database}.",
        "Check the address and the network, or ask who runs the server.",
        **details,
    )


POSTGRESQL: Final = _PostgreSQL()
FORMATS: Final = (SQLITE, DUCKDB, POSTGRESQL)
