"""Why values of a column are missing, as statistical programs tell it by codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.engine.core.values import Value

Range = tuple[Value, Value]
"""The lowest and the highest of codes that a file declares missing."""


@dataclass(frozen=True)
class MissingReasons:
    """Why values of one column are missing.

    Parameters
    ----------
    codes
        By what each reason is called, its code in the file: a number or a text that the file
        declares missing, or a letter of its own.
    labels
        The texts that the file gives the codes.
    ranges
        The codes declared missing; none where they are letters.
    counts
        How many records each reason stands in, most frequent first.
    companion
        The column that says why; empty where that was left out.
    """

    codes: Mapping[str, Value] = field(repr=False)
    labels: Mapping[Value, str] = field(repr=False)
    ranges: tuple[Range, ...] = field(default=(), repr=False)
    counts: Mapping[str, int] = field(default_factory=dict, repr=False)
    companion: str = ""

    @property
    def by_letters(self) -> bool:
        """Whether the codes are letters beside the values, as in Stata and SAS."""
        return not self.ranges


def companions(known: Mapping[str, MissingReasons]) -> dict[str, str]:
    """Return the column whose missing values each column of reasons explains."""
    return {each.companion: name for name, each in known.items() if each.companion}
