"""Numbers that leave unperturbed but coarser: rounded, top-coded and bottom-coded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.values import number_text
from sfumato.engine.core.wording import Sentence


@dataclass(frozen=True)
class Coding:
    """How a column of numbers is coarsened and stays one of numbers.

    Numbers are rounded first, halves up; those beyond an end are then shown as the end.

    Parameters
    ----------
    bottom, top
        What it shows means "this or less" and "this or more"; None leaves the extremes as they
        are.
    step
        Numbers are rounded to multiples of it; None leaves them exact.

    Raises
    ------
    DomainError
        If a number is not finite, the ends don't increase, or the step is not above 0.
    """

    bottom: float | None = None
    top: float | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        stated = [number for number in (self.bottom, self.top, self.step) if number is not None]
        if not all(math.isfinite(number) for number in stated):
            raise DomainError(
                "A number to round or to cut off by is not finite.", "Give a finite number."
            )
        if self.step is not None and self.step <= 0.0:
            raise DomainError(
                "Numbers can't be rounded to {step:g}.", "Give a step above 0.", step=self.step
            )
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise DomainError(
                "The lowest number shown, {bottom:g}, is not below the highest, {top:g}.",
                "Lower the one or raise the other.",
                bottom=self.bottom,
                top=self.top,
            )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it means for whoever reads the column, a sentence for each setting."""
        said: list[str] = []
        if self.step is not None:
            said.append(Sentence("rounded to {step}", step=number_text(self.step)))
        if self.bottom is not None:
            said.append(
                Sentence("{number} means {number} or less", number=number_text(self.bottom))
            )
        if self.top is not None:
            said.append(Sentence("{number} means {number} or more", number=number_text(self.top)))
        return tuple(said)

    def apply(self, column: pd.Series) -> pd.Series:
        """Return the column as it leaves; what is missing stays missing.

        Raises
        ------
        DomainError
            If the column is not numeric.
        """
        dtype = column.dtype
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
            raise DomainError(
                "Column {column} is not numeric, so it can't be rounded or cut off.",
                "Choose the kind 'numeric', or take its rounding and its ends away.",
                column=column.name,
            )
        stated = [number for number in (self.bottom, self.top, self.step) if number is not None]
        if pd.api.types.is_integer_dtype(dtype) and all(map(float.is_integer, map(float, stated))):
            return self._of_whole_numbers(column)
        numbers: npt.NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if self.step is not None:
            numbers = np.floor(numbers / self.step + 0.5) * self.step
            # Multiples without the dust of binary fractions: 3·0.1 is 0.3.
            exponent = Decimal(repr(self.step)).as_tuple().exponent
            numbers = np.round(numbers, max(0, -int(exponent)))
        shown = np.clip(numbers, self.bottom, self.top) if self._has_ends else numbers
        return pd.Series(shown, index=column.index, name=column.name)

    @property
    def _has_ends(self) -> bool:
        return self.bottom is not None or self.top is not None

    def _of_whole_numbers(self, column: pd.Series) -> pd.Series:
        """Return whole numbers as they leave, exact however large they are."""
        own_type = isinstance(column.dtype, pd.api.extensions.ExtensionDtype)
        shown = column.astype("Int64" if own_type else np.int64)
        if self.step is not None:
            step = int(self.step)
            shown = (shown + step // 2) // step * step
        if self._has_ends:
            bottom, top = (None if end is None else int(end) for end in (self.bottom, self.top))
            shown = shown.clip(lower=bottom, upper=top)
        return shown


def beyond(column: pd.Series, coding: Coding) -> int:
    """Return how many numbers of a column lie beyond the ends."""
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    low = 0 if coding.bottom is None else int((numbers < coding.bottom).sum())
    high = 0 if coding.top is None else int((numbers > coding.top).sum())
    return low + high
