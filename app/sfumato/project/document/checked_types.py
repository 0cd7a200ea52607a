"""Whether values that were read from a file have the types that their dataclasses state.

JSON can hold a number where a text belongs, or a text where there should be a list. A document is
therefore compared with the types of its model once, when it is opened, and nothing after that
has to expect another type.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

_PLAIN: Final = (str, int, float, bool, type(None))
"""What needs no second look; most of a document is of these."""


def check_types(value: object, expected: Any) -> None:
    """Compare a value with a type, and so with the types of all that it holds.

    Raises
    ------
    TypeError
        If they differ; it names types alone, never a value.
    """
    if not _fits(value, expected):
        raise TypeError(f"{expected} is expected, and there is {type(value).__name__}")
    if is_dataclass(value) and not isinstance(value, type):
        for name, wanted in _types_of(type(value)).items():
            check_types(getattr(value, name), wanted)


def _fits(value: object, expected: Any) -> bool:
    if expected is Any:
        return True
    origin, parts = get_origin(expected), get_args(expected)
    if origin is None:
        return _is_a(value, expected)
    if origin in (Union, types.UnionType):
        return any(_holds(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(value, parts)
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _holds(key, parts[0]) and _holds(inner, parts[1]) for key, inner in value.items()
        )
    return isinstance(value, origin)


def _fits_tuple(value: tuple[object, ...], parts: tuple[Any, ...]) -> bool:
    if parts[1:] == (...,):
        return all(_holds(inner, parts[0]) for inner in value)
    return len(value) == len(parts) and all(map(_holds, value, parts))


def _is_a(value: object, kind: type) -> bool:
    if kind is float:  # JSON writes whole numbers without a point
        return isinstance(value, float | int) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _holds(value: object, expected: Any) -> bool:
    if type(value) is expected and expected in _PLAIN:
        return True
    try:
        check_types(value, expected)
    except TypeError:
        return False
    return True


@cache
def _types_of(kind: type) -> dict[str, Any]:
    """Return the type of each field of a dataclass."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
