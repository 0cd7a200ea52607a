"""Every kind of recipe, and how one is found again.

Numbers in intervals that grow from level to level; dates in months, quarters, years and decades;
values in an order, neighbours together; codes whose characters are hidden one after another, as in
postcodes; and tables that list each value with its path to the top.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Value, number_text
from sfumato.engine.generalization.hierarchies.dates import Dates
from sfumato.engine.generalization.hierarchies.recipe import (
    TOP,
    Recipe,
    Settings,
    distinct,
    read_renames,
)
from sfumato.engine.generalization.hierarchies.tree import (
    Hierarchy,
    Label,
    ground_values,
    value_text,
)

MOST_LEVELS: Final = 32
_EXACT: Final = 1e12
"""Numbers this many widths away leave too few digits to write an interval's edges."""

_WIDEST: Final = 10**15
"""An interval of the last level spans at most this many of level 1."""

_DIGITS: Final = 3
"""Digits of an edge beyond those of the width."""


class IntervalStyle(StrEnum):
    """How an interval is written."""

    HALF_OPEN = "half-open"
    """``[20, 30)``: 20 and more, less than 30."""
    WHOLE = "whole numbers"
    """``20-29``: from 20 to 29, both included."""


@dataclass(frozen=True)
class Intervals(Recipe):
    """Half-open intervals of one width, or between given edges, merged level by level.

    Parameters
    ----------
    width
        The width of level 1's intervals, in the column's unit. They start at multiples of it,
        counted from `origin`, so that no edge gives away the lowest or highest value.
    origin
        Where an interval starts.
    steps
        How many levels of intervals there are; above them comes "*".
    growth
        How many intervals of a level are merged at the next one.
    edges
        Increasing edges of level 1's intervals, instead of a width. What is below the first or
        from the last on falls into an open interval.
    style
        How intervals are written.

    Raises
    ------
    HierarchyError
        If the width is not above 0, the edges don't increase, or a number is out of range.
    """

    kind: ClassVar[str] = "intervals"

    width: float = 10.0
    origin: float = 0.0
    steps: int = 3
    growth: int = 2
    edges: tuple[float, ...] = ()
    style: IntervalStyle = IntervalStyle.HALF_OPEN

    def __post_init__(self) -> None:
        if not (math.isfinite(self.width) and self.width > 0 and math.isfinite(self.origin)):
            raise HierarchyError(
                "The width of the intervals is not a number above 0.", "Give a width above 0."
            )
        if not 1 <= self.steps <= MOST_LEVELS or self.growth < 2:
            raise HierarchyError(
                "The intervals have {steps} {steps:level|levels} and merge {growth} at a time.",
                "Choose 1 to {most} {most:level|levels} that merge at least two intervals.",
                steps=self.steps,
                growth=self.growth,
                most=MOST_LEVELS,
            )
        if self.growth ** (self.steps - 1) > _WIDEST:
            raise HierarchyError(
                "The intervals of the last level would be wider than any number needs.",
                "Choose fewer levels, or merge fewer intervals at a time.",
            )
        increasing = all(low < high for low, high in itertools.pairwise(self.edges))
        if self.edges and not (increasing and all(math.isfinite(edge) for edge in self.edges)):
            raise HierarchyError(
                "The edges of the intervals don't increase.", "Sort the edges, each once."
            )

    @property
    def height(self) -> int:
        """How many levels there are above the values."""
        return self.steps + 1

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the intervals' labels at each level, then "*"."""
        numbers = numbers_of(column, values)
        found = self._between_edges(numbers) if self.edges else self._of_one_width(column, numbers)
        return [*found, [TOP] * len(values)]

    def _of_one_width(self, column: str, numbers: Floats) -> list[Sequence[Label]]:
        ratio = (numbers - self.origin) / self.width
        if not np.all(np.maximum(np.abs(ratio), np.abs(numbers) / self.width) < _EXACT):
            raise HierarchyError(
                "Column {column} holds numbers that are too large for intervals of this width.",
                "Choose a larger width, or give the edges one by one.",
                column=column,
            )
        nearest = np.rint(ratio)
        # A number on an edge belongs above it, whatever the division's last digit says.
        on_edge = np.abs(ratio - nearest) <= 1e-9 * np.maximum(1.0, np.abs(ratio))
        places = np.where(on_edge, nearest, np.floor(ratio)).astype(np.int64)
        found: list[Sequence[Label]] = []
        for step in range(self.steps):
            merged = self.growth**step
            # Each interval is written once, however many values lie in it.
            distinct, at = np.unique(places // merged, return_inverse=True)
            size = merged * self.width
            labels = [
                self._label(self.origin + place * size, self.origin + (place + 1) * size)
                for place in distinct.tolist()
            ]
            found.append([labels[position] for position in at.tolist()])
        return found

    def _between_edges(self, numbers: Floats) -> list[Sequence[Label]]:
        places = np.searchsorted(self.edges, numbers, side="right")
        bounds = [-math.inf, *self.edges, math.inf]
        found: list[Sequence[Label]] = []
        for step in range(self.steps):
            merged = self.growth**step
            labels = {}
            for first in range(0, len(bounds) - 1, merged):
                last = min(first + merged, len(bounds) - 1)
                labels[first // merged] = self._label(bounds[first], bounds[last])
            found.append([labels[int(place) // merged] for place in places])
        return found

    def _label(self, low: float, high: float) -> str:
        if low == -math.inf and high == math.inf:
            return TOP
        if low == -math.inf:
            return f"< {self._edge(high)}"
        if high == math.inf:
            return f"≥ {self._edge(low)}"
        first, end = self._edge(low), self._edge(high)
        if (
            self.style is IntervalStyle.WHOLE
            and first.lstrip("-").isdecimal()
            and (end.lstrip("-").isdecimal())
        ):
            last = self._edge(high - 1)
            return first if last == first else f"{first}-{last}"
        return f"[{first}, {end})"

    def _edge(self, number: float) -> str:
        """Return an edge without the dust of multiplying the width."""
        if not self.edges:
            number = round(number, max(0, _DIGITS - math.floor(math.log10(self.width))))
        return number_text(number + 0.0)

    def settings(self) -> dict[str, Any]:
        """Return the recipe's numbers; the width too where edges are given in its place."""
        plain = super().settings()
        return {"edges": plain.pop("edges"), **plain} if self.edges else plain


def numbers_of(column: str, values: Sequence[Value]) -> Floats:
    """Return values as numbers, shape (m,).

    Raises
    ------
    HierarchyError
        If some of them are not numbers.
    """
    numbers = np.array([_number(value) for value in values], dtype=np.float64)
    bad = int((~np.isfinite(numbers)).sum())
    if bad:
        raise HierarchyError(
            "In {column}, {count} {count:value is no finite number|values are no finite numbers}.",
            "Group its values by order, by prefix or with a table instead.",
            column=column,
            count=bad,
        )
    return numbers


def _number(value: Value) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(value_text(value))
    except ValueError:
        return math.nan


@dataclass(frozen=True)
class Orders(Recipe):
    """Neighbours in an order are grouped, then neighbouring groups.

    Parameters
    ----------
    sizes
        How many values make a group at level 1, how many groups of level 1 one at level 2,
        and so on. Above them comes "*".
    order
        The values' texts in their order; values that are not listed follow naturally.

    Raises
    ------
    HierarchyError
        If a size is below 2, there is none, or the order lists a value twice.
    """

    kind: ClassVar[str] = "order"
    by_value: ClassVar[bool] = False

    sizes: tuple[int, ...] = (2, 2)
    order: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 2:
            raise HierarchyError(
                "The groups of a level hold fewer than two members.",
                "Give each level a size of two or more.",
            )
        _refuse_repeated(self.order)

    @property
    def height(self) -> int:
        """How many levels there are above the values."""
        return len(self.sizes) + 1

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the groups' labels, first to last member, at each level, then "*"."""
        ranked = _ranks(values, self.order)
        found: list[Sequence[Label]] = []
        merged = 1
        for size in self.sizes:
            merged *= size
            found.append(_grouped(values, ranked, [rank // merged for rank in range(len(values))]))
        return [*found, [TOP] * len(values)]


@dataclass(frozen=True)
class FourLevels(Recipe):
    """The values, four classes, two classes, one class.

    The form of the experiments in Cheong, Wu and Wong, "Non-centralized distinct l-diversity"
    (2012), section 6.1. Classes are runs of the order with as many values each as possible.

    Parameters
    ----------
    order
        The values' texts in their order; values that are not listed follow naturally.

    Raises
    ------
    HierarchyError
        If the order lists a value twice.
    """

    kind: ClassVar[str] = "four-levels"
    by_value: ClassVar[bool] = False

    order: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        _refuse_repeated(self.order)

    @property
    def height(self) -> int:
        """How many levels there are above the values."""
        return 3

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the labels of four, two and one class."""
        ranked = _ranks(values, self.order)
        quarters = [4 * rank // len(values) for rank in range(len(values))]
        return [
            _grouped(values, ranked, quarters),
            _grouped(values, ranked, [quarter // 2 for quarter in quarters]),
            [TOP] * len(values),
        ]


def _refuse_repeated(order: Sequence[str]) -> None:
    if len(set(order)) != len(order):
        raise HierarchyError("The order lists a value twice.", "List each value once.")


def _ranks(values: Sequence[Value], order: Sequence[str]) -> list[int]:
    """Return the values' positions, sorted: those listed first, the others as they come."""
    places = {text: place for place, text in enumerate(order)}
    keys = [places.get(value_text(value), len(places)) for value in values]
    return sorted(range(len(values)), key=lambda position: (keys[position], position))


def _grouped(values: Sequence[Value], ranked: Sequence[int], groups: Sequence[int]) -> list[str]:
    """Return each value's label, where the value at each rank belongs to a group."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for rank, group in enumerate(groups):
        first.setdefault(group, ranked[rank])
        last[group] = ranked[rank]
    made = [_span(value_text(values[first[g]]), value_text(values[last[g]])) for g in first]
    labels = dict(zip(first, distinct(made), strict=True))
    found = [""] * len(values)
    for rank, group in enumerate(groups):
        found[ranked[rank]] = labels[group]
    return found


def _span(low: str, high: str) -> str:
    # An empty text is a value like any other, but a class needs a name.
    return (low or "''") if low == high else f"{low or chr(39) * 2} – {high or chr(39) * 2}"


class Side(StrEnum):
    """From which end characters are hidden."""

    RIGHT = "right"
    """The last characters go first: 12345, 1234*, 123**."""
    LEFT = "left"
    """The first characters go first: 12345, *2345, **345."""


@dataclass(frozen=True)
class Masking(Recipe):
    """Characters hidden from one end, more at each level.

    Parameters
    ----------
    hidden
        How many more characters each level hides than the one below. Above comes "*".
    side
        From which end.
    keep_length
        Whether every hidden character leaves a star, or all of them one star: then values of
        different lengths may meet.
    digits
        Zeros are put before shorter values up to this length, for postcodes read as numbers.

    Raises
    ------
    HierarchyError
        If a level hides nothing, or there is none.
    """

    kind: ClassVar[str] = "masking"

    hidden: tuple[int, ...] = (1, 1)
    side: Side = Side.RIGHT
    keep_length: bool = True
    digits: int = 0

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise HierarchyError(
                "A level of the hierarchy hides no character.",
                "Let each level hide one character or more.",
            )
        if not 0 <= self.digits <= 100:
            raise HierarchyError(
                "The values are to be filled up to {digits} {digits:character|characters}.",
                "Choose a length from 0 to 100.",
                digits=self.digits,
            )

    @property
    def height(self) -> int:
        """How many levels there are above the values."""
        return len(self.hidden) + 1

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the masked values at each level, then "*"."""
        texts = [value_text(value).zfill(self.digits) for value in values]
        masked: list[Sequence[Label]] = [
            [self._mask(text, count) for text in texts]
            for count in itertools.accumulate(self.hidden)
        ]
        return [*masked, [TOP] * len(values)]

    def _mask(self, text: str, count: int) -> str:
        kept = max(0, len(text) - count)
        stars = TOP * min(count, len(text)) if self.keep_length else TOP
        if self.side is Side.RIGHT:
            return (text[:kept] + stars) or TOP
        return (stars + text[len(text) - kept :]) or TOP


@dataclass(frozen=True)
class Taxonomy(Recipe):
    """A table that lists every value with its label at each level.

    It may list values that do not occur in the column.

    Parameters
    ----------
    rows
        For each value its text and its labels from level 1 up, all rows equally long. An empty
        text stands for a missing value; where it is not listed, missing is a class of its own
        up to the top.

    Raises
    ------
    HierarchyError
        If the table is empty, its rows differ in length, a value is listed twice or a label is
        empty.
    """

    kind: ClassVar[str] = "table"

    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.rows or len(self.rows[0]) < 2:
            raise HierarchyError(
                "The hierarchy's table has no levels.",
                "Give each value a row: the value, then its label at each level.",
            )
        seen: dict[str, int] = {}
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.rows[0]):
                raise HierarchyError(
                    "Row {row} of the hierarchy's table has {found} {found:cell|cells}, and row 1"
                    " has {expected}.",
                    "Give every value a label at each level.",
                    row=number,
                    found=len(row),
                    expected=len(self.rows[0]),
                )
            if row[0] in seen:
                raise HierarchyError(
                    "Rows {first} and {row} of the hierarchy's table list the same value.",
                    "Keep one of them.",
                    first=seen[row[0]],
                    row=number,
                )
            if not all(row[1:]):
                raise HierarchyError(
                    "Row {row} of the hierarchy's table has an empty label.",
                    "Give every value a label at each level, or '*' to hide it.",
                    row=number,
                )
            seen[row[0]] = number

    @cached_property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """Each value's labels from level 1 up, by its text."""
        return {row[0]: row[1:] for row in self.rows}

    @property
    def height(self) -> int:
        """How many levels there are above the values."""
        return len(self.rows[0]) - 1

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the labels that the table lists for the values."""
        found = [self.paths.get(value_text(value)) for value in values]
        listed = [path for path in found if path is not None]
        if len(listed) < len(found):
            raise HierarchyError(
                "The hierarchy of column {column} does not list {count} of its {values}"
                " {values:value|values}.",
                "Add them to the hierarchy's table, each with its labels.",
                column=column,
                count=len(found) - len(listed),
                values=len(found),
            )
        return [list(level) for level in zip(*listed, strict=True)]

    def missing_path(self, height: int) -> list[Label]:
        """Return the row of a missing value, if there is one, else a class of its own."""
        listed = self.paths.get("")
        if listed is not None:
            return list(listed)
        own: list[Label] = [None] * (len(self.rows[0]) - 1)
        tops = {row[-1] for row in self.rows}
        return [*own[:-1], tops.pop() if len(tops) == 1 else None]


@dataclass(frozen=True)
class Suppression(Recipe):
    """The value, or nothing of it."""

    kind: ClassVar[str] = "suppression"

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return "*" for every value."""
        return [[TOP] * len(values)]


RECIPES: Final[Mapping[str, type[Recipe]]] = MappingProxyType(
    {
        recipe.kind: recipe
        for recipe in (Intervals, Orders, Masking, Dates, Taxonomy, FourLevels, Suppression)
    }
)
"""Every kind of recipe by its name in files, in the order in which they are offered."""


def recipe_from_dict(values: Mapping[str, Any]) -> Recipe:
    """Return the recipe that `Recipe.to_dict` wrote.

    Raises
    ------
    HierarchyError
        If the kind or a setting is unknown or out of range.
    """
    given = Settings(values)
    kind = given.take("kind", str, "")
    if kind not in RECIPES:
        raise HierarchyError(
            "There is no hierarchy of the kind {kind}.",
            "Choose among {known}.",
            kind=kind or "(none)",
            known=", ".join(RECIPES),
        )
    renames = read_renames(given)
    recipe = RECIPES[kind].from_settings(given)
    given.finish()
    return replace(recipe, renames=renames) if renames else recipe


def hierarchy_of(recipe: Recipe, spec: ColumnSpec, series: pd.Series) -> Hierarchy:
    """Return the hierarchy that a recipe makes of a column of the table.

    Parameters
    ----------
    recipe
        How its levels are made.
    spec
        The column's specification; a column with bins is generalized from its bins.
    series
        The column, shape (n,).

    Raises
    ------
    HierarchyError
        If the recipe does not fit the column's values.
    DomainError
        If the column's bins don't fit it.
    """
    return recipe.build(spec.name, ground_values(spec, series))
