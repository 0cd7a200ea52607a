"""The rows of a table, those that are alike counted as one: what views are counted in.

The rows are read once, or come counted, as those of a long table do. What a coarser view makes of
them, and what is left once a column is dropped, only joins rows that were told apart before; so it
is counted in these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Integers
from sfumato.engine.generalization.cells import (
    WHOLE,
    CellCosts,
    CellMasks,
    hide_cells,
    hides,
    of_columns,
)
from sfumato.engine.generalization.coded import IntArray, QuasiIdentifier, codes_at, mixed_radix
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.table.combinations import Marks, marks_of_numbers
from sfumato.engine.table.repeated_units import UnitRows, Units, count_units, unit_rows, units_among

RowSet = Flags
"""Which rows of a table belong to a set, shape (n,), or which distinct rows, shape (T,)."""
Weights = Integers | None
"""How many rows of a table each stands for, shape (n,); None for one each."""


_ROUNDS: Final = 4
"""So often cells are hidden anew where units are counted, which classes that join may share."""
_DENSE: Final = 4
"""Up to so many possible classes a row are numbered in place, without looking each up."""


@dataclass(frozen=True)
class ViewedRows:
    """What a view makes of distinct rows.

    Parameters
    ----------
    hidden
        The cells of each distinct row that show "*", shape (T,).
    classes
        The class of each, shape (T,); 0 is that of the suppressed ones, and may be empty.
    number
        How many classes there are, counting 0.
    """

    hidden: CellMasks = field(repr=False)
    classes: IntArray = field(repr=False)
    number: int

    @property
    def suppressed(self) -> RowSet:
        """The distinct rows that show "*" for every quasi-identifier, shape (T,)."""
        return self.hidden == WHOLE


@dataclass(frozen=True)
class DistinctRows:
    """The rows of a table by what a view, and all coarser ones, can tell apart.

    Parameters
    ----------
    quasi_identifiers
        With the codes of all rows.
    codes
        For each of them, the ground code of one of the rows that a distinct row stands for, shape
        (T,).
    node
        The levels that tell rows apart; what is asked of them is at these levels or above.
    place
        Which distinct row each row is, shape (n,).
    counts
        How many rows each stands for, shape (T,).
    hidden
        The cells of each that a recipient who is trusted more sees suppressed, shape (T,).
    units
        Whose each row is; None where rows stand alone.
    weights
        How many rows of the table each row stands for, shape (n,); None for one each.
    """

    quasi_identifiers: tuple[QuasiIdentifier, ...]
    codes: tuple[npt.NDArray[np.integer], ...] = field(repr=False)
    node: Node
    place: IntArray = field(repr=False)
    counts: Integers = field(repr=False)
    hidden: CellMasks = field(repr=False)
    units: UnitRows | None = field(repr=False, default=None)
    weights: Weights = field(repr=False, default=None)

    @classmethod
    def of(
        cls,
        quasi_identifiers: Sequence[QuasiIdentifier],
        node: Node,
        units: Units = None,
        weights: Weights = None,
    ) -> DistinctRows:
        """Group the rows of a table by its quasi-identifiers at a node; at least one of them.

        Of rows that stand for several, `units` tells whose each row of the table is.
        """
        rows = len(quasi_identifiers[0].codes)
        return cls(
            tuple(quasi_identifiers),
            tuple(each.codes for each in quasi_identifiers),
            (0,) * len(node),
            np.arange(rows),
            np.ones(rows, dtype=np.int64) if weights is None else weights,
            np.zeros(rows, dtype=np.uint64),
            unit_rows(units),
            weights,
        )._joined(node)

    @property
    def rows(self) -> int:
        """How many rows they stand for, n."""
        return len(self.place) if self.weights is None else int(self.weights.sum())

    @property
    def examples(self) -> IntArray:
        """The first of the rows that each stands for, shape (T,)."""
        return first_of_each(self.place, len(self.counts))

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers' names."""
        return tuple(each.name for each in self.quasi_identifiers)

    def joined(self, node: Node, names: Sequence[str] | None = None) -> DistinctRows:
        """Return them at a coarser node, of all or some quasi-identifiers; hidden ones apart."""
        if (names is None or tuple(names) == self.names) and node == self.node:
            return self
        return self._joined(node, names)

    def _joined(self, node: Node, names: Sequence[str] | None = None) -> DistinctRows:
        places = {name: place for place, name in enumerate(self.names)}
        chosen = [places[name] for name in names or self.names]
        quasi = tuple(self.quasi_identifiers[at] for at in chosen)
        codes = tuple(self.codes[at] for at in chosen)
        hidden = self.hidden if names is None else of_columns(self.hidden, chosen)
        classes, number = _classes(quasi, codes, node, hidden, apart=True)
        example = first_of_each(classes, number)
        return replace(
            self,
            quasi_identifiers=quasi,
            codes=tuple(each[example] for each in codes),
            node=node,
            place=classes[self.place],
            counts=sums(classes, self.counts, number),
            hidden=hidden[example],
        )

    def shown(
        self, node: Node, k: int, costs: CellCosts = None, roughly: bool = False
    ) -> ViewedRows:
        """Return what a view at a node makes of them.

        Rows whose class has fewer than k units are suppressed, beside those hidden before. Where
        all of these are of fewer than k, the smallest class joins them. With `costs` of cells,
        single cells are suppressed, and whole rows only where these are not enough; `roughly` is
        quicker, and suppresses no fewer.
        """
        if costs is None:
            return self._with_rows(node, k)
        hidden = self._with_cells(node, k, costs, roughly)
        return replace(self, hidden=hidden)._with_rows(node, k)

    def _with_rows(self, node: Node, k: int) -> ViewedRows:
        """Suppress the rows whose class is too small."""
        before, kept = self.hidden == WHOLE, self.hidden != WHOLE
        classes, number = _classes(self.quasi_identifiers, self.codes, node, self.hidden)
        rows = sums(classes, np.where(kept, self.counts, 0), number)
        gone = rows < k
        if self.units is not None:
            unsure = np.flatnonzero(~gone & (rows < self._most_rows(k)))
            gone[unsure] = self.units_in(classes, number, unsure, kept)[unsure] < k
        suppressed = before | gone[classes]
        if not gone.all() and 0 < self._units_among(suppressed, k) < k:
            example = first_of_each(classes, number)
            # Equal sizes are told apart by the values, not by where the rows stand in the table.
            values = [column[example] for column in self._visible(node)]
            sizes = self._sizes(classes, number, kept)
            # The smallest class that stays has k units itself.
            suppressed = suppressed | (classes == np.lexsort((*values[::-1], sizes, gone))[0])
        classes = classes + 1
        classes[suppressed] = 0
        return ViewedRows(np.where(suppressed, WHOLE, self.hidden), classes, number + 1)

    def _with_cells(self, node: Node, k: int, costs: Sequence[float], roughly: bool) -> CellMasks:
        """Return the cells to hide, those hidden before among them."""
        # By name, so that it makes no difference in which order the columns come.
        order = sorted(range(len(node)), key=self.names.__getitem__)
        hidden, before = self.hidden, 0
        for _ in range(_ROUNDS if self.units is not None else 1):
            classes, number = _classes(self.quasi_identifiers, self.codes, node, hidden)
            sizes = self._sizes(classes, number, np.ones(len(classes), dtype=np.bool_))
            small = int(np.count_nonzero(sizes < k))
            if not small or small == before:
                break
            before, example = small, first_of_each(classes, number)
            visible = [column[example] for column in replace(self, hidden=hidden)._visible(node)]
            found = hide_cells(
                [visible[at] for at in order],
                of_columns(hidden[example], order),
                sizes,
                k,
                np.array([costs[at] for at in order]),
                roughly,
            )
            hidden = of_columns(found, [order.index(at) for at in range(len(order))])[classes]
        return hidden

    def _visible(self, node: Node) -> list[IntArray]:
        """Return what each distinct row shows; the number of codes where a cell is hidden."""
        return _visible(self.quasi_identifiers, self.codes, node, self.hidden)

    def unique(self, shown: ViewedRows) -> tuple[int, int]:
        """Return how many units are alone in a class, and how many rows they have there."""
        rows = sums(shown.classes, self.counts, shown.number)
        if self.units is None:
            alone = int(np.count_nonzero(rows == 1))
            return alone, alone
        few = np.flatnonzero((rows > 0) & (rows < self._most_rows(2)))
        one = np.zeros(shown.number, dtype=np.bool_)
        one[few] = self.units_in(shown.classes, shown.number, few)[few] == 1
        return self._whose(one[shown.classes]), int(rows[one].sum())

    def sizes(self, shown: ViewedRows) -> Integers:
        """Return how many units each class of a view has that is not empty."""
        found = self._sizes(shown.classes, shown.number, np.ones(len(self.counts), np.bool_))
        return found[found > 0]

    def marks(self, node: Node, shown: ViewedRows, names: Sequence[str]) -> Marks:
        """Return each row's mark by what a view shows of some quasi-identifiers, shape (n,)."""
        total = np.zeros(len(self.counts), dtype=np.uint64)
        for axis, quasi in enumerate(self.quasi_identifiers):
            if quasi.name in names:
                labels = quasi.label_numbers[node[axis]].take(self.codes[axis])
                labels[hides(shown.hidden, axis)] = 0
                total += marks_of_numbers(quasi.name, int(labels.max()) + 1)[labels]
        return total[self.place]

    def loss(self, node: Node, shown: ViewedRows) -> float:
        """Return the share of the other values that a cell could also be, over all cells."""
        return sum(self.losses(node, shown)) / len(node)

    def losses(self, node: Node, shown: ViewedRows) -> list[float]:
        """Return the same for the cells of each quasi-identifier."""
        found, counts = [], self.counts.astype(np.float64)
        for axis, quasi in enumerate(self.quasi_identifiers):
            could_be = quasi.could_be[node[axis]].take(self.codes[axis])
            cells = np.where(hides(shown.hidden, axis), 1.0, could_be)
            found.append(float(cells.dot(counts)) / self.rows)
        return found

    def _sizes(self, classes: IntArray, number: int, kept: RowSet) -> Integers:
        if self.units is None:
            return sums(classes, np.where(kept, self.counts, 0), number)
        return self.units_in(classes, number, np.arange(number), kept)

    def units_in(
        self, classes: IntArray, number: int, asked: IntArray, kept: RowSet | None = None
    ) -> Integers:
        """Return how many units the classes asked for have in the rows kept, shape (number,)."""
        assert self.units is not None
        wanted = np.zeros(number, dtype=np.bool_)
        wanted[asked] = True
        chosen = wanted[classes] if kept is None else wanted[classes] & kept
        found = np.zeros(number, dtype=np.int64)
        for rows, units in self.units.parts() if chosen.any() else ():
            places = self.place[rows]
            here = np.flatnonzero(chosen[places])
            found += count_units(classes[places[here]], units[here], number)
        return found

    def _units_among(self, chosen: RowSet, enough: int) -> int:
        """Return how many units some distinct rows belong to, at least where they are `enough`."""
        rows = int(self.counts[chosen].sum())
        if self.units is None or rows >= self._most_rows(enough):
            return rows
        return self._whose(chosen)

    def _whose(self, chosen: RowSet) -> int:
        """Return how many units some distinct rows belong to."""
        assert self.units is not None
        if not chosen.any():
            return 0
        return sum(
            units_among(units, chosen[self.place[rows]]) for rows, units in self.units.parts()
        )

    def _most_rows(self, k: int) -> int:
        """Return from how many rows on a class is certain to have k units."""
        return k if self.units is None else rows_of_largest(self.units.sizes, k - 1) + 1


def rows_of_largest(sizes: Integers, number: int) -> int:
    """Return how many rows the largest units have together, so many of them.

    `sizes` says how many units there are of 0, 1, 2, … rows.
    """
    counts = sizes[::-1]
    taken = np.clip(number - (np.cumsum(counts) - counts), 0, counts)
    return int(taken @ np.arange(len(sizes))[::-1])


def _visible(
    quasi_identifiers: Sequence[QuasiIdentifier],
    codes: Sequence[npt.NDArray[np.integer]],
    node: Node,
    hidden: CellMasks,
) -> list[IntArray]:
    columns = list(codes_at(quasi_identifiers, node, codes))
    if not hidden.any():
        return columns
    sizes = [quasi.sizes[level] for quasi, level in zip(quasi_identifiers, node, strict=True)]
    return [
        np.where(hides(hidden, axis), size, column)
        for axis, (column, size) in enumerate(zip(columns, sizes, strict=True))
    ]


def _classes(
    quasi_identifiers: Sequence[QuasiIdentifier],
    codes: Sequence[npt.NDArray[np.integer]],
    node: Node,
    hidden: CellMasks,
    apart: bool = False,
) -> tuple[IntArray, int]:
    """Return each distinct row's class at a node, from 0 without gaps, and how many there are.

    Where `apart`, rows stay apart that differ in a hidden cell.
    """
    sizes = [quasi.sizes[level] for quasi, level in zip(quasi_identifiers, node, strict=True)]
    columns: Iterable[IntArray]
    if not hidden.any():
        columns = codes_at(quasi_identifiers, node, codes)
    elif apart:
        own, found = pd.factorize(hidden)
        columns = chain(codes_at(quasi_identifiers, node, codes), [own])
        sizes.append(len(found))
    else:
        columns = _visible(quasi_identifiers, codes, node, hidden)
        sizes = [size + 1 for size in sizes]
    key, cells = mixed_radix(columns, sizes)
    if cells > max(1 << 16, _DENSE * len(key)):
        classes, present = pd.factorize(key)
        return classes, len(present)
    number = np.zeros(cells, dtype=np.intp)
    number[key] = 1
    return (np.cumsum(number) - 1)[key], int(number.sum())


def first_of_each(classes: IntArray, number: int) -> IntArray:
    """Return the first row of each class, shape (number,); none may be empty."""
    first = np.empty(number, dtype=np.intp)
    first[classes[::-1]] = np.arange(len(classes) - 1, -1, -1)
    return first


def sums(classes: IntArray, counts: Integers, number: int) -> Integers:
    """Return how many rows classes have together, shape (number,)."""
    # Sums of whole numbers are exact in floats as long as a table can be.
    return np.bincount(classes, weights=counts, minlength=number).astype(np.int64)
