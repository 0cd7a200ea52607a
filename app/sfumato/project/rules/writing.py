"""Writing a document's rules as TOML that people read and edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import tomlkit

from sfumato.engine.core.columns import ColumnSpec, Domain, Pseudonym, Value
from sfumato.project.document.generalization import Generalization, OtherTableFile, PopulationFile
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.document.serialise import to_plain

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
# people; spelling says which of our values (here) theirs (there) are.
"""
_UNIT: Final = """
# Which rows belong together (a person's visits, a household's members): the columns that name the
# unit, how many of its rows are released at most, and which sensitive columns are the same in all
# of them, so that they are drawn once.
"""
_POLICY: Final = """
# The mechanism for each sensitive column, or for several jointly.
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
        parts += [_READING, *_section("reading", _assignments(document.source.options))]
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
    if document.recipients:
        parts.append(_RECIPIENTS)
    for number, recipient in enumerate(document.recipients):
        parts += _section("[recipients]", _recipient(recipient), number > 0)
    return "".join(parts)


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


def _column(column: ColumnSpec) -> Iterator[str]:
    yield f"role = {_text(column.role.value)}"
    yield f"kind = {_text(column.kind.value)}"
    yield f"missing = {_text(column.missing.value)}"
    if column.binning is not None:
        yield f"bin_edges = {_array(_edge(edge) for edge in column.binning.edges)}"
        if column.binning.labels:
            yield f"bin_labels = {_value(column.binning.labels)}"
    if column.coding is not None:
        coding = column.coding
        for key, number in zip(CODING_KEYS, (coding.bottom, coding.top, coding.step), strict=True):
            if number is not None:
                yield f"{key} = {_edge(number)}"
    if column.pseudonym is not None:
        yield f"pseudonym = {_value(sharing(column.pseudonym))}"
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
            given = _MISSING if value is None else f"value = {_value(value)}"
            yield f"{{ {given}, label = {_text(label)} }}"
        else:
            yield f"{{ {_MISSING} }}" if value is None else _value(value)


def _edge(edge: float) -> str:
    """Return an edge without a needless point: it is read as a number either way."""
    return _scalar(int(edge) if edge.is_integer() and abs(edge) < 1e15 else edge)


def _entry(entry: PolicyEntry) -> Iterator[str]:
    yield f"attributes = {_value(entry.attributes)}"
    yield f"mechanism = {_text(entry.mechanism)}"
    if entry.settings:
        yield f"settings = {_value(entry.settings)}"


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


def _decided(decided: Generalization) -> Iterator[str]:
    names = decided.quasi_identifiers
    yield f"sensitive = {_text(decided.sensitive)}"
    yield f"quasi_identifiers = {_value(names)}"
    criteria = [{"kind": choice.kind, **choice.numbers} for choice in decided.criteria]
    yield f"criteria = {_value(criteria)}"
    if decided.suppression:
        yield f"suppression = {_scalar(decided.suppression)}"
    yield f"suppressed = {_text(decided.suppressed.value)}"
    if decided.sampling_fraction is not None:
        yield f"sampling_fraction = {_scalar(decided.sampling_fraction)}"
    if decided.pinned:
        pinned = [dict(zip(names, node, strict=True)) for node in decided.pinned]
        yield f"pinned = {_value(pinned)}"


def _other(other: OtherTableFile, folder: Path | None) -> Iterator[str]:
    yield f"holder = {_text(other.holder)}"
    yield f"file = {_text(_place(other.path, folder))}"
    yield f"quasi_identifiers = {_value(other.quasi_identifiers)}"
    yield f"sensitive = {_text(other.sensitive)}"
    if other.spelling:
        pairs = [{"there": _meant(there), "here": _meant(here)} for there, here in other.spelling]
        yield f"spelling = {_value(pairs)}"
    if other.options:
        yield f"reading = {_value(other.options)}"


def _population(population: PopulationFile, folder: Path | None) -> Iterator[str]:
    yield f"file = {_text(_place(population.path, folder))}"
    yield f"columns = {_value(dict(population.columns))}"
    if population.options:
        yield f"reading = {_value(population.options)}"


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
        if recipient.view.levels:
            yield f"levels = {_value(dict(recipient.view.levels))}"


def _section(name: str, lines: Iterable[str], gap: bool = False) -> Iterator[str]:
    if gap:
        yield "\n"
    yield f"[{name}]\n"
    yield from (f"{line}\n" for line in lines)


def _assignments(values: Mapping[str, Any]) -> Iterator[str]:
    # TOML has no null: an option that is not set is left out.
    return (f"{_key(k)} = {_value(v)}" for k, v in values.items() if v is not None)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(_assignments(value))
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return _array(_value(inner) for inner in value)
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
