"""Mending a hierarchy's table: every way gives a new table, the old one can be kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from sfumato.engine.generalization.hierarchies.problems import Mend, Problem, Rows, usual_width
from sfumato.engine.generalization.hierarchies.recipe import TOP


def mended(rows: Rows, problems: Sequence[Problem], mend: Mend) -> Rows:
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
        raise ValueError(f"not a way to mend every problem: {mend}")
    return _WAYS[mend](rows, problems)


def _numbers(problems: Sequence[Problem]) -> set[int]:
    return {problem.row for problem in problems if problem.row is not None}


def _drop(rows: Rows, problems: Sequence[Problem]) -> Rows:
    gone = _numbers(problems)
    return tuple(row for number, row in enumerate(rows, start=1) if number not in gone)


def _fill(rows: Rows, problems: Sequence[Problem]) -> Rows:
    """Repeat a short row's last label but one, so that its top stays at the top."""
    width, chosen = usual_width(rows), _numbers(problems)

    def filled(row: tuple[str, ...]) -> tuple[str, ...]:
        if len(row) < 2:
            return (*(row or ("",)), *(TOP,) * (width - max(1, len(row))))
        repeated = row[-2] if len(row) > 2 else row[-1]
        return (*row[:-1], *(repeated,) * (width - len(row)), row[-1])

    return tuple(filled(row) if n in chosen else row for n, row in enumerate(rows, start=1))


def _cut(rows: Rows, problems: Sequence[Problem]) -> Rows:
    """Leave out a long row's labels just below its last one, empty cells at its end first."""
    width, chosen = usual_width(rows), _numbers(problems)

    def cut(row: tuple[str, ...]) -> tuple[str, ...]:
        while len(row) > width and not row[-1]:
            row = row[:-1]
        return row if len(row) <= width else (*row[: width - 1], *row[-1:])

    return tuple(cut(row) if n in chosen else row for n, row in enumerate(rows, start=1))


def _label_from_above(rows: Rows, problems: Sequence[Problem]) -> Rows:
    chosen = {(problem.row, problem.level) for problem in problems}

    def labelled(number: int, row: tuple[str, ...]) -> tuple[str, ...]:
        cells = list(row)
        for level in reversed(range(1, len(cells))):
            if (number, level) in chosen:
                cells[level] = next((cell for cell in cells[level:] if cell), TOP)
        return tuple(cells)

    return tuple(labelled(number, row) for number, row in enumerate(rows, start=1))


def _respell(rows: Rows, problems: Sequence[Problem]) -> Rows:
    meant = {problem.row: problem.other for problem in problems}
    return tuple(
        (meant[number], *row[1:]) if number in meant else row
        for number, row in enumerate(rows, start=1)
    )


def _add_hidden(rows: Rows, problems: Sequence[Problem]) -> Rows:
    """Add values that are hidden from level 1 on."""
    width = usual_width(rows)
    top = _top(rows)
    # A star below another top would be torn apart from the stars that are there already.
    return (*rows, *((p.text, *(top,) * (width - 1)) for p in problems))


def _add_own(rows: Rows, problems: Sequence[Problem]) -> Rows:
    """Add values that stay classes of their own up to the top."""
    width = usual_width(rows)
    top = _top(rows)
    return (*rows, *((p.text, *(p.text,) * (width - 2), top) for p in problems))


def _top(rows: Rows) -> str:
    tops = {row[-1] for row in rows if len(row) > 1}
    return tops.pop() if len(tops) == 1 else TOP


def _use_frequent_parent(rows: Rows, problems: Sequence[Problem]) -> Rows:
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


def _split_class(rows: Rows, problems: Sequence[Problem]) -> Rows:
    """Name a class after the label above wherever that is not the usual one."""
    for level, usual in _by_level(problems):
        rows = tuple(
            (*row[:level], f"{row[level]} ({row[level + 1]})", *row[level + 1 :])
            if len(row) > level + 1 and usual.get(row[level], row[level + 1]) != row[level + 1]
            else row
            for row in rows
        )
    return rows


def _by_level(problems: Sequence[Problem]) -> list[tuple[int, dict[str, str]]]:
    """Return the usual label above each torn class, by level from the lowest up."""
    found: dict[int, dict[str, str]] = {}
    for problem in problems:
        found.setdefault(problem.level or 0, {})[problem.text] = problem.other
    return sorted(found.items())


def _add_top(rows: Rows, problems: Sequence[Problem]) -> Rows:
    del problems
    return tuple((*row, TOP) for row in rows)


_WAYS: Final[Mapping[Mend, Callable[[Rows, Sequence[Problem]], Rows]]] = MappingProxyType(
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
