"""Files of statistical packages as tables: codes in the rows, labels beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Value
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.base import ReadResult
from sfumato.formats.columns.buffers import Buffer, series_of
from sfumato.formats.columns.names import usable_names
from sfumato.formats.columns.texts import TextBuffer
from sfumato.formats.errors import DamagedFile, EmptyFile
from sfumato.formats.limits import refuse_many_cells
from sfumato.formats.options import ReadOptions
from sfumato.formats.statistical.package import Package
from sfumato.formats.statistical.process import LibraryProcess

_FEWEST: Final = 50_000
_MOST: Final = 500_000
_PIECES: Final = 20
"""A compressed file is gone through from its start for each piece, so there are but a few."""
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
    wanted = {
        "user_missing": options.keep_user_missing,
        "encoding": options.encoding or None,
        "disable_datetime_conversion": True,
    }
    with LibraryProcess(path, package.reader, package.title) as library:
        described = _described(library, options, context, label_sets or {})
        total = described.rows
        if rows is not None:
            total = rows if total is None else min(rows, total)
        refuse_many_cells(path, total or 0, len(usable_names(described.names)), options)
        columns = [
            _StatisticalColumn(name, described.kinds[name], described.formats[name], total)
            for name in described.names
        ]
        read = 0
        for piece in _pieces(library, wanted, context, total, described.rows is None):
            if piece.schema.names != list(described.names):
                raise library.damaged()
            for column, values in zip(columns, piece.columns, strict=True):
                column.add(values)
            read += piece.num_rows
    if not read:
        raise EmptyFile(
            "{file} has no records.", "Choose a file with at least one.", file=path.name
        )
    return _result(columns, described, package, options)


def _result(
    columns: Sequence[_StatisticalColumn],
    described: _Description,
    package: Package,
    options: ReadOptions,
) -> ReadResult:
    """Return the columns as a table with its labels."""
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
    library: LibraryProcess,
    wanted: Mapping[str, Any],
    context: Context,
    total: int | None,
    may_be_fewer: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows piece by piece.

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
        batch, _ = library.call(part, row_offset=start, row_limit=limit, **wanted)
        if batch.num_rows != limit and not may_be_fewer:
            raise library.damaged()
        yield batch
        if batch.num_rows != limit:
            return
        start += limit


def holds_rows(path: Path, package: Package, rows: int) -> bool:
    """Whether a file that was just written holds so many rows, down to the last."""
    try:
        with LibraryProcess(path, package.reader, package.title) as library:
            batch, _ = library.call(
                Silent(), row_offset=rows - 1, row_limit=1, disable_datetime_conversion=True
            )
    except DamagedFile:
        return False
    return bool(batch.num_rows == 1)


def _described(
    library: LibraryProcess,
    options: ReadOptions,
    context: Context,
    label_sets: Mapping[str, Mapping[Any, str]],
) -> _Description:
    _, found = library.call(
        Part(context, 0.0, 0.0),
        metadataonly=True,
        user_missing=True,
        encoding=options.encoding or None,
    )
    # A format may state a width after its name, which itself never ends in a digit.
    chosen = {name: text.rstrip("0123456789.") for name, text in found["sets"].items()}
    elsewhere = {name: label_sets[key] for name, key in chosen.items() if key in label_sets}
    stated = {name: dict(pairs) for name, pairs in found["value_labels"].items()}
    return _Description(
        found["names"],
        found["rows"],
        found["kinds"],
        found["formats"],
        found["labels"],
        {**stated, **elsewhere},
        found["missing"] or {},
    )


class _StatisticalColumn:
    """A column that grows piece by piece."""

    def __init__(self, name: str, kind: str, shown: str | None, rows: int | None) -> None:
        self.name = name
        self._kind = kind
        self._shown = shown or ""
        self._texts = TextBuffer(rows or 0) if kind == "string" else None
        self._numbers = Buffer(np.float64, (rows or 0) if self._texts is None else 0)

    def add(self, values: pa.Array) -> None:
        """Append what the library read; missing numbers are NaN."""
        if self._texts is not None:
            self._texts.add(values)
        else:
            self._numbers.add(values.to_numpy(zero_copy_only=False))

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
