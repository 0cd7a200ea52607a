"""A table of counts of 10,000 cells, beside pyarrow's own group-by of the same Parquet file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.counts import noise_of_cells
from sfumato.engine.randomness.keys import KeyRing
from sfumato.formats.reading import detect_options, open_batches
from sfumato.formats.table_format import Batches
from sfumato.project.count_tables.counting import CountTable, exact_counts
from sfumato.project.release.batched_table import BatchedTable
from tests.benchmarks.harness import Case

BASELINE = "pyarrow: the two columns of the file read and grouped, rows counted"
VALUES = 100
"""Of each of the two columns."""


def cases(quick: bool, large: bool = False) -> Iterator[Case]:
    """Yield the usual size, and the largest where it is asked for."""
    for rows in (100_000,) if quick else (1_000_000, 10_000_000) if large else (1_000_000,):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            named = _write(path, rows)
            specs = tuple(
                ColumnSpec(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, domain=Domain(values))
                for name, values in named.items()
            )
            batches = open_batches(path, detect_options(path), Silent())
            assert batches is not None
            yield Case(
                f"n={rows:,} cells={VALUES * VALUES:,}",
                partial(_counted, batches, Path(folder), CountTable(specs)),
                partial(_grouped, path, tuple(named)),
            )


def _write(path: Path, rows: int) -> dict[str, tuple[str, ...]]:
    rng = np.random.default_rng(1)
    named = {name: tuple(f"{name}{place:03d}" for place in range(VALUES)) for name in "ab"}
    columns = {
        name: pa.array(values).take(pa.array(rng.integers(0, VALUES, rows)))
        for name, values in named.items()
    }
    pq.write_table(pa.table(columns), path)
    return named


def _counted(batches: Batches, folder: Path, table: CountTable) -> object:
    keys = KeyRing(bytes(range(32)))
    exact = exact_counts(table, BatchedTable(batches, folder), keys, Silent())
    key = keys.for_counts(table.digest, "edition", "counted")
    return exact + noise_of_cells(table.cells, 1.0, key)


def _grouped(path: Path, names: tuple[str, ...]) -> object:
    return pq.read_table(path).group_by(list(names)).aggregate([([], "count_all")])
