"""Distinct tuples of quasi-identifier values: grouped once, then rolled up.

The rows are read once. A node's tuples are made from those of any more specific node that was
computed before, by joining its tuples: never from the rows again. A tuple carries what the
criteria need: how many records it stands for, the set of their sensitive values as bits, or, where
a criterion needs frequencies, one tuple for each sensitive value.

How often each sensitive value occurs in each class is kept sparse: a class has few of a large
domain's values, and there may be as many classes as records.

A class's rows add up when classes join, its units do not: a unit may have rows in several of the
classes. So units are counted from the rows, but only in those classes whose rows leave it open
whether they are enough: a class has no more units than rows, and at least k units once it has more
rows than the k − 1 largest units have together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Integers
from sfumato.engine.generalization.coded import CodedTable, IntArray, QuasiIdentifier, keys_at
from sfumato.engine.generalization.criteria import (
    ClassesToJudge,
    Need,
    SetArray,
    from_flags,
    singletons,
    words_for,
)
from sfumato.engine.generalization.distinct_rows import DistinctRows, RowSet, rows_of_largest
from sfumato.engine.generalization.lattice import Lattice, Node, NodeSet, at_most
from sfumato.engine.table.repeated_units import count_units

_MOST_PAIRS: Final = 1 << 24
"""So many pairs of a distinct row and a unit are kept, 16 bytes each; more are read each time."""

_CHUNK_CELLS: Final = 1 << 22
"""Frequencies that are spread out at once."""


Counts = Integers
Kept = Flags


class UnitCounts:
    """The units of any classes of a table.

    Parameters
    ----------
    rows
        The table's distinct rows, with their units.
    hidden
        Which of them are in no class, shape (T,); None where all are in one.
    context
        Progress and cancelling.
    """

    def __init__(self, rows: DistinctRows, hidden: RowSet | None, context: Context) -> None:
        assert rows.units is not None
        self._rows, self._units, self._context = rows, rows.units, context
        self._hidden = hidden
        self._pairs: list[tuple[IntArray, Integers]] | None = []
        for part in self._read():
            # Rows of a unit that agree on everything count once, wherever they are counted.
            places, units = part[0], pd.factorize(part[1])[0]
            kept = ~pd.Series(units * len(rows.counts) + places).duplicated().to_numpy()
            self._pairs.append((places[kept], units[kept]))
            if sum(len(each) for each, _ in self._pairs) > _MOST_PAIRS:
                self._pairs = None
                break

    def _read(self) -> Iterator[tuple[IntArray, Integers]]:
        """Yield distinct rows, and the unit of a row that each stands for."""
        for rows, units in self._units.parts():
            self._context.report(0.5, "Counting units")
            yield self._rows.place[rows], units

    def most_rows(self, k: int) -> int:
        """Return from how many rows on a class is certain to have k units."""
        return rows_of_largest(self._units.sizes, k - 1) + 1

    def at_least(
        self,
        node: Node,
        records: Callable[[IntArray], Sequence[IntArray]],
        chosen: IntArray,
        rows: Counts,
        k: int,
    ) -> Kept:
        """Return which of some classes have k units, shape (C,).

        Parameters
        ----------
        node
            The level of each quasi-identifier.
        records
            Reads the ground codes of one record of each tuple with the numbers given.
        chosen
            The number of a tuple of each class.
        rows
            How many rows each class has, shape (C,).
        k
            How many units.
        """
        enough: Kept = rows >= k
        open_still = np.flatnonzero(enough & (rows < self.most_rows(k)))
        enough[open_still] = self.of(node, records(chosen[open_still])) >= k
        return enough

    def of(self, node: Node, records: Sequence[IntArray]) -> Counts:
        """Return how many units some classes of a node have, shape (C,).

        Parameters
        ----------
        node
            The level of each quasi-identifier.
        records
            For each quasi-identifier, the ground code of one record of each class, shape (C,).
        """
        return self._counted(node, records, np.arange(len(records[0])))

    def together(self, node: Node, records: Sequence[IntArray]) -> int:
        """Return how many units some classes of a node, at least one, have as one class."""
        return int(self._counted(node, records, np.zeros(len(records[0]), dtype=np.intp))[0])

    def _counted(self, node: Node, records: Sequence[IntArray], into: IntArray) -> Counts:
        """Return the units of the classes that others, one or several, are counted into."""
        count = len(records[0])
        if not count:
            return np.zeros(0, dtype=np.int64)
        both = [np.concatenate(each) for each in zip(records, self._rows.codes, strict=True)]
        key, _ = keys_at(self._rows.quasi_identifiers, node, both)
        classes = pd.Index(key[:count]).get_indexer(pd.Index(key[count:]))
        if self._hidden is not None:
            classes[self._hidden] = -1
        classes = np.where(classes < 0, -1, into[classes])
        count = int(into.max()) + 1
        total = np.zeros(count, dtype=np.int64)
        for places, units in self._read() if self._pairs is None else self._pairs:
            place = classes[places]
            found = place >= 0
            total += count_units(place[found], units[found], count)
        return total


def frequencies(
    of_class: IntArray, values: npt.NDArray[np.integer], records: Integers, shape: tuple[int, int]
) -> scipy.sparse.csr_array:
    """Add up records by class and sensitive value.

    Parameters
    ----------
    of_class, values, records
        The class, the sensitive value and the number of records of each entry, of equal length.
    shape
        The number of classes and of sensitive values, (C, m).
    """
    entries = (records.astype(np.int64, copy=False), (of_class, values.astype(np.intp)))
    return scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=shape))


def in_parts(counts: scipy.sparse.csr_array) -> Iterator[tuple[slice, Integers]]:
    """Yield the classes part by part, spread out, each of shape (part, m)."""
    classes, size = counts.shape
    step = max(1, _CHUNK_CELLS // max(size, 1))
    for first in range(0, classes, step):
        rows = slice(first, min(first + step, classes))
        yield rows, counts[rows].toarray()


def totals(counts: scipy.sparse.csr_array) -> Integers:
    """Return how often each sensitive value occurs in all classes together, shape (m,)."""
    return np.asarray(counts.sum(axis=0)).ravel().astype(np.int64)


def sizes(counts: scipy.sparse.csr_array) -> Integers:
    """Return the number of records of each class, shape (C,)."""
    return np.asarray(counts.sum(axis=1)).ravel().astype(np.int64)


_DENSE_CELLS: Final = 1 << 16
"""Up to this many cells are counted in place, however few tuples there are."""

_DENSE_FACTOR: Final = 4
"""Beyond that, up to this many cells a tuple."""

_PROMISING_FACTOR: Final = 16
"""With more cells a tuple than this, hardly two tuples are expected to join."""

_NOTICEABLE: Final = 1.5
"""Tuples are kept to make others from if they are so many times fewer than what they came from."""

_MOST_HELD: Final = 3
"""All tuples that are kept are so many times as many as the most specific ones at most."""

_MOST_WORDS: Final = 8
"""Sets of more words than this are not kept with the tuples."""


class Tuples:
    """The distinct tuples of a node.

    Parameters
    ----------
    node
        The levels they have.
    sizes
        The records each tuple stands for, shape (T,).
    sets
        The sensitive values of these records, shape (T, words), where values are not told apart.
    values
        The sensitive value of each tuple, shape (T,), where values are told apart.
    read_column
        Reads one quasi-identifier for the tuples with the numbers given: the ground code of one of
        the records each stands for, from which every level at or above the node's follows. Most
        nodes are only judged, and never asked.
    """

    def __init__(
        self,
        node: Node,
        sizes: Integers,
        sets: SetArray | None,
        values: IntArray | None,
        read_column: Callable[[int, IntArray | slice], IntArray],
    ) -> None:
        self.node = node
        self.sizes = sizes
        self.sets = sets
        self.values = values
        self.read_column = read_column
        self._columns: dict[int, IntArray] = {}

    @property
    def count(self) -> int:
        """The number of tuples, T."""
        return len(self.sizes)

    def column(self, axis: int) -> IntArray:
        """Return one quasi-identifier's ground code of one record of each tuple, shape (T,)."""
        if axis not in self._columns:
            self._columns[axis] = self.read_column(axis, slice(None))
        return self._columns[axis]

    @property
    def columns(self) -> list[IntArray]:
        """The ground codes of one record of each tuple, for each quasi-identifier."""
        return [self.column(axis) for axis in range(len(self.node))]

    def records(self, chosen: IntArray) -> tuple[IntArray, ...]:
        """Return the ground codes of one record of each chosen tuple, by quasi-identifier."""
        return tuple(self.read_column(axis, chosen) for axis in range(len(self.node)))


class Grouping:
    """The tuples of a table, for criteria with the same needs.

    Parameters
    ----------
    quasi_identifiers
        With as many levels as are searched.
    whole
        How often each sensitive value occurs in the table, shape (m,).
    needs
        What the criteria have to know; frequencies make tuples tell sensitive values apart.
    units
        Counts the units of classes; None where rows stand alone.
    """

    def __init__(
        self,
        quasi_identifiers: Sequence[QuasiIdentifier],
        whole: Integers,
        needs: Need,
        units: UnitCounts | None = None,
    ) -> None:
        self._units = units
        self._quasi = tuple(quasi_identifiers)
        self._whole = whole
        self._size = len(whole)
        # The sets of a large domain take more memory than the values in them.
        large = words_for(self._size) > _MOST_WORDS
        self._by_value = Need.COUNTS in needs or (Need.SETS in needs and large)
        self._needs_sets = Need.SETS in needs and not self._by_value

    @classmethod
    def of_table(cls, table: CodedTable, needs: Need) -> Grouping:
        """Return the grouping of a table with its own levels."""
        return cls(table.quasi_identifiers, table.counts, needs)

    def rows(self, table: CodedTable) -> Tuples:
        """Return every row of a table as a tuple of its own: what the base is made from."""
        values = np.asarray(table.sensitive, dtype=np.intp)
        codes = tuple(np.asarray(quasi.codes, dtype=np.intp) for quasi in self._quasi)
        return Tuples(
            (0,) * len(self._quasi),
            table.records,
            singletons(values, self._size) if self._needs_sets else None,
            values if self._by_value else None,
            lambda axis, chosen: codes[axis][chosen],
        )

    def cells(self, node: Node) -> int:
        """Return how many tuples a node could have."""
        sizes = (quasi.sizes[level] for quasi, level in zip(self._quasi, node, strict=True))
        return math.prod(sizes) * (self._size if self._by_value else 1)

    def may_join(self, source: Tuples, node: Node) -> bool:
        """Return whether a node is likely to have noticeably fewer tuples than `source`."""
        return self.cells(node) < _PROMISING_FACTOR * source.count

    def roll_up(self, source: Tuples, node: Node) -> Tuples:
        """Return the tuples of a node from those of one of its specializations."""
        key, cells = self._keys(source, node)
        if cells <= max(_DENSE_CELLS, _DENSE_FACTOR * source.count):
            place, present = key, cells
            found = np.zeros(cells, dtype=np.bool_)
            found[key] = True
            kept: IntArray | slice = np.flatnonzero(found)
        else:
            place, uniques = pd.factorize(key)
            present, kept = len(uniques), slice(None)
        example = np.empty(present, dtype=np.intp)
        # The first of each: numbers that rise are quicker to read by.
        example[place[::-1]] = np.arange(source.count - 1, -1, -1)
        example = example[kept]
        sets = None
        if source.sets is not None:
            sets = _joined(source.sets, place, present)[kept]
        sizes = np.bincount(place, weights=source.sizes, minlength=present)[kept]
        return Tuples(
            node,
            sizes.astype(np.int64),
            sets,
            None if source.values is None else source.values[example],
            lambda axis, chosen: source.column(axis).take(example[chosen]),
        )

    def _keys(self, source: Tuples, node: Node) -> tuple[IntArray, int]:
        """Return a number for each tuple that tells apart what the node tells apart."""
        cells = self.cells(node)
        if cells > np.iinfo(np.intp).max:
            further = () if source.values is None else ((source.values, self._size),)
            return keys_at(self._quasi, node, source.columns, *further)
        stride = cells
        key = np.zeros(source.count, dtype=np.intp)
        for axis, (quasi, level) in enumerate(zip(self._quasi, node, strict=True)):
            stride //= quasi.sizes[level]
            if quasi.sizes[level] > 1:
                # The small table is scaled, not the long column.
                key += (quasi.levels[level] * stride).take(source.column(axis))
        if source.values is not None:
            key += source.values
        return key, cells

    def classes(self, tuples: Tuples) -> Iterator[tuple[ClassesToJudge, IntArray]]:
        """Return a node's equivalence classes, and for each the number of one of its tuples.

        They come in parts, since spreading out all frequencies at once may take too much memory.
        """
        if tuples.values is None:
            examples = np.arange(tuples.count)
            counted = self._with_units(tuples, examples, tuples.sizes)
            yield ClassesToJudge(tuples.sizes, tuples.sets, None, self._whole, counted), examples
            return
        of_class, examples = self._class_of(tuples)
        order = np.argsort(of_class, kind="stable")
        starts = np.searchsorted(of_class[order], np.arange(len(examples) + 1))
        step = max(1, _CHUNK_CELLS // self._size)
        for first in range(0, len(examples), step):
            last = min(first + step, len(examples))
            part = order[starts[first] : starts[last]]
            counts = np.zeros((last - first, self._size), dtype=np.int64)
            counts[of_class[part] - first, tuples.values[part]] = tuples.sizes[part]
            here = examples[first:last]
            counted = self._with_units(tuples, here, counts.sum(axis=1))
            yield classes_of_counts(counts, self._whole, counted), here

    def _with_units(
        self, tuples: Tuples, examples: IntArray, sizes: Integers
    ) -> Callable[[int], Flags] | None:
        """Return what tells which classes have so many units."""
        if self._units is None:
            return None
        return partial(self._units.at_least, tuples.node, tuples.records, examples, sizes)

    def units(self, tuples: Tuples) -> Integers | None:
        """Return how many units each class of tuples that tell values apart has, shape (C,)."""
        if self._units is None:
            return None
        return self._units.of(tuples.node, tuples.records(self._class_of(tuples)[1]))

    def units_together(self, tuples: Tuples, chosen: IntArray) -> int | None:
        """Return how many units the classes with these numbers have as one class."""
        if self._units is None:
            return None
        examples = chosen if tuples.values is None else self._class_of(tuples)[1][chosen]
        return self._units.together(tuples.node, tuples.records(examples))

    def frequencies(self, tuples: Tuples) -> scipy.sparse.csr_array:
        """Return the frequencies of each class of tuples that tell values apart, shape (C, m)."""
        if tuples.values is None:
            raise TypeError("the tuples were grouped without their frequencies")
        of_class, examples = self._class_of(tuples)
        return frequencies(of_class, tuples.values, tuples.sizes, (len(examples), self._size))

    def _class_of(self, tuples: Tuples) -> tuple[IntArray, IntArray]:
        """Return the class of each tuple that tells a value apart, and one tuple of each class."""
        key, _ = keys_at(self._quasi, tuples.node, tuples.columns)
        of_class, uniques = pd.factorize(key)
        examples = np.empty(len(uniques), dtype=np.intp)
        examples[of_class] = np.arange(tuples.count)
        return of_class, examples


class RolledUpTuples:
    """The tuples of nodes, each made from the smallest that were made before.

    Parameters
    ----------
    grouping
        Makes them.
    base
        The tuples of the lattice's most specific node.
    lattice
        All nodes.
    """

    def __init__(self, grouping: Grouping, base: Tuples, lattice: Lattice) -> None:
        self._grouping, self._base = grouping, base
        self._held = {base.node: base}
        self._counts = np.full(lattice.shape, np.iinfo(np.int64).max)
        self._counts[base.node] = self._together = base.count

    def of(self, node: Node) -> Tuples:
        """Return a node's tuples, and keep them where they are noticeably fewer."""
        below = self._counts[at_most(node)]
        source = self._held[_node_at(int(below.argmin()), below.shape)]
        if source.node == node:
            return source
        found = self._grouping.roll_up(source, node)
        if _NOTICEABLE * found.count <= source.count:
            self._held[node] = found
            self._counts[node] = found.count
            self._together += found.count
            self._make_room()
        return found

    def forget(self, nodes: NodeSet) -> None:
        """Forget the tuples of some nodes, from which none will be made any more."""
        for node in [each for each in self._held if nodes[each]]:
            self._drop(node)

    def _make_room(self) -> None:
        """Forget the largest, until all together are so many times as many as the first at most."""
        while self._together > _MOST_HELD * self._base.count:
            others = (node for node in self._held if node != self._base.node)
            self._drop(max(others, key=lambda node: self._held[node].count))

    def _drop(self, node: Node) -> None:
        if node != self._base.node:
            self._together -= self._held.pop(node).count
            self._counts[node] = np.iinfo(np.int64).max


def _node_at(place: int, shape: tuple[int, ...]) -> Node:
    return tuple(int(level) for level in np.unravel_index(place, shape))


def classes_of_counts(
    counts: Integers, whole: Integers, with_units: Callable[[int], Flags] | None = None
) -> ClassesToJudge:
    """Return classes with all that can be known of them.

    Parameters
    ----------
    counts
        Frequencies of the sensitive values in each class, shape (C, m).
    whole
        Frequencies in the whole table, shape (m,).
    with_units
        Which of them have so many units; None where rows stand alone.
    """
    return ClassesToJudge(counts.sum(axis=1), from_flags(counts > 0), counts, whole, with_units)


def _joined(sets: SetArray, place: IntArray, present: int) -> SetArray:
    """Return the unions of the sets that share a place, shape (present, words)."""
    joined = np.zeros((present, sets.shape[1]), dtype=np.uint64)
    for word in range(sets.shape[1]):
        column = np.zeros(present, dtype=np.uint64)
        np.bitwise_or.at(column, place, sets[:, word])
        joined[:, word] = column
    return joined
