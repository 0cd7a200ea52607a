"""SQLite databases.

A column of SQLite holds values of any type, whatever is declared. So all values are looked at
before the column's type is settled, in the same transaction in which they are read.
"""

from __future__ import annotations

import sqlite3
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
from sfumato.formats.errors import CannotConnect, DamagedFile, FileError, WrongEncoding
from sfumato.formats.options import ColumnType

_BUSY_SECONDS: Final = 5.0
_ASKED: Final = (
    "max(typeof({name}) = 'integer'), max(typeof({name}) = 'real'), max(typeof({name}) = 'text'),"
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
            return _Connection(place)
        except sqlite3.Error as error:
            found = _explained(error, place.name)
        raise found


class _Connection(Connection):
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

    def describe(self, selected: Selected) -> Sequence[Described]:
        empty = self.driver.execute(f"SELECT * FROM {selected.source} AS q LIMIT 0")
        names = [name for name, *_ in empty.description]
        asked = [_ASKED.format(name=f"q.{quoted(name)}") for name in names]
        answers: list[Any] = []
        for start in range(0, len(asked), _AT_ONCE):
            listed = ", ".join(asked[start : start + _AT_ONCE])
            answers += self.rows(f"SELECT {listed} FROM {selected.source} AS q")[0]
        return [
            _described(
                name,
                selected.declared.get(name, ""),
                [bool(each) for each in answers[place * _ANSWERS : (place + 1) * _ANSWERS]],
            )
            for place, name in enumerate(names)
        ]

    def batches(self, select: str, columns: Sequence[Described]) -> Iterator[pa.RecordBatch]:
        cursor = self.driver.execute(select)
        schema = pa.schema([(each.name, each.type) for each in columns])
        while rows := cursor.fetchmany(BATCH_ROWS):
            values = zip(*rows, strict=True)
            arrays = [_array(list(each), t) for each, t in zip(values, schema.types, strict=True)]
            yield pa.record_batch(arrays, schema=schema)

    def explained(self, error: BaseException) -> FileError | None:
        return _explained(error, self.name) if isinstance(error, sqlite3.Error) else None


def _described(name: str, declared: str, answers: Sequence[bool]) -> Described:
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
    elif decimal:
        kind = pa.float64()
    else:
        bits = declared.startswith("BOOL") and not other_than_bits
        kind = pa.bool_() if bits else pa.int64()
    return Described(name, kind, expression, f"{shown} COLLATE BINARY", later)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def _explained(error: sqlite3.Error, database: str) -> FileError:
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


FORMAT: Final = _SQLite()
