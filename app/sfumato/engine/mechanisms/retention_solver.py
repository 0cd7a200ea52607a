"""The profile of retention that keeps most records within the limits of all values.

A fine-grain matrix keeps value i with retention probability p_i and otherwise replaces it
uniformly. Each value has a bound γ_i > 1 on how far a release may move the odds on it, and the
profile p maximizes the share of records that keep their value (Chaytor, Wang and Brantingham,
2010, Fig. 3). Two readings of "move the odds" are offered, see `BreachMode`.

The program has m(m−1) constraints, but it needs no linear-program solver. Fix which value k
keeps most and how much, a. Every other value is then bounded by three curves only: it keeps no
more than k, no more than k's own limit leaves over, and no more than its own limit allows
beside a. The second and the third fall in a, so the objective is concave and piecewise linear
in a, and its maximum lies where two of the curves cross. For a fixed a, the values whose own
limit binds are those with the smallest γ, so prefix sums over sorted γ evaluate one crossing
in O(log m).
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.matrices.privacy import retention_for_gamma

_EQUAL = 1e-9
"""Retention probabilities that differ by no more are one."""


class BreachMode(StrEnum):
    """Which breaches the limits rule out."""

    PUBLISHED = "published"
    """Upward only: no released value multiplies the odds on value i by more than γ_i. This is
    the paper's constraint; its Theorem 1 claims the downward half as well, which fails."""
    STRICT = "strict"
    """Upward and downward: no released value divides the odds on value i by more than γ_i."""


class Objective(StrEnum):
    """What the profile is best at, within the limits."""

    COUNTS = "counts"
    """The least error of estimated shares; see `sfumato.engine.mechanisms.count_solver`."""
    VALUES = "values"
    """Most records kept, as in the paper."""


@dataclass(frozen=True)
class Profile:
    """The retention probabilities of a fine-grain matrix, and what they were made for.

    Parameters
    ----------
    retention
        p, shape (m,), each in [0, 1].
    gammas
        The limits γ, shape (m,), infinite where there is none.
    mode
        Which breaches the limits rule out.
    """

    retention: Floats
    gammas: Floats
    mode: BreachMode

    def record_utility(self, frequencies: Floats) -> float:
        """Return Σ f_i·(p_i + (1 − p_i)/m), the expected share of unchanged records."""
        size = len(self.retention)
        kept = self.retention + (1 - self.retention) / size
        return float(frequencies @ kept)


def violations(retention: Floats, gammas: Floats, mode: BreachMode) -> Floats:
    """Return for each value by how much its tightest constraint is exceeded, divided by γ_i.

    The constraints are (m−1)·p_i + γ_i·p_j ≤ γ_i − 1 and, in strict mode, its mirror
    (m−1)·p_j + γ_i·p_i ≤ γ_i − 1, for every j ≠ i. Only the largest other p_j matters. A value
    without a limit can't be violated.
    """
    size = len(retention)
    if size < 2:
        raise LevelError("A domain of one value has nothing to hide.", "Add a second value.")
    order = np.argsort(retention)
    top, second = retention[order[-1]], retention[order[-2]]
    other = np.full(size, top)
    other[order[-1]] = second
    inverse = 1 / gammas
    excess = (size - 1) * retention * inverse + other - (1 - inverse)
    if mode is BreachMode.STRICT:
        mirror = (size - 1) * other * inverse + retention - (1 - inverse)
        excess = np.maximum(excess, mirror)
    return np.where(np.isinf(gammas), -np.inf, excess)


def solve(frequencies: Floats, gammas: Floats, mode: BreachMode) -> Profile:
    """Return the profile that keeps most records within the limits.

    Parameters
    ----------
    frequencies
        The values' shares, shape (m,).
    gammas
        The limits, shape (m,), each above 1 or infinite.
    mode
        Which breaches are ruled out.

    Raises
    ------
    LevelError
        If the shapes differ, there are fewer than two values, or a limit is not above 1.
    """
    check_limits(frequencies, gammas)
    program = ProfileProgram(frequencies, gammas, mode)
    best = program.best_top()
    retention = np.empty(len(gammas))
    retention[program.order] = program.profile(*best)
    tightest = float(gammas.min())
    if np.isfinite(tightest) and np.ptp(retention) <= _EQUAL:
        # The uniform ladder is the special case, and agrees with it to the last bit.
        kept = retention_for_gamma(tightest, len(gammas))
        return Profile(np.full(len(gammas), kept), gammas, mode)
    return Profile(rounded_down(retention, gammas, mode), gammas, mode)


def check_limits(frequencies: Floats, gammas: Floats) -> None:
    """Raise `LevelError` where shares and limits don't fit together, or a limit is none."""
    if len(gammas) < 2:
        raise LevelError("A domain of one value has nothing to hide.", "Add a second value.")
    if len(frequencies) != len(gammas):
        raise LevelError(
            "There are {limits} {limits:limit|limits} for {values} {values:value|values}.",
            "Give one limit for each value of the domain.",
            limits=len(gammas),
            values=len(frequencies),
        )
    wrong = ~(gammas > 1)
    if wrong.any():
        raise LevelError(
            "The limit γ of value number {number} is not above 1.",
            "Raise it above 1, or remove it.",
            number=int(wrong.argmax()) + 1,
        )


def rounded_down(retention: Floats, gammas: Floats, mode: BreachMode) -> Floats:
    """Lower p by single roundings until the recomputed constraints hold."""
    lowered = np.clip(retention, 0.0, 1.0)
    for _ in range(64):
        if (violations(lowered, gammas, mode) <= 0).all():
            break
        lowered = np.maximum(np.nextafter(lowered, -1.0), 0.0)
    return lowered


class ProfileProgram:
    """The program over values sorted by γ, with the sums that evaluate it quickly."""

    def __init__(self, frequencies: Floats, gammas: Floats, mode: BreachMode) -> None:
        # Among values with the same limit, the most frequent one comes last: if any of them
        # keeps most, it should be that one.
        self.order = np.lexsort((frequencies, gammas))
        self.weights = frequencies[self.order]
        self.gammas = gammas[self.order]
        self.rest = len(gammas) - 1
        self.mode = mode
        self.inverses = inverse = 1 / self.gammas
        finite = np.isfinite(self.gammas)
        # Value i's own limit beside the top a: p_i ≤ constant_i − slope_i·a. In strict mode the
        # downward limit is the tighter one exactly when γ_i < m − 1.
        with np.errstate(invalid="ignore"):
            self.constants = np.where(finite, (self.gammas - 1) / self.rest, np.inf)
            self.slopes = np.where(finite, self.gammas / self.rest, 0.0)
        if mode is BreachMode.STRICT:
            downward = self.gammas < self.rest
            self.constants = np.where(downward, 1 - inverse, self.constants)
            self.slopes = np.where(downward, self.rest * inverse, self.slopes)
        bound = np.where(finite, self.weights, 0.0)
        with np.errstate(invalid="ignore"):
            constants = np.where(finite, bound * self.constants, 0.0)
        self.sum_weights = np.concatenate(([0.0], np.cumsum(self.weights)))
        self.sum_constants = np.concatenate(([0.0], np.cumsum(constants)))
        self.sum_slopes = np.concatenate(([0.0], np.cumsum(bound * self.slopes)))
        self.finite_count = int(finite.sum())

    def shared(self, top: Integers, a: Floats) -> Floats:
        """Return b, what the others may keep at most beside value `top` keeping `a`."""
        inverse = self.inverses[top]
        left = 1 - inverse - self.rest * a * inverse
        if self.mode is BreachMode.STRICT:
            with np.errstate(invalid="ignore"):
                mirror = (self.gammas[top] * (1 - a) - 1) / self.rest
            left = np.minimum(left, np.where(np.isinf(self.gammas[top]), np.inf, mirror))
        return np.minimum(a, left)

    def bound_count(self, a: Floats, b: Floats) -> Integers:
        """Return how many of the smallest limits bind below `b`, by bisection."""
        low = np.zeros(len(a), dtype=np.int64)
        high = np.full(len(a), self.finite_count, dtype=np.int64)
        while (low < high).any():
            middle = (low + high) // 2
            index = np.minimum(middle, self.rest)
            binds = (self.constants[index] - self.slopes[index] * a < b) & (low < high)
            low, high = (
                np.where(binds, middle + 1, low),
                np.where(binds, high, np.where(low < high, middle, high)),
            )
        return low

    def value(self, top: Integers, a: Floats, highest: Floats) -> Floats:
        """Return Σ f_i·p_i for each pair of a top value and what it keeps; −inf if infeasible.

        `highest` is what `highest` returns for these values.
        """
        b = self.shared(top, a)
        count = self.bound_count(a, b)
        inside = top < count
        own = np.where(inside, self.constants[top] - self.slopes[top] * a, b)
        others = (
            self.sum_constants[count]
            - self.sum_slopes[count] * a
            + (self.sum_weights[-1] - self.sum_weights[count]) * b
        )
        total = others + self.weights[top] * (a - own)
        return np.where(a <= highest, total, -np.inf)

    def highest(self, top: Integers) -> Floats:
        """Return the largest a at which every other value can still keep nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(np.isinf(self.constants), 1.0, self.constants / self.slopes)
        lowest = np.where(top == 0, reach[1], reach[0])
        inverse = 1 / self.gammas[top]
        with np.errstate(divide="ignore"):
            alone = np.where(inverse > 0, (1 - inverse) / (self.rest * inverse), 1.0)
        if self.mode is BreachMode.STRICT:
            alone = np.minimum(alone, 1 - inverse)
        return np.minimum(np.minimum(lowest, alone), 1.0)

    def best_top(self) -> tuple[int, float]:
        """Return the top value and what it keeps at the optimum.

        A golden-section search over a, for all top values at once, finds the best top; its
        exact a is then the best of the points at which two curves cross.
        """
        tops = np.flatnonzero(
            np.append(self.gammas[1:] != self.gammas[:-1], True)  # the last of each run of γ
        )
        highest = self.highest(tops)
        low, high = np.zeros(len(tops)), highest
        twice, highest_twice = np.tile(tops, 2), np.tile(highest, 2)
        golden = (np.sqrt(5) - 1) / 2
        for _ in range(45):
            left, right = high - golden * (high - low), low + golden * (high - low)
            both = self.value(twice, np.concatenate([left, right]), highest_twice)
            rising = both[: len(tops)] < both[len(tops) :]
            low, high = np.where(rising, left, low), np.where(rising, high, right)
        reached = self.value(tops, (low + high) / 2, highest)
        near = tops[reached >= reached.max() - 1e-7 * max(abs(float(reached.max())), 1e-12)]
        best, best_a, best_value = int(near[0]), 0.0, -np.inf
        for top in near[:64]:
            crossings = self.crossings(int(top))
            values = self.value(np.full(len(crossings), top), crossings, self.highest(top))
            winner = int(values.argmax())
            if values[winner] > best_value:
                best, best_a, best_value = int(top), float(crossings[winner]), values[winner]
        return best, best_a

    def crossings(self, top: int) -> Floats:
        """Return every a at which two of the curves for `top` cross, and the highest one."""
        constants = self.constants[: self.finite_count]
        slopes = self.slopes[: self.finite_count]
        inverse = 1 / self.gammas[top]
        lines = [(0.0, 1.0), (1 - inverse, -self.rest * inverse)]
        if self.mode is BreachMode.STRICT and inverse > 0:
            lines.append(((1 / inverse - 1) / self.rest, -1 / (inverse * self.rest)))
        found = [self.highest(np.array([top]))]
        with np.errstate(divide="ignore", invalid="ignore"):
            for constant, slope in lines:
                found.append((constants - constant) / (slopes + slope))
            for i, (constant, slope) in enumerate(lines):
                for other, steep in lines[:i]:
                    found.append(np.array([(constant - other) / (steep - slope)]))
        every = np.concatenate(found)
        limit = found[0][0]
        return np.unique(every[np.isfinite(every) & (every >= 0) & (every <= limit)])

    def profile(self, top: int, a: float) -> Floats:
        """Return p in sorted order for a top value that keeps `a`."""
        shared = self.shared(np.array([top]), np.array([a]))[0]
        retention = np.minimum(shared, self.constants - self.slopes * a)
        retention[top] = a
        return np.maximum(retention, 0.0)
