"""A table of counts before it is released: noisy and true counts, and what it costs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.analysis.count_readiness import readiness_for_counts
from sfumato.analysis.record_losses import LossInAll, RecordLosses, losses_in_all
from sfumato.analysis.verdicts import Readiness
from sfumato.engine.core.progress import Context
from sfumato.engine.ladders.counts import Counts, half_width_of_sum
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.count_tables.held import CountTableRecord
from sfumato.project.count_tables.making import counted
from sfumato.project.count_tables.margins import SHARE
from sfumato.project.document.model import Document
from sfumato.project.release.batched_table import BatchedTable


@dataclass(frozen=True)
class CountPreview:
    """What would be released, beside the truth, which is the custodian's alone.

    Parameters
    ----------
    rows, across
        The columns whose values stand at the left, and above.
    names, headings
        Each row's and each column's values.
    noisy, truth
        The counts, shape (rows, columns).
    half_width
        A noisy count is off by at most so much 95 times in 100.
    added_from
        The finer released table that it is added from; empty where its noise is its own.
    losses
        Of every recipient, then of all together.
    left
        What left in releases of records.
    readiness
        What speaks against the table.
    """

    rows: tuple[str, ...]
    across: tuple[str, ...]
    names: tuple[str, ...]
    headings: tuple[str, ...]
    noisy: Counts
    truth: Counts
    half_width: int
    added_from: tuple[str, ...]
    losses: tuple[LossInAll, ...]
    left: RecordLosses
    readiness: Readiness

    def interval(self, row: int, column: int) -> tuple[int, int]:
        """Return the interval that holds the true count 95 times in 100."""
        count = int(self.noisy[row, column])
        return max(count - self.half_width, 0), max(count + self.half_width, 0)


def preview_counts(
    document: Document,
    rows: BatchedTable | Table,
    down: Sequence[str],
    across: Sequence[str],
    recipient: str,
    epsilon: float,
    keys: KeyRing,
    records: Sequence[CountTableRecord],
    left: RecordLosses,
    context: Context,
) -> CountPreview:
    """Return what a recipient would get; nothing is released.

    Parameters
    ----------
    document, rows
        What is decided, and the source table.
    down, across
        The columns whose values stand at the left, and above; one to four together.
    recipient, epsilon
        Who would get it, at which ε.
    keys, records, left
        The project's; the tables of counts that were released, and what left in records.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        As `counted`.
    """
    long = BatchedTable.of(rows)
    found = counted(document, long, [*down, *across], epsilon, keys, records, context)
    table = found.table
    order = [table.columns.index(name) for name in (*down, *across)]
    labels = dict(zip(table.columns, table.labels(), strict=True))
    names, headings = (_combined([labels[name] for name in some]) for some in (down, across))
    shape = (len(names), len(headings))
    noisy, truth = (
        each.reshape(table.shape).transpose(order).reshape(shape)
        for each in (found.counts, found.truth)
    )
    own = found.root.columns == table.columns
    losses = losses_in_all(document, left, records, recipient, {found.noise: epsilon})
    return CountPreview(
        tuple(down),
        tuple(across),
        names,
        headings,
        noisy,
        truth,
        half_width_of_sum(found.law, found.summed, SHARE),
        () if own else found.root.columns,
        losses,
        left,
        readiness_for_counts(document, table.columns, recipient, epsilon, losses, left.editions),
    )


def _combined(labels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(" · ".join(each) for each in itertools.product(*labels))
