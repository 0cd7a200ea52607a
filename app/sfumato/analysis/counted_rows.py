"""Views counted in the rows that differ, of a table in memory: no row is looked at once more.

The rows are counted once by their quasi-identifiers as they are. What a view shows follows for each
of these counted rows; the columns themselves are made only where somebody looks at them. What else
leaves beside them is told apart once, too: rows that it shows alone are alone under every view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Integers
from sfumato.engine.generalization.cells import hides
from sfumato.engine.generalization.coded import (
    IntArray,
    QuasiIdentifier,
    labelled,
    mixed_radix,
    shown_codes,
)
from sfumato.engine.generalization.distinct_rows import DistinctRows, ViewedRows, first_of_each
from sfumato.engine.table.combinations import Marks, class_counts, marks_of_numbers
from sfumato.engine.table.repeated_units import Units, units_at
from sfumato.engine.table.table import Table
from sfumato.project.release.views import Coarsened


@dataclass(frozen=True)
class GroundRows:
    """The rows of a table by their quasi-identifiers as they are, those that are alike as one.

    Parameters
    ----------
    told
        What decides the codes of each quasi-identifier, by its name.
    quasi
        With the ground codes of the counted rows, each of shape (T,).
    counts
        How many rows each stands for, shape (T,).
    units
        Whose they are; None where rows stand alone.
    place
        Which counted row each row of the table is, shape (n,); None where that is not known.
    """

    told: Mapping[str, str]
    quasi: tuple[QuasiIdentifier, ...] = field(repr=False)
    counts: Integers = field(repr=False)
    units: Units = field(repr=False, default=None)
    place: IntArray | None = field(repr=False, default=None)

    @classmethod
    def of(
        cls, told: Mapping[str, str], quasi: Sequence[QuasiIdentifier], units: Units
    ) -> GroundRows:
        """Count the rows of a table, of which there is at least one quasi-identifier."""
        sizes = [len(each.levels[0]) for each in quasi]
        key, _ = mixed_radix([each.codes.astype(np.intp, copy=False) for each in quasi], sizes)
        place, found = pd.factorize(key)
        example = first_of_each(place, len(found))
        own = tuple(replace(each, codes=each.codes[example]) for each in quasi)
        whose = units_at(units, place) if isinstance(units, np.ndarray) else units
        return cls(told, own, np.bincount(place, minlength=len(found)), whose, place)

    def at(self, node: tuple[int, ...], names: Sequence[str]) -> DistinctRows:
        """Return them at a node of some of the quasi-identifiers."""
        by_name = {each.name: each for each in self.quasi}
        return DistinctRows.of([by_name[name] for name in names], node, self.units, self.counts)


@dataclass(frozen=True)
class ShownGroundRows:
    """What a view shows of the rows of a table in memory.

    Parameters
    ----------
    table, specs
        The table, and what is decided about each quasi-identifier.
    counted
        Its counted rows.
    rows, shown
        These at the levels of the view, and what it makes of them.
    changed
        The columns that hold labels in place of their values.
    """

    table: Table = field(repr=False)
    specs: Mapping[str, ColumnSpec] = field(repr=False)
    counted: GroundRows = field(repr=False)
    rows: DistinctRows = field(repr=False)
    shown: ViewedRows = field(repr=False)
    changed: frozenset[str]

    def marks(self, names: Sequence[str]) -> Marks:
        """Return each counted row's mark by what is shown of quasi-identifiers, shape (T,)."""
        labels = [name for name in names if name in self.changed]
        total = self.rows.marks(self.rows.node, self.shown, labels)
        for quasi in self.counted.quasi:
            if quasi.name in names and quasi.name not in self.changed:
                # By its values: two may have one label.
                total += marks_of_numbers(quasi.name, len(quasi.levels[0]))[quasi.codes]
        return total

    def marks_of_rows(self, names: Sequence[str]) -> Marks:
        """Return the mark of each row of the table, shape (n,)."""
        return self.marks(names)[self.counted.place]

    def column(self, name: str) -> pd.Series:
        """Return a quasi-identifier as it is shown, shape (n,)."""
        if name not in self.changed:
            return self.specs[name].shown(self.table.column(name))
        axis = self.rows.names.index(name)
        quasi = next(each for each in self.counted.quasi if each.name == name)
        level, kept = self.rows.node[axis], ~hides(self.shown.hidden, axis)[self.rows.place]
        codes = shown_codes(quasi, quasi.codes, level, kept)
        present = np.flatnonzero(np.bincount(codes))
        return labelled(quasi, level, codes[self.counted.place], present, self.table.frame.index)


class ShownColumnsOfView(Mapping[str, "pd.Series"]):
    """The quasi-identifiers as a view shows them, each made when it is first looked at."""

    def __init__(self, rows: ShownGroundRows) -> None:
        self._rows = rows
        self._made: dict[str, pd.Series] = {}

    def __getitem__(self, name: str) -> pd.Series:
        if name not in self._rows.specs:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self._rows.column(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.rows.names)

    def __len__(self) -> int:
        return len(self._rows.rows.names)


@dataclass(frozen=True)
class CoarsenedRows(Coarsened):
    """What a view makes of a table in memory; `view` is that of its counted rows.

    Parameters
    ----------
    rows
        What it shows of them.
    """

    rows: ShownGroundRows = field(kw_only=True, repr=False)


@dataclass(frozen=True)
class RowsBeside:
    """Rows told apart by the columns that leave beside the quasi-identifiers, and by these.

    Parameters
    ----------
    alone
        The rows that no other row agrees with on the columns beside: so many are alone anyway.
    marks
        What the columns beside show of each of the others, those that are alike as one, shape (R,).
    place
        Which counted row each is, shape (R,).
    counts
        How many rows each stands for, shape (R,).
    """

    alone: int
    marks: Marks = field(repr=False)
    place: IntArray = field(repr=False)
    counts: Integers = field(repr=False)

    @classmethod
    def of(cls, marks: Marks, place: IntArray) -> RowsBeside:
        """Tell rows apart by their marks, shape (n,), and by which counted row each is."""
        classes, found = pd.factorize(marks)
        shared = np.bincount(classes, minlength=len(found)) > 1
        rest = np.flatnonzero(shared[classes])
        number = int(place.max(initial=0)) + 1
        pairs, apart = pd.factorize(classes[rest].astype(np.int64) * number + place[rest])
        example = rest[first_of_each(pairs, len(apart))]
        counts = np.bincount(pairs, minlength=len(apart))
        return cls(len(marks) - len(rest), marks[example], place[example], counts)

    def sizes(self, shown: Marks, most: int) -> tuple[Integers, int]:
        """Return how many rows each class of several counted rows has, and the smallest class.

        Parameters
        ----------
        shown
            What a view shows of each counted row, shape (T,).
        most
            Classes of so many rows and more are told as larger than any smaller ones only.

        Returns
        -------
        tuple
            The classes' sizes, those from `most` on no less than that; and the rows of the
            smallest class, 1 where there are no rows.
        """
        marks = self.marks + shown[self.place]
        # Numbers are sorted much faster than their places, and large classes need no exact size.
        sizes = class_counts(np.sort(np.repeat(marks, np.minimum(self.counts, most))))
        smallest = 1 if self.alone else int(sizes.min(initial=most)) if len(sizes) else 1
        if smallest >= most and len(sizes):
            classes, found = pd.factorize(marks)
            smallest = int(np.bincount(classes, self.counts, len(found)).min())
        return sizes, smallest
