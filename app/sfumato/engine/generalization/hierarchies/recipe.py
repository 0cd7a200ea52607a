"""What a custodian decides about a hierarchy, before it meets the column's values.

A recipe's settings are the fields of its class. In files they are plain values, which are read with
errors that name the setting.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields
from enum import Enum, EnumType
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, get_args, get_origin, get_type_hints

from sfumato.engine.core.columns import MISSING_LABEL
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies.tree import Hierarchy, Label, value_text

_EXPECTED: Final[Mapping[Any, str]] = MappingProxyType(
    {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
        tuple[int, ...]: "a list of whole numbers",
        tuple[float, ...]: "a list of numbers",
        tuple[str, ...]: "a list of texts",
        tuple[tuple[str, ...], ...]: "a list of lists of texts",
        tuple[Mapping[str, Any], ...]: "a list of tables",
    }
)
"""What a setting of each type should be, in plain words."""


class Settings:
    """A recipe's plain values; each is taken once, and none may be left over.

    Parameters
    ----------
    values
        As they stand in a file.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._left = dict(values)

    def take(self, name: str, kind: Any, default: Any) -> Any:
        """Return a setting of a type: one of those above, or an enumeration of words.

        Raises
        ------
        HierarchyError
            If the value is of another type.
        """
        value = self._left.pop(name, default)
        if not _fits(value, kind):
            words = isinstance(kind, EnumType)
            raise HierarchyError(
                "The hierarchy's setting {setting} should be {expected}.",
                "Correct the setting.",
                setting=name,
                expected=f"one of {', '.join(kind)}" if words else _EXPECTED[kind],
            )
        return _made(value, kind)

    def finish(self) -> None:
        """Refuse a setting that nobody asked for."""
        for name in self._left:
            raise HierarchyError(
                "A hierarchy of this kind has no setting {setting}.",
                "Remove the setting, or choose the kind of hierarchy that has it.",
                setting=name,
            )


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return isinstance(value, list | tuple) and all(_fits(each, inner) for each in value)
    if isinstance(kind, EnumType):
        return value in list(kind)
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, int | float if kind is float else get_origin(kind) or kind)


def _made(value: Any, kind: Any) -> Any:
    if get_origin(kind) is tuple:
        return tuple(_made(each, get_args(kind)[0]) for each in value)
    return kind(value) if kind is float or isinstance(kind, EnumType) else value


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value


TOP: Final = "*"
"""The label of the one class that holds every value."""


@dataclass(frozen=True)
class Rename:
    """Another name for one class of a hierarchy.

    Parameters
    ----------
    level
        The class's level, from 1.
    made
        The name that the recipe gives it.
    shown
        The name that the custodian gives it.
    """

    level: int
    made: str = field(repr=False)
    shown: str = field(repr=False)


@dataclass(frozen=True)
class Recipe(ABC):
    """How the levels of a hierarchy are made from a column's values.

    A recipe is kept with the project; the hierarchy is made from it and the values anew.

    Parameters
    ----------
    renames
        Other names for some of the classes.
    """

    kind: ClassVar[str]
    """What the recipe is called in files."""
    by_value: ClassVar[bool] = True
    """Whether a value's labels are the same whichever other values the column has."""

    renames: tuple[Rename, ...] = field(default=(), repr=False, kw_only=True)

    @property
    def height(self) -> int:
        """How many levels there are above the values; "*" alone where nothing else is said."""
        return 1

    @abstractmethod
    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the labels of the levels 1, 2, …, each shape (m,).

        Parameters
        ----------
        column
            The column's name, for messages.
        values
            The ground values but for the missing one, in their natural order.

        Raises
        ------
        HierarchyError
            If the recipe does not fit the values.
        """

    @classmethod
    def own_fields(cls) -> Iterator[tuple[str, Any, Any]]:
        """Yield the name, the type and the default of each of the recipe's own settings."""
        yield from _fields_of(cls)

    def settings(self) -> dict[str, Any]:
        """Return what the recipe is made of as plain values, without its kind and renames.

        Empty lists are left out.
        """
        values = {name: getattr(self, name) for name, _, _ in self.own_fields()}
        return {name: _plain(value) for name, value in values.items() if value != ()}

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return a recipe from the plain values that `settings` returned."""
        return cls(*(given.take(name, kind, value) for name, kind, value in cls.own_fields()))

    def missing_path(self, height: int) -> list[Label]:
        """Return the labels of a missing value at the levels 1 … `height`.

        Missing is a class of its own, up to the level where everything is one class.
        """
        return [None] * (height - 1) + [TOP] if height else []

    def build(self, column: str, values: Sequence[Value]) -> Hierarchy:
        """Return the hierarchy that the recipe makes of a column's values.

        Parameters
        ----------
        column
            The column's name.
        values
            The ground values, shape (m,), as `ground_values` lists them.

        Raises
        ------
        HierarchyError
            If the recipe does not fit the values, or the result is not a tree.
        """
        present = [value for value in values if value is not None]
        made = self.levels(column, present) if present else [()] * self.height
        places = {value: place for place, value in enumerate(present)}
        missing = self.missing_path(len(made))
        ground: list[Label] = [None if value is None else value_text(value) for value in values]
        labels: list[tuple[Label, ...]] = [tuple(ground)]
        for level, (given, absent) in enumerate(zip(made, missing, strict=True), start=1):
            shown = {rename.made: rename.shown for rename in self.renames if rename.level == level}
            own = (absent if value is None else given[places[value]] for value in values)
            labels.append(
                tuple(label if label is None else shown.get(label, label) for label in own)
            )
        return Hierarchy(column, tuple(values), tuple(labels))

    def classes(self, column: str, values: Sequence[Value]) -> tuple[tuple[str, ...], ...]:
        """Return what each value's class is called at the levels 1 and up, missing values' too.

        Raises
        ------
        HierarchyError
            If the recipe does not fit the values, or the result is not a tree.
        """
        labels = self.build(column, values).labels[1:]
        return tuple(
            tuple(MISSING_LABEL if label is None else label for label in level) for level in labels
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain values, for the project's file."""
        listed = {
            "renames": [
                {"level": rename.level, "made": rename.made, "shown": rename.shown}
                for rename in self.renames
            ]
        }
        return {"kind": self.kind, **self.settings(), **(listed if self.renames else {})}


def read_renames(given: Settings) -> tuple[Rename, ...]:
    """Return the renames among a recipe's plain values.

    Raises
    ------
    HierarchyError
        If one is not complete, or would leave a class without a name.
    """
    renames = []
    for values in given.take("renames", tuple[Mapping[str, Any], ...], ()):
        inner = Settings(values)
        level = inner.take("level", int, 1)
        made, shown = inner.take("made", str, ""), inner.take("shown", str, "")
        inner.finish()
        if level < 1 or not shown:
            raise HierarchyError(
                "A class of level {level} is renamed to nothing, or stands for a value itself.",
                "Rename classes of level 1 or higher, and give each a name.",
                level=level,
            )
        renames.append(Rename(level, made, shown))
    return tuple(renames)


def distinct(labels: Sequence[str]) -> list[str]:
    """Return classes' labels with a number after those that came up before."""
    seen: dict[str, int] = {}
    found = []
    taken = set(labels)
    for label in labels:
        own, number = label, seen.get(label, 0) + 1
        if number > 1:
            own = f"{label} ({number})"
            while own in taken:
                number += 1
                own = f"{label} ({number})"
            taken.add(own)
        seen[label] = number
        found.append(own)
    return found


@cache
def _fields_of(kind: type[Recipe]) -> tuple[tuple[str, Any, Any], ...]:
    """Return the same as `Recipe.own_fields`; types are read from texts, which takes a while."""
    types, own = get_type_hints(kind), [each for each in fields(kind) if each.name != "renames"]
    return tuple((each.name, types[each.name], each.default) for each in own)
