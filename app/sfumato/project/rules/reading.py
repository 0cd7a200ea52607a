"""Reading TOML rules piece by piece, with errors that name the line and the key."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

from sfumato.engine.core.errors import SfumatoError
from sfumato.project.errors import RulesError

Keys = tuple[str | int, ...]
"""Where something stands: the keys from the top, with positions in lists."""

Choice = TypeVar("Choice", bound=StrEnum)

_MARK: Final = "sfumato-line-mark"
_SHOWN: Final = 12


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a remedy that names the nearest of the known names, or lists them."""
    names = list(known)
    near = difflib.get_close_matches(name, names, 1, 0.6)
    if near:
        remedy = f"Did you mean {near[0]}?"
    elif names:
        remedy = f"Known are: {', '.join(names[:_SHOWN])}{', …' if len(names) > _SHOWN else '.'}"
    else:
        remedy = "Remove it."
    # A name may hold braces, which would be read as a place in a template.
    return remedy.replace("{", "{{").replace("}", "}}")


class RulesText:
    """A rules file as text, which knows the line of each key.

    Parameters
    ----------
    text
        The file's contents.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def parse(self) -> Section:
        """Return the whole file as a section.

        Raises
        ------
        RulesError
            If it is not TOML; the message names the line.
        """
        try:
            return Section(self, (), tomllib.loads(self._text))
        except tomllib.TOMLDecodeError as error:
            found = re.fullmatch(r"(.*) \(at (.*)\)", str(error), re.DOTALL)
            problem, place = (found[1], found[2]) if found else (str(error), "the end")
            raise RulesError(
                "The rules can't be read at {place}: {problem}.",
                "Mend this line. Texts stand in quotes, and each key once.",
                place=place,
                problem=problem,
            ) from None

    def error(self, keys: Keys, what: str, remedy: str, **details: object) -> RulesError:
        """Return an error that says where in the file something is wrong."""
        line = self._line(keys)
        where = "The rules" if line is None else "Line {line} of the rules"
        if not keys:
            return RulesError(f"{where}: {what}", remedy, line=line, **details)
        place = shown_place(keys)
        return RulesError(f"{where}, {{place}}: {what}", remedy, line=line, place=place, **details)

    def _line(self, keys: Keys) -> int | None:
        """Return the line on which the value under `keys` begins, counted from 1.

        No parser keeps line numbers, but tomlkit writes back exactly what it read: so the
        value is replaced by a mark, and the mark looked for.
        """
        try:
            document = tomlkit.parse(self._text)
            *outer, last = _outside_lists(document, keys)
            holder: Any = document
            for name in outer:
                holder = holder[name]
            if isinstance(holder[last], Table):
                holder[last].comment(_MARK)
            else:
                holder[last] = _MARK
            before, mark, _ = tomlkit.dumps(document).partition(_MARK)
        except (TOMLKitError, LookupError, TypeError, ValueError):
            return None
        return before.count("\n") + 1 if mark else None


class Section:
    """One table of the rules: its keys are taken out one by one, and none may be left over.

    Parameters
    ----------
    rules
        The file that it is part of.
    keys
        Where it stands.
    values
        What it holds.
    """

    def __init__(self, rules: RulesText, keys: Keys, values: Mapping[str, Any]) -> None:
        self.rules = rules
        self.keys = keys
        self._values = dict(values)
        self._asked: list[str] = []

    def take(self, key: str) -> Any:
        """Return the value of a key and count it as read; None where there is none."""
        self._asked.append(key)
        return self._values.get(key)

    def text(self, key: str) -> str | None:
        """Return a text, or None where the key is missing."""
        value = self.take(key)
        if value is not None and not isinstance(value, str):
            raise self.error(key, "a text was expected.", "Put it in quotes.")
        return value

    def required_text(self, key: str) -> str:
        """Return a text that has to be there."""
        value = self.text(key)
        if not value:
            raise self.rules.error(
                self.keys, "the key {key} is missing or empty.", "Add it.", key=key
            )
        return value

    def choice(self, key: str, kind: type[Choice]) -> Choice | None:
        """Return one of a fixed list of words, or None where the key is missing."""
        value = self.text(key)
        if value is None:
            return None
        known = [member.value for member in kind]
        if value not in known:
            raise self.error(
                key, "{found} is not one of its values.", suggestion(value, known), found=value
            )
        return kind(value)

    def listed(self, key: str) -> list[Any] | None:
        """Return a list, or None where the key is missing."""
        value = self.take(key)
        if value is not None and not isinstance(value, list):
            raise self.error(key, "a list was expected.", "Put its items in [ ].")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of texts, or None where the key is missing."""
        values = self.listed(key)
        if values is None:
            return None
        for position, value in enumerate(values):
            if not isinstance(value, str):
                raise self.error(
                    key, "item {item} is not a text.", "Put it in quotes.", item=position + 1
                )
        return tuple(values)

    def numbers(self, key: str) -> tuple[float, ...] | None:
        """Return a list of numbers, or None where the key is missing."""
        values = self.listed(key)
        if values is None:
            return None
        for position, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise self.error(key, "item {item} is not a number.", "Mend it.", item=position + 1)
        return tuple(float(value) for value in values)

    def number(self, key: str) -> float | None:
        """Return a number, or None where the key is missing."""
        value = self.take(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise self.error(key, "a number was expected.", "Write it without quotes.")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false; false where the key is missing."""
        value = self.take(key)
        if value is not None and not isinstance(value, bool):
            raise self.error(key, "true or false was expected.", "Write one, without quotes.")
        return bool(value)

    def section(self, key: str) -> Section:
        """Return an inner table; an empty one where the key is missing."""
        values = self.take(key)
        return self._inner((*self.keys, key), {} if values is None else values)

    def sections(self, key: str) -> list[Section]:
        """Return a list of inner tables; an empty one where the key is missing."""
        values = self.listed(key) or []
        return [self._inner((*self.keys, key, i), value) for i, value in enumerate(values)]

    def plain(self) -> dict[str, Any]:
        """Return all of the section as it is."""
        self._asked += self._values
        return dict(self._values)

    def names(self) -> Iterator[str]:
        """Return the keys that are there."""
        return iter(self._values)

    def finish(self) -> None:
        """Refuse a key that nobody asked for.

        Raises
        ------
        RulesError
            Naming it, and the nearest key that exists.
        """
        for key in self._values:
            if key not in self._asked:
                raise self.error(key, "there is no such key.", suggestion(key, self._asked))

    def refuse_repeated(self, key: str, names: Iterable[str]) -> None:
        """Refuse a name that stands twice under one key."""
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise self.error(key, "{name} stands there twice.", "Keep one of them.", name=name)
            seen.add(name)

    def error(self, key: str, what: str, remedy: str, **details: object) -> RulesError:
        """Return an error about the value of one key."""
        return self.rules.error((*self.keys, key), what, remedy, **details)

    def explained(self, key: str, error: SfumatoError) -> RulesError:
        """Return another error with the place in the rules that caused it."""
        if self.keys or key:
            keys = (*self.keys, key) if key else self.keys
            return self.rules.error(keys, "{cause}", "{cure}", cause=error.what, cure=error.remedy)
        return RulesError("{cause}", "{cure}", cause=error.what, cure=error.remedy)

    def _inner(self, keys: Keys, values: object) -> Section:
        if not isinstance(values, Mapping):
            raise self.rules.error(keys, "a table was expected.", "Write it as [name] or {{ }}.")
        return Section(self.rules, keys, values)


def _outside_lists(document: Any, keys: Keys) -> Keys:
    """Cut a place inside a list of values to the list itself, which is what has a line."""
    holder = document
    for position, key in enumerate(keys[:-1]):
        holder = holder[key]
        if isinstance(keys[position + 1], int) and not isinstance(holder, AoT):
            return keys[: position + 1]
    return keys


def shown_place(keys: Keys) -> str:
    """Return a place as people write it: ``columns.sex.role``, ``recipients 2, name``."""
    shown = ""
    for key in keys:
        if isinstance(key, int):
            shown += f" {key + 1}"
        else:
            shown += f".{key}" if shown else str(key)
    return shown
