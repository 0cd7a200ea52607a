"""The profile with the least error of shares: rivals, an independent solver, simulations."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.matrices.privacy import retention_for_gamma
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.matrices.worth import worth_of_shares
from sfumato.engine.mechanisms.count_solver import (
    _CountProgram,
    error_of_shares,
    solve_for,
    solve_for_counts,
)
from sfumato.engine.mechanisms.per_value import MECHANISM, gammas_by_tolerance
from sfumato.engine.mechanisms.retention_profiles import objective_in
from sfumato.engine.mechanisms.retention_solver import BreachMode, Objective, solve
from tests.engine.categories import column_of
from tests.noise import NOISE


def zipf(size):
    shares = 1.0 / np.arange(1, size + 1)
    return shares / shares.sum()


def dense(retention):
    """Return P, released by original, by its definition."""
    size = len(retention)
    return np.diag(retention) + np.ones((size, 1)) * (1.0 - retention) / size


def trace(retention, shares):
    """Return tr Cov + Σf² by plain linear algebra."""
    matrix = dense(retention)
    inverse = np.linalg.inv(matrix)
    return float(((inverse**2) @ (matrix @ shares)).sum())


def constraints_of(gammas, mode):
    """Return A and b of all constraints A·p ≤ b, written out pair by pair."""
    size, rows, bounds = len(gammas), [], []
    for i in np.flatnonzero(np.isfinite(gammas)):
        for j in set(range(size)) - {i}:
            pairs = [(i, j)] if mode is BreachMode.PUBLISHED else [(i, j), (j, i)]
            for own, other in pairs:
                row = np.zeros(size)
                row[own] += (size - 1) / gammas[i]
                row[other] += 1.0
                rows.append(row)
                bounds.append(1.0 - 1.0 / gammas[i])
    return np.array(rows).reshape(-1, size), np.array(bounds)


def slope(kept, shares):
    """Return the gradient of tr Cov by p, by matrix calculus: dP⁻¹ = −P⁻¹·dP·P⁻¹."""
    size = len(kept)
    inverse = np.linalg.inv(dense(kept))
    shown = dense(kept) @ shares
    scores = inverse @ (inverse * shown).T  # (P⁻¹·diag(O)·P⁻ᵀ) and what it is made of
    found = np.empty(size)
    squares = (inverse**2).sum(axis=0)
    change = np.full(size, -1.0 / size)
    whole = inverse.T @ scores
    for value in range(size):
        change[value] += 1.0
        found[value] = -2.0 * change @ whole[:, value] + shares[value] * change @ squares
        change[value] -= 1.0
    return found


def best_of_starts(shares, gammas, mode, starts, seed):
    """Return the least trace that SLSQP reaches from random starts, within the constraints."""
    rng, size = np.random.default_rng(seed), len(shares)
    rows, bounds = constraints_of(gammas, mode)
    within = {"type": "ineq", "fun": lambda p: bounds - rows @ p, "jac": lambda _: -rows}

    def error(kept):
        return np.log(trace(kept, shares))

    def gradient(kept):
        return slope(kept, shares) / trace(kept, shares)

    least = np.inf
    for _ in range(starts):
        start = rng.uniform(0.1, 1.0, size)
        start *= min(1.0, (bounds / (rows @ start)).min(initial=1.0)) * 0.98
        found = scipy.optimize.minimize(
            error,
            start,
            jac=gradient,
            method="SLSQP",
            bounds=[(1e-4, 1.0)] * size,
            constraints=[within] if len(bounds) else [],
            options={"maxiter": 400, "ftol": 1e-13},
        ).x
        kept = np.clip(found, 1e-4, 1.0)
        kept = kept * min(1.0, (bounds / (rows @ kept)).min(initial=1.0))
        least = min(least, trace(kept, shares))
    return least


def some_limits(size, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 10.0])))
    gammas = 1.0 + rng.exponential(1.0, size) * rng.choice([1.0, 10.0, 100.0])
    if seed % 3 == 0:
        gammas[rng.random(size) < 0.3] = np.inf
    if seed % 4 == 0:
        gammas = np.round(gammas) + 1.0  # several with one limit
    return shares, gammas


def test_the_error_is_that_of_the_inverse_matrix_also_where_one_value_is_never_kept():
    rng = np.random.default_rng(0)
    for size in range(2, 9):
        shares = rng.dirichlet(np.ones(size))
        for least in (0.3, 1e-3, 1e-7, 0.0):
            kept = rng.uniform(0.2, 1.0, size)
            kept[size // 2] = least
            expected = trace(kept, shares)
            assert error_of_shares(kept, shares) == pytest.approx(expected, rel=1e-6)
    assert error_of_shares(np.array([0.0, 0.0, 0.5]), np.full(3, 1 / 3)) == np.inf


def test_more_of_any_value_never_tells_less():
    """The solver rests on it: within the limits, the best profile stands at its bounds."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        size = int(rng.integers(2, 12))
        shares = rng.dirichlet(np.full(size, rng.choice([0.1, 1.0, 10.0])))
        kept = rng.uniform(0.01, 0.99, size) ** rng.choice([1, 3])
        before = error_of_shares(kept, shares)
        for value in range(size):
            more = kept.copy()
            more[value] *= 1.01
            assert error_of_shares(more, shares) <= before * (1.0 + 1e-12)


@pytest.mark.few(4)
@pytest.mark.parametrize("mode", BreachMode)
@pytest.mark.parametrize("seed", range(8))
def test_it_keeps_the_limits_and_is_never_worse_than_uniform_or_the_papers_optimum(mode, seed):
    shares, gammas = some_limits(3 + 4 * seed, seed)
    profile = solve_for_counts(shares, gammas, mode)
    rows, bounds = constraints_of(gammas, mode)
    assert (rows @ profile.retention <= bounds + 1e-12).all()
    assert ((profile.retention >= 0.0) & (profile.retention <= 1.0)).all()
    error = error_of_shares(profile.retention, shares)
    uniform = np.full(len(shares), retention_for_gamma(gammas.min(), len(shares)))
    for rival in (uniform, solve(shares, gammas, mode).retention):
        assert error <= error_of_shares(rival, shares)


@pytest.mark.slow
def test_a_profile_that_was_solved_for_is_there_again_for_the_same_shares_and_limits_alone():
    shares, gammas = some_limits(4, 2)
    first = solve_for(Objective.COUNTS, shares, gammas, BreachMode.STRICT)
    assert solve_for(Objective.COUNTS, shares.copy(), gammas.copy(), BreachMode.STRICT) is first
    for mode in BreachMode:
        for objective, solver in ((Objective.COUNTS, solve_for_counts), (Objective.VALUES, solve)):
            found = solve_for(objective, shares, gammas, mode).retention
            assert found.tolist() == solver(shares, gammas, mode).retention.tolist()
    other = solve_for(Objective.COUNTS, shares[::-1], gammas, BreachMode.STRICT)
    assert other.retention.tolist() != first.retention.tolist()
    with pytest.raises(ValueError, match="read-only"):
        first.retention[0] = 1.0


@pytest.mark.slow
@pytest.mark.parametrize("mode", BreachMode)
@pytest.mark.parametrize(("size", "starts"), [(3, 50), (7, 50), (15, 50), (40, 50)])
def test_no_start_of_an_independent_solver_finds_a_better_one(mode, size, starts):
    for seed in range(3 if size < 40 else 1):
        shares, gammas = some_limits(size, seed)
        error = error_of_shares(solve_for_counts(shares, gammas, mode).retention, shares)
        assert error <= best_of_starts(shares, gammas, mode, starts, seed) * (1.0 + 1e-6)


def test_on_zipf_shares_all_values_are_kept_where_keeping_most_leaves_some_to_nothing():
    shares = zipf(40)
    gammas = gammas_by_tolerance(shares, 20.0)
    counts, values = (one(shares, gammas, BreachMode.STRICT) for one in (solve_for_counts, solve))
    uniform = np.full(40, retention_for_gamma(gammas.min(), 40))
    assert counts.record_utility(shares) == pytest.approx(0.383, abs=0.002)
    assert values.record_utility(shares) == pytest.approx(0.428, abs=0.001)
    assert (counts.retention.min(), counts.retention.max()) == pytest.approx((0.31, 0.37), abs=0.01)
    assert error_of_shares(counts.retention, shares) < error_of_shares(uniform, shares)
    assert worth_of_shares(shares, RetentionMatrix(values.retention), 1_000.0).records < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("mode", BreachMode)
def test_twenty_thousand_values_are_solved_within_five_seconds(mode):
    shares = zipf(20_000)
    gammas = gammas_by_tolerance(shares, 20.0)
    solve_for_counts(shares[:50] / shares[:50].sum(), gammas[:50], mode)  # imports come first
    start = time.perf_counter()
    profile = solve_for_counts(shares, gammas, mode)
    assert time.perf_counter() - start < 5.0
    uniform = np.full(20_000, retention_for_gamma(gammas.min(), 20_000))
    assert error_of_shares(profile.retention, shares) < error_of_shares(uniform, shares)


@pytest.mark.slow
@pytest.mark.parametrize("objective", Objective)
def test_the_figures_of_both_objectives_are_those_of_simulated_releases(objective):
    """Records kept, and the error of estimated shares, of releases drawn by plain arithmetic."""
    column = column_of([5_000, 2_500, 1_500, 1_000])
    attributes = (column.attribute,)
    stated = {"mode": "strict", "theta": 6.0, "frequencies": "equal", "objective": objective}
    settings = MECHANISM.complete_settings(attributes, stated, NOISE)
    kept = np.array(settings["profile"])
    shares, rows = column.attribute.frequencies, 10_000
    rng = np.random.default_rng(8)
    true, unchanged, squares = np.asarray(column.values), [], []
    inverse = np.linalg.inv(dense(kept))
    for _ in range(600):
        drawn = rng.choice(4, rows, p=shares)
        seen = np.where(rng.random(rows) < kept[drawn], drawn, rng.integers(0, 4, rows))
        unchanged.append((seen == drawn).mean())
        error = inverse @ np.bincount(seen, minlength=4) / rows - shares
        squares.append(error @ error)
    assert len(true) == rows
    profile = MECHANISM.solved(attributes, settings)
    assert np.mean(unchanged) == pytest.approx(profile.record_utility(shares), abs=0.001)
    expected = (error_of_shares(kept, shares) - shares @ shares) / rows
    spread = np.std(squares) / np.sqrt(len(squares))
    assert abs(np.mean(squares) - expected) < 4 * spread


# ----- what settings say


def test_counts_are_the_objective_where_nothing_is_said_and_old_projects_keep_theirs():
    attributes = (column_of([700, 200, 60, 40]).attribute,)
    limits = {"mode": "strict", "theta": 5.0, "frequencies": "equal"}
    new = MECHANISM.complete_settings(attributes, limits, NOISE)
    values = MECHANISM.complete_settings(attributes, {**limits, "objective": "values"}, NOISE)
    assert (new["objective"], values["objective"]) == ("counts", "values")
    old = {name: one for name, one in values.items() if name != "objective"}
    assert objective_in(old) is Objective.VALUES
    assert MECHANISM.complete_settings(attributes, old, NOISE) == old
    again = MECHANISM.complete_settings(attributes, MECHANISM.without_measured(old), NOISE)
    assert again == values


def test_another_objective_is_refused_by_name():
    attributes = (column_of([7, 2]).attribute,)
    with pytest.raises(PolicyError, match="objective is not one of: counts, values"):
        MECHANISM.complete_settings(attributes, {"theta": 3.0, "objective": "both"}, NOISE)


@pytest.mark.parametrize("mode", BreachMode)
def test_places_are_weighed_together_as_one_by_one(mode):
    gammas = np.array([2.0, 3.5, 3.5, 9.0, np.inf, 40.0])
    program = _CountProgram(zipf(6), gammas, mode)
    grid = np.geomspace(0.01, 1.0, 60)
    first = [program.error_at(0, a) for a in grid]
    ties = [program.error_of_tie(a) for a in grid]
    assert program.errors_of_first(grid) == pytest.approx(first, rel=1e-12)
    assert program.errors_of_ties(grid) == pytest.approx(ties, rel=1e-12)
    assert np.isfinite(first).any()
    assert np.isfinite(ties).any()
