"""Codes whose characters are hidden one after another, as in postcodes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies.leaves import value_text
from sfumato.engine.generalization.hierarchies.recipe import TOP, Recipe
from sfumato.engine.generalization.hierarchies.settings import Settings
from sfumato.engine.generalization.hierarchies.tree import Label


class Side(StrEnum):
    """From which end characters are hidden."""

    RIGHT = "right"
    """The last characters go first: 12345, 1234*, 123**."""
    LEFT = "left"
    """The first characters go first: 12345, *2345, **345."""


@dataclass(frozen=True)
class Masking(Recipe):
    """Characters hidden from one end, more at each level.

    Parameters
    ----------
    hidden
        How many more characters each level hides than the one below. Above comes "*".
    side
        From which end.
    keep_length
        Whether every hidden character leaves a star, or all of them one star: then values of
        different lengths may meet.
    digits
        Zeros are put before shorter values up to this length, for postcodes read as numbers.

    Raises
    ------
    HierarchyError
        If a level hides nothing, or there is none.
    """

    kind: ClassVar[str] = "masking"

    hidden: tuple[int, ...] = (1, 1)
    side: Side = Side.RIGHT
    keep_length: bool = True
    digits: int = 0

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise HierarchyError(
                "A level of the hierarchy hides no character.",
                "Let each level hide one character or more.",
            )
        if not 0 <= self.digits <= 100:
            raise HierarchyError(
                "The values are to be filled up to {digits} characters.",
                "Choose a length from 0 to 100.",
                digits=self.digits,
            )

    def levels(self, column: str, values: Sequence[Value]) -> list[Sequence[Label]]:
        """Return the masked values at each level, then "*"."""
        del column
        texts = [value_text(value).zfill(self.digits) for value in values]
        masked: list[Sequence[Label]] = [
            [self._mask(text, count) for text in texts]
            for count in itertools.accumulate(self.hidden)
        ]
        return [*masked, [TOP] * len(values)]

    def _mask(self, text: str, count: int) -> str:
        kept = max(0, len(text) - count)
        stars = TOP * min(count, len(text)) if self.keep_length else TOP
        if self.side is Side.RIGHT:
            return (text[:kept] + stars) or TOP
        return (stars + text[len(text) - kept :]) or TOP

    def settings(self) -> dict[str, Any]:
        """Return the recipe's numbers."""
        return {
            "hidden": list(self.hidden),
            "side": self.side.value,
            "keep_length": self.keep_length,
            "digits": self.digits,
        }

    @classmethod
    def from_settings(cls, given: Settings) -> Self:
        """Return the recipe of plain values."""
        return cls(
            given.wholes("hidden", (1, 1)),
            given.choice("side", Side.RIGHT),
            given.flag("keep_length", True),
            given.whole("digits", 0),
        )
