"""Keeps the encoded columns, so that panels can ask for one as often as they like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import EncodedColumn, Table, encode_column
from sfumato.jobs.runner import JobRunner
from sfumato.project.document.model import Unit
from sfumato.project.release.groups import groups_by
from sfumato.project.release.units import by_unit
from sfumato.ui.state.insights import LongSource

ROWS_AT_ONCE: Final = 100_000
"""Up to this many rows are encoded on the main thread: it takes a few milliseconds."""


@dataclass(frozen=True)
class Wanted:
    """What a column is encoded by.

    Parameters
    ----------
    spec
        Its specification.
    public
        The columns that group the records, where its mechanism asks for groups.
    """

    spec: ColumnSpec
    public: tuple[ColumnSpec, ...] | None = None
    unit: Unit | None = None
    """Which rows belong together, for a sensitive attribute."""
    together: bool = False
    """Whether it is protected together with others."""


@dataclass(frozen=True)
class _Entry:
    wanted: Wanted
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

    def get(self, table: Table | LongSource, wanted: Wanted) -> EncodedColumn | None:
        """Return the encoded column, or None when it is being encoded or can't be."""
        name = wanted.spec.name
        entry = self._entries.get(name)
        if entry is not None and entry.wanted == wanted:
            return entry.encoded
        if isinstance(table, Table) and table.rows <= ROWS_AT_ONCE:
            self._entries[name] = _encode(table, wanted, Silent())
        else:
            self._start(table, wanted)
        return self._entries[name].encoded

    def _start(self, table: Table | LongSource, wanted: Wanted) -> None:
        name = wanted.spec.name
        self._entries[name] = _Entry(wanted)

        def work(context: Context) -> _Entry:
            context.report(0.0, "Counting values")
            return _encode(table, wanted, context)

        self._runner.run(f"Reading {name}", work, self._keep, key=("encode", name))

    def _keep(self, entry: _Entry) -> None:
        name = entry.wanted.spec.name
        current = self._entries.get(name)
        if current is not None and current.wanted == entry.wanted:
            self._entries[name] = entry
            self._announce(name)


def _encode(table: Table | LongSource, wanted: Wanted, context: Context) -> _Entry:
    try:
        if isinstance(table, LongSource):
            return _Entry(wanted, _encoded_long(table, wanted, context))
        encoded = encode_column(table, wanted.spec)
        if wanted.unit is not None:
            encoded = by_unit(wanted.unit, units_of(table, wanted.unit.columns), encoded)
        if wanted.public is not None:
            encoded = encoded.grouped(groups_by(table, wanted.public, context))
        return _Entry(wanted, encoded)
    except SfumatoError as error:
        return _Entry(wanted, error=error)


def _encoded_long(table: LongSource, wanted: Wanted, context: Context) -> EncodedColumn:
    spec, unit, part = wanted.spec, wanted.unit, Part(context, 0.0, 0.3)
    if wanted.public is not None:
        encoded = table.survey.encoded(spec, part)
        return table.survey.grouped(encoded, spec, wanted.public, Part(context, 0.3, 1.0))
    if unit is None or spec.name not in unit.constant:
        return table.survey.encoded(spec, context, wanted.together)
    encoded = table.survey.encoded(spec, part)
    counted = table.survey.by_unit(encoded.attribute, spec, unit, Part(context, 0.3, 1.0))
    return replace(encoded, attribute=counted)
