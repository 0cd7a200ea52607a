"""A release of a table that is too long for memory: its rows are made while they are written.

Each row is released by itself and put aside on the disk by the first bits of its place in the
release; then bucket after bucket is put in order and written. The bytes are those that the whole
table in memory would give. What is put aside holds what is released, and keyed hashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from sfumato.engine.core.parallel import made_ahead
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.randomness.row_order import Hashes, order_words
from sfumato.formats.table_format import RowStream
from sfumato.project.release.buckets import Buckets
from sfumato.project.release.long_table import LongTable, naming_rows
from sfumato.project.release.plan import Releaser
from sfumato.project.release.workers import refuse_repeated

_WORDS: Final = ("sfumato order 1", "sfumato order 2", "sfumato key")


def stream_of(releaser: Releaser, table: LongTable) -> RowStream:
    """Return the rows of a release, to be made while they are written.

    Where a row does not fit the plan, or record keys repeat, making them raises what
    `Releaser.release_batch` and `refuse_repeated` do.
    """
    return RowStream(table.rows, lambda *given: _made(releaser, table, *given))


def _made(
    releaser: Releaser, table: LongTable, context: Context, folder: Path
) -> Iterator[pa.RecordBatch]:
    plan = releaser.plan
    order_key = releaser.keys.for_row_order(plan.release_id)
    with Buckets(folder, table.rows) as buckets:
        part = Part(context, 0.0, 0.6)
        for batch, rows in table.read(tuple(plan.schema), "Releasing the rows", part):
            with naming_rows(rows):
                released, hashes = releaser.release_part(batch)
            words = order_words(hashes[:, 0].copy(), order_key)
            if plan.rows_as_in_table:
                yield released
                released = released.select([])
            buckets.add(_with_words(released, words, hashes[:, 1].copy()), words[:, 0])
        done, part = 0, Part(context, 0.6, 1.0)
        for ordered, repeated in made_ahead(map(_in_order, buckets)):
            refuse_repeated(plan.record_key, repeated)
            part.report(done / table.rows, "Writing the file")
            done += len(ordered)
            if not plan.rows_as_in_table:
                yield ordered


def _with_words(released: pa.RecordBatch, words: Hashes, keys: Hashes) -> pa.RecordBatch:
    columns = [*released.columns, words[:, 0].copy(), words[:, 1].copy(), keys]
    return pa.record_batch(columns, names=[*released.schema.names, *_WORDS])


def _in_order(bucket: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    """Return a bucket's rows as they are released, and how many record keys repeat in it."""
    first, second, keys = (bucket.column(name).to_numpy() for name in _WORDS)
    order = np.lexsort((second, first))
    if len(order) and (alike := np.diff(first[order]) == 0).any():
        found = np.stack([first, second, keys])[:, order]
        near = found[:, np.union1d(np.flatnonzero(alike), np.flatnonzero(alike) + 1)]
        repeated = int((np.unique(near, axis=1, return_counts=True)[1] > 1).sum())
    else:
        repeated = 0
    return bucket.drop_columns(list(_WORDS)).take(pa.array(order)), repeated
