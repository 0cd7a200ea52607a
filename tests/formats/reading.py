"""Short words for reading and writing in the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.reading import ReadOptions, ReadResult, detect_options, read_file, write_table


class Watch:
    """A context that remembers what was reported and stops the work at the report wanted."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.fractions: list[float] = []
        self._stop_at = stop_at

    def report(self, fraction: float, text: str) -> None:
        self.fractions.append(fraction)
        if self._stop_at is not None and len(self.fractions) >= self._stop_at:
            raise Cancelled


def options_for(path: Path, **changes: Any) -> ReadOptions:
    return replace(detect_options(path), **changes)


def read(path: Path, **changes: Any) -> ReadResult:
    """Read a file as it is proposed, but for some options."""
    return read_file(path, options_for(path, **changes), Silent())


def read_text(folder: Path, content: str | bytes, **changes: Any) -> ReadResult:
    """Write a text and read it with default options, but for some."""
    path = folder / "table.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_file(path, ReadOptions(**changes), Silent())


def frame_of(folder: Path, content: str | bytes, **changes: Any) -> pd.DataFrame:
    return read_text(folder, content, **changes).table.frame


def write(table: Table | pd.DataFrame, path: Path) -> Path:
    """Write a table in the format that the path's ending names."""
    table = table if isinstance(table, Table) else Table(table)
    write_table(table, path, path.suffix[1:], Silent())
    return path


def plain(series: pd.Series) -> list[object]:
    """Return a column as Python values, None where missing."""
    values = series.astype(object)
    return [
        None if missing else value for value, missing in zip(values, series.isna(), strict=True)
    ]


def reports_of(work: Callable[[Watch], object]) -> list[float]:
    """Return the fractions that some work reports."""
    watch = Watch()
    work(watch)
    return watch.fractions
