"""Sentences that can be translated after they are made.

The engine speaks English and knows no Qt. What it says to a person about a table is a `Sentence`:
a text like any other, which remembers the template it was made from, so that the window can look
the template up and fill it in anew.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache
from numbers import Integral
from string import Formatter
from typing import Final, Self

MISSING_LABEL: Final = "(missing)"
"""What a missing value is called in English."""


class Count(str):
    """A number as it is written, which also chooses the word after it: ``{rows:row|rows}``."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return _inflected(self, spec) if "|" in spec else super().__format__(spec)


def _inflected(number: object, forms: str) -> str:
    """Return the first form for one, the second for any other number."""
    one, many = forms.split("|")
    return one if number == 1 or str(number) == "1" else many


def _written(value: object, spec: str, write: Callable[[str], str]) -> str:
    """Return a detail as a text has it.

    Whole numbers have their thousands apart, and a blank stands before each sign of percent:
    ``{share:.1%}`` is 12.3 %. Words follow their numbers: ``{rows} {rows:row is|rows are} empty``.
    """
    if "|" in spec:
        return _inflected(value, spec)
    if not spec and not isinstance(value, str | float | bool) and isinstance(value, Integral):
        spec = ","
    said = format(value, spec)
    shown = f"{said[:-1]} %" if spec.endswith("%") else said
    name = isinstance(value, str) and value != MISSING_LABEL
    return shown if name else write(shown)


class _NumberFormatter(Formatter):
    """Fills in a text whose details are more than names, as ``{share:.{digits}%}``."""

    def __init__(self, write: Callable[[str], str]) -> None:
        self._write = write

    def format_field(self, value: object, format_spec: str) -> str:
        return _written(value, format_spec, self._write)


@lru_cache(maxsize=4096)
def _parts(template: str) -> tuple[tuple[str, str, str], ...] | None:
    """Return a template's texts, each with the name and format of what follows it.

    The name is empty where nothing does. None where a detail is more than a name.
    """
    parts = []
    for text, name, spec, conversion in Formatter().parse(template):
        if name is not None and (not name.isidentifier() or conversion or "{" in (spec or "")):
            return None
        parts.append((text, name or "", spec or ""))
    return tuple(parts)


def filled(template: str, details: Mapping[str, object], write: Callable[[str], str] = str) -> str:
    """Return a template with its details, percentages as all other texts write them.

    Parameters
    ----------
    template, details
        The text, and what goes into it.
    write
        Writes a number that is formatted as in English, the day of a date in ISO 8601, or a
        missing value, for somebody who reads another language.
    """
    parts = _parts(template)
    if parts is None:
        return _NumberFormatter(write).vformat(template, (), details)
    return "".join(
        text + _written(details[name], spec, write) if name else text for text, name, spec in parts
    )


class Sentence(str):
    """A text, filled in from a template that a translator knows.

    Parameters
    ----------
    template
        The text, with ``{name}`` or ``{name:.3g}`` where a detail goes, and ``{name:one|many}``
        where a word depends on a number.
    **details
        What goes there. A `Sentence` among them is translated too; other texts (the names of
        columns and recipients) stay as they are. Never a cell value of the table.
    """

    __slots__ = ("details", "template")

    template: str
    details: dict[str, object]

    def __new__(cls, template: str, **details: object) -> Self:
        """Fill the template in, and remember it."""
        made = super().__new__(cls, filled(template, details))
        made.template, made.details = template, details
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        return (self.template,), self.details


_NO_COLUMNS: Final = frozenset(
    {"recipient", "recipients", "who", "whom", "holder", "person", "role", "kind", "value", "text"}
)
"""Details that name somebody or say something, which may be called as a column is."""


def in_quotes(name: str) -> Sentence:
    """Return a name between the quotation marks of its reader's language."""
    return Sentence("“{text}”", text=name)


def set_apart(text: str, columns: Container[str], mark: Callable[[str], str] = in_quotes) -> str:
    """Return a sentence whose columns' names are set apart from its other words.

    Parameters
    ----------
    text
        A `Sentence`; a text without details is returned as it is.
    columns
        The names of the table's columns. Details that are one of them, or several in a list,
        are marked, in sentences within the sentence, too.
    mark
        Returns a name as it is set apart: between quotation marks, or in another font.
    """
    if not isinstance(text, Sentence):
        return text
    return Sentence(text.template, **details_apart(text.template, text.details, columns, mark))


def details_apart(
    template: str,
    details: Mapping[str, object],
    columns: Container[str],
    mark: Callable[[str], str] = in_quotes,
    *,
    within: bool = True,
) -> dict[str, object]:
    """Return a template's details, with columns' names among them set apart; see `set_apart`.

    A name that is apart already stays as it is: between quotation marks, before a colon at the
    beginning, and as the value of an option. So do sentences, names and all, if not `within` them:
    for whoever fills each of them in by itself.
    """
    kept = _NO_COLUMNS | _already_apart(template)
    return {
        key: one
        if key in kept or (not within and isinstance(one, Sentence))
        else _apart(one, columns, mark)
        for key, one in details.items()
    }


@lru_cache(maxsize=4096)
def _already_apart(template: str) -> frozenset[str]:
    """Return the details of a template that need no marks where they stand."""
    found = (match[1] or match[2] for match in _APART_ALREADY.finditer(template))
    return frozenset(found)


_APART_ALREADY: Final = re.compile(
    r"(?:[“„\"'`=]|--[a-z-]+ )\{(\w+)[}:!]|\A\s*(?:\w+, )?\{(\w+)[^{}]*\}(?=:)"
)


def _apart(one: object, columns: Container[str], mark: Callable[[str], str]) -> object:
    if isinstance(one, Sentence):
        return set_apart(one, columns, mark)
    if not isinstance(one, str) or isinstance(one, Count) or not one:
        return one
    if one in columns:
        return mark(one)
    for between in (", ", " + "):
        parts = one.split(between)
        if len(parts) > 1 and all(part in columns for part in parts):
            return joined(*map(mark, parts), between=between)
    return one


def formatted(number: float, spec: str) -> Sentence:
    """Return a number as a format says, so that it is written as its reader's language does."""
    return Sentence(f"{{number:{spec}}}", number=number)


def share_in_words(share: float) -> Sentence:
    """Return a share by three digits of the lesser, it or the rest: 65 %, 99.985 %, 0.0125 %."""
    less = 100.0 * min(share, 1.0 - share)
    most = max(0, 2 - math.floor(math.log10(less))) if less > 0.0 else 0
    decimals = f"{100.0 * share:.{most}f}".partition(".")[2].rstrip("0")
    return formatted(share, f".{len(decimals)}%")


def about_number(number: int) -> Sentence:
    """Return a number that nobody could count to as a power of ten: ``6·10¹⁶``."""
    digits = str(number)
    if len(digits) <= 9:
        return formatted(number, ",")
    raised = str(len(digits) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return as_sentence(f"{digits[0]}·10{raised}")


def small_number(number: float) -> Sentence:
    """Return a number near 0 as a person can read it: ``0`` or ``2·10⁻¹⁶``."""
    if number == 0.0:
        return formatted(0, "d")
    mantissa, exponent = format(number, ".0e").split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return as_sentence(f"{mantissa}·10{raised}")


def as_sentence(text: str) -> Sentence:
    """Return a text without details as a sentence, so that it is translated within another."""
    if isinstance(text, Sentence):
        return text
    return Sentence(text.replace("{", "{{").replace("}", "}}"))


def joined(*texts: str, between: str = " ") -> Sentence:
    """Return texts one after the other, a blank between them; empty ones are left out."""
    parts = {f"part_{place}": text for place, text in enumerate(filter(None, texts))}
    return Sentence(between.join(f"{{{name}}}" for name in parts), **parts)


def listed(names: Sequence[str]) -> str:
    """Return names as ``a, b and c``."""
    *others, last = names
    if not others:
        return last
    while len(others) > 1:  # in pairs, since sentences in thousands of sentences are told by none
        pairs = zip(others[::2], others[1::2], strict=False)
        odd = others[len(others) // 2 * 2 :]
        others = [Sentence("{first}, {rest}", first=one, rest=next_) for one, next_ in pairs]
        others += odd
    return Sentence("{names} and {last}", names=others[0], last=last)
