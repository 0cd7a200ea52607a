"""Sentences that can be translated after they are made.

The engine speaks English and knows no Qt. What it says to a person about a table is a `Sentence`:
a text like any other, which remembers the template it was made from, so that the window can look
the template up and fill it in anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
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


class _Numbers(Formatter):
    """Fills a text in.

    Whole numbers have their thousands apart, and a blank stands before each sign of percent:
    ``{share:.1%}`` is 12.3 %. Words follow their numbers: ``{rows} {rows:row is|rows are} empty``.
    """

    def __init__(self, write: Callable[[str], str]) -> None:
        self._write = write

    def format_field(self, value: object, format_spec: str) -> str:
        if "|" in format_spec:
            return _inflected(value, format_spec)
        if isinstance(value, Integral) and not format_spec and not isinstance(value, bool):
            format_spec = ","
        said: str = super().format_field(value, format_spec)
        shown = f"{said[:-1]} %" if format_spec.endswith("%") else said
        name = isinstance(value, str) and value != MISSING_LABEL
        return shown if name else self._write(shown)


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
    return _Numbers(write).vformat(template, (), details)


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


def formatted(number: float, spec: str) -> Sentence:
    """Return a number as a format says, so that it is written as its reader's language does."""
    return Sentence(f"{{number:{spec}}}", number=number)


def as_sentence(text: str) -> Sentence:
    """Return a text without details as a sentence, so that it is translated within another."""
    if isinstance(text, Sentence):
        return text
    return Sentence(text.replace("{", "{{").replace("}", "}}"))


def joined(*texts: str) -> Sentence:
    """Return texts one after the other, a blank between them; empty ones are left out."""
    parts = {f"part_{place}": text for place, text in enumerate(filter(None, texts))}
    return Sentence(" ".join(f"{{{name}}}" for name in parts), **parts)


def listed(names: Sequence[str]) -> str:
    """Return names as ``a, b and c``."""
    *others, last = names
    if not others:
        return last
    before = reduce(lambda first, rest: Sentence("{first}, {rest}", first=first, rest=rest), others)
    return Sentence("{names} and {last}", names=before, last=last)
