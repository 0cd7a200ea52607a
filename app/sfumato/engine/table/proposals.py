"""What each column is probably for, proposed from its name and its values, with the reason.

A proposal spares clicks and decides nothing: the custodian does. Columns that look as if they
name a person, a household or a company are proposed to be dropped. Whether something is private is
not for a program to say, so no column is proposed as sensitive; a name that suggests it is pointed
out, and so are answers to a questionnaire.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import DURATIONS, NAMES
from sfumato.engine.table.profile import QUANTILES, ColumnProfile, profile_columns
from sfumato.engine.table.questionnaires import questions
from sfumato.engine.table.table import Table


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
_UNITS: Final = _OF_A_PERSON | _words(
    "household hh dwelling family company firm enterprise business establishment farm haushalt"
    " betrieb firma unternehmen patientin kunde ménage entreprise"
)
_NUMBERS_RECORDS: Final = _words(
    "id ids hid hhid pid identifier uuid guid number no nr num key index row record case serial"
    " nummer kennung haushaltsnummer betriebsnummer firmennummer"
    " patientennummer fallnummer laufnummer personalnummer kundennummer aktenzeichen numéro"
)
_WEIGHTS: Final = _words(
    "weights weighting wgt wgts wght fnlwgt pweight pwgt hhweight hhwgt hhwt perwt sampweight"
    " sampwgt finalwgt svyweight hweight hwgt hwt hhw iweight iwgt"
    " gewichtungsfaktor hochrechnungsfaktor hochrechnung"
    " stichprobengewicht designgewicht haushaltsgewicht personengewicht pondération ponderation"
)
_OF_A_SAMPLE: Final = _words(
    "sampling sample survey household hh person design base final calibrated calibration raking"
    " grossing expansion replicate analysis population stichproben enquête"
)
_AMOUNTS: Final = _words(
    "amount amounts revenue revenues turnover sales profit profits cost costs expense expenses"
    " expend expenditure expenditures price assets sum total balance budget tax taxes loan rent"
    " premium betrag umsatz gewinn summe preis miete steuer einnahmen ausgaben bilanz montant"
    " chiffre somme prix loyer"
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
_BEST_KNOWN: Final = (
    _words(
        "age birth birthday birthdate birthyear dob yob alter geburtsdatum geburtsjahr naissance"
    ),
    _words("sex gender geschlecht sexe"),
    _words(
        "region state province district county municipality city town zip zipcode postcode plz"
        " postleitzahl wohnort ort gemeinde landkreis kreis bundesland commune département région"
    ),
    _words("marital civil familienstand"),
    _words("education school degree schulabschluss bildung"),
    _words("occupation job profession beruf métier industry sector branche"),
)
"""What is known best of people, and analysed most, in this order."""
_PRIVATE: Final = _words(
    "diagnosis diagnoses disease health illness condition disorder icd symptom medication drug"
    " treatment therapy hiv aids psychiatric disability pregnancy gene genotype mutation salary"
    " income wage wages pay earnings debt wealth savings credit benefit benefits religion belief"
    " faith political party vote union sexual sexuality orientation crime offence offense"
    " conviction sentence arrest race ethnicity ethnic cost costs satisfaction"
    " wellbeing stress anxiety depression bullying"
    " expend expenditure expenditures expense expenses assets debts loan loans turnover profit"
    " profits revenue revenues umsatz gewinn"
    " diagnose diagnosen gesundheit hauptdiagnose nebendiagnose krankheit erkrankung befund"
    " symptome medikament medikation therapie behandlung behinderung schwangerschaft gehalt lohn"
    " einkommen verdienst schulden vermögen kosten konfession partei gewerkschaft straftat"
    " verurteilung angst mobbing förderbedarf wohlbefinden zufriedenheit"
    " maladie santé traitement salaire revenu coût"
)
_PRIVATE_ENDINGS: Final = (
    *("einkommen", "verdienst", "gehalt", "vermögen", "schulden", "kosten", "krankheit"),
    *("erkrankung", "diagnose", "therapie", "behandlung", "behinderung", "medikament", "befund"),
)
_NOTES: Final = _words(
    "remark remarks comment comments note notes memo freetext narrative annotation annotations"
    " bemerkung bemerkungen kommentar kommentare notiz notizen freitext anmerkung anmerkungen"
    " remarque remarques commentaire commentaires"
)
_CODES: Final = _words("zip zipcode postcode postal plz postleitzahl code icd")

_FEW_NUMBERS = 12
"""Whole numbers with no more distinct values are taken for codes."""

_MANY_TEXTS = 1000
"""Texts with more distinct values are hardly categories."""

_LONG_TEXT = 60.0
"""Texts that are longer on average are taken for free text."""

_FEW_WORDS = 2
"""Texts of more words, which few rows share, are taken for free text, too."""

_OF_A_UNIT = 10.0
"""Numbers and names that no more rows share on average stand for a household or a company."""

_REPEATED = 0.8
"""With no more values than this share of the rows, rows that share one are no mistake."""

_ENOUGH = 20
"""In a table with fewer values, columns of any kind have different ones."""

_OF_EACH_RECORD: Final = "Its name and its values look like a number for each record."
_OF_EACH_UNIT: Final = (
    "Its name and its values look like a number or a name for each household, company or other"
    " unit: a few rows share each of them."
)
_NUMBERING: Final = (
    "The whole numbers look like a numbering of the records, so they tell whose record it is."
)
_NUMBERING_CODES: Final = (
    "The codes look like a numbering of the records, so they tell whose record it is."
)
_NUMBERED_CODE: Final = re.compile(r"(\D*)(\d{3,15})")

_OF_ITS_OWN: Final = (
    "Nearly every row has a value of its own: whoever knows it finds the record. Leave it out, or"
    " divide it into bins."
)

_PERHAPS_KNOWN: Final = (
    "Others might know this about a person; if nobody can, mark it as insensitive."
)

ANSWER: Final = (
    "It looks like an answer to a questionnaire, which others hardly know: mark it as sensitive if"
    " nobody may learn it about a person."
)

_NEARLY_ALL = 0.9
"""With more values than this share of the rows, nearly every row has one of its own."""

_BODY_WEIGHT = 700.0
"""Nobody weighs more, in kilograms or in pounds."""

_ABOUT_ONE = 0.1
"""Weights that are to keep the number of records are one on average."""

_PERIODS: Final = frozenset(NAMES.values())
_DURATIONS: Final = frozenset(NAMES[period] for period in DURATIONS)

_MONTHS = 12
"""Dates with more distinct values are exact ones."""


@dataclass(frozen=True)
class Proposal:
    """What a column is proposed to be.

    Parameters
    ----------
    spec
        The proposed role and kind.
    reason
        Why, in a sentence for the custodian; the same for all columns it holds for.
    may_be_sensitive
        Whether the column's name suggests something that people keep private.
    is_key
        Whether it numbers the records: every row has a value of its own.
    is_unit
        Whether it numbers or names units, whose values a few rows share.
    finds_records
        Whether nearly every row has a value of its own in a column that is left to leave as it is.
    """

    spec: ColumnSpec
    reason: str
    may_be_sensitive: bool = False
    is_key: bool = False
    is_unit: bool = False
    finds_records: bool = False

    def hint_for(self, spec: ColumnSpec) -> str:
        """Return why a column might deserve another role than it has; empty where nothing does."""
        private = self.may_be_sensitive and spec.role is not Role.SENSITIVE
        as_it_is = spec.role is Role.INSENSITIVE and spec.binning is None and spec.coding is None
        return self.reason if private or (self.finds_records and as_it_is) else ""


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
    asked = questions(known)
    return tuple(
        propose(profile, bool(table.value_labels.get(profile.name)), profile.name in asked)
        for profile in known
    )


def alike(known: Sequence[Proposal], name: str) -> tuple[str, ...]:
    """Return all columns that are proposed for the same reason as one, in the table's order."""
    reasons = {proposal.reason for proposal in known if proposal.spec.name == name}
    return tuple(proposal.spec.name for proposal in known if proposal.reason in reasons)


def propose(profile: ColumnProfile, labelled: bool = False, asked: bool = False) -> Proposal:
    """Return the proposal for one column.

    Parameters
    ----------
    profile
        What the column looks like.
    labelled
        Whether the file gives its values labels, so that numbers are codes.
    asked
        Whether it looks like one of the questions of a questionnaire.
    """
    words = words_of(profile.name)
    kind = _kind(profile, words, labelled)
    identifying = _identifying(profile, words)
    if identifying:
        kind = Kind.TEXT if profile.type_name == "text" else kind
        return Proposal(
            ColumnSpec(profile.name, Role.IDENTIFYING, kind),
            identifying,
            is_key=identifying in (_OF_EACH_RECORD, _NUMBERING, _NUMBERING_CODES)
            and profile.is_unique
            and not profile.missing,
            is_unit=identifying in (_OF_EACH_RECORD, _OF_EACH_UNIT)
            and profile.distinct <= _REPEATED * profile.present,
        )
    role, reason = _role(profile, words)
    private = profile.distinct > 1 and _is_private(words)
    if private:
        # Until the custodian has decided, it counts where people could be found by it.
        role = Role.QUASI_IDENTIFIER if role is Role.INSENSITIVE else role
        reason = (
            "Its name suggests something that people keep private: mark it as sensitive if nobody"
            " may learn it about a person."
        )
    answered = asked and reason == _PERHAPS_KNOWN
    if answered:
        reason = ANSWER
    return Proposal(
        ColumnSpec(profile.name, role, kind),
        reason,
        may_be_sensitive=private or answered,
        finds_records=reason == _OF_ITS_OWN,
    )


def best_known(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that tell what is known best of people by their names, age first.

    Of several that tell the same, such as an age and a birth year, the first: each shown class is
    split by all of them.
    """
    found = (
        next((one for one in names if _speaks_of(words_of(one), vocabulary)), None)
        for vocabulary in _BEST_KNOWN
    )
    return tuple(dict.fromkeys(one for one in found if one is not None))


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name in lower case: "PatientName_2" has patient and name."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[^\W\d_]+", spaced.lower()))


def _speaks_of(words: tuple[str, ...], vocabulary: frozenset[str]) -> bool:
    """Return whether a word, or two in a row ("post code"), stand in a vocabulary."""
    pairs = (first + second for first, second in itertools.pairwise(words))
    return any(word in vocabulary for word in itertools.chain(words, pairs))


def _is_private(words: tuple[str, ...]) -> bool:
    """Return whether words speak of what is private, or German ones end so: Nettoeinkommen."""
    return _speaks_of(words, _PRIVATE) or any(word.endswith(_PRIVATE_ENDINGS) for word in words)


def _identifying(profile: ColumnProfile, words: tuple[str, ...]) -> str:
    """Return why a column names a person or a unit, or an empty text."""
    if profile.distinct <= 1:
        return ""
    mostly_different = profile.distinct > 0.5 * profile.present
    of_units = profile.distinct >= _ENOUGH and profile.present <= _OF_A_UNIT * profile.distinct
    # In a very short table, columns of any kind have different values.
    text = profile.type_name == "text" and profile.present >= _ENOUGH
    names = "name" in words and (_OF_A_PERSON.issuperset(words) or mostly_different)
    whole = profile.type_name == "whole number"
    names_units = (whole or profile.type_name == "text") and _UNITS.issuperset(words)
    numbers = profile.type_name != "number" and _speaks_of(words, _NUMBERS_RECORDS)
    signs = (
        (
            names or _speaks_of(words, _NAMES_A_PERSON),
            "Its name says that it tells who somebody is.",
        ),
        (
            (numbers and mostly_different) or (names_units and whole and profile.is_unique),
            _OF_EACH_RECORD,
        ),
        (
            text and profile.distinct >= _ENOUGH and _is_running_text(profile, words),
            "It looks like free text, which can name people.",
        ),
        (
            text and profile.distinct > _NEARLY_ALL * profile.present,
            "Almost every record has a text of its own, so the text tells whose record it is.",
        ),
        (
            _numbered_codes(profile) and not (_speaks_of(words, _KNOWABLE) or _is_private(words)),
            _NUMBERING_CODES,
        ),
        (
            of_units and (numbers or names_units),
            _OF_EACH_UNIT,
        ),
        (
            _numbered(profile)
            and profile.type_name not in _PERIODS
            and not (_speaks_of(words, _AMOUNTS) or _is_private(words)),
            _NUMBERING,
        ),
    )
    return next((reason for applies, reason in signs if applies), "")


def _is_running_text(profile: ColumnProfile, words: tuple[str, ...]) -> bool:
    """Return whether somebody wrote texts rather than chose them.

    Short ones, as "Fall at home" or "See letter of 3 May", come back in a few rows each.
    """
    if profile.mean_length is not None and profile.mean_length > _LONG_TEXT:
        return True
    if not _ENOUGH <= profile.distinct <= _NEARLY_ALL * profile.present:
        return False
    wordy = [len(str(each.value).split()) > _FEW_WORDS for each in profile.top]
    few_share = profile.present <= _OF_A_UNIT * profile.distinct
    return _speaks_of(words, _NOTES) or (few_share and 2 * sum(wordy) > len(wordy))


def _numbered_codes(profile: ColumnProfile) -> bool:
    """Return whether codes as P001 and P002 number the records of a table that is very short.

    There texts of any kind can all be different; in a longer one that alone tells whose they are.
    """
    texts = [str(each.value) for each in profile.top]
    codes = [_NUMBERED_CODE.fullmatch(text) for text in texts]
    if not profile.is_unique or not texts or not all(codes):
        return False
    parts = {(code[1], len(code[2])) for code in codes if code is not None}
    numbers = [int(code[2]) for code in codes if code is not None]
    return len(parts) == 1 and max(numbers) - min(numbers) < 2 * profile.distinct


def _numbered(profile: ColumnProfile) -> bool:
    """Return whether whole numbers number the records: each once, and close or evenly spread.

    Amounts are often all different too, but most of them are small and few are large.
    """
    found = profile.numbers
    if found is None or not found.whole or not profile.is_unique or profile.present < _ENOUGH:
        return False
    span = found.maximum - found.minimum
    if span < 2.0 * profile.distinct:
        return True
    digits = {len(f"{abs(end):.0f}") for end in (found.minimum, found.maximum)}
    places = [(quantile - found.minimum) / span for quantile in found.quantiles]
    even = all(abs(at - share) < 0.15 for at, share in zip(places, QUANTILES, strict=True))
    return even and len(digits) == 1 and digits.pop() >= 5


def _is_weight(profile: ColumnProfile, words: tuple[str, ...]) -> bool:
    """Return whether a column holds sampling weights; what a body weighs is none."""
    if profile.numbers is None or profile.distinct <= 1:
        return False
    weighs = bool({"weight", "gewicht", "poids"}.intersection(words))
    found = profile.numbers
    of_sample = (
        bool(_OF_A_SAMPLE.intersection(words))
        or found.maximum > _BODY_WEIGHT
        or (abs(found.mean - 1.0) < _ABOUT_ONE and found.minimum >= 0.0)
    )
    return _speaks_of(words, _WEIGHTS) or (weighs and of_sample)


def _role(profile: ColumnProfile, words: tuple[str, ...]) -> tuple[Role, str]:
    """Return the role of a column that names nobody, and why."""
    date = profile.type_name.startswith("date")
    signs = (
        (profile.present == 0, Role.INSENSITIVE, "It has no values."),
        (profile.distinct <= 1, Role.INSENSITIVE, "All records have the same value."),
        (
            _is_weight(profile, words),
            Role.WEIGHT,
            "It looks like a sampling weight. Weights that differ tell records apart: round them.",
        ),
        (
            date and profile.distinct > _MONTHS,
            Role.QUASI_IDENTIFIER,
            "It holds exact dates, and others can know when something happened to a person. A month"
            " or a year tells less: give it a hierarchy.",
        ),
        (
            date or profile.type_name in _PERIODS.difference(_DURATIONS),
            Role.QUASI_IDENTIFIER,
            "Others can know when something happened to a person.",
        ),
        (
            _speaks_of(words, _KNOWABLE),
            Role.QUASI_IDENTIFIER,
            "Others can know this about a person.",
        ),
        (
            _is_amount(profile, words),
            Role.QUASI_IDENTIFIER,
            "It looks like an amount. It names nobody, but whoever knows it finds the record: mark"
            " it as sensitive, or divide it into bins.",
        ),
        (
            profile.type_name == "number"
            and profile.distinct > max(_ENOUGH, _NEARLY_ALL * profile.present),
            Role.INSENSITIVE,
            _OF_ITS_OWN,
        ),
        (
            profile.type_name == "number",
            Role.INSENSITIVE,
            "It looks like a measurement, which others hardly know.",
        ),
    )
    otherwise = (Role.QUASI_IDENTIFIER, _PERHAPS_KNOWN)
    return next(((role, reason) for applies, role, reason in signs if applies), otherwise)


def _is_amount(profile: ColumnProfile, words: tuple[str, ...]) -> bool:
    """Return whether numbers look like amounts, which few records share."""
    whole = profile.type_name == "whole number"
    few_share = profile.distinct > max(_ENOUGH, 0.5 * profile.present)
    return profile.numbers is not None and (_speaks_of(words, _AMOUNTS) or (whole and few_share))


def _kind(profile: ColumnProfile, words: tuple[str, ...], labelled: bool) -> Kind:
    if profile.type_name.startswith("date"):
        return Kind.DATE
    if profile.numbers is not None and not labelled:
        few = profile.distinct <= min(_FEW_NUMBERS, profile.present // 2)
        is_code = profile.numbers.whole and (few or _speaks_of(words, _CODES))
        return Kind.CATEGORICAL if is_code else Kind.NUMERIC
    if profile.type_name == "text" and (
        profile.distinct > max(_MANY_TEXTS, profile.present // 5)
        or _is_running_text(profile, words)
    ):
        return Kind.TEXT
    return Kind.CATEGORICAL
