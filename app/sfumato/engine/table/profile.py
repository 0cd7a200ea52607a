"""Looking at a table: a profile of each column, and what each column is probably for.

Bins for numeric columns get edges that a person would choose. What a column is probably for is
proposed from its name and its values, with the reason.

A proposal spares clicks and decides nothing: the custodian does. Columns that look as if they
name a person are proposed to be dropped. Whether something is private is not for a program to
say, so no column is proposed as sensitive; a name that suggests it is pointed out.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Binning, ColumnSpec, Kind, Role
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.summary import ColumnProfile, NumberSummary, ValueCount, summarize
from sfumato.engine.table.table import Table

_SMALLEST, _LARGEST = 1e-280, 1e280
"""Ranges beyond these leave no room to compute round edges."""

_NICE = (1.0, 2.0, 2.5, 5.0)


class BinWidths(StrEnum):
    """How bins divide a column."""

    EQUAL = "equal width"
    """Every bin spans the same range."""
    QUANTILE = "equal counts"
    """Every bin holds about as many records."""


def suggest_binning(
    column: pd.Series, count: int, widths: BinWidths = BinWidths.QUANTILE
) -> Binning:
    """Return about `count` bins that cover a numeric column, with round edges.

    Round edges are easier to read, and tell less than the lowest number, the highest and the
    quantiles of the table, which are somebody's. Among whole numbers a round one may be
    somebody's all the same.

    Parameters
    ----------
    column
        The numbers, shape (n,).
    count
        How many bins to aim at, at least 2; there are fewer where the numbers allow no more.
    widths
        Whether the bins span equal ranges or hold about equally many records.

    Raises
    ------
    DomainError
        If the column is not numeric, has no two different finite numbers, or only numbers
        between which there is no round one, or `count` is below 2.
    """
    if count < 2:
        raise DomainError("A binning needs at least two bins.", "Ask for two bins or more.")
    numbers = _finite(column)
    if widths is BinWidths.EQUAL:
        return Binning(_equal_width(numbers, count))
    return Binning(_equal_counts(numbers, count))


def _finite(column: pd.Series) -> npt.NDArray[np.float64]:
    dtype = column.dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        raise DomainError(
            "Column {column} is not numeric, so it can't be binned.",
            "Choose the kind 'categorical' without bins.",
            column=column.name,
        )
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.sort(numbers[np.isfinite(numbers)])
    # Halves, because the difference of the largest numbers is not a number.
    if len(finite) and not _SMALLEST < finite[-1] / 2.0 - finite[0] / 2.0 < _LARGEST:
        # Also where all numbers are the same: then there is no range at all.
        finite = finite[:0]
    if len(finite) == 0:
        raise DomainError(
            "Column {column} does not hold two different numbers that could be divided into bins.",
            "Choose the kind 'categorical' without bins.",
            column=column.name,
        )
    return finite


def _equal_width(numbers: npt.NDArray[np.float64], count: int) -> tuple[float, ...]:
    """Return edges at multiples of the round step that comes nearest to `count` bins."""
    low, high = float(numbers[0]), float(numbers[-1])
    candidates = [
        edges
        for step in _steps((high - low) / count, whole=_are_whole(numbers))
        if len(edges := _multiples(low, high, step)) >= 3
        and _increase(edges)
        and edges[0] <= low
        and high <= edges[-1]
    ]
    if not candidates:
        return _around(numbers, np.array([low + (high - low) / 2.0]))
    return min(candidates, key=lambda edges: abs(len(edges) - 1 - count))


def _steps(width: float, whole: bool, powers: int = 2) -> Iterator[float]:
    """Yield round steps from ten times a width down by powers of ten, coarse ones first.

    For whole numbers, steps are whole and at least 1.
    """
    magnitude = math.floor(math.log10(max(width, 1.0) if whole else width))
    for exponent in range(magnitude + 1, magnitude - powers - 1, -1):
        for factor in reversed(_NICE):
            step = float(f"{factor}e{exponent}")
            if not whole or step.is_integer():
                yield step


def _multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    """Return the multiples of a step that enclose a range; the last bin holds its upper edge."""
    first, last = math.floor(low / step), math.ceil(high / step)
    # Rounding may leave the ends a hair inside the range.
    first -= _multiple(first, step) > low
    last += _multiple(last, step) < high
    return tuple(_multiple(place, step) for place in range(first, last + 1))


def _multiple(place: int, step: float) -> float:
    """Return a multiple without the dust of binary fractions: 3·0.1 is 0.3."""
    return float(f"{place * step:.15g}")


def _equal_counts(numbers: npt.NDArray[np.float64], count: int) -> tuple[float, ...]:
    """Return the roundest edges whose bins hold about equally many records.

    Where single numbers are so frequent that quantiles coincide, there are fewer bins. A lowest
    number that most records have gets a bin of its own, and the others share the rest.
    """
    inner = np.unique(_quantiles(numbers, count))
    inner = inner[inner > numbers[0]]
    if len(inner) == 0:
        others = numbers[np.searchsorted(numbers, numbers[0], side="right") :]
        inner = np.unique(np.append(others[0], _quantiles(others, count - 1)))
    exact, whole = _shares(numbers, inner), _are_whole(numbers)
    # An edge at the highest number makes a bin for it alone, which needs an end beyond it.
    beyond = bool(inner[-1] == numbers[-1])
    low, high = _outer(float(numbers[0]), float(numbers[-1]), whole, beyond)
    for step in _steps(high - low, whole, powers=6):
        rounded = np.array([_multiple(round(edge / step), step) for edge in inner])
        edges = (low, *rounded.tolist(), high)
        if _increase(edges) and _alike(_shares(numbers, rounded), exact):
            return edges
    return _around(numbers, inner)


def _quantiles(numbers: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.float64]:
    """Return the numbers that divide sorted ones into `count` equal parts, shape (count − 1,)."""
    return numbers[(np.arange(1, count) * len(numbers)) // count]


def _outer(low: float, high: float, whole: bool, beyond: bool) -> tuple[float, float]:
    """Return round numbers that enclose a range with little to spare."""
    width = (high - low) / 20.0
    step = [step for step in _steps(width, whole) if step >= width][-1]
    first, last = math.floor(low / step), math.ceil(high / step)
    first -= _multiple(first, step) > low
    last += _multiple(last, step) < high
    if beyond and _multiple(last, step) <= high:
        last += 1
    return _multiple(first, step), _multiple(last, step)


def _around(numbers: npt.NDArray[np.float64], inner: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """Return round edges beside given ones, each between two numbers and none of them.

    Raises
    ------
    DomainError
        If there is no round number between any of them.
    """
    distinct = np.unique(numbers)
    places = np.unique(np.clip(np.searchsorted(distinct, inner), 1, len(distinct) - 1))
    between = (_roundest(float(distinct[place - 1]), float(distinct[place])) for place in places)
    edges = sorted({edge for edge in between if edge is not None})
    low, high = float(distinct[0]), float(distinct[-1])
    reach = high / 2.0 - low / 2.0
    below, above = _roundest(low - reach, low), _roundest(high, high + reach)
    if not edges or below is None or above is None:
        raise DomainError(
            "The numbers of the column lie too close together for round edges.",
            "State the edges of the bins, or choose the kind 'categorical' without bins.",
        )
    return (below, *edges, above)


def _roundest(low: float, high: float) -> float | None:
    """Return the roundest number above one number and below another; None where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)) or not low < high:
        return None
    if low < 0.0 < high:
        return 0.0
    largest = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for exponent in range(largest, max(largest - 19, -320), -1):
        step = Decimal(1).scaleb(exponent)
        place = (Decimal(low) / step).to_integral_value(ROUND_FLOOR) + 1
        found = float(place * step)
        if low < found < high:
            return found
    return None


def _increase(edges: Sequence[float]) -> bool:
    return bool(np.all(np.diff(edges) > 0.0))


def _shares(
    numbers: npt.NDArray[np.float64], inner: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    below = np.searchsorted(numbers, inner, side="left")
    return np.diff(np.concatenate(([0], below, [len(numbers)]))) / len(numbers)


def _alike(found: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> bool:
    """Return whether rounding the edges left each bin its share, by a factor of 1.4 or less."""
    return bool(np.all(found >= wanted / 1.4) and np.all(found <= wanted * 1.4))


def _are_whole(numbers: npt.NDArray[np.float64]) -> bool:
    return bool((numbers == np.floor(numbers)).all())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMES_A_PERSON: Final = _words(
    "surname firstname lastname forename fullname maidenname email mail phone telephone mobile"
    " fax address street iban ssn passport nhs mrn username login signature photo vorname"
    " nachname familienname geburtsname rufname telefon telefonnummer handynummer adresse anschrift"
    " strasse straße versichertennummer sozialversicherungsnummer steuernummer prenom prénom"
    " courriel"
)
_OF_A_PERSON: Final = _words(
    "name first last given family middle full maiden patient person customer client employee"
    " member student user pupil resident subject participant"
)
_NUMBERS_RECORDS: Final = _words(
    "id ids identifier uuid guid number no nr num key index row record case serial nummer kennung"
    " patientennummer fallnummer laufnummer personalnummer kundennummer aktenzeichen numéro"
)
_KNOWABLE: Final = _words(
    "age sex gender birth birthday birthdate born dob yob year zip zipcode postcode postal plz"
    " city town village country county region state province district municipality area race"
    " ethnicity ethnic nationality citizenship native marital civil education school degree"
    " occupation job profession workclass employer employment industry language height weight"
    " children household date admission discharge visit"
    " alter geschlecht geburtsdatum geburtsjahr geburtstag geburtsort postleitzahl wohnort ort"
    " stadt gemeinde landkreis kreis bundesland staatsangehörigkeit nationalität"
    " familienstand beruf branche schulabschluss bildung größe körpergröße gewicht kinder haushalt"
    " datum aufnahmedatum entlassungsdatum sexe naissance commune département profession métier"
)
_PRIVATE: Final = _words(
    "diagnosis diagnoses disease illness condition disorder icd symptom medication drug"
    " treatment therapy hiv aids psychiatric disability pregnancy gene genotype mutation salary"
    " income wage wages pay earnings debt wealth savings credit benefit benefits religion belief"
    " faith political party vote union sexual sexuality orientation crime offence offense"
    " conviction sentence arrest race ethnicity ethnic cost costs"
    " diagnose diagnosen hauptdiagnose nebendiagnose krankheit erkrankung befund symptome"
    " medikament medikation therapie behandlung behinderung schwangerschaft gehalt lohn einkommen"
    " verdienst schulden vermögen kosten konfession partei gewerkschaft straftat verurteilung"
    " maladie traitement salaire revenu coût"
)
_CODES: Final = _words("zip zipcode postcode postal plz postleitzahl code icd")

_FEW_NUMBERS = 12
"""Whole numbers with no more distinct values are taken for codes."""

_MANY_TEXTS = 1000
"""Texts with more distinct values are hardly categories."""

_LONG_TEXT = 60.0
"""Texts that are longer on average are taken for free text."""


@dataclass(frozen=True)
class Proposal:
    """What a column is proposed to be.

    Parameters
    ----------
    spec
        The proposed role and kind.
    reason
        Why, in a sentence for the custodian.
    may_be_sensitive
        Whether the column's name suggests something that people keep private.
    """

    spec: ColumnSpec
    reason: str
    may_be_sensitive: bool = False


def propose(profile: ColumnProfile, labelled: bool = False) -> Proposal:
    """Return the proposal for one column.

    Parameters
    ----------
    profile
        What the column looks like.
    labelled
        Whether the file gives its values labels, so that numbers are codes.
    """
    words = words_of(profile.name)
    identifying = _identifying(profile, words)
    if identifying:
        kind = Kind.TEXT if profile.type_name == "text" else _kind(profile, words, labelled)
        return Proposal(ColumnSpec(profile.name, Role.IDENTIFYING, kind), identifying)
    role, reason = _role(profile, words)
    private = profile.distinct > 1 and _speaks_of(words, _PRIVATE)
    if private:
        reason = (
            "Its name suggests something that people keep private: mark it as sensitive if nobody"
            " may learn it about a person."
        )
    spec = ColumnSpec(profile.name, role, _kind(profile, words, labelled))
    return Proposal(spec, reason, may_be_sensitive=private)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name in lower case: "PatientName_2" has patient and name."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[^\W\d_]+", spaced.lower()))


def _speaks_of(words: tuple[str, ...], vocabulary: frozenset[str]) -> bool:
    """Return whether a word, or two in a row ("post code"), stand in a vocabulary."""
    pairs = (first + second for first, second in itertools.pairwise(words))
    return any(word in vocabulary for word in itertools.chain(words, pairs))


def _identifying(profile: ColumnProfile, words: tuple[str, ...]) -> str:
    """Return why a column names a person, or an empty text."""
    if profile.distinct <= 1:
        return ""
    mostly_different = profile.distinct > 0.5 * profile.present
    names = "name" in words and (_OF_A_PERSON.issuperset(words) or mostly_different)
    # In a very short table, columns of any kind have different values.
    text = profile.type_name == "text" and profile.present >= 20
    whole = profile.type_name == "whole number" and profile.present >= 20
    signs = (
        (
            names or _speaks_of(words, _NAMES_A_PERSON),
            "Its name says that it tells who somebody is.",
        ),
        (
            mostly_different and _speaks_of(words, _NUMBERS_RECORDS),
            "Its name and its values look like a number for each record.",
        ),
        (
            text and profile.distinct > 0.9 * profile.present,
            "Almost every record has a text of its own, so the text tells whose record it is.",
        ),
        (
            text and mostly_different and _long(profile),
            "It looks like free text, which can name people.",
        ),
        (
            whole and profile.is_unique,
            "Every record has a whole number of its own, so it tells whose record it is.",
        ),
    )
    return next((reason for applies, reason in signs if applies), "")


def _long(profile: ColumnProfile) -> bool:
    return profile.mean_length is not None and profile.mean_length > _LONG_TEXT


def _role(profile: ColumnProfile, words: tuple[str, ...]) -> tuple[Role, str]:
    if profile.present == 0:
        return Role.INSENSITIVE, "It has no values."
    if profile.distinct == 1:
        return Role.INSENSITIVE, "All records have the same value."
    if _speaks_of(words, _KNOWABLE):
        return Role.QUASI_IDENTIFIER, "Others can know this about a person."
    if profile.type_name.startswith("date"):
        return Role.QUASI_IDENTIFIER, "Others can know when something happened to a person."
    if profile.type_name == "number":
        return Role.INSENSITIVE, "It looks like a measurement, which others hardly know."
    return (
        Role.QUASI_IDENTIFIER,
        "Others might know this about a person; if nobody can, mark it as insensitive.",
    )


def _kind(profile: ColumnProfile, words: tuple[str, ...], labelled: bool) -> Kind:
    if profile.type_name.startswith("date"):
        return Kind.DATE
    if profile.numbers is not None and not labelled:
        few = profile.distinct <= min(_FEW_NUMBERS, profile.present // 2)
        is_code = profile.numbers.whole and (few or _speaks_of(words, _CODES))
        return Kind.CATEGORICAL if is_code else Kind.NUMERIC
    if profile.type_name == "text" and (
        profile.distinct > max(_MANY_TEXTS, profile.present // 5) or _long(profile)
    ):
        return Kind.TEXT
    return Kind.CATEGORICAL


__all__ = [
    "BinWidths",
    "ColumnProfile",
    "NumberSummary",
    "Proposal",
    "ValueCount",
    "profile_columns",
    "proposals",
    "propose_columns",
    "suggest_binning",
]


def profile_columns(table: Table, context: Context | None = None) -> tuple[ColumnProfile, ...]:
    """Return the profile of every column, in the table's order.

    Parameters
    ----------
    table
        The table, n records.
    context
        Progress, told before each column, and cancelling.
    """
    watched = context or Silent()
    profiles = []
    # Going through the columns in order is faster than looking each of them up.
    for place, (name, series) in enumerate(table.frame.items()):
        watched.report(place / len(table.columns), Sentence("Looking at {name}", name=name))
        profiles.append(summarize(series))
    watched.report(1.0, "Looked at every column")
    return tuple(profiles)


def proposals(
    table: Table, profiles: Sequence[ColumnProfile] | None = None
) -> tuple[Proposal, ...]:
    """Return what each column is proposed to be, with the reason, in the table's order.

    Parameters
    ----------
    table
        The table.
    profiles
        Its columns' profiles, if they are known already.
    """
    known = profile_columns(table) if profiles is None else profiles
    return tuple(propose(profile, bool(table.value_labels.get(profile.name))) for profile in known)


def propose_columns(
    table: Table, profiles: Sequence[ColumnProfile] | None = None
) -> tuple[ColumnSpec, ...]:
    """Return the proposed specification of each column; see `proposals` for the reasons."""
    return tuple(proposal.spec for proposal in proposals(table, profiles))
