"""Reading a CSV file with 8 columns, beside pandas with nothing said about the columns.

A workbook of as many columns is opened beside pandas with openpyxl.

A wide file of 50 rows is opened as the window does, beside Arrow's reader alone.

The memory is that of a process of its own, from just before reading to its peak: Arrow's
memory is not Python's. ``python -m tests.benchmarks.reading FILE`` prints it for one file.
"""

from __future__ import annotations

import datetime as dt
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.reading import detect_options, preview, read_table, write_table
from tests.benchmarks.harness import Case
from tests.proposed import proposed_columns

BASELINE = "pandas.read_csv(path), or to_csv"
SIZES = (1_000_000, 10_000_000)
PIECE = 1_000_000
WIDE = (5_000, 20_000)
WORKBOOK = 200_000


def cases(quick: bool) -> Iterator[Case]:
    """Yield wide files; files of each size; the first rows of the largest; and one written."""
    with tempfile.TemporaryDirectory(prefix="sfumato-benchmark-") as folder:
        for columns in (500, 1_000) if quick else WIDE:
            path = Path(folder) / f"wide{columns}.csv"
            make_wide_file(path, columns)
            yield Case(
                f"open {columns:,} columns of 50 rows",
                partial(_open, path),
                partial(_arrow_alone, path, columns),
                baseline_name="pyarrow.csv.read_csv(path)",
            )
        for rows in (20_000, 100_000) if quick else SIZES:
            path = Path(folder) / f"{rows}.csv"
            make_file(path, rows)
            plain = partial(pd.read_csv, path)
            yield Case(f"read n={rows:,}", partial(_read, path), plain, partial(_peak_of, path))
        book = Path(folder) / "book.xlsx"
        make_workbook(book, rows := 5_000 if quick else WORKBOOK)
        yield Case(
            f"open a workbook n={rows:,}",
            partial(_open_workbook, book),
            partial(pd.read_excel, book, engine="openpyxl"),
            baseline_name='pandas.read_excel(path, engine="openpyxl")',
        )
        first = partial(preview, path, detect_options(path))
        yield Case(f"first 200 rows of n={rows:,}", first, partial(pd.read_csv, path, nrows=200))
        table = _read(Path(folder) / f"{20_000 if quick else SIZES[0]}.csv")
        target = Path(folder) / "written.csv"
        yield Case(
            f"write n={table.rows:,}",
            partial(write_table, table, target, "csv", Silent()),
            partial(table.frame.to_csv, target, index=False),
        )


def make_file(path: Path, rows: int) -> None:
    """Write a made-up clinic table: numbers, decimals, dates, codes and repeated texts."""
    rng = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, rows, PIECE):
            options = pa.csv.WriteOptions(include_header=start == 0, quoting_style="none")
            piece = _piece(rng, start, min(PIECE, rows - start))
            pa.csv.write_csv(piece, file, options)


def make_workbook(path: Path, rows: int) -> None:
    """Write a made-up table as Excel would: whole and decimal numbers, dates and repeated texts."""
    draw = random.Random(rows)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("people")
    sheet.append(["id", "sex", "region", "age", "wage", "date", "code", "city"])
    for row in range(rows):
        day = dt.datetime(2000, 1, 1) + dt.timedelta(days=row % 9_000)
        wage, city = round(draw.random() * 1e5, 2), f"city {draw.randrange(500)}"
        region = f"R{row % 16:02}"
        sheet.append([row + 1, "mf"[row % 2], region, 20 + row % 60, wage, day, row % 700, city])
    book.save(path)


def make_wide_file(path: Path, columns: int, rows: int = 50) -> None:
    """Write columns of whole numbers, decimals, dates, texts and yes/no values in turn."""
    draw = random.Random(columns)
    sorts = (
        ("1", "-20", "+3", " 7 ", "", "999999999999999"),
        ("1.5", "2", "-.5", "1e-3", "3.", "", "0.1234567890123456789"),
        ("2024-02-29", "2024-01-01 10:30", "", " 2023-12-31 "),
        ("red", "green", "", " blue "),
        ("true", "False", "TRUE", ""),
    )
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(f"column{i}" for i in range(columns)) + "\n")
        for _ in range(rows):
            file.write(",".join(draw.choice(sorts[i % 5]) for i in range(columns)) + "\n")


def _open_workbook(path: Path) -> Table:
    return read_table(path, detect_options(path), Silent())


def _open(path: Path) -> object:
    return proposed_columns(_read(path))


def _arrow_alone(path: Path, columns: int) -> object:
    # Arrow refuses what does not fit its first block's types, so the block is the file.
    return pa.csv.read_csv(path, read_options=pa.csv.ReadOptions(block_size=columns * 1_000))


def _piece(rng: np.random.Generator, start: int, rows: int) -> pa.Table:
    def drawn(texts: list[str]) -> pa.Array:
        codes = pa.array(rng.integers(0, len(texts), rows))
        return pa.array(texts).take(codes)

    days = np.datetime64("2020-01-01") + rng.integers(0, 2000, rows)
    return pa.table(
        {
            "id": np.arange(start + 1, start + rows + 1),
            "age": rng.integers(0, 100, rows),
            "sex": drawn(["Female", "Male"]),
            "diagnosis": drawn([f"Diagnosis number {i}" for i in range(50)]),
            "postcode": drawn([f"{i:05d}" for i in range(1000, 11000)]),
            "income": np.round(rng.lognormal(10, 1, rows), 2),
            "admitted": pa.array(days),
            "visits": pa.array(rng.integers(0, 20, rows), mask=rng.random(rows) < 0.05),
        }
    )


def _read(path: Path) -> Table:
    return read_table(path, detect_options(path), Silent())


def _peak_of(path: Path) -> float:
    command = [sys.executable, "-m", "tests.benchmarks.reading", str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _peak_resident_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # What getrusage says there includes the peak of the parent process.
        line = next(line for line in status.read_text().splitlines() if "VmHWM" in line)
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    before = _peak_resident_mb()
    _read(Path(sys.argv[1]))
    sys.stdout.write(f"{_peak_resident_mb() - before}\n")
