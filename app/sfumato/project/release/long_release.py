"""A release of a table that is too long for memory: its rows are made while they are written.

Each row is released by itself and put aside on the disk by the first bits of its place in the
release; then bucket after bucket is put in order and written. The bytes are those that the whole
table in memory would give. What is put aside holds what is released, and keyed hashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from sfumato.engine.core.parallel import made_ahead
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.randomness.row_order import Hashes, order_words
from sfumato.formats.columns.buffers import Distinct
from sfumato.formats.table_format import RowStream
from sfumato.project.errors import SourceChanged
from sfumato.project.release.batches import batch_of
from sfumato.project.release.buckets import Buckets
from sfumato.project.release.long_table import LongTable, naming_rows, rows_done
from sfumato.project.release.plan import Plan, Releaser
from sfumato.project.release.workers import refuse_repeated

UNIT: Final = "sfumato unit"
"""The last column of rows that say whose they are."""
_WORDS: Final = ("sfumato order 1", "sfumato order 2", "sfumato key")


def stream_of(releaser: Releaser, table: LongTable, whose: bool = False) -> RowStream:
    """Return the rows of a release, to be made while they are written.

    Where it is asked `whose` they are, a last column says so by numbers (`LongUnits.of`).
    Where a row does not fit the plan, or record keys repeat, making them raises what
    `Releaser.release_batch` and `refuse_repeated` do.
    """
    return RowStream(table.rows, lambda *given: _made(releaser, table, whose, *given))


def fitted_rows(
    plan: Plan, found: Iterable[pa.RecordBatch], table: LongTable, context: Context
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
    # A file that changed is found out before its first row is read.
    next(iter(table.whole.batches.read(table.columns[:1])))
    if done != table.rows:
        raise SourceChanged(
            "The rows made elsewhere are {found:,}, and the table has {expected:,}.",
            "Let them be made from the project's source table.",
            found=done,
            expected=table.rows,
        )


def _made(
    releaser: Releaser, table: LongTable, whose: bool, context: Context, folder: Path
) -> Iterator[pa.RecordBatch]:
    plan, texts = releaser.plan, _Texts()
    order_key = releaser.keys.for_row_order(plan.release_id)
    part = Part(context, 0.0, 0.6)

    def each() -> Iterator[tuple[pa.RecordBatch, Hashes, Hashes]]:
        for batch, rows in table.read(tuple(plan.schema), "Releasing the rows", part):
            with naming_rows(rows):
                released, hashes = releaser.release_part(batch, coded=True)
            if whose and table.units is not None:
                released = released.append_column(UNIT, pa.array(table.units.of(batch, rows).units))
            yield released, hashes, order_words(hashes[:, 0].copy(), order_key)

    with Buckets(folder, table.rows) as buckets:
        for released, hashes, words in made_ahead(each()):
            if plan.rows_as_in_table:
                yield released
            put = released.select([]) if plan.rows_as_in_table else texts.put_away(released)
            buckets.add(_with_words(put, words, hashes[:, 1].copy()), words[:, 0])
        done, part = 0, Part(context, 0.6, 1.0)
        for ordered, repeated in made_ahead(map(_in_order, made_ahead(buckets))):
            refuse_repeated(plan.record_key, repeated)
            part.report(done / table.rows, rows_done("Writing the file", done, table.rows))
            done += len(ordered)
            if not plan.rows_as_in_table:
                yield texts.brought_back(ordered)


class _Texts:
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


def _in_order(bucket: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    """Return a bucket's rows as they are released, and how many record keys repeat in it."""
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
    return bucket.drop_columns(list(_WORDS)).take(pa.array(order)), repeated
