"""What a column is probably for, from its name and its values, with the reason.

A proposal spares clicks and decides nothing: the custodian does. Columns that look as if they
name a person are proposed to be dropped. Whether something is private is not for a program to
say, so no column is proposed as sensitive; a name that suggests it is pointed out.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Final

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.table.summary import ColumnProfile


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
