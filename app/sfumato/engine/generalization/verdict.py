"""Whether a node's tuples satisfy the criteria, and at what price in records left out.

Witnesses are records whose own class rules out nodes all over the lattice at once. A record r and
another record x are in one class exactly at the nodes whose levels are, for every
quasi-identifier, at least the level at which the two values first meet. So one pass over the rows,
counting them by these meeting levels, and a running union along each axis give r's class at
*every* node of the lattice. Wherever that class violates the criteria, the node is not safe. An
isolated record rules out most of what Incognito would otherwise group and reject node by node;
what is left is grouped and tested as ever, so the answer stays exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property, partial
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Integers
from sfumato.engine.generalization.coded import CodedTable, IntArray, QuasiIdentifier, summed
from sfumato.engine.generalization.criteria import (
    WORD,
    ClassesToJudge,
    Criterion,
    Need,
    needs_of,
    words_for,
)
from sfumato.engine.generalization.grouping import (
    Grouping,
    Tuples,
    classes_of_counts,
    in_parts,
    sizes,
    totals,
)
from sfumato.engine.generalization.lattice import Node, NodeSet


@dataclass(frozen=True)
class Verdict:
    """What was found at one node.

    Parameters
    ----------
    safe
        Whether the criteria hold once at most the allowed number of records is left out.
    suppressed
        How many records have to be left out; where the node is not safe, at least as many.
    violating
        For some of the classes that violate the criteria, the number of one of their tuples.
    """

    safe: bool
    suppressed: int
    violating: IntArray = field(repr=False)


def satisfies(criteria: Sequence[Criterion], classes: ClassesToJudge) -> Flags:
    """Return which classes satisfy all criteria, shape (C,)."""
    good = criteria[0].satisfied(classes)
    for criterion in criteria[1:]:
        good = good & criterion.satisfied(classes)
    return good


def judge(
    grouping: Grouping,
    tuples: Tuples,
    criteria: Sequence[Criterion],
    allowed: int,
    starred: bool = False,
) -> Verdict:
    """Judge a node.

    Parameters
    ----------
    grouping, tuples
        The node's tuples, from this grouping.
    criteria
        At least one.
    allowed
        How many records may be left out.
    starred
        Whether they stay as one more class, which has to satisfy the criteria like the others.

    Returns
    -------
    Verdict
        Leaving records out changes the whole that t-closeness compares with; so it is repeated
        until what remains satisfies the criteria by itself.
    """
    left_out, violating = 0, np.zeros(0, dtype=np.intp)
    for classes, examples in grouping.classes(tuples):
        bad = np.flatnonzero(~satisfies(criteria, classes))
        if len(bad):
            left_out += int(classes.known_sizes()[bad].sum())
            violating = np.concatenate([violating, examples[bad]])
            if left_out > allowed:
                return Verdict(False, left_out, violating)
    good = True
    if left_out and tuples.values is not None:
        # When the rest has to satisfy the criteria by itself.
        counts, units = grouping.frequencies(tuples), grouping.units(tuples)
        kept = kept_classes(criteria, counts, totals(counts), units)
        left_out = int(sizes(counts)[~kept].sum())
        if starred and left_out <= allowed:
            together = grouping.units_together(tuples, np.flatnonzero(~kept))
            good = broken_by_stars(criteria, counts, kept, units, together or 0) is None
    elif left_out and starred:
        together = grouping.units_together(tuples, violating)
        counted = None if together is None else partial(np.greater_equal, [together])
        sets = tuples.sets
        if sets is not None:  # what occurs in any of them
            sets = np.bitwise_or.reduce(sets[violating], axis=0, keepdims=True)
        stars = ClassesToJudge(np.array([left_out]), sets, None, None, counted)
        good = bool(satisfies(criteria, stars).all())
    # With nothing left there is no table to publish.
    safe = good and left_out <= allowed and left_out < int(tuples.sizes.sum())
    return Verdict(safe, left_out, violating)


def broken_by_stars(
    criteria: Sequence[Criterion],
    counts: scipy.sparse.csr_array,
    kept: Flags,
    units: Integers | None = None,
    together: int = 0,
) -> Criterion | None:
    """Return a criterion that fails once outlying records are starred, as one more class.

    Parameters
    ----------
    criteria
        At least one.
    counts
        Frequencies of the sensitive values in each class, shape (C, m).
    kept
        Which classes are published as they are, shape (C,); not all of them.
    units, together
        The units of each class, shape (C,), and those of all others than the kept ones as one
        class; None where rows stand alone.
    """
    starred = scipy.sparse.csr_array(totals(counts[~kept])[None])
    joined = scipy.sparse.csr_array(scipy.sparse.vstack([counts[kept], starred]))
    shown = None if units is None else np.append(units[kept], together)
    whole = totals(counts)
    broken = (one for one in criteria if not good_classes([one], joined, whole, shown).all())
    return next(broken, None)


def kept_classes(
    criteria: Sequence[Criterion],
    counts: scipy.sparse.csr_array,
    whole: Integers,
    units: Integers | None = None,
) -> Flags:
    """Return which classes remain when those that violate the criteria are left out.

    Parameters
    ----------
    criteria
        At least one.
    counts
        Frequencies of the sensitive values in each class, shape (C, m).
    whole
        Frequencies in the whole table, shape (m,).
    units
        The units of each class, shape (C,); None where rows stand alone.

    Returns
    -------
    numpy.ndarray
        Shape (C,). The classes that remain satisfy the criteria with their own frequencies as
        the whole.
    """
    kept = np.ones(counts.shape[0], dtype=np.bool_)
    while kept.any():
        good = good_classes(criteria, counts[kept], whole, None if units is None else units[kept])
        if good.all():
            break
        kept[np.flatnonzero(kept)[~good]] = False
        whole = totals(counts[kept])
    return kept


def good_classes(
    criteria: Sequence[Criterion],
    counts: scipy.sparse.csr_array,
    whole: Integers,
    units: Integers | None = None,
) -> Flags:
    """Return which classes satisfy all criteria, shape (C,)."""
    good = np.zeros(counts.shape[0], dtype=np.bool_)
    for rows, part in in_parts(counts):
        counted = None if units is None else partial(np.greater_equal, units[rows])
        good[rows] = satisfies(criteria, classes_of_counts(part, whole, counted))
    return good


_Number = TypeVar("_Number", np.int64, np.uint64)

_LARGEST_PACK: Final = 1 << 13
"""Combinations of values that are looked up in one table."""

_LARGEST_CUBE: Final = 1 << 24
"""Frequencies by node and value; above that a witness costs more than it saves."""


@dataclass(frozen=True)
class _Pack:
    """Some columns as one."""

    axes: tuple[int, ...]
    size: int
    column: IntArray


class NodeWitnesses:
    """The class of any record at every node.

    Where records belong to units, each counts as one of its own: what has too few records has too
    few units, and the rest is left to be grouped and tested.

    Parameters
    ----------
    quasi_identifiers
        Whose highest level has one group.
    table
        The records.
    criteria
        What the classes have to satisfy.
    """

    def __init__(
        self,
        quasi_identifiers: Sequence[QuasiIdentifier],
        table: CodedTable,
        criteria: Sequence[Criterion],
    ) -> None:
        self._quasi = tuple(quasi_identifiers)
        self._criteria = tuple(criteria)
        self._whole, self._records = table.counts, table.weights
        self._shape = tuple(len(quasi.levels) for quasi in quasi_identifiers)
        self._nodes = int(np.prod(self._shape))
        self._needs = needs_of(criteria)
        self._sensitive = np.asarray(table.sensitive, dtype=np.intp)

    @property
    def affordable(self) -> bool:
        """Whether the classes of one record at all nodes fit in memory comfortably."""
        return self._nodes * self._width <= _LARGEST_CUBE

    def allowed(self, codes: Sequence[int]) -> NodeSet:
        """Return the nodes at which a record's class satisfies the criteria.

        Parameters
        ----------
        codes
            The record's ground code for each quasi-identifier.
        """
        classes = self._classes(self._cells(codes))
        return satisfies(self._criteria, classes).reshape(self._shape)

    def seeds(self) -> list[tuple[int, ...]]:
        """Return a few records that stand alone: the rarest values at each height."""
        found: list[tuple[int, ...]] = []
        for height in range(max(self._shape) - 1):
            levels = [min(height, quasi.height) for quasi in self._quasi]
            rarity = self._rarity([quasi.codes for quasi in self._quasi], levels)
            record = int(rarity.argmin())
            codes = tuple(int(quasi.codes[record]) for quasi in self._quasi)
            if codes not in found:
                found.append(codes)
        return found

    def most_isolated(self, records: Sequence[IntArray], node: Node) -> int:
        """Return the number of the record that is likeliest to stand alone at other nodes too.

        Parameters
        ----------
        records
            Ground codes for each quasi-identifier, each of shape (records,).
        node
            The levels at which they are known to stand alone; what counts is the next ones.
        """
        above = [min(level + 1, q.height) for q, level in zip(self._quasi, node, strict=True)]
        return int(self._rarity(records, above).argmin())

    def _rarity(self, records: Sequence[npt.NDArray[np.integer]], levels: Sequence[int]) -> Floats:
        """Return how frequent each record would be if its values were independent, as a log."""
        rarity = np.zeros(len(records[0]))
        for frequencies, level, codes in zip(self._frequencies, levels, records, strict=True):
            rarity += frequencies[level].take(codes)
        return rarity

    @cached_property
    def _frequencies(self) -> list[list[Floats]]:
        """The log frequency of each ground code's group, by quasi-identifier and level."""
        found = []
        for quasi in self._quasi:
            ground = summed(quasi.codes, self._records, len(quasi.levels[0]))
            groups = [np.bincount(level, weights=ground)[level] for level in quasi.levels]
            found.append([np.log(np.maximum(group, 1)) for group in groups])
        return found

    @property
    def _width(self) -> int:
        """The cells of a node: one for each sensitive value, in whole words, where they matter."""
        if self._needs & (Need.SETS | Need.COUNTS):
            return words_for(len(self._whole)) * WORD
        return 1

    @cached_property
    def _packs(self) -> list[_Pack]:
        """The columns, several packed into one where their combinations are few."""
        sizes = [len(quasi.levels[0]) for quasi in self._quasi]
        columns = [np.asarray(quasi.codes, dtype=np.intp) for quasi in self._quasi]
        if self._width > 1:
            sizes, columns = [*sizes, len(self._whole)], [*columns, self._sensitive]
        packs: list[_Pack] = []
        for axis in sorted(range(len(sizes)), key=sizes.__getitem__):
            if packs and packs[-1].size * sizes[axis] <= _LARGEST_PACK:
                last = packs.pop()
                column = last.column * sizes[axis] + columns[axis]
                packs.append(_Pack((*last.axes, axis), last.size * sizes[axis], column))
            else:
                packs.append(_Pack((axis,), sizes[axis], columns[axis]))
        return packs

    def _cells(self, codes: Sequence[int]) -> IntArray:
        """Return for each row the node at which it first meets the record, and its value's cell.

        As one number: the node's flat index times the width, plus the sensitive value.
        """
        steps: list[IntArray] = []
        stride = self._nodes * self._width
        for quasi, own in zip(self._quasi, codes, strict=True):
            stride //= len(quasi.levels)
            apart = np.zeros(len(quasi.levels[0]), dtype=np.intp)
            for level in quasi.levels:
                apart += level != level[own]
            steps.append(apart * stride)
        steps.append(np.arange(len(self._whole)))
        cells: IntArray | None = None
        for pack in self._packs:
            table = steps[pack.axes[0]]
            for axis in pack.axes[1:]:
                table = (table[:, None] + steps[axis]).ravel()
            met = table.take(pack.column)
            cells = met if cells is None else np.add(cells, met, out=cells)
        assert cells is not None
        return cells

    def _classes(self, cells: IntArray) -> ClassesToJudge:
        """Return the record's class at every node."""
        size, width = len(self._whole), self._width
        if self._needs == Need.SETS:
            flags = np.zeros(self._nodes * width, dtype=np.bool_)
            flags[cells] = True
            packed = np.packbits(flags, bitorder="little").view("<u8").astype(np.uint64, copy=False)
            sets = self._accumulated(np.bitwise_or, packed.reshape(self._nodes, width // WORD))
            return ClassesToJudge(sets=sets, whole=self._whole)
        counts = summed(cells, self._records, self._nodes * width).reshape(self._nodes, width)
        if width == 1:
            return ClassesToJudge(self._accumulated(np.add, counts)[:, 0], whole=self._whole)
        return classes_of_counts(self._accumulated(np.add, counts[:, :size].copy()), self._whole)

    def _accumulated(self, union: np.ufunc, cube: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """Return the running union over all specializations of each node."""
        shaped = cube.reshape(*self._shape, *cube.shape[1:])
        for axis, levels in enumerate(self._shape):
            moved = np.moveaxis(shaped, axis, 0)
            for level in range(1, levels):
                here, below = moved[level : level + 1], moved[level - 1 : level]
                union(here, below, out=here)
        return shaped.reshape(cube.shape)
