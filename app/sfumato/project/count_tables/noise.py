"""The noisy counts of a table: whose noise it has, and the counts with it.

A table that follows from a finer one by adding cells is added from that one's noisy cells, where
the same edition of it was released before; else it has noise of its own. Which is told by the
ledger, so that whoever is given the same table at another ε is on the same ladder.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.ladders.counts import Counts, law_of_counts, noise_of_cells
from sfumato.engine.ladders.laplace import LaplaceLaw
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey, KeyRing
from sfumato.project.count_tables.counting import (
    CountTable,
    count_table,
    exact_counts,
    summed_to,
)
from sfumato.project.count_tables.held import CountTableRecord
from sfumato.project.document.model import Document, TableSource, canonical_json, to_plain
from sfumato.project.release.batched_table import BatchedTable


@dataclass(frozen=True)
class NoisyCounts:
    """A table of counts with its noise, at one level.

    Parameters
    ----------
    table
        The table.
    root
        The table whose noise it has: itself, or a finer one.
    epsilon
        ε.
    counts
        The noisy whole counts, shape (cells,), in canonical order.
    truth
        The exact ones, for the custodian alone.
    edition, noise
        See `CountTableRecord`.
    total
        How many records there are; None where units are replaced, since that may change it.
    """

    table: CountTable
    root: CountTable
    epsilon: float
    counts: Counts
    truth: Counts
    edition: str
    noise: str
    total: int | None

    @property
    def law(self) -> LaplaceLaw:
        """The law of the noise in one cell of the root."""
        return law_of_counts(self.epsilon, self.root.most_rows)

    @property
    def summed(self) -> int:
        """How many cells of the root are in one of the table."""
        return self.root.cells // self.table.cells


def edition_of(source: TableSource) -> str:
    """Return what tells an edition of the source table from others: rows, and how they are read."""
    known = [source.digest, source.rows, to_plain(source.options)]
    return hashlib.sha256(canonical_json(known).encode()).hexdigest()


def noisy_counts(
    document: Document,
    root: CountTable,
    names: Sequence[str],
    epsilon: float,
    rows: BatchedTable,
    source: TableSource,
    keys: KeyRing,
    context: Context,
) -> NoisyCounts:
    """Return the noisy counts of some columns with the noise of a root that has them all."""
    law_of_counts(epsilon, root.most_rows)
    table, edition = count_table(document, names), edition_of(source)
    exact = exact_counts(root, rows, keys, context)
    counted = hashlib.sha256(canonical_json(exact.tolist()).encode()).hexdigest()
    key = keys.for_counts(root.digest, edition, counted)
    noisy = exact + noise_of_cells(root.cells, epsilon, key, root.most_rows)
    return NoisyCounts(
        table,
        root,
        epsilon,
        summed_to(noisy, root, table.columns),
        summed_to(exact, root, table.columns),
        edition,
        _name_of(keys.for_counts(root.digest, edition, f"{counted} name")),
        rows.whole.rows if root.unit is None else None,
    )


def _name_of(key: AttributeKey) -> str:
    """Return what two tables share exactly when their noise is the same."""
    out = np.zeros(2 * BLOCK_BYTES - 1, dtype=np.uint8)
    key.cipher().encrypt(np.zeros(BLOCK_BYTES, dtype=np.uint8), out)
    return out[:BLOCK_BYTES].tobytes().hex()


def root_for(
    document: Document,
    names: Sequence[str],
    source: TableSource,
    records: Iterable[CountTableRecord],
) -> CountTable:
    """Return the table whose noise a table of some columns gets.

    Its own, where it was released with noise of its own before; else that of the released table
    with the fewest cells that it follows from; else its own.
    """
    table, edition = count_table(document, names), edition_of(source)
    finer: list[CountTable] = []
    for record in records:
        if record.edition != edition or not set(names) <= set(record.root):
            continue
        try:
            known = count_table(document, record.root)
        except SfumatoError:
            continue  # a column of then is gone, or has other values now
        if known.digest != record.root_digest:
            continue
        if known.columns == table.columns:
            return table
        finer.append(known)
    return min(finer, key=lambda each: (math.prod(each.shape), each.columns), default=table)
