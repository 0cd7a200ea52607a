"""What is wrong with a hierarchy's table, row by row, and how each problem can be mended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sfumato.engine.core.values import Value, number_text
from sfumato.engine.generalization.hierarchies.leaves import value_text
from sfumato.engine.generalization.hierarchies.tree import find_splits

Rows = tuple[tuple[str, ...], ...]
"""A hierarchy's table: each row a value and its labels from level 1 up."""

HEADINGS: Final = frozenset({"value", "values", "level 0", "level0", "level_0", "ground"})


class ProblemKind(StrEnum):
    """What can be wrong with a table."""

    HEADER = "header"
    """The first row names columns, not a value."""
    UNEVEN = "uneven"
    """A row has more or fewer cells than most."""
    EMPTY_LABEL = "empty label"
    """A value has no label at a level."""
    REPEATED = "repeated"
    """A value stands in two rows with the same labels."""
    CONFLICT = "conflict"
    """A value stands in two rows with different labels."""
    SPELLING = "spelling"
    """A row's value differs from one of the column by case, blanks or a decimal point."""
    ABSENT = "absent"
    """The column has a value that no row lists."""
    NO_TREE = "no tree"
    """The values of a class have different labels one level up."""
    NO_TOP = "no top"
    """The last level has more than one class."""
    EXTRA = "extra"
    """A row's value does not occur in the column, which does no harm."""


class Mend(StrEnum):
    """A way to mend a problem."""

    DROP_ROW = "drop the row"
    FILL_ROW = "fill the row"
    CUT_ROW = "cut the row"
    LABEL_FROM_ABOVE = "take the label from above"
    RESPELL = "respell"
    ADD_HIDDEN = "add as *"
    ADD_OWN = "add on its own"
    USE_FREQUENT_PARENT = "use the more frequent label above"
    SPLIT_CLASS = "make two classes"
    ADD_TOP = "add *"


MENDS: Final[Mapping[ProblemKind, tuple[Mend, ...]]] = MappingProxyType(
    {
        ProblemKind.HEADER: (Mend.DROP_ROW,),
        ProblemKind.EMPTY_LABEL: (Mend.LABEL_FROM_ABOVE, Mend.DROP_ROW),
        ProblemKind.REPEATED: (Mend.DROP_ROW,),
        ProblemKind.CONFLICT: (Mend.DROP_ROW,),
        ProblemKind.SPELLING: (Mend.RESPELL, Mend.DROP_ROW),
        ProblemKind.ABSENT: (Mend.ADD_HIDDEN, Mend.ADD_OWN),
        ProblemKind.NO_TREE: (Mend.USE_FREQUENT_PARENT, Mend.SPLIT_CLASS),
        ProblemKind.NO_TOP: (Mend.ADD_TOP,),
        ProblemKind.EXTRA: (Mend.DROP_ROW,),
    }
)
"""The ways to mend each kind of problem but uneven rows, the usual one first."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a table.

    Parameters
    ----------
    kind
        What it is.
    row
        The table's row, from 1; None where no row is to blame.
    level
        The level that it is about.
    text
        The value or label that it is about, to be shown to the custodian and nobody else.
    other
        What it should be or is at odds with: the column's spelling, the frequent label above.
    first
        The row that a repeated value stands in first, from 1.
    values
        How many values are concerned.
    mends
        The ways to mend it, the usual one first.
    """

    kind: ProblemKind
    row: int | None = None
    level: int | None = None
    text: str = field(default="", repr=False)
    other: str = field(default="", repr=False)
    first: int | None = None
    values: int = 1
    mends: tuple[Mend, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether the table can't be used before this is mended."""
        return self.kind not in (ProblemKind.EXTRA, ProblemKind.NO_TOP)


def find_problems(
    rows: Sequence[Sequence[str]], values: Sequence[Value], column: str = ""
) -> tuple[Problem, ...]:
    """Return everything that is wrong with a table for a column, in the order to mend it.

    Parameters
    ----------
    rows
        The table, each row a value's text and its labels.
    values
        The column's ground values.
    column
        The column's name, which a heading may repeat.

    Returns
    -------
    tuple of Problem
        Empty where the table lists exactly the column's values and is a tree with one top. A
        missing value that no row lists is no problem: it is a class of its own.
    """
    if not rows:
        return tuple(_absent(set(), values))
    known = {value_text(value) for value in values}
    found: list[Problem] = []
    first = rows[0][0] if rows[0] else ""
    headings = HEADINGS | ({column.casefold()} if column else set())
    heads = first not in known and first.strip().casefold() in headings
    if heads:
        found.append(_problem(ProblemKind.HEADER, row=1, text=first))
    numbered = [(number, row) for number, row in enumerate(rows, start=1) if number > heads]
    width = usual_width([row for _, row in numbered])
    found += _uneven(numbered, width)
    even = [(number, row) for number, row in numbered if len(row) == width]
    found += _empty_labels(even)
    found += _repeated(numbered)
    listed = {row[0] for _, row in numbered if row}
    spelled, extra = _strangers(numbered, known, listed)
    found += spelled
    found += _absent(listed | {problem.other for problem in spelled}, values)
    full = [row for _, row in even if all(row[1:])]
    if full:
        found += _splits(even)
        if len({row[-1] for row in full}) > 1:
            found.append(_problem(ProblemKind.NO_TOP, level=width - 1))
    return (*found, *extra)


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of cells that most rows have, two at least.

    Where two numbers are as usual, it is the larger one.
    """
    widths = Counter(max(len(row), 2) for row in rows)
    return max(widths, key=lambda width: (widths[width], width), default=2)


def _problem(kind: ProblemKind, **details: object) -> Problem:
    return Problem(kind, mends=MENDS[kind], **details)  # type: ignore[arg-type]


def _uneven(numbered: Sequence[tuple[int, Sequence[str]]], width: int) -> list[Problem]:
    found = []
    for number, row in numbered:
        if len(row) != width:
            mend = Mend.FILL_ROW if len(row) < width else Mend.CUT_ROW
            text = row[0] if row else ""
            mends = (mend, Mend.DROP_ROW)
            found.append(
                Problem(ProblemKind.UNEVEN, number, text=text, values=len(row), mends=mends)
            )
    return found


def _empty_labels(numbered: Sequence[tuple[int, Sequence[str]]]) -> list[Problem]:
    return [
        _problem(ProblemKind.EMPTY_LABEL, row=number, level=level, text=row[0])
        for number, row in numbered
        for level, cell in enumerate(row)
        if level > 0 and not cell
    ]


def _repeated(numbered: Sequence[tuple[int, Sequence[str]]]) -> list[Problem]:
    first: dict[str, tuple[int, Sequence[str]]] = {}
    found = []
    for number, row in numbered:
        if not row:
            continue
        before = first.setdefault(row[0], (number, row))
        if before[0] != number:
            same = list(before[1]) == list(row)
            kind = ProblemKind.REPEATED if same else ProblemKind.CONFLICT
            found.append(_problem(kind, row=number, text=row[0], first=before[0]))
    return found


def _strangers(
    numbered: Sequence[tuple[int, Sequence[str]]], known: set[str], listed: set[str]
) -> tuple[list[Problem], list[Problem]]:
    """Return the rows whose values are misspelled, and those whose values do not occur."""
    by_spelling = {_spelling(text): text for text in sorted(known - listed)}
    spelled, extra = [], []
    for number, row in numbered:
        if not row or row[0] in known:
            continue
        meant = by_spelling.pop(_spelling(row[0]), None)
        if meant is not None:
            spelled.append(_problem(ProblemKind.SPELLING, row=number, text=row[0], other=meant))
        else:
            extra.append(_problem(ProblemKind.EXTRA, row=number, text=row[0]))
    return spelled, extra


def _spelling(text: str) -> str:
    """Return what two spellings of one value have in common."""
    plain = " ".join(text.split()).casefold()
    try:
        return number_text(float(plain))
    except ValueError:
        return plain


def _absent(listed: set[str], values: Sequence[Value]) -> list[Problem]:
    return [
        _problem(ProblemKind.ABSENT, text=value_text(value))
        for value in values
        if value is not None and value_text(value) not in listed
    ]


def _splits(numbered: Sequence[tuple[int, Sequence[str]]]) -> list[Problem]:
    """Return one problem for each torn class, at the first row that leaves the majority."""
    full = [(number, row) for number, row in numbered if all(row[1:])]
    # Level 0 is left out: a value in two rows is a problem of its own.
    splits = find_splits(list(zip(*(row[1:] for _, row in full), strict=True)))
    torn = {(split.level + 1, split.label or "") for split in splits}
    members: dict[tuple[int, str], list[tuple[int, str]]] = {key: [] for key in torn}
    for number, row in full:
        for level in range(1, len(row) - 1):
            if (level, row[level]) in members:
                members[level, row[level]].append((number, row[level + 1]))
    return [_torn(level, label, found) for (level, label), found in sorted(members.items())]


def _torn(level: int, label: str, members: Sequence[tuple[int, str]]) -> Problem:
    """Return the problem of a class, given its rows with the labels above."""
    above = Counter(parent for _, parent in members)
    frequent = above.most_common(1)[0][0]
    return _problem(
        ProblemKind.NO_TREE,
        row=next(number for number, parent in members if parent != frequent),
        level=level,
        text=label,
        other=frequent,
        values=len(members) - above[frequent],
    )
