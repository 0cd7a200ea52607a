"""A table of counts as a workbook of Excel: how to read it, the table, its cells, its margins."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sfumato.formats.language import worded
from sfumato.project.count_tables.margins import Margin

if TYPE_CHECKING:
    from sfumato.formats.workbooks.writing import WorkbookCell

WORKBOOK_NAME: Final = "counts.xlsx"
MOST_CELLS_SHOWN: Final = 100_000
"""Of a table with more cells there is no workbook: nobody reads as many."""
_MOST_ACROSS: Final = 200
_MARK: Final = re.compile(r"[#`]")


def workbook_of(
    cells: Margin, margins: Sequence[Margin], names: Sequence[str], readme: str
) -> bytes:
    """Return the workbook's content, in the language that is spoken.

    Parameters
    ----------
    cells, margins
        The table's cells, and its sums.
    names
        What the columns beside the table's own are called, that of the margin first.
    readme
        What the README says, a paragraph a line of the sheet.
    """
    # Imported where one is written: the window's start does without.
    from sfumato.formats.workbooks.writing import WrittenSheet, workbook_bytes  # noqa: PLC0415

    columns = cells.columns
    lines = [[_MARK.sub("", part).strip()] for part in readme.strip().split("\n\n")]
    sheets = [WrittenSheet(worded("How to read it"), lines, [100], is_text=True)]
    if len(columns) >= 2 and len(cells.labels[-1]) <= _MOST_ACROSS:
        sheets.append(WrittenSheet(worded("Table"), _crossed(cells, margins), [16] * len(columns)))
    listed: Iterator[list[WorkbookCell]] = (
        [*labels, *figures] for labels, *figures in cells.rows()
    )
    head = [*columns, *names[1:]]
    sheets.append(WrittenSheet(worded("Counts"), [head, *listed], [16] * len(head)))
    summed: Iterator[list[WorkbookCell]] = (
        [" × ".join(one.columns), *_placed(columns, one.columns, labels), *figures]
        for one in margins
        for labels, *figures in one.rows()
    )
    head = [names[0], *head]
    sheets.append(WrittenSheet(worded("Margins"), [head, *summed], [16] * len(head)))
    return workbook_bytes(sheets)


def _placed(
    columns: Sequence[str], kept: Sequence[str], labels: Sequence[str]
) -> Iterator[str | None]:
    held = dict(zip(kept, labels, strict=True))
    yield from (held.get(name) for name in columns)


def _crossed(cells: Margin, margins: Sequence[Margin]) -> Iterator[list[WorkbookCell]]:
    """Yield the noisy counts, the last column's values across, with their sums."""
    *down, across = cells.columns
    by_columns = {one.columns: one.counts.tolist() for one in margins}
    beside, below = by_columns[tuple(down)], by_columns[across,]
    wide, total = len(cells.labels[-1]), worded("Total")
    counts = cells.counts.tolist()
    yield [*down, *(f"{across}: {label}" for label in cells.labels[-1]), total]
    for place, labels in enumerate(itertools.product(*cells.labels[:-1])):
        yield [*labels, *counts[place * wide : (place + 1) * wide], beside[place]]
    yield [total, *(None for _ in down[1:]), *below, by_columns[()][0]]
