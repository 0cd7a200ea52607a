"""Values in an order, neighbours together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies.leaves import value_text
from sfumato.engine.generalization.hierarchies.recipe import TOP, Recipe, distinct
from sfumato.engine.generalization.hierarchies.settings import Settings
from sfumato.engine.generalization.hierarchies.tree import Label


@dataclass(frozen=True)
class Orders(Recipe):
    """Neighbours in an order are grouped, then neighbouring groups.

    Parameters
    ----------
    sizes
        How many values make a group at level 1, how many groups of level 1 one at level 2,
        and so on. Above them comes "*".
    order
        The values' texts in their order; values that are not listed follow naturally.

    Raises
    ------
    HierarchyError
        If a size is below 2, there is none, or the order lists a value twice.
    """

    kind: ClassVar[str] = "order"

    sizes: tuple[int, ...] = (2, 2)
    order: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 2:
            raise HierarchyError(
                "The groups of a level hold fewer than two members.",
                "Give each level a size of two or more.",
            )
        _refuse_repeated(self.order)

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the groups' labels, first to last member, at each level, then "*"."""
        del column
        ranked = _ranks(values, self.order)
        found: list[Sequence[Label]] = []
        merged = 1
        for size in self.sizes:
            merged *= size
            found.append(_grouped(values, ranked, [rank // merged for rank in range(len(values))]))
        return [*found, [TOP] * len(values)]

    def settings(self) -> dict[str, Any]:
        """Return the sizes, and the order where there is one."""
        order = {"order": list(self.order)} if self.order else {}
        return {"sizes": list(self.sizes), **order}

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return the recipe of plain values."""
        return cls(given.wholes("sizes", (2, 2)), given.texts("order"))


@dataclass(frozen=True)
class FourLevels(Recipe):
    """The values, four classes, two classes, one class.

    The form of the experiments in Cheong, Wu and Wong, "Non-centralized distinct l-diversity"
    (2012), section 6.1. Classes are runs of the order with as many values each as possible.

    Parameters
    ----------
    order
        The values' texts in their order; values that are not listed follow naturally.

    Raises
    ------
    HierarchyError
        If the order lists a value twice.
    """

    kind: ClassVar[str] = "four-levels"

    order: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        _refuse_repeated(self.order)

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the labels of four, two and one class."""
        del column
        ranked = _ranks(values, self.order)
        quarters = [4 * rank // len(values) for rank in range(len(values))]
        return [
            _grouped(values, ranked, quarters),
            _grouped(values, ranked, [quarter // 2 for quarter in quarters]),
            [TOP] * len(values),
        ]

    def settings(self) -> dict[str, Any]:
        """Return the order, where there is one."""
        return {"order": list(self.order)} if self.order else {}

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return the recipe of plain values."""
        return cls(given.texts("order"))


def _refuse_repeated(order: Sequence[str]) -> None:
    if len(set(order)) != len(order):
        raise HierarchyError("The order lists a value twice.", "List each value once.")


def _ranks(values: Sequence[Value], order: Sequence[str]) -> list[int]:
    """Return the values' positions, sorted: those listed first, the others as they come."""
    places = {text: place for place, text in enumerate(order)}
    keys = [places.get(value_text(value), len(places)) for value in values]
    return sorted(range(len(values)), key=lambda position: (keys[position], position))


def _grouped(values: Sequence[Value], ranked: Sequence[int], groups: Sequence[int]) -> list[str]:
    """Return each value's label, where the value at each rank belongs to a group."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for rank, group in enumerate(groups):
        first.setdefault(group, ranked[rank])
        last[group] = ranked[rank]
    made = [_span(value_text(values[first[g]]), value_text(values[last[g]])) for g in first]
    labels = dict(zip(first, distinct(made), strict=True))
    found = [""] * len(values)
    for rank, group in enumerate(groups):
        found[ranked[rank]] = labels[group]
    return found


def _span(low: str, high: str) -> str:
    # An empty text is a value like any other, but a class needs a name.
    return (low or "''") if low == high else f"{low or chr(39) * 2} – {high or chr(39) * 2}"
