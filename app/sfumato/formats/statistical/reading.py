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
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, ClassVar, Final

import numpy as np
import pandas as pd
import pyarrow as pa

import sfumato
from sfumato.engine.core.columns import Value
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Floats
from sfumato.engine.table.table import MissingReasons, Range, Table
from sfumato.formats.columns.arrays import Buffer, TextBuffer, column_of
from sfumato.formats.columns.exact import misread_note, with_same_digits
from sfumato.formats.columns.settling import usable_names
from sfumato.formats.columns.typed import finished
from sfumato.formats.errors import DamagedFile, EmptyFile, WrongEncoding
from sfumato.formats.long_texts import LongTexts
from sfumato.formats.notes import Note
from sfumato.formats.options import ColumnType, ReadOptions, ReasonsKept
from sfumato.formats.statistical import child
from sfumato.formats.statistical.dates import (
    DatedColumn,
    MomentStorage,
    calendar_note,
    dated,
    period_notes,
)
from sfumato.formats.statistical.displays import Display, name_of_format, unlabelled_note
from sfumato.formats.statistical.encodings import (
    AS_BYTES,
    OddTexts,
    guess_by_sample,
    library_name,
    notes_on_encoding,
    refusal_of_texts,
    texts_about,
)
from sfumato.formats.statistical.reasons import (
    Reasons,
    declared,
    free_name,
    note_of,
    numbers_within,
    untold_note,
    within,
)
from sfumato.formats.table_format import ReadResult, TableFormat, refuse_many_cells


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
    display
        What a display format shows of dates and times.
    whole
        A pattern of display formats that may stand for whole numbers.
    reasons_by_codes
        Whether missing values with a reason are codes among the values.
    richer
        Files of another form that tell reasons, where those of this form don't; else empty.
    built_in
        The names of the package's own formats, beside those of dates, where others are labels that
        stand in another file.
    """

    title: str
    reader: str
    moments: MomentStorage
    display: Callable[[str], Display | None]
    whole: re.Pattern[str]
    reasons_by_codes: bool = False
    richer: str = ""
    built_in: re.Pattern[str] | None = None


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
    table
        Which of its tables is read, from 0.
    """

    def __init__(self, path: Path, reader: str, package: str, table: int = 0) -> None:
        self._path = path
        self._table = table
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
        what = {"path": str(self._path.absolute()), "reader": self._reader, "table": self._table}
        request = {**what, "wanted": wanted}
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
        "{file} is not a whole {package} file.",
        "Copy it again from where it comes from.",
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
_FIRST_ROWS: Final = 5
"""So many rows are named of those that a remark is about."""
_SINGLE: Final = "float"
"""What the library calls numbers of 32 bits."""
_BOOLEAN_LABELS: Final = {0: "false", 1: "true"}

Labels = dict[Value, str]
_AS_NUMBERS: Final = frozenset((ColumnType.NUMBER, ColumnType.INTEGER))


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
    texts: Sequence[str]
    """Names of columns, and labels."""


class StatisticalFormat(TableFormat):
    """The files of one statistical package."""

    package: ClassVar[Package]
    reading_options = frozenset(
        {
            *("missing_reasons", "encoding", "missing", "keep_blank_rows"),
            *("column_types", "bad_values", "any_size"),
        }
    )

    def detect(self, path: Path) -> ReadOptions:
        """Propose how to read a file: where it does not state its encoding, by a guess."""
        options = super().detect(path)
        if self.usual_encoding(path) is None:
            return options
        # Whatever else is wrong with it is told when it is read.
        with suppress(DamagedFile), self._library(path, options) as library:
            return replace(options, encoding=guess_by_sample(partial(library.call, Silent())))
        return options

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        """Read a file, or its first rows; see `read_statistical`.

        Raises
        ------
        WrongEncoding
            If its texts are in another encoding.
        """
        label_sets = self.label_sets(path, options)
        usual = self.usual_encoding(path)
        # A file that states its encoding is not in doubt.
        doubts = usual is not None and options.version > 1
        odd = OddTexts(options.encoding or usual or "") if doubts else None
        try:
            with self._library(path, options) as library:
                found = read_statistical(
                    path, library, self.package, options, context, rows, label_sets, odd
                )
        except DamagedFile:
            refusal = self._refusal_of_texts(path, options, context, usual)
            if refusal is None:
                raise
            raise refusal from None
        if odd is not None:
            notes = notes_on_encoding(odd, options, usual or "")
            found = replace(found, notes=(*found.notes, *notes))
        return finished(found, options, rows)

    def _refusal_of_texts(
        self, path: Path, options: ReadOptions, context: Context, usual: str | None
    ) -> WrongEncoding | None:
        """Return the error for a file that can be read in another encoding, and else None."""
        if "encoding" not in self.reading_options:
            return None
        with suppress(DamagedFile), self._library(path, options) as library:

            def pieces(names: list[str]) -> Iterator[pa.RecordBatch]:
                as_bytes = {"encoding": AS_BYTES, "usecols": names}
                return _pieces(library, as_bytes, context, None, True)

            call = partial(library.call, Silent())
            return refusal_of_texts(path.name, call, pieces, options, usual)
        return None

    def _library(self, path: Path, options: ReadOptions) -> LibraryProcess:
        table = self.table_read(path, options)
        return LibraryProcess(path, self.package.reader, self.package.title, table)

    def table_read(self, path: Path, options: ReadOptions) -> int:  # noqa: ARG002
        """Return which of a file's tables is read, from 0."""
        return 0

    def usual_encoding(self, path: Path) -> str | None:  # noqa: ARG002
        """Return by which encoding the library reads a file; None where the file states it."""
        return None

    def label_sets(
        self,
        path: Path,  # noqa: ARG002
        options: ReadOptions,  # noqa: ARG002
    ) -> Mapping[str, Mapping[Any, str]]:
        """Return the labels that stand in another file, by the name of their set."""
        return {}


def read_statistical(
    path: Path,
    library: LibraryProcess,
    package: Package,
    options: ReadOptions,
    context: Context,
    rows: int | None = None,
    label_sets: Mapping[str, Mapping[Any, str]] | None = None,
    odd: OddTexts | None = None,
) -> ReadResult:
    """Read a file of a statistical package, or its first rows.

    Codes stay codes: their texts are in `Table.value_labels`. Numbers that are all whole
    become int64 where their display format shows no decimals or is the package's usual one.
    Dates become datetime64. System-missing values are missing, and so are empty texts and, unless
    the options keep them, values that are missing with a reason; see `ReasonsKept`. A column
    labelled 0 "false" and 1 "true" is a yes/no column.

    Parameters
    ----------
    path, library, package, options, context
        The file, what reads it, what it is a file of, how to read it, and progress.
    rows
        How many rows to read; None for all.
    label_sets
        Labels that stand in another file, by the name of their set.
    odd
        Takes the texts of a file that does not state their encoding.

    Raises
    ------
    DamagedFile
        If the library can't read the file.
    EmptyFile
        If it has no records.
    """
    wanted = {
        "user_missing": options.version > 1 or options.keep_user_missing,
        "encoding": library_name(options.encoding),
        "disable_datetime_conversion": True,
    }
    described = _described(library, options, context, label_sets or {})
    total = described.rows
    if rows is not None:
        total = rows if total is None else min(rows, total)
    refuse_many_cells(path.name, total or 0, len(usable_names(described.names)), options)
    columns = [
        _StatisticalColumn(name, described.kinds[name], described.formats[name], total)
        for name in described.names
    ]
    pieces = _pieces(library, wanted, context, total, described.rows is None)
    read = _fill(columns, pieces, library, LongTexts(path.name, options), odd)
    if not read:
        raise EmptyFile(
            "{file} has no records.", "Choose a file with at least one.", file=path.name
        )
    if odd is not None:
        odd.add(described.texts)
    return _result(columns, described, package, options)


def _fill(
    columns: Sequence[_StatisticalColumn],
    pieces: Iterator[pa.RecordBatch],
    library: LibraryProcess,
    long_texts: LongTexts,
    odd: OddTexts | None,
) -> int:
    """Add all pieces to their columns, and return how many rows there are."""
    names = [column.name for column in columns]
    by_name = dict(zip(names, columns, strict=True))
    read = 0
    for piece in pieces:
        if piece.schema.names[: len(names)] != names:
            raise library.damaged()
        long_texts.see(piece.columns)
        if odd is not None:
            odd.see(piece.columns)
        for column, values in zip(columns, piece.columns, strict=False):
            column.add(values)
        # After all columns come the letters of those that have some.
        for place in range(len(names), piece.num_columns):
            by_name[piece.schema.names[place]].reasons.add_letters(piece.column(place), read)
        read += piece.num_rows
    return read


def _result(
    columns: Sequence[_StatisticalColumn],
    described: _Description,
    package: Package,
    options: ReadOptions,
) -> ReadResult:
    """Return the columns as a table with its labels."""
    frame: dict[str, Any] = {}
    labels: dict[str, Labels] = {}
    texts = {name: text for name, text in described.labels.items() if text}
    dates: dict[str, DatedColumn] = {}
    notes: list[Note | None] = []
    told: dict[str, MissingReasons] = {}
    kept: dict[str, MissingReasons] = {}
    first: set[int] = set()
    for column in columns:
        stated = described.value_labels.get(column.name, {})
        ranges = declared(described.missing.get(column.name, ()))
        series, known = column.finish(package, stated, ranges, options)
        frame[column.name] = series
        notes += [calendar_note(column.name, column.shown), column.misread]
        if column.dated is not None:
            dates[column.name] = column.dated
            notes += column.dated.notes
        if known:
            labels[column.name] = known
        reasons = column.reasons.named(stated, ranges)
        if not reasons.counts:
            continue
        first.update(row + 1 for row in column.reasons.rows[:_FIRST_ROWS])
        if options.reasons is ReasonsKept.COLUMN:
            companion = free_name(column.name, [*described.names, *frame])
            reasons = replace(reasons, companion=companion)
            frame[companion] = column.reasons.column(reasons, len(series))
            texts[companion] = f"Why {texts.get(column.name, column.name)} is missing"
        told[column.name] = reasons
        if options.reasons is not ReasonsKept.VALUES or reasons.by_letters:
            kept[column.name] = reasons
    periods = {name: each.period for name, each in dates.items() if each.period is not None}
    frame_read = pd.DataFrame(frame, copy=False)
    table = Table(frame_read, labels, texts, missing_reasons=kept, periods=periods)
    notes += period_notes(dates, options)
    if package.built_in is not None and options.version > 1:
        shown = {
            n: f or "" for n, f in described.formats.items() if n not in described.value_labels
        }
        notes.append(unlabelled_note(shown, package.title, package.built_in, package.display))
    if package.richer and options.version > 1:
        notes.append(untold_note(table, package.title, package.richer))
    if told:
        rows = sorted(first)[:_FIRST_ROWS]
        notes.append(note_of(told, rows, options, by_codes=package.reasons_by_codes))
    return ReadResult(table, notes=tuple(note for note in notes if note is not None))


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
        encoding=library_name(options.encoding),
        # Else codes of dates that are declared missing come as dates.
        disable_datetime_conversion=True,
    )
    chosen = {name: name_of_format(text) for name, text in found["sets"].items()}
    elsewhere = {name: label_sets[key] for name, key in chosen.items() if key in label_sets}
    stated = {name: dict(pairs) for name, pairs in found["value_labels"].items()}
    kinds = found["kinds"]
    if options.version == 1:  # it took numbers of 32 bits for others
        kinds = {name: "double" if kind == _SINGLE else kind for name, kind in kinds.items()}
    return _Description(
        found["names"],
        found["rows"],
        kinds,
        found["formats"],
        found["labels"],
        {**stated, **elsewhere},
        found["missing"] or {},
        tuple(texts_about(found)),
    )


class _StatisticalColumn:
    """A column that grows piece by piece."""

    def __init__(self, name: str, kind: str, shown: str | None, rows: int | None) -> None:
        self.name = name
        self._kind = kind
        self.shown = shown or ""
        self._texts = TextBuffer(rows or 0) if kind == "string" else None
        self._numbers = Buffer(np.float64, (rows or 0) if self._texts is None else 0)
        self.reasons = Reasons()
        self.dated: DatedColumn | None = None
        self.misread: Note | None = None

    def add(self, values: pa.Array) -> None:
        """Append what the library read; missing numbers are NaN."""
        if self._texts is not None:
            self._texts.add(values)
        else:
            if self._kind == _SINGLE:
                values = with_same_digits(values.cast(pa.float32()))
            self._numbers.add(values.to_numpy(zero_copy_only=False))

    def finish(
        self,
        package: Package,
        stated: Mapping[Any, str],
        missing: Sequence[Range],
        options: ReadOptions,
    ) -> tuple[pd.Series, Labels]:
        """Return the column, and the labels of its values; `reasons` then tell what is missing.

        Parameters
        ----------
        package, options
            What the file is a file of, and how it is read.
        stated
            The labels of its codes.
        missing
            The codes that are declared missing.
        """
        keeps = options.reasons is ReasonsKept.VALUES
        if not keeps:
            stated = {code: text for code, text in stated.items() if not within(code, missing)}
        if self._texts is not None:
            series = pd.Series(self._texts.finish(None), copy=False)
            if missing and options.version > 1:
                series = self._without_codes(series, missing, keeps)
            labels: Labels = {str(code): text for code, text in stated.items()}
            return series.rename(self.name), labels
        numbers = self._numbers.finish()
        if missing and options.version > 1:
            found = numbers_within(numbers, missing)
            self.reasons.rows = np.flatnonzero(found).tolist()
            self.reasons.codes = numbers[found].tolist()
            if not keeps:
                numbers[found] = np.nan
        if options.version > 1:
            self.misread = misread_note(self.name, numbers)
        self.dated = self._as_dates(numbers, package, options)
        if self.dated is not None:
            return self.dated.series, dict(self.dated.labels)
        series = self._as_whole(numbers, package)
        labels = _numeric_labels(stated, pd.api.types.is_integer_dtype(series.dtype))
        if labels == _BOOLEAN_LABELS and set(series.dropna().unique()) <= {0, 1}:
            truth = series.astype("boolean")
            return (truth if truth.hasnans else truth.astype("bool")).rename(self.name), {}
        return series.rename(self.name), labels

    def _as_dates(
        self, numbers: Floats, package: Package, options: ReadOptions
    ) -> DatedColumn | None:
        """Return numbers as their display format shows them; None where that is not of dates.

        So is a column whose type is fixed as one of numbers.
        """
        if options.column_types.get(self.name) in _AS_NUMBERS:
            return None
        if options.version == 1:
            return package.moments.dated(self.name, numbers, self.shown, options)
        display = package.display(self.shown)
        if display is None:
            return None
        return dated(self.name, numbers, self.shown, display, package.moments.origin, options)

    def _without_codes(self, series: pd.Series, missing: Sequence[Range], keeps: bool) -> pd.Series:
        """Return texts without those that are declared missing, unless they are kept."""
        texts = series.astype(object)
        codes = [text for text in texts.dropna().unique() if within(text, missing)]
        found = texts.isin(codes).to_numpy()
        self.reasons.rows = np.flatnonzero(found).tolist()
        self.reasons.codes = texts[found].tolist()
        if keeps or not codes:
            return series
        known = texts.notna().to_numpy() & ~found
        kept = [text if has else None for text, has in zip(texts, known, strict=True)]
        left = TextBuffer(len(series))
        left.add(pa.array(kept, type=pa.string()))
        return pd.Series(left.finish(None), copy=False)

    def _as_whole(self, numbers: Floats, package: Package) -> pd.Series:
        """Return numbers as int64 where all are whole and nothing says otherwise."""
        missing = np.isnan(numbers)
        known = numbers[~missing] if missing.any() else numbers
        may_be = self._kind.startswith("int") or package.whole.fullmatch(self.shown)
        if (
            not may_be
            or not len(known)
            or not bool((np.abs(known) <= _EXACT).all())
            or bool((np.floor(known) != known).any())
        ):
            return pd.Series(numbers, copy=False)
        whole = np.where(missing, 0, numbers).astype(np.int64)
        return pd.Series(column_of(whole, missing), copy=False)


def _numeric_labels(stated: Mapping[Any, str], whole: bool) -> Labels:
    """Return labels by the values as the column holds them; those of tagged missings are not."""
    labels: Labels = {}
    for code, text in stated.items():
        if isinstance(code, int | float):
            labels[int(code) if whole and float(code).is_integer() else float(code)] = str(text)
    return labels
