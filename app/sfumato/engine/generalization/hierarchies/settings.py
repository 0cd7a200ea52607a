"""Reading a recipe's plain values, with errors that name the setting."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from sfumato.engine.core.errors import HierarchyError

Choice = TypeVar("Choice", bound=StrEnum)


class Settings:
    """A recipe's plain values; each is taken once, and none may be left over.

    Parameters
    ----------
    values
        As they stand in a file.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._left = dict(values)

    def whole(self, name: str, default: int) -> int:
        """Return a whole number."""
        value = self._left.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(name, "a whole number")
        return value

    def number(self, name: str, default: float) -> float:
        """Return a number."""
        value = self._left.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong(name, "a number")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """Return yes or no."""
        value = self._left.pop(name, default)
        if not isinstance(value, bool):
            raise _wrong(name, "true or false")
        return value

    def text(self, name: str, default: str = "") -> str:
        """Return a text."""
        value = self._left.pop(name, default)
        if not isinstance(value, str):
            raise _wrong(name, "a text")
        return value

    def choice(self, name: str, default: Choice) -> Choice:
        """Return one of a list of words."""
        value = self._left.pop(name, default.value)
        kind = type(default)
        if value not in [member.value for member in kind]:
            raise _wrong(name, f"one of {', '.join(member.value for member in kind)}")
        return kind(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; an empty one where there is none."""
        values = self._list(name)
        if not all(isinstance(value, str) for value in values):
            raise _wrong(name, "a list of texts")
        return tuple(values)

    def wholes(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return a list of whole numbers."""
        values = self._list(name, default)
        if any(isinstance(value, bool) or not isinstance(value, int) for value in values):
            raise _wrong(name, "a list of whole numbers")
        return tuple(values)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers; an empty one where there is none."""
        values = self._list(name)
        if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
            raise _wrong(name, "a list of numbers")
        return tuple(float(value) for value in values)

    def rows(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Return a list of lists of texts."""
        values = self._list(name)
        for row in values:
            if not isinstance(row, list | tuple) or not all(isinstance(c, str) for c in row):
                raise _wrong(name, "a list of lists of texts")
        return tuple(tuple(row) for row in values)

    def inner(self, name: str) -> list[Settings]:
        """Return a list of groups of settings."""
        values = self._list(name)
        if not all(isinstance(value, Mapping) for value in values):
            raise _wrong(name, "a list of tables")
        return [Settings(value) for value in values]

    def finish(self) -> None:
        """Refuse a setting that nobody asked for."""
        for name in self._left:
            raise HierarchyError(
                "A hierarchy of this kind has no setting {setting}.",
                "Remove the setting, or choose the kind of hierarchy that has it.",
                setting=name,
            )

    def _list(self, name: str, default: tuple[Any, ...] = ()) -> list[Any]:
        value = self._left.pop(name, default)
        if not isinstance(value, list | tuple):
            raise _wrong(name, "a list")
        return list(value)


def _wrong(name: str, expected: str) -> HierarchyError:
    return HierarchyError(
        "The hierarchy's setting {setting} should be {expected}.",
        "Mend the setting.",
        setting=name,
        expected=expected,
    )
