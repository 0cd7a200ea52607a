"""Rules as TOML text that people read and edit: read piece by piece, and written.

Errors name the line and the key.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

import tomlkit
from tomlkit import items
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from sfumato.engine.core.columns import ColumnSpec, Domain, Pseudonym, Value
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.setting_specs import SettingSource
from sfumato.formats.options import FOUND_OUT, ReadOptions
from sfumato.formats.tables import format_called
from sfumato.project.document.generalization import (
    Generalization,
    OtherTableFile,
    PopulationFile,
    PublicCountsFile,
)
from sfumato.project.document.model import Document, PolicyEntry, Recipient, to_plain
from sfumato.project.errors import RulesError
from sfumato.project.release.views import quasi_identifiers

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

    def parse(self) -> RulesSection:
        """Return the whole file as a section.

        Raises
        ------
        RulesError
            If it is not TOML; the message names the line.
        """
        try:
            return RulesSection(self, (), tomllib.loads(self._text))
        except tomllib.TOMLDecodeError as error:
            found = re.fullmatch(r"(.*) \(at (.*)\)", str(error), re.DOTALL)
            problem, place = (found[1], found[2]) if found else (str(error), "the end")
            raise RulesError(
                "The rules can't be read at {place}: {problem}.",
                "Correct this line. Texts are quoted, and each key occurs once.",
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
            if isinstance(holder[last], items.Table):
                holder[last].comment(_MARK)
            else:
                holder[last] = _MARK
            before, mark, _ = tomlkit.dumps(document).partition(_MARK)
        except (TOMLKitError, LookupError, TypeError, ValueError):
            return None
        return before.count("\n") + 1 if mark else None


class RulesSection:
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
        self.refuse_unknown(key, value, known, "{found} is not one of its values.", found=value)
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
                raise self.error(
                    key, "item {item} is not a number.", "Correct it.", item=position + 1
                )
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

    def section(self, key: str) -> RulesSection:
        """Return an inner table; an empty one where the key is missing."""
        values = self.take(key)
        return self._inner((*self.keys, key), {} if values is None else values)

    def sections(self, key: str) -> list[RulesSection]:
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

    def refuse_unknown(
        self, key: str, name: str, known: Collection[str], what: str, /, **details: object
    ) -> None:
        """Refuse a name that is none of those known, and suggest one of these."""
        if name not in known:
            raise self.error(key, what, suggestion(name, known), **details)

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

    def _inner(self, keys: Keys, values: object) -> RulesSection:
        if not isinstance(values, Mapping):
            raise self.rules.error(keys, "a table was expected.", "Write it as [name] or {{ }}.")
        return RulesSection(self.rules, keys, values)


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


FORMAT: Final = 1
"""The version of the rules format."""

PSEUDONYM_FOR_EACH: Final = "each"
PSEUDONYM_FOR_ALL: Final = "shared"
CODING_KEYS: Final = ("bottom_code", "top_code", "round_to")

_WIDTH: Final = 90
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_MISSING: Final = "missing = true"

_HEAD: Final = """\
# Rules for releasing a table: what each column is for, how sensitive columns are perturbed,
# and how far each recipient is trusted. Nothing in this file is secret, but the values that
# a column can hold are listed in it.
"""
_READING: Final = """
# How the file is read.
"""
_COLUMNS: Final = """
# The columns of the table.
#   role     identifying (dropped), quasi-identifier, sensitive (perturbed), insensitive or weight
#   kind     categorical, numeric, date or text
#   missing  value (missing is a value of its own) or refused
#   values   all that a column can hold, whether they occur or not
#   bottom_code, top_code, round_to   numbers beyond an end are shown as the end; others rounded
#   pseudonym   of an identifying column: "each" recipient sees their own, all see one that is
#               "shared", or those listed by name do
"""
_HIERARCHIES: Final = """
# How columns are generalized, level by level: intervals, order, masking, dates, four-levels,
# suppression, or a table (its rows here, or in a file beside this one: file = "age.csv").
"""
_GENERALIZATION: Final = """
# The generalized table: its true sensitive column, the columns that become coarser, and what
# every class of people who look alike has to satisfy. Other holders' tables are about the same
# people; spelling says which of our values (here) theirs (there) are. Public counts say how many
# people are in the same classes of several tables; each column is ours, or a holder's (theirs).
"""
_UNIT: Final = """
# Which rows belong together (a person's visits, a household's members): the columns that name the
# unit, how many of its rows are released at most, and which sensitive columns are the same in all
# of them, so that they are drawn once.
"""
_POLICY: Final = """
# The mechanism for each sensitive column, or for several jointly.
"""
_TERMS: Final = """
# What recipients may do with a release, and until when; their README says it.
"""
_RECIPIENTS: Final = """
# Who gets a release, and how far each of them is trusted with each entry of the policy.
"""


def rules_of(document: Document, folder: Path | None = None) -> str:
    """Return a document's rules as TOML.

    The order is always the same, so that two versions can be compared. The source table's
    place and digest are not in it, and nothing secret is.

    Parameters
    ----------
    document
        What is decided.
    folder
        Where the rules will lie: other holders' files inside it are named from there.
    """
    parts = [_HEAD, "".join(f"{line}\n" for line in _general(document))]
    if document.source is not None and document.source.options:
        parts += [_READING, *_section("reading", _assignments(_reading(document.source.options)))]
    if document.columns:
        parts.append(_COLUMNS)
    for number, column in enumerate(document.columns):
        parts += _section(f"columns.{_key(column.name)}", _column(column), number > 0)
    known = [c.name for c in document.columns if c.name in document.hierarchies]
    if known:
        parts.append(_HIERARCHIES)
    for number, name in enumerate(known):
        settings = _assignments(document.hierarchies[name].to_dict())
        parts += _section(f"hierarchies.{_key(name)}", settings, number > 0)
    if document.generalization is not None:
        parts += [_GENERALIZATION, *_generalization(document.generalization, folder)]
    if document.unit is not None:
        parts += [_UNIT, *_section("unit", _assignments(to_plain(document.unit)))]
    if document.policy:
        parts.append(_POLICY)
    for number, entry in enumerate(document.policy):
        parts += _section("[policy]", _entry(entry), number > 0)
    if document.terms is not None:
        parts += [_TERMS, *_section("terms", _assignments(dict(document.terms.stated)))]
    if document.recipients:
        parts.append(_RECIPIENTS)
    for number, recipient in enumerate(document.recipients):
        parts += _section("[recipients]", _recipient(recipient), number > 0)
    return "".join(parts)


def _reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a table is read, with all that would be found out of another one."""
    read = ReadOptions.from_dict(options)
    return read.to_dict(also=FOUND_OUT & format_called(read.format).reading_options)


def _general(document: Document) -> Iterator[str]:
    yield f"format = {FORMAT}"
    if document.title:
        yield f"title = {_text(document.title)}"
    if document.record_key is not None:
        yield f"record_key = {_text(document.record_key)}"
    if document.level_spacing:
        yield f"level_spacing = {_scalar(document.level_spacing)}"
    if document.rows_as_in_table:
        yield f"rows_as_in_table = {_text(document.rows_as_in_table)}"
    if document.needs_approval:
        yield "needs_approval = true"
    if document.most_epsilon is not None:
        yield f"most_epsilon = {_scalar(document.most_epsilon)}"
    known = quasi_identifiers(document)
    if important := [name for name in document.importance or () if name in known]:
        yield f"importance = {toml_value(important)}"


def _column(column: ColumnSpec) -> Iterator[str]:
    yield f"role = {_text(column.role.value)}"
    yield f"kind = {_text(column.kind.value)}"
    yield f"missing = {_text(column.missing.value)}"
    if column.binning is not None:
        yield f"bin_edges = {_array(_edge(edge) for edge in column.binning.edges)}"
        if column.binning.labels:
            yield f"bin_labels = {toml_value(column.binning.labels)}"
    if column.coding is not None:
        coding = column.coding
        for key, number in zip(CODING_KEYS, (coding.bottom, coding.top, coding.step), strict=True):
            if number is not None:
                yield f"{key} = {_edge(number)}"
    if column.pseudonym is not None:
        yield f"pseudonym = {toml_value(sharing(column.pseudonym))}"
    if column.from_rows:
        yield "from_rows = true"
    if column.domain is not None:
        yield f"values = {_array(_domain_values(column.domain))}"


def sharing(pseudonym: Pseudonym) -> str | tuple[str, ...]:
    """Return who sees the same pseudonyms, as rules say it."""
    if pseudonym.shared_by is None:
        return PSEUDONYM_FOR_ALL
    return pseudonym.shared_by or PSEUDONYM_FOR_EACH


def _domain_values(domain: Domain) -> Iterator[str]:
    for value in domain.values:
        label = domain.labels.get(value)
        if label is not None:
            given = _MISSING if value is None else f"value = {toml_value(value)}"
            yield f"{{ {given}, label = {_text(label)} }}"
        else:
            yield f"{{ {_MISSING} }}" if value is None else toml_value(value)


def _edge(edge: float) -> str:
    """Return an edge without a needless point: it is read as a number either way."""
    return _scalar(int(edge) if edge.is_integer() and abs(edge) < 1e15 else edge)


def _entry(entry: PolicyEntry) -> Iterator[str]:
    yield f"attributes = {toml_value(entry.attributes)}"
    yield f"mechanism = {_text(entry.mechanism)}"
    mechanism = mechanism_called(entry.mechanism)
    kept = {one.name for one in mechanism.settings if one.source is SettingSource.KEPT}
    settings = {name: value for name, value in entry.settings.items() if name not in kept}
    if settings:
        yield f"settings = {toml_value(settings)}"


def _generalization(decided: Generalization, folder: Path | None) -> Iterator[str]:
    names = decided.quasi_identifiers
    yield from _section("generalization", _decided(decided))
    if decided.node is not None:
        levels = _assignments(dict(zip(names, decided.node, strict=True)))
        yield from _section("generalization.levels", levels, True)
    if decided.population is not None:
        population = _population(decided.population, folder)
        yield from _section("generalization.population", population, True)
    for other in decided.others:
        yield from _section("[generalization.others]", _other(other, folder), True)
    for counts in decided.public_counts:
        yield from _section("[generalization.public_counts]", _counts(counts, folder), True)


def _decided(decided: Generalization) -> Iterator[str]:
    names = decided.quasi_identifiers
    yield f"sensitive = {_text(decided.sensitive)}"
    yield f"quasi_identifiers = {toml_value(names)}"
    criteria = [{"kind": choice.kind, **choice.numbers} for choice in decided.criteria]
    yield f"criteria = {toml_value(criteria)}"
    if decided.suppression:
        yield f"suppression = {_scalar(decided.suppression)}"
    yield f"suppressed = {_text(decided.suppressed.value)}"
    if decided.sampling_fraction is not None:
        yield f"sampling_fraction = {_scalar(decided.sampling_fraction)}"
    if decided.pinned:
        pinned = [dict(zip(names, node, strict=True)) for node in decided.pinned]
        yield f"pinned = {toml_value(pinned)}"


def _other(other: OtherTableFile, folder: Path | None) -> Iterator[str]:
    yield f"holder = {_text(other.holder)}"
    yield f"file = {_text(_place(other.path, folder))}"
    yield f"quasi_identifiers = {toml_value(other.quasi_identifiers)}"
    yield f"sensitive = {_text(other.sensitive)}"
    if other.spelling:
        pairs = [{"there": _meant(there), "here": _meant(here)} for there, here in other.spelling]
        yield f"spelling = {toml_value(pairs)}"
    if other.options:
        yield f"reading = {toml_value(_reading(other.options))}"


def _counts(counts: PublicCountsFile, folder: Path | None) -> Iterator[str]:
    yield f"name = {_text(counts.name)}"
    yield f"file = {_text(_place(counts.path, folder))}"
    yield f"count = {_text(counts.count)}"
    columns = [
        {"column": column, "holder": holder, "theirs": there}
        if holder
        else {"column": column, "ours": there}
        for column, holder, there in counts.columns
    ]
    yield f"columns = {toml_value(columns)}"
    if counts.options:
        yield f"reading = {toml_value(_reading(counts.options))}"


def _population(population: PopulationFile, folder: Path | None) -> Iterator[str]:
    yield f"file = {_text(_place(population.path, folder))}"
    yield f"columns = {toml_value(dict(population.columns))}"
    if population.options:
        yield f"reading = {toml_value(population.options)}"


def _place(file: str, folder: Path | None) -> str:
    """Return where a file is, seen from the folder of the rules where it lies inside."""
    path = Path(file)
    if folder is not None and path.is_relative_to(folder.absolute()):
        path = path.relative_to(folder.absolute())
    return path.as_posix()


def _meant(value: Value) -> Any:
    return {"missing": True} if value is None else value


def _recipient(recipient: Recipient) -> Iterator[str]:
    yield f"name = {_text(recipient.name)}"
    if recipient.note:
        yield f"note = {_text(recipient.note)}"
    if recipient.language is not None:
        yield f"language = {_text(recipient.language)}"
    if recipient.mark:
        yield f"mark = {recipient.mark}"
    if recipient.statements:
        yield "[recipients.levels]"
        yield from _assignments(recipient.statements)
    if recipient.view is not None:
        yield "[recipients.view]"
        yield f"k = {recipient.view.k}"
        if recipient.view.suppression:
            yield f"suppression = {_scalar(recipient.view.suppression)}"
        if recipient.view.cells:
            yield "cells = true"
        if recipient.view.levels:
            yield f"levels = {toml_value(dict(recipient.view.levels))}"


def _section(name: str, lines: Iterable[str], gap: bool = False) -> Iterator[str]:
    if gap:
        yield "\n"
    yield f"[{name}]\n"
    yield from (f"{line}\n" for line in lines)


def _assignments(values: Mapping[str, Any]) -> Iterator[str]:
    # TOML has no null: an option that is not set is left out.
    return (f"{_key(k)} = {toml_value(v)}" for k, v in values.items() if v is not None)


def toml_value(value: Any) -> str:
    """Return a plain value as TOML."""
    if isinstance(value, Mapping):
        inner = ", ".join(_assignments(value))
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return _array(toml_value(inner) for inner in value)
    return _scalar(value)


def _scalar(value: Value) -> str:
    return tomlkit.item(value).as_string()


def _array(items: Iterable[str]) -> str:
    listed = list(items)
    line = f"[{', '.join(listed)}]"
    if len(line) <= _WIDTH:
        return line
    return "[\n" + "".join(f"    {item},\n" for item in listed) + "]"


def _text(text: str) -> str:
    return _scalar(text)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)
