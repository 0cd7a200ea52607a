"""How sensitive a value can be, in words: limits to start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.ui.panels.policy.mechanisms.per_value.draft import EMPTY, Pair
from sfumato.ui.panels.policy.wording import tr


@dataclass(frozen=True)
class SensitivityClass:
    """A class of values with the limits it means.

    Parameters
    ----------
    name
        In plain words.
    pair
        ρ1 and ρ2, as texts.
    sentence
        What they say.
    """

    name: str
    pair: Pair
    sentence: str


def classes() -> tuple[SensitivityClass, ...]:
    """Return the classes, the most sensitive first."""
    return (
        SensitivityClass(
            tr("Very sensitive"), ("0.1", "0.15"), tr("A belief of 10\u202f% stays below 15\u202f%")
        ),
        SensitivityClass(
            tr("Sensitive"), ("0.1", "0.3"), tr("A belief of 10\u202f% stays below 30\u202f%")
        ),
        SensitivityClass(
            tr("Ordinary"), ("0.1", "0.6"), tr("A belief of 10\u202f% stays below 60\u202f%")
        ),
        SensitivityClass(
            tr("Not sensitive"), ("0.1", "0.95"), tr("A belief of 10\u202f% stays below 95\u202f%")
        ),
    )


def by_rarity(
    frequencies: npt.NDArray[np.float64], rare: float, uncommon: float
) -> dict[int, Pair]:
    """Return limits that are the tighter the rarer a value is, by position.

    Parameters
    ----------
    frequencies
        The values' shares, shape (m,).
    rare, uncommon
        Values below these shares are very sensitive, or sensitive; the others are ordinary.
    """
    very, sensitive, ordinary, _ = (each.pair for each in classes())
    return {
        place: very if share < rare else sensitive if share < uncommon else ordinary
        for place, share in enumerate(frequencies)
    }


def unlimited() -> SensitivityClass:
    """Return what takes a value's own limits away."""
    return SensitivityClass(tr("By the rule"), EMPTY, tr("No limits of its own"))
