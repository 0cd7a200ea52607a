"""Profiles of retention: how much of each value can be kept, and mechanisms that keep as much.

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

The profile p is solved for the limits once, and is the top of a ladder. The level is the retention
probability of the value that keeps most; divided by max p, it is the trust factor.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.core.wording import Sentence, formatted, listed
from sfumato.engine.ladders.base_mechanism import ProfileTop
from sfumato.engine.matrices.privacy import (
    check_retention,
    left_over,
    retention_for_gamma,
    whole_odds,
)
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.mechanisms.base import Byproduct, Fact, Origin, Settings, Statement
from sfumato.engine.mechanisms.categorical import CategoricalMechanism, numbers_of
from sfumato.engine.mechanisms.frequency_source import (
    Frequencies,
    left_for_levels,
    left_for_values,
    records_of,
)
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute, Attributes

_EQUAL = 1e-9
"""Retention probabilities that differ by no more are one."""


_TOLERATED = 1e-12
"""How far a stored profile may exceed its limits, by rounding."""


class BreachMode(StrEnum):
    """Which breaches the limits rule out."""

    PUBLISHED = "published"
    """Upward only: no released value multiplies the odds on value i by more than γ_i. This is
    the paper's constraint; its Theorem 1 claims the downward half as well, which fails."""
    STRICT = "strict"
    """Upward and downward: no released value divides the odds on value i by more than γ_i."""


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
    _check(frequencies, gammas)
    program = _Program(frequencies, gammas, mode)
    best = program.best_top()
    retention = np.empty(len(gammas))
    retention[program.order] = program.profile(*best)
    tightest = float(gammas.min())
    if np.isfinite(tightest) and np.ptp(retention) <= _EQUAL:
        # The uniform ladder is the special case, and agrees with it to the last bit.
        kept = retention_for_gamma(tightest, len(gammas))
        return Profile(np.full(len(gammas), kept), gammas, mode)
    return Profile(_rounded_down(retention, gammas, mode), gammas, mode)


def largest_level(kept: Floats, gamma: float) -> float:
    """Return the largest level whose matrix moves no odds by more than γ, by bisection.

    The worst odds ratio grows with the level, and is computed from the matrix's entries.
    """
    proportions = kept / kept.max()
    low, high = 0.0, 1.0
    if RetentionMatrix(proportions).gamma <= gamma:
        return high
    while np.nextafter(low, 1.0) < high and high - low > 1e-15 * high:
        middle = (low + high) / 2
        if RetentionMatrix(proportions * middle).gamma <= gamma:
            low = middle
        else:
            high = middle
    return low


def _check(frequencies: Floats, gammas: Floats) -> None:
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


def _rounded_down(retention: Floats, gammas: Floats, mode: BreachMode) -> Floats:
    """Lower p by single roundings until the recomputed constraints hold."""
    lowered = np.clip(retention, 0.0, 1.0)
    for _ in range(64):
        if (violations(lowered, gammas, mode) <= 0).all():
            break
        lowered = np.maximum(np.nextafter(lowered, -1.0), 0.0)
    return lowered


class _Program:
    """The program over values sorted by γ, with the sums that evaluate it quickly."""

    def __init__(self, frequencies: Floats, gammas: Floats, mode: BreachMode) -> None:
        # Among values with the same limit, the most frequent one comes last: if any of them
        # keeps most, it should be that one.
        self.order = np.lexsort((frequencies, gammas))
        self.weights = frequencies[self.order]
        self.gammas = gammas[self.order]
        self.rest = len(gammas) - 1
        self.mode = mode
        inverse = 1 / self.gammas
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
        inverse = 1 / self.gammas[top]
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

    def value(self, top: Integers, a: Floats) -> Floats:
        """Return Σ f_i·p_i for each pair of a top value and what it keeps; −inf if infeasible."""
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
        return np.where(a <= self.highest(top), total, -np.inf)

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
        low, high = np.zeros(len(tops)), self.highest(tops)
        golden = (np.sqrt(5) - 1) / 2
        for _ in range(45):
            left, right = high - golden * (high - low), low + golden * (high - low)
            rising = self.value(tops, left) < self.value(tops, right)
            low, high = np.where(rising, left, low), np.where(rising, high, right)
        reached = self.value(tops, (low + high) / 2)
        near = tops[reached >= reached.max() - 1e-7 * max(abs(float(reached.max())), 1e-12)]
        best, best_a, best_value = int(near[0]), 0.0, -np.inf
        for top in near[:64]:
            crossings = self.crossings(int(top))
            values = self.value(np.full(len(crossings), top), crossings)
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


class Limits(Protocol):
    """What a custodian has said about how far values may be revealed."""

    @property
    def mode(self) -> BreachMode:
        """Which breaches are ruled out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values."""


class ProfileMechanism(CategoricalMechanism):
    """A mechanism whose settings hold limits, and the profile that was solved for them."""

    completes_settings = True

    @abstractmethod
    def limits(self, settings: Settings) -> Limits:
        """Return the limits that settings state; raises `PolicyError` where they are none."""

    @abstractmethod
    def gammas(self, attributes: Attributes, settings: Settings, shares: Floats) -> Floats:
        """Return the bounds γ of limits, shape (m,), for frequencies of that shape."""

    @abstractmethod
    def frequencies(self, settings: Settings, records: int = 0) -> Frequencies:
        """Return what the profile is or was solved for."""

    def whole(self, attributes: Attributes) -> Attribute:
        """Return the one attribute whose values are kept or replaced."""
        return attributes[0]

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the optimal profile for the frequencies that were chosen.

        A profile that is there already stays: releases of one ladder share it, and next
        month's frequencies must not change it. Noisy counts that were drawn stay as well.
        Limits are solved for γ·e^(−ε0), so that profile and values together keep γ.

        Raises
        ------
        PolicyError, LevelError
            If the limits are not valid for the attributes.
        """
        if "profile" in settings:
            return settings
        names, limits = self.domain_of(attributes).names, self.limits(settings)
        whole = self.whole(attributes)
        chosen = self.frequencies(settings, records_of(whole)).drawn(whole, noise)
        shares = chosen.of(whole)
        gammas = left_for_values(names, self.gammas(attributes, settings, shares), chosen.cost)
        profile = solve(shares, gammas, limits.mode)
        if not profile.retention.max() > 0:
            raise LevelError(
                "The limits leave nothing of any value: every retention probability is 0.",
                "Loosen the tightest limits.",
            )
        kept = [float(p) for p in profile.retention]
        return {**limits.to_dict(), **chosen.to_dict(), "profile": kept}

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0 of the frequencies that the profile was solved for."""
        return self.frequencies(settings).cost

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return the retention probabilities, unless the table was not asked for them."""
        cost = self.byproduct_epsilon(settings)
        if cost == 0.0:
            return ()
        name = listed([attribute.name for attribute in attributes])
        what = Sentence("the retention probabilities of {name}", name=name)
        if math.isinf(cost):
            return (Byproduct(what, Origin.EXACT, exact_sentence(name)),)
        sentence = Sentence(
            "The retention probabilities of {name} follow from counts of the table with noise"
            " (ε0 = {epsilon:g}). The figures above include what they tell.",
            name=name,
            epsilon=cost,
        )
        return (Byproduct(what, Origin.NOISY, sentence),)

    def profile(self, attributes: Attributes, settings: Settings) -> Floats:
        """Return the profile p, shape (m,), that meets the limits at trust factor 1.

        Raises
        ------
        PolicyError
            If there is none, or it does not fit the domain.
        """
        size = self.domain_of(attributes).size
        try:
            kept = np.array(settings.get("profile", ()), dtype=np.float64)
        except (TypeError, ValueError):
            kept = np.zeros(0)
        sound = kept.shape == (size,) and bool(((kept >= 0) & (kept <= 1)).all())
        if not sound or not kept.max() > 0:
            raise PolicyError(
                "The profile of {columns} is not a list of {size}"
                " {size:probability|probabilities}, one for each value and one of them above 0.",
                "Solve the limits again.",
                columns=listed([attribute.name for attribute in attributes]),
                size=size,
            )
        return kept

    def solved(self, attributes: Attributes, settings: Settings) -> Profile:
        """Return the stored profile beside the limits that it was solved for, γ·e^(−ε0)."""
        chosen = self.frequencies(settings)
        gammas = self.gammas(attributes, settings, chosen.of(self.whole(attributes)))
        if math.isfinite(chosen.cost):
            gammas = np.array([left_over(float(gamma), chosen.cost) for gamma in gammas])
        return Profile(self.profile(attributes, settings), gammas, self.limits(settings).mode)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the highest retention probability that a statement means, rounded down.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or out of range.
        """
        numbers = numbers_of(statement)
        if numbers.keys() != {"trust_factor"}:
            return super().level(statement, attributes, settings)
        factor = float(numbers["trust_factor"])
        top = float(self.profile(attributes, settings).max())
        if not 0 <= factor * top <= 1 + _TOLERATED:
            raise LevelError(
                "The trust factor {factor} is out of range.",
                "Give a number from 0 to {highest}, at which what is kept most is always kept.",
                factor=factor,
                highest=formatted(1 / top, ".4g"),
            )
        return min(factor * top, 1.0)

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the highest level that keeps γ; raises `LevelError` where ε0 leaves nothing."""
        cost = self.byproduct_epsilon(settings)
        # Exact counts are counted nowhere: the promise says that it is not kept.
        left = gamma if math.isinf(cost) else left_for_levels(gamma, cost)
        return largest_level(self.profile(attributes, settings), left)

    def spent(self, level: float, settings: Settings) -> float:
        """Return ε0 of what a release at this level tells beside its values; at 0 it has none."""
        return 0.0 if level == 0.0 else self.byproduct_epsilon(settings)

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term; ρ2 for a ρ1 of `USUAL_RHO1`."""
        factor = level / float(self.profile(attributes, settings).max())
        restated = super().restate(level, attributes, settings)
        return {**restated, "trust_factor": {"trust_factor": factor}}

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> RetentionMatrix:
        """Return the fine-grain matrix of a level: diag(s·q) + (1/m)·1·(1 − s·q)ᵀ."""
        kept = self.profile(attributes, settings)
        return RetentionMatrix(kept / kept.max() * check_retention(level))

    def top(self, attributes: Attributes, settings: Settings) -> ProfileTop:
        """Return the best release of the ladder: what is kept most is always kept."""
        kept = self.profile(attributes, settings)
        return ProfileTop(kept / kept.max())

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return the proportions between the retention probabilities."""
        kept = self.profile(attributes, settings)
        return ([float(share).hex() for share in kept / kept.max()],)

    def odds_upward(self, level: float, attributes: Attributes, settings: Settings) -> Floats:
        """Return by how much all that a release tells raises the odds on each value, shape (m,)."""
        ratios, spent = (
            self.matrix(level, attributes, settings).worst_odds_ratios(),
            self.spent(level, settings),
        )
        return np.array([whole_odds(float(up), spent) for up in ratios.up])

    def limit_facts(
        self, level: float, attributes: Attributes, settings: Settings, exceeded: str
    ) -> tuple[Fact, ...]:
        """Return the trust factor, and how many limits a level exceeds, under a title."""
        solved = self.solved(attributes, settings)
        top = float(solved.retention.max())
        excess = violations(solved.retention / top * level, solved.gammas, solved.mode)
        return (
            Fact(
                "τ", "Trust factor", level / top, "1 meets the limits exactly; more exceeds them."
            ),
            Fact(
                "",
                exceeded,
                float((excess > _TOLERATED).sum()),
                "Recomputed from this release's retention probabilities.",
            ),
        )


def exact_sentence(name: str) -> Sentence:
    """Return what is promised where the profile was solved for exact counts: nothing."""
    return Sentence(
        "The retention probabilities of {name} were solved for the exact counts of the table and"
        " are published with every release: anyone who knows all other records can tell a"
        " person's {name} from them. Solve the limits again, with noisy counts.",
        name=name,
    )
