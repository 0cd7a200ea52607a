"""What the next edition of a project's table changes, counted before it takes the table's place.

Records are matched by what identifies them: the record key or, before the first release, an
identifying column that names one record in either table, which becomes the key. Where releases tell
records apart by their position, an edition is refused before any of its rows is read. Counted is by
column alone; no value is told.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Value, factorize, plain
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.randomness.record_ids import refuse_missing, repeated_key
from sfumato.formats.files import is_file, is_folder
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import Place, digest_of_source
from sfumato.project.document.model import Document, TableSource
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bucket_counts import series_of
from sfumato.project.source import Tell, accept_edition, existing, options_now
from sfumato.project.source_changes import (
    Hashes,
    cell_hashes,
    read_again,
    rows_compared,
    types_of,
)

Positions = npt.NDArray[np.intp]

_AT_ONCE: Final = 1 << 26
"""Hashes of cells that are held at once: half a gigabyte."""
_RENAMED: Final = 0.5
"""A new column with more of a missing one's values than this seems to be the same."""
_COMPARING: Final = "Comparing rows"


@dataclass(frozen=True)
class ColumnChanges:
    """What changed in one column.

    Parameters
    ----------
    name
        The column.
    changed
        How many of the records that stay have another value; None where it can't be told.
    new_values, records
        How many values are new, and how many records have one of them.
    undecided
        Whether nothing is decided about the new values: they are in no domain or hierarchy.
    """

    name: str
    changed: int | None
    new_values: int = 0
    records: int = 0
    undecided: bool = False


@dataclass(frozen=True)
class RecordChanges:
    """Which records stay, are new and are gone.

    Parameters
    ----------
    stayed, came, gone
        How many records are in both tables, in the next alone, and in the one before alone.
    touched
        How many of those that stay have another value in some column.
    reordered
        Whether those that stay stand in another order.
    """

    stayed: int
    came: int
    gone: int
    touched: int
    reordered: bool


@dataclass(frozen=True)
class EditionChanges:
    """What an edition changes.

    Parameters
    ----------
    digest
        Of the edition that was looked at.
    document
        What is decided, as it would be with the edition but for its source.
    known_by
        The column that records are matched by; None where nothing identifies them.
    becomes_key
        Whether that column becomes the record key.
    rows
        The edition's number of records.
    records
        Which records stay; None where the table of before is not at hand, or nothing matches them.
    columns
        What changed, for each column where anything did.
    new_columns
        Columns that nothing is decided about yet: they are left out of releases until then.
    told
        What the rows tell where `records` is None.
    same
        Whether it is the table that the project has, read as before.
    """

    digest: str
    document: Document
    known_by: str | None
    becomes_key: bool
    rows: int
    records: RecordChanges | None = None
    columns: tuple[ColumnChanges, ...] = ()
    new_columns: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    same: bool = False


def look_at_edition(
    project: ProjectFile,
    place: Place,
    context: Context,
    stated: Mapping[str, Any] = MappingProxyType({}),
    before: Place | None = None,
) -> EditionChanges:
    """Compare a table with the project's, and refuse what can't be its next edition.

    Parameters
    ----------
    project
        Nothing in it is changed.
    place
        Where the edition is; it may have taken the place of the table before.
    context
        Progress and cancelling.
    stated
        Options by which it is read otherwise than the table before.
    before
        Where the table of before is now; it is looked for at its place and beside the project.

    Raises
    ------
    SourceMissing
        If there is no such table.
    SourceChanged
        If releases tell records apart by their position; if `before` is not the project's table;
        if columns are missing, or hold another type than they did.
    TableError
        If the record key is missing in a row, or stands in two.
    """
    document = project.document
    if document.source is None:
        raise SourceMissing("The project has no source table yet.", "Open a table under Data.")
    place, source = existing(place), document.source
    options = options_now(source, stated)
    digest = digest_of_source(place, options, Part(context, 0.0, 0.1))
    if (digest, options) == (source.digest, ReadOptions.from_dict(dict(source.options))):
        key = document.record_key
        return EditionChanges(digest, document, key, False, source.rows, same=True)
    _refuse_positions(document, project.releases)
    now = read_again(place, options, Part(context, 0.1, 0.3))
    then = _table_of_then(project, source, before, Part(context, 0.3, 0.5))
    return _Comparison(project, now, then).changes(digest, Part(context, 0.5, 1.0))


def take_edition(
    project: ProjectFile,
    place: Place,
    changes: EditionChanges,
    context: Context,
    tell: Tell = lambda _: None,
    memory: float = math.inf,
    stated: Mapping[str, Any] = MappingProxyType({}),
) -> BatchedTable:
    """Let an edition that was looked at take the table's place; all that was decided goes on.

    Parameters are those of `sfumato.project.source.accept_edition`, and what was found.

    Raises
    ------
    SourceChanged
        If it is no longer the table that was looked at, and as `accept_edition`.
    """
    looked_at = (changes.document, changes.digest)
    return accept_edition(project, place, context, tell, memory, stated, looked_at)


def _refuse_positions(document: Document, releases: Iterable[ReleaseRecord]) -> None:
    """Refuse an edition where releases tell records apart by their position."""
    first = next((one for one in releases if one.counts and one.record_key is None), None)
    if document.record_key is None and first is not None:
        raise SourceChanged(
            "This project tells records apart by their position in the table, and releases of it"
            " were made (the first on {date}): in another edition people can stand at other"
            " positions, and each would get somebody else's random values.",
            "Release from the earlier table, or begin a new project with a record-key column, which"
            " lets later editions of the table follow.",
            date=first.day,
        )


def _table_of_then(
    project: ProjectFile, source: TableSource, before: Place | None, context: Context
) -> BatchedTable | None:
    """Return the table that the project knows, where it is still at hand."""
    options = ReadOptions.from_dict(dict(source.options))
    if before is not None:
        before = existing(before)
        if digest_of_source(before, options, context) != source.digest:
            raise SourceChanged(
                "{path} is not the table that the project knows, which had {rows:,}"
                " {rows:row|rows}.",
                "Show where that table is now, or leave it away: then less can be told.",
                path=before,
                rows=source.rows,
            )
        return read_again(before, options, context)
    place = source.place
    places = [place, project.path.parent / place.name] if isinstance(place, Path) else []
    for one in places:
        there = is_file(one) or is_folder(one)
        if there and digest_of_source(one, options, Part(context, 0.0, 0.3)) == source.digest:
            return read_again(one, options, Part(context, 0.3, 1.0))
    return None


class _Comparison:
    """Compares an edition with the table of before, where that is at hand."""

    def __init__(self, project: ProjectFile, now: BatchedTable, then: BatchedTable | None) -> None:
        self._remembered, self._document = project.remembered, project.document
        self._now, self._then = now, then
        self._types = types_of(now.batches)
        self._known = {spec.name: spec for spec in self._document.columns}
        self._matched: tuple[Positions, Positions] | None = None
        """The rows of the table of before and of the edition that are one record."""

    def changes(self, digest: str, context: Context) -> EditionChanges:
        document = self._document
        key = self._key(Part(context, 0.0, 0.2))
        becomes = document.record_key is None and key is not None
        gone = [name for name in self._known if name not in self._types]
        new = tuple(name for name in self._types if name not in self._known)
        if gone:
            self._refuse_gone(gone, new, Part(context, 0.2, 1.0))
        self._refuse_types(key)
        strange = self._strange(Part(context, 0.2, 0.4))
        dropped = tuple(ColumnSpec(name, Role.IDENTIFYING) for name in new)
        columns = {spec.name: spec for spec in (*document.columns, *dropped)}
        ordered = tuple(columns[name] for name in self._types)
        found = EditionChanges(
            digest,
            replace(document, columns=ordered, record_key=key),
            key,
            becomes,
            self._now.rows,
            new_columns=new,
        )
        part = Part(context, 0.4, 1.0)
        if self._matched is None:
            told = tuple(rows_compared(document, self._now, self._remembered, part))
            listed_new = tuple(ColumnChanges(n, None, *c, True) for n, c in strange.items())
            return replace(found, columns=listed_new, told=told)
        records, changed = self._counted(key, strange, part)
        return replace(found, records=records, columns=changed)

    # ----- what identifies records

    def _key(self, context: Context) -> str | None:
        """Return the column that records are matched by, having matched them by it."""
        document = self._document
        if document.record_key is not None:
            if document.record_key in self._types:
                self._match(document.record_key, context)
            return document.record_key
        names = [
            spec.name
            for spec in document.columns
            if spec.role is Role.IDENTIFYING and spec.name in self._types
        ]
        best, most = None, -1 if self._then is None else 0
        for name in names:
            try:
                shared = self._match(name, context)
            except TableError:
                continue  # it doesn't name one record
            if shared > most:
                best, most = name, shared
        if best is not None:
            self._match(best, context)
        return best

    def _match(self, name: str, context: Context) -> int:
        """Match records by a column, and return how many are in both tables."""
        now = _keys(self._now, name, context)
        then = self._then
        if then is None or name not in then.columns:
            return 0
        before = _keys(then, name, context)
        shared, old, new = np.intersect1d(before, now, assume_unique=True, return_indices=True)
        by_place = np.argsort(new)
        self._matched = old[by_place], new[by_place]
        return len(shared)

    # ----- what is refused

    def _refuse_gone(self, gone: Sequence[str], new: Sequence[str], context: Context) -> None:
        told = {"columns": listed(gone), "count": len(gone)}
        for name in gone:
            seems = self._renamed(name, new, context)
            if seems is not None:
                other, shared, rows = seems
                raise SourceChanged(
                    "The edition lacks {column}. {other}, which is new, has the same values in"
                    " {shared:,} of {rows:,} {rows:record that stays|records that stay}: it seems"
                    " to be {column} under another name.",
                    "Give {other} its name of before in the file, so that what was decided about"
                    " {column} goes on.",
                    column=name,
                    other=other,
                    shared=shared,
                    rows=rows,
                )
        raise SourceChanged(
            "The edition lacks {count:a column that the project has|columns that the project has}:"
            " {columns}.",
            "Add {count:it|them} to the file, or give a renamed column its name of before.",
            **told,
        )

    def _renamed(
        self, gone: str, new: Sequence[str], context: Context
    ) -> tuple[str, int, int] | None:
        """Return the new column that has most of a missing one's values, and in how many records.

        A column that has one value throughout tells nothing.
        """
        if self._matched is None or self._then is None or gone not in self._then.columns:
            return None
        old, place = self._matched
        before = _hashes(self._then, [gone], context)[old, 0]
        if len(before) < 2 or (before == before[0]).all():
            return None
        best, most = None, 0
        for name in new:
            same = int((before == _hashes(self._now, [name], context)[place, 0]).sum())
            if same > most:
                best, most = name, same
        if best is None or most <= _RENAMED * len(before):
            return None
        return best, most, len(before)

    def _refuse_types(self, key: str | None) -> None:
        """Refuse a column that matters and holds another type than it did."""
        if self._then is None:
            return
        types = types_of(self._then.batches)
        unit = self._document.unit
        needed = {key, None if unit is None else unit.name}
        for name, spec in self._known.items():
            was, now = types.get(name), self._types[name]
            if was not in (None, now) and (name in needed or not spec.is_dropped):
                raise SourceChanged(
                    "{column} holds {now} in place of {before}.",
                    "Correct the file, or state how {column} is read.",
                    column=name,
                    now=Sentence(now),
                    before=Sentence(was or ""),
                )

    # ----- what is counted

    def _strange(self, context: Context) -> dict[str, tuple[int, int]]:
        """Count the values in no domain or hierarchy, and the records that have one."""
        domains = {
            name: {*spec.domain.values, None}
            for name, spec in self._known.items()
            if spec.domain is not None and spec.binning is None and spec.role is Role.SENSITIVE
        }
        recipes = {
            name: recipe
            for name, recipe in self._document.hierarchies.items()
            if name in self._known and self._known[name].binning is None and name not in domains
        }
        counts: dict[str, Counter[Value]] = {name: Counter() for name in (*domains, *recipes)}
        names = tuple(counts)
        for batch, _ in self._now.read(names, _COMPARING, context) if names else ():
            for name in names:
                counts[name].update(_counted_values(series_of(batch[name], name)))
        found = {}
        for name, counter in counts.items():
            if name in domains:
                outside = [value for value in counter if value not in domains[name]]
            else:
                outside = _without_place(recipes[name], name, list(counter))
            if outside:
                found[name] = len(outside), sum(counter[value] for value in outside)
        return found

    def _counted(
        self, key: str | None, strange: Mapping[str, tuple[int, int]], context: Context
    ) -> tuple[RecordChanges, tuple[ColumnChanges, ...]]:
        """Count records and, column by column, values."""
        assert self._matched is not None
        assert self._then is not None
        old, new = self._matched
        then, now = self._then, self._now
        names = [name for name in self._types if name != key and name in then.columns]
        at_once = max(1, _AT_ONCE // max(then.rows + now.rows, 1))
        touched, found = np.zeros(len(old), dtype=bool), {}
        for first in range(0, len(names), at_once):
            some = names[first : first + at_once]
            part = Part(context, first / len(names), min(first + at_once, len(names)) / len(names))
            before = _hashes(then, some, Part(part, 0.0, 0.5))
            after = _hashes(now, some, Part(part, 0.5, 1.0))
            for at, name in enumerate(some):
                other = before[old, at] != after[new, at]
                touched |= other
                values = strange.get(name) or self._new_values(name, before[:, at], after[:, at])
                found[name] = ColumnChanges(name, int(other.sum()), *values, name in strange)
        records = RecordChanges(
            stayed=len(old),
            came=now.rows - len(new),
            gone=then.rows - len(old),
            touched=int(touched.sum()),
            reordered=bool((np.diff(old) < 0).any()),
        )
        kept = (each for each in found.values() if each.changed or each.new_values)
        return records, tuple(kept)

    def _new_values(self, name: str, before: Hashes, after: Hashes) -> tuple[int, int]:
        """Count a text column's values that it did not have, and the records that have one."""
        spec = self._known[name]
        if self._types[name] != "text" or spec.role is Role.IDENTIFYING:
            return 0, 0
        fresh = ~np.isin(after, np.unique(before)) & (after != 0)
        return len(np.unique(after[fresh])), int(fresh.sum())


def _counted_values(column: Any) -> dict[Value, int]:
    codes, values = factorize(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    pairs = zip(values, counts, strict=True)
    return {plain(value): int(count) for value, count in pairs if count}


def _without_place(recipe: Any, name: str, values: Sequence[Value]) -> list[Value]:
    """Return the values that have no place in a hierarchy, found by halving."""
    try:
        recipe.build(name, values)
    except SfumatoError:
        if len(values) < 2:
            return list(values)
    else:
        return []
    half = len(values) // 2
    return [
        each
        for some in (values[:half], values[half:])
        for each in _without_place(recipe, name, some)
    ]


def _keys(table: BatchedTable, name: str, context: Context) -> Hashes:
    """Return a hash of what identifies each record, shape (n,); refuse what is missing or twice."""
    hashes = _hashes(table, [name], context)[:, 0]
    refuse_missing(name, hashes == 0)
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    if same.any():
        first, second = order[:-1][same], order[1:][same]
        raise repeated_key(
            name, [(int(a) + 1, int(b) + 1) for a, b in zip(first, second, strict=True)]
        )
    return hashes


def _hashes(table: BatchedTable, names: Sequence[str], context: Context) -> Hashes:
    """Return a hash of each cell of some columns, shape (n, len(names))."""
    hashes = np.zeros((table.rows, len(names)), dtype=np.uint64)
    for batch, rows in table.read(tuple(names), _COMPARING, context):
        for at, name in enumerate(names):
            hashes[rows, at] = cell_hashes(batch[name])
    return hashes
