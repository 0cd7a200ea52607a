"""The columns that leave unperturbed, looked at fast enough to ask again after every edit.

Everything that takes long depends on one column of the table and its bins, and is kept. Which
records agree on several columns follows from one number for each record
(`sfumato.engine.table.combinations`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.counted_rows import RowsBeside, ShownGroundRows
from sfumato.analysis.utility.worth_figures import (
    RecordsBehind,
    records_behind,
    records_behind_parts,
)
from sfumato.engine.core.columns import Binning, Coding, ColumnSpec
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import factorize
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.combinations import Marks, class_counts, marks_of, mixed
from sfumato.engine.table.profile import ColumnProfile, suggest_binning, suggest_ends, summarize
from sfumato.engine.table.repeated_units import Codes, count_units, units_among, units_of
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, Recipient
from sfumato.project.release.batched_table import BatchedTable, Summary
from sfumato.project.release.batched_views import CountedView, counted_view
from sfumato.project.release.byproducts import population_uniques, weights_of
from sfumato.project.release.release_columns import leaving_table
from sfumato.project.release.uniqueness import SampleUniques, one_of_each
from sfumato.project.release.views import Coarsened

_EXACT: Final = 1 << 16
"""In tables of more records, what a remedy would reach is found from a part of the groups."""
_BANDS: Final = 8
_MOST_MARKS: Final = 1 << 24
"""So many marks are kept, 8 bytes each, of the columns asked for last."""
_TRIED: Final = 24
"""So many columns are looked at to find a few that tell all records apart."""
_WORTH_KEEPING: Final = 4
"""Of tables so long that fewer columns' marks could be kept, none are."""
_LOW_BITS: Final = (1 << 22) - 1
_ANSWERS: Final = 3
_FEW: Final = 12
"""Numbers with no more distinct values are hardly worth bands."""

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class ColumnView:
    """How a column leaves.

    Parameters
    ----------
    spec
        What decides it, see `look_of`.
    view
        What coarsens it beyond that; empty where nothing does.
    column
        The column as the view shows it; None where the specification decides, or `rows` do.
    rows
        What a view shows of the rows of a table in memory, of all its quasi-identifiers.
    """

    spec: ColumnSpec
    view: str = ""
    column: pd.Series | None = field(default=None, compare=False, repr=False)
    rows: ShownGroundRows | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.spec.name

    @property
    def bare(self) -> ColumnView:
        """The same without the column itself, to keep something under."""
        if self.column is None and self.rows is None:
            return self
        return replace(self, column=None, rows=None)

    def shown(self, table: Table) -> pd.Series:
        """Return the column of a table as it leaves."""
        if self.column is not None:
            return self.column
        if self.view and self.rows is not None:
            return self.rows.column(self.name)
        return self.spec.shown(table.column(self.name))


def look_of(spec: ColumnSpec) -> ColumnView:
    """Return how a column leaves by its specification alone."""
    kept = ColumnSpec(spec.name, kind=spec.kind, binning=spec.binning, coding=spec.coded)
    return ColumnView(kept)


def _nice_below(number: float) -> float:
    """Return the largest of …, 1, 2, 5, 10, 20, … that is not above a number."""
    exponent = math.floor(math.log10(number))
    return max(nice for digit in "125" if (nice := float(f"{digit}e{exponent}")) <= number)


@dataclass(frozen=True)
class ClassCounts:
    """The records that agree on some columns.

    Where records belong to units, units are counted: one is unique where all records of a class
    are its own.

    Parameters
    ----------
    unique
        Records, or units, that agree with no other.
    smallest
        The records, or units, of the smallest class.
    small
        Records in classes of fewer than `SMALL`.
    rows
        The records by which those that are unique are.
    error
        Where only a part of the classes was counted, twice the standard error of `unique`;
        0 where all were.
    """

    unique: int
    smallest: int
    small: int
    rows: int
    error: int = 0


@dataclass(frozen=True)
class Linked:
    """Values of an identifying column whose rows can be linked by their pseudonym.

    Parameters
    ----------
    values
        How many values there are.
    unique
        Those whose rows show together what no other value's rows do.
    """

    values: int
    unique: int


SMALL: Final = 5


class ShownColumns:
    """What is known of a table's columns, each looked at once.

    Parameters
    ----------
    table
        The rows that leave; others need another object.
    units
        Each row's unit, shape (n,); None where rows stand alone.
    whole
        What is known of all rows of the source table; itself where all of them leave.
    noise
        What mechanisms that are tried measure the table with; None where the secret is not known.
    """

    def __init__(
        self,
        table: Table,
        units: Codes | None = None,
        whole: ShownColumns | None = None,
        noise: KeyedNoise | None = None,
    ) -> None:
        self.table, self.units, self.noise = table, units, noise
        # Not itself: what refers to itself is kept until somebody looks for such.
        self._whole = whole
        self._kept: dict[Hashable, Any] = {}
        self._latest: dict[str, tuple[tuple[object, Any], ...]] = {}
        self._lock = threading.RLock()  # several jobs ask; what takes long is found once
        self._marked: dict[ColumnView, Marks] = {}

    @property
    def rows(self) -> int:
        """How many records leave."""
        return self.table.rows

    @property
    def number_of_units(self) -> int:
        """How many units there are; records where they stand alone."""
        return self.rows if self.units is None else int(self.units.max()) + 1

    @property
    def whole(self) -> ShownColumns:
        """What is known of all rows of the source table."""
        return self if self._whole is None else self._whole

    @property
    def source(self) -> BatchedTable:
        """All rows of the source table."""
        table = self.whole.table
        return self.whole.keep("source", lambda: BatchedTable.of(table))

    def behind(self, document: Document) -> RecordsBehind:
        """Return how many records stand behind what is estimated; raises as `records_behind`."""
        return records_behind(document, self.whole.table)

    def keep(self, key: Hashable, find: Callable[[], _Found]) -> _Found:
        """Return what was found before under a key, or find it."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = find()
            found: _Found = self._kept[key]
        return found

    def knows(self, key: Hashable) -> bool:
        """Return whether `keep` has an answer under a key."""
        return key in self._kept

    def latest(self, name: str, asked: object, find: Callable[[], _Found]) -> _Found:
        """Return what was found for a question, or find it; the last few answers are kept."""
        with self._lock:
            known = self._latest.get(name, ())
            answers = [each for each in known if each[0] == asked] or [(asked, find())]
            others = [each for each in known if each[0] != asked]
            self._latest[name] = (answers[0], *others)[:_ANSWERS]
        found: _Found = answers[0][1]
        return found

    def answers(self, name: str) -> tuple[tuple[Any, Any], ...]:
        """Return the last few questions under a name, each with its answer, the latest first."""
        return self._latest.get(name, ())

    def profile(self, name: str) -> ColumnProfile:
        """Return what a column looks like in the table."""
        return self.keep(("profile", name), lambda: summarize(self.table.column(name)))

    def counts(self, look: ColumnView) -> npt.NDArray[np.int64]:
        """Return how many records, or units, have each value that leaves; missing not counted."""
        return self.keep(("counts", look.bare), lambda: self._count(look))

    def _count(self, look: ColumnView) -> npt.NDArray[np.int64]:
        codes = self.codes(look).astype(np.int64)
        present = codes >= 0
        units = None if self.units is None else self.units[present]
        return count_units(codes[present], units, int(codes.max(initial=-1)) + 1)

    def singles_out(self, look: ColumnView) -> bool:
        """Return whether a value that leaves, a missing one too, is one record's, or unit's.

        Of the rows in `table`, which may be some of those that leave.
        """
        return self.keep(("single", look.bare), lambda: self._singles_out(look))

    def _singles_out(self, look: ColumnView) -> bool:
        codes = self.codes(look).astype(np.intp) + 1
        return bool((count_units(codes, self.units, int(codes.max(initial=0)) + 1) == 1).any())

    def ends_alone(self, look: ColumnView) -> bool:
        """Return whether the largest or smallest number that leaves is one record's, or unit's."""
        return self.keep(("ends", look.bare), lambda: self._ends_alone(look))

    def _ends_alone(self, look: ColumnView) -> bool:
        numbers = look.shown(self.table)
        ends = ((numbers == end) for end in (numbers.min(), numbers.max()))
        return any(units_among(self.units, end.fillna(False).to_numpy(bool)) == 1 for end in ends)

    def classes(self, specs: Sequence[ColumnView]) -> ClassCounts:
        """Count the records that agree on columns as they are released; at least one column.

        Raises
        ------
        DomainError
            If a row does not fit a column's bins.
        """
        looks = frozenset(specs)
        return self.keep(("classes", _bare(looks)), lambda: self._classes(looks))

    def _classes(self, looks: frozenset[ColumnView]) -> ClassCounts:
        rows = next((look.rows for look in looks if look.rows is not None), None)
        if rows is None or rows.counted.place is None or self.units is not None:
            return _counted(self._together(looks), self.units)
        place, told = rows.counted.place, rows.counted.told
        others = frozenset(look for look in looks if look.rows is not rows)
        beside = self.latest(
            "rows beside",
            (told, _bare(others)),
            lambda: RowsBeside.of(self._sum(others), place),
        )
        shown = rows.marks([look.name for look in looks if look.rows is rows])
        sizes, smallest = beside.sizes(shown, SMALL)
        unique = beside.alone + int(np.count_nonzero(sizes == 1))
        small = beside.alone + int(sizes[sizes < SMALL].sum())
        return ClassCounts(unique, smallest, small, unique)

    def alone(self, specs: Sequence[ColumnView]) -> npt.NDArray[np.bool_]:
        """Return which records agree with no other, or none of another unit, shape (n,)."""
        classes, found = pd.factorize(self._together(frozenset(specs)))
        mask: npt.NDArray[np.bool_] = count_units(classes, self.units, len(found))[classes] == 1
        return mask

    def linked(self, specs: Sequence[ColumnView], name: str) -> Linked | None:
        """Count what rows show together that share a value of a column, whose pseudonym leaves.

        None where no two rows share one.
        """
        values = pd.factorize(self.table.column(name))[0]
        known = values >= 0  # a missing identifier has no pseudonym, so links nothing
        values, marks = values[known], mixed(self._together(frozenset(specs))[known])
        number = int(values.max(initial=-1)) + 1
        if number == len(values):
            return None
        together = np.zeros(number, np.uint64)  # equal where the same rows are shown, in any order
        np.add.at(together, values, marks)
        sizes = class_counts(np.sort(together))
        return Linked(number, int(np.count_nonzero(sizes == 1)))

    def expected_unique(self, document: Document, specs: Sequence[ColumnView]) -> float | None:
        """Return how many unique records are expected to be so in the population, by weights.

        None without weights. Raises what `weights_of` does.
        """
        weights = weights_of(document, self.table)
        if weights is None:
            return None
        alone = self.alone(specs)
        return population_uniques(
            alone if self.units is None else one_of_each(alone, self.units), weights
        )

    def without(self, specs: Sequence[ColumnView], name: str) -> ClassCounts:
        """Count as `classes` does, with one column left out; at least one other stays."""
        return self._instead(specs, name, None)

    def telling_apart(self, specs: Sequence[ColumnView]) -> list[tuple[set[str], ClassCounts]]:
        """Return up to two sets of columns, none in both, by each of which every record is unique.

        With them come the counts, which are the same whatever else leaves. Only a few columns of
        many different values are tried, and only where all records are counted.
        """
        found = list[tuple[set[str], ClassCounts]]()
        exact = self.units is None and self.table.rows < 2 * _EXACT
        if not exact or self.classes(specs).unique < self.rows:
            return found
        own = (look for look in specs if not look.view)
        names, total = set[str](), np.zeros(self.rows, np.uint64)
        by_values = sorted(own, key=lambda look: (-self.profile(look.name).distinct, look.name))
        for look in by_values[:_TRIED]:
            names.add(look.name)
            total += self._marks(look)
            counted = _counted(total, None)
            if counted.unique == self.rows:
                found.append((names, counted))
                names, total = set(), np.zeros(self.rows, np.uint64)
            if len(found) == 2:
                break
        return found

    def with_other(self, specs: Sequence[ColumnView], changed: ColumnView) -> ClassCounts:
        """Count as `classes` does, with one column released otherwise."""
        return self._instead(specs, changed.name, changed)

    def passing(
        self, specs: Sequence[ColumnView], beside: Marks | None = None, roughly: int = 1
    ) -> ClassCounts:
        """Count as `classes` does, in a long table a part of them, and keep nothing of it.

        Parameters
        ----------
        specs
            Columns that leave.
        beside
            Each record's mark by the others, shape (n,); None where there are none.
        roughly
            How much smaller a part than usual is counted.
        """
        with self._lock:
            last: tuple[frozenset[ColumnView], Marks] | None = self._kept.get("together")
            before = frozenset[ColumnView]() if last is None else last[0]
            marks = np.zeros(self.table.rows, np.uint64) if last is None else last[1].copy()
            marks -= self._sum(before - set(specs))
            marks += self._sum(set(specs) - before)
        if beside is not None:
            marks += beside
        return _counted(marks, self.units, max(1, roughly * self.table.rows // _EXACT))

    def _instead(
        self, specs: Sequence[ColumnView], name: str, changed: ColumnView | None
    ) -> ClassCounts:
        """Count classes, in a long table a part of them."""
        looks = frozenset(specs)
        before = next(look for look in looks if look.name == name)
        after = looks - {before} | ({changed} if changed is not None else set())
        every = max(1, self.table.rows // _EXACT)

        def find() -> ClassCounts:
            marks = self._together(looks) - self._marks(before)
            if changed is not None:
                marks += self._marks(changed)
            return _counted(marks, self.units, every)

        return self.keep(("estimate", _bare(after)), find)

    def bands(self, name: str, binning: Binning | None) -> Binning | None:
        """Return bins that a column of numbers could have, coarser than those it has, if any."""
        wanted = _BANDS if binning is None else (len(binning.edges) - 1) // 2
        return self.keep(("bands", name, wanted), lambda: self._bands(name, binning, wanted))

    def _bands(self, name: str, binning: Binning | None, wanted: int) -> Binning | None:
        series = self.table.column(name)
        numeric = pd.api.types.is_numeric_dtype(series.dtype)
        if wanted < 2 or not numeric or pd.api.types.is_bool_dtype(series.dtype):
            return None
        if binning is None and self.profile(name).distinct <= _FEW:
            return None
        try:
            found = suggest_binning(series, wanted)
        except DomainError:
            return None
        coarser = binning is None or len(found.edges) < len(binning.edges)
        endless = bool(np.isinf(series.to_numpy(dtype=np.float64, na_value=np.nan)).any())
        return found if coarser and not endless else None

    def rounding(self, name: str, coding: Coding | None) -> Coding | None:
        """Return a coarser rounding that moves no number by more than a tenth, if there is one.

        For sampling weights, which stay numbers above 0: estimates hardly change.
        """
        numbers = self.profile(name).numbers
        if numbers is None or not 0.0 < numbers.minimum < math.inf:
            return None
        before, step = coding or Coding(), _nice_below(numbers.minimum / 5.0)
        return replace(before, step=step) if before.step is None or before.step < step else None

    def ends(self, name: str) -> Coding | None:
        """Return ends at which a column's extreme numbers would not stand alone, if there are."""
        return self.keep(("cut", name), lambda: self._proposed_ends(name))

    def _proposed_ends(self, name: str) -> Coding | None:
        with suppress(DomainError):
            return suggest_ends(self.table.column(name), self.units)
        return None

    def _together(self, looks: frozenset[ColumnView]) -> Marks:
        """Return one number for each record; equal where all columns are equal."""
        last: tuple[frozenset[ColumnView], Marks] | None = self._kept.get("together")
        if last is None or last[0] != looks:
            before: frozenset[ColumnView] = frozenset() if last is None else last[0]
            total = np.zeros(self.table.rows, np.uint64) if last is None else last[1].copy()
            total -= self._sum(before - looks)
            total += self._sum(looks - before)
            last = (looks, total)
            # Of the last columns asked for only: these numbers are as long as the table.
            self._kept["together"] = last
        return last[1]

    def _sum(self, looks: Collection[ColumnView]) -> Marks:
        """Return each record's mark by columns."""
        total = np.zeros(self.table.rows, np.uint64)
        # Of more columns than are kept, the first would be gone when they are asked for again.
        kept = self.table.rows * len(looks) <= _MOST_MARKS
        for look in looks:
            total += self._marks(look, kept)
        return total

    def _marks(self, look: ColumnView, kept: bool = True) -> Marks:
        found = self._marked.pop(look, None)
        if found is None and look.view and look.rows is not None:
            found = look.rows.marks_of_rows([look.name])
        elif found is None:
            found = marks_of([look.shown(self.table).rename(look.name)], self.table.rows)
        if not kept or self.table.rows * _WORTH_KEEPING > _MOST_MARKS:
            return found
        if self._marked and self.table.rows * (len(self._marked) + 1) > _MOST_MARKS:
            self._marked.pop(next(iter(self._marked)))  # the one not asked for longest
        self._marked[look.bare] = found
        return found

    def codes(self, look: ColumnView) -> npt.NDArray[np.integer]:
        """Return a column's values as numbers from 0, shape (n,); −1 where one is missing."""
        if look.view:  # such a column holds codes as it is
            return self._encoded(look)
        return self.keep(("codes", look), lambda: self._encoded(look))

    def _encoded(self, look: ColumnView) -> npt.NDArray[np.integer]:
        positions, _ = factorize(look.shown(self.table))
        return positions.astype(np.min_scalar_type(-max(2, int(positions.max(initial=0)) + 1)))


class SampledColumns(ShownColumns):
    """What is known of columns by some of a table's rows, of which there are so many."""

    def __init__(self, sample: Table, rows: int) -> None:
        super().__init__(sample)
        self._rows = rows

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self._rows


class CountedColumns(ShownColumns):
    """What is known of the columns of a table whose rows were all counted in one pass.

    What was counted in all rows is told of all; the rest is found in the rows of a sample.
    """

    def __init__(
        self, summary: Summary, table: BatchedTable, noise: KeyedNoise | None = None
    ) -> None:
        units = whole = None
        if table.units is not None:
            units = units_of(summary.sample, table.units.unit.columns)
            whole = SampledColumns(summary.every, table.whole.rows)
        super().__init__(summary.sample, units, whole, noise)
        self._summary, self.leaving = summary, table
        self._views: dict[str, CountedView] = {}

    @property
    def rows(self) -> int:
        """How many records leave."""
        return self.leaving.rows

    @property
    def source(self) -> BatchedTable:
        """All rows of the source table."""
        return self.leaving.whole

    @property
    def number_of_units(self) -> int:
        """How many units there are; records where they stand alone."""
        return self.rows if self.leaving.units is None else self.leaving.units.number

    def seen(self, document: Document, recipient: Recipient, context: Context) -> Coarsened:
        """Return what a recipient's view makes of all rows, with the columns of the sample.

        Raises the errors of `sfumato.project.release.batched_views.counted_view`.
        """
        counted = counted_view(self.leaving, document, recipient, context)
        known = self._views.get(recipient.name)
        if known is None or known.seen.coarsening != counted.seen.coarsening:
            shown = counted.seen.shown_in(self.table)
            for name in counted.seen.coarsening.hierarchies:
                if name not in shown:
                    shown[name] = document.column(name).shown(self.table.column(name))
            known = replace(counted, seen=replace(counted.seen, columns=shown))
            self._views[recipient.name] = known
        return known.seen

    def behind(self, document: Document) -> RecordsBehind:
        """Return how many records stand behind what is estimated, by units where not all are here.

        Raises as `records_behind`.
        """
        if self.whole.table.rows == self.whole.rows:
            return super().behind(document)
        return records_behind_parts(document, self.leaving, self.table)

    def profile(self, name: str) -> ColumnProfile:
        """Return what a column looks like: shares and the like by the sample."""
        found = super().profile(name)
        if self.table.rows == self.rows:
            return found
        known = self._summary.columns.get(name)
        if known is None:
            return replace(found, count=self.rows)
        return replace(found, count=self.rows, missing=known.missing, distinct=known.distinct)

    def _count(self, look: ColumnView) -> npt.NDArray[np.int64]:
        counts = self._summary.columns[look.name].counts
        return super()._count(look) if counts is None else counts

    def _singles_out(self, look: ColumnView) -> bool:
        known = self._summary.columns.get(look.name)
        if known is None or self.units is not None or self.table.rows < self.rows:
            return super()._singles_out(look)
        return known.single or (known.counts is None and super()._singles_out(look))

    def _ends_alone(self, look: ColumnView) -> bool:
        return 1 in (self._summary.columns[look.name].ends or ())

    def classes(self, specs: Sequence[ColumnView]) -> ClassCounts:
        """Return what all rows came to; of other columns than all that leave, the sample's."""
        alone, sizes = self._known(specs)
        if alone is None:
            return super().classes(specs)
        rows = alone.rows if alone.unit else alone.alone
        return ClassCounts(alone.alone, alone.smallest, sum(sizes[:SMALL]), rows)

    def expected_unique(self, document: Document, specs: Sequence[ColumnView]) -> float | None:
        """Return what all rows came to; of other columns than all that leave, the sample's."""
        alone, _ = self._known(specs)
        if alone is None or not alone.weight:
            return super().expected_unique(document, specs)
        return alone.expected

    def _known(self, specs: Sequence[ColumnView]) -> tuple[SampleUniques | None, tuple[int, ...]]:
        """Return what was counted of columns in all rows, and how many small classes there are."""
        alone, sizes = self._summary.alone, self._summary.small
        coarser = [look for look in specs if look.view]
        if coarser:
            alone = None
        for each in self._views.values() if coarser else ():
            if all(look.column is each.seen.columns.get(look.name) for look in coarser):
                alone, sizes = each.alone, each.small
        same = alone is not None and {look.name for look in specs} == set(alone.columns)
        return (alone if same else None), sizes


class LeavingColumns:
    """The columns of the rows that leave, kept as long as these rows stay the same.

    Parameters
    ----------
    table, keys
        The source table and the project's keys; others need another object.
    """

    def __init__(self, table: Table, keys: KeyRing) -> None:
        self.table, self.keys = table, keys
        self._noise = KeyedNoise(keys)
        self.whole = ShownColumns(table, noise=self._noise)
        self._known: tuple[object, ShownColumns] | None = None

    def of(self, document: Document) -> ShownColumns:
        """Return what is known of the rows that leave by a document.

        Raises the errors of `leaving_table` and `units_of`.
        """
        unit = document.unit
        if unit is None:
            return self.whole
        asked = (unit.columns, unit.most_rows, document.record_key)
        if self._known is None or self._known[0] != asked:
            left = leaving_table(document, self.table, self.keys)
            units = units_of(left, unit.columns)
            self._known = asked, ShownColumns(left, units, self.whole, self._noise)
        return self._known[1]


def _bare(looks: frozenset[ColumnView]) -> frozenset[ColumnView]:
    return frozenset(each.bare for each in looks)


def _counted(marks: Marks, units: Codes | None, every: int = 1) -> ClassCounts:
    if units is not None:
        return _counted_by_unit(marks, units, every)
    if every > 1:
        # The numbers are as good as random, so a part of them is a part of the classes by chance.
        marks = marks[marks < np.uint64(2**64 // every)]
    sizes = class_counts(np.sort(marks))
    unique = int(np.count_nonzero(sizes == 1))
    small = int(sizes[sizes < SMALL].sum())
    smallest = int(sizes.min()) if len(sizes) else 1
    return ClassCounts(
        unique * every, smallest, small * every, unique * every, _error(unique, every)
    )


def _counted_by_unit(marks: Marks, units: Codes, every: int) -> ClassCounts:
    """Count classes by the units in them, or those of a part of the units by chance."""
    chosen = np.ones(len(units), dtype=np.bool_)
    if every > 1:
        chosen = mixed(units.astype(np.uint64)) < np.uint64(2**64 // every)
        # All rows of the classes that the chosen units have rows in, and some others.
        low = (marks & np.uint64(_LOW_BITS)).astype(np.intp)
        met = np.zeros(_LOW_BITS + 1, dtype=np.bool_)
        met[low[chosen]] = True
        near = np.flatnonzero(met[low])
        marks, units, chosen = marks[near], units[near], chosen[near]
    classes, found = pd.factorize(marks)
    sizes = count_units(classes, units, len(found))
    of_row = sizes[classes]
    alone = (of_row == 1) & chosen
    rows, small = int(np.count_nonzero(alone)), int(np.count_nonzero((of_row < SMALL) & chosen))
    unique = units_among(units, alone)
    smallest = int(sizes.min()) if len(sizes) else 1
    return ClassCounts(unique * every, smallest, small * every, rows * every, _error(unique, every))


def _error(unique: int, every: int) -> int:
    """Return twice the standard error of the unique ones that a part of the classes tells of."""
    return 0 if every == 1 else round(2.0 * every * float(np.sqrt(max(unique, 1))))
