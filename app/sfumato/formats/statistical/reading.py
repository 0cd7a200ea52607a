"""Files of statistical packages as tables: codes in the rows, labels beside them.

The library is written in C and ends the program that called it at some damaged files, so it reads
in a process of its own, whose crash is an error.
"""

from __future__ import annotations

import json
import os
import re
import select
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

import sfumato
from sfumato.engine.core.columns import Value
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Floats
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import Buffer, TextBuffer, column_of
from sfumato.formats.columns.settling import usable_names, with_fixed_types
from sfumato.formats.errors import DamagedFile, EmptyFile
from sfumato.formats.options import ReadOptions
from sfumato.formats.statistical import child
from sfumato.formats.table_format import ReadResult, TableFormat, refuse_many_cells

_DAY: Final = 86_400
_FARTHEST: Final = 1e13
"""More seconds than datetime64 holds in microseconds are no date."""


@dataclass(frozen=True)
class Moments:
    """How a package stores dates, and dates with a time of day.

    Parameters
    ----------
    origin
        The day its numbers count from.
    seconds_per_date
        The seconds that one unit of a date lasts.
    units_per_second
        The units of a date with a time that make a second.
    is_date, is_moment
        Whether a display format is one of a date, or of a date with a time.
    """

    origin: np.datetime64
    seconds_per_date: int
    units_per_second: int
    is_date: Callable[[str], bool]
    is_moment: Callable[[str], bool]

    def decode(self, numbers: Floats, shown: str) -> npt.NDArray[Any] | None:
        """Return a package's numbers as moments, or None where the format is not of dates.

        Fractions of a second are rounded to ten-thousandths: a number of seconds since 1582
        holds no more digits up to the year 9999.
        """
        if self.is_date(shown):
            seconds = np.floor(numbers * self.seconds_per_date / _DAY) * _DAY
            fractions = np.zeros(len(numbers))
        elif self.is_moment(shown):
            seconds = np.floor(numbers / self.units_per_second)
            fractions = numbers / self.units_per_second - seconds
            if self.units_per_second > 1:
                fractions = (numbers - seconds * self.units_per_second) / self.units_per_second
        else:
            return None
        known = np.abs(seconds) < _FARTHEST  # Also false where the number is missing.
        whole = np.where(known, seconds, 0).astype(np.int64)
        parts = np.round(np.where(known, fractions, 0) * 1e4).astype(np.int64) * 100
        moments: npt.NDArray[np.datetime64] = self.origin.astype("datetime64[us]") + (
            whole * 1_000_000 + parts
        )
        moments[~known] = np.datetime64("NaT")
        return moments

    def encode(self, moments: npt.NDArray[np.datetime64], *, dates: bool) -> npt.NDArray[Any]:
        """Return moments as the package's numbers; NaN where missing.

        Parameters
        ----------
        moments
            With no more than milliseconds, shape (n,).
        dates
            Whether they are dates without a time of day.
        """
        milliseconds = (moments.astype("datetime64[ms]") - self.origin).astype(np.float64)
        if dates:
            numbers = milliseconds / (1000 * self.seconds_per_date)
        else:
            numbers = milliseconds / (1000 / self.units_per_second)
        numbers[np.isnat(moments)] = np.nan
        return numbers


@dataclass(frozen=True)
class Package:
    """A statistical package, as far as its files go.

    Parameters
    ----------
    title
        Its name.
    reader
        The name of the library's function that reads its files.
    moments
        How it stores dates.
    whole
        A pattern of display formats that may stand for whole numbers.
    """

    title: str
    reader: str
    moments: Moments
    whole: re.Pattern[str]


_PATIENCE: Final = 0.2
"""Seconds after which cancelling is looked for though the library reports nothing."""
_ENDED: Final = b""
_ROOT: Final = str(Path(sfumato.__file__).parents[1])

Answer = tuple[pa.RecordBatch, dict[str, Any]]


class LibraryProcess:
    """A process that reads one file; to be used as a context, at whose end it is gone.

    Parameters
    ----------
    path
        The file.
    reader
        The name of the library's function for such files.
    package
        What the file is a file of, in plain words.
    """

    def __init__(self, path: Path, reader: str, package: str) -> None:
        self._path = path
        self._reader = reader
        self._package = package

    def __enter__(self) -> LibraryProcess:
        places = [_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", child.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.__exit__(kind, error, trace)

    def call(self, context: Context, **wanted: Any) -> Answer:
        """Return the columns that the library reads, and what the file says about them.

        Parameters
        ----------
        context
            Progress and cancelling.
        wanted
            What the library is asked for.

        Raises
        ------
        DamagedFile
            If the library can't read the file, or crashes at it.
        """
        request = {"path": str(self._path.absolute()), "reader": self._reader, "wanted": wanted}
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, and the frames say so
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        share = 0.0
        while True:
            letter, content = self._frame()
            if letter != child.PROGRESS:
                return self._taken(letter, content)
            if content:
                (share,) = struct.unpack("<d", content)
            context.report(share, f"Reading {self._path.name}")

    def _frame(self) -> tuple[bytes, bytes]:
        """Return the next frame, or one that reports nothing new where none comes for a while."""
        answers = self._process.stdout
        assert answers is not None
        # Elsewhere than on POSIX one can't wait for a pipe and for something else.
        if os.name == "posix" and not select.select([answers], [], [], _PATIENCE)[0]:
            return child.PROGRESS, b""
        header = _exactly(answers, child.HEADER.size)
        if header is None:
            return _ENDED, b""
        letter, length = child.HEADER.unpack(header)
        content = _exactly(answers, length)
        return (_ENDED, b"") if content is None else (letter, content)

    @property
    def runs(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def damaged(self) -> DamagedFile:
        """Return the error for a file that the library could not read, or not all of."""
        return damaged(self._path, self._package)

    def _taken(self, letter: bytes, content: bytes) -> Answer:
        if letter == child.COLUMNS:
            with pa.ipc.open_stream(content) as stream:
                batch = stream.read_next_batch()
                return batch, json.loads(stream.schema.metadata[b"described"])
        if letter == child.NO_MEMORY:
            raise MemoryError
        if letter == child.SYSTEM:
            code = int(content)
            raise OSError(code, os.strerror(code), str(self._path))
        if letter == child.DAMAGED:
            raise self.damaged()
        raise DamagedFile(
            "{file} is damaged: the library that reads {package} files crashed at it.",
            "Copy it again from where it comes from, or save it there in another format.",
            file=self._path.name,
            package=self._package,
        )


def damaged(path: Path, package: str) -> DamagedFile:
    """Return the error for a file that its package could not read either."""
    return DamagedFile(
        "{file} is not a whole {package} file, or its text is in another encoding.",
        "Copy it again from where it comes from, or state its encoding.",
        file=path.name,
        package=package,
    )


def _exactly(answers: IO[bytes], size: int) -> bytes | None:
    """Return so many bytes, or None where the process ends before."""
    pieces = []
    while size:
        piece = answers.read(size)
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


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


class StatisticalFormat(TableFormat):
    """The files of one statistical package."""

    package: ClassVar[Package]
    reading_options = frozenset({"column_types", "bad_values", "any_size"})

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        """Read a file, or its first rows; see `read_statistical`."""
        label_sets = self.label_sets(path)
        found = read_statistical(path, self.package, options, context, rows, label_sets)
        return with_fixed_types(found, options if rows is None else options.tolerant())

    def label_sets(self, path: Path) -> Mapping[str, Mapping[Any, str]]:  # noqa: ARG002
        """Return the labels that stand in another file, by the name of their set."""
        return {}


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
        refuse_many_cells(path.name, total or 0, len(usable_names(described.names)), options)
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
            series = pd.Series(self._texts.finish(None), copy=False)
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

    def _as_whole(self, numbers: Floats, package: Package) -> pd.Series:
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
        return pd.Series(column_of(whole, missing), copy=False)


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
