"""The distributions of true values that the paper's simulations begin with (its Fig. 4)."""

from __future__ import annotations

import numpy as np

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.matrices.matrix import Vector

PAPER_SIZE = 50
"""The paper's domain: 50 values."""

LARGEST_SIZE = 64
"""The counts of three releases have m⁴ cells: 134 MB at 64 values."""

_SPREAD = 6.0


def uniform_prior(size: int = PAPER_SIZE) -> Vector:
    """Return equal shares, shape (size,) (Fig. 4a)."""
    return np.full(size, 1.0 / size)


def gaussian_prior(size: int = PAPER_SIZE) -> Vector:
    """Return a bell in the middle of the domain, shape (size,) (Fig. 4b).

    The paper doesn't tell its width; here the domain spans six standard deviations.
    """
    places = np.arange(size) - (size - 1) / 2.0
    heights = np.exp(-0.5 * (places / (size / _SPREAD)) ** 2)
    return np.asarray(heights / heights.sum())


def check_prior(prior: Vector) -> Vector:
    """Return a prior as numbers that sum to 1.

    Raises
    ------
    PolicyError
        If the domain has fewer than 2 or more than `LARGEST_SIZE` values.
    """
    shares = np.asarray(prior, dtype=np.float64)
    if not 2 <= len(shares) <= LARGEST_SIZE:
        raise PolicyError(
            "The simulation needs a domain of 2 to {largest} values; this one has {size}.",
            "Choose another column, or group its values.",
            largest=LARGEST_SIZE,
            size=len(shares),
        )
    normal: Vector = shares / shares.sum()
    return normal
