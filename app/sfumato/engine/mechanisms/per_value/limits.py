"""Privacy limits of each value, as a custodian states them, and the bounds γ they mean.

`solve` finds how much of each value can be kept within its limits. A fine-grain matrix keeps value
i with retention probability p_i and otherwise replaces it uniformly. Each value has a bound γ_i >
1 on how far a release may move the odds on it, and the profile p maximizes the share of records
that keep their value (Chaytor, Wang and Brantingham, 2010, Fig. 3). Two readings of "move the
odds" are offered, see `BreachMode`.

The program has m(m−1) constraints, but it needs no linear-program solver. Fix which value k
keeps most and how much, a. Every other value is then bounded by three curves only: it keeps no
more than k, no more than k's own limit leaves over, and no more than its own limit allows
beside a. The second and the third fall in a, so the objective is concave and piecewise linear
in a, and its maximum lies where two of the curves cross. For a fixed a, the values whose own
limit binds are those with the smallest γ, so prefix sums over sorted γ evaluate one crossing
in O(log m).

`utility_curve` compares what fine-grain and uniform perturbation keep, over the tolerance θ. The
experiment of Chaytor, Wang and Brantingham 2010, section V (Fig. 5): limits by the
tolerance rule, record utility of the optimal fine-grain profile and of the uniform matrix for
the tightest limit, and aggregate utility of frequencies estimated from repeated draws, by the
inverse matrix and by iterative Bayesian reconstruction.

The draws come from the ladders themselves under a key that everyone knows: nothing here is
released, and the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.values import count_codes, is_number, smallest_unsigned
from sfumato.engine.core.wording import Sentence
from sfumato.engine.ladders.base_mechanism import ProfileTop, release_below
from sfumato.engine.matrices.estimate import UtilityPoint, utility_of
from sfumato.engine.matrices.privacy import gamma_for_rho, retention_for_gamma
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position

Floats = npt.NDArray[np.float64]


_EQUAL = 1e-9
"""Retention probabilities that differ by no more are one."""


class BreachMode(StrEnum):
    """Which breaches the limits rule out."""

    PUBLISHED = "published"
    """Upward only: no released value multiplies the odds on value i by more than γ_i. This is
    the paper's constraint; its Theorem 1 claims the downward half as well, which fails."""
    STRICT = "strict"
    """Upward and downward: no released value divides the odds on value i by more than γ_i."""


def gammas_by_tolerance(frequencies: Floats, theta: float) -> Floats:
    """Return γ_i for ρ1i = f_i and ρ2i = θ·f_i, infinite where f_i ≥ 1/θ (section V).

    Parameters
    ----------
    frequencies
        The values' shares, shape (m,). A value that does not occur gets the limit of f → 0,
        which is θ.
    theta
        How many times as likely a value may become, above 1.

    Raises
    ------
    LevelError
        If θ is not above 1.
    """
    if not (np.isfinite(theta) and theta > 1):
        raise LevelError("The tolerance θ must be above 1.", "Give a factor such as 2 or 5.")
    free = frequencies * theta >= 1
    bounded = np.where(free, 0.0, frequencies)
    return np.where(free, np.inf, theta * (1 - bounded) / (1 - theta * bounded))


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


@dataclass(frozen=True)
class Binding:
    """Limits of one tightness that hold retention probabilities down.

    Parameters
    ----------
    values
        The values that have them, by their places in the domain.
    held
        The other values that they hold down, by their places.
    gamma
        The bound γ that they share.
    kept, kept_if_looser
        The expected share of unchanged records now, and at γ·`LOOSER` for these limits alone.
    """

    values: tuple[int, ...]
    held: tuple[int, ...]
    gamma: float
    kept: float
    kept_if_looser: float


LOOSER = 1.5
"""By how much a limit's γ is raised to see what that would gain."""
_TIGHT = 1e-9
_MOST_TRIED = 8


def binding_limits(profile: Profile, frequencies: Floats) -> tuple[Binding, ...]:
    """Return which limits hold retention probabilities down, those that cost most first.

    A limit binds where one of its constraints holds with equality: then it holds down the value
    itself, and every value that stands beside it in such a constraint. What it costs is found by
    solving again with a looser one. At most `_MOST_TRIED` degrees of tightness are tried, the
    tightest first.

    Parameters
    ----------
    profile
        Retention probabilities at the optimum, with their limits.
    frequencies
        The shares for which they were found, shape (m,).
    """
    gammas, kept, size = profile.gammas, profile.retention, len(profile.gammas)
    tight = violations(kept, gammas, profile.mode) >= -_TIGHT
    now = profile.record_utility(frequencies)
    found = []
    for gamma in np.unique(gammas[tight])[:_MOST_TRIED]:
        values = np.flatnonzero(gammas == gamma)
        held = np.zeros(size, dtype=np.bool_)
        for value in values[tight[values]]:
            allowed = (gamma - 1.0) * (1.0 - _TIGHT)
            beside = (size - 1) * kept[value] + gamma * kept >= allowed
            if profile.mode is BreachMode.STRICT:
                beside |= (size - 1) * kept + gamma * kept[value] >= allowed
            beside[value] = False
            held |= beside
        held[values] = False
        looser = solve(frequencies, np.where(gammas == gamma, gamma * LOOSER, gammas), profile.mode)
        then = looser.record_utility(frequencies)
        if then > now + _TIGHT:
            others = tuple(np.flatnonzero(held).tolist())
            found.append(Binding(tuple(values.tolist()), others, float(gamma), now, then))
    return tuple(sorted(found, key=lambda each: -each.kept_if_looser))


def _check(frequencies: Floats, gammas: Floats) -> None:
    if len(gammas) < 2:
        raise LevelError("A domain of one value has nothing to hide.", "Add a second value.")
    if len(frequencies) != len(gammas):
        raise LevelError(
            "There are {limits} limits for {values} values.",
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

    def shared(self, top: npt.NDArray[np.int64], a: Floats) -> Floats:
        """Return b, what the others may keep at most beside value `top` keeping `a`."""
        inverse = 1 / self.gammas[top]
        left = 1 - inverse - self.rest * a * inverse
        if self.mode is BreachMode.STRICT:
            with np.errstate(invalid="ignore"):
                mirror = (self.gammas[top] * (1 - a) - 1) / self.rest
            left = np.minimum(left, np.where(np.isinf(self.gammas[top]), np.inf, mirror))
        return np.minimum(a, left)

    def bound_count(self, a: Floats, b: Floats) -> npt.NDArray[np.int64]:
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

    def value(self, top: npt.NDArray[np.int64], a: Floats) -> Floats:
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
        reachable: Floats = np.where(a <= self.highest(top), total, -np.inf)
        return reachable

    def highest(self, top: npt.NDArray[np.int64]) -> Floats:
        """Return the largest a at which every other value can still keep nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(np.isinf(self.constants), 1.0, self.constants / self.slopes)
        lowest = np.where(top == 0, reach[1], reach[0])
        inverse = 1 / self.gammas[top]
        with np.errstate(divide="ignore"):
            alone = np.where(inverse > 0, (1 - inverse) / (self.rest * inverse), 1.0)
        if self.mode is BreachMode.STRICT:
            alone = np.minimum(alone, 1 - inverse)
        highest: Floats = np.minimum(np.minimum(lowest, alone), 1.0)
        return highest

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
        positive: Floats = np.maximum(retention, 0.0)
        return positive


@dataclass(frozen=True)
class Limit:
    """One statement about one value: a belief of at most ρ1 must not rise above ρ2.

    Parameters
    ----------
    value
        The value's name in the domain.
    rho1, rho2
        The limits, 0 < ρ1 < ρ2 < 1.
    """

    value: str
    rho1: float
    rho2: float


@dataclass(frozen=True)
class PrivacyLimits:
    """All that a custodian has said about how far values may be revealed.

    Parameters
    ----------
    mode
        Which breaches are ruled out.
    theta
        The tolerance: a value without limits of its own gets ρ1 = f and ρ2 = θ·f. None where
        such values have no limit.
    stated
        Limits of single values. A value may have several, for different background knowledge;
        the tightest one counts (Chaytor et al. 2010, section IV).
    """

    mode: BreachMode = BreachMode.STRICT
    theta: float | None = None
    stated: tuple[Limit, ...] = ()

    def gammas(self, domain: Domain, frequencies: Floats) -> Floats:
        """Return each value's bound γ, shape (m,), infinite where it has none.

        Raises
        ------
        LevelError
            If a limit is out of range, naming the value.
        PolicyError
            If a limit is for a value that the domain does not have.
        """
        size = domain.size
        gammas = np.full(size, np.inf)
        if self.theta is not None:
            gammas = gammas_by_tolerance(frequencies, self.theta)
        positions = positions_by_name(domain)
        tightest = np.full(size, np.inf)
        own = np.zeros(size, dtype=np.bool_)
        for limit in self.stated:
            place = positions.get(limit.value)
            if place is None:
                raise PolicyError(
                    "The limits name a value, {value}, that the domain does not have.",
                    "Remove it, or add the value to the domain.",
                    value=limit.value,
                )
            own[place] = True
            tightest[place] = min(tightest[place], _gamma(limit))
        return np.where(own, tightest, gammas)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values."""
        plain: dict[str, Any] = {"mode": str(self.mode)}
        if self.theta is not None:
            plain["theta"] = self.theta
        plain["limits"] = [
            {"value": limit.value, "rho1": limit.rho1, "rho2": limit.rho2} for limit in self.stated
        ]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PrivacyLimits:
        """Return the limits that plain values state.

        Raises
        ------
        PolicyError
            If they are not limits.
        """
        try:
            mode = BreachMode(plain.get("mode", BreachMode.STRICT))
            theta = plain.get("theta")
            stated = tuple(
                Limit(str(row["value"]), _number(row["rho1"]), _number(row["rho2"]))
                for row in plain.get("limits", ())
            )
            return cls(mode, None if theta is None else _number(theta), stated)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PolicyError(
                "The privacy limits can't be read.",
                "State a mode ('published' or 'strict'), and for each limit its value, rho1 and"
                " rho2.",
            ) from None


def positions_by_name(domain: Domain) -> dict[str, int]:
    """Return each value's position by the name under which it is shown.

    Raises
    ------
    PolicyError
        If two values are shown under one name.
    """
    positions: dict[str, int] = {}
    for place, name in enumerate(domain.names):
        if name in positions:
            raise PolicyError(
                "Values {first} and {second} of the domain have the same name.",
                "Give them different labels.",
                first=positions[name] + 1,
                second=place + 1,
            )
        positions[name] = place
    return positions


def merged(limits: Sequence[Limit], changed: Sequence[Limit]) -> tuple[Limit, ...]:
    """Return the limits with those of some values replaced, the others in their order."""
    replaced = {limit.value for limit in changed}
    return (*(limit for limit in limits if limit.value not in replaced), *changed)


def _gamma(limit: Limit) -> float:
    try:
        return gamma_for_rho(limit.rho1, limit.rho2)
    except LevelError as error:
        raise LevelError(
            "The limits of {value} don't fit together: ρ1 = {rho1}, ρ2 = {rho2}.",
            error.remedy_template,
            value=limit.value,
            rho1=limit.rho1,
            rho2=limit.rho2,
        ) from None


def _number(value: object) -> float:
    if not is_number(value):
        raise TypeError("not a number")
    return float(value)


_OPEN_KEYS = KeyRing(bytes(SECRET_BYTES))


def utility_curve(
    counts: npt.NDArray[np.int64],
    thetas: Sequence[float],
    mode: BreachMode,
    draws: int,
    context: Context,
) -> tuple[UtilityPoint, ...]:
    """Return what both mechanisms keep at each tolerance.

    Parameters
    ----------
    counts
        How often each value occurs, shape (m,), m >= 2.
    thetas
        The tolerances, each above 1.
    mode
        Which breaches the limits rule out.
    draws
        How many releases are drawn at each tolerance, at least 2.
    context
        Told of the progress; may stop the work.

    Raises
    ------
    LevelError
        If a tolerance is not above 1, or there are fewer than two values.
    """
    if draws < 2:
        raise ValueError("a spread needs two draws")
    frequencies = counts / counts.sum()
    draw = _drawer(counts)
    points = []
    for place, theta in enumerate(thetas):
        context.report(
            place / len(thetas), Sentence("Drawing releases for θ = {theta:g}", theta=theta)
        )
        gammas = gammas_by_tolerance(frequencies, theta)
        fine = RetentionMatrix(solve(frequencies, gammas, mode).retention)
        uniform = RetentionMatrix(np.full(len(counts), uniform_retention(gammas)))
        points.append(
            UtilityPoint(
                theta,
                utility_of(frequencies, fine, [draw(fine, each) for each in range(draws)]),
                utility_of(
                    frequencies, uniform, [draw(uniform, number) for number in range(draws)]
                ),
            )
        )
    context.report(1.0, "Drawing releases")
    return tuple(points)


def uniform_retention(gammas: Floats) -> float:
    """Return the uniform retention probability for the tightest of the limits (equation 2)."""
    tightest = float(gammas.min())
    return 1.0 if np.isinf(tightest) else retention_for_gamma(tightest, len(gammas))


def _drawer(
    counts: npt.NDArray[np.int64],
) -> Callable[[RetentionMatrix, int], npt.NDArray[np.int64]]:
    """Return a function that draws the released counts of the table once."""
    size = len(counts)
    codes = np.repeat(np.arange(size, dtype=smallest_unsigned(size)), counts)
    ids = record_ids_by_position(len(codes))

    def draw(matrix: RetentionMatrix, number: int) -> npt.NDArray[np.int64]:
        kept = matrix.retention
        highest = float(kept.max())
        key = _OPEN_KEYS.for_attribute("utility", str(size), f"draw {number}")
        top = ProfileTop(kept / highest if highest > 0 else kept)
        released = release_below(top, highest, codes, ids, key, Silent())
        return count_codes(released, size)

    return draw
