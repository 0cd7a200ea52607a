"""The exact law of new levels between adopted releases, as the keyed ladder makes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from tests.engine.ladders.multi_pert import Law, chain_law


def stretch_law(
    levels: Sequence[Fraction],
    upper: tuple[Fraction, int],
    lower: tuple[Fraction, int],
    size: int,
) -> Law:
    """Return the joint law of levels between two known rungs, given from the highest down.

    The lowest replacement lies between two of the levels, or below or above all of them; what
    is above it goes down the ordinary ladder, and what is below shows the lower rung.
    """
    (u, a), (w, b) = upper, lower
    survival = w / u
    unmoved = survival / (survival + (1 - survival) / size) if a == b else Fraction(0)
    law: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    law[(a,) * len(levels)] += unmoved
    # Chances that the lowest replacement lies at a level or above it.
    reached = [(w / p - survival) / (1 - survival) for p in (u, *levels, w)]
    for place, (above, here) in enumerate(pairwise(reached)):
        # It lies at or above level number `place` and below the one before: the levels before
        # that number are free of it.
        chance = (1 - unmoved) * (here - above)
        free = chain_law([p / u for p in levels[:place]], a, size)
        for values, share in free.items():
            law[(*values, *(b,) * (len(levels) - place))] += chance * share
    return dict(law)


def adopted_law(
    new: Sequence[Fraction], adopted: Sequence[Fraction], original: int, size: int
) -> Law:
    """Return the joint law of adopted and new levels, all sorted from the highest down.

    The adopted releases are a ladder of their own making; the new levels are fitted to them.
    """
    everything = sorted((*new, *adopted), reverse=True)
    law: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for held, chance in chain_law(adopted, original, size).items():
        parts: dict[tuple[tuple[Fraction, int], ...], Fraction] = {(): chance}
        ends = [(Fraction(1), original), *zip(adopted, held, strict=True)]
        for upper, lower in pairwise(ends):
            inside = [p for p in new if lower[0] < p < upper[0]]
            parts = _joined(parts, inside, stretch_law(inside, upper, lower, size), lower)
        below = [p for p in new if p < ends[-1][0]]
        free = chain_law([p / ends[-1][0] for p in below], ends[-1][1], size)
        parts = _joined(parts, below, free, None)
        for shown, share in parts.items():
            known = dict(shown)
            law[tuple(known[p] for p in everything)] += share
    return dict(law)


def _joined(parts, levels, law, lower):
    """Put a stretch's levels, and its lower end, beside what is shown above."""
    return {
        (*shown, *zip(levels, values, strict=True), *((lower,) if lower else ())): chance * share
        for shown, chance in parts.items()
        for values, share in law.items()
    }
