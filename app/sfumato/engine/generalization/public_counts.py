"""What remains possible for somebody who also knows how many people several tables share.

Counts of people by the public columns of several tables are public often enough: a census counts
by age and by place. Then people with one value can no more be placed whatever is done with those
with another, and a value that occurs in all of a person's classes may be ruled out (see
`beliefs`). What remains is what the person has in *some* table of whole numbers that agrees with
every published one and with all counts.

Such tables have three margins, and whether there is one at all is a hard question in general, so
that no formula answers it. Each whole-numbered program shows as many values at once as it can that
were not shown to be possible yet; once it shows no more, the rest is impossible. What could not be
settled counts as impossible, which errs on the side of privacy.

Both properties that the search rests on hold. A table at higher levels follows from one at lower
levels, so that every way that agrees with the lower one agrees with the higher one: whatever is
possible for a person stays so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Indices, Integers
from sfumato.engine.generalization.beliefs import all_people
from sfumato.engine.generalization.coded import QuasiIdentifier
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import (
    Breach,
    HolderClasses,
    HolderStanding,
    RemainingValues,
)

LARGEST_PROGRAM: Final = 20_000
"""Cells of all classes by all values, beyond which no whole-numbered program is set up."""

_GOOD: Final = 0.9
"""How far short of the best table another one may be that shows something, as a share."""

_WALKS: Final = 3
"""How often each cell is tried from the table that was found, and from those near it."""

_NODES: Final = 2_000
"""Branches that a program may take: a limit in seconds would make answers differ by machine."""


class ProgramSizeError(DiversityError):
    """There are too many cells to tell what public counts leave."""


@dataclass(frozen=True)
class PublicTable:
    """A public table of counts.

    Parameters
    ----------
    name
        What it is called.
    places
        For each of its columns, whose table it is a column of (empty for ours) and which.
    labels
        The labels of each column.
    codes
        For each row, the number of its label in each column, shape (rows, columns).
    counts
        How many people each row counts, shape (rows,).
    """

    name: str
    places: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, ...], ...] = field(repr=False)
    codes: Indices = field(repr=False)
    counts: Integers = field(repr=False)


@dataclass(frozen=True)
class OurClasses:
    """Our table's classes at a node, by which public labels are found in our hierarchies.

    Parameters
    ----------
    classes
        As another holder's are.
    quasi_identifiers
        With the texts of their levels.
    node
        The level of each.
    ground
        The ground codes of one record of each class, shape (C, quasi-identifiers).
    """

    classes: HolderClasses
    quasi_identifiers: tuple[QuasiIdentifier, ...] = field(repr=False)
    node: Node
    ground: Indices = field(repr=False)


@dataclass(frozen=True)
class CrossTabulation:
    """How many people are in each region of several tables at once.

    Parameters
    ----------
    name
        What the counts are called.
    regions
        For each table, the region that each of its classes is in; shape (C,) each.
    counts
        Shape (R1, …, Rh); a table that is not counted by has one region.
    """

    name: str
    regions: tuple[Indices, ...] = field(repr=False)
    counts: Integers = field(repr=False)

    def without(self, table: int) -> CrossTabulation:
        """Return what is known of the other tables."""
        regions = (*self.regions[:table], *self.regions[table + 1 :])
        return CrossTabulation(self.name, regions, self.counts.sum(axis=table))


def cross_tabulation(
    public: PublicTable, holders: Sequence[HolderClasses], ours: OurClasses | None
) -> CrossTabulation:
    """Return public counts by the regions of tables' classes.

    Where the counts are finer than our levels they are added up; where they are coarser, several
    classes are one region.

    Parameters
    ----------
    public
        The counts.
    holders
        The other holders' tables.
    ours
        Ours, which comes last; None where it takes no part.

    Raises
    ------
    DiversityError
        If a column or a label is not known, or the counts contradict a table.
    """
    tables = [*holders, *([ours.classes] if ours is not None else [])]
    regions, of_rows = [], []
    for place, table in enumerate(tables):
        own = ours is not None and place == len(holders)
        of_class, of_row = [], []
        for column, (holder, name) in enumerate(public.places):
            if holder != ("" if own else table.holder):
                continue
            if own and ours is not None:
                first, second = _in_our_hierarchy(public, column, name, ours)
            else:
                first, second = _in_their_table(public, column, name, table)
            of_class.append(first)
            of_row.append(second[public.codes[:, column]])
        region, row = _as_one(of_class, of_row, table.classes, len(public.counts))
        _refuse_unknown(public, row, table.holder)
        regions.append(region)
        of_rows.append(row)
    shape = tuple(int(region.max()) + 1 for region in regions)
    used = np.flatnonzero(public.counts > 0)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(row[used] for row in of_rows), public.counts[used])
    found = CrossTabulation(public.name, tuple(regions), counts)
    _refuse_contradiction(found, tables)
    return found


def _in_their_table(
    public: PublicTable, column: int, name: str, table: HolderClasses
) -> tuple[Indices, Indices]:
    """Return the number of each class's label, and of each public label; -1 where unknown."""
    if name not in table.quasi_identifiers:
        raise DiversityError(
            "The public counts {name} are by {column}, which is no public column of the table of"
            " {holder}.",
            "Choose one of its public columns.",
            name=public.name,
            column=name,
            holder=table.holder,
        )
    place = table.quasi_identifiers.index(name)
    numbers: dict[str, int] = {}
    of_class = [numbers.setdefault(label[place], len(numbers)) for label in table.labels]
    return np.array(of_class), np.array([numbers.get(text, -1) for text in public.labels[column]])


def _in_our_hierarchy(
    public: PublicTable, column: int, name: str, ours: OurClasses
) -> tuple[Indices, Indices]:
    """Return each class's and each public label's group at the higher of both levels."""
    names = [quasi.name for quasi in ours.quasi_identifiers]
    if name not in names:
        raise DiversityError(
            "The public counts {name} are by {column}, which is not generalized here.",
            "Choose one of: {known}.",
            name=public.name,
            column=name,
            known=", ".join(names),
        )
    axis = names.index(name)
    quasi, level = ours.quasi_identifiers[axis], ours.node[axis]
    used = {public.labels[column][code] for code in public.codes[public.counts > 0, column]}
    own = next((at for at, texts in enumerate(quasi.labels) if used <= set(texts)), None)
    if own is None:
        raise DiversityError(
            "The public counts {name} have labels for {column} that no single level of its"
            " hierarchy has.",
            "Spell them as one level of the hierarchy does, or add such a level.",
            name=public.name,
            column=name,
        )
    common = quasi.levels[max(level, own)]
    grounds = {
        text: int(np.argmax(quasi.levels[own] == at)) for at, text in enumerate(quasi.labels[own])
    }
    of_label = [
        int(common[grounds[text]]) if text in grounds else -1 for text in public.labels[column]
    ]
    return common[ours.ground[:, axis]], np.array(of_label)


def _as_one(
    of_class: Sequence[Indices], of_row: Sequence[Indices], classes: int, rows: int
) -> tuple[Indices, Indices]:
    """Number the regions that several columns make; -1 for a row that no class is in."""
    numbers: dict[tuple[int, ...], int] = {}
    own = zip(*of_class, strict=True) if of_class else iter([()] * classes)
    region = [numbers.setdefault(tuple(map(int, key)), len(numbers)) for key in own]
    theirs = zip(*of_row, strict=True) if of_row else iter([()] * rows)
    return np.array(region), np.array([numbers.get(tuple(map(int, key)), -1) for key in theirs])


def _refuse_unknown(public: PublicTable, regions: Indices, holder: str) -> None:
    strange = (regions < 0) & (public.counts > 0)
    if strange.any():
        raise DiversityError(
            "The public counts {name} count people, first in row {row}, where the table of {holder}"
            " shows nobody.",
            "Check that the counts are of the same people, and that labels are spelled as there.",
            name=public.name,
            row=int(strange.argmax()) + 1,
            holder=holder,
        )


def _refuse_contradiction(found: CrossTabulation, tables: Sequence[HolderClasses]) -> None:
    """Refuse counts whose sums are not the people that a table shows."""
    whole = int(all_people(tables).sum())
    for place, table in enumerate(tables):
        shown = np.bincount(found.regions[place], weights=table.counts.sum(axis=1)).astype(int)
        axes = tuple(axis for axis in range(len(tables)) if axis != place)
        counted = found.counts.sum(axis=axes)
        wrong = (
            counted != shown if all(t.counts.sum() == whole for t in tables) else counted > shown
        )
        if wrong.any():
            raise DiversityError(
                "The public counts {name} contradict the table of {holder}: where they count"
                " {counted:,} {counted:person|people}, it shows {shown:,}.",
                "Give counts of the people in these tables, or leave the counts out.",
                name=found.name,
                holder=table.holder,
                counted=int(counted[wrong][0]),
                shown=int(shown[wrong][0]),
            )


@dataclass(frozen=True)
class Remaining:
    """What remains possible for a person in each combination of classes.

    Parameters
    ----------
    possible
        Whether a person in these classes can have each value, shape (C1, …, Ch, m). A combination
        without any value is one that nobody is in.
    proven
        Whether all that is not possible is known to be impossible.
    """

    possible: Flags = field(repr=False)
    proven: bool

    @property
    def left(self) -> Integers:
        """How many values remain, shape (C1, …, Ch)."""
        return self.possible.sum(axis=-1)

    @property
    def weakest(self) -> int:
        """The fewest values that remain for anybody; 0 where nobody is in all tables."""
        left = self.left
        return int(left[left > 0].min(initial=self.possible.shape[-1])) if left.any() else 0


def remaining(holders: Sequence[HolderClasses], known: Sequence[CrossTabulation]) -> Remaining:
    """Return what remains possible given the tables and public counts.

    Parameters
    ----------
    holders
        The tables.
    known
        Counts by their classes.

    Raises
    ------
    DiversityError
        If there are too many cells to compute, or the counts contradict the tables.
    """
    program = _Program(holders, known)
    while program.show_more():
        pass
    return Remaining(program.possible(), program.proven)


class _Program:
    """Tables of whole numbers that agree with the published ones and with public counts.

    A cell is how many people with a value are in a combination of classes. Who is not shown in a
    table is in one more class of it, which no public count by its classes covers.
    """

    def __init__(self, holders: Sequence[HolderClasses], known: Sequence[CrossTabulation]) -> None:
        people = all_people(holders)
        counts = [np.vstack([h.counts, people - h.counts.sum(axis=0)]) for h in holders]
        self._shape = tuple(h.classes for h in holders)
        self._whole = (*(len(each) for each in counts), len(people))
        self._size, size = len(people), len(people)
        cells = math.prod(len(each) for each in counts) * size
        if cells > LARGEST_PROGRAM:
            raise ProgramSizeError(
                "With public counts, {cells:,} cells of classes by values would have to be"
                " computed, and at most {limit:,} can be.",
                "Leave the public counts out, or choose coarser levels or fewer tables.",
                cells=cells,
                limit=LARGEST_PROGRAM,
            )
        *classes, value = np.indices((*(len(each) for each in counts), size)).reshape(
            len(counts) + 1, -1
        )
        room = np.minimum.reduce(
            [each[at, value] for each, at in zip(counts, classes, strict=True)]
        )
        cells_of = [_cells(each, classes, self._shape) for each in known]
        for each, of_cell in zip(known, cells_of, strict=True):
            counted = np.where(of_cell < 0, room, each.counts.ravel()[of_cell])
            room = np.minimum(room, counted)
        used = np.flatnonzero(room > 0)
        self._classes, self._value = [each[used] for each in classes], value[used]
        self._room = room[used]
        rows = [at[used] * size + value[used] for at in classes]
        sums = [each.ravel() for each in counts]
        rows += [of_cell[used] for of_cell in cells_of]
        sums += [each.counts.ravel() for each in known]
        self._equations, self._sums = _equations(rows, sums)
        self._names = ", ".join(each.name for each in known)
        self._seen = np.zeros(len(used), dtype=np.bool_)
        self._inside = np.ones(len(used), dtype=np.bool_)
        for at, number in zip(self._classes, self._shape, strict=True):
            self._inside &= at < number
        self.proven = True
        self._started = False

    def show_more(self) -> bool:
        """Find a table that shows as many further values as any can; whether it shows some."""
        wanted = np.flatnonzero(self._inside & ~self._seen)
        if self._started and not len(wanted):
            self.proven = True
            return False
        self._started = True
        # A good table is soon found, the best one late: only the last one has to be the best.
        return any(self._shows(self._solved(wanted, gap), wanted) for gap in (_GOOD, 0.0))

    def _shows(self, found: Integers | None, wanted: Indices) -> bool:
        """Keep what a table shows to be possible; whether some of it was `wanted`."""
        if found is None:
            return False
        before = int(self._seen[wanted].sum())
        self._seen |= found > 0
        world = np.zeros(self._whole, dtype=np.int64)
        world[(*self._classes, self._value)] = found
        for _ in range(_WALKS):
            for place in np.flatnonzero(self._inside & ~self._seen):
                if self._exchange(world, int(place)):
                    self._seen |= world[(*self._classes, self._value)] > 0
        return int(self._seen[wanted].sum()) > before

    def _exchange(self, world: Integers, place: int) -> bool:
        """Bring somebody into an empty cell by exchanges that keep all sums; whether it can be.

        One with the value comes into the class of one table from another class, and one into the
        classes of the others from elsewhere; in return one with another value leaves each, so that
        no sum changes over a class and a value, or over classes of several tables.
        """
        value = int(self._value[place])
        cell = [int(at[place]) for at in self._classes]
        for axis, here in enumerate(cell):
            moved = np.moveaxis(world, axis, 0)
            apart = moved.reshape(len(moved), -1, self._size)
            rest = cell[:axis] + cell[axis + 1 :]
            beside = int(np.ravel_multi_index(rest, moved.shape[1:-1]))
            from_class = np.flatnonzero(apart[:, beside, value])
            from_rest = np.flatnonzero(apart[here, :, value])
            others = np.flatnonzero(apart[here, beside])
            box = apart[np.ix_(from_class, from_rest, others)] > 0
            if not box.any():
                continue
            first, second, third = np.unravel_index(int(box.argmax()), box.shape)
            classes, rests = (here, from_class[first]), (beside, from_rest[second])
            for (n, one), (k, two) in itertools.product(enumerate(classes), enumerate(rests)):
                sign = 1 if n == k else -1
                apart[one, two, value] += sign
                apart[one, two, others[third]] -= sign
            if apart.base is None or not np.shares_memory(apart, world):
                world[:] = np.moveaxis(apart.reshape(moved.shape), 0, axis)
            return True
        return False

    def _solved(self, wanted: Indices, gap: float) -> Integers | None:
        """Return a table, whose cells that are `wanted` are above 0 as often as can be.

        It may be short of the best one by a share `gap`.
        """
        number, more = len(self._room), len(wanted)
        above = scipy.sparse.csr_array(
            (np.ones(more), (np.arange(more), wanted)), shape=(more, number)
        )
        limits = [
            scipy.optimize.LinearConstraint(
                scipy.sparse.hstack(
                    [self._equations, scipy.sparse.csr_array((len(self._sums), more))], "csr"
                ),
                self._sums,
                self._sums,
            )
        ]
        if more:
            beside = scipy.sparse.hstack([above, -scipy.sparse.eye_array(more)], "csr")
            limits.append(scipy.optimize.LinearConstraint(beside, 0, np.inf))
        solved = scipy.optimize.milp(
            -np.r_[np.zeros(number), np.ones(more)],
            integrality=np.r_[np.ones(number), np.zeros(more)],
            bounds=scipy.optimize.Bounds(0, np.r_[self._room, np.ones(more)]),
            constraints=limits,
            options={"node_limit": _NODES, "mip_rel_gap": gap},
        )
        if solved.status == _INFEASIBLE:
            raise DiversityError(
                "The public counts {names} contradict the tables: in no way can people be in their"
                " classes that agrees with all of them.",
                "Give counts of the people in these tables, or leave the counts out.",
                names=self._names,
            )
        # Short of the most, what is not shown yet may be possible.
        self.proven = solved.status == _OPTIMAL
        if solved.x is None:
            return None
        found = np.rint(solved.x[:number]).astype(np.int64)
        agrees = np.array_equal(self._equations @ found, self._sums) and (found >= 0).all()
        self.proven &= bool(agrees)
        return found if agrees else None

    def possible(self) -> Flags:
        """Return which values were shown to be possible."""
        found = np.zeros((*self._shape, self._size), dtype=np.bool_)
        kept = self._inside & self._seen
        found[(*(at[kept] for at in self._classes), self._value[kept])] = True
        return found


_OPTIMAL, _INFEASIBLE = 0, 2


def _cells(known: CrossTabulation, classes: Sequence[Indices], shape: Sequence[int]) -> Indices:
    """Return the public count that covers each cell; -1 for who is in none of a table's classes."""
    found = np.zeros(len(classes[0]), dtype=np.intp)
    covered = np.ones(len(found), dtype=np.bool_)
    for region, at, number, size in zip(
        known.regions, classes, shape, known.counts.shape, strict=True
    ):
        shown = at < number
        # A table that is not counted by says nothing of who is not in it either.
        covered &= shown | (size == 1)
        found = found * size + np.where(shown, region[np.minimum(at, number - 1)], 0)
    return np.where(covered, found, -1)


def _equations(
    rows: Sequence[Indices], sums: Sequence[Integers]
) -> tuple[scipy.sparse.csr_array, Integers]:
    """Return which cells each sum is over, and the sums; -1 is in none."""
    entries, columns, first = [], [], 0
    for of_cell, totals in zip(rows, sums, strict=True):
        kept = np.flatnonzero(of_cell >= 0)
        entries.append(of_cell[kept] + first)
        columns.append(kept)
        first += len(totals)
    at = (np.concatenate(entries), np.concatenate(columns))
    matrix = scipy.sparse.csr_array((np.ones(len(at[0])), at), shape=(first, len(rows[0])))
    return matrix, np.concatenate(sums)


def informed_standing(
    holders: Sequence[HolderClasses],
    l: int,  # noqa: E741
    known: Sequence[CrossTabulation],
) -> tuple[RemainingValues, Remaining]:
    """Return what tables and public counts leave of everybody's value, and table by table.

    Parameters
    ----------
    holders
        The tables, ours among them where it is to be judged as well; at least one.
    l
        The values that should remain.
    known
        Public counts by their classes.
    """
    found = remaining(holders, known)
    standings = []
    for number, holder in enumerate(holders):
        rest = [*holders[:number], *holders[number + 1 :]]
        without = holder.counts.shape[1]
        if rest:
            without = remaining(rest, [each.without(number) for each in known]).weakest
        cause = found.weakest < l <= without
        standings.append(
            HolderStanding(holder.holder, holder.classes, holder.diversity, without, cause)
        )
    return RemainingValues(l, found.weakest, tuple(standings)), found


def informed_breaches(found: Remaining, l: int, limit: int) -> Iterator[Breach]:  # noqa: E741
    """Yield combinations that somebody can be in and that leave fewer than l values."""
    left = found.left
    weak = np.argwhere((left > 0) & (left < l))
    order = np.argsort(left[tuple(weak.T)], kind="stable")[:limit]
    for classes in weak[order]:
        which = tuple(map(int, np.flatnonzero(found.possible[tuple(classes)])))
        yield Breach(tuple(map(int, classes)), which, 1, ())
