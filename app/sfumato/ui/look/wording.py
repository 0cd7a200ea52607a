"""Numbers, levels and times as every panel writes them.

And where words too long for a line may be parted: at their joints, or else anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping
from datetime import datetime
from functools import cache
from html import escape
from typing import Final

from PySide6.QtCore import QCoreApplication

from sfumato.engine.core.columns import MISSING_LABEL
from sfumato.engine.core.wording import Count, Sentence, details_apart, filled, set_apart
from sfumato.engine.mechanisms.base import LevelTerm, Mechanism
from sfumato.formats.language import columns_known, day, localized, moment, shown

_SYMBOL: Final = 3
"""How many letters a symbol has at most, such as σ²."""
THIN_SPACE = "\u202f"
UNBROKEN = "\u00a0"
_BESIDE_SIGN = re.compile(r"(?<=\d) (?=%)|(?<=±) (?=\d)")


def spoken(text: str, **details: object) -> str:
    """Return what the layers below the window say, in the person's language, and filled in.

    Parameters
    ----------
    text
        A `Sentence`, a text without details, or a template.
    **details
        What a template is filled in with.
    """
    if isinstance(text, Sentence):
        return spoken(text.template, **text.details)
    said = QCoreApplication.translate("Sentences", text) if text else ""
    return filled_in(said, **details) if details else said


def filled_in(said: str, /, **details: object) -> str:
    """Return a translated template filled in as the person's language does, sentences too.

    Names of columns are set apart from the sentence by quotation marks, unless `apart` has marked
    them otherwise.
    """
    if (columns := columns_known()) != ():
        details = details_apart(said, details, columns, quoted, within=False)
    inner = {
        name: spoken(one) if isinstance(one, Sentence) else one for name, one in details.items()
    }
    return filled(said, inner, localized)


def typeset(text: str) -> str:
    """Return a sentence of the engine's in the person's language, as the window writes it.

    No line ends between a number and its sign.
    """
    return _BESIDE_SIGN.sub(THIN_SPACE, spoken(text))


_NAME: Final = "\ue000"
_AFTER: Final = "\ue001"
"""Where the name of a column begins and ends, unseen, in a text for a label that wraps."""
_A_NAME: Final = re.compile(f"{_NAME}(.*?){_AFTER}", re.DOTALL)


def apart(text: str, columns: Container[str]) -> str:
    """Return a sentence as `typeset` does, its columns' names marked for `rich_text`."""
    return typeset(set_apart(text, columns, lambda name: f"{_NAME}{name}{_AFTER}"))


def has_names(text: str) -> bool:
    """Whether columns' names are marked in a text."""
    return _NAME in text


def rich_text(text: str) -> str:
    """Return a text as HTML, in which marked names are set in another weight.

    Qt takes a thin space in HTML for one at which lines may end.
    """
    text = text.replace(THIN_SPACE, UNBROKEN)
    names = _A_NAME.sub(r'<span style="font-weight:600">\1</span>', escape(text, quote=False))
    return unmarked(names).replace("\n", "<br>")


def unmarked(text: str) -> str:
    """Return a text without the marks of names."""
    return text.replace(_NAME, "").replace(_AFTER, "")


def marked(context: str, texts: str) -> tuple[str, ...]:
    """Return texts that are translated where they are looked up; bars stand between them."""
    del context  # for whoever reads the source code for texts to translate
    return tuple(texts.split("|"))


def time_left(seconds: float | None) -> str:
    """Return how long work will still take; empty where that can't be told."""
    tr = QCoreApplication.translate
    if seconds is None:
        return ""
    if seconds < 60:
        return tr("Progress", "{n} s left").format(n=5 * max(1, math.ceil(seconds / 5)))
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return tr("Progress", "{n} min left").format(n=minutes)
    hours, minutes = divmod(minutes, 60)
    return tr("Progress", "{h} h {n} min left").format(h=hours, n=minutes)


def time_run(seconds: float) -> str:
    """Return how long work has been running."""
    tr = QCoreApplication.translate
    if seconds < 60:
        return tr("Progress", "{n} s so far").format(n=5 * int(seconds / 5))
    return tr("Progress", "{n} min so far").format(n=int(seconds / 60))


def plus_minus(size: str) -> str:
    """Return by how much something may be off either way; no line ends within."""
    return f"±{THIN_SPACE}{size}"


def value_name(name: str) -> str:
    """Return what a value is called; a missing one in the person's language."""
    if name != MISSING_LABEL:
        return name
    return QCoreApplication.translate("Values", "(missing)")


def quoted(text: str) -> str:
    """Return what a value or a name is, between the quotation marks of the person's language."""
    return QCoreApplication.translate("Values", "“{text}”").format(text=text)


def number(value: float, digits: int = 3) -> Count:
    """Return a number with so many significant digits and no noise; infinity as a sign."""
    if math.isinf(value):
        return Count("∞")
    if value == 0:
        return Count("0")
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{decimals}f}"
    return shown(text.rstrip("0").rstrip(".") if "." in text else text)


def term_of(mechanism: Mechanism, statement: Mapping[str, float]) -> LevelTerm | None:
    """Return the term that a statement uses; None where the mechanism has no such term."""
    names = set(statement)
    return next(
        (term for term in mechanism.terms if {field.name for field in term.fields} == names), None
    )


def statement_text(mechanism: Mechanism, statement: Mapping[str, float]) -> str:
    """Return a statement as ``p = 0.6`` or ``ρ 0.1 → 0.5``, by its fields' names."""
    term = term_of(mechanism, statement)
    if term is None:
        return QCoreApplication.translate("Levels", "not known to this version")
    return term_text(term, statement)


def level_words(mechanism: Mechanism, statement: Mapping[str, float]) -> str:
    """Return a statement with its symbol named, as ``Noise level σ² = 0.25``.

    What is believed before and after is told in a sentence.
    """
    term = term_of(mechanism, statement)
    if term is None:
        return statement_text(mechanism, statement)
    if len(term.fields) == 1:
        (only,) = term.fields
        if len(spoken(only.title)) > _SYMBOL:  # a word, which the term's own name holds
            return f"{spoken(term.title)} = {number(statement[only.name])}"
        told = term_text(term, statement).replace(" ", UNBROKEN)
        return f"{spoken(term.title)} {told}"
    before, after = (f"{number(100.0 * statement[one.name])}{THIN_SPACE}%" for one in term.fields)
    words = QCoreApplication.translate("Levels", "a hunch of {before} rises to {after} at most")
    return filled_in(words, before=before, after=after)


def term_text(term: LevelTerm, statement: Mapping[str, float]) -> str:
    """Return the numbers of a statement in one of its mechanism's terms, with their names."""
    titles = [spoken(field.title) for field in term.fields]
    numbers = [number(statement[field.name]) for field in term.fields]
    if len(numbers) == 1:
        return plus_minus(numbers[0]) if titles[0] == "±" else f"{titles[0]} = {numbers[0]}"
    letters = {title[:1] for title in titles}
    shared = letters.pop() if len(letters) == 1 else ""
    return f"{shared} {' → '.join(numbers)}".strip()


def local_time(recorded_at: str) -> str:
    """Return a recorded time (ISO 8601, UTC) in the person's zone, to the minute."""
    return moment(datetime.fromisoformat(recorded_at).astimezone())


def local_day(recorded_at: str) -> str:
    """Return the day of a recorded time (ISO 8601, UTC) in the person's zone."""
    return day(datetime.fromisoformat(recorded_at).astimezone())


BREAK: Final = "\u200b"
"""A place where a line may end, unseen; for names of columns, which have no hyphens to add."""
HYPHEN: Final = "\u00ad"
"""A place where a line may end with a hyphen."""
_PART: Final = 12
"""So many letters of a long word without known joints stay together."""
_WORD: Final = re.compile(r"\b[^\W\d_]{12,}\b")
_LONG_WORD: Final = re.compile(r"\S{17,}")
_PARTED: Final = re.compile(rf"[^_\-./\\]{{1,{_PART}}}[_\-./\\]*|[_\-./\\]+")


def parted(text: str) -> str:
    """Return a text whose long words may be parted."""
    joints = _joints_of(_joints_told())
    hyphenated = _WORD.sub(lambda word: joints.sub(HYPHEN, word[0]), text)
    return _LONG_WORD.sub(lambda word: _breakable(word[0]), hyphenated)


def parts(text: str) -> list[str]:
    """Return what stays together of a text, each as it ends a line."""
    return parted(text).replace(BREAK, " ").replace(HYPHEN, "- ").split()


def whole(text: str) -> str:
    """Return a text without the places where it may be parted."""
    return text.replace(BREAK, "").replace(HYPHEN, "")


def _joints_told() -> str:
    """Return the joints of the language's long words; a translation lists its own."""
    return QCoreApplication.translate(
        "Hyphenation", "general|iz identifi|cation indistin|guish pseudo|nym recon|struct"
    )


@cache
def _joints_of(told: str) -> re.Pattern[str]:
    """Return what finds the joints in words; ``re|identi`` is one between ``re`` and ``identi``."""
    pairs = [pair.partition("|") for pair in told.split()]
    found = [
        rf"(?<={re.escape(left)})(?={re.escape(right)})"
        for left, _, right in pairs
        if left and right
    ]
    return re.compile("|".join(found) or r"(?!)", re.IGNORECASE)


def _breakable(word: str) -> str:
    """Return a long word that may be parted after its hyphens and the like, or within."""
    if HYPHEN in word and max(map(len, word.split(HYPHEN))) <= _PART + 4:
        return word
    return BREAK.join(_PARTED.findall(whole(word)))
