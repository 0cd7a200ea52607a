"""The profile of retention with the least error of estimated shares within the limits.

Whoever counts does not want most records kept, but shares that are estimated well: of all
profiles p within the limits the one with the smallest trace of Cov = P⁻¹(diag(O) − OOᵀ)P⁻ᵀ, O = P·f
(f the shares that it is solved for). With r = 1/p, R = Σr and v = (r − 1)/R, whose entries the
inverse is made of, (P⁻¹)_ij = (δ_ij − v_j)·r_i, this is, but for Σf²,

    T(p) = Σ r_i²·O_i·(1 − 2v_i) + Σr²·Σ v_j²·O_j.

The constraints are those of `ProfileProgram`: with value k keeping most, a, every other p_i has an
upper bound of its own. Within these bounds T falls in every p_i (of thousands of profiles that
were tried, in none did it rise), so that the best profile stands at the bounds and only k and a are
searched. T is then a function of a few sums, which prefix sums over sorted γ give for all k at
once: an evaluation of all k takes O(m log m). It is neither convex nor unimodal in a, so a grid
goes before the search; the uniform profile and the one that keeps most are never left behind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.matrices.privacy import retention_for_gamma
from sfumato.engine.mechanisms.retention_solver import (
    BreachMode,
    Objective,
    Profile,
    ProfileProgram,
    rounded_down,
    solve,
)

_STEPS: Final = 400
"""Places of the grid on which the best top values are looked at."""
_LARGE: Final = 50
_STEPS_IF_LARGE: Final = 100
"""Places for a domain of more values than that: somebody waits, and a place costs more."""
_ROUGH_STEPS: Final = 32
"""Places on which all top values of a large domain are."""
_FEW: Final = 200
"""So many top values are all looked at closely."""
_CANDIDATES: Final = 64
_SEARCHED: Final = 8
"""So many pairs of a top value and a place of the grid are refined, the best first."""
_TOGETHER: Final = 50_000
"""So many retention probabilities are weighed at once."""
_LARGEST: Final = 1e300
_SMALLEST: Final = 1e-60
"""Stands for smaller retention probabilities where cubes of their inverses are summed."""


def error_of_shares(retention: Floats, frequencies: Floats) -> float:
    """Return T: the sum of all shares' variances, for each record, and of their squares.

    One value may be kept with probability 0: the others tell its share. T is infinite where two
    values can't be told apart. With the least kept value apart, no difference of large numbers
    is taken.

    Parameters
    ----------
    retention
        p, shape (m,).
    frequencies
        The values' shares f, shape (m,), summing to 1.
    """
    least, size = int(retention.argmin()), len(retention)
    kept, shares = (
        np.concatenate([each[:least], each[least + 1 :]]) for each in (retention, frequencies)
    )
    if not (kept > 0.0).all():
        return np.inf
    sums = np.concatenate([_terms(kept, shares).sum(axis=1), [shares.sum()]])
    return float(_error(sums, float(retention[least]), float(frequencies[least]), size))


def _errors_of_profiles(retention: Floats, frequencies: Floats) -> Floats:
    """Return T of many profiles as `error_of_shares` has it of one, shape (n,).

    Parameters
    ----------
    retention
        p, shape (n, m).
    frequencies
        f, shape (m,).
    """
    (count, size), least = retention.shape, retention.argmin(axis=1)
    others = np.arange(size) != least[:, None]
    kept = retention[others].reshape(count, size - 1)
    shares = np.broadcast_to(frequencies, retention.shape)[others].reshape(count, size - 1)
    apart = (kept > 0.0).all(axis=1)
    terms = _terms(np.where(apart[:, None], kept, 1.0), shares).sum(axis=2)
    sums = np.concatenate([terms, shares.sum(axis=1)[None]])
    errors = _error(sums, retention.min(axis=1), frequencies[least], size)
    return np.where(apart, errors, np.inf)


def solve_for(
    objective: Objective, frequencies: Floats, gammas: Floats, mode: BreachMode
) -> Profile:
    """Return the best profile within the limits for what the file is for; see the solvers.

    The last profiles are kept: checks solve for the same shares after every edit.
    """
    given = (np.asarray(each, dtype=np.float64).tobytes() for each in (frequencies, gammas))
    return _solved(objective, mode, *given)


@lru_cache(maxsize=64)
def _solved(objective: Objective, mode: BreachMode, frequencies: bytes, gammas: bytes) -> Profile:
    solver = solve_for_counts if objective is Objective.COUNTS else solve
    profile = solver(np.frombuffer(frequencies), np.frombuffer(gammas), mode)
    profile.retention.flags.writeable = False
    return profile


def solve_for_counts(frequencies: Floats, gammas: Floats, mode: BreachMode) -> Profile:
    """Return the profile with the least error of shares within the limits.

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
    most_kept = solve(frequencies, gammas, mode)
    size, tightest = len(gammas), float(gammas.min())
    uniform = 1.0 if np.isinf(tightest) else retention_for_gamma(tightest, size)
    tried = [np.full(size, uniform), most_kept.retention]
    program = _CountProgram(frequencies, gammas, mode)
    for sorted_profile in program.best(uniform):
        found = np.empty(size)
        found[program.order] = sorted_profile
        tried.append(rounded_down(found, gammas, mode))
    best = min(tried, key=lambda one: error_of_shares(one, frequencies))
    return Profile(best, gammas, mode)


class _CountProgram(ProfileProgram):
    """The program over values sorted by γ, with the error of shares as its objective."""

    def best(self, uniform: float) -> Iterator[Floats]:
        """Yield the best profiles that a search finds, in sorted order."""
        tops = self.tops()
        most = float(self.highest(np.append(tops, 0)).max())
        if most <= uniform:
            return
        if len(tops) > _FEW:
            rough = self.grid_of_errors(tops, _grid(uniform, most, _ROUGH_STEPS))
            nearly = np.argsort(rough, axis=1)[:, : 1 + _CANDIDATES // _ROUGH_STEPS]
            tops = tops[np.unique(nearly)]
        steps = _STEPS if self.rest < _LARGE else _STEPS_IF_LARGE
        grid = _grid(uniform, most, steps)
        errors = self.grid_of_errors(tops, grid)
        reach = float(self.highest(np.zeros(1, dtype=np.int64))[0])
        first = np.where(grid <= reach, self.in_parts(self.errors_of_first, grid), np.inf)
        found = [
            (errors[place, at], int(tops[at]), place)
            for at in range(len(tops))
            for place in _lowest(errors[:, at])
        ]
        found += [(first[place], 0, place) for place in _lowest(first)]
        for _, top, place in sorted(found)[:_SEARCHED]:
            span = _around(grid, place, float(self.highest(np.array([top]))[0]))
            yield self.corner(top, _least(partial(self.error_at, top), span))
        ties = self.in_parts(self.errors_of_ties, grid)
        for place in _lowest(ties):
            yield self.tie(_least(self.error_of_tie, _around(grid, place, 1.0)))

    def tops(self) -> Integers:
        """Return the values, by their places, that may keep most; the first is asked apart.

        T is linear in the shares, so of values with one limit that with the largest or the
        smallest share is best.
        """
        last = np.append(self.gammas[1:] != self.gammas[:-1], True)
        ends = np.flatnonzero(last | np.append(True, last[:-1]))
        return ends[ends > 0]

    def grid_of_errors(self, tops: Integers, grid: Floats) -> Floats:
        """Return T of each top's corner at each place of a grid, shape (places, tops)."""
        highest = self.highest(tops)
        return self.in_parts(partial(self.errors, tops, highest), grid)

    def in_parts(self, errors: Callable[[Floats], Floats], grid: Floats) -> Floats:
        """Return the errors at a grid's places: many at once, but no more than memory allows."""
        step = max(_TOGETHER // len(self.gammas), 1)
        starts = range(0, len(grid), step)
        return np.concatenate([errors(grid[start : start + step]) for start in starts])

    def own_limits(self, a: Floats | float) -> Floats:
        """Return what each value's own limit allows beside a top that keeps `a`, shape (…, m).

        `a` is one, or some of shape (n, 1).
        """
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self.constants), np.inf, self.constants - self.slopes * a)

    def corner(self, top: int, a: float) -> Floats:
        """Return the profile at the bounds, where `top` alone keeps `a`."""
        return np.minimum(self.profile(top, a), 1.0)

    def tie(self, a: float) -> Floats:
        """Return the profile at the bounds where several values keep `a`."""
        return np.clip(np.minimum(a, self.own_limits(a)), 0.0, 1.0)

    def error_at(self, top: int, a: float) -> float:
        """Return T of a corner for `a` up to `highest`; infinite where the others keep none."""
        if self.shared(np.array([top]), np.array([a]))[0] <= 0.0:
            return np.inf
        return error_of_shares(self.corner(top, a), self.weights)

    def error_of_tie(self, a: float) -> float:
        """Return T of a tie; infinite where fewer than two values keep `a`, or one too little."""
        kept, own = self.tie(a), self.own_limits(a)
        if np.count_nonzero(kept >= a) < 2 or own[0] < 0.0:
            return np.inf
        return error_of_shares(kept, self.weights)

    def errors_of_first(self, grid: Floats) -> Floats:
        """Return T where the value with the tightest limit keeps most, at each of these places."""
        shared = self.shared(np.zeros(len(grid), dtype=np.int64), grid)
        kept = np.minimum(shared[:, None], self.constants - self.slopes * grid[:, None])
        kept[:, 0] = grid
        errors = _errors_of_profiles(np.clip(kept, 0.0, 1.0), self.weights)
        return np.where(shared > 0.0, errors, np.inf)

    def errors_of_ties(self, grid: Floats) -> Floats:
        """Return what `error_of_tie` is at each of these places."""
        a = grid[:, None]
        own = self.own_limits(a)
        kept = np.clip(np.minimum(a, own), 0.0, 1.0)
        possible = (np.count_nonzero(kept >= a, axis=1) >= 2) & (own[:, 0] >= 0.0)
        return np.where(possible, _errors_of_profiles(kept, self.weights), np.inf)

    def errors(self, tops: Integers, highest: Floats, grid: Floats) -> Floats:
        """Return T of corners, infinite where there is none, shape (places, tops).

        The value with the tightest limit, which is kept least, stands apart; of the others, those
        with the smallest limits are at these and the rest at b, so sums over sorted limits do.

        Parameters
        ----------
        tops, highest
            The values that keep most, each above 0, and how much they may.
        grid
            The places, a.
        """
        a = np.broadcast_to(grid[:, None], (len(grid), len(tops)))
        own = np.minimum(self.own_limits(grid[:, None]), 1.0)
        shared = self.shared(tops, a)
        possible = (a <= highest) & (shared > 0.0) & (own[:, :1] >= 0.0)
        b = np.where(possible, np.minimum(shared, 1.0), 1.0)
        others = np.maximum(own[:, 1:], _SMALLEST)
        weights = np.broadcast_to(self.weights[1:], others.shape)
        terms = np.concatenate([_terms(others, weights), weights[None]])
        sums = np.concatenate([np.zeros((7, len(grid), 1)), np.cumsum(terms, axis=2)], axis=2)
        limits = np.maximum.accumulate(others, axis=1)
        count = np.stack([one.searchsorted(at) for one, at in zip(limits, b, strict=True)])
        whole: Floats = np.take_along_axis(sums, count[None], axis=2)
        left = sums[6, :, -1:] - whole[6]
        whole[:6] += _terms(b, left, (self.rest - count).astype(np.float64))
        whole[6] += left
        own_weights = self.weights[tops]
        at_bound = np.where(tops - 1 < count, others[:, tops - 1], b)
        whole[:6] += _terms(a, own_weights) - _terms(at_bound, own_weights)
        least = np.minimum(b, np.maximum(own[:, :1], 0.0))
        error = _error(whole, least, float(self.weights[0]), len(self.gammas))
        return np.where(possible, error, np.inf)


def _terms(kept: Floats, weights: Floats, count: Floats | float = 1.0) -> Floats:
    """Return r, r², r³, p·f, r·f and r²·f of values with these p and f, shape (6, …).

    `count` values have the same p, and `weights` is the sum of their shares.
    """
    r = 1.0 / kept
    many = count * r
    return np.array([many, many * r, many * r * r, kept * weights, r * weights, r * r * weights])


def _error(sums: Floats, least: Floats | float, share: Floats | float, size: int) -> Floats:
    """Return T from the sums of `_terms` and of f over all values but the least kept one.

    Parameters
    ----------
    sums
        Shape (7, …).
    least, share
        p and f of the least kept value.
    size
        The number of values, m.
    """
    r, r2, r3, pf, rf, r2f, f = sums
    c = (1.0 - pf - least * share) / size
    shown, scale = least * share + c, 1.0 + least * r
    squares = rf - 2.0 * f + pf + c * (r2 - 2.0 * r + size - 1)
    own = ((r + 1.0) ** 2 * shown + squares) / scale**2
    second = ((least**2) * squares + (1.0 - least) ** 2 * shown) / scale**2
    crossed = (r2f - rf + c * (r3 - r2)) * least / scale
    error: Floats = own + rf + c * r2 - 2.0 * crossed + r2 * second
    return error


def _grid(low: float, high: float, steps: int) -> Floats:
    grid: Floats = low * (high / low) ** np.linspace(0.0, 1.0, steps)
    return grid


def _lowest(errors: Floats) -> list[int]:
    """Return the places of the lowest local minima."""
    padded = np.concatenate([[np.inf], errors, [np.inf]])
    local = (errors <= padded[:-2]) & (errors <= padded[2:]) & np.isfinite(errors)
    places = np.flatnonzero(local)
    return places[np.argsort(errors[places], kind="stable")][:_SEARCHED].tolist()


def _around(grid: Floats, place: int, most: float) -> tuple[float, float]:
    low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
    return float(low), float(min(high, most))


def _least(error: Callable[[float], float], span: tuple[float, float]) -> float:
    """Return where an error is least in a span, its ends included."""
    low, high = span
    if not low < high:
        return high

    def size(a: float) -> float:
        return math.log(min(error(a), _LARGEST))  # a parabola through what is infinite is none

    search = scipy.optimize.minimize_scalar
    found = search(size, bounds=span, method="bounded", options={"xatol": 1e-13 * high})
    return min((low, float(found.x), high), key=error)
