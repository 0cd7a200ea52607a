"""Dates in months, quarters, years and decades."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

import pandas as pd

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies.recipe import TOP, Recipe
from sfumato.engine.generalization.hierarchies.settings import Settings
from sfumato.engine.generalization.hierarchies.tree import Label


class DateUnit(StrEnum):
    """A span of the calendar; each lies wholly within every longer one."""

    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"
    HALF_YEAR = "half-year"
    YEAR = "year"
    FIVE_YEARS = "five years"
    DECADE = "decade"
    CENTURY = "century"


_LABELS: Final[Mapping[DateUnit, Callable[[int, int, int], str]]] = MappingProxyType(
    {
        DateUnit.DAY: lambda year, month, day: f"{year:04d}-{month:02d}-{day:02d}",
        DateUnit.MONTH: lambda year, month, _: f"{year:04d}-{month:02d}",
        DateUnit.QUARTER: lambda year, month, _: f"{year:04d} Q{(month + 2) // 3}",
        DateUnit.HALF_YEAR: lambda year, month, _: f"{year:04d} H{(month + 5) // 6}",
        DateUnit.YEAR: lambda year, _, __: f"{year:04d}",
        DateUnit.FIVE_YEARS: lambda year, _, __: _years(year, 5),
        DateUnit.DECADE: lambda year, _, __: _years(year, 10),
        DateUnit.CENTURY: lambda year, _, __: _years(year, 100),
    }
)


@dataclass(frozen=True)
class Dates(Recipe):
    """Dates in ever longer spans of the calendar.

    Parameters
    ----------
    units
        The span of each level, short ones first. Above them comes "*".

    Raises
    ------
    HierarchyError
        If there is none, or they don't grow.
    """

    kind: ClassVar[str] = "dates"

    units: tuple[DateUnit, ...] = (
        DateUnit.MONTH,
        DateUnit.QUARTER,
        DateUnit.YEAR,
        DateUnit.DECADE,
    )

    def __post_init__(self) -> None:
        order = [list(DateUnit).index(unit) for unit in self.units]
        if not order or order != sorted(set(order)):
            raise HierarchyError(
                "The spans of a hierarchy of dates don't grow from level to level.",
                "List each span once, short ones first: month, quarter, year.",
            )

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return each date's span at each level, then "*"."""
        parts = _parts(column, values)
        found: list[Sequence[Label]] = [
            [_LABELS[unit](*part) for part in parts] for unit in self.units
        ]
        return [*found, [TOP] * len(values)]

    def settings(self) -> dict[str, Any]:
        """Return the spans."""
        return {"units": [unit.value for unit in self.units]}

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return the recipe of plain values."""
        names = given.texts("units")
        known = {unit.value: unit for unit in DateUnit}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise HierarchyError(
                "A hierarchy of dates has no span {unit}.",
                "Choose among {known}.",
                unit=unknown[0],
                known=", ".join(known),
            )
        return cls(tuple(known[name] for name in names)) if names else cls()


def dates_of(values: Sequence[Value]) -> pd.Series:
    """Return values as dates, shape (m,); missing where one is no date."""
    texts = pd.Series([value if isinstance(value, str) else None for value in values], dtype=object)
    # The zone doesn't matter for the day that is written.
    written = texts.str.match(r"\d{4}-\d{2}-\d{2}($|[T ])").fillna(False).astype(bool)
    plain = texts.str.slice(0, 10).where(written)
    return pd.to_datetime(plain, format="%Y-%m-%d", errors="coerce")


def _parts(column: str, values: Sequence[Value]) -> list[tuple[int, int, int]]:
    dates = dates_of(values)
    bad = int(dates.isna().sum())
    if bad:
        raise HierarchyError(
            "Column {column} has {count} values that are not dates.",
            "Read it as dates when the file is opened, or write them as 2026-03-31.",
            column=column,
            count=bad,
        )
    return list(
        zip(
            dates.dt.year.astype(int).tolist(),
            dates.dt.month.astype(int).tolist(),
            dates.dt.day.astype(int).tolist(),
            strict=True,
        )
    )


def _years(year: int, span: int) -> str:
    first = year - year % span
    return f"{first:04d}-{first + span - 1:04d}"
