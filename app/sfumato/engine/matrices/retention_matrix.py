"""Matrices that keep a value with its own probability and otherwise replace it uniformly.

P = diag(p) + (1/m)·1·(1 − p)ᵀ: the uniform ladder has one retention probability p for all
values (Xiao, Tao and Chen, VLDB 2009, equation 1), fine-grain perturbation one for each
(Chaytor, Wang and Brantingham, 2010, equation 1). A diagonal plus rank one, so a domain of
20,000 values costs 20,000 numbers and never m × m.

A combination of several attributes' values is kept and replaced in the same way, so what happens
to one of the attributes follows from vectors over the combinations as well. `member` is each
combination's value of the attribute that is asked about, shape (m,).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import EstimationError, LevelError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Indices
from sfumato.engine.matrices.matrix import (
    MOST_FORBIDDING,
    NEARLY_SINGULAR,
    DenseMatrix,
    ForbiddingEntry,
    GarblingTest,
    OddsRatios,
    PerturbationMatrix,
    Square,
    Vector,
)
from sfumato.engine.matrices.privacy import epsilon_of_gamma

_ROUNDING = 1e-12
"""Entries of a candidate channel down to minus this are rounding dust."""

_SMALLEST = 1e-30
"""Smaller retention probabilities are taken for 0: they change no digit of any entry, and their
inverse squares have no place among the numbers."""


def uniform_matrix(retention: float, size: int) -> RetentionMatrix:
    """Return the matrix of the uniform ladder at a level.

    Raises
    ------
    LevelError
        If the retention probability is not in [0, 1].
    PolicyError
        If the domain has fewer than two values.
    """
    return RetentionMatrix(np.full(size, retention))


def uniform_epsilon(retention: float, size: int) -> float:
    """Return ε of the uniform ladder's matrix at a level without making it, to the last digit."""
    kept = retention if retention >= _SMALLEST else 0.0
    other = (1.0 - kept) / size
    return epsilon_of_gamma((kept + other) / other) if other > 0.0 else np.inf


class RetentionMatrix(PerturbationMatrix):
    """Value i is kept with probability p_i and otherwise replaced by any of the m values.

    Parameters
    ----------
    retention
        The retention probabilities p, shape (m,), m >= 2.

    Raises
    ------
    LevelError
        If a probability is not in [0, 1].
    PolicyError
        If there are fewer than two values.
    """

    def __init__(self, retention: Vector) -> None:
        kept = np.array(retention, dtype=np.float64)
        if kept.ndim != 1 or kept.size < 2:
            raise PolicyError(
                "A perturbation matrix needs a domain of at least two values.",
                "Add the values that could occur to the domain.",
            )
        outside = ~((kept >= 0.0) & (kept <= 1.0))
        if outside.any():
            raise LevelError(
                "The retention probability of value {entry} is not between 0 and 1.",
                "Give a number from 0 (nothing is kept) to 1 (everything is kept).",
                entry=int(outside.argmax()) + 1,
            )
        kept[kept < _SMALLEST] = 0.0
        kept.flags.writeable = False
        self._retention: Vector = kept
        self._other: Vector = (1.0 - kept) / kept.size
        self._self: Vector = kept + self._other

    def __repr__(self) -> str:
        low, high = float(self._retention.min()), float(self._retention.max())
        return f"RetentionMatrix(m={self.size}, p={low:g}..{high:g})"

    @property
    def size(self) -> int:
        """The number of values, m."""
        return int(self._retention.size)

    @property
    def retention(self) -> Vector:
        """The retention probabilities p, shape (m,), read-only."""
        return self._retention

    @property
    def replacement(self) -> Vector:
        """The chance that each value is released as a certain other: (1 − p)/m, shape (m,)."""
        return self._other.copy()

    @property
    def diagonal(self) -> Vector:
        """The chance that each value is released as itself: p + (1 − p)/m, shape (m,)."""
        return self._self.copy()

    def row(self, released: int) -> Vector:
        """Return Pr[released | original] for every original value, shape (m,)."""
        row = self._other.copy()
        row[released] = self._self[released]
        return row

    def column(self, original: int) -> Vector:
        """Return Pr[released | original] for every released value, shape (m,)."""
        column = np.full(self.size, self._other[original])
        column[original] = self._self[original]
        return column

    def block(self, released: Indices, original: Indices) -> Square:
        """Return the entries of some rows and columns, shape (rows, columns)."""
        same = np.asarray(released)[:, None] == np.asarray(original)[None, :]
        return np.where(same, self._self[original], self._other[original])

    def apply(self, frequencies: Vector) -> Vector:
        """Return P·f, shape (m,)."""
        shares = np.asarray(frequencies, dtype=np.float64)
        return self._retention * shares + float(self._other @ shares)

    def apply_transposed(self, weights: Vector) -> Vector:
        """Return Pᵀ·w, shape (m,)."""
        given = np.asarray(weights, dtype=np.float64)
        return self._retention * given + self._other * float(given.sum())

    def solve(self, observed: Vector) -> Vector:
        """Return P⁻¹·o in O(m) by Sherman and Morrison; one p_i may be 0, not two."""
        seen = np.asarray(observed, dtype=np.float64)
        never = self._never_kept()
        if never is None:
            replaced = self._replaced_shares()
            return (seen - float(replaced @ seen)) / self._retention
        # What is released of a value that is never kept is exactly the replaced share.
        others = self._retention > 0.0
        answer = np.zeros(self.size)
        answer[others] = (seen[others] - seen[never]) / self._retention[others]
        answer[never] = seen.sum() - answer.sum()
        return answer

    @property
    def untold(self) -> Indices:
        """The values that are as good as never kept, where they are more than one."""
        never = np.flatnonzero(self._retention < NEARLY_SINGULAR)
        return never if len(never) > 1 else never[:0]

    def solve_transposed(self, scores: Vector) -> Vector:
        """Return P⁻ᵀ·s in O(m), shape (m,)."""
        given = np.asarray(scores, dtype=np.float64)
        never = self._never_kept()
        if never is None:
            weighed = given / self._retention
            return weighed - self._replaced_shares() * float(weighed.sum())
        others = self._retention > 0.0
        answer = np.full(self.size, given[never])
        weighed = (given[others] - given[never]) / self._retention[others]
        answer[others] += weighed
        answer[never] -= float(weighed.sum())
        return answer

    def apply_squared_inverse(self, weights: Vector) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·w_j in O(m), shape (m,)."""
        given = np.asarray(weights, dtype=np.float64)
        never = self._never_kept()
        if never is None:
            # (P⁻¹)_ij = (δ_ij − v_j)/p_i with v the replaced shares.
            v = self._replaced_shares()
            spread = given - 2.0 * v * given + float((v * v) @ given)
            return spread / self._retention**2
        others = self._retention > 0.0
        inverse = 1.0 / self._retention[others]
        answer = np.zeros(self.size)
        answer[others] = (given[others] + given[never]) * inverse**2
        answer[never] = float((1.0 - inverse) ** 2 @ given[others])
        answer[never] += (1.0 + inverse.sum()) ** 2 * given[never]
        return answer

    def own_second_moments(self) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·P_ji in O(m), shape (m,)."""
        never = self._never_kept()
        if never is None:
            v = self._replaced_shares()
            others = float(v @ v) - v * v
            answer: Vector = (1.0 - v) ** 2 * self._self + others * self._other
            return answer / self._retention**2
        kept = self._retention > 0.0
        inverse = 1.0 / self._retention[kept]
        answer = np.zeros(self.size)
        answer[kept] = (self._self[kept] + self._other[kept]) * inverse**2
        answer[never] = float(((1.0 - inverse) ** 2).sum() + (1.0 + inverse.sum()) ** 2)
        answer[never] /= self.size
        return answer

    def inverse_ranges(self) -> Vector:
        """Return max_j − min_j of (P⁻¹)_ij in O(m), shape (m,)."""
        never = self._never_kept()
        if never is None:
            v = self._replaced_shares()
            return (1.0 - v + largest_of_others(v)) / self._retention
        kept = self._retention > 0.0
        inverse = 1.0 / self._retention[kept]
        ranges = np.zeros(self.size)
        ranges[kept] = 2.0 * inverse
        ranges[never] = float(inverse.sum() + inverse.max())
        return ranges

    def worst_odds_ratios(self) -> OddsRatios:
        """Return how far the release can move the odds on each value, from the entries.

        A value's odds rise most when it is released itself and the alternative believed in is
        the value that is least often replaced; they fall most when another value is released
        that shows itself most often.
        """
        least_other = largest_of_others(-self._other)
        most_self = largest_of_others(self._self)
        with np.errstate(divide="ignore"):
            up = self._self / -least_other
        return OddsRatios(up=up, down=self._other / most_self)

    def worst_odds_ratio(self) -> float:
        """Return γ; `worst_odds_ratios` tells why."""
        with np.errstate(divide="ignore"):
            return float((self._self / -largest_of_others(-self._other)).max())

    def test_garbling_of(self, upper: PerturbationMatrix) -> GarblingTest:
        """Examine whether this release can be made from `upper`'s alone, in O(m)."""
        self._check_same_size(upper)
        if not isinstance(upper, RetentionMatrix):
            return DenseMatrix(self.dense()).test_garbling_of(upper)
        channel = _candidate_channel(upper.retention, self.retention)
        return GarblingTest(holds=False) if channel is None else channel.test()

    def _channel_to(self, lower: PerturbationMatrix) -> PerturbationMatrix:
        if not isinstance(lower, RetentionMatrix):
            return DenseMatrix(self.dense()).garbling_to(lower)
        if self._retention.min() > 0.0:
            ratios = np.minimum(lower.retention / self._retention, 1.0)
            if ratios.max() - ratios.min() <= _ROUNDING:
                return RetentionMatrix(ratios)
        elif self._retention.max() == 0.0:
            return RetentionMatrix(np.zeros(self.size))
        channel = _candidate_channel(self.retention, lower.retention)
        if channel is None:
            raise AssertionError("the channel was tested before")
        columns = np.column_stack([channel.column(place) for place in range(self.size)])
        return DenseMatrix(np.maximum(columns, 0.0) / np.maximum(columns, 0.0).sum(axis=0))

    def _replaced_shares(self) -> Vector:
        """Return v with v·o = the mean of (1 − p)·f over the domain, for every o = P·f."""
        odds = (1.0 - self._retention) / self._retention
        return odds / (self.size + odds.sum())

    def _never_kept(self) -> int | None:
        """Return the one value with p_i = 0, or None; two make P singular."""
        if len(never := self.untold):
            listed = ", ".join(str(place + 1) for place in never[:5])
            raise EstimationError(
                "The release can't tell {count} {count:value|values} of the domain apart"
                " ({entries}): {count:it is|they are} replaced at random, always or nearly so.",
                "Choose a retention probability above 0 for all of them but one.",
                count=len(never),
                entries=f"{listed}, …" if len(never) > 5 else listed,
            )
        zero = np.flatnonzero(self._retention == 0.0)
        return int(zero[0]) if len(zero) else None


def largest_of_others(numbers: Vector) -> Vector:
    """Return, for each place, the largest number at the other places, shape (m,)."""
    first = int(numbers.argmax())
    beside = [part.max() for part in (numbers[:first], numbers[first + 1 :]) if part.size]
    others = np.full(numbers.size, numbers[first])
    others[first] = max(beside)
    return others


@dataclass(frozen=True)
class _CandidateChannel:
    """The only G with P_lower = G·P_upper, up to what P_upper can't tell apart.

    With u the uniform distribution and g = G·u, column j of G is
    ratio_j·e_j + shift_j·1 − pull_j·g where p_upper,j > 0. Where it is 0 the upper release
    shows only u, so those columns are free but for their sum; they share the rest m·g equally.
    """

    ratio: Vector
    shift: Vector
    pull: Vector
    uniform: Vector
    never: Indices

    def column(self, place: int) -> Vector:
        """Return one column, shape (m,)."""
        if self.ratio[place] < 0.0:
            return self._rest()
        column: Vector = self.shift[place] - self.pull[place] * self.uniform
        column[place] += self.ratio[place]
        return column

    def test(self) -> GarblingTest:
        """Find the smallest entries; each column's are on its diagonal and at the largest g."""
        kept = np.flatnonzero(self.ratio >= 0.0)
        diagonal = self.ratio + self.shift - self.pull * self.uniform
        by_size = np.argsort(-self.uniform, kind="stable")
        row = np.where(kept == by_size[0], by_size[1], by_size[0])
        beside = self.shift[kept] - self.pull[kept] * self.uniform[row]
        found = [
            *zip(row, kept, beside, strict=True),
            *zip(kept, kept, diagonal[kept], strict=True),
        ]
        if len(self.never):
            rest = self._rest()
            found.extend((i, self.never[0], value) for i, value in enumerate(rest))
        bad = sorted((entry for entry in found if entry[2] < -_ROUNDING), key=lambda e: e[2])
        forbidding = tuple(
            ForbiddingEntry(int(i), int(j), float(value)) for i, j, value in bad[:MOST_FORBIDDING]
        )
        return GarblingTest(not forbidding, forbidding)

    def _rest(self) -> Vector:
        kept = self.ratio >= 0.0
        used = np.where(kept, self.ratio, 0.0) + self.shift[kept].sum()
        used = used - self.pull[kept].sum() * self.uniform
        return (self.uniform * self.uniform.size - used) / len(self.never)


def _candidate_channel(upper: Vector, lower: Vector) -> _CandidateChannel | None:
    """Return the candidate channel between two retention vectors; None where there is none."""
    size = upper.size
    never = np.flatnonzero(upper == 0.0)
    if len(never) > 1 and lower[never].any():
        return None
    kept = np.where(upper > 0.0, upper, 1.0)
    ratio = np.where(upper > 0.0, lower / kept, -1.0)
    shift = (1.0 - lower) / (size * kept)
    pull = (1.0 - upper) / kept
    if len(never):
        uniform = np.full(size, (1.0 - lower[never[0]]) / size)
        uniform[never[0]] += lower[never[0]]
    else:
        uniform = (ratio / size + shift.mean()) / (1.0 + pull.mean())
    return _CandidateChannel(ratio, shift, pull, uniform, never)


Places = npt.NDArray[np.integer]


def sums_by_member(numbers: Vector, member: Places) -> Vector:
    """Return the sum over the combinations of each value of the attribute, shape (k,)."""
    return np.bincount(member, numbers).astype(np.float64)


def odds_of_member(matrix: RetentionMatrix, member: Places) -> OddsRatios:
    """Return how far a release can move the odds on each value, for any belief about all of them.

    With S the combinations that have a value, its odds rise most when one of S is released that
    shows itself most often, against the combination outside S that is least often replaced; they
    fall most the other way round.

    Returns
    -------
    OddsRatios
        Shape (k,) for the k values of the attribute.
    """
    size = int(member.max()) + 1
    most, least = np.zeros(size), np.full(size, np.inf)
    np.maximum.at(most, member, matrix.diagonal)
    np.minimum.at(least, member, _replaced(matrix))
    with np.errstate(divide="ignore"):
        up = most / -largest_of_others(-least)
    return OddsRatios(up=up, down=least / largest_of_others(most))


def matrix_of_member(matrix: RetentionMatrix, shares: Vector, member: Places) -> RetentionMatrix:
    """Return the matrix of the attribute's values alone, for somebody who looks at no other.

    A value is kept as often as its combinations are on average; what replaces it is even over its
    domain, since every value is in as many combinations.

    Parameters
    ----------
    shares
        The share of each combination, shape (m,).
    """
    size = int(member.max()) + 1
    weight = np.bincount(member, shares, minlength=size)
    # A value that does not occur is taken with all its combinations alike.
    known = weight > 0.0
    kept = np.bincount(member, shares * matrix.retention, minlength=size)
    evenly = np.bincount(member, matrix.retention, minlength=size) * size / matrix.size
    return RetentionMatrix(
        np.clip(np.where(known, kept / np.where(known, weight, 1), evenly), 0, 1)
    )


def likelihood_of_member(
    matrix: RetentionMatrix, shares: Vector, member: Places
) -> tuple[Vector, Vector]:
    """Return Pr[released combination | value] as two vectors, by the law of the combinations.

    It is the first, shape (k,), for any value, plus the second, shape (m,), for the value that the
    released combination itself has.
    """
    weight = sums_by_member(shares, member)[member]
    within = np.where(weight > 0.0, shares / np.where(weight > 0.0, weight, 1.0), 0.0)
    return sums_by_member(within * _replaced(matrix), member), within * matrix.retention


def _replaced(matrix: RetentionMatrix) -> Vector:
    return (1.0 - matrix.retention) / matrix.size
