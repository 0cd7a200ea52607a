"""Hierarchies as a table: each value with its path to the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies.leaves import value_text
from sfumato.engine.generalization.hierarchies.recipe import TOP, Recipe
from sfumato.engine.generalization.hierarchies.settings import Settings
from sfumato.engine.generalization.hierarchies.tree import Label


@dataclass(frozen=True)
class Taxonomy(Recipe):
    """A table that lists every value with its label at each level.

    It may list values that do not occur in the column.

    Parameters
    ----------
    rows
        For each value its text and its labels from level 1 up, all rows equally long. An empty
        text stands for a missing value; where it is not listed, missing is a class of its own
        up to the top.

    Raises
    ------
    HierarchyError
        If the table is empty, its rows differ in length, a value is listed twice or a label is
        empty.
    """

    kind: ClassVar[str] = "table"

    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.rows or len(self.rows[0]) < 2:
            raise HierarchyError(
                "The hierarchy's table has no levels.",
                "Give each value a row: the value, then its label at each level.",
            )
        seen: dict[str, int] = {}
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.rows[0]):
                raise HierarchyError(
                    "Row {row} of the hierarchy's table has {found} cells, and row 1 has"
                    " {expected}.",
                    "Give every value a label at each level.",
                    row=number,
                    found=len(row),
                    expected=len(self.rows[0]),
                )
            if row[0] in seen:
                raise HierarchyError(
                    "Rows {first} and {row} of the hierarchy's table list the same value.",
                    "Keep one of them.",
                    first=seen[row[0]],
                    row=number,
                )
            if not all(row[1:]):
                raise HierarchyError(
                    "Row {row} of the hierarchy's table has an empty label.",
                    "Give every value a label at each level, or '*' to hide it.",
                    row=number,
                )
            seen[row[0]] = number

    @cached_property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """Each value's labels from level 1 up, by its text."""
        return {row[0]: row[1:] for row in self.rows}

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the labels that the table lists for the values."""
        found = [self.paths.get(value_text(value)) for value in values]
        listed = [path for path in found if path is not None]
        if len(listed) < len(found):
            raise HierarchyError(
                "The hierarchy of column {column} does not list {count} of its {values} values.",
                "Add them to the hierarchy's table, each with its labels.",
                column=column,
                count=len(found) - len(listed),
                values=len(found),
            )
        return [list(level) for level in zip(*listed, strict=True)]

    def missing_path(self, height: int) -> list[Label]:
        """Return the row of a missing value, if there is one, else a class of its own."""
        del height
        listed = self.paths.get("")
        if listed is not None:
            return list(listed)
        own: list[Label] = [None] * (len(self.rows[0]) - 1)
        tops = {row[-1] for row in self.rows}
        return [*own[:-1], tops.pop() if len(tops) == 1 else None]

    def settings(self) -> dict[str, Any]:
        """Return the table."""
        return {"rows": [list(row) for row in self.rows]}

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return the recipe of plain values."""
        return cls(given.rows("rows"))


@dataclass(frozen=True)
class Suppression(Recipe):
    """The value, or nothing of it."""

    kind: ClassVar[str] = "suppression"

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return "*" for every value."""
        del column
        return [[TOP] * len(values)]

    def settings(self) -> dict[str, Any]:
        """Return nothing: there is nothing to set."""
        return {}

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return the recipe."""
        del given
        return cls()
