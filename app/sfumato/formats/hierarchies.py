"""Generalization hierarchies as text: each line a value, then its labels up to ``*``.

The common form has no heading and is separated by semicolons (``39;[35, 40);[30, 40);*``).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies import (
    Hierarchy,
    Mend,
    ProblemKind,
    Recipe,
    Rows,
    Taxonomy,
    find_problems,
    mended,
    refuse_problems,
)
from sfumato.formats.encodings import detect_encoding
from sfumato.formats.errors import DamagedFile
from sfumato.formats.files import opening, write_whole
from sfumato.formats.options import DELIMITERS
from sfumato.formats.records import empty_file

SUFFIX: Final = ".csv"
USUAL: Final = ";"
_LOOK: Final = 500
_MOSTLY: Final = 0.8
_LARGEST: Final = 256 << 20


@dataclass(frozen=True)
class HierarchyText:
    """A hierarchy's table as it was read; nothing in it has been checked.

    Parameters
    ----------
    rows
        The rows that are not blank, their cells without blanks around them.
    """

    rows: Rows = field(repr=False)


def parse_hierarchy(text: str, name: str = "The text") -> HierarchyText:
    """Return the table in a text, its separator found out.

    Parameters
    ----------
    text
        The lines, from a file or the clipboard.
    name
        What the text is called in messages.

    Raises
    ------
    EmptyFile
        If there is no line with a value.
    DamagedFile
        If a quotation mark does not close.
    """
    text = text.removeprefix("\ufeff")
    try:
        found = list(_cells(text, _separator(text)))
    except csv.Error:
        raise DamagedFile(
            "{file} holds a quotation mark that does not close, or a cell that is far too long.",
            "Correct the file, or export it again from its source.",
            file=name,
        ) from None
    if not found:
        raise empty_file(name)
    return HierarchyText(tuple(found))


def read_hierarchy(path: Path) -> HierarchyText:
    """Return the table in a file, its encoding and separator found out.

    Raises
    ------
    FileError
        If the file can't be read, is empty, or is no text.
    """
    with opening(path):
        if path.stat().st_size > _LARGEST:
            raise DamagedFile(
                "{file} is too large to be a hierarchy.",
                "Choose a file with a line for each value of the column.",
                file=path.name,
            )
        encoding = detect_encoding(path)
        raw = path.read_bytes()
    # What Python raises holds the text, so it goes no further.
    with suppress(UnicodeDecodeError):
        text = raw.decode(encoding)
        if "\0" not in text:
            return parse_hierarchy(text, path.name)
    raise DamagedFile(
        "{file} is not a text file.",
        "Choose a text file with a line for each value: the value, then its labels.",
        file=path.name,
    )


def hierarchy_text(rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, a line for each row."""
    out = io.StringIO()
    csv.writer(out, delimiter=USUAL, lineterminator="\n").writerows(rows)
    return out.getvalue()


def write_hierarchy(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write a table, whole or not at all.

    Raises
    ------
    CannotWrite
        If the folder does not take the file, or the disk is full.
    """
    write_whole(path, hierarchy_text(rows).encode())


def rows_of(recipe: Recipe, hierarchy: Hierarchy | None) -> Rows:
    """Return the table that a recipe is written as.

    Parameters
    ----------
    recipe
        What the custodian has decided. A table is written as it stands, with the values that
        do not occur; renamed classes have their new names.
    hierarchy
        What the recipe makes of the column's values; None to write a table that does not fit
        them (yet).
    """
    if isinstance(recipe, Taxonomy):
        if not recipe.renames:
            return recipe.rows
        known = {(rename.level, rename.made): rename.shown for rename in recipe.renames}
        return tuple(
            (row[0], *(known.get((level, cell), cell) for level, cell in enumerate(row[1:], 1)))
            for row in recipe.rows
        )
    return table_of(hierarchy) if hierarchy is not None else ()


def table_of(hierarchy: Hierarchy) -> Rows:
    """Return a hierarchy as a table; the class of missing values is called "missing"."""
    return tuple(
        tuple(
            (label or "") if level == 0 else ("missing" if label is None else label)
            for level, label in enumerate(path)
        )
        for path in zip(*hierarchy.labels, strict=True)
    )


def usable_table(rows: Rows, values: Sequence[Value], column: str) -> Taxonomy:
    """Return a table that was read as a recipe, without its headings.

    Parameters
    ----------
    rows
        The table.
    values
        The column's values; those that the table does not list are no problem here.
    column
        The column's name.

    Raises
    ------
    HierarchyError
        If the table can't be used before it is mended; the message names a row.
    """
    problems = find_problems(rows, values, column)
    headings = [problem for problem in problems if problem.kind is ProblemKind.HEADER]
    if headings:
        rows = mended(rows, headings, Mend.DROP_ROW)
        problems = find_problems(rows, values, column)
    refuse_problems([p for p in problems if p.kind is not ProblemKind.ABSENT])
    return Taxonomy(rows)


def _separator(text: str) -> str:
    """Return what separates the cells; the comma comes last, because labels hold it: [35, 40)."""
    shares = {}
    for candidate, _ in sorted(DELIMITERS, key=lambda pair: (pair[0] == ",", pair[0] != USUAL)):
        try:
            widths = [len(row) for row in _cells(text, candidate, _LOOK)]
        except csv.Error:
            continue
        shares[candidate] = sum(width > 1 for width in widths) / max(1, len(widths))
        if shares[candidate] >= _MOSTLY:
            return candidate
    best = max(shares, key=lambda candidate: shares[candidate], default=USUAL)
    return best if shares.get(best) else USUAL


def _cells(text: str, separator: str, most: int | None = None) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for record in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
        cells = tuple(cell.strip() for cell in record)
        if any(cells):
            found.append(cells)
        if len(found) == most:
            break
    return found
