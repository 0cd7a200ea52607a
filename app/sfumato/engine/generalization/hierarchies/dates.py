"""Hierarchies of dates and of periods: ever longer spans of the calendar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar, Final, Self

import numpy as np
import pandas as pd

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import Period, begin_of
from sfumato.engine.core.values import Value, is_number
from sfumato.engine.generalization.hierarchies.recipe import TOP, Recipe, Settings
from sfumato.engine.generalization.hierarchies.tree import Label, value_text


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

    @property
    def height(self) -> int:
        """How many levels there are above the values."""
        return len(self.units) + 1

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return each date's span at each level, then "*"."""
        self._refuse_finer(column, values)
        parts = _parts(column, values)
        found: list[Sequence[Label]] = [
            [_LABELS[unit](*part) for part in parts] for unit in self.units
        ]
        return [*found, [TOP] * len(values)]

    def _refuse_finer(self, column: str, values: Sequence[Value]) -> None:
        """Refuse values that are longer than the first span."""
        order = list(DateUnit)
        spans = [span_of(value) for value in values]
        longer = [span for span in spans if order.index(span) > order.index(self.units[0])]
        if longer:
            raise HierarchyError(
                "In {column}, {count} {count:value tells|values tell} no {unit}.",
                "Begin the hierarchy with the span {longest}, or a longer one.",
                column=column,
                count=len(longer),
                unit=self.units[0].value,
                longest=max(longer, key=order.index).value,
            )

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return the recipe of plain values."""
        names = given.take("units", tuple[str, ...], ())
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


_SPANS: Final = MappingProxyType(
    {
        Period.MONTH: DateUnit.MONTH,
        Period.QUARTER: DateUnit.QUARTER,
        Period.HALF_YEAR: DateUnit.HALF_YEAR,
    }
)
"""The span that a period is; weeks are told no better than by their year."""


def span_of(value: Value) -> DateUnit:
    """Return the span of the calendar that a value tells: that of a period, or a day."""
    found = begin_of(_period_text(value))
    return DateUnit.DAY if found is None else _SPANS.get(found[0], DateUnit.YEAR)


def coarsening(values: Sequence[Value], units: Sequence[DateUnit]) -> tuple[DateUnit, ...]:
    """Return the spans that are longer than every value."""
    order = list(DateUnit)
    lengths = [0]
    for value in values:
        found = begin_of(_period_text(value))
        is_week = found is not None and found[0] not in (*_SPANS, Period.YEAR)
        lengths.append(order.index(span_of(value)) - is_week)
    return tuple(unit for unit in units if order.index(unit) > max(lengths))


def _period_text(value: Value) -> str:
    """Return a value's text; a number of fewer digits than four is hardly meant as a year."""
    return value_text(value) if is_number(value) else str(value)


def dates_of(values: Sequence[Value]) -> pd.Series:
    """Return values as dates, shape (m,), periods as their first days; missing where no date.

    A year alone may be any number, and is no date here.
    """
    texts = pd.Series([value if isinstance(value, str) else None for value in values], dtype=object)
    # The zone doesn't matter for the day that is written.
    written = texts.str.match(r"\d{4}-\d{2}-\d{2}($|[T ])").fillna(False).astype(bool)
    plain = texts.str.slice(0, 10).where(written)
    for place in np.flatnonzero(texts.notna() & ~written).tolist():
        found = begin_of(texts.iloc[place])
        if found is not None and found[0] is not Period.YEAR:
            plain.iloc[place] = str(found[1])
    return pd.to_datetime(plain, format="%Y-%m-%d", errors="coerce")


def _parts(column: str, values: Sequence[Value]) -> list[tuple[int, int, int]]:
    # A hierarchy of dates was chosen, so that four digits are a year.
    begins = [begin_of(_period_text(value)) for value in values]
    texts = [str(begin[1]) if begin else value for begin, value in zip(begins, values, strict=True)]
    dates = dates_of(texts)
    bad = int(dates.isna().sum())
    if bad:
        raise HierarchyError(
            "In {column}, {count} {count:value is not a date|values are not dates}.",
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
