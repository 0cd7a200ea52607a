"""Public counts of how many people several tables share: opening, reading and heeding them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import factorize
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import HolderClasses
from sfumato.engine.generalization.public_counts import (
    CrossTabulation,
    OurClasses,
    PublicTable,
    cross_tabulation,
)
from sfumato.engine.generalization.publication import equivalence_classes
from sfumato.formats.bundles.packages import table_file
from sfumato.formats.files import is_file
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import detect_options, digest_of, preview, read_file
from sfumato.project.document.generalization import OtherTableFile, PublicCountsFile
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.publication.prepared import Prepared
from sfumato.project.rules.text import suggestion


def open_counts(
    path: Path,
    name: str,
    count: str | None,
    stated: Sequence[tuple[str, str, str]],
    ours: Sequence[str],
    others: Sequence[OtherTableFile],
    context: Context,
) -> PublicCountsFile:
    """Look into a file of public counts, and say what its columns are.

    Parameters
    ----------
    path
        Any table that can be read, with a row for each combination.
    name
        What the counts are called.
    count
        The column with the number of people; None for the only one that is nobody's column.
    stated
        What columns are, see `PublicCountsFile`; the rest go by their names.
    ours, others
        Our quasi-identifiers, and the other holders' tables.
    context
        Progress and cancelling.

    Raises
    ------
    FileError
        If it can't be read.
    DiversityError
        If its columns can't be told.
    """
    options = detect_options(path)
    with table_file(path) as file:
        columns = preview(file, options).columns
    for column, _, _ in stated:
        if column not in columns:
            raise _no_column(name, column, columns)
    known = _meant(columns, count, stated, ours, others)
    left = [column for column in columns if column not in known]
    if count is None and len(left) == 1:
        count = left[0]
    if count not in columns:
        raise _no_column(name, count or "people", columns)
    found = tuple((c, *known[c]) for c in columns if c in known)
    if len({holder for _, holder, _ in found}) < 2:
        raise DiversityError(
            "The public counts {name} are by the columns of fewer than two tables.",
            "Say which table each column belongs to.",
            name=name,
        )
    where = path.absolute()
    return PublicCountsFile(
        name, str(where), digest_of(where, context), options.to_dict(), count, found
    )


def _meant(
    columns: Sequence[str],
    count: str | None,
    stated: Sequence[tuple[str, str, str]],
    ours: Sequence[str],
    others: Sequence[OtherTableFile],
) -> dict[str, tuple[str, str]]:
    """Return whose column each is, as stated, or else by a name that one table alone has."""
    known = {column: (holder, there) for column, holder, there in stated}
    for column in columns:
        places = [("", column)] if column in ours else []
        places += [(o.holder, column) for o in others if column in o.quasi_identifiers]
        if column not in known and column != count and len(places) == 1:
            known[column] = places[0]
    return known


def _no_column(name: str, column: str, columns: Sequence[str]) -> DiversityError:
    return DiversityError(
        "The public counts {name} have no column {column}.",
        suggestion(column, list(columns)),
        name=name,
        column=column,
    )


def read_counts(
    file: PublicCountsFile, context: Context, tell: Callable[[Note], object] = lambda _: None
) -> PublicTable:
    """Read public counts again.

    Parameters
    ----------
    file, context
        The counts, and progress.
    tell
        Called with each remark on what was read: who is left out counts as nobody.

    Raises
    ------
    SourceMissing, SourceChanged, FileError
        If the file is gone, changed or can't be read.
    DiversityError
        If a column is gone, or a count is no whole number from 0.
    """
    path = Path(file.path)
    if not is_file(path):
        raise SourceMissing(
            "The public counts {name} are not at {path}.",
            "Show where the file is now, or bring it back.",
            name=file.name,
            path=path,
        )
    if digest_of(path, Part(context, 0.0, 0.2)) != file.digest:
        raise SourceChanged(
            "The public counts {name} changed since they were chosen.",
            "Bring the old file back, or choose the new one.",
            name=file.name,
        )
    options = ReadOptions.from_dict(dict(file.options))
    with table_file(path) as data:
        read = read_file(data, options, Part(context, 0.2, 1.0))
    for note in read.notes:
        tell(note)
    frame = read.table.frame
    for column in (file.count, *(column for column, _, _ in file.columns)):
        if column not in frame.columns:
            raise _no_column(file.name, column, list(frame.columns))
    counts = _people(file.name, frame[file.count])
    codes, labels = [], []
    for column, _, _ in file.columns:
        places, found = factorize(frame[column])
        codes.append(np.where(places < 0, len(found), places))
        labels.append((*map(str, found), "(missing)"))
    places_of = tuple((holder, there) for _, holder, there in file.columns)
    return PublicTable(file.name, places_of, tuple(labels), np.stack(codes, axis=1), counts)


def _people(name: str, column: pd.Series) -> npt.NDArray[np.int64]:
    """Return how many people each row of public counts has; refuse what is no number of them."""
    counts = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    wrong = ~(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts)))
    if wrong.any():
        raise DiversityError(
            "In the public counts {name}, {count:,} {count:row has|rows have} no whole number of"
            " people, first row {row}.",
            "Correct the file; a combination that nobody is in may be left out.",
            name=name,
            count=int(wrong.sum()),
            row=int(wrong.argmax()) + 1,
        )
    return counts.astype(np.int64)


def check_counts(prepared_suppression: float, public: Sequence[PublicTable]) -> None:
    """Refuse what can't be computed with public counts.

    Raises
    ------
    DiversityError
        If records may be left out.
    """
    if public and prepared_suppression:
        raise DiversityError(
            "With public counts, no records can be left out: who knows the counts knows how many"
            " were.",
            "Let no records be left out, or leave the public counts out.",
        )


def known_to(
    prepared: Prepared, node: Node | None
) -> tuple[list[HolderClasses], list[CrossTabulation]]:
    """Return the tables, ours last at a node if it takes part, and what is known of them."""
    tables = list(prepared.holders)
    ours = None if node is None else our_classes(prepared, node)
    if ours is not None:
        tables.append(ours.classes)
    return tables, [cross_tabulation(each, prepared.holders, ours) for each in prepared.public]


def our_classes(prepared: Prepared, node: Node) -> OurClasses:
    """Return our table's classes at a node, all of them."""
    coded = prepared.coded
    classes = equivalence_classes(coded, node)
    first = np.zeros(len(classes.kept), dtype=np.intp)
    first[classes.of_row[::-1]] = np.arange(len(classes.of_row))[::-1]
    quasi = coded.quasi_identifiers
    labels = tuple(
        tuple(q.labels[at][q.levels[at][q.codes[row]]] for q, at in zip(quasi, node, strict=True))
        for row in first
    )
    counts = np.asarray(classes.counts.todense(), dtype=np.int64)
    ground = np.stack([np.asarray(q.codes, dtype=np.intp)[first] for q in quasi], axis=1)
    own = HolderClasses("", coded.names, labels, counts)
    return OurClasses(own, quasi, node, ground)
