"""The rows of earlier releases that were made elsewhere, read again and matched to the table.

Whenever its rows are needed a file is read again, and refused where it is not the file that was
adopted. Messages name rows and columns, never a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Codes, Domain, Value
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import factorize, smallest_unsigned
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Adopted, Settings
from sfumato.engine.randomness.record_ids import canonical_text
from sfumato.engine.table.table import EncodedColumn, Table
from sfumato.formats.comparison import codes_in
from sfumato.formats.formulas import escaped, undone_if_escaped, unescaped
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import read_file
from sfumato.formats.table_format import ReadResult
from sfumato.project.document.adopted_files import (
    BY_KEY,
    AdoptedFile,
    adopted_files,
    check_digest,
    find_file,
)
from sfumato.project.errors import AdoptionError


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
    covered: npt.NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def part(self) -> tuple[int, int] | None:
        """How many records the file has, and of how many; None for all."""
        if self.covered is None:
            return None
        return int(np.count_nonzero(self.covered)), len(self.covered)

    def release_of(self, file: AdoptedFile) -> Adopted:
        """Return them as what the earlier release of that file is to its ladder."""
        return Adopted(file.level, self.values, self.covered, file.digest)


def read_rungs(
    settings: Settings,
    columns: Sequence[EncodedColumn],
    table: Table,
    context: Context,
    folders: Sequence[Path] = (),
    source: str = "",
) -> tuple[Adopted, ...]:
    """Read the adopted releases that further levels are fitted to.

    Parameters
    ----------
    settings
        The policy entry's settings.
    columns
        The entry's attributes, encoded.
    table
        The table whose rows they are matched to.
    context
        Progress and cancelling.
    folders
        Where a file is looked for that is not in its place: the project's folder, for one.
    source
        The digest of the table's file.

    Raises
    ------
    AdoptionError
        If a file is gone, has changed, or does not match the table.
    FileError
        If a file can't be read.
    """
    found: list[Adopted] = []
    whole: set[float] = set()
    files = [file for file in adopted_files(settings) if file.rung]
    for place, file in enumerate(files):
        part = Part(context, place / len(files), (place + 1) / len(files))
        if file.level in whole:
            continue  # another holder's copy
        rows = read_rows(file, columns, table, part, folders, source)
        found.append(rows.release_of(file))
        if rows.covered is None:
            whole.add(file.level)
    return tuple(found)


def read_rows(
    file: AdoptedFile,
    columns: Sequence[EncodedColumn],
    table: Table,
    context: Context,
    folders: Sequence[Path] = (),
    source: str = "",
) -> FileRows:
    """Read one adopted release again; parameters and errors are those of `read_rungs`."""
    path = find_file(file, folders)
    check_digest(file, path, Part(context, 0.0, 0.2))
    read = read_release(path, ReadOptions.from_dict(dict(file.options)), Part(context, 0.2, 0.9))
    return match_rows(file, read, columns, table, source)


def read_release(path: Path, options: ReadOptions, context: Context) -> ReadResult:
    """Read a file with its texts as they were before they were made safe for spreadsheets.

    A release that was taken out of its bundle says nothing of that: it is told by how it looks.
    Raises what `read_file` does.
    """
    result = read_file(path, options, context)
    if options.escaped_formulas:
        return result
    return replace(result, table=undone_if_escaped(result.table))


def match_rows(
    file: AdoptedFile,
    result: ReadResult,
    columns: Sequence[EncodedColumn],
    table: Table,
    source: str = "",
) -> FileRows:
    """Match what was read of a file to the table's rows, and its values to the domains.

    Raises
    ------
    AdoptionError
        If a column is missing, or rows or values don't match. Rows are named, never values.
    """
    read = result.table
    order = _order(file, read, table, source)
    covered = None if order is None else order >= 0
    _refuse_unread(file, result.skipped_rows, covered)
    values: dict[str, Codes | npt.NDArray[np.float64]] = {}
    for column in columns:
        name = column.attribute.name
        series = _column(file, read, file.columns.get(name, name))
        domain = column.attribute.domain
        if domain is None:
            numbers = _numbers(series)
            values[name] = _ordered(numbers, order, np.nan)
            continue
        codes = _codes(domain, series, dict(file.values.get(name, ())))
        values[name] = _ordered(codes, order, 0)
    if covered is None:
        return FileRows(values)
    spare = read.rows - int(np.count_nonzero(covered))
    return FileRows(values, spare, None if covered.all() else covered)


def _ordered(
    values: npt.NDArray[Any], order: npt.NDArray[np.int64] | None, absent: float
) -> npt.NDArray[Any]:
    """Return values in the order of the records, with another one where the file has no row."""
    if order is None:
        return values
    return np.where(order >= 0, values[order], values.dtype.type(absent))


def unknown_values(domain: Domain, series: pd.Series) -> tuple[str, ...]:
    """Return the texts of a file's column that mean no value of the domain, sorted."""
    positions, uniques = factorize(series)
    codes = _known_codes(domain, pd.Series(uniques))
    present = set(np.unique(positions[positions >= 0]).tolist())
    return tuple(
        sorted(
            str(value)
            for place, (value, code) in enumerate(zip(uniques, codes, strict=True))
            if code < 0 and place in present
        )
    )


def _order(
    file: AdoptedFile, read: Table, table: Table, source: str
) -> npt.NDArray[np.int64] | None:
    """Return each record's row of the file, -1 without one; None where it is the same row."""
    if file.match.by == BY_KEY:
        return _order_by_key(file, read, table)
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
    return None


def _order_by_key(file: AdoptedFile, read: Table, table: Table) -> npt.NDArray[np.int64]:
    keys = _keys(_column(file, read, file.match.file_column), file.path.name)
    wanted = _keys(table.column(file.match.table_column), "the table")
    order = pd.Index(keys).get_indexer(pd.Index(wanted))
    if (order < 0).all():
        raise AdoptionError(
            "{file} has no row for any of the table's {rows:,} {rows:record|records}: their key"
            " {column} is not in it.",
            "Choose the right key columns, or a release of this table.",
            file=file.path.name,
            rows=table.rows,
            column=file.match.table_column,
        )
    return np.asarray(order, dtype=np.int64)


def _refuse_unread(file: AdoptedFile, skipped: int, covered: npt.NDArray[np.bool_] | None) -> None:
    """Refuse rows that were left out, unless every record has its row all the same.

    Whoever holds the file can read them: a record that only seems to be missing from it would
    be released as though nobody had a value of it.
    """
    if not skipped:
        return
    if covered is None:
        raise AdoptionError(
            "{count:,} {count:row|rows} of {file} can't be read, so its rows can't be matched by"
            " their order.",
            "Match by a key column, or mend the file.",
            count=skipped,
            file=file.path.name,
        )
    if not covered.all():
        raise AdoptionError(
            "{count:,} {count:row|rows} of {file} can't be read, and {absent:,}"
            " {absent:record has|records have} no row in it, which may be"
            " {count:that one|among these}.",
            "Mend the file, or change how it is read, so that no row is left out.",
            count=skipped,
            absent=int(np.count_nonzero(~covered)),
            file=file.path.name,
        )


def _keys(column: pd.Series, where: str) -> list[str]:
    missing = column.isna().to_numpy()
    texts = [canonical_text(key).strip() for key in column.tolist()]
    repeated = pd.Series(texts).duplicated().to_numpy()
    for faulty, what in ((missing, "missing"), (repeated, "there for the second time")):
        if faulty.any():
            raise AdoptionError(
                "The key {column} of {where} is {problem} in {count:,} {count:row|rows}, first in"
                " row {row:,}.",
                "Choose a column whose values are all there and unique, or match by row order.",
                column=column.name,
                where=where,
                problem=what,
                count=int(faulty.sum()),
                row=int(faulty.argmax()) + 1,
            )
    return texts


def column_called(name: str, read: Table) -> str:
    """Return a column's name as the file has it, whether it was made safe there or not."""
    known = (name, escaped(name), unescaped(name))
    return next((each for each in known if each in read.columns), name)


def _column(file: AdoptedFile, read: Table, name: str) -> pd.Series:
    name = column_called(name, read)
    if name not in read.columns:
        raise AdoptionError(
            "{file} has no column {column}.",
            "Its columns are: {known}.",
            file=file.path.name,
            column=name or "(none chosen)",
            known=", ".join(read.columns),
        )
    return read.column(name)


def _numbers(series: pd.Series) -> npt.NDArray[np.float64]:
    numbers = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    unread = np.isnan(numbers) & ~series.isna().to_numpy()
    _refuse(
        unread, series, Sentence("no numbers"), "Choose the column that holds the released numbers."
    )
    return numbers


def _codes(domain: Domain, series: pd.Series, mapping: Mapping[str, Value]) -> Codes:
    positions, uniques = factorize(series)
    codes = _known_codes(domain, pd.Series(uniques))
    places = {value: code for code, value in enumerate(domain.values)}
    for place, value in enumerate(uniques):
        if codes[place] < 0 and str(value) in mapping:
            codes[place] = places.get(mapping[str(value)], -1)
    missing = places.get(None, -1)
    found = np.append(codes, missing)[positions]
    _refuse(
        found < 0,
        series,
        Sentence("values that the domain does not have"),
        "Say which value of the domain each of them means, add them to the domain, or choose"
        " another column.",
    )
    shown: Codes = found.astype(smallest_unsigned(domain.size))
    return shown


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


def _refuse(faulty: npt.NDArray[np.bool_], series: pd.Series, what: str, remedy: str) -> None:
    if faulty.any():
        raise AdoptionError(
            "The file's column {column} has {problem} in {count:,} {count:row|rows}, first in row"
            " {row:,}.",
            remedy,
            column=series.name,
            problem=what,
            count=int(faulty.sum()),
            row=int(faulty.argmax()) + 1,
        )
