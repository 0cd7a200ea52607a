"""Writing a document's rules as TOML that people read and edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import tomlkit

from app.engine.columns import ColumnSpec, Domain, Value
from app.project.model import Document, PolicyEntry, Recipient

FORMAT: Final = 1
"""The version of the rules format."""

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
#   role     identifying (dropped), quasi-identifier, sensitive (perturbed) or insensitive
#   kind     categorical, numeric, date or text
#   missing  value (missing is a value of its own) or refused
#   values   all that a column can hold, whether they occur or not
"""
_POLICY: Final = """
# The mechanism for each sensitive column, or for several jointly.
"""
_RECIPIENTS: Final = """
# Who gets a release, and how far each of them is trusted with each entry of the policy.
"""


def rules_of(document: Document) -> str:
    """Return a document's rules as TOML.

    The order is always the same, so that two versions can be compared. The source table's
    place and digest are not in it, and nothing secret is.
    """
    parts = [_HEAD, "".join(f"{line}\n" for line in _general(document))]
    if document.source is not None and document.source.options:
        parts += [_READING, *_section("reading", _assignments(document.source.options))]
    if document.columns:
        parts.append(_COLUMNS)
    for number, column in enumerate(document.columns):
        parts += _section(f"columns.{_key(column.name)}", _column(column), number > 0)
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


def _column(column: ColumnSpec) -> Iterator[str]:
    yield f"role = {_text(column.role.value)}"
    yield f"kind = {_text(column.kind.value)}"
    yield f"missing = {_text(column.missing.value)}"
    if column.binning is not None:
        yield f"bin_edges = {_array(_edge(edge) for edge in column.binning.edges)}"
        if column.binning.labels:
            yield f"bin_labels = {_value(column.binning.labels)}"
    if column.domain is not None:
        yield f"values = {_array(_domain_values(column.domain))}"


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


def _recipient(recipient: Recipient) -> Iterator[str]:
    yield f"name = {_text(recipient.name)}"
    if recipient.note:
        yield f"note = {_text(recipient.note)}"
    if recipient.statements:
        yield "[recipients.levels]"
        yield from _assignments(recipient.statements)


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
