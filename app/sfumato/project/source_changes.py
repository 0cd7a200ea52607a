"""How a table differs from the one that a project knows, told without any of its values.

A project holds no rows. Of the table before it knows the number of rows, the columns, how they are
used and the domains. Where rows were checked on this computer, a hash of each is remembered under
the project's key (`sfumato.project.store.remembered`): then added, dropped and moved rows are
counted; else only the numbers of rows are compared, and it is said that no more can be. Either
takes one pass over the rows, which need not fit into memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Value, factorize, plain
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.formats.columns.arrays import unmasked
from sfumato.formats.errors import Way
from sfumato.formats.notes import Note
from sfumato.formats.options import READING_VERSION, ReadOptions
from sfumato.formats.reading import Place, open_batches, read_file
from sfumato.formats.table_format import Batches
from sfumato.project.document.model import Document, TableSource
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.batches import arrow_type, column_from
from sfumato.project.release.bucket_counts import series_of
from sfumato.project.store.remembered import Remembered

if TYPE_CHECKING:
    from sfumato.project.project_file import ProjectFile

Hashes = npt.NDArray[np.uint64]

_ROWS: Final = "rows of the source"
_VERSIONS: Final = "versions of reading"
_MOST: Final = 1 << 24
"""Hashes of more rows are not kept."""
_NAMED: Final = 5
_UNKNOWN: Final = Sentence(
    "Which rows changed can't be determined: this computer has not seen the earlier ones."
)
_TOO_MANY: Final = Sentence("Which rows changed can't be determined in a table this long.")


@dataclass(frozen=True)
class KnownRows:
    """What is remembered of a table.

    Parameters
    ----------
    types
        What each column holds, by its name: ``numbers``, ``text``, ``dates`` or ``yes or no``.
    hashes
        A hash of each row, whatever the order of the columns, shape (n,).
    """

    types: Mapping[str, str]
    hashes: Hashes

    @classmethod
    def of(cls, table: BatchedTable, context: Context) -> KnownRows | None:
        """Return what is remembered of a table; None where its rows are too many."""
        whole = table.whole
        if whole.rows > _MOST:
            return None
        hashes = np.zeros(whole.rows, dtype=np.uint64)
        for batch, rows in whole.read(whole.columns, _COMPARING, context):
            hashes[rows] = _hashes_of_rows(batch, whole.columns)
        return cls(types_of(whole.batches), hashes)


_COMPARING: Final = "Comparing rows"


def remember_rows(
    remembered: Remembered, source: TableSource, table: BatchedTable, context: Context
) -> None:
    """Remember the rows of a project's table on this computer, unless they are very many."""
    if remembered.find(_ROWS, source.digest) is None:
        keep_rows(remembered, source, KnownRows.of(table, context))


def keep_rows(remembered: Remembered, source: TableSource, rows: KnownRows | None) -> None:
    """Keep on this computer what is to be remembered of a table, if anything is."""
    if rows is not None:
        remembered.keep(_ROWS, source.digest, rows)


def changed_sentence(
    document: Document, path: Place, remembered: Remembered | None, context: Context
) -> Sentence:
    """Say how the table at a place differs from the project's: what endangers releases first.

    It is read as the project's table was, in parts where it can be.
    """
    source = document.source
    assert source is not None
    options = ReadOptions.from_dict(dict(source.options))
    known = _known_rows(remembered, source)
    try:
        table = read_again(path, options, Part(context, 0.0, 0.3))
        types = types_of(table.batches)
        found, strange = _rows_and_values(document, table, known, Part(context, 0.3, 1.0))
    except SfumatoError as error:
        reason = Sentence(error.what_template, **error.details)
        return Sentence("It can't be read as before: {reason}", reason=reason)
    read_as = {name: _name_of(arrow_type(kind)) for name, kind in (source.read_as or {}).items()}
    before = known.types if known is not None else read_as
    return joined(*found, *_columns(document, types, before), *_domains(strange))


def rows_compared(
    document: Document, table: BatchedTable, remembered: Remembered, context: Context
) -> tuple[str, ...]:
    """Say which rows an edition adds, drops or moves, as far as this computer can tell."""
    source = document.source
    assert source is not None
    return _rows_and_values(document, table, _known_rows(remembered, source), context)[0]


def _known_rows(remembered: Remembered | None, source: TableSource) -> KnownRows | None:
    return None if remembered is None else remembered.find(_ROWS, source.digest)


def _rows_and_values(
    document: Document, table: BatchedTable, known: KnownRows | None, context: Context
) -> tuple[tuple[str, ...], dict[str, Hashes]]:
    """Say what the rows tell, and return a hash of each value that is in no domain."""
    source = document.source
    assert source is not None
    comparable = known is not None and known.types.keys() <= types_of(table.batches).keys()
    chosen = tuple(known.types) if known is not None and comparable else ()
    now, strange = _looked_through(table, document, chosen, context)
    if known is not None and comparable:
        return tuple(_moved(known.hashes, now, document.record_key is None)), strange
    unknown = _TOO_MANY if source.rows > _MOST else _UNKNOWN
    return (*_counted(document, table.rows), *(() if known else (unknown,))), strange


def read_again(path: Place, options: ReadOptions, context: Context) -> BatchedTable:
    """Return the rows of a file, in parts where it can be read so."""
    batches = open_batches(path, options, context)
    if batches is None:
        return BatchedTable.of(read_file(path, options, context).table)
    return BatchedTable(batches, Path())


def _looked_through(
    table: BatchedTable, document: Document, names: tuple[str, ...], context: Context
) -> tuple[Hashes, dict[str, Hashes]]:
    """Read a table once: hashes of its rows by some columns, and values that are in no domain.

    Returns
    -------
    Hashes, dict
        Shape (n,); and by the column's name, a hash of each such value.
    """
    hashes = np.zeros(table.rows, dtype=np.uint64)
    domains = {
        spec.name: {*spec.domain.values, None}
        for spec in document.columns
        if spec.domain is not None and spec.binning is None and spec.name in table.columns
    }
    strange = {name: np.zeros(0, dtype=np.uint64) for name in domains}
    wanted = tuple(name for name in table.columns if name in names or name in domains)
    for batch, rows in table.read(wanted, _COMPARING, context) if wanted else ():
        hashes[rows] = _hashes_of_rows(batch, names)
        for name, domain in domains.items():
            found = _outside(series_of(batch[name], name), domain)
            strange[name] = np.union1d(strange[name], found)
    return hashes, strange


def _outside(column: pd.Series, domain: set[Value | None]) -> Hashes:
    """Return a hash of each value of some rows that is not in a domain, which has None."""
    codes, values = factorize(column)
    present = values[np.unique(codes[codes >= 0])]
    found = [str(one) for one in (plain(value) for value in present) if one not in domain]
    return pd.util.hash_array(np.array(found, dtype=object)).astype(np.uint64)


def read_now(
    source: TableSource, table: BatchedTable, path: Place, context: Context
) -> tuple[Note, ...]:
    """Return what a table of an earlier version of reading would be by the present one, if another.

    Parameters
    ----------
    source, table
        The project's source, and its table as it is read for it.
    path
        Where the table is.
    context
        Progress and cancelling.
    """
    options = replace(ReadOptions.from_dict(dict(source.options)), version=READING_VERSION)
    before = table.whole
    try:
        now = read_again(path, options, Part(context, 0.0, 0.4))
        found = tuple(_otherwise(before.batches, now.batches, Part(context, 0.4, 1.0)))
    except SfumatoError as error:
        found = (Sentence(error.what_template, **error.details),)
    if not found:
        return ()
    words = (
        "This project reads its table as an earlier version of Sfumato did, and goes on so. By the"
        " present version: {changes}"
    )
    way = Way(Sentence("Read it by the present version"), options)
    return (Note(words, {"changes": joined(*found)}, ways=(way,)),)


def _otherwise(before: Batches, now: Batches, context: Context) -> Iterator[Sentence]:
    """Say which rows, columns, types and values of one reading are others in the next."""
    if before.rows != now.rows:
        yield Sentence(
            "{now:,} {now:row|rows} in place of {before:,}.", now=now.rows, before=before.rows
        )
    if gone := [name for name in before.types if name not in now.types]:
        yield Sentence("Columns that are gone: {columns}.", columns=_named(gone))
    if new := [name for name in now.types if name not in before.types]:
        yield Sentence("New columns: {columns}.", columns=_named(new))
    old, types = types_of(before), types_of(now)
    shared = [name for name in old if name in types]
    alike = [name for name in shared if old[name] == types[name]]
    counts = _differing(before, now, alike, context) if before.rows == now.rows else {}
    for name in shared:
        if old[name] != types[name]:
            yield Sentence(
                "{column} holds {now} in place of {before}.",
                column=name,
                now=Sentence(types[name]),
                before=Sentence(old[name]),
            )
        elif count := counts.get(name, 0):
            yield Sentence(
                "{count:,} {count:value|values} of {column} {count:is another|are others}.",
                count=count,
                column=name,
            )


def read_alike(before: Batches, now: Batches, name: str) -> bool:
    """Whether a column is the same in two readings of a table."""
    if name not in before.types or before.rows != now.rows:
        return False
    same = types_of(before)[name] == types_of(now)[name]
    return same and not _differing(before, now, [name], Silent())[name]


def _differing(
    before: Batches, now: Batches, names: Sequence[str], context: Context
) -> dict[str, int]:
    """Count the values of some columns that differ between two readings of as many rows."""
    counts, done = dict.fromkeys(names, 0), 0
    for old, new in _side_by_side(before.read(names), now.read(names)) if names else ():
        for name in names:
            counts[name] += int((cell_hashes(old[name]) != cell_hashes(new[name])).sum())
        done += len(old)
        context.report(min(done / max(before.rows, 1), 1.0), _COMPARING)
    return counts


def _side_by_side(
    first: Iterator[pa.RecordBatch], second: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield the same rows of two readings, which cut them into batches of their own."""
    there = next(second, None)
    for here in first:
        while len(here):
            if there is None:
                return
            shared = min(len(here), len(there))
            if shared:
                yield here.slice(0, shared), there.slice(0, shared)
            here, there = here.slice(shared), there.slice(shared)  # noqa: PLW2901
            there = there if len(there) else next(second, None)


def awaits_comparison(document: Document) -> bool:
    """Whether nobody has compared yet how an earlier version's table would be read now."""
    source = document.source
    if source is None or source.notes is not None:
        return False
    return ReadOptions.from_dict(dict(source.options)).version < READING_VERSION


def compared(
    remembered: Remembered,
    source: TableSource,
    table: BatchedTable,
    path: Place,
    context: Context,
) -> tuple[tuple[Note, ...], bool]:
    """Return what `read_now` does, and whether this computer has not told it yet."""
    known = remembered.find(_VERSIONS, source.digest)
    if known is not None:
        return known, False
    notes = read_now(source, table, path, context)
    remembered.keep(_VERSIONS, source.digest, notes)
    return notes, True


def told_once(
    project: ProjectFile, table: BatchedTable, path: Place, context: Context
) -> tuple[Note, ...]:
    """Return what would be read otherwise by the present version, the first time it is asked.

    A project that is open for writing keeps it with its source. Other parameters are those of
    `read_now`.
    """
    source = project.document.source
    if source is None or not awaits_comparison(project.document):
        return ()
    notes, first = compared(project.remembered, source, table, path, context)
    if not project.read_only:
        kept = replace(project.document, source=replace(source, notes=notes))
        project.save_document(kept)
    return notes if first else ()


def _counted(document: Document, rows: int) -> Iterator[str]:
    """Say what the numbers of rows tell."""
    source = document.source
    assert source is not None
    numbers = {"before": source.rows, "now": rows}
    if document.record_key is None and source.rows == rows:
        yield Sentence(
            "Records are identified by their position, and rows may have changed places."
        )
    elif document.record_key is None:
        yield Sentence(
            "Records are identified by their position, and positions may have shifted: the table"
            " has {now:,} {now:row|rows} in place of {before:,}.",
            **numbers,
        )
    elif source.rows != rows:
        yield Sentence("It has {now:,} {now:row|rows} in place of {before:,}.", **numbers)


def _moved(before: Hashes, now: Hashes, by_position: bool) -> Iterator[str]:
    """Say which rows were added, dropped or moved, by their hashes, shapes (n,) and (m,)."""
    shared = min(len(before), len(now))
    other = np.flatnonzero(before[:shared] != now[:shared])
    if by_position and len(other):
        yield Sentence(
            "Records are identified by their position, and positions have shifted or values"
            " changed: {count:,} of {rows:,} positions {count:holds|hold} another row than before,"
            " from row {row:,} on.",
            count=len(other),
            rows=shared,
            row=int(other[0]) + 1,
        )
    hashes, places = np.unique(np.concatenate((before, now)), return_inverse=True)
    old = np.bincount(places[: len(before)], minlength=len(hashes))
    new = np.bincount(places[len(before) :], minlength=len(hashes))
    added = int(np.maximum(new - old, 0).sum())
    dropped = int(np.maximum(old - new, 0).sum())
    if added:
        yield Sentence("{count:,} {count:row is|rows are} new or changed.", count=added)
    if dropped:
        yield Sentence("{count:,} {count:row|rows} of before {count:is|are} gone.", count=dropped)
    if not added and not dropped:
        yield (
            Sentence("The rows are the same, in another order.")
            if len(other)
            else Sentence("The rows are the same, in the same order.")
        )


def _columns(document: Document, now: Mapping[str, str], then: Mapping[str, str]) -> Iterator[str]:
    """Say which columns came, went, moved or hold something else; types by name, now and then."""
    before = [spec.name for spec in document.columns]
    gone = [name for name in before if name not in now]
    new = [name for name in now if name not in before]
    if gone:
        yield Sentence("Columns that are gone: {columns}.", columns=_named(gone))
    if new:
        yield Sentence("New columns: {columns}.", columns=_named(new))
    if gone and len(gone) == len(new):
        yield Sentence("They may have been renamed.")
    if not gone and not new and before != list(now):
        yield Sentence("The columns stand in another order.")
    for spec in document.columns:
        # Without more to go by, only a number that is text now is known to be another type.
        text = spec.kind is Kind.NUMERIC and now.get(spec.name) == "text"
        old = then.get(spec.name, "numbers" if text else "")
        if old and now.get(spec.name, old) != old:
            yield Sentence(
                "{column} holds {now} in place of {before}.",
                column=spec.name,
                now=Sentence(now[spec.name]),
                before=Sentence(old),
            )


def _domains(strange: Mapping[str, Hashes]) -> Iterator[str]:
    """Count the values that are in no domain, which a release would refuse."""
    for name, found in strange.items():
        if len(found):
            yield Sentence(
                "{column} has {count:,} {count:value|values} that {count:is|are} not in its"
                " domain.",
                column=name,
                count=len(found),
            )


def _named(names: list[str]) -> str:
    return listed(names if len(names) <= _NAMED else [*names[:_NAMED], "…"])


def types_of(batches: Batches) -> dict[str, str]:
    """Return what each column holds, as `KnownRows` has it."""
    return {name: _name_of(kind) for name, kind in batches.types.items()}


def _name_of(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_boolean(kind):
        return "yes or no"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    return "dates" if types.is_temporal(kind) else "text"


def _hashes_of_rows(batch: pa.RecordBatch, names: Sequence[str]) -> Hashes:
    """Return a hash of each row's values in some columns, whatever their order; shape (n,)."""
    hashes = np.zeros(len(batch), dtype=np.uint64)
    for name in names:
        told = hashlib.blake2b(name.encode(), digest_size=8).digest()
        factor = np.uint64(int.from_bytes(told, "little") | 1)
        hashes += cell_hashes(batch[name]) * factor
    return hashes


def cell_hashes(values: pa.Array) -> Hashes:
    """Return a hash of each value, the same whatever type keeps it; 0 where missing, shape (n,)."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        words = np.append(cell_hashes(values.dictionary), np.uint64(0))
        places = values.indices.fill_null(len(words) - 1)
        hashes: Hashes = words[places.to_numpy(zero_copy_only=False)]
        return hashes
    if pa.types.is_temporal(kind):
        moments = pd.Series(column_from(values, "", str(kind))).astype("datetime64[us]")
        hashes = pd.util.hash_array(moments.astype(np.int64).to_numpy())
    elif pa.types.is_string(kind):
        # Texts that repeat are a dictionary: to look for such among the others takes longer.
        hashes = pd.util.hash_array(values.to_numpy(zero_copy_only=False), categorize=False)
    else:
        hashes = np.empty(len(values), dtype=np.uint64)
        for start in range(0, len(values), _TILE):
            part = slice(start, start + _TILE)
            hashes[part] = _number_hashes(values[part])
    if values.null_count:
        hashes[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return hashes


def _number_hashes(values: pa.Array) -> Hashes:
    """Return a hash of each number, yes or no, and 0 where there is none."""
    stored, _ = unmasked(values)
    numbers = stored.astype(np.float64) + 0.0
    hashes = pd.util.hash_array(numbers)
    hashes[np.isnan(numbers)] = 0
    if stored.dtype.kind in "iu" and (large := np.abs(numbers) > _EXACT).any():
        # Of these, several whole numbers are one decimal number.
        texts = [str(number) for number in stored[large].tolist()]
        hashes[large] = pd.util.hash_array(np.array(texts, dtype=object))
    return hashes


_TILE: Final = 1 << 14
"""So many numbers stay near the processor."""
_EXACT: Final = float(1 << 53)
"""Whole numbers up to this one are exact as decimal numbers."""
