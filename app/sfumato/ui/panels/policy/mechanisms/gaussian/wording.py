"""How the editor of noise writes numbers in an attribute's units."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.plots.numbers import amount
from sfumato.ui.panels.policy.wording import tr

MOST_NAMED = 3


def units(value: float) -> str:
    """Return a number of units with two or three digits that count."""
    return amount(value, 3 if abs(value) >= 10 else 2)


def listed(parts: Iterable[str]) -> str:
    """Return phrases as a list in a sentence; after a few, the rest is cut short."""
    all_parts = list(parts)
    if len(all_parts) > MOST_NAMED:
        return tr("{some} and so on", some=", ".join(all_parts[:MOST_NAMED]))
    *others, last = all_parts
    return tr("{others} and {last}", others=", ".join(others), last=last) if others else last
