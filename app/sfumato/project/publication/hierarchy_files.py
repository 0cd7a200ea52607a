"""Several hierarchies at once, from files that are named after their columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import HierarchyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.generalization.hierarchies import (
    Mend,
    ProblemKind,
    Taxonomy,
    find_problems,
    ground_values,
    hierarchy_of,
    mended,
    refuse_problems,
)
from sfumato.engine.table.table import Table
from sfumato.formats.files import is_file, is_folder, refusal_to_read
from sfumato.formats.hierarchies import read_hierarchy
from sfumato.project.document.model import Document
from sfumato.project.release.table_survey import Survey

ENDINGS: Final = (".csv", ".txt", ".tsv")
"""Files of a folder that may hold a hierarchy."""
_USELESS: Final = frozenset({Role.SENSITIVE, Role.IDENTIFYING})


@dataclass(frozen=True)
class HierarchyFile:
    """A file, the column that it is for, and what came of reading it.

    Parameters
    ----------
    path
        The file.
    column
        The column; None where it is for none.
    recipe
        Its hierarchy; None where it can't be used.
    levels
        How many levels this has, the values themselves included.
    problem
        Why it can't be used.
    """

    path: Path
    column: str | None
    recipe: Taxonomy | None = field(default=None, repr=False)
    levels: int = 0
    problem: SfumatoError | None = None


def files_in(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return files, and in the place of each folder the files in it that may be hierarchies."""
    found: list[Path] = []
    for path in paths:
        inside = _inside(path) if is_folder(path) else [path]
        wanted = [p for p in inside if p == path or p.suffix.lower() in ENDINGS]
        found += sorted(p for p in wanted if p == path or is_file(p))
    return tuple(dict.fromkeys(found))


def _inside(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise refusal_to_read(error, folder) from None


def column_for(path: Path, document: Document) -> str | None:
    """Return the column that a file is named after; None where there is none.

    The name may stand alone, at the end (``adult_hierarchy_age.csv``) or at the beginning
    (``age-hierarchy.csv``); of several columns the one with the longest name is meant. Columns
    that are sensitive or identifying are never generalized, and so are not meant.
    """
    stem = f"-{_simple(path.stem)}-"
    fitting = [
        column.name
        for column in document.columns
        if column.role not in _USELESS
        and (simple := _simple(column.name))
        and (stem.endswith(f"-{simple}-") or stem.startswith(f"-{simple}-"))
    ]
    return max(fitting, key=len, default=None)


def read_files(
    paths: Sequence[Path], document: Document, table: Table | Survey, context: Context
) -> tuple[HierarchyFile, ...]:
    """Read files, each for the column that it is named after.

    Where a column has several files, the first is for it, and the others are for none.
    """
    found: list[HierarchyFile] = []
    for number, path in enumerate(paths):
        context.report(number / len(paths), f"Reading {path.name}")
        column = column_for(path, document)
        if any(each.column == column for each in found):
            column = None
        found.append(read_for(path, column, document, table))
    return tuple(found)


def read_for(
    path: Path, column: str | None, document: Document, table: Table | Survey
) -> HierarchyFile:
    """Read one file for a column; what is wrong with it is told, never raised."""
    made = HierarchyFile(path, column)
    if column is None:
        return made
    try:
        spec, series = document.column(column), table.column(column)
        values = ground_values(spec, series)
        rows = read_hierarchy(path).rows
        headings = [
            problem
            for problem in find_problems(rows, values, column)
            if problem.kind is ProblemKind.HEADER
        ]
        rows = mended(rows, headings, Mend.DROP_ROW) if headings else rows
        refuse_problems(find_problems(rows, values, column))
        recipe = Taxonomy(rows)
        return replace(made, recipe=recipe, levels=hierarchy_of(recipe, spec, series).height)
    except SfumatoError as problem:
        return replace(made, problem=problem.with_traceback(None))


def with_hierarchies(document: Document, files: Iterable[HierarchyFile]) -> Document:
    """Return a document with the hierarchies of the files that can be used.

    Raises
    ------
    HierarchyError
        If two of them are for the same column.
    """
    taken: set[str] = set()
    for file in files:
        if file.column is None or file.recipe is None:
            continue
        if file.column in taken:
            raise HierarchyError(
                "Two files are for the column {column}.",
                "Choose one of them, or another column.",
                column=file.column,
            )
        taken.add(file.column)
        document = document.with_hierarchy(file.column, file.recipe)
    return document


def _simple(name: str) -> str:
    """Return a name with one kind of gap between its words, and no capitals."""
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")
