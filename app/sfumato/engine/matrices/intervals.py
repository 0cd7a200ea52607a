"""Confidence intervals for estimated shares: one construction for every mechanism.

An interval holds the shares t that the estimate does not contradict: those with
(|F' - t| - c)² <= z²·V(t), where V(t) is the variance that the estimate has if t is the share
(Wilson 1927), and c is half of what one record can move the estimate by (a correction for
continuity; Newcombe 1998, method 4). An interval from the estimate's own standard error,
F' ± z·√V(F'), covers too rarely where few records are released, above all where a value is rare.
V is quadratic in t, so the ends are roots of a quadratic equation: recipients can compute them
with nothing but arithmetic, and do (app/sfumato/resources/recipient).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

VarianceLaw = Callable[[Vector], Vector]
"""The variances that estimated shares have, shape (m,), if these are the shares; quadratic in
each of them and independent of the others."""


class Quadratic(NamedTuple):
    """Variances V(t) = constant + linear·t + square·t² of m estimates, each shape (m,)."""

    constant: Vector
    linear: Vector
    square: Vector

    @classmethod
    def through(cls, law: VarianceLaw, size: int) -> Quadratic:
        """Return the quadratics that a law is, from its values at 0, 1/2 and 1."""
        none, half, all_of_it = (law(np.full(size, share)) for share in (0.0, 0.5, 1.0))
        square = 2.0 * (none + all_of_it - 2.0 * half)
        return cls(none, all_of_it - none - square, square)

    def at(self, shares: Vector) -> Vector:
        """Return V(t), shape (m,)."""
        value: Vector = self.constant + shares * (self.linear + shares * self.square)
        return value


def score_interval(
    estimates: Vector, variances: Quadratic, correction: Vector, factor: float
) -> tuple[Vector, Vector]:
    """Return the ends of the intervals, clipped to [0, 1].

    Parameters
    ----------
    estimates
        F', shape (m,).
    variances
        V(t).
    correction
        c, shape (m,); it is left out where V is 0, so that nothing is random.
    factor
        The normal quantile z.
    """
    square = factor * factor
    random = variances.at(np.full_like(estimates, 0.5)) > 1e-9 * correction**2
    reach = np.where(random, correction, 0.0)
    ends = []
    for side in (-1.0, 1.0):
        # (x - t)² = z²·V(t), with x the estimate moved by the correction.
        moved = estimates + side * reach
        scale = 1.0 - square * variances.square
        middle = moved + square * variances.linear / 2.0
        rest = moved * moved - square * variances.constant
        root = (middle + side * np.sqrt(np.maximum(middle * middle - scale * rest, 0.0))) / scale
        ends.append(np.minimum(root, moved) if side < 0 else np.maximum(root, moved))
    return np.clip(ends[0], 0.0, 1.0), np.clip(ends[1], 0.0, 1.0)
