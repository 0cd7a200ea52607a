"""Numbers in intervals that grow from level to level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.values import Value, number_text
from sfumato.engine.generalization.hierarchies.leaves import value_text
from sfumato.engine.generalization.hierarchies.recipe import TOP, Recipe
from sfumato.engine.generalization.hierarchies.settings import Settings
from sfumato.engine.generalization.hierarchies.tree import Label

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
                "The intervals have {steps} levels and merge {growth} at a time.",
                "Choose 1 to {most} levels that merge at least two intervals.",
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

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the intervals' labels at each level, then "*"."""
        numbers = numbers_of(column, values)
        found = self._between_edges(numbers) if self.edges else self._of_one_width(column, numbers)
        return [*found, [TOP] * len(values)]

    def _of_one_width(self, column: str, numbers: npt.NDArray[np.float64]) -> list[Sequence[Label]]:
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

    def _between_edges(self, numbers: npt.NDArray[np.float64]) -> list[Sequence[Label]]:
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
        return {
            **({"edges": list(self.edges)} if self.edges else {}),
            "width": self.width,
            "origin": self.origin,
            "steps": self.steps,
            "growth": self.growth,
            "style": self.style.value,
        }

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return the recipe of plain values."""
        return cls(
            given.number("width", 10.0),
            given.number("origin", 0.0),
            given.whole("steps", 3),
            given.whole("growth", 2),
            given.numbers("edges"),
            given.choice("style", IntervalStyle.HALF_OPEN),
        )


def numbers_of(column: str, values: Sequence[Value]) -> npt.NDArray[np.float64]:
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
            "Column {column} has {count} values that are not finite numbers.",
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
