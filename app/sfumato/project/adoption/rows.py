"""The rows of earlier releases that were made elsewhere, read again and matched to the table.

Whenever its rows are needed a file is read again, and refused where it is not the file that was
adopted. A long file is read some rows at a time; what is kept of it are codes and numbers in the
order of the table's rows, on the disk where they are many, which tell no more than the file. Record
keys are matched by hashes under a key that nobody keeps. Messages name rows and columns, never a
value.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import field
from pathlib import Path
from secrets import token_bytes
from typing import IO, Any, Final, Protocol, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Codes, Domain, Value
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import made_ahead
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.values import Flags, factorize, smallest_unsigned
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.adoption import adopted_in
from sfumato.engine.mechanisms.base import Adopted, Settings
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey
from sfumato.engine.randomness.record_ids import (
    Texts,
    canonical_text,
    canonical_texts,
    keyed_hash,
)
from sfumato.engine.table.table import Attribute, Table
from sfumato.formats.columns.arrays import NativeColumn
from sfumato.formats.comparison import codes_in
from sfumato.formats.files import refusal_to_write
from sfumato.formats.formulas import (
    escaped,
    look_escaped,
    undone_if_escaped,
    unescaped,
    unescaped_names,
    without_escapes,
)
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import open_batches, read_file
from sfumato.formats.table_format import Batches
from sfumato.project.document.adopted_files import (
    BY_KEY,
    AdoptedFile,
    adopted_files,
    check_digest,
    find_file,
)
from sfumato.project.errors import AdoptionError

READ_WHOLE: Final = 1 << 22
"""A file of about as many values, or fewer, is read as a whole."""
KEPT_IN_MEMORY: Final = 1 << 25
"""So many bytes of a column are kept in memory at most, where there is a folder for more."""
_FILLED: Final = 1 << 20

Numbers = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]


class ScratchStore(AbstractContextManager["ScratchStore"], Protocol):
    """Takes rows, and gives those together again whose numbers begin with the same bits."""

    def add(self, batch: pa.RecordBatch, numbers: npt.NDArray[np.uint64]) -> None:
        """Put rows aside, by their numbers, shape (n,)."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield them, in the order of the first bits of their numbers."""


class _HeldRows:
    """Rows that are put aside in memory, and come back all together."""

    def __init__(self, _: int) -> None:
        self._batches: list[pa.RecordBatch] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._batches.clear()

    def add(self, batch: pa.RecordBatch, _: npt.NDArray[np.uint64]) -> None:
        self._batches.append(batch)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from pa.Table.from_batches(self._batches).combine_chunks().to_batches()


@dataclass(frozen=True)
class RowsToMatch:
    """The rows of a table that those of a file are matched to.

    Parameters
    ----------
    rows
        How many there are, n.
    column
        Yields a column in parts, in the table's order.
    aside
        Puts about so many rows aside.
    folder
        Where there is room for numbers of all rows; None to keep them in memory.
    """

    rows: int
    column: Callable[[str], Iterable[pd.Series]]
    aside: Callable[[int], ScratchStore] = _HeldRows
    folder: Path | None = None

    @classmethod
    def of(cls, table: Table) -> RowsToMatch:
        """Return the rows of a table in memory."""
        return cls(table.rows, lambda name: (table.column(name),))


@dataclass(frozen=True)
class ReadRelease:
    """An earlier release of which any columns can be read.

    Parameters
    ----------
    columns
        Their names.
    rows, skipped
        How many rows there are, and how many the options left out.
    parts
        Yields some columns, some rows at a time, in the file's order.
    notes
        What the reader remarked.
    """

    columns: tuple[str, ...]
    rows: int
    skipped: int
    parts: Callable[[Sequence[str], Context], Iterator[Table]] = field(repr=False)
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class FileRows:
    """What was read of a file.

    Parameters
    ----------
    values
        For each attribute, codes of its domain or numbers, in the order of the table's rows.
    spare
        How many rows of the file belong to no record of the table.
    covered
        Which records the file has, shape (n,); None for all. Others have no value that counts.
    """

    values: Mapping[str, Codes | npt.NDArray[np.float64]] = field(repr=False)
    spare: int = 0
    covered: Flags | None = field(default=None, repr=False)

    @property
    def part(self) -> tuple[int, int] | None:
        """How many records the file has, and of how many; None for all."""
        if self.covered is None:
            return None
        return int(np.count_nonzero(self.covered)), len(self.covered)

    def release_of(self, file: AdoptedFile) -> Adopted:
        """Return them as what the earlier release of that file is to its ladder."""
        return Adopted(file.level, self.values, self.covered, file.digest)


class AdoptedReleaseReader:
    """The adopted releases that further levels are fitted to, each read once.

    Parameters
    ----------
    table
        The table whose rows they are matched to.
    folders
        Where a file is looked for that is not in its place: the project's folder, for one.
    source
        The digest of the table's file.
    """

    def __init__(self, table: RowsToMatch, folders: Sequence[Path] = (), source: str = "") -> None:
        self._table, self._folders, self._source = table, tuple(folders), source
        self._known: dict[tuple[object, ...], tuple[Adopted, ...]] = {}

    def of(
        self, settings: Settings, attributes: Sequence[Attribute], context: Context
    ) -> tuple[Adopted, ...]:
        """Return those that a policy entry's settings tell of.

        Raises
        ------
        AdoptionError
            If a file is gone, has changed, or does not match the table.
        FileError
            If a file can't be read.
        CannotWrite, DiskFull
            If the table's folder has no room.
        """
        names = [(each.name, each.domain and each.domain.fingerprint) for each in attributes]
        asked = (repr(adopted_in(settings)), *names)
        if asked not in self._known:
            self._known[asked] = tuple(self._read(settings, attributes, context))
        return self._known[asked]

    def _read(
        self, settings: Settings, attributes: Sequence[Attribute], context: Context
    ) -> Iterator[Adopted]:
        whole: set[float] = set()
        files = [file for file in adopted_files(settings) if file.rung]
        for file, part in one_by_one(context, files):
            if file.level in whole:
                continue  # another holder's copy
            given = (file, attributes, self._table, part, self._folders, self._source)
            rows = read_rows(*given)
            yield rows.release_of(file)
            if rows.covered is None:
                whole.add(file.level)


def read_rows(
    file: AdoptedFile,
    attributes: Sequence[Attribute],
    table: RowsToMatch,
    context: Context,
    folders: Sequence[Path] = (),
    source: str = "",
) -> FileRows:
    """Read one adopted release again; parameters and errors are those of `AdoptedReleaseReader`."""
    path = find_file(file, folders)
    check_digest(file, path, Part(context, 0.0, 0.2))
    read = read_release(path, ReadOptions.from_dict(dict(file.options)), Part(context, 0.2, 0.7))
    return match_rows(file, read, attributes, table, Part(context, 0.7, 1.0), source)


def read_release(path: Path, options: ReadOptions, context: Context) -> ReadRelease:
    """Open a file with its texts as they were before they were made safe for spreadsheets.

    A release that was taken out of its bundle says nothing of that: it is told by how it looks.
    Raises what `read_file` does.
    """
    batches = open_batches(path, options, Part(context, 0.0, 0.5), READ_WHOLE)
    if batches is not None:
        return _in_parts(batches, options, Part(context, 0.5, 1.0))
    result = read_file(path, options, context)
    table = result.table
    if not options.escaped_formulas:
        table = undone_if_escaped(table)

    def parts(names: Sequence[str], _: Context) -> Iterator[Table]:
        yield Table(table.frame[list(names)], is_part=True)

    return ReadRelease(table.columns, table.rows, result.skipped_rows, parts, result.notes)


def _in_parts(batches: Batches, options: ReadOptions, context: Context) -> ReadRelease:
    """Return a file that is read some rows at a time."""

    def read(stored: Sequence[str], context: Context) -> Iterator[Table]:
        done = 0
        for batch in made_ahead(batches.read(stored)):
            context.report(min(done / batches.rows, 1.0), "Reading the earlier release")
            done += len(batch)
            yield _table_of(batch, batches)

    if options.escaped_formulas or not look_escaped(read(tuple(batches.types), context)):
        return ReadRelease(tuple(batches.types), batches.rows, batches.skipped, read, batches.notes)
    names = unescaped_names(tuple(batches.types))

    def undone(wanted: Sequence[str], context: Context) -> Iterator[Table]:
        stored = [next(one for one, name in names.items() if name == each) for each in wanted]
        for part in read(stored, context):
            yield Table(without_escapes(part).frame.set_axis(list(wanted), axis=1), is_part=True)

    return ReadRelease(tuple(names.values()), batches.rows, batches.skipped, undone, batches.notes)


def _table_of(batch: pa.RecordBatch, batches: Batches) -> Table:
    """Return rows as whoever reads the whole file has them."""
    columns = {}
    for name in batch.schema.names:
        column = NativeColumn(name, batches.types[name], len(batch))
        column.add(batch[name])
        columns[name] = column.finish()
    return Table(pd.DataFrame(columns, copy=False), is_part=True)


def match_rows(
    file: AdoptedFile,
    read: ReadRelease,
    attributes: Sequence[Attribute],
    table: RowsToMatch,
    context: Context,
    source: str = "",
) -> FileRows:
    """Match what was read of a file to the table's rows, and its values to the domains.

    Raises
    ------
    AdoptionError
        If a column is missing, or rows or values don't match. Rows are named, never values.
    """
    with ExitStack() as files:
        columns = [_AttributeValues(file, read, each, table, files) for each in attributes]
        if file.match.by == BY_KEY:
            covered = _Kept(np.dtype(np.bool_), False, table, files)
            return _by_key(file, read, columns, covered, table, context)
        _check_order(file, read, table, source)
        for part in read.parts(_names(columns), context):
            for each in columns:
                each.kept.add(each.of(part))
        return FileRows({each.attribute.name: each.finish() for each in columns})


def _names(columns: Iterable[_AttributeValues | _Keys]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.name for each in columns))


def _by_key(
    file: AdoptedFile,
    read: ReadRelease,
    columns: Sequence[_AttributeValues],
    covered: _Kept,
    table: RowsToMatch,
    context: Context,
) -> FileRows:
    """Return what `match_rows` does, where a column tells records apart."""
    key = AttributeKey(token_bytes(SECRET_BYTES))
    theirs = _Keys(_column(file, read, file.match.file_column), file.path.name, key)
    ours = _Keys(file.match.table_column, "the table", key)
    shift, matched = np.uint64(64 - max(table.rows - 1, 1).bit_length()), 0
    with table.aside(read.rows + table.rows) as apart, table.aside(table.rows) as by_row:
        for part in read.parts(_names([theirs, *columns]), context):
            theirs.put(apart, part.column(theirs.name), [each.of(part) for each in columns], True)
        for series in table.column(ours.name):
            none = [np.zeros(len(series), dtype=each.kept.dtype) for each in columns]
            ours.put(apart, series, none, False)
        for bucket in apart:
            both = _matched(bucket, theirs, ours)
            rows = both["row"].to_numpy()
            matched += len(rows)
            by_row.add(both, rows.astype(np.uint64) << shift)
        theirs.check()
        ours.check()
        _refuse_none(file, matched, table)
        for bucket in by_row:
            _put_down(bucket, [covered, *(each.kept for each in columns)])
    has = covered.finish()
    _refuse_unread(file, read.skipped, has)
    values = {each.attribute.name: each.finish() for each in columns}
    return FileRows(values, read.rows - matched, None if matched == table.rows else has)


def _matched(bucket: pa.RecordBatch, theirs: _Keys, ours: _Keys) -> pa.RecordBatch:
    """Return those of the table's rows put aside that the file has, with what it shows of them."""
    words, sides = ["first", "second"], []
    of_file = bucket["of_file"].to_numpy(zero_copy_only=False)
    for keys, chosen in ((theirs, of_file), (ours, ~of_file)):
        side = bucket.filter(pa.array(chosen)).to_pandas()
        repeated = side.duplicated(words).to_numpy()
        keys.repeated.add(repeated, side["row"].to_numpy())
        sides.append(side[~repeated] if repeated.any() else side)
    values = sides[0].drop(columns=["row", "of_file"])
    both = sides[1][[*words, "row"]].merge(values, on=words).drop(columns=words)
    both.insert(1, "covered", np.ones(len(both), dtype=np.bool_))
    return pa.record_batch({str(name): both[name].to_numpy() for name in both})


def _put_down(bucket: pa.RecordBatch, kept: Sequence[_Kept]) -> None:
    """Put what rows show in its place; no row of a later bucket stands before them."""
    rows = bucket["row"].to_numpy()
    first, end = int(rows.min()), int(rows.max()) + 1
    for each, values in zip(kept, bucket.columns[1:], strict=True):
        each.skip(first - each.done)
        block = np.full(end - first, each.absent, dtype=each.dtype)
        block[rows - first] = values.to_numpy(zero_copy_only=False)
        each.add(block)


class _Kept:
    """Numbers of all rows of a table, which come in its order."""

    def __init__(
        self, dtype: np.dtype[Any], absent: float, table: RowsToMatch, files: ExitStack
    ) -> None:
        self.dtype, self.absent, self.done = dtype, dtype.type(absent), 0
        self._rows, self._folder = table.rows, table.folder
        self._file: IO[bytes] | None = None
        if table.folder is not None and table.rows * dtype.itemsize > KEPT_IN_MEMORY:
            try:
                # It has no name: nobody else can open it, and it is gone with the process.
                nameless = tempfile.TemporaryFile(dir=table.folder)  # noqa: SIM115
                self._file = files.enter_context(nameless)
            except OSError as error:
                raise refusal_to_write(error, table.folder) from None
        else:
            self._numbers = np.full(table.rows, absent, dtype=dtype)

    def add(self, values: Numbers) -> None:
        """Keep the numbers of the rows that come next."""
        if self._file is None:
            self._numbers[self.done : self.done + len(values)] = values
        else:
            assert self._folder is not None
            try:
                self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
            except OSError as error:
                raise refusal_to_write(error, self._folder) from None
        self.done += len(values)

    def skip(self, rows: int) -> None:
        """Let the rows that come next have no number."""
        for start in range(0, rows, _FILLED):
            self.add(np.full(min(_FILLED, rows - start), self.absent, dtype=self.dtype))

    def finish(self) -> Numbers:
        """Return the numbers, shape (n,)."""
        self.skip(self._rows - self.done)
        if self._file is None:
            return self._numbers
        assert self._folder is not None
        try:
            self._file.flush()
        except OSError as error:
            raise refusal_to_write(error, self._folder) from None
        # Mapped once all of it is written: a disk that is full can't stop whoever reads.
        return np.asarray(np.memmap(self._file, self.dtype, "r", shape=(self._rows,)))


class _Faults:
    """Counts rows that don't fit, and keeps which is the first, from 0."""

    def __init__(self) -> None:
        self.count, self.first = 0, -1

    def add(self, faulty: Flags, rows: Rows) -> None:
        """Look at some rows, which have these numbers."""
        if faulty.any():
            first = int(rows[faulty].min())
            self.first = first if not self.count else min(self.first, first)
            self.count += int(faulty.sum())


class _Keys:
    """The keys of a file or a table, of which none may be missing or repeated."""

    def __init__(self, name: str, where: str, key: AttributeKey) -> None:
        self.name, self.repeated = name, _Faults()
        self._where, self._key, self._missing, self._rows = where, key, _Faults(), 0

    def put(
        self, apart: ScratchStore, column: pd.Series, values: Sequence[Numbers], of_file: bool
    ) -> None:
        """Put hashes of the keys that come next aside, with what their rows show."""
        rows = np.arange(self._rows, self._rows + len(column))
        self._rows += len(column)
        missing = column.isna().to_numpy()
        if missing.any():
            self._missing.add(missing, rows)
            column, rows = column[~missing], rows[~missing]
            values = [each[~missing] for each in values]
        hashes = keyed_hash([_stripped(column)], self._key, Silent())
        columns = {
            "first": hashes[:, 0].copy(),
            "second": hashes[:, 1].copy(),
            "row": rows,
            "of_file": np.full(len(rows), of_file),
            **{str(place): each for place, each in enumerate(values)},
        }
        apart.add(pa.record_batch(columns), columns["first"])

    def check(self) -> None:
        """Refuse keys of which any is missing or repeated."""
        for faults, what in (
            (self._missing, "missing"),
            (self.repeated, "there for the second time"),
        ):
            if faults.count:
                raise AdoptionError(
                    "The key {column} of {where} is {problem} in {count:,} {count:row|rows}, first"
                    " in row {row:,}.",
                    "Choose a column whose values are all there and unique, or match by row order.",
                    column=self.name,
                    where=self._where,
                    problem=what,
                    count=faults.count,
                    row=faults.first + 1,
                )


def _stripped(keys: pd.Series) -> Texts:
    """Return keys' canonical texts without spaces around them."""
    texts = canonical_texts(keys)
    ends = texts.ends.astype(np.int64)
    some = ends[1:] > ends[:-1]
    around = np.concatenate([texts.data[ends[:-1][some]], texts.data[ends[1:][some] - 1]])
    if ((around > 0x20) & (around < 0x7F)).all():
        return texts
    found = [canonical_text(key).strip() for key in keys.tolist()]
    return canonical_texts(pd.Series(found, dtype="str"))


class _AttributeValues:
    """An attribute's values in a file: codes of its domain, or numbers."""

    def __init__(
        self,
        file: AdoptedFile,
        read: ReadRelease,
        attribute: Attribute,
        table: RowsToMatch,
        files: ExitStack,
    ) -> None:
        name, domain = attribute.name, attribute.domain
        self.attribute = attribute
        self.name = _column(file, read, file.columns.get(name, name))
        self._mapping = dict(file.values.get(name, ()))
        self._faults, self._rows = _Faults(), 0
        dtype = np.float64 if domain is None else smallest_unsigned(domain.size)
        self.kept = _Kept(np.dtype(dtype), np.nan if domain is None else 0, table, files)

    def of(self, part: Table) -> Numbers:
        """Return what the rows that come next show, shape (k,)."""
        series, domain = part.column(self.name), self.attribute.domain
        rows = np.arange(self._rows, self._rows + len(series))
        self._rows += len(series)
        found: Numbers
        if domain is None:
            found = pd.to_numeric(series, errors="coerce").to_numpy(np.float64, na_value=np.nan)
            self._faults.add(np.isnan(found) & ~series.isna().to_numpy(), rows)
            return found
        found = _codes(domain, series, self._mapping)
        self._faults.add(found < 0, rows)
        return found.astype(self.kept.dtype)

    def finish(self) -> Numbers:
        """Return what all records show, shape (n,), once every row is known to have fitted."""
        if not self._faults.count:
            return self.kept.finish()
        problem = Sentence("values that the domain does not have")
        remedy = (
            "Say which value of the domain each of them means, add them to the domain, or choose"
            " another column."
        )
        if self.attribute.domain is None:
            problem = Sentence("no numbers")
            remedy = "Choose the column that holds the released numbers."
        raise AdoptionError(
            "The file's column {column} has {problem} in {count:,} {count:row|rows}, first in row"
            " {row:,}.",
            remedy,
            column=self.name,
            problem=problem,
            count=self._faults.count,
            row=self._faults.first + 1,
        )


def unknown_values(domain: Domain, parts: Iterable[pd.Series]) -> tuple[str, ...]:
    """Return the texts of a file's column that mean no value of the domain, sorted."""
    found: set[str] = set()
    for series in parts:
        positions, uniques = factorize(series)
        codes = _known_codes(domain, pd.Series(uniques))
        present = np.unique(positions[positions >= 0]).tolist()
        found.update(str(uniques[place]) for place in present if codes[place] < 0)
    return tuple(sorted(found))


def _check_order(file: AdoptedFile, read: ReadRelease, table: RowsToMatch, source: str) -> None:
    """Refuse a file whose rows can't be the table's, one after another."""
    if read.rows != table.rows:
        raise AdoptionError(
            "{file} has {found:,} {found:row|rows}, and the table has {expected:,}, so the rows"
            " can't be matched by their order.",
            "Match by a key column: then the file may have a part of the records. Or choose the"
            " release of this very table.",
            file=file.path.name,
            found=read.rows,
            expected=table.rows,
        )
    if source and file.match.source and source != file.match.source:
        raise AdoptionError(
            "{file} was matched to the table by the order of the rows, and the table is another"
            " edition now.",
            "Adopt the file again, matched by a key column.",
            file=file.path.name,
        )
    if read.skipped:
        raise AdoptionError(
            "{count:,} {count:row|rows} of {file} can't be read, so its rows can't be matched by"
            " their order.",
            "Match by a key column, or correct the file.",
            count=read.skipped,
            file=file.path.name,
        )


def _refuse_none(file: AdoptedFile, matched: int, table: RowsToMatch) -> None:
    if not matched:
        raise AdoptionError(
            "{file} has no row for any of the table's {rows:,} {rows:record|records}: their key"
            " {column} is not in it.",
            "Choose the right key columns, or a release of this table.",
            file=file.path.name,
            rows=table.rows,
            column=file.match.table_column,
        )


def _refuse_unread(file: AdoptedFile, skipped: int, covered: Flags) -> None:
    """Refuse rows that were left out, unless every record has its row all the same.

    Whoever holds the file can read them: a record that only seems to be missing from it would
    be released as though nobody had a value of it.
    """
    if skipped and not covered.all():
        raise AdoptionError(
            "{count:,} {count:row|rows} of {file} can't be read, and {absent:,}"
            " {absent:record has|records have} no row in it, which may be"
            " {count:that one|among these}.",
            "Correct the file, or change how it is read, so that no row is left out.",
            count=skipped,
            absent=int(np.count_nonzero(~covered)),
            file=file.path.name,
        )


def column_called(name: str, columns: Sequence[str]) -> str:
    """Return a column's name as the file has it, whether it was made safe there or not."""
    known = (name, escaped(name), unescaped(name))
    return next((each for each in known if each in columns), name)


def _column(file: AdoptedFile, read: ReadRelease, name: str) -> str:
    name = column_called(name, read.columns)
    if name not in read.columns:
        raise AdoptionError(
            "{file} has no column {column}.",
            "Its columns are: {known}.",
            file=file.path.name,
            column=name or "(none chosen)",
            known=", ".join(read.columns),
        )
    return name


def _codes(
    domain: Domain, series: pd.Series, mapping: Mapping[str, Value]
) -> npt.NDArray[np.int64]:
    """Return each row's code, negative where the domain has no such value, shape (n,)."""
    positions, uniques = factorize(series)
    codes = _known_codes(domain, pd.Series(uniques))
    places = {value: code for code, value in enumerate(domain.values)}
    for place, value in enumerate(uniques):
        if codes[place] < 0 and str(value) in mapping:
            codes[place] = places.get(mapping[str(value)], -1)
    found: npt.NDArray[np.int64] = np.append(codes, places.get(None, -1))[positions]
    return found


def _known_codes(domain: Domain, values: pd.Series) -> npt.NDArray[np.int64]:
    """Return each value's code, -1 where the domain has neither the value nor such a name."""
    codes = np.maximum(codes_in(domain, values), -1)
    names = {name.strip(): code for code, name in enumerate(domain.names)}
    texts = {
        canonical_text(value).strip(): code
        for code, value in enumerate(domain.values)
        if value is not None
    }
    for place, value in enumerate(values):
        if codes[place] < 0:
            text = canonical_text(value).strip()
            codes[place] = texts.get(text, names.get(text, -1))
    return codes
