"""Which combinations of classes narrow a value too far, and whose table is the cause."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt

from sfumato.engine.generalization.bitsets import (
    SetArray,
    cardinality,
    from_flags,
    members,
    smallest_intersections,
)
from sfumato.engine.generalization.others import HolderClasses, minimal_sets


@dataclass(frozen=True)
class Breach:
    """Classes, one of each table, that share fewer than l sensitive values.

    Parameters
    ----------
    classes
        The number of the class in each table; of classes with the same values, the first.
    remaining
        The values they share, as codes of our domain.
    combinations
        How many combinations of classes show the same sets.
    needed
        The holders without whose table l values would remain.
    """

    classes: tuple[int, ...]
    remaining: tuple[int, ...] = field(repr=False)
    combinations: int
    needed: tuple[str, ...]


@dataclass(frozen=True)
class HolderStanding:
    """What one table contributes.

    Parameters
    ----------
    holder
        Whose it is.
    classes
        How many equivalence classes it has.
    diversity
        The fewest values of a class: the l it keeps by itself.
    without
        The fewest values that all the other tables leave without it.
    is_cause
        Whether leaving it out is enough to keep l values.
    """

    holder: str
    classes: int
    diversity: int
    without: int
    is_cause: bool


@dataclass(frozen=True)
class Standing:
    """What several published tables leave of everybody's value.

    Parameters
    ----------
    l
        The values that should remain.
    weakest
        The fewest values that a combination leaves: the greatest l that holds. A table that is
        published beside these can't keep more, however general it is.
    holders
        What each table contributes.
    """

    l: int  # noqa: E741
    weakest: int
    holders: tuple[HolderStanding, ...]

    @property
    def holds(self) -> bool:
        """Whether every combination keeps l values."""
        return self.weakest >= self.l


def standing_of(holders: Sequence[HolderClasses], l: int, size: int) -> Standing:  # noqa: E741
    """Return what several published tables leave of everybody's value.

    Parameters
    ----------
    holders
        The tables, ours among them where it is to be judged as well.
    l
        The values that should remain.
    size
        The number of values in our domain, m.
    """
    weakest = weakest_of(holders, size)
    standings = []
    for number, holder in enumerate(holders):
        without = weakest_of([*holders[:number], *holders[number + 1 :]], size)
        cause = weakest < l <= without
        standings.append(
            HolderStanding(holder.holder, holder.classes, holder.diversity, without, cause)
        )
    return Standing(l, weakest, tuple(standings))


def weakest_of(holders: Sequence[HolderClasses], size: int) -> int:
    """Return the fewest values that any combination of classes leaves; m without a table."""
    return int(cardinality(minimal_sets(holders, size)).min())


def breaches(
    holders: Sequence[HolderClasses],
    l: int,  # noqa: E741
    size: int,
    limit: int = 1000,
) -> list[Breach]:
    """Return combinations that break l, those that leave fewest values first.

    Parameters
    ----------
    holders
        The tables.
    l
        The values that should remain.
    size
        The number of values in our domain, m.
    limit
        How many are listed at most. A combination is followed only while some way to complete it
        breaks l, so that none are listed in vain.
    """
    once = [_by_set(holder) for holder in holders]
    rests = [minimal_sets(holders[number:], size) for number in range(1, len(holders) + 1)]
    everything = from_flags(np.ones((1, size), dtype=np.bool_))[0]
    found = []
    for chosen in islice(_breaking(once, rests, l, everything), limit):
        sets = [once[table].sets[number] for table, number in enumerate(chosen)]
        shared = np.bitwise_and.reduce([everything, *sets])
        needed = tuple(
            holder.holder
            for table, holder in enumerate(holders)
            if cardinality(np.bitwise_and.reduce([everything, *sets[:table], *sets[table + 1 :]]))
            >= l
        )
        found.append(
            Breach(
                tuple(int(once[t].first[number]) for t, number in enumerate(chosen)),
                members(shared, size),
                math.prod(int(once[t].classes[number]) for t, number in enumerate(chosen)),
                needed,
            )
        )
    return sorted(found, key=lambda breach: (len(breach.remaining), breach.classes))


@dataclass(frozen=True)
class _BySet:
    """A table's classes, those with the same values as one."""

    sets: SetArray
    first: npt.NDArray[np.intp]
    classes: npt.NDArray[np.intp]


def _by_set(holder: HolderClasses) -> _BySet:
    sets, first, classes = np.unique(holder.sets, axis=0, return_index=True, return_counts=True)
    return _BySet(sets, first, classes)


def _breaking(
    once: Sequence[_BySet],
    rests: Sequence[SetArray],
    l: int,  # noqa: E741
    shared: SetArray,
) -> Iterator[tuple[int, ...]]:
    """Yield the combinations of sets that leave fewer than l values of those shared so far."""
    if not once:
        yield ()
        return
    narrowed = once[0].sets & shared
    hopeless = smallest_intersections(narrowed, rests[0]) >= l
    for number in np.flatnonzero(~hopeless):
        for rest in _breaking(once[1:], rests[1:], l, narrowed[number]):
            yield (int(number), *rest)
