"""What is wrong with a hierarchy's table, row by row, and how each problem can be mended.

Every way to mend a table gives a new one; the old one can be kept. What is said about a problem
names no value of the table. `widened` covers further values, where these change nothing for
the values that a hierarchy has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sfumato.engine.core.errors import HierarchyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Value, number_text
from sfumato.engine.core.wording import Sentence
from sfumato.engine.generalization.hierarchies.recipe import TOP, Recipe
from sfumato.engine.generalization.hierarchies.tree import (
    Hierarchy,
    find_splits,
    in_order,
    value_text,
)

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
class HierarchyProblem:
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
) -> tuple[HierarchyProblem, ...]:
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
    tuple of HierarchyProblem
        Empty where the table lists exactly the column's values and is a tree with one top. A
        missing value that no row lists is no problem: it is a class of its own.
    """
    if not rows:
        return tuple(_absent(set(), values))
    known = {value_text(value) for value in values}
    found: list[HierarchyProblem] = []
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


def _problem(kind: ProblemKind, **details: object) -> HierarchyProblem:
    return HierarchyProblem(kind, mends=MENDS[kind], **details)  # type: ignore[arg-type]


def _uneven(numbered: Sequence[tuple[int, Sequence[str]]], width: int) -> list[HierarchyProblem]:
    found = []
    for number, row in numbered:
        if len(row) != width:
            mend = Mend.FILL_ROW if len(row) < width else Mend.CUT_ROW
            text = row[0] if row else ""
            mends = (mend, Mend.DROP_ROW)
            found.append(
                HierarchyProblem(
                    ProblemKind.UNEVEN, number, text=text, values=len(row), mends=mends
                )
            )
    return found


def _empty_labels(numbered: Sequence[tuple[int, Sequence[str]]]) -> list[HierarchyProblem]:
    return [
        _problem(ProblemKind.EMPTY_LABEL, row=number, level=level, text=row[0])
        for number, row in numbered
        for level, cell in enumerate(row)
        if level > 0 and not cell
    ]


def _repeated(numbered: Sequence[tuple[int, Sequence[str]]]) -> list[HierarchyProblem]:
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
) -> tuple[list[HierarchyProblem], list[HierarchyProblem]]:
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


def _absent(listed: set[str], values: Sequence[Value]) -> list[HierarchyProblem]:
    return [
        _problem(ProblemKind.ABSENT, text=value_text(value))
        for value in values
        if value is not None and value_text(value) not in listed
    ]


def _splits(numbered: Sequence[tuple[int, Sequence[str]]]) -> list[HierarchyProblem]:
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


def _torn(level: int, label: str, members: Sequence[tuple[int, str]]) -> HierarchyProblem:
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


def mended(rows: Rows, problems: Sequence[HierarchyProblem], mend: Mend) -> Rows:
    """Return the table with problems mended, all in one way.

    Parameters
    ----------
    rows
        The table that `find_problems` looked at.
    problems
        Some of the problems it found.
    mend
        One of the ways that each of them lists.

    Returns
    -------
    tuple of tuple of str
        The new table.

    Raises
    ------
    ValueError
        If a problem can't be mended in this way.
    """
    if any(mend not in problem.mends for problem in problems):
        raise ValueError(f"not a way to correct every problem: {mend}")
    return _WAYS[mend](rows, problems)


def _numbers(problems: Sequence[HierarchyProblem]) -> set[int]:
    return {problem.row for problem in problems if problem.row is not None}


def _drop(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    gone = _numbers(problems)
    return tuple(row for number, row in enumerate(rows, start=1) if number not in gone)


def _fill(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    """Repeat a short row's last label but one, so that its top stays at the top."""
    width, chosen = usual_width(rows), _numbers(problems)

    def filled(row: tuple[str, ...]) -> tuple[str, ...]:
        if len(row) < 2:
            return (*(row or ("",)), *(TOP,) * (width - max(1, len(row))))
        repeated = row[-2] if len(row) > 2 else row[-1]
        return (*row[:-1], *(repeated,) * (width - len(row)), row[-1])

    return tuple(filled(row) if n in chosen else row for n, row in enumerate(rows, start=1))


def _cut(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    """Leave out a long row's labels just below its last one, empty cells at its end first."""
    width, chosen = usual_width(rows), _numbers(problems)

    def cut(row: tuple[str, ...]) -> tuple[str, ...]:
        while len(row) > width and not row[-1]:
            row = row[:-1]
        return row if len(row) <= width else (*row[: width - 1], *row[-1:])

    return tuple(cut(row) if n in chosen else row for n, row in enumerate(rows, start=1))


def _label_from_above(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    chosen = {(problem.row, problem.level) for problem in problems}

    def labelled(number: int, row: tuple[str, ...]) -> tuple[str, ...]:
        cells = list(row)
        for level in reversed(range(1, len(cells))):
            if (number, level) in chosen:
                cells[level] = next((cell for cell in cells[level:] if cell), TOP)
        return tuple(cells)

    return tuple(labelled(number, row) for number, row in enumerate(rows, start=1))


def _respell(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    meant = {problem.row: problem.other for problem in problems}
    return tuple(
        (meant[number], *row[1:]) if number in meant else row
        for number, row in enumerate(rows, start=1)
    )


def _add_hidden(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    """Add values that are hidden from level 1 on."""
    width = usual_width(rows)
    top = _top(rows)
    # A star below another top would be torn apart from the stars that are there already.
    return (*rows, *((p.text, *(top,) * (width - 1)) for p in problems))


def _add_own(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    """Add values that stay classes of their own up to the top."""
    width = usual_width(rows)
    top = _top(rows)
    return (*rows, *((p.text, *(p.text,) * (width - 2), top) for p in problems))


def _top(rows: Rows) -> str:
    tops = {row[-1] for row in rows if len(row) > 1}
    return tops.pop() if len(tops) == 1 else TOP


def _use_frequent_parent(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    """Give a class's values the labels of its majority, at every level above."""
    for level, wanted in _by_level(problems):
        models: dict[str, tuple[str, ...]] = {}
        for row in rows:
            if len(row) > level + 1 and wanted.get(row[level]) == row[level + 1]:
                models.setdefault(row[level], row)
        rows = tuple(
            _with_top_of(models.get(row[level]) if len(row) > level else None, row, level)
            for row in rows
        )
    return rows


def _with_top_of(
    model: tuple[str, ...] | None, row: tuple[str, ...], level: int
) -> tuple[str, ...]:
    if model is None or len(model) != len(row):
        return row
    return (*row[: level + 1], *model[level + 1 :])


def _split_class(rows: Rows, problems: Sequence[HierarchyProblem]) -> Rows:
    """Name a class after the label above wherever that is not the usual one."""
    for level, usual in _by_level(problems):
        rows = tuple(
            (*row[:level], f"{row[level]} ({row[level + 1]})", *row[level + 1 :])
            if len(row) > level + 1 and usual.get(row[level], row[level + 1]) != row[level + 1]
            else row
            for row in rows
        )
    return rows


def _by_level(problems: Sequence[HierarchyProblem]) -> list[tuple[int, dict[str, str]]]:
    """Return the usual label above each torn class, by level from the lowest up."""
    found: dict[int, dict[str, str]] = {}
    for problem in problems:
        found.setdefault(problem.level or 0, {})[problem.text] = problem.other
    return sorted(found.items())


def _add_top(rows: Rows, _problems: Sequence[HierarchyProblem]) -> Rows:
    return tuple((*row, TOP) for row in rows)


_WAYS: Final[Mapping[Mend, Callable[[Rows, Sequence[HierarchyProblem]], Rows]]] = MappingProxyType(
    {
        Mend.DROP_ROW: _drop,
        Mend.FILL_ROW: _fill,
        Mend.CUT_ROW: _cut,
        Mend.LABEL_FROM_ABOVE: _label_from_above,
        Mend.RESPELL: _respell,
        Mend.ADD_HIDDEN: _add_hidden,
        Mend.ADD_OWN: _add_own,
        Mend.USE_FREQUENT_PARENT: _use_frequent_parent,
        Mend.SPLIT_CLASS: _split_class,
        Mend.ADD_TOP: _add_top,
    }
)


WHAT: Final[Mapping[ProblemKind, str]] = MappingProxyType(
    {
        ProblemKind.HEADER: "Row {row} looks like headings, not like a value.",
        ProblemKind.UNEVEN: (
            "Row {row} has {values} {values:cell|cells}, which is not as many as most rows have."
        ),
        ProblemKind.EMPTY_LABEL: "Row {row} has no label at level {level}.",
        ProblemKind.REPEATED: "Row {row} repeats row {first}.",
        ProblemKind.CONFLICT: "Row {row} gives the value of row {first} other labels.",
        ProblemKind.SPELLING: "Row {row} spells a value of the column differently.",
        ProblemKind.ABSENT: "The column has a value that no row lists.",
        ProblemKind.NO_TREE: (
            "Row {row}: a class of level {level} has another label above than elsewhere, for"
            " {values} {values:value|values}."
        ),
        ProblemKind.NO_TOP: "Level {level}, the last one, has more than one class.",
        ProblemKind.EXTRA: "Row {row} lists a value that does not occur in the column.",
    }
)
"""A sentence for each kind of problem; its places are the attributes of `HierarchyProblem`."""


def sentence(problem: HierarchyProblem) -> Sentence:
    """Return what a problem is, in a sentence without the value it is about."""
    return Sentence(
        WHAT[problem.kind],
        row=problem.row,
        level=problem.level,
        first=problem.first,
        values=problem.values,
    )


def refuse_problems(problems: Sequence[HierarchyProblem]) -> None:
    """Refuse a table with problems that keep it from being used.

    Raises
    ------
    HierarchyError
        Saying the first of them, and how many there are.
    """
    blocking = [problem for problem in problems if problem.blocks]
    if not blocking:
        return
    others = len(blocking) - 1
    more = (
        Sentence(" There {others:is|are} {others} more {others:problem|problems}.", others=others)
        if others > 1
        else ""
    )
    more = Sentence(" There is one more problem.") if others == 1 else more
    raise HierarchyError(
        "The hierarchy's table can't be used as it is. {problem}{more}",
        "Correct the table, or import it under Attributes, where each problem can be corrected.",
        problem=sentence(blocking[0]),
        more=more,
    )


def mended_throughout(
    rows: Rows, values: Sequence[Value], column: str = ""
) -> tuple[Rows, tuple[HierarchyProblem, ...]]:
    """Return a table with everything mended in the usual way that keeps it from being used.

    Parameters
    ----------
    rows, values, column
        As for `find_problems`.

    Returns
    -------
    tuple
        The new table, and what was mended, in order.
    """
    done: list[HierarchyProblem] = []
    while True:
        blocking = [p for p in find_problems(rows, values, column) if p.blocks]
        if not blocking:
            return rows, tuple(done)
        kind, mend = blocking[0].kind, blocking[0].mends[0]
        alike = [p for p in blocking if p.kind is kind and p.mends[0] is mend]
        # One level at a time: mending it changes which classes above are torn.
        lowest = [problem for problem in alike if problem.level == alike[0].level]
        chosen = lowest if kind is ProblemKind.NO_TREE else alike
        rows = mended(rows, chosen, mend)
        done += chosen


_MOST_TRIED: Final = 500
"""Values that are tried one by one, where they don't fit together."""


def widened(recipe: Recipe, hierarchy: Hierarchy, further: Sequence[Value]) -> Hierarchy:
    """Return a column's hierarchy over further values as well.

    Parameters
    ----------
    recipe
        How the hierarchy was made.
    hierarchy
        What it made of the column's values.
    further
        Values of the same column elsewhere, of the same type.

    Returns
    -------
    Hierarchy
        Over the values that it had and those of `further` that the recipe has a place for. All
        that it had keep their labels at every level; where further values would change them, as
        in an order whose groups are counted off, it is `hierarchy` itself.
    """
    known = set(hierarchy.values)
    new = [value for value in dict.fromkeys(further) if value not in known]
    if not new:
        return hierarchy
    whole = _with(recipe, hierarchy, new)
    if whole is not None:
        return whole
    fitting = [v for v in new[:_MOST_TRIED] if _with(recipe, hierarchy, [v]) is not None]
    return (_with(recipe, hierarchy, fitting) if fitting else None) or hierarchy


def _with(recipe: Recipe, hierarchy: Hierarchy, new: Sequence[Value]) -> Hierarchy | None:
    """Return the hierarchy with more values; None where that is not possible."""
    try:
        made = recipe.build(hierarchy.column, in_order((*hierarchy.values, *new)))
    except (SfumatoError, TypeError):
        return None
    if made.height != hierarchy.height:
        return None
    places = {value: place for place, value in enumerate(made.values)}
    order = [places[value] for value in hierarchy.values]
    same = all(
        tuple(labels[place] for place in order) == before
        for labels, before in zip(made.labels, hierarchy.labels, strict=True)
    )
    return made if same else None
