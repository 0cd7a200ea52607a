"""How many cells a file may hold unasked, where its own size does not tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from sfumato.formats.errors import TooLarge, Way
from sfumato.formats.options import ReadOptions

MOST_CELLS: Final = 250_000_000
"""About 2 GB of numbers. A packed file of a few kilobytes can state as many."""


def refuse_many_cells(path: Path, rows: int, columns: int, options: ReadOptions) -> None:
    """Refuse a file that states more cells than are read unasked.

    Raises
    ------
    TooLarge
        If it does, unless the options let any size be read.
    """
    if options.any_size or rows * columns <= MOST_CELLS:
        return
    raise TooLarge(
        "{file} states {rows:,} rows of {columns:,} columns, more than are read unasked.",
        "If you know where it comes from and there is memory for it, let any size be read.",
        ways=(Way("Read it all the same", replace(options, any_size=True)),),
        file=path.name,
        rows=rows,
        columns=columns,
    )
