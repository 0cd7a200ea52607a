"""What is said about a problem of a hierarchy's table, without the values it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.values import Value
from sfumato.engine.core.wording import Sentence
from sfumato.engine.generalization.hierarchies.problems import (
    Problem,
    ProblemKind,
    Rows,
    find_problems,
)
from sfumato.engine.generalization.hierarchies.repair import mended

WHAT: Final[Mapping[ProblemKind, str]] = MappingProxyType(
    {
        ProblemKind.HEADER: "Row {row} looks like headings, not like a value.",
        ProblemKind.UNEVEN: "Row {row} has {values} cells, which is not as many as most rows have.",
        ProblemKind.EMPTY_LABEL: "Row {row} has no label at level {level}.",
        ProblemKind.REPEATED: "Row {row} repeats row {first}.",
        ProblemKind.CONFLICT: "Row {row} gives the value of row {first} other labels.",
        ProblemKind.SPELLING: "Row {row} spells a value of the column differently.",
        ProblemKind.ABSENT: "The column has a value that no row lists.",
        ProblemKind.NO_TREE: (
            "Row {row}: a class of level {level} has another label above than elsewhere, for"
            " {values} values."
        ),
        ProblemKind.NO_TOP: "Level {level}, the last one, has more than one class.",
        ProblemKind.EXTRA: "Row {row} lists a value that does not occur in the column.",
    }
)
"""A sentence for each kind of problem; its places are the attributes of `Problem`."""


def sentence(problem: Problem) -> Sentence:
    """Return what a problem is, in a sentence without the value it is about."""
    return Sentence(
        WHAT[problem.kind],
        row=problem.row,
        level=problem.level,
        first=problem.first,
        values=problem.values,
    )


def refuse_problems(problems: Sequence[Problem]) -> None:
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
    more = Sentence(" There are {others} more problems.", others=others) if others > 1 else ""
    more = Sentence(" There is one more problem.") if others == 1 else more
    raise HierarchyError(
        "The hierarchy's table can't be used as it is. {problem}{more}",
        "Mend the table, or import it under Attributes, where each problem can be mended.",
        problem=sentence(blocking[0]),
        more=more,
    )


def mended_throughout(
    rows: Rows, values: Sequence[Value], column: str = ""
) -> tuple[Rows, tuple[Problem, ...]]:
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
    done: list[Problem] = []
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
