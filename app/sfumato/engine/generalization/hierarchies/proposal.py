"""A hierarchy that is probably useful for a column, with the reason."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Kind
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Value, is_number
from sfumato.engine.generalization.hierarchies.dates import Dates, DateUnit, coarsening, dates_of
from sfumato.engine.generalization.hierarchies.recipe import Recipe
from sfumato.engine.generalization.hierarchies.recipes import (
    Intervals,
    Masking,
    Orders,
    Suppression,
    numbers_of,
)
from sfumato.engine.generalization.hierarchies.tree import ground_values, value_text
from sfumato.engine.table.proposals import words_of

_FINEST: Final = 16
"""About how many intervals level 1 has."""

_FEW: Final = 12
"""Numbers with no more distinct values are grouped by their order."""

_CODE: Final = re.compile(r"[A-Za-z]{0,2}\d[\dA-Za-z.\- ]{1,9}")
_BAND: Final = re.compile(
    r"[<>≤≥]?\s*\d+([.,]\d+)?\s*(-|–|to|\+|and over)?\s*\d*\+?", re.IGNORECASE
)
_POSTAL: Final = frozenset({"zip", "zipcode", "postcode", "postal", "plz", "icd"})


@dataclass(frozen=True)
class HierarchyProposal:
    """A recipe to start from.

    Parameters
    ----------
    recipe
        What is proposed.
    reason
        Why, in a sentence for the custodian.
    """

    recipe: Recipe
    reason: str


def propose_hierarchy(spec: ColumnSpec, series: pd.Series) -> HierarchyProposal:
    """Return a hierarchy for a column, from its kind, its name and its values.

    Parameters
    ----------
    spec
        The column's specification.
    series
        The column, shape (n,).

    Raises
    ------
    HierarchyError
        If the column mixes texts with numbers.
    DomainError
        If the column's bins don't fit it.
    """
    values = [value for value in ground_values(spec, series) if value is not None]
    if len(values) <= 2:
        return HierarchyProposal(
            Suppression(), "With one or two values there is nothing between them and '*'."
        )
    if spec.binning is not None:
        return HierarchyProposal(Orders(_halving(len(values))), "Neighbouring bins are merged.")
    if all(is_number(value) for value in values):
        return _of_numbers(spec, values)
    if spec.kind is Kind.DATE or bool(dates_of(values).notna().all()):
        return _of_dates(values)
    return _of_texts(spec, [value_text(value) for value in values])


def _of_numbers(spec: ColumnSpec, values: Sequence[Value]) -> HierarchyProposal:
    if _POSTAL.intersection(words_of(spec.name)):
        return _masking([value_text(value) for value in values], numbers=True)
    if len(values) <= _FEW:
        return HierarchyProposal(
            Orders(_halving(len(values))), "A few numbers: neighbours are merged two by two."
        )
    numbers = numbers_of(spec.name, values)
    low, high = float(numbers.min()), float(numbers.max())
    width = _round_width(high / _FINEST - low / _FINEST)
    if bool((numbers == np.floor(numbers)).all()):
        width = max(width, 1.0)
    count = math.floor(high / width) - math.floor(low / width) + 1
    steps = max(1, math.ceil(math.log2(count)) - 1)
    return HierarchyProposal(
        Intervals(width, steps=steps),
        "Numbers: intervals with round edges, twice as wide at each level.",
    )


def _round_width(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, … times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * nice for nice in (1.0, 2.0, 5.0, 10.0) if power * nice >= least * 0.999)


def _halving(count: int) -> tuple[int, ...]:
    """Return sizes that merge two by two until two or three classes are left."""
    return (2,) * max(1, math.ceil(math.log2(count)) - 1)


def _of_dates(values: Sequence[Value]) -> HierarchyProposal:
    years = dates_of(values).dropna().dt.year
    span = int(years.max() - years.min()) if len(years) else 0
    units = [DateUnit.MONTH, DateUnit.QUARTER, DateUnit.YEAR]
    if span >= 10:
        units.append(DateUnit.DECADE)
    if span >= 60:
        units = [DateUnit.MONTH, DateUnit.YEAR, DateUnit.FIVE_YEARS, DateUnit.DECADE]
    recipe = Dates(coarsening(values, units) or (DateUnit.DECADE,))
    return HierarchyProposal(recipe, "Dates: ever longer spans of the calendar.")


def _of_texts(spec: ColumnSpec, texts: Sequence[str]) -> HierarchyProposal:
    bands = all(_BAND.fullmatch(text) for text in texts)
    postal = bool(_POSTAL.intersection(words_of(spec.name)))
    if bands and not postal and len({len(text) for text in texts}) > 1:
        return HierarchyProposal(
            Orders(_halving(len(texts))), "Texts that begin with numbers: neighbours are merged."
        )
    codes = sum(1 for text in texts if _CODE.fullmatch(text)) >= 0.9 * len(texts)
    if postal or codes:
        return _masking(texts)
    return HierarchyProposal(
        Suppression(),
        "The values have no order that a program could know. Group them with a table, or put"
        " them in order.",
    )


def _masking(texts: Sequence[str], numbers: bool = False) -> HierarchyProposal:
    longest = max(len(text) for text in texts)
    hidden = (1,) * max(1, longest - 1)
    recipe = Masking(hidden[:5], digits=longest if numbers else 0)
    return HierarchyProposal(recipe, "Codes: their last characters are hidden one by one.")
