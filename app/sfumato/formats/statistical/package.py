"""What tells the statistical packages apart: their dates, formats, names and limits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_DAY: Final = 86_400
_FARTHEST: Final = 1e13
"""More seconds than datetime64 holds in microseconds are no date."""


@dataclass(frozen=True)
class Moments:
    """How a package stores dates, and dates with a time of day.

    Parameters
    ----------
    origin
        The day its numbers count from.
    seconds_per_date
        The seconds that one unit of a date lasts.
    units_per_second
        The units of a date with a time that make a second.
    is_date, is_moment
        Whether a display format is one of a date, or of a date with a time.
    """

    origin: np.datetime64
    seconds_per_date: int
    units_per_second: int
    is_date: Callable[[str], bool]
    is_moment: Callable[[str], bool]

    def decode(self, numbers: npt.NDArray[np.float64], shown: str) -> npt.NDArray[Any] | None:
        """Return a package's numbers as moments, or None where the format is not of dates.

        Fractions of a second are rounded to ten-thousandths: a number of seconds since 1582
        holds no more digits up to the year 9999.
        """
        if self.is_date(shown):
            seconds = np.floor(numbers * self.seconds_per_date / _DAY) * _DAY
            fractions = np.zeros(len(numbers))
        elif self.is_moment(shown):
            seconds = np.floor(numbers / self.units_per_second)
            fractions = numbers / self.units_per_second - seconds
            if self.units_per_second > 1:
                fractions = (numbers - seconds * self.units_per_second) / self.units_per_second
        else:
            return None
        known = np.abs(seconds) < _FARTHEST  # Also false where the number is missing.
        whole = np.where(known, seconds, 0).astype(np.int64)
        parts = np.round(np.where(known, fractions, 0) * 1e4).astype(np.int64) * 100
        moments: npt.NDArray[np.datetime64] = self.origin.astype("datetime64[us]") + (
            whole * 1_000_000 + parts
        )
        moments[~known] = np.datetime64("NaT")
        return moments

    def encode(self, moments: npt.NDArray[np.datetime64], *, dates: bool) -> npt.NDArray[Any]:
        """Return moments as the package's numbers; NaN where missing.

        Parameters
        ----------
        moments
            With no more than milliseconds, shape (n,).
        dates
            Whether they are dates without a time of day.
        """
        milliseconds = (moments.astype("datetime64[ms]") - self.origin).astype(np.float64)
        if dates:
            numbers = milliseconds / (1000 * self.seconds_per_date)
        else:
            numbers = milliseconds / (1000 / self.units_per_second)
        numbers[np.isnat(moments)] = np.nan
        return numbers


@dataclass(frozen=True)
class NameRules:
    """What a package allows in the name of a variable.

    Parameters
    ----------
    longest
        The most bytes.
    others
        The characters allowed beside letters, digits and the underscore.
    reserved
        The words that are no names, in lower case.
    folds_case
        Whether names that differ in case only are the same.
    """

    longest: int
    others: str
    reserved: frozenset[str]
    folds_case: bool

    def fit(self, names: Sequence[str]) -> dict[str, str]:
        """Return a name the package allows for each name.

        What is not allowed becomes an underscore, a name that begins with something else than
        a letter gets a ``v`` before it, and names that fall together are numbered.
        """
        fitted: dict[str, str] = {}
        taken: set[str] = set()
        proper = [name for name in names if self._clean(name) == name]
        for name in (*proper, *(name for name in names if name not in set(proper))):
            candidate = self._clean(name)
            number = 1
            while self._key(candidate) in taken:
                number += 1
                ending = f"_{number}"
                candidate = _cut(self._clean(name), self.longest - len(ending)) + ending
            taken.add(self._key(candidate))
            fitted[name] = candidate
        return {name: fitted[name] for name in names}

    def _key(self, name: str) -> str:
        return name.lower() if self.folds_case else name

    def _clean(self, name: str) -> str:
        text = unicodedata.normalize("NFC", name)
        kept = "".join(c if c.isalnum() or c == "_" or c in self.others else "_" for c in text)
        kept = kept.rstrip(self.others)
        if not kept or not kept[0].isalpha() or kept.lower() in self.reserved:
            kept = f"v{kept}"
        return _cut(kept, self.longest).rstrip(self.others)


@dataclass(frozen=True)
class WriteRules:
    """What a package's files can hold.

    Parameters
    ----------
    names
        See `NameRules`.
    longest_text
        The most bytes of a text.
    longest_label, longest_value_label
        The most bytes of the label of a column, and of a value.
    keeps_trailing_blanks
        Whether blanks at the end of a text are kept.
    labels_text
        Whether the values of a text column can have labels.
    largest_integer
        The largest number, up or down, that is stored as a whole number; 0 if none is.
    whole_format, decimal_format, date_format, moment_format
        The display formats of whole and decimal numbers, dates, and dates with a time.
    """

    names: NameRules
    longest_text: int
    longest_label: int
    longest_value_label: int
    keeps_trailing_blanks: bool
    labels_text: bool
    largest_integer: int
    whole_format: str
    decimal_format: str
    date_format: str
    moment_format: str


@dataclass(frozen=True)
class Package:
    """A statistical package, as far as its files go.

    Parameters
    ----------
    title
        Its name.
    reader
        The name of the library's function that reads its files.
    moments
        How it stores dates.
    whole
        A pattern of display formats that may stand for whole numbers.
    """

    title: str
    reader: str
    moments: Moments
    whole: re.Pattern[str]


def _cut(text: str, longest: int) -> str:
    """Return a text cut to so many bytes, between characters."""
    return text.encode()[:longest].decode(errors="ignore")
