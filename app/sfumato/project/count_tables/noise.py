"""The noisy counts of a table: whose noise it has, and the counts with it.

A table that follows from a finer one by adding cells is added from that one's noisy cells, where
the same edition of it was released before; else it has noise of its own. Which is told by the
ledger, so that whoever is given the same table at another ε is on the same ladder.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats
from sfumato.engine.ladders.counts import (
    Counts,
    adjusted_counts,
    half_width_of_sum,
    law_of_counts,
    noise_of_cells,
)
from sfumato.engine.ladders.laplace import LaplaceLaw
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey, KeyRing
from sfumato.project.count_tables.counting import CountTable, count_table, exact_counts, summed_to
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


# ----- the margins of a table of counts: sums over some of its columns, with intervals


SHARE: Final = 0.95
"""How often an interval holds the true count."""


@dataclass(frozen=True)
class Margin:
    """The counts of some of a table's columns, added over the others.

    Parameters
    ----------
    columns
        The columns that are kept; none for the total.
    labels
        Of each, its values.
    counts
        The noisy counts, in the order of their combinations.
    half_width
        By how much a count is off at most 95 times in 100.
    adjusted
        The adjusted counts.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: Floats
    half_width: int
    adjusted: Floats

    def rows(self) -> Iterator[tuple[tuple[str, ...], int, int, int, float]]:
        """Yield each combination with its count, interval and adjusted count."""
        figures = zip(self.counts.tolist(), self.adjusted.tolist(), strict=True)
        for labels, (count, adjusted) in zip(itertools.product(*self.labels), figures, strict=True):
            low, high = count - self.half_width, count + self.half_width
            yield labels, count, max(low, 0), max(high, 0), round(adjusted, 6)


def margins_of(found: NoisyCounts) -> tuple[Margin, ...]:
    """Return a table's cells, then its margins, those of most columns first, and its total."""
    table = found.table
    noisy = found.counts.reshape(table.shape)
    total = found.total if found.total is not None else max(int(found.counts.sum()), 0)
    adjusted = adjusted_counts(found.counts, total).reshape(table.shape)
    labels, places = table.labels(), range(len(table.columns))
    margins = []
    for size in range(len(places), -1, -1):
        for kept in itertools.combinations(places, size):
            away = tuple(place for place in places if place not in kept)
            summed = found.summed * int(np.prod([table.shape[place] for place in away], dtype=int))
            margins.append(
                Margin(
                    tuple(table.columns[place] for place in kept),
                    tuple(labels[place] for place in kept),
                    noisy.sum(axis=away).reshape(-1),
                    half_width_of_sum(found.law, summed, SHARE),
                    adjusted.sum(axis=away).reshape(-1),
                )
            )
    return tuple(margins)
