"""Multi-level uniform perturbation as its paper has it, in exact fractions.

Xiao, Tao and Chen, "Optimal random perturbation at multiple privacy levels", VLDB 2009:
figure 3 and equations 3 and 4. Values are numbered from 0; the original is always value 0 of
a symmetric domain unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import TypeVar

Law = dict[tuple[int, ...], Fraction]
"""The probability of each combination of released values, in the order of the levels."""


_Number = TypeVar("_Number", float, Fraction)
"""Floats, or exact fractions."""


def coin(
    p: _Number, upper: _Number, lower: _Number, same: bool, size: int
) -> tuple[_Number, _Number]:
    """Return how likely a coin shows heads (the upper value) and tails (the lower one).

    Otherwise it shows a value drawn evenly from the domain. Equations 3 (u) and 4 (v).

    Parameters
    ----------
    p, upper, lower
        Retention probabilities, ``lower < p < upper``.
    same
        Whether the neighbours show the same value.
    size
        The number of values in the domain, s in the paper.
    """
    if same:
        head = p / upper
        tail = (1 - head) * (1 - (1 - lower / p) / ((size - 1) * lower / upper + 1))
    else:
        head = (p - lower) / (upper - lower)
        tail = lower * (upper - p) / (p * (upper - lower))
    return head, tail


def new_value(p: Fraction, known: dict[Fraction, int], original: int, size: int) -> list[Fraction]:
    """Return the law of a record's value at a new level, given its values at known ones."""
    above = min((level for level in known if level > p), default=Fraction(1))
    upper = known.get(above, original)
    lower = max((level for level in known if level < p), default=None)
    if lower is None:
        head, tail = p / above, Fraction(0)
    else:
        head, tail = coin(p, above, lower, upper == known[lower], size)
    law = [(1 - head - tail) / size] * size
    law[upper] += head
    if lower is not None:
        law[known[lower]] += tail
    return law


def joint_law(arrivals: Sequence[Fraction], original: int, size: int) -> Law:
    """Return the joint law of all releases, their levels sorted from the highest down."""
    law: dict[tuple[tuple[Fraction, int], ...], Fraction] = {(): Fraction(1)}
    for p in arrivals:
        law = {
            (*known, (p, value)): chance * new
            for known, chance in law.items()
            for value, new in enumerate(new_value(p, dict(known), original, size))
        }
    return {
        tuple(value for _, value in sorted(known, reverse=True)): chance
        for known, chance in law.items()
    }


def chain_law(levels: Sequence[Fraction], original: int, size: int) -> Law:
    """Return the joint law of the ladder at some levels, given from the highest down."""
    law: Law = {}
    for values in product(range(size), repeat=len(levels)):
        chance, level, value = Fraction(1), Fraction(1), original
        for next_level, next_value in zip(levels, values, strict=True):
            survival = next_level / level
            chance *= (1 - survival) / size + (survival if next_value == value else 0)
            level, value = next_level, next_value
        law[values] = chance
    return law
