"""Why no generalization is safe, and what would help."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.criteria import Criterion, NonCentralizedDiversity
from sfumato.engine.generalization.others import HolderClasses, minimal_sets
from sfumato.engine.generalization.publication import equivalence_classes
from sfumato.engine.generalization.search import allowed_records, check_criteria

_MOST_DROPPED = 3
"""Quasi-identifiers that are looked at together."""


@dataclass(frozen=True)
class NoSolution:
    """What stands in the way, when not even the highest levels are safe.

    Parameters
    ----------
    rows
        Records in the table.
    standing_out
        Records that stand out at the highest levels.
    allowed
        Records that may be left out.
    failing
        The criteria that fail there, each looked at by itself.
    dropping
        The smallest choices of quasi-identifiers whose removal, or one more level with a single
        group, gives a solution.
    without_holder
        Other holders without whose table there is a solution.
    """

    rows: int
    standing_out: int
    allowed: int
    failing: tuple[str, ...]
    dropping: tuple[tuple[str, ...], ...]
    without_holder: tuple[str, ...]

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, in plain words."""
        advice = [
            Sentence(
                "Give {names} one more level with a single group, or leave {count:it|them} out.",
                names=listed(names),
                count=len(names),
            )
            for names in self.dropping
        ]
        if self.allowed < self.standing_out < self.rows:
            advice.append(
                Sentence(
                    "Let {standing_out} {standing_out:record|records} be left out; now it is"
                    " {allowed}.",
                    standing_out=self.standing_out,
                    allowed=self.allowed,
                )
            )
        advice += [
            Sentence("Without the table of {holder} there is a solution.", holder=holder)
            for holder in self.without_holder
        ]
        return tuple(advice)


def explain_no_solution(
    table: CodedTable,
    criteria: Sequence[Criterion],
    suppression: float = 0.0,
    holders: Sequence[HolderClasses] = (),
) -> NoSolution:
    """Return what stands in the way of a solution.

    Parameters
    ----------
    table, criteria, suppression
        What was searched without finding a safe node.
    holders
        The other holders' tables behind a `NonCentralizedDiversity`.

    Raises
    ------
    DiversityError
        If a criterion can't be satisfied by any generalization; the error says why.
    """
    allowed = allowed_records(table, suppression)
    in_the_way = _holders_in_the_way(table, criteria, allowed, holders)
    if not in_the_way:
        check_criteria(table, criteria, allowed)
    standing_out = _standing_out(table, criteria)
    failing = tuple(c.title for c in criteria if _standing_out(table, [c]) > allowed)
    return NoSolution(
        table.rows,
        standing_out,
        allowed,
        failing,
        _droppings(table, criteria, allowed),
        in_the_way,
    )


def _standing_out(table: CodedTable, criteria: Sequence[Criterion]) -> int:
    """Return the records that stand out at the highest levels."""
    return equivalence_classes(table, table.lattice.top, criteria).suppressed


def _droppings(
    table: CodedTable, criteria: Sequence[Criterion], allowed: int
) -> tuple[tuple[str, ...], ...]:
    """Return the smallest choices of quasi-identifiers that stand in the way."""
    several = [q.name for q in table.quasi_identifiers if q.sizes[-1] > 1]
    for number in range(1, min(len(several), _MOST_DROPPED) + 1):
        found = tuple(
            names
            for names in itertools.combinations(several, number)
            if _standing_out(_without(table, names), criteria) <= allowed
        )
        if found:
            return found
    return ()


def _without(table: CodedTable, names: tuple[str, ...]) -> CodedTable:
    """Return the table with all values of some quasi-identifiers alike."""
    quasi = [
        replace(q, levels=(np.zeros_like(q.levels[0]),), codes=np.zeros_like(q.codes), labels=())
        if q.name in names
        else q
        for q in table.quasi_identifiers
    ]
    return replace(table, quasi_identifiers=tuple(quasi))


def _holders_in_the_way(
    table: CodedTable,
    criteria: Sequence[Criterion],
    allowed: int,
    holders: Sequence[HolderClasses],
) -> tuple[str, ...]:
    """Return the holders without whose table there is a solution."""
    found = []
    for number, holder in enumerate(holders):
        rest = minimal_sets([*holders[:number], *holders[number + 1 :]], table.size)
        relaxed = [
            replace(each, others=rest) if isinstance(each, NonCentralizedDiversity) else each
            for each in criteria
        ]
        if _standing_out(table, relaxed) <= allowed:
            found.append(holder.holder)
    return tuple(found)
