"""Keeps the encoded columns, so that panels can ask for one as often as they like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from app.engine.columns import ColumnSpec
from app.engine.errors import SfumatoError
from app.engine.progress import Context
from app.engine.table import EncodedColumn, Table, encode_column
from app.jobs.runner import JobRunner

ROWS_AT_ONCE: Final = 100_000
"""Up to this many rows are encoded on the main thread: it takes a few milliseconds."""


@dataclass(frozen=True)
class _Entry:
    spec: ColumnSpec
    encoded: EncodedColumn | None = None
    error: SfumatoError | None = None


class AttributeCache:
    """Encoded columns by name, each valid for the specification it was encoded by.

    Parameters
    ----------
    runner
        Encodes the columns of large tables.
    announce
        Called with a column's name once a job has encoded it, or found out why it can't.
    """

    def __init__(self, runner: JobRunner, announce: Callable[[str], None]) -> None:
        self._runner = runner
        self._announce = announce
        self._entries: dict[str, _Entry] = {}

    def forget(self) -> None:
        """Forget everything: there is another table."""
        for name in self._entries:
            self._runner.cancel(("encode", name))
        self._entries.clear()

    def error(self, name: str) -> SfumatoError | None:
        """Return why a column could not be encoded, as far as that is known."""
        entry = self._entries.get(name)
        return entry.error if entry is not None else None

    def get(self, table: Table, spec: ColumnSpec) -> EncodedColumn | None:
        """Return the encoded column, or None when it is being encoded or can't be."""
        entry = self._entries.get(spec.name)
        if entry is not None and entry.spec == spec:
            return entry.encoded
        if table.rows <= ROWS_AT_ONCE:
            self._entries[spec.name] = _encode(table, spec)
        else:
            self._start(table, spec)
        return self._entries[spec.name].encoded

    def _start(self, table: Table, spec: ColumnSpec) -> None:
        self._entries[spec.name] = _Entry(spec)

        def work(context: Context) -> _Entry:
            context.report(0.0, "Counting values")
            return _encode(table, spec)

        self._runner.run(
            f"Reading {spec.name}", work, partial(self._keep, spec), key=("encode", spec.name)
        )

    def _keep(self, spec: ColumnSpec, entry: _Entry) -> None:
        current = self._entries.get(spec.name)
        if current is not None and current.spec == spec:
            self._entries[spec.name] = entry
            self._announce(spec.name)


def _encode(table: Table, spec: ColumnSpec) -> _Entry:
    try:
        return _Entry(spec, encode_column(table, spec))
    except SfumatoError as error:
        return _Entry(spec, error=error)
