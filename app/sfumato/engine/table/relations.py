"""Columns that follow from others exactly: sums, multiples, and columns that others determine.

A column that follows from others is told by them, however well it is protected itself. Linear
relations among numbers are the directions in which a sample of complete rows does not vary at
all, found by a QR decomposition with pivoting and then checked on every row. A column is
determined by another where each of the other's values always comes with the same one, in rows
enough that chance would have shown an exception.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats, Indices, Integers, factorize
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.table.combinations import class_counts
from sfumato.engine.table.table import Table

Whole = tuple[Callable[[str], Integers], Integers | None]
"""What returns a column's codes in all rows of a table, and each row's unit, if there are any."""

_ROWS: Final = 5_000
_PART: Final = 1 << 18
"""Of longer tables, relations are looked for in so many rows first."""
_LEAST_ROWS: Final = 30
_FOLLOWS: Final = 1e-6
"""Of a column's standard deviation, what others may leave of one that follows from them."""
_NEARLY_FOLLOWS: Final = 1e-4
"""What is left of less than this is computed by least squares."""
_ALIKE: Final = 1e-9
"""Of the largest term, what rounding of floating-point sums may leave."""
_EXCEPTIONS: Final = 20.0
"""As many rows would contradict a dependence by chance if there were none."""
_ROWS_COMPARED: Final = 500
_MOST_COMPARED: Final = 1 << 15
_CELLS_COMPARED: Final = 2_000_000
"""Of so many rows at least, and of more where columns are few, all columns are compared at once."""
_FEW_COMPARED: Final = 2_000
"""Of so many rows first: nearly all columns that determine nothing are refuted there."""
_MOST_PAIRS: Final = 12
"""Pairs of more columns are not tried."""
_MOST_GROUPS: Final = 1_000
"""A column of more values is a key or a measure: that it determines others says nothing."""


@dataclass(frozen=True)
class LinearRelation:
    """A number that is a sum of multiples of others, in every row.

    Parameters
    ----------
    name
        The column that follows.
    terms
        The columns it follows from, each with its factor.
    constant
        What is added.
    """

    name: str
    terms: tuple[tuple[str, float], ...]
    constant: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it follows from."""
        return tuple(name for name, _ in self.terms)

    @property
    def formula(self) -> str:
        """The relation as it is written, ``total = a + b``."""
        template, details = "{name} =", dict[str, object](name=self.name)
        for place, (name, factor) in enumerate(self.terms):
            sign = "\u2212" if factor < 0 else "+"
            first = " \u2212" if factor < 0 else " "
            size = "" if abs(factor) == 1.0 else f"{{factor_{place}:.6g}}·"
            details |= {f"factor_{place}": abs(factor), f"name_{place}": name}
            template += f"{first if place == 0 else f' {sign} '}{size}{{name_{place}}}"
        if self.constant:
            sign = "\u2212" if self.constant < 0 else "+"
            template += f" {sign} {{constant:.6g}}"
            details["constant"] = abs(self.constant)
        return Sentence(template, **details)

    @property
    def sentence(self) -> str:
        """The relation, said."""
        return Sentence(
            "{formula} in every row: whoever knows the other columns knows {name}.",
            formula=self.formula,
            name=self.name,
        )

    @property
    def advice(self) -> str:
        """What to do about it where one of the columns is sensitive."""
        return Sentence(
            "If one of them is sensitive, protect all {count} together, or leave the others out.",
            count=len(self.terms) + 1,
        )


@dataclass(frozen=True)
class Determined:
    """A column that one or two others determine.

    Parameters
    ----------
    name
        The column that is determined.
    columns
        The columns that determine it.
    """

    name: str
    columns: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The dependence, said."""
        if len(self.columns) > 1:
            return Sentence(
                "{columns} together determine {name}: rows alike in them are alike in {name}.",
                columns=listed(self.columns),
                name=self.name,
            )
        return Sentence(
            "{column} determines {name}: rows alike in {column} are alike in {name}.",
            column=self.columns[0],
            name=self.name,
        )

    @property
    def advice(self) -> str:
        """What to do about it where the column that is determined is sensitive."""
        return Sentence(
            "If {name} is sensitive, protect {columns} as well, or leave it out.",
            name=self.name,
            columns=listed(self.columns),
        )


Relation = LinearRelation | Determined


def linear_relations(
    numbers: Mapping[str, Floats | Integers], wanted: Sequence[str], context: Context
) -> tuple[LinearRelation, ...]:
    """Find numbers that are sums of multiples of others.

    Parameters
    ----------
    numbers
        The columns in the table's order, NaN where missing, shape (n,) each.
    wanted
        The columns that a relation is solved for where it can be, most wanted first: the
        sensitive ones.
    context
        Progress and cancelling.

    Returns
    -------
    tuple
        Each holds in every row where all of its columns are known.
    """
    context.report(0.0, "Looking for columns that follow from others")
    sample = _complete(numbers)
    names = [name for name, column in sample.items() if np.ptp(column) > 0.0]
    if len(names) < 2 or len(sample[names[0]]) < max(_LEAST_ROWS, 3 * len(names)):
        return ()
    centres = np.array([sample[name].mean() for name in names])
    scales = np.array([sample[name].std() for name in names])
    terms = (np.stack([sample[name] for name in names], axis=1) - centres) / scales
    # Columns that are wanted come last, so that they follow from the others where they can.
    order = [names.index(name) for name in names if name not in wanted]
    order += [names.index(name) for name in reversed(wanted) if name in names]
    found = []
    free: list[int] = []
    # Orthonormal directions of the free columns: one is compared with all by two products.
    directions = np.empty((terms.shape[0], terms.shape[1]), order="F")
    for number, place in enumerate(order):
        context.report(number / len(order), "Looking for columns that follow from others")
        left, known = terms[:, place], directions[:, : len(free)]
        for _ in range(2):  # once more, for what rounding left
            left = left - known @ (known.T @ left)
        weights = None
        if float(np.abs(left).max()) <= _NEARLY_FOLLOWS and free:
            basis = terms[:, free]
            weights = scipy.linalg.lstsq(basis, terms[:, place])[0]
            follows = float(np.abs(terms[:, place] - basis @ weights).max()) <= _FOLLOWS
        if weights is None or not follows:
            directions[:, len(free)] = left / np.linalg.norm(left)
            free.append(place)
            continue
        relation = _tidied(names, place, free, weights, centres, scales)
        if relation is not None and holds(relation, numbers):
            found.append(_solved(relation, wanted))
    return tuple(found)


def _complete(numbers: Mapping[str, Floats | Integers]) -> dict[str, Floats]:
    """Return rows, evenly spaced, of the columns that are mostly known, all complete."""
    usual = {k: v for k, v in numbers.items() if np.isfinite(v).mean() > 0.5}
    if not usual:
        return {}
    complete = np.flatnonzero(np.logical_and.reduce([np.isfinite(v) for v in usual.values()]))
    places = np.linspace(0, len(complete) - 1, min(_ROWS, len(complete))).astype(np.intp)
    rows = complete[places]
    if not len(rows):
        return {}
    return {name: column[rows].astype(np.float64) for name, column in usual.items()}


def _tidied(
    names: Sequence[str],
    place: int,
    free: Sequence[int],
    weights: Floats,
    centres: Floats,
    scales: Floats,
) -> LinearRelation | None:
    """Return a relation in the columns' own units, without terms that only rounding made."""
    terms = []
    for other, weight in zip(free, weights.tolist(), strict=True):
        if abs(weight) < 1e-7:
            continue
        factor = weight * scales[place] / scales[other]
        terms.append((names[other], _round(factor), factor * centres[other]))
    if not terms:
        return None
    constant = float(centres[place] - sum(part for _, _, part in terms))
    if abs(constant) < 1e-7 * max(abs(centres[place]), scales[place]):
        constant = 0.0
    pairs = tuple((name, factor) for name, factor, _ in terms)
    return LinearRelation(names[place], pairs, _round(constant))


def _round(number: float) -> float:
    near = float(f"{number:.9g}")
    return near if abs(near - number) <= 1e-10 * abs(number) else number


def holds(relation: LinearRelation, numbers: Mapping[str, Floats | Integers]) -> bool:
    """Whether a relation holds in every row where all of its columns are known."""
    left = numbers[relation.name] - relation.constant
    size = np.abs(left)
    for name, factor in relation.terms:
        term = factor * numbers[name]
        left = left - term
        size = np.maximum(size, np.abs(term))
    known = np.isfinite(left)
    if int(known.sum()) < _LEAST_ROWS:
        return False
    return bool((np.abs(left[known]) <= _ALIKE * np.maximum(size[known], 1e-300)).all())


def _solved(relation: LinearRelation, wanted: Sequence[str]) -> LinearRelation:
    """Return the relation solved for a wanted column, or for the one that is a plain sum."""
    columns = (relation.name, *relation.columns)
    if relation.name in wanted:
        return relation
    factors = {relation.name: -1.0} | dict(relation.terms)
    target = next((name for name in wanted if name in columns), None)
    if target is None:
        for name in columns:
            others = [-f / factors[name] for other, f in factors.items() if other != name]
            if all(factor > 0 for factor in others):
                target = name
                break
    if target is None or target == relation.name:
        return relation
    own = factors.pop(target)
    terms = tuple((name, _round(-factor / own)) for name, factor in factors.items())
    constant = _round(-relation.constant / own)
    return LinearRelation(target, terms, constant if constant else 0.0)


def determined(
    codes: Mapping[str, npt.NDArray[np.integer]],
    wanted: Sequence[str],
    context: Context,
    *,
    pairs: bool = True,
    units: Integers | None = None,
    whole: Whole | None = None,
) -> tuple[Determined, ...]:
    """Find columns that another column, or two together, determine.

    Parameters
    ----------
    codes
        Each column's values as codes from 0, missing being a value, shape (n,) each.
    wanted
        The columns that may be determined.
    context
        Progress and cancelling.
    pairs
        Whether two columns together are tried where none alone determines one.
    units
        Each row's unit of protection, shape (n,): that rows of one unit are alike shows nothing.
    whole
        Where `codes` are those of a part of the rows, what returns a column's codes in all, and
        the units of all: what the part does not refute is looked up there.
    """
    found: list[Determined] = []
    names = tuple(codes)

    def follows(name: str, *others: str) -> bool:
        by, of = tuple(codes[other] for other in others), codes[name]
        if whole is None:
            return _determines(by, of, _spread(of), units)
        # Where a column tells all rows of the part apart, no rows are alike.
        apart = any(int(each.max()) + 1 == len(each) for each in by)
        if apart or not _fits(by, of):
            return False
        column, units_of_all = whole
        of = column(name)
        return _determines(tuple(column(other) for other in others), of, _spread(of), units_of_all)

    possible = _possible(codes, context, least=_EXCEPTIONS if whole is None else 1.0)
    for name in wanted:
        if name not in codes:
            continue
        context.report(0.9, "Looking for columns that follow from others")
        single = [other for other in possible[name] if follows(name, other)]
        found += [Determined(name, (other,)) for other in single]
        if pairs and not single and len(names) - 1 <= _MOST_PAIRS:
            others = [other for other in names if other != name]
            found += [
                Determined(name, pair)
                for pair in itertools.combinations(others, 2)
                if follows(name, *pair)
            ]
    return tuple(found)


def _possible(
    codes: Mapping[str, npt.NDArray[np.integer]], context: Context, least: float
) -> dict[str, list[str]]:
    """Return for each column those that may determine it; the others are refuted by a few rows.

    Two rows that are alike in one column and differ in another refute that the one determines the
    other. All columns are compared at once, those that are left with more and more rows, before
    any pair of columns is looked at in all rows.

    Parameters
    ----------
    codes
        Each column's values as codes from 0, shape (n,) each.
    context
        Progress and cancelling.
    least
        In so many rows a column must be like the rows before to determine any.
    """
    names, rows = tuple(codes), len(next(iter(codes.values()), ()))
    some = min(_MOST_COMPARED, _CELLS_COMPARED // max(len(names), 1))
    every = max(1, -(-rows // max(_ROWS_COMPARED, some)))
    few = np.empty((-(-rows // every), len(names)), dtype=np.int32)
    for place, column in enumerate(codes.values()):
        few[:, place] = column[::every]
    found: dict[str, list[str]] = {name: [] for name in names}
    for place, (name, column) in enumerate(codes.items()):
        context.report(0.9 * place / len(names), "Looking for columns that follow from others")
        if rows - np.count_nonzero(np.bincount(column)) < least:
            continue
        left = np.flatnonzero(np.arange(len(names)) != place)
        for these in (few[:_FEW_COMPARED], few):
            left = _unrefuted(these, place, left)
        for follower in left.tolist():
            found[names[follower]].append(name)
    return found


def _unrefuted(rows: npt.NDArray[np.int32], place: int, left: Indices) -> Indices:
    """Return which of some columns are alike in all rows that are alike in the one at a place."""
    if not len(left):
        return left
    order = np.argsort(rows[:, place], kind="stable")
    alike = np.flatnonzero(np.diff(rows[order, place]) == 0)
    if len(alike):
        # Two rows refute most columns, and compare fastest where all are compared.
        one, other = rows[order[alike[0]]], rows[order[alike[0] + 1]]
        left = left[one[left] == other[left]]
    first, step = 1, 4
    while first < len(alike) and len(left):
        pairs = alike[first : first + step]
        one, other = (rows[order[pairs + n], left[:, np.newaxis]] for n in (0, 1))
        left = left[(one == other).all(axis=1)]
        first, step = first + step, min(4 * step, _ROWS_COMPARED)
    return left


def _spread(codes: npt.NDArray[np.integer]) -> float:
    """Return the chance that two rows have different values."""
    counts = np.bincount(codes)
    return 1.0 - float(np.square(counts / counts.sum()).sum())


def _fits(by: Sequence[npt.NDArray[np.integer]], of: npt.NDArray[np.integer]) -> bool:
    """Whether rows alike in some columns are alike in another."""
    return _determines(by, of, 1.0, None, exceptions=-1.0)


def _determines(
    by: Sequence[npt.NDArray[np.integer]],
    of: npt.NDArray[np.integer],
    differing: float,
    units: Integers | None,
    exceptions: float = _EXCEPTIONS,
) -> bool:
    """Whether rows alike in some columns are alike in another, and often enough alike at all."""
    for rows in _growing(len(of)):
        groups = by[0][:rows].astype(np.int64)
        for column in by[1:]:
            groups = groups * (int(column.max()) + 1) + column[:rows]
        number = _distinct(groups)
        both = _distinct(groups * (int(of.max()) + 1) + of[:rows])
        if both > number:
            return False
        if rows == len(of):
            alike = rows
            if units is not None:
                alike = _distinct(pd.factorize(groups)[0] * (units.max() + 1) + units)
            return bool((alike - number) * differing >= exceptions)
    return False


def _growing(rows: int) -> Iterator[int]:
    """Return a few rows first, then more: most columns are told to be independent by them."""
    few = _ROWS
    while few < rows:
        yield few
        few *= 4
    yield rows


def _distinct(keys: Integers) -> int:
    return len(class_counts(np.sort(keys)))


def exact_relations(
    table: Table, names: Sequence[str], context: Context
) -> tuple[LinearRelation | Determined, ...]:
    """Return which columns of a table are sums of others, or are determined by another one.

    Parameters
    ----------
    table
        The rows.
    names
        The columns that are looked at, in the table's order.
    context
        Progress and cancelling.
    """
    rows: Indices | None = None
    if table.rows > _PART:
        # What a part of a long table refutes need not be looked for in all of it.
        rows = np.linspace(0, table.rows - 1, _PART).astype(np.intp)
    numbers: dict[str, Floats] = {}
    codes: dict[str, Integers] = {}
    for place, name in enumerate(names):
        context.report(0.5 * place / len(names), "Looking for columns that follow from others")
        series = table.column(name) if rows is None else table.column(name).take(rows)
        if pd.api.types.is_numeric_dtype(series.dtype) and series.dtype != bool:
            numbers[name] = _floats(series)
        found = _few_codes(series, at_least=2 if rows is None else 1)
        if found is not None:
            codes[name] = found

    def whole(name: str) -> Integers:
        found = _few_codes(table.column(name), at_least=2)
        # One code for each row is of no account: too many values, or one alone.
        return np.arange(table.rows) if found is None else found

    linear = linear_relations(numbers, (), Part(context, 0.5, 0.7))
    if rows is not None:
        linear = tuple(
            each
            for each in linear
            if holds(each, {n: _floats(table.column(n)) for n in (each.name, *each.columns)})
        )
    solved = {relation.name for relation in linear}
    others = [name for name in codes if name not in solved]
    all_rows = None if rows is None else (whole, None)
    follow = determined(codes, others, Part(context, 0.7, 1.0), pairs=False, whole=all_rows)
    return (*linear, *follow)


def _floats(series: pd.Series) -> Floats:
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _few_codes(series: pd.Series, at_least: int) -> Integers | None:
    """Return a column's values as codes, missing being the last; None of too few or many values."""
    try:
        # Too many values in the first rows are too many in all.
        if len(series) > _ROWS and len(factorize(series[:_ROWS])[1]) > _MOST_GROUPS:
            return None
        positions, uniques = factorize(series)
    except TypeError:
        return None  # lists and the like, which no CSV file holds
    if not at_least <= len(uniques) <= _MOST_GROUPS:
        return None
    codes = positions.astype(np.int64)
    codes[codes < 0] = len(uniques)
    return codes
