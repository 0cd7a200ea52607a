"""PostgreSQL servers, by ``adbc-driver-postgresql``, which is imported when one is read.

The driver's library looks for what the address does not say where every program of PostgreSQL
does: in ``PGHOST``, ``PGUSER``, ``PGPASSWORD``, a password file or a service file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sfumato.formats.databases import (
    PASSWORDS,
    Address,
    Connection,
    DatabaseFormat,
    Described,
    Place,
    Selected,
    quoted,
    refused_query,
)
from sfumato.formats.errors import (
    BadAddress,
    BadQuery,
    CannotConnect,
    FileError,
    WrongPassword,
)
from sfumato.formats.options import ColumnType

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
            return _Connection(driver, place)
        except driver.Error as error:
            found = _unreachable(str(error), place)
        raise found


class _Connection(Connection):
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

    def describe(self, selected: Selected) -> Sequence[Described]:
        schema = self._cursor.adbc_execute_schema(f"SELECT * FROM {selected.source} AS q")
        return [_described(field) for field in schema]

    def batches(self, select: str, columns: Sequence[Described]) -> Iterator[pa.RecordBatch]:
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


def _described(field: pa.Field) -> Described:
    """Return how a column is read: as the text shown, where Arrow has no type for it."""
    shown = f"q.{quoted(field.name)}"
    own = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode().strip("'")
    text = f"CAST({shown} AS text)"
    if own in _NUMBERS:
        number = f"CAST(CAST({shown} AS numeric) AS text)"
        return Described(field.name, pa.string(), number, shown, ColumnType.NUMBER)
    if pa.types.is_string(field.type) or isinstance(field.type, pa.BaseExtensionType):
        return Described(field.name, pa.string(), text, f'{text} COLLATE "C"')
    return Described(field.name, field.type, shown, shown)


def _unreachable(said: str, address: Address) -> FileError:
    """Return why there is no connection; the driver has no code for it, only English words."""
    details: Any = {"server": address.server, "database": address.name}
    if "no password supplied" in said:
        return WrongPassword(
            "The server {server} wants a password for {database}.",
            "The window asks for it; a command takes it from the variable PGPASSWORD or from the"
            " file that PGPASSFILE names (usual: ~/.pgpass).",
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


FORMAT: Final = _PostgreSQL()
