"""Files of statistical packages as tables: codes in the rows, labels beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyreadstat import PyreadstatError, ReadstatError

from app.engine.columns import Value
from app.engine.progress import Context, Part, Silent
from app.engine.table import Table
from app.formats.base import ReadResult
from app.formats.columns.buffers import Buffer, series_of
from app.formats.columns.names import usable_names
from app.formats.columns.texts import TextBuffer
from app.formats.errors import DamagedFile, EmptyFile
from app.formats.limits import refuse_many_cells
from app.formats.options import ReadOptions
from app.formats.statistical.package import Package
from app.formats.statistical.progress import WatchedFile

_FEWEST: Final = 50_000
_MOST: Final = 500_000
_PIECES: Final = 20
"""A compressed file is gone through from its start for each piece, so there are but a few."""
_COMPLAINTS: Final = (ReadstatError, PyreadstatError, ValueError, OverflowError)
_EXACT: Final = 2.0**53
_BOOLEAN_LABELS: Final = {0: "false", 1: "true"}

Labels = dict[Value, str]


@dataclass(frozen=True)
class _Description:
    """What a file says about its columns; some don't say how many rows they have."""

    names: Sequence[str]
    rows: int | None
    kinds: Mapping[str, str]
    formats: Mapping[str, str | None]
    labels: Mapping[str, str | None]
    value_labels: Mapping[str, Mapping[Any, str]]
    missing: Mapping[str, Sequence[Mapping[str, Any]]]


def read_statistical(
    path: Path,
    package: Package,
    options: ReadOptions,
    context: Context,
    rows: int | None = None,
    label_sets: Mapping[str, Mapping[Any, str]] | None = None,
) -> ReadResult:
    """Read a file of a statistical package, or its first rows.

    Codes stay codes: their texts are in `Table.value_labels`. Numbers that are all whole
    become int64 where their display format shows no decimals or is the package's usual one.
    Dates become datetime64. System-missing, tagged and, unless the options keep them,
    user-missing values are missing, and so are empty texts. A column labelled 0 "false" and
    1 "true" is a yes/no column.

    Parameters
    ----------
    path, package, options, context
        The file, what it is a file of, how to read it, and progress.
    rows
        How many rows to read; None for all.
    label_sets
        Labels that stand in another file, by the name of their set.

    Raises
    ------
    DamagedFile
        If the library can't read the file.
    EmptyFile
        If it has no records.
    """
    described = _described(path, package, options, context, label_sets or {})
    total = described.rows
    if rows is not None:
        total = rows if total is None else min(rows, total)
    refuse_many_cells(path, total or 0, len(usable_names(described.names)), options)
    columns = [
        _StatisticalColumn(name, described.kinds[name], described.formats[name] or "", total or 0)
        for name in described.names
    ]
    read = 0
    for piece, count in _pieces(path, package, options, context, total, described.rows is None):
        for column in columns:
            column.add(piece.pop(column.name))
        read += count
    if not read:
        raise EmptyFile(
            "{file} has no records.", "Choose a file with at least one.", file=path.name
        )
    frame = {}
    labels: dict[str, Labels] = {}
    for column in columns:
        ranges = () if options.keep_user_missing else described.missing.get(column.name, ())
        series, known = column.finish(package, described.value_labels.get(column.name, {}), ranges)
        frame[column.name] = series
        if known:
            labels[column.name] = known
    texts = {name: text for name, text in described.labels.items() if text}
    return ReadResult(Table(pd.DataFrame(frame, copy=False), labels, texts))


def _pieces(
    path: Path,
    package: Package,
    options: ReadOptions,
    context: Context,
    total: int | None,
    may_be_fewer: bool,
) -> Iterator[tuple[dict[str, list[Any]], int]]:
    """Yield the columns' values piece by piece, with the number of rows of each piece.

    Parameters
    ----------
    total
        How many rows are wanted; None for all of a file that does not say how many it has.
    may_be_fewer
        Whether the file does not say so, and may have fewer than are wanted.
    """
    step = _FEWEST if total is None else min(max(_FEWEST, -(-total // _PIECES)), _MOST)
    start = 0
    while total is None or start < total:
        limit = step if total is None else min(step, total - start)
        ends = (0.0, 1.0) if total is None else (start / total, (start + limit) / total)
        part = Part(context, *ends)
        data, _ = _call(path, package, options, part, row_offset=start, row_limit=limit)
        count = len(next(iter(data.values()), ()))
        if count != limit and not may_be_fewer:
            raise damaged(path, package)
        yield data, count
        if count != limit:
            return
        start += limit


def holds_rows(path: Path, package: Package, rows: int) -> bool:
    """Whether a file that was just written holds so many rows, down to the last."""
    try:
        data, _ = _call(path, package, ReadOptions(), Silent(), row_offset=rows - 1, row_limit=1)
    except DamagedFile:
        return False
    return all(len(values) == 1 for values in data.values())


def _described(
    path: Path,
    package: Package,
    options: ReadOptions,
    context: Context,
    label_sets: Mapping[str, Mapping[Any, str]],
) -> _Description:
    _, found = _call(path, package, options, Part(context, 0.0, 0.0), metadataonly=True)
    # A format may state a width after its name, which itself never ends in a digit.
    chosen = {name: text.rstrip("0123456789.") for name, text in found.variable_to_label.items()}
    elsewhere = {name: label_sets[key] for name, key in chosen.items() if key in label_sets}
    return _Description(
        found.column_names,
        found.number_rows,
        found.readstat_variable_types,
        found.original_variable_types,
        found.column_names_to_labels,
        {**found.variable_value_labels, **elsewhere},
        found.missing_ranges or {},
    )


def _call(
    path: Path, package: Package, options: ReadOptions, context: Context, **wanted: Any
) -> tuple[dict[str, list[Any]], Any]:
    """Call the library; an open file lets it be watched, stopped, and interrupted by others."""
    if wanted.get("metadataonly"):
        wanted["user_missing"] = True
    else:
        wanted["user_missing"] = options.keep_user_missing
    result = None
    with path.open("rb") as file:
        watched = WatchedFile(file, path.stat().st_size, context, f"Reading {path.name}")
        # What the library says may quote values, so it is not passed on.
        with suppress(*_COMPLAINTS):
            result = package.read_data(
                watched,
                output_format="dict",
                disable_datetime_conversion=True,
                encoding=options.encoding or None,
                **wanted,
            )
    if watched.raised is not None:
        raise watched.raised
    if result is None:
        raise damaged(path, package)
    return result


def damaged(path: Path, package: Package) -> DamagedFile:
    """Return the error for a file that its package could not read either."""
    return DamagedFile(
        "{file} is not a whole {package} file, or its text is in another encoding.",
        "Copy it again from where it comes from, or state its encoding.",
        file=path.name,
        package=package.title,
    )


class _StatisticalColumn:
    """A column that grows piece by piece."""

    def __init__(self, name: str, kind: str, shown: str, rows: int) -> None:
        self.name = name
        self._kind = kind
        self._shown = shown
        self._texts = TextBuffer(rows) if kind == "string" else None
        self._numbers = Buffer(np.float64, rows if self._texts is None else 0)

    def add(self, values: list[Any]) -> None:
        """Append what the library read."""
        if self._texts is not None:
            self._texts.add(pa.array([value or None for value in values], type=pa.string()))
        else:
            self._numbers.add(_numbers(values))

    def finish(
        self,
        package: Package,
        stated: Mapping[Any, str],
        missing: Sequence[Mapping[str, Any]],
    ) -> tuple[pd.Series, Labels]:
        """Return the column, and the labels of its values."""
        stated = {code: text for code, text in stated.items() if not _within(code, missing)}
        if self._texts is not None:
            series = self._texts.finish(None)
            labels: Labels = {str(code): text for code, text in stated.items()}
            return series.rename(self.name), labels
        numbers = self._numbers.finish()
        moments = package.moments.decode(numbers, self._shown)
        if moments is not None:
            return pd.Series(moments, name=self.name, copy=False), {}
        series = self._as_whole(numbers, package)
        labels = _numeric_labels(stated, pd.api.types.is_integer_dtype(series.dtype))
        if labels == _BOOLEAN_LABELS and set(series.dropna().unique()) <= {0, 1}:
            truth = series.astype("boolean")
            return (truth if truth.hasnans else truth.astype("bool")).rename(self.name), {}
        return series.rename(self.name), labels

    def _as_whole(self, numbers: npt.NDArray[np.float64], package: Package) -> pd.Series:
        """Return numbers as int64 where all are whole and nothing says otherwise."""
        missing = np.isnan(numbers)
        known = numbers[~missing] if missing.any() else numbers
        may_be = self._kind.startswith("int") or package.whole.fullmatch(self._shown)
        if (
            not may_be
            or not len(known)
            or not bool((np.abs(known) <= _EXACT).all())
            or bool((np.floor(known) != known).any())
        ):
            return pd.Series(numbers, copy=False)
        whole = np.where(missing, 0, numbers).astype(np.int64)
        return series_of(whole, missing)


def _numbers(values: list[Any]) -> npt.NDArray[np.float64]:
    """Return what the library read as numbers; None is missing."""
    return np.array(values, dtype=np.float64)


def _within(code: Any, ranges: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a code is declared missing."""
    for bounds in ranges:
        low, high = bounds["lo"], bounds["hi"]
        if isinstance(code, str) == isinstance(low, str) and low <= code <= high:
            return True
    return False


def _numeric_labels(stated: Mapping[Any, str], whole: bool) -> Labels:
    """Return labels by the values as the column holds them; those of tagged missings are not."""
    labels: Labels = {}
    for code, text in stated.items():
        if isinstance(code, int | float):
            labels[int(code) if whole and float(code).is_integer() else float(code)] = str(text)
    return labels
