"""What a custodian decides about a hierarchy, before it meets the column's values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies.leaves import value_text
from sfumato.engine.generalization.hierarchies.settings import Settings
from sfumato.engine.generalization.hierarchies.tree import Hierarchy, Label

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

    renames: tuple[Rename, ...] = field(default=(), repr=False, kw_only=True)

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

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return what the recipe is made of as plain values, without its kind and renames."""

    @classmethod
    @abstractmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return a recipe from the plain values that `settings` returned."""

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
        made = self.levels(column, present) if present else []
        places = {value: place for place, value in enumerate(present)}
        missing = self.missing_path(len(made))
        if not present:
            made, missing = [()], [TOP]
        ground: list[Label] = [None if value is None else value_text(value) for value in values]
        labels: list[tuple[Label, ...]] = [tuple(ground)]
        for level, (given, absent) in enumerate(zip(made, missing, strict=True), start=1):
            shown = {rename.made: rename.shown for rename in self.renames if rename.level == level}
            own = (absent if value is None else given[places[value]] for value in values)
            labels.append(
                tuple(label if label is None else shown.get(label, label) for label in own)
            )
        return Hierarchy(column, tuple(values), tuple(labels))

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
    for inner in given.inner("renames"):
        level, made, shown = inner.whole("level", 1), inner.text("made"), inner.text("shown")
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
