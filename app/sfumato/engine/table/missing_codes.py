"""What looks like codes for missing values: −9, 99999, 9999-12-31, apart; a number among words.

A column of numbers with such codes has another mean and another spread than what it is about, and
noise would be measured by them. Whether a number is a code only its custodian knows; so it is asked
about where it is one of those that people take for codes, repeats, and stands far from the rest,
where it is all nines and far more frequent than any number around it (9999 among incomes that reach
beyond it), where all others in its column are words, or where its label says that there was no
answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Value
from sfumato.engine.table.table import Table, companions

_HIGH: Final = frozenset(
    float(code)
    for digits in range(2, 11)
    for code in (
        *(int("9" * digits) - below for below in range(3 if digits == 2 else 5)),
        *(int(digit * digits) for digit in "78"),
    )
)
_SMALL: Final = frozenset(float(-code) for code in range(1, 7))
_LOW: Final = frozenset(
    (*_SMALL, -7.0, -8.0, -9.0, -99.9, -999.9, -9999.9, *(-code for code in _HIGH))
)
_NINES: Final = np.array([float("9" * digits) for digits in range(3, 10)])
"""What is taken for a code amid others; 99 is an age, a percentage, or the price of a thing."""
_AMONG_WORDS: Final = frozenset(
    str(int(code) if code.is_integer() else code)
    for code in (*_LOW, *_HIGH)
    if code < 0 or code >= _NINES[0]
)
"""As texts write them; 99 may be a class of ages, or what a kind of thing is called."""
_AROUND: Final = 0.25
"""Numbers around a code differ from it by so large a part of it at most."""
_DATES: Final = frozenset(
    float((np.datetime64(day) - np.datetime64("1970-01-01")).astype(int))
    for day in (
        *("0001-01-01", "1111-11-11", "1582-10-14", "1582-10-15", "1600-01-01", "1700-01-01"),
        *("1753-01-01", "1800-01-01", "1840-12-31", "1899-12-30", "1899-12-31", "1900-01-01"),
        *("1901-01-01", "1960-01-01", "1970-01-01", "2099-12-31", "2100-01-01", "2199-12-31"),
        *("2222-02-22", "2999-12-31", "3000-01-01", "8888-08-08", "9000-01-01", "9999-01-01"),
        *("9999-09-09", "9999-12-30", "9999-12-31"),
    )
)
"""Dates that stand for none, and the days from which programs count, in days since 1970."""
_MOST: Final = 12
"""More codes than these at one end are numbers like others."""
_LEAST_ROWS: Final = 10
_LEAST_DISTINCT: Final = 3
_LEAST_WORDS: Final = 2
_LEAST_REPEATED: Final = 2
_IS_NUMBER: Final = re.compile(r"[-+]?[\d.,]+")
_FEW_ROWS: Final = 1_000
_FIRST: Final = 5
_SOME: Final = 5_000
_PIECE: Final = 1 << 16
_APART: Final = 0.5
"""So large a part of the others' range lies between them and a code."""
_NEAR: Final = 0.1
"""So large a part is enough for a code that is more frequent than all numbers near it."""
_WIDE: Final = 100.0
"""−1 to −6 may follow on 0 in a scale; numbers that span more than so much are none."""

_NO_ANSWER: Final = re.compile(
    r"refus|declin|(don.?t|doesn.?t|do not|does not|not) know|no (answer|response|reply|opinion)"
    r"|not (answer|asked|stated|available|applicable|ascertained|reported)|inapplicable|missing"
    r"|unknown|\bn/?a\b|\bskipped"
    r"|verweiger|wei(ß|ss) (es )?nicht|keine angabe|\bk\. ?a\.|trifft nicht zu|nicht zutreffend"
    r"|entfällt|fehlend|fehlt|unbekannt|nicht (erhoben|gefragt)"
    r"|ne sa(it|is) pas|\bnsp\b|(sans|pas de|non.)réponse|sans objet|inconnu|manquant"
    r"|no sabe|no contesta|\bns/?nc\b|rehús|no (aplica|procede)|sin respuesta|desconocid|perdido"
    r"|non (sa|risponde|applicabile)|rifiut|mancante|sconosciut"
    r"|weiger|weet niet|geen antwoord|niet van toepassing|onbekend|ontbreek"
    r"|recus|não (sabe|respond|se aplica)|desconhec"
    r"|vet ej|vet inte|ved ikke|vet ikke|(ej|inget|ikke) svar|vægr|uppgift saknas|uoplyst"
    r"|odmow|odmaw|nie wiem|brak (odpowiedzi|danych)|nie dotyczy"
    r"|ei (vastausta|osaa sanoa|tietoa)",
    re.IGNORECASE,
)
"""Labels that say why there is no number, in the languages of Europe's surveys."""


@dataclass(frozen=True)
class SuspectedCodes:
    """Numbers of one column that look like codes for missing values.

    Parameters
    ----------
    column
        The column.
    codes
        The numbers, ascending; or dates as ISO 8601 writes them, or texts.
    count
        How many records have one.
    rows
        The first of them, from 0.
    labelled
        Whether all of them are labelled as no answer.
    dates
        Whether they are dates.
    amid
        Whether they lie amid the others, and are far more frequent than those around them.
    texts
        Whether they are texts, among others that are none of numbers.
    """

    column: str
    codes: tuple[float, ...] | tuple[str, ...] = field(repr=False)
    count: int
    rows: tuple[int, ...]
    labelled: bool
    dates: bool = False
    amid: bool = False
    texts: bool = False


def suspected_codes(table: Table) -> Iterator[SuspectedCodes]:
    """Yield what looks like codes for missing values in each column of numbers or dates."""
    explained = companions(table.missing_reasons)
    for name, series in table.frame.items():
        labels = table.value_labels.get(str(name), {})
        if str(name) not in explained and (found := codes_among(series, labels)) is not None:
            yield found


def codes_among(series: pd.Series, labels: Mapping[Value, str]) -> SuspectedCodes | None:
    """Return the numbers or dates of a column that look like codes; None where none do."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return None if labels or dtype.ordered else _numbers_among_words(series)
    if dtype.kind == "M":
        return _dates_among(series)
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        return None
    told = _labelled(labels)
    if not len(series) or not (told or _may_have_codes(series)):
        return None
    numbers: Floats = series.to_numpy(dtype=np.float64, na_value=np.nan)
    present = numbers[np.isfinite(numbers)]
    codes = {*_apart(present), *_without_answer(present, labels, told)}
    amid = not codes
    if amid:
        codes = {*_amid(present)}
    if not codes:
        return None
    at = np.flatnonzero(np.isin(numbers, list(codes)))
    return SuspectedCodes(
        str(series.name),
        tuple(sorted(codes)),
        len(at),
        tuple(at[:_FIRST].tolist()),
        codes <= told,
        amid=amid,
    )


def _numbers_among_words(series: pd.Series) -> SuspectedCodes | None:
    """Return the texts of a column that are codes, where all its others are words.

    Some categories may have no rows.
    """
    values = list(series.cat.categories)
    if not all(isinstance(value, str) for value in values):
        return None
    codes = [value for value in values if value.strip() in _AMONG_WORDS]
    words = [value for value in values if not _IS_NUMBER.fullmatch(value.strip())]
    if not codes or len(words) < _LEAST_WORDS or len(codes) + len(words) < len(values):
        return None
    numbers = series.cat.codes.to_numpy()
    at = np.flatnonzero(np.isin(numbers, [values.index(code) for code in codes]))
    if len(at) < _LEAST_REPEATED:
        return None
    return SuspectedCodes(
        str(series.name),
        tuple(sorted(codes)),
        len(at),
        tuple(at[:_FIRST].tolist()),
        labelled=False,
        texts=True,
    )


def _may_have_codes(series: pd.Series) -> bool:
    """Whether a column without labels may have codes, from its ends and some of its other numbers.

    All its other numbers reach as far as these or farther, so that gaps are no wider, and the
    range no shorter. Of a long column, nines amid others that are in hardly any row are let alone.
    """
    low, high = _ends(series)
    above, below = high in _HIGH, low in _LOW
    if not (above or below or high > _NINES[0]):
        return False
    step = max(1, len(series) // _SOME)
    some: Floats = series.iloc[::step].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.count_nonzero(some[:, None] == _NINES) > 2:
        return True
    if not (above or below):
        return False
    others = [x for x in some[np.isfinite(some)].tolist() if x not in _HIGH and x not in _LOW]
    if not others:
        return True
    least, greatest = min(others), max(others)
    near = (greatest - least) * _NEAR
    if above and high - greatest > near:
        return True
    return below and (least >= 0.0 or (low <= -10.0 and least - low > near))


def _ends(series: pd.Series) -> tuple[float, float]:
    """Return the least and the greatest number, or 0 for one that is on the other side of it.

    Codes are never there. Rows are looked at so many at once that they stay near the processor.
    """
    masked = pd.api.types.is_extension_array_dtype(series.dtype)
    low = high = 0.0
    for start in range(0, len(series), _PIECE):
        some = series.iloc[start : start + _PIECE]
        values = some.to_numpy(dtype=np.float64, na_value=0.0) if masked else some.to_numpy()
        low = min(low, float(np.fmin.reduce(values)))
        high = max(high, float(np.fmax.reduce(values)))
    return low, high


def _dates_among(series: pd.Series) -> SuspectedCodes | None:
    """Return the dates of a column that look like codes; None where none do."""
    stored = series.to_numpy()
    if not len(stored) or _DATES.isdisjoint(_days(_date_ends(stored)).tolist()):
        return None
    days = _days(stored)
    present = days[np.isfinite(days)]
    above, rest = _taken(present, _DATES, lambda numbers: float(numbers.max()))
    below, rest = _taken(rest, _DATES, lambda numbers: float(numbers.min()))
    if len(rest) < _LEAST_ROWS or len(np.unique(rest[:_FEW_ROWS])) < _LEAST_DISTINCT:
        return None
    enough = 2 if len(present) < _FEW_ROWS else 3
    least, greatest = float(rest.min()), float(rest.max())
    span = greatest - least
    codes = []
    for code, count in {**above, **below}.items():
        gap = max(code - greatest, least - code)
        if count >= enough and _stands_apart(gap, span, count, rest):
            codes.append(code)
    if not codes:
        return None
    at = np.flatnonzero(np.isin(days, codes))
    texts = tuple(str(np.datetime64(int(code), "D")) for code in sorted(codes))
    return SuspectedCodes(
        str(series.name), texts, len(at), tuple(at[:_FIRST].tolist()), labelled=False, dates=True
    )


def _date_ends(
    stored: npt.NDArray[np.datetime64],
) -> npt.NDArray[np.datetime64]:
    """Return the first and the last date, shape (2,)."""
    # A missing date is stored as the least number. Numbers take a third of the time of dates.
    numbers = stored.view(np.int64)
    ends = np.array([numbers.min(), numbers.max()]).view(stored.dtype)
    if np.isnat(ends[0]):
        ends[0] = np.fmin.reduce(stored)
    return ends


def _days(stored: npt.NDArray[np.datetime64]) -> Floats:
    """Return dates as days since 1970, with the part of the day that is over; NaN for none."""
    seconds = stored.astype("datetime64[s]")
    return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / 86_400)


def _labelled(labels: Mapping[Value, str]) -> set[float]:
    return {
        float(code)
        for code, text in labels.items()
        if isinstance(code, int | float) and _NO_ANSWER.search(text)
    }


def _without_answer(present: Floats, labels: Mapping[Value, str], told: set[float]) -> set[float]:
    """Return the codes whose labels say so, among numbers that are not all labelled."""
    if not told:
        return set()
    named = [float(code) for code in labels if isinstance(code, int | float)]
    others = present[~np.isin(present, named)]
    if len(np.unique(others[:_FEW_ROWS])) < _LEAST_DISTINCT:
        return set()  # categories
    return {code for code in told if bool((present == code).any())}


def _apart(present: Floats) -> Iterator[float]:
    """Yield the numbers at the ends that people take for codes, and that stand apart."""
    above, rest = _taken(present, _HIGH, lambda numbers: float(numbers.max()))
    below, rest = _taken(rest, _LOW, lambda numbers: float(numbers.min()))
    if len(rest) < _LEAST_ROWS or len(np.unique(rest[:_FEW_ROWS])) < _LEAST_DISTINCT:
        return
    least, greatest = float(rest.min()), float(rest.max())
    span = greatest - least
    enough = 2 if len(present) < _FEW_ROWS else 3
    for code, count in above.items():
        near = rest[rest >= greatest - span * 2 * _NEAR]
        if count >= enough and _stands_apart(code - greatest, span, count, near):
            yield code
    steps_down = not _SMALL.isdisjoint(below) and span <= _WIDE
    for code, count in below.items():
        if count < enough:
            continue
        if code > -10.0:
            if least >= 0.0 and not steps_down and (code not in _SMALL or count >= _FIRST):
                yield code
            continue
        near = rest[rest <= least + span * 2 * _NEAR]
        if least >= 0.0 or _stands_apart(least - code, span, count, near):
            yield code


def _amid(present: Floats) -> Iterator[float]:
    """Yield what is all nines and more frequent than all numbers around it, on both its sides."""
    for code in _NINES.tolist():
        count = np.count_nonzero(present == code)
        if count < 2 * _FIRST:
            continue
        around = present[(np.abs(present - code) <= code * _AROUND) & (present != code)]
        if len(around) < _LEAST_ROWS or not around.min() < code < around.max():
            continue
        counts = np.unique(around, return_counts=True)[1]
        if len(counts) >= _LEAST_DISTINCT and count > 3 * int(counts.max()):
            yield code


def _taken(
    numbers: Floats, known: frozenset[float], end: Callable[[Floats], float]
) -> tuple[dict[float, int], Floats]:
    """Return the known codes at one end with their counts, and the other numbers."""
    counts: dict[float, int] = {}
    while len(numbers) and len(counts) < _MOST and (last := end(numbers)) in known:
        rest = numbers[numbers != last]
        counts[last] = len(numbers) - len(rest)
        numbers = rest
    return counts, numbers


def _stands_apart(gap: float, span: float, count: int, near: Floats) -> bool:
    """Whether a gap is wide, or the code is more frequent than all numbers near the gap."""
    if gap > span * _APART:
        return True
    if gap <= span * _NEAR or count < 2 * _FIRST:
        return False
    return count > 3 * int(np.unique(near, return_counts=True)[1].max())
