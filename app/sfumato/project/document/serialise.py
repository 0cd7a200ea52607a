"""What is decided as plain JSON values, and back without loss.

A domain's values keep their types: JSON tells text, numbers, true/false and null apart, and
whole numbers from those with a point. Numbers that JSON lacks (infinities) are tagged. JSON can
hold a number where a text belongs, so what is read is compared with the types of the model once,
and nothing after that has to expect another type.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from sfumato.engine.core.columns import ColumnSpec, Domain, Value
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.hierarchies import Recipe, recipe_from_dict
from sfumato.project.document.generalization import CriterionChoice
from sfumato.project.document.model import Document
from sfumato.project.errors import DamagedProject

_LATER: Final = frozenset(
    (
        *("level_spacing", "hierarchies", "generalization", "rows_as_in_table", "mark"),
        "accepted",
        *("node", "suppression", "suppressed", "pinned", "others", "spelling", "options"),
        *("population", "sampling_fraction", "part", "coding", "pseudonym", "view"),
        *("unit", "by_unit", "language", "read_as"),
    )
)
"""The fields that files from earlier versions lack."""
_ONLY_IF_STATED: Final = frozenset(
    {"population", "sampling_fraction", "part", "coding", "pseudonym", "view", "unit"}
    | {"language", "read_as"}
)
_TAG: Final = "float"


def canonical_json(value: object) -> str:
    """Return the one JSON text for a value: sorted keys, no spaces, plain ASCII, no NaN.

    Raises
    ------
    ValueError
        If the value holds a number that JSON lacks.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def document_to_json(document: Document) -> str:
    """Return the document as one line of JSON."""
    return canonical_json(to_plain(document))


def document_from_json(text: str) -> Document:
    """Return the document that a JSON text describes.

    Raises
    ------
    DamagedProject
        If the text is not a document.
    """
    try:
        document: Document = from_plain(Document, json.loads(text))
    except (
        *(ValueError, KeyError, TypeError, AttributeError, IndexError),
        *(OverflowError, RecursionError, SfumatoError),
    ) as error:
        raise DamagedProject(
            "The project's document can't be read ({kind}).",
            "The file was damaged or changed; restore an earlier copy.",
            kind=type(error).__name__,
        ) from None
    return document


def to_plain(value: Any) -> Any:  # noqa: PLR0911 (one for each sort of value)
    """Return a value of the document as dictionaries, lists, texts and numbers."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: repr(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    if isinstance(value, Recipe):
        return to_plain(value.to_dict())
    if isinstance(value, CriterionChoice):
        return {"kind": value.kind, **to_plain(value.numbers)}
    if isinstance(value, Domain):
        # Pairs, because JSON's keys are texts and a value may be a number or missing.
        return {"values": to_plain(value.values), "labels": to_plain(tuple(value.labels.items()))}
    if is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        return {
            name: to_plain(inner)
            for name, inner in found.items()
            if inner is not None or name not in _ONLY_IF_STATED
        }
    return value


def from_plain(kind: Any, plain: Any) -> Any:  # noqa: PLR0911 (one for each sort of type)
    """Return the value of a type that `to_plain` made `plain` of.

    Raises
    ------
    TypeError, ValueError, KeyError
        If it is something else; the message names types and fields, never a value.
    SfumatoError
        If it can't be: a criterion that nobody knows, a domain with a value twice.
    """
    if kind is Any:
        return _untagged(plain)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(parts, plain)
    if origin is tuple:
        _check(plain, list | tuple)
        kinds = parts[:1] * len(plain) if parts[1:] == (...,) else parts
        return tuple(from_plain(one, inner) for one, inner in zip(kinds, plain, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        _check(plain, Mapping)
        return {from_plain(parts[0], k): from_plain(parts[1], v) for k, v in plain.items()}
    if kind is Recipe:
        return recipe_from_dict(_untagged(plain))
    if kind is CriterionChoice:
        numbers = {name: number for name, number in plain.items() if name != "kind"}
        return CriterionChoice(from_plain(str, plain["kind"]), _untagged(numbers))
    if kind is Domain:
        pairs = from_plain(tuple[tuple[Value, str], ...], plain["labels"])
        return Domain(from_plain(tuple[Value, ...], plain["values"]), dict(pairs))
    if is_dataclass(kind):
        return _from_fields(kind, plain)
    if issubclass(kind, Enum):
        return kind(plain)
    return _scalar(kind, plain)


def _from_fields(kind: Any, plain: Any) -> Any:
    _check(plain, Mapping)
    if kind is ColumnSpec and "from_rows" not in plain:
        # Nobody has confirmed the values of projects from before this was asked.
        stated = (plain["domain"], plain["binning"])
        plain = {**plain, "from_rows": stated != (None, None)}
    return kind(
        **{
            name: from_plain(wanted, plain[name])
            for name, wanted in _types_of(kind).items()
            if name in plain or name not in _LATER
        }
    )


def _one_of(kinds: tuple[Any, ...], plain: Any) -> Any:
    if type(plain) in kinds:
        return plain
    for kind in kinds:
        with suppress(TypeError):
            return from_plain(kind, plain)
    raise TypeError(f"{kinds} are expected, and there is {type(plain).__name__}")


def _scalar(kind: type, plain: Any) -> Any:
    """Return a number, a text or a truth value; JSON writes whole numbers without a point."""
    value = _untagged(plain)
    _check(value, float | int if kind is float else kind)
    if isinstance(value, bool) and kind is not bool:
        raise TypeError(f"{kind} is expected, and there is a truth value")
    return value


def _check(plain: Any, kind: Any) -> None:
    if not isinstance(plain, kind):
        raise TypeError(f"{kind} is expected, and there is {type(plain).__name__}")


@cache
def _types_of(kind: type) -> dict[str, Any]:
    """Return the type of each field of a dataclass."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _untagged(plain: Any) -> Any:
    """Return any JSON value with its tagged numbers as numbers."""
    if isinstance(plain, dict):
        if plain.keys() == {_TAG} and isinstance(plain[_TAG], str):
            return float(plain[_TAG])
        return {key: _untagged(inner) for key, inner in plain.items()}
    if isinstance(plain, list):
        return [_untagged(inner) for inner in plain]
    return plain
