"""DuckDB databases, by the package ``duckdb``, which is imported when one is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sfumato.formats.databases import (
    BATCH_ROWS,
    Connection,
    DatabaseFormat,
    Described,
    Place,
    Selected,
    quoted,
    refused_query,
)
from sfumato.formats.errors import CannotConnect, DamagedFile, FileError
from sfumato.formats.options import ColumnType

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
            return _Connection(driver, place.name, str(place))
        except driver.Error as error:
            found = _explained(error, place.name)
        raise found


class _Connection(Connection):
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

    def describe(self, selected: Selected) -> Sequence[Described]:
        empty = self.driver.sql(f"SELECT * FROM {selected.source} AS q LIMIT 0")
        return [_described(field) for field in empty.to_arrow_reader(1).schema]

    def batches(self, select: str, columns: Sequence[Described]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([(each.name, each.type) for each in columns])
        for batch in self.driver.sql(select).to_arrow_reader(BATCH_ROWS):
            yield batch.cast(schema)

    def explained(self, error: BaseException) -> FileError | None:
        return _explained(error, self.name) if isinstance(error, self._errors) else None


def _described(field: pa.Field) -> Described:
    shown = f"q.{quoted(field.name)}"
    kind, expression, order, later = field.type, shown, shown, None
    if pa.types.is_decimal(kind):
        kind, expression, later = pa.string(), f"CAST({shown} AS VARCHAR)", ColumnType.NUMBER
    elif pa.types.is_string(kind) or pa.types.is_dictionary(kind):
        kind = pa.string()
        expression, order = f"CAST({shown} AS VARCHAR)", f"CAST({shown} AS VARCHAR) COLLATE C"
    return Described(field.name, kind, expression, order, later)


def _explained(error: Exception, database: str) -> FileError:
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


FORMAT: Final = _DuckDB()
