"""What two noisy counts give away about a small group's distribution.

A query system that answers counts with Laplace noise of scale b = 1/λ is λ-differentially
private for one answer. Whoever asks for the size of a group (true answer o1) and for its records
with one sensitive value (o2) divides the answers: F' = o2'/o1' estimates f = o2/o1. Wang, Han
and Fu (2012), section 6.3, drew 100 such pairs for each group; here the chances are exact.

With W = ξ2 − t·ξ1 and D = t·o1 − o2, the ratio exceeds t when W > D, except where the noisy size
is negative and the comparison turns round; both parts have closed forms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.values import Codes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RatioTails:
    """How often the ratio of two noisy counts misses the truth by more than ε of it.

    Parameters
    ----------
    high, low
        Pr[(F' − f)/f > ε] and Pr[(F' − f)/f < −ε], shape (G,).
    """

    high: Floats
    low: Floats

    @property
    def within(self) -> Floats:
        """The attacker's confidence: Pr[|F' − f| <= ε·f], shape (G,)."""
        inside: Floats = np.clip(1.0 - self.high - self.low, 0.0, 1.0)
        return inside

    def violates(self, delta: float) -> npt.NDArray[np.bool_]:
        """Return which groups have a tail below δ, shape (G,)."""
        broken: npt.NDArray[np.bool_] = np.minimum(self.high, self.low) < delta
        return broken


def ratio_tails(
    sizes: npt.ArrayLike, counts: npt.ArrayLike, privacy_loss: float, epsilon: float
) -> RatioTails:
    """Return the exact tails of the ratio of two noisy counts.

    Parameters
    ----------
    sizes
        The groups' sizes o1, shape (G,), at least 1.
    counts
        Their records with the sensitive value, o2, shape (G,), from 1 to the size.
    privacy_loss
        λ, the privacy loss of one answer: its noise has the scale b = 1/λ.
    epsilon
        ε, the relative error in question, above 0 and at most 1.

    Raises
    ------
    LevelError
        If λ or ε is out of range.
    PolicyError
        If a count is not between 1 and its group's size.
    """
    check_loss(privacy_loss)
    check_error(epsilon)
    whole = np.asarray(sizes, dtype=np.float64)
    part = np.asarray(counts, dtype=np.float64)
    if whole.shape != part.shape or (part < 1.0).any() or (part > whole).any():
        raise PolicyError(
            "A group's count is not between 1 and its size.",
            "Count a sensitive value that occurs in the group.",
        )
    share = part / whole
    high = _exceeds(share * (1.0 + epsilon), whole, part, epsilon * part, privacy_loss)
    low = 1.0 - _exceeds(share * (1.0 - epsilon), whole, part, -epsilon * part, privacy_loss)
    return RatioTails(np.clip(high, 0.0, 1.0), np.clip(low, 0.0, 1.0))


def riskiest_groups(
    sizes: npt.NDArray[np.int64],
    largest: npt.NDArray[np.int64],
    smallest_size: int,
    count: int,
) -> npt.NDArray[np.int64]:
    """Return the groups with the largest share of one value, most skewed first.

    Parameters
    ----------
    sizes, largest
        Each group's size and how often its most frequent value occurs, shape (G,).
    smallest_size
        Groups of this size or below are left out.
    count
        How many groups to return at most.
    """
    candidates = np.flatnonzero(sizes > smallest_size)
    shares = largest[candidates] / sizes[candidates]
    # Equal shares: the larger group first, for its ratio is the more exact.
    order = np.lexsort((candidates, -sizes[candidates], -shares))
    chosen: npt.NDArray[np.int64] = candidates[order[:count]]
    return chosen


def shares_in_table(codes: Codes, values: npt.NDArray[np.int64], size: int) -> Floats:
    """Return the share in the whole table of each of some values, shape of `values`."""
    counts = np.bincount(codes, minlength=size)
    shares: Floats = counts[values] / counts.sum()
    return shares


def check_loss(privacy_loss: float) -> None:
    """Refuse a λ that is no privacy loss."""
    if not (np.isfinite(privacy_loss) and privacy_loss > 0.0):
        raise LevelError(
            "A privacy loss of {value} for one answer is out of range.",
            "Give a λ above 0, such as 0.1.",
            value=privacy_loss,
        )


def check_error(epsilon: float) -> None:
    """Refuse an ε at which the lower tail would have no meaning."""
    if not 0.0 < epsilon <= 1.0:
        raise LevelError(
            "A relative error of {value} is out of range.",
            "Give an ε above 0 and at most 1, such as 0.3 for 30 %.",
            value=epsilon,
        )


def _exceeds(limit: Floats, whole: Floats, part: Floats, distance: Floats, loss: float) -> Floats:
    """Return Pr[o2'/o1' > t], with D = t·o1 − o2 given without cancellation."""
    above = _difference_exceeds(limit, distance * loss)
    # A negative noisy size turns the comparison round: take those outcomes out, put in theirs.
    negative = 0.5 * np.exp(-whole * loss)
    both_low = 0.5 * np.exp(-(whole + part) * loss) / (1.0 + limit)
    chance: Floats = above - negative + both_low
    return chance


def _difference_exceeds(limit: Floats, distance: Floats) -> Floats:
    """Return Pr[ξ2 − t·ξ1 > d] for Laplace noises of scale 1 and t >= 0.

    It is (e^−d − t²·e^(−d/t))/(2 − 2t²) for d >= 0, written so that nothing cancels near t = 1
    and nothing overflows.
    """
    far = np.abs(distance)
    t = np.maximum(limit, 1e-12)  # a smaller share of ξ1 changes no digit
    power = 2.0 * np.log(t) + far * (t - 1.0) / t
    scale = np.where(np.abs(t - 1.0) < 1e-9, 1.0, np.abs(1.0 - t * t))
    front = np.where(t < 1.0, np.exp(-far), t * t * np.exp(-far / t))
    general = -front * np.expm1(-np.abs(power)) / scale
    equal = np.exp(-far) * (1.0 + far / 2.0)
    tail = 0.5 * np.where(np.abs(t - 1.0) < 1e-9, equal, general)
    chance: Floats = np.where(distance >= 0.0, tail, 1.0 - tail)
    return chance
