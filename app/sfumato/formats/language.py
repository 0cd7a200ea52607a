"""The language of what is said below the window: command line, reports and bundles.

English is in the code. Every other language has one catalogue, which `installer/translations`
compiles twice from the same file: for Qt, and for Python's `gettext`, which is read here. A
process speaks one language (`speak`); what is written for somebody else, such as a bundle's
README, is written in that person's (`speaking`). What programs read (JSON, rules files, the
ledger, the columns of a table) is the same in every language.
"""

from __future__ import annotations

import gettext
import math
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from sfumato.engine.core.wording import MISSING_LABEL, Count, Sentence, details_apart, filled
from sfumato.resources import resource_path

ENGLISH: Final = "en"
SENTENCES: Final = "Sentences"
PLOTS: Final = "Plots"
VALUES: Final = "Values"
PREFIX: Final = "sfumato_"

_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
_MARKS: Final = {"de": str.maketrans({",": ".", ".": ","})}
"""For each language, what stands in place of the marks of English numbers."""
_MOMENTS: Final = {"de": "%d.%m.%Y %H:%M"}
_DAYS: Final = {"de": "%d.%m.%Y"}
_A_NUMBER: Final = re.compile(r"[-+\u2212±\s]*\d[\d,.]*(e[-+]?\d+)?[\s\u202f%]*")

_A_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")

_of_this_work: ContextVar[str] = ContextVar("language", default="")
_of_the_process: dict[str, str] = {}
_columns: list[Container[str]] = [()]
"""The names of the columns that whoever sits here works with; of the process, as its language."""


# ----- which language is spoken


def languages(folder: Path | None = None) -> tuple[str, ...]:
    """Return the languages there are, as gettext and Qt name them, English first.

    Parameters
    ----------
    folder
        Where compiled translations are; those that are shipped when None.
    """
    paths = (folder or shipped()).glob(f"{PREFIX}*.mo")
    return (ENGLISH, *sorted(path.stem.removeprefix(PREFIX) for path in paths))


def shipped() -> Path:
    """Return where translations are shipped, which may be nowhere."""
    with suppress(LookupError):
        return resource_path("translations")
    return resource_path() / "translations"


def known(name: str, folder: Path | None = None) -> str:
    """Return the language there is for a name like ``de_AT.UTF-8``; English where there is none."""
    wanted = re.split(r"[.@]", name.replace("-", "_"))[0]
    there = languages(folder)
    return next((one for one in (wanted, wanted.partition("_")[0]) if one in there), ENGLISH)


def of_the_environment(environment: Mapping[str, str]) -> str:
    """Return the language that the variables of an environment ask messages in."""
    return known(next(filter(None, map(environment.get, _VARIABLES)), ENGLISH))


def speak(language: str, *, asked: bool = False, folder: Path | None = None) -> None:
    """Let the whole process speak a language, also one that its command line asked for.

    Its translations are in that folder, or where they are shipped.
    """
    _of_the_process["language"] = language
    _of_the_process["folder"] = "" if folder is None else str(folder)
    _of_the_process["asked"] = language if asked else ""


def asked_for() -> str:
    """Return the language that the command line asked for; empty where it asked for none."""
    return _of_the_process.get("asked", "")


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Write in another language than the process for as long as this lasts."""
    before = _of_this_work.set(language)
    try:
        yield
    finally:
        _of_this_work.reset(before)


def spoken() -> str:
    """Return the language that is spoken now."""
    return _of_this_work.get() or _of_the_process.get("language", ENGLISH)


# ----- saying something in it


def know_columns(names: Container[str]) -> None:
    """Set these names apart in all sentences that the process says from now on."""
    _columns[0] = names


def columns_known() -> Container[str]:
    """Return the names that are set apart; none in what is written for somebody else."""
    return () if _of_this_work.get() else _columns[0]


def translated(text: str, context: str = SENTENCES) -> str:
    """Return a text or a template in the language spoken; as it is where it isn't translated."""
    language = spoken()
    if language == ENGLISH or not text:
        return text
    return _catalogue(language, _of_the_process.get("folder", "")).pgettext(context, text)


def said(text: object) -> str:
    """Return a text of the layers below in the language spoken, filled in."""
    if isinstance(text, Sentence):
        return worded(text.template, **text.details)
    return translated(str(text))


def worded(template: str, /, **details: object) -> str:
    """Return a template in the language spoken, filled in.

    Sentences among the details are translated too; other texts, such as names, stay.
    """
    if (columns := columns_known()) != ():
        details = details_apart(template, details, columns, quoted, within=False)
    inner = {name: said(one) if isinstance(one, Sentence) else one for name, one in details.items()}
    return filled(translated(template), inner, localized)


def quoted(name: str) -> str:
    """Return a name between the quotation marks of the language."""
    return translated("“{text}”").replace("{text}", name)


def listed(*texts: object, last: str = " and ") -> str:
    """Return texts as ``a, b and c``; names of columns are set apart."""
    known = columns_known()
    *others, end = (quoted(one) if one in known else one for one in map(str, texts))
    return f"{', '.join(others)}{translated(last)}{end}" if others else end


# ----- numbers and dates


def localized(number: str) -> str:
    """Return a number, a day (``2026-11-20``) or a missing value as the language writes it.

    German has ``1.234,5`` for ``1,234.5``. Anything else stays as it was given.
    """
    if _A_DAY.fullmatch(number):
        return day(datetime.fromisoformat(number))
    marks = _MARKS.get(spoken().partition("_")[0])
    return number.translate(marks) if marks and _A_NUMBER.fullmatch(number) else value_name(number)


def four_digits(value: float) -> str:
    """Return a figure as people read it, for none is meant more exactly: ``14,630``, ``0.9412``."""
    if not math.isfinite(value):
        return "∞"
    return localized(f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}")


def value_name(name: str) -> str:
    """Return what a value is called; a missing one in the language spoken."""
    return translated(name, VALUES) if name == MISSING_LABEL else name


def shown(number: str) -> Count:
    """Return a number as it stands in the window and in plots, with a minus as wide as a plus."""
    return Count(localized(number).replace("-", "\u2212"))


def grouped(number: int) -> Count:
    """Return a whole number as the language writes it; the word after it can depend on it."""
    return shown(f"{number:,}")


def moment(recorded_at: datetime) -> str:
    """Return a date and time as the language writes them, to the minute."""
    return recorded_at.strftime(_MOMENTS.get(spoken().partition("_")[0], "%Y-%m-%d %H:%M"))


def day(recorded_at: datetime) -> str:
    """Return a date as the language writes it."""
    return recorded_at.strftime(_DAYS.get(spoken().partition("_")[0], "%Y-%m-%d"))


def page_path(folder: str, name: str) -> Path:
    """Return a shipped text in the language spoken, or in English where there is none.

    Raises
    ------
    LookupError
        If there is none in English either.
    """
    with suppress(LookupError):
        return resource_path(folder, spoken(), name)
    return resource_path(folder, name)


@lru_cache
def _catalogue(language: str, folder: str) -> gettext.NullTranslations:
    path = (Path(folder) if folder else shipped()) / f"{PREFIX}{language}.mo"
    if not path.exists():
        return gettext.NullTranslations()
    with path.open("rb") as stream:
        return gettext.GNUTranslations(stream)
