"""Which classes of several tables can be one person's, and what they tell together.

Several holders may publish the same column. Nobody is young in one table and old in another:
where another table's labels are those of a level of our hierarchy, its classes meet only those of
ours that agree with them at the higher of both levels. So people fall into *blocks*, and inside a
block every class of one table can meet every class of the other.

*Beliefs.* With a people of a value in our class, z in the class of another table and n in the
block, max(0, a + Σ(z - n)) ≤ c ≤ min(a, z) people are in all of them (Fréchet; see `beliefs`, where
every block is the whole table). The greatest belief in a value has most people with it and fewest
with every other. Whoever knows more of how tables go together narrows these bounds and can believe
no more than that. Where a table shows people that ours does not, of whatever value, more of its
people may be others, so that n is unknown and nothing is least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Final

import numpy as np

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Indices, Integers
from sfumato.engine.core.wording import Sentence
from sfumato.engine.generalization.coded import CodedTable, QuasiIdentifier
from sfumato.engine.generalization.criteria import smallest_intersections
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import Breach, HolderClasses, breaches, minimal_sets

LARGEST_BELIEFS: Final = 200_000_000
"""Classes of all tables that can meet, by values, beyond which beliefs are not compared."""

_SLACK: Final = 1e-9
"""How far rounding may carry a belief past its limit."""

_CHUNK: Final = 1 << 20
"""Beliefs that are computed at once."""


class TooManyMeetingError(DiversityError):
    """There are too many classes that can meet to compare what is believed in each."""


@dataclass(frozen=True)
class SharedColumn:
    """A column of another table that is aligned with one of ours.

    Parameters
    ----------
    table
        The number of the table among the others.
    name
        The holder, the column's name there, and ours.
    axis
        The number of our quasi-identifier.
    level
        The level whose labels it has.
    ground
        A ground code that each of its classes covers, shape (C,).
    """

    table: int
    name: tuple[str, str, str]
    axis: int
    level: int
    ground: Indices = field(repr=False)


@dataclass(frozen=True)
class Unaligned:
    """A column of another table that has the name of one of ours and can't be aligned.

    Parameters
    ----------
    holder, column
        Whose it is, and what it is called.
    sentence
        Why not.
    """

    holder: str
    column: str
    sentence: Sentence


def shared_columns(
    table: CodedTable, holders: Sequence[HolderClasses]
) -> tuple[tuple[SharedColumn, ...], tuple[Unaligned, ...]]:
    """Return columns of others' tables that are ours by name and labels, and those by name only.

    Parameters
    ----------
    table
        Ours, with the labels of all levels.
    holders
        The other holders' tables.
    """
    ours = {q.name.casefold(): (axis, q) for axis, q in enumerate(table.quasi_identifiers)}
    found: list[SharedColumn] = []
    left: list[Unaligned] = []
    for number, holder in enumerate(holders):
        for place, name in enumerate(holder.quasi_identifiers):
            if name.casefold() not in ours:
                continue
            axis, quasi = ours[name.casefold()]
            texts = [label[place] for label in holder.labels]
            level = _level_with(quasi, set(texts))
            if level is None:
                why = Sentence(
                    "Column {column} of the table of {holder} has labels that no single level of"
                    " the hierarchy of our {ours} has, so the two are not aligned.",
                    column=name,
                    holder=holder.holder,
                    ours=quasi.name,
                )
                left.append(Unaligned(holder.holder, name, why))
                continue
            codes = np.array([quasi.labels[level].index(text) for text in texts], dtype=np.intp)
            if _contradicts(table, quasi, level, holder, codes):
                why = Sentence(
                    "Column {column} of the table of {holder} contradicts our {ours}: some of its"
                    " labels have more people with a value than ours. So the two are not aligned.",
                    column=name,
                    holder=holder.holder,
                    ours=quasi.name,
                )
                left.append(Unaligned(holder.holder, name, why))
                continue
            first = np.zeros(len(quasi.labels[level]), dtype=np.intp)
            first[quasi.levels[level][::-1]] = np.arange(len(quasi.levels[level]))[::-1]
            names = (holder.holder, name, quasi.name)
            found.append(SharedColumn(number, names, axis, level, first[codes]))
    return tuple(found), tuple(left)


def _level_with(quasi: QuasiIdentifier, texts: set[str]) -> int | None:
    """Return the lowest level that has all these labels, each once; None where none has."""
    for level, labels in enumerate(quasi.labels):
        if texts <= set(labels) and len(set(labels)) == len(labels):
            return level
    return None


def _contradicts(
    table: CodedTable, quasi: QuasiIdentifier, level: int, holder: HolderClasses, codes: Indices
) -> bool:
    """Whether a column shows more people with a value under a label than ours, but not in all."""
    size, labels = table.size, len(quasi.labels[level])
    pairs = quasi.levels[level][quasi.codes] * size + np.asarray(table.sensitive)
    own = np.bincount(pairs, weights=table.weights, minlength=labels * size).reshape(labels, size)
    theirs = np.zeros((labels, size))
    np.add.at(theirs, codes, holder.counts)
    within = bool((theirs.sum(axis=0) <= own.sum(axis=0)).all())
    return within and bool((theirs > own).any())


@dataclass(frozen=True)
class MeetingClasses:
    """Our classes at a node, and which classes of others' tables they can meet.

    Parameters
    ----------
    ours
        Frequencies of the values in our classes, shape (C, m).
    holders
        The other holders' tables.
    blocks
        For each of these, the block of each of our classes and of each of theirs.
    """

    ours: HolderClasses
    holders: tuple[HolderClasses, ...]
    blocks: tuple[tuple[Indices, Indices], ...] = field(repr=False)

    @cached_property
    def _show_others(self) -> tuple[bool, ...]:
        """Whether each of the others' tables shows more people somewhere than ours."""
        size = self.ours.counts.shape[1]
        found = []
        for (own, theirs), holder in zip(self.blocks, self.holders, strict=True):
            blocks = int(max(own.max(initial=0), theirs.max(initial=0))) + 1
            here, there = (np.zeros((blocks, size), dtype=np.int64) for _ in "12")
            np.add.at(here, own, self.ours.counts)
            np.add.at(there, theirs, holder.counts)
            found.append(bool((there > here).any()))
        return tuple(found)

    def without(self, number: int) -> MeetingClasses:
        """Return what is left without one of the others' tables."""
        return replace(
            self,
            holders=(*self.holders[:number], *self.holders[number + 1 :]),
            blocks=(*self.blocks[:number], *self.blocks[number + 1 :]),
        )

    def around(
        self, classes: Sequence[int], tables: Sequence[HolderClasses]
    ) -> tuple[tuple[HolderClasses, ...], tuple[int, ...]] | None:
        """Return what can meet one class of each of some tables, and which of that these are.

        `tables` are the others' and ours, last, with the same classes as here; None where the
        classes can't meet.
        """
        *theirs, own = classes
        numbers: list[Indices] = []
        for (mine, blocks), at in zip(self.blocks, theirs, strict=True):
            if blocks[at] != mine[own]:
                return None
            numbers.append(np.flatnonzero(blocks == mine[own]))
        part = np.ones(self.ours.classes, dtype=np.bool_)
        for mine, _ in self.blocks:
            part &= mine == mine[own]
        numbers.append(np.flatnonzero(part))
        some = [_some(table, which) for table, which in zip(tables, numbers, strict=True)]
        chosen = [
            int(np.searchsorted(which, at)) for which, at in zip(numbers, classes, strict=True)
        ]
        return tuple(some), tuple(chosen)

    def some_that_meet(self) -> tuple[int, ...] | None:
        """Return a class of each table that can be one person's, ours last; None if none can."""
        tables = (*self.holders, self.ours)
        found = (some_with_a_value(tables, (*meeting, part)) for part, meeting in self.parts())
        return next((classes for classes in found if classes is not None), None)

    def parts(self) -> Iterator[tuple[Indices, list[Indices]]]:
        """Yield classes of ours with those of each other table that they can meet."""
        keys = np.zeros(self.ours.classes, dtype=np.intp)
        for own, _ in self.blocks:
            keys = np.unique(keys * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
        order = np.argsort(keys, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
            yield part, [np.flatnonzero(theirs == own[part[0]]) for own, theirs in self.blocks]

    def left(self) -> Integers:
        """Return the fewest values that remain for anybody in each of our classes, shape (C,)."""
        size = self.ours.counts.shape[1]
        found = np.zeros(self.ours.classes, dtype=np.int64)
        for part, meeting in self.parts():
            others = [
                _some(holder, which)
                for holder, which in zip(self.holders, meeting, strict=True)
                if len(which)  # nobody of these is in a table without such a class
            ]
            narrowed = minimal_sets(others, size)
            found[part] = smallest_intersections(self.ours.sets[part], narrowed)
        return found

    def breaches(self, l: int, limit: int) -> list[Breach]:  # noqa: E741
        """Return combinations that can be somebody's and break l, ours last; see `others`."""
        size, found = self.ours.counts.shape[1], list[Breach]()
        for part, meeting in self.parts():
            if len(found) >= limit or not all(map(len, meeting)):
                continue
            numbers = [*meeting, part]
            tables = [*self.holders, self.ours]
            some = [_some(table, which) for table, which in zip(tables, numbers, strict=True)]
            found += [
                replace(
                    each,
                    classes=tuple(
                        int(which[at]) for which, at in zip(numbers, each.classes, strict=True)
                    ),
                )
                for each in breaches(some, l, size, limit - len(found))
            ]
        return sorted(found, key=lambda breach: (len(breach.remaining), breach.classes))

    def largest_belief(self, independent: bool = False, enough: float = 1.0) -> float:
        """Return the largest belief in anybody's value, a share; above `enough` it ends early.

        Parameters
        ----------
        independent
            Whether what tables show is taken to be independent given the value.
        enough
            From which belief on it doesn't matter how much larger it is.

        Raises
        ------
        DiversityError
            If too many classes can meet.
        """
        self._refuse_many()
        largest = 0.0
        for part, meeting in self.parts():
            own = np.unique(self.ours.counts[part], axis=0)
            shares = self._beliefs(own, int(part[0]), meeting, independent)
            for found in shares:
                largest = max(largest, found)
                if largest > enough * (1 + _SLACK) or largest >= 1:
                    return largest
        return largest

    def _refuse_many(self) -> None:
        cells = sum(
            float(len(part)) * np.prod([max(len(which), 1) for which in meeting], dtype=np.float64)
            for part, meeting in self.parts()
        )
        cells *= self.ours.counts.shape[1]
        if cells > LARGEST_BELIEFS:
            raise TooManyMeetingError(
                "What is believed would have to be compared for {cells:,} {cells:value|values} of"
                " classes of all tables that can meet, and at most {limit:,} can be.",
                "Choose coarser levels or fewer tables, or require a number of values instead of a"
                " largest belief.",
                cells=int(cells),
                limit=LARGEST_BELIEFS,
            )

    def _beliefs(
        self, own: Integers, first: int, meeting: Sequence[Indices], independent: bool
    ) -> Iterator[float]:
        """Yield the largest beliefs in classes that can meet, some of them at once."""
        size = own.shape[1]
        most = np.full((1, size), np.inf)
        apart = np.zeros((1, size))
        given = np.ones((1, size))
        for (own_blocks, _), holder, which, shows_others in zip(
            self.blocks, self.holders, meeting, self._show_others, strict=True
        ):
            if not len(which):
                continue
            theirs = np.unique(holder.counts[which], axis=0)
            there = holder.counts[which].sum(axis=0)
            here = self.ours.counts[own_blocks == own_blocks[first]].sum(axis=0)
            people = here + there if shows_others else here
            most = _pairs(np.minimum, most, theirs)
            apart = _pairs(np.add, apart, theirs - people)
            shares = np.divide(theirs, there, out=np.zeros(theirs.shape), where=there > 0)
            given = _pairs(np.multiply, given, shares)
        step = max(1, _CHUNK // (max(len(own), 1) * size))
        for start in range(0, len(most), step):
            chosen = slice(start, start + step)
            if independent:
                yield _largest_share(own[:, None] * given[chosen])
            else:
                high = np.minimum(own[:, None], most[chosen])
                low = np.maximum(own[:, None] + apart[chosen], 0)
                yield _largest_possible(high, low)


def _some(table: HolderClasses, which: Indices) -> HolderClasses:
    """Return some of a table's classes."""
    labels = tuple(table.labels[number] for number in which)
    return replace(table, labels=labels, counts=table.counts[which])


def _pairs(combine: np.ufunc, first: Floats, second: Floats | Integers) -> Floats:
    """Return every row of the first with every row of the second."""
    found: Floats = combine(first[:, None], second[None]).reshape(-1, first.shape[1])
    return found


def _largest_share(weights: Floats) -> float:
    """Return the largest share of one weight in all of its row, 0 where all rows are empty."""
    totals = weights.sum(axis=-1)
    most = weights.max(axis=-1)
    return float(np.divide(most, totals, out=np.zeros(totals.shape), where=totals > 0).max())


def _largest_possible(high: Floats, low: Floats) -> float:
    """Return the largest share that counts between `low` and `high` allow."""
    totals = high + low.sum(axis=-1, keepdims=True) - low
    return float(np.divide(high, totals, out=np.zeros(high.shape), where=totals > 0).max())


def meeting_classes(
    ours: HolderClasses,
    ground: Indices,
    node: Node,
    quasi: Sequence[QuasiIdentifier],
    holders: Sequence[HolderClasses],
    shared: Sequence[SharedColumn],
) -> MeetingClasses:
    """Return which classes can meet ours at a node.

    Parameters
    ----------
    ours
        Our classes.
    ground
        The ground codes of one record of each, shape (C, quasi-identifiers).
    node, quasi
        The level of each quasi-identifier, and these.
    holders, shared
        The other holders' tables, and what they share with ours.
    """
    blocks = []
    for number, holder in enumerate(holders):
        own = np.zeros(ours.classes, dtype=np.intp)
        theirs = np.zeros(holder.classes, dtype=np.intp)
        for each in shared:
            if each.table != number:
                continue
            groups = quasi[each.axis].levels[max(node[each.axis], each.level)]
            both = np.concatenate([own, theirs]) * (int(groups.max()) + 1) + np.concatenate(
                [groups[ground[:, each.axis]], groups[each.ground]]
            )
            both = np.unique(both, return_inverse=True)[1].astype(np.intp)
            own, theirs = both[: len(own)], both[len(own) :]
        blocks.append((own, theirs))
    return MeetingClasses(ours, tuple(holders), tuple(blocks))


def some_with_a_value(
    tables: Sequence[HolderClasses], among: Sequence[Indices]
) -> tuple[int, ...] | None:
    """Return the first classes of several tables that have a value in common.

    Parameters
    ----------
    tables, among
        The tables, and which classes of each can meet.

    Returns
    -------
    tuple of int or None
        A class of each table; None where no value is in all of them.
    """
    shown = [table.counts[which] > 0 for table, which in zip(tables, among, strict=True)]
    common = np.logical_and.reduce([flags.any(axis=0) for flags in shown])
    if not common.any():
        return None
    firsts = np.array(
        [which[flags.argmax(axis=0)] for which, flags in zip(among, shown, strict=True)]
    )
    return min(tuple(map(int, classes)) for classes in firsts[:, common].T)
