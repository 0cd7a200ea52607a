"""A release, however long it is: its rows are made batch by batch, while they are written.

Each row is released by itself and put aside on the disk by the first bits of its place in the
release; then bucket after bucket is put in order and written. The bytes are those that the whole
table in memory would give. What is put aside holds what is released, and keyed hashes.

Groups of records that are drawn from come first: their rows are put aside group by group, and what
is dealt out is kept. On the disk a group and its rows' values are numbers that tell nothing without
keys that nobody keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_bytes
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import made_ahead
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Flags, Indices
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import GroupProtection, ReleaseRequest
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.randomness.row_order import Hashes, order_words
from sfumato.engine.table.table import GroupAssignment, GroupRows
from sfumato.formats.columns.arrays import Distinct
from sfumato.formats.table_format import PLACE, KeptTexts, RowStream, SharedColumns, rows_together
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.errors import SourceChanged
from sfumato.project.release.batched_table import (
    BatchedTable,
    naming_rows,
    refuse_repeated,
    rows_done,
)
from sfumato.project.release.batches import batch_of, table_of
from sfumato.project.release.bucket_counts import Buckets
from sfumato.project.release.groups import GroupsInParts
from sfumato.project.release.plan import Plan, Releaser, request_of
from sfumato.project.release.workers import MOST_TOGETHER

Beside = Mapping[str, Callable[[pa.RecordBatch, npt.NDArray[np.int64]], npt.NDArray[np.generic]]]
"""Returns further columns of some rows, by name, which stand in these places of the table."""
UNIT: Final = "sfumato unit"
"""The column of rows that says whose they are."""
WHERE: Final[Beside] = {PLACE: lambda _, rows: rows}
MOST_DEALT: Final = 1 << 25
"""So many pieces of groups are dealt out in parts at most, 20 bytes each."""
_ROWS: Final = 1 << 18
"""So many rows of a table that is not wide are put in order together."""
_DRAWN: Final = ("0", "1", "2", "3")
_WORDS: Final = ("sfumato order 1", "sfumato order 2", "sfumato key")


def stream_of(
    releaser: Releaser,
    table: BatchedTable,
    beside: Beside | None = None,
    chosen: RowSelection | None = None,
    kept: KeptTexts | None = None,
) -> RowStream:
    """Return the rows of a release, to be made while they are written.

    Columns that are asked for `beside` come last. Only those rows that are `chosen` leave.
    What others see as well is taken from what was `kept` of it, where that is given.
    Where a row does not fit the plan, or record keys repeat, making them raises what
    `Releaser.release_part` and `refuse_repeated` do.
    """
    rows = table.rows if chosen is None else chosen.rows
    made = partial(_made, releaser, table, beside or {}, chosen)
    shared = None if kept is None else _shared_columns(releaser, table, kept)
    return RowStream(rows, made, table.fits, shared)


def _shared_columns(
    releaser: Releaser, table: BatchedTable, kept: KeptTexts
) -> SharedColumns | None:
    """Return the columns that every recipient sees alike; None where there are none, or no others.

    Where some rows don't leave, they are not shared.
    """
    plan = releaser.plan
    own = {name for entry in plan.entries for name in entry.attributes} | plan.pseudonyms.keys()
    if plan.coarsening is not None:
        own |= plan.coarsening.hierarchies.keys()
    names = tuple(name for name in plan.released if name not in own)
    others = tuple(name for name in plan.released if name in own)
    if not names or not others or table.rows < table.batches.rows:
        return None
    alike = Plan(
        columns=plan.columns,
        record_key=None,
        entries=(),
        released=names,
        schema={name: plan.schema[name] for name in names},
        reading=plan.reading,
    )
    rest = replace(plan, released=others)
    if plan.coarsening is None and not plan.groups:  # else values are told by other columns
        unread = {*names} - {plan.record_key}
        rest = replace(rest, schema={n: k for n, k in plan.schema.items() if n not in unread})
    everybody = Releaser(alike, releaser.keys, placed=True)

    def in_table(context: Context, _: Path) -> Iterator[pa.RecordBatch]:
        for batch, rows in table.read(names, "Releasing the rows", context):
            with naming_rows(rows):
                yield everybody.release_part(batch, coded=True, places=rows)[0]

    made = partial(_made, replace(releaser, plan=rest), table, WHERE, None)
    return SharedColumns(names, in_table, made, kept)


@dataclass(frozen=True)
class RowSelection:
    """Which rows leave, where not all do.

    Parameters
    ----------
    rows
        How many.
    among
        Which of some rows do, by the columns that are released, shape (n,).
    """

    rows: int
    among: Callable[[pa.RecordBatch], Flags]

    def of(
        self, batch: pa.RecordBatch, places: npt.NDArray[np.int64]
    ) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
        """Return those of some rows that leave, and where they stand."""
        leave = self.among(batch)
        return batch.filter(pa.array(leave)), places[leave]


def drawn_groups(
    plan: Plan,
    keys: KeyRing,
    groups: Mapping[str, GroupsInParts],
    table: BatchedTable,
    context: Context,
) -> dict[str, GroupsInParts]:
    """Return the groups of a plan's entries with what is dealt to their rows.

    Each entry takes one pass, the first time that it is asked for: less trusted releases are made
    from the same draws.

    Raises
    ------
    TableError
        If a group has too many records, or too much is dealt out.
    SfumatoError
        If a row does not fit the plan.
    """
    found = {}
    for place, entry in enumerate(each for each in plan.entries if each.key in groups):
        part = Part(context, place / len(groups), (place + 1) / len(groups))
        drawn = _GroupDraw(plan, entry, keys, groups[entry.key])
        settings = (entry.attributes, entry.mechanism, entry.settings)
        asked = ("dealt", keys, repr((plan.columns, plan.record_key, settings)))
        dealt: GroupAssignment = table.keep(asked, partial(drawn.dealt, table, part))
        found[entry.key] = replace(groups[entry.key], dealt=dealt)
    return found


class _GroupDraw:
    """One pass that draws from the groups of a policy entry."""

    def __init__(self, plan: Plan, entry: EntryPlan, keys: KeyRing, groups: GroupsInParts) -> None:
        mechanism = mechanism_called(entry.mechanism)
        assert isinstance(mechanism, GroupProtection)
        only = replace(plan, entries=(entry,), groups={entry.key: plan.groups[entry.key]})
        self._releaser = Releaser(only, keys, groups={entry.key: groups})
        self._mechanism, self._entry, self._groups = mechanism, entry, groups
        key, self._pads = (AttributeKey(token_bytes(SECRET_BYTES)) for _ in range(2))
        self._marks = order_words(np.arange(len(groups.sizes), dtype=np.uint64), key)[:, 0].copy()
        self._places = np.argsort(self._marks)
        self._hidden = np.empty(len(self._places), dtype=np.uint32)
        self._hidden[self._places] = np.arange(len(self._places))

    def dealt(self, table: BatchedTable, context: Context) -> GroupAssignment:
        """Read all rows; see `drawn_groups`."""
        plan, parts, pieces = self._releaser.plan, list[GroupAssignment](), 0
        key = () if plan.record_key is None else (plan.record_key,)
        names = (*key, *plan.groups[self._entry.key], *self._entry.attributes)
        part, rest = Part(context, 0.0, 0.8), Part(context, 0.8, 1.0)
        with Buckets(table.folder, table.rows) as buckets:
            for batch, rows in table.read(list(dict.fromkeys(names)), "Drawing samples", part):
                with naming_rows(rows):
                    self._put(buckets, batch, rows)
            none = pa.RecordBatch.from_pylist([], batch.schema), rows[:0]
            attributes = self._request(*none).attributes
            for bucket in buckets:
                rest.report(0.5, "Copying what was drawn")
                found = self._brought_back(bucket)
                parts.append(self._mechanism.dealt(found, attributes, self._entry.settings))
                pieces += len(parts[-1].members)
                if pieces > MOST_DEALT:
                    raise _too_much(
                        self._entry.key, "more than {most:,} {most:sample|samples}", MOST_DEALT
                    )
        return GroupAssignment.joined(parts)

    def _request(self, batch: pa.RecordBatch, places: npt.NDArray[np.int64]) -> ReleaseRequest:
        schema = self._releaser.plan.schema
        kinds = {
            name: schema.get(name, str(batch.schema.field(name).type))
            for name in batch.schema.names
        }
        rows, _ = self._releaser.rows_alone(table_of(batch, kinds), places)
        return request_of(self._entry, rows, self._releaser.keys)

    def _put(self, buckets: Buckets, batch: pa.RecordBatch, places: npt.NDArray[np.int64]) -> None:
        """Put rows of groups that are drawn from aside."""
        found = self._mechanism.rows_to_draw(self._request(batch, places), Silent())
        if self._groups.sizes[found.members].max(initial=0) > MOST_TOGETHER:
            raise _too_much(
                self._entry.key,
                "a group of more than {most:,} {most:record|records}",
                MOST_TOGETHER,
            )
        values = found.codes.astype(np.uint64) << np.uint64(32) | found.shown.astype(np.uint64)
        values ^= order_words(found.words[0].copy(), self._pads)[:, 0]
        columns = [self._hidden[found.members], values, *found.words]
        named = pa.record_batch(columns, names=["group", "values", *_DRAWN])
        buckets.add(named, self._marks[found.members])

    def _brought_back(self, bucket: pa.RecordBatch) -> GroupRows:
        words = np.stack([bucket[name].to_numpy() for name in _DRAWN])
        values = bucket["values"].to_numpy() ^ order_words(words[0].copy(), self._pads)[:, 0]
        codes = (values >> np.uint64(32)).astype(np.int64)
        shown = (values & np.uint64(0xFFFFFFFF)).astype(np.int64)
        members = self._places[bucket["group"].to_numpy()].astype(np.int64)
        return GroupRows(members, codes, shown, words)


def _too_much(key: str, many: str, most: int) -> TableError:
    return TableError(
        "{entry} is released by groups of records, with {many}: too many to be drawn in parts.",
        "Choose more public columns or finer bins, or let more memory be taken.",
        entry=key,
        many=Sentence(many, most=most),
    )


def fitted_rows(
    plan: Plan, found: Iterable[pa.RecordBatch], table: BatchedTable, context: Context
) -> Iterator[pa.RecordBatch]:
    """Yield a plan's rows that were made elsewhere with the types that they have when made here.

    Raises
    ------
    TableError
        If the table's files changed meanwhile.
    SourceChanged
        If there are not as many rows as leave.
    """
    schema, done = plan.output_schema(), 0
    for batch in made_ahead(found):
        context.report(min(done / table.rows, 1.0), rows_done("Writing the file", done, table.rows))
        yield batch_of(plan.frame_of(pa.Table.from_batches([batch])), schema, coded=True)
        done += len(batch)
    table.batches.check()
    if done != table.rows:
        raise SourceChanged(
            "The rows made elsewhere are {found:,}, and the table has {expected:,}.",
            "Let them be made from the project's source table.",
            found=done,
            expected=table.rows,
        )


def _made(
    releaser: Releaser,
    table: BatchedTable,
    beside: Beside,
    chosen: RowSelection | None,
    context: Context,
    folder: Path,
) -> Iterator[pa.RecordBatch]:
    plan, texts = releaser.plan, _RepeatedTexts()
    order_key = releaser.keys.for_row_order(plan.release_id)
    part = Part(context, 0.0, 0.6)

    def each() -> Iterator[tuple[pa.RecordBatch, Hashes, Hashes]]:
        for read in table.read(tuple(plan.schema), "Releasing the rows", part):
            batch, rows = read if chosen is None else chosen.of(*read)
            if not len(rows):
                continue
            with naming_rows(rows):
                released, hashes = releaser.release_part(batch, coded=True, places=rows)
            for name, found in beside.items():
                released = released.append_column(name, pa.array(found(batch, rows)))
            yield released, hashes, order_words(hashes[:, 0].copy(), order_key)

    with Buckets(folder, table.rows) as buckets:
        for released, hashes, words in made_ahead(each(), table.rows):
            if plan.rows_as_in_table:
                yield released
            put = released.select([]) if plan.rows_as_in_table else texts.put_away(released)
            buckets.add(_with_words(put, words, hashes[:, 1].copy()), words[:, 0])
        done, part = 0, Part(context, 0.6, 1.0)
        rows = rows_together(_ROWS, len(plan.released))
        with (  # threads end even where record keys repeat
            closing(made_ahead(buckets, table.rows)) as read,
            closing(made_ahead(_in_order(table, plan.record_key, read, rows), table.rows)) as put,
        ):
            for ordered in put:
                part.report(done / table.rows, rows_done("Writing the file", done, table.rows))
                done += len(ordered)
                if not plan.rows_as_in_table:
                    yield texts.brought_back(ordered)


class _RepeatedTexts:
    """Texts that repeat, known by numbers while their rows are put into order."""

    def __init__(self) -> None:
        self._known: dict[str, Distinct] | None = None

    def put_away(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with numbers in the place of texts that repeat, by their first rows."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        if self._known is None:
            repeating = [n for n, values in columns.items() if _is_coded(values)]
            self._known = {name: Distinct(pa.string()) for name in repeating}
        for name, values in columns.items():
            if name in self._known:
                codes = self._known[name].codes_of(values.dictionary_encode())
                columns[name] = pa.array(codes, mask=codes < 0)
            elif _is_coded(values):
                columns[name] = values.dictionary_decode()
        return pa.record_batch(list(columns.values()), names=list(columns))

    def brought_back(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with their texts in the place of numbers, each held but once."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, known in (self._known or {}).items():
            columns[name] = pa.DictionaryArray.from_arrays(columns[name], known.values)
        return pa.record_batch(list(columns.values()), names=list(columns))


def _is_coded(values: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(values.type)) and not values.type.ordered


def _with_words(released: pa.RecordBatch, words: Hashes, keys: Hashes) -> pa.RecordBatch:
    columns = [*released.columns, words[:, 0].copy(), words[:, 1].copy(), keys]
    return pa.record_batch(columns, names=[*released.schema.names, *_WORDS])


def _in_order(
    table: BatchedTable, record_key: str | None, buckets: Iterable[pa.RecordBatch], rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of buckets as they are released, so many at a time.

    Raises
    ------
    TableError
        If record keys repeat.
    """
    for bucket in buckets:
        order, repeated = _order_of(bucket)
        refuse_repeated(table, record_key, repeated)
        released = bucket.drop_columns(list(_WORDS))
        for start in range(0, len(order), rows):
            yield released.take(pa.array(order[start : start + rows]))


def _order_of(bucket: pa.RecordBatch) -> tuple[Indices, int]:
    """Return the order in which a bucket's rows are released, and how many record keys repeat."""
    first, second, keys = (bucket.column(name).to_numpy() for name in _WORDS)
    order = np.argsort(first)
    ordered = first[order]
    if len(order) and (ordered[1:] == ordered[:-1]).any():
        order = np.lexsort((second, first))
        alike = np.diff(first[order]) == 0
        found = np.stack([first, second, keys])[:, order]
        near = found[:, np.union1d(np.flatnonzero(alike), np.flatnonzero(alike) + 1)]
        repeated = int((np.unique(near, axis=1, return_counts=True)[1] > 1).sum())
    else:
        repeated = 0
    return order, repeated
