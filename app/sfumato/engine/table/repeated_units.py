"""Columns that several rows share because the rows belong to one person, household or company.

Such a column repeats its values, and other columns are the same in all rows that share one. A
release that draws rows one by one shows the same truth several times to whoever knows which rows
belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Indices, Integers, factorize
from sfumato.engine.table.combinations import class_counts, value_marks
from sfumato.engine.table.table import Table

Codes = Integers


class UnitRows(Protocol):
    """Whose each row is, of a table that may be too long for memory."""

    @property
    def sizes(self) -> Codes:
        """How many units there are of 0, 1, 2, … rows."""

    def parts(self) -> Iterator[tuple[Indices, Codes]]:
        """Yield rows, and each one's unit, shape (r,) both; all rows of a unit come together."""


Units = Codes | UnitRows | None
"""Each row's unit, shape (n,), or what tells it; None where rows stand alone."""


class _UnitsInMemory:
    """Whose each row is, by one number for each, shape (n,); and which row it stands in."""

    def __init__(self, units: Codes, place: Indices | None = None) -> None:
        self._units = units
        self._place = np.arange(len(units)) if place is None else place
        self.sizes = np.bincount(np.bincount(pd.factorize(units)[0]))

    def parts(self) -> Iterator[tuple[Indices, Codes]]:
        yield self._place, self._units


def unit_rows(units: Units) -> UnitRows | None:
    """Return what tells whose each row is, by one number for each where that is all there is."""
    return _UnitsInMemory(units) if isinstance(units, np.ndarray) else units


def units_at(units: Codes, place: Indices) -> UnitRows:
    """Return whose the rows are that stand for several; `place` is that of each, shape (n,)."""
    return _UnitsInMemory(units, place)


MOST_ROWS_A_UNIT: Final = 100
"""On average: a value that more rows share is a category, such as a region, and no unit."""
FEWEST_UNITS: Final = 10
SHARED_ROWS: Final = 0.3
"""At least this share of the rows has a value that another row has too."""
NEARLY: Final = 0.9
"""From this share of the units on, a column counts as nearly the same in all rows of a unit."""
_MOST_CELLS: Final = 1 << 24
"""Of tables with C columns, so many rows are kept at most for each column that may name units,
times C²: there may be C of them."""
_FEWEST_ROWS: Final = 1 << 13
_FEW_UNITS: Final = 100
"""Of more units, every other one is looked at first."""
_CELLS_COMPARED: Final = 1 << 22
"""So many at once: of few pairs of rows all columns, of many pairs some."""
BEYOND_CHANCE: Final = 0.3
"""A column varies in at most this share of the units in which it would vary by chance."""


@dataclass(frozen=True)
class RepeatedUnit:
    """A column whose values several rows share, and what is the same in these rows.

    Parameters
    ----------
    column
        The column's name.
    units
        How many different values it has.
    largest
        The largest number of rows that share one.
    constant
        For every column that is the same, or nearly, in all rows that share a value: the share of
        the values with several rows for which it is.
    codes
        Each row's unit, shape (n,); -1 where the value is missing.
    rows
        Those that were looked at, n of them: all, or all rows of some units, drawn evenly.
    every
        One in so many units was looked at; `units` is about right then, and `largest` is theirs.
    """

    column: str
    units: int
    largest: int
    constant: Mapping[str, float]
    codes: Codes = field(repr=False, compare=False)
    rows: Table = field(repr=False, compare=False)
    every: int = 1


def units_of(table: Table, columns: Sequence[str]) -> Codes:
    """Return the unit of each row, numbered from 0 by their first rows, shape (n,).

    Parameters
    ----------
    table
        The rows.
    columns
        The columns that name the unit together; at least one.

    Raises
    ------
    TableError
        If there is no such column, or it is missing in a row.
    """
    known = np.zeros(table.rows, dtype=np.int64)
    for name in columns:
        positions, uniques = factorize(table.column(name))
        missing = positions < 0
        if missing.any():
            raise TableError(
                "The column {column} says which rows belong together, and it is missing in {count}"
                " {count:row|rows}, first in row {row}.",
                "Fill it in (a row that belongs to nobody else gets a value of its own), or choose"
                " other columns.",
                column=name,
                count=int(missing.sum()),
                row=int(missing.argmax()) + 1,
            )
        known = known * max(len(uniques), 1) + positions
        known = pd.factorize(known)[0].astype(np.int64)
    return known


def count_units(classes: Codes, units: Codes | None, number: int) -> Codes:
    """Return how many different units each class holds, shape (number,).

    Parameters
    ----------
    classes
        Each row's class, from 0, shape (n,).
    units
        Each row's unit, shape (n,); None where rows stand alone, so that rows are counted.
    number
        How many classes there are.
    """
    if units is None:
        return np.bincount(classes, minlength=number)
    span = int(units.max(initial=0)) + 1
    pairs = pd.unique(classes.astype(np.int64, copy=False) * span + units)
    return np.bincount(pairs // span, minlength=number)


def units_among(units: Codes | None, chosen: Flags) -> int:
    """Return how many different units some rows belong to; the rows where they stand alone."""
    if units is None:
        return int(np.count_nonzero(chosen))
    return len(pd.unique(units[chosen]))


def varying_units(units: Codes, values: npt.NDArray[np.generic]) -> Flags:
    """Return for each unit whether its rows differ in a column, shape (units,).

    Parameters
    ----------
    units
        Each row's unit, shape (n,).
    values
        The column's codes or numbers, shape (n,); not a number equals itself.
    """
    first = np.zeros(int(units.max(initial=-1)) + 1, dtype=np.int64)
    first[units[::-1]] = np.arange(len(units) - 1, -1, -1)
    there = values[first][units]
    differing = values != there
    if values.dtype.kind == "f":
        differing &= ~(np.isnan(values.astype(np.float64)) & np.isnan(there.astype(np.float64)))
    varying = np.zeros(len(first), dtype=bool)
    varying[units[differing]] = True
    return varying


def find_repeated_units(table: Table, context: Context) -> tuple[RepeatedUnit, ...]:
    """Return the columns that may name units, those with the most constant columns first.

    Parameters
    ----------
    table
        The rows.
    context
        Progress and cancelling.
    """
    found = []
    columns = _Factorized(table)
    for place, name in enumerate(table.columns):
        context.report(place / len(table.columns), "Looking for rows that belong together")
        if _may_be_a_unit(table.column(name), table.rows):
            found.append(columns.unit(name))
    return _worth_telling(found)


def _worth_telling(found: Sequence[RepeatedUnit]) -> tuple[RepeatedUnit, ...]:
    told = [unit for unit in found if unit.constant]
    return tuple(sorted(told, key=lambda unit: -len(unit.constant)))


def repeated_unit(table: Table, name: str, context: Context) -> RepeatedUnit:
    """Return what is the same in all rows that share a value of a column, whatever it looks like.

    Raises
    ------
    TableError
        If there is no such column, or no two rows share a value of it.
    """
    context.report(0.0, "Looking for rows that belong together")
    return _shared(_Factorized(table).unit(name))


def _shared(unit: RepeatedUnit) -> RepeatedUnit:
    if unit.largest < 2:
        raise TableError(
            "No two rows share a value of {column}, so it brings no rows together.",
            "Choose a column that several rows of one person or household share.",
            column=unit.column,
        )
    return unit


class RowsOfUnits:
    """Finds repeated units in whatever parts rows come, by all rows of some units.

    Of a long table, the units whose numbers are small are looked at: these depend on the values
    that name units, so that they are the same wherever the table is cut.

    Parameters
    ----------
    columns
        The table's columns.
    asked
        Those that name units, whatever they look like; none for all that may.
    among
        Those that may; None for any, see `may_name_units`.
    room
        So many rows are kept at least: those that are in memory anyway.
    """

    def __init__(
        self,
        columns: Sequence[str],
        asked: Sequence[str] = (),
        among: Sequence[str] | None = None,
        room: int = 0,
    ) -> None:
        self._asked, self._rows = tuple(asked), 0
        most = max(_MOST_CELLS // len(columns) ** 2, _FEWEST_ROWS, room)
        named = columns if among is None else among
        self._kept = {name: _KeptRows(name, most) for name in asked or named}

    def add(self, table: Table) -> None:
        """Look at the rows that come next."""
        self._rows += table.rows
        for name, kept in list(self._kept.items()):
            if self._asked or _names_things(table.column(name)):
                kept.add(table)
            else:
                del self._kept[name]

    def found(self) -> tuple[RepeatedUnit, ...]:
        """Return the columns that may name units, or those asked for, as they were asked for.

        Raises
        ------
        TableError
            If no two rows share a value of a column that was asked for, or too many do.
        """
        found = []
        factorized: dict[tuple[int, ...], _Factorized] = {}
        for name, kept in self._kept.items():
            if kept.parts not in factorized:
                factorized[kept.parts] = _Factorized(kept.table())
            columns = factorized[kept.parts]
            rows = self._rows // kept.every
            if not (self._asked or _may_be_a_unit(columns.table.column(name), rows)):
                continue
            unit = columns.unit(name)
            if self._asked and kept.every > 1 and unit.units < FEWEST_UNITS:
                raise TableError(
                    "More than {most:,} {most:row|rows} share a value of {column}, too many to be"
                    " looked at in parts.",
                    "Choose a column that the few rows of one person or household share.",
                    most=kept.most // FEWEST_UNITS,
                    column=name,
                )
            found.append(replace(unit, units=unit.units * kept.every, every=kept.every))
        return tuple(map(_shared, found)) if self._asked else _worth_telling(found)


class _KeptRows:
    """All rows of the units whose numbers are small enough that there is room for them.

    Rows without a unit are kept as long as there is room, so that columns have the same rows.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self.most, self.every = name, most, 1
        self._all, self._kept = True, list[Table]()

    def add(self, table: Table) -> None:
        self._kept.append(self._chosen(table))
        while sum(part.rows for part in self._kept) > self.most:
            self._all, self.every = False, self.every if self._all else 2 * self.every
            self._kept = [self._chosen(part) for part in self._kept]

    def _chosen(self, table: Table) -> Table:
        if self._all:
            return table
        column = table.column(self._name)
        chosen = column.notna().to_numpy(bool)
        if self.every > 1:
            marks, places = value_marks(column.rename(self._name))
            marks = marks if places is None else marks[places]
            chosen = chosen & (marks <= np.uint64((1 << 64) // self.every - 1))
        return table if chosen.all() else replace(table, frame=table.frame[chosen])

    @property
    def parts(self) -> tuple[int, ...]:
        """Which parts of the table the rows are: columns that keep all have the same in memory."""
        return tuple(map(id, self._kept))

    def table(self) -> Table:
        """Return the rows."""
        frame = pd.concat([part.frame for part in self._kept], ignore_index=True)
        return replace(self._kept[0], frame=frame)


class _Factorized:
    """A table's columns as codes, kept once made."""

    def unit(self, name: str) -> RepeatedUnit:
        """Return what is the same in all rows that share a value of a column."""
        positions = self._positions(name)
        sizes = np.bincount(positions[positions >= 0], minlength=1)
        units, largest = int((sizes > 0).sum()), int(sizes.max())
        beside = self._beside(name, positions)
        constant = _constant_within(positions, beside) if largest > 1 else {}
        return RepeatedUnit(name, units, largest, constant, positions, self.table)

    def __init__(self, table: Table) -> None:
        self.table = table

    def _positions(self, name: str) -> Codes:
        places, codes = self._codes
        if name in places:
            return codes[:, places[name]].astype(np.int64)
        return factorize(self.table.column(name))[0].astype(np.int64, copy=False)

    @cached_property
    def _codes(self) -> tuple[dict[str, int], npt.NDArray[np.signedinteger]]:
        """All columns' codes, but of those that hold lists and the like, as no CSV file does.

        Each column's place, and the codes of each row, shape (n, columns): rows are compared.
        """
        rows, places = self.table.rows, dict[str, int]()
        found = np.empty((rows, len(self.table.columns)), np.min_scalar_type(-max(rows, 1)))
        for name in self.table.columns:
            with suppress(TypeError):
                found[:, len(places)] = factorize(self.table.column(name))[0]
                places[name] = len(places)
        return places, found[:, : len(places)]

    def _beside(self, name: str, positions: Codes) -> Iterator[tuple[str, Codes]]:
        """Yield the columns that may be the same in nearly all units of a column.

        Two rows of each of some units refute the others: a column in which they differ in more
        than a tenth of all units of several rows is not the same in nine tenths of them.
        """
        places, codes = self._codes
        names = tuple(places)
        order = np.argsort(positions, kind="stable")
        starts = np.flatnonzero(np.diff(positions[order], prepend=-1))
        several = starts[np.diff(starts, append=len(order)) > 1]
        some = several[:: 2 if len(several) > _FEW_UNITS else 1]
        most = (1.0 - NEARLY) * len(several)
        few = 2 * int(most) + 2  # most columns differ in more of these already
        step = max(1, _CELLS_COMPARED // few)
        one, other = order[some], order[some + 1]
        for first in range(0, len(names), step):
            these = codes[:, first : first + step]
            differing = (these[one[:few]] != these[other[:few]]).sum(axis=0)
            left = np.flatnonzero(differing <= most + 1e-6)
            if few < len(some):
                also = these[np.ix_(one[few:], left)] != these[np.ix_(other[few:], left)]
                left = left[differing[left] + also.sum(axis=0) <= most + 1e-6]
            for place in left.tolist():
                if names[first + place] != name:
                    yield names[first + place], these[:, place].astype(np.int64)


def _names_things(column: pd.Series) -> bool:
    """Return whether values are no measured ones."""
    if not pd.api.types.is_float_dtype(column.dtype):
        return True
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = numbers[np.isfinite(numbers)]
    return not (finite != np.floor(finite)).any()


def may_name_units(sample: pd.Series, rows: int) -> bool:
    """Return whether a column may name units, by its values in rows that are drawn evenly.

    Where these are all there are, its values tell. Of d units, a share f of the rows shows d·f on
    average at least; a column is ruled out that shows half as many as there must be where a unit
    has `MOST_ROWS_A_UNIT` rows. Since `SHARED_ROWS` of all rows have a value, 262,144 rows rule out
    a column that names units less than once in 10^40 times (Chernoff's bound).
    """
    if len(sample) == rows:
        return _may_be_a_unit(sample, rows)
    if not _names_things(sample):
        return False
    try:
        distinct = sample.nunique()
    except TypeError:
        return False
    return bool(2 * MOST_ROWS_A_UNIT * distinct >= sample.count())


def _may_be_a_unit(column: pd.Series, rows: int) -> bool:
    """Return whether many values are each shared by a few of so many rows, and name things."""
    if not _names_things(column):
        return False
    try:
        sizes = _sizes(column)
    except TypeError:
        return False  # lists and the like, which no CSV file holds
    present = int(sizes.sum())
    distinct = len(sizes)
    if distinct < FEWEST_UNITS or present > distinct * MOST_ROWS_A_UNIT:
        return False
    shared = sizes[sizes > 1].sum()
    return bool(shared >= SHARED_ROWS * rows) and int(sizes.max()) <= present // 2


def _sizes(column: pd.Series) -> npt.NDArray[np.integer]:
    """Return how many rows have each value, in no order; missing ones are not counted."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
        return class_counts(np.sort(column.to_numpy()))
    positions = factorize(column)[0]
    sizes = np.bincount(positions[positions >= 0])
    return sizes[sizes > 0]


def _constant_within(positions: Codes, others: Iterable[tuple[str, Codes]]) -> dict[str, float]:
    """Return the columns that are the same in nearly all units of several rows, with the share."""
    here = positions >= 0
    units = positions[here]
    several = np.bincount(units) > 1
    count = int(several.sum())
    found: dict[str, float] = {}
    for name, values in others:
        inside = values[here]
        taken = inside[inside >= 0]
        if not len(taken) or taken.min() == taken.max():
            continue
        varying = float((varying_units(units, inside) & several).sum()) / count
        shares = np.bincount(inside + 1) / len(inside)
        by_chance = 1.0 - float(shares @ shares)
        if varying <= 1.0 - NEARLY and varying <= BEYOND_CHANCE * by_chance:
            found[name] = 1.0 - varying
    return found
