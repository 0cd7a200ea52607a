"""The optimal fine-grain profile, beside HiGHS on the program in its O(m) form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from sfumato.engine.mechanisms.retention_solver import BreachMode, solve, violations
from tests.benchmarks.harness import Case

BASELINE = "HiGHS on the linear program with prefix and suffix maxima"
SIZES = (50, 1_000, 20_000)


def cases(quick: bool) -> Iterator[Case]:
    """Yield each size in both modes; a case's name tells its largest constraint violation."""
    for size in SIZES[:2] if quick else SIZES:
        generator = np.random.default_rng(size)
        frequencies = generator.dirichlet(np.ones(size))
        gammas = 1 + generator.exponential(20, size)
        for mode in BreachMode:
            profile = solve(frequencies, gammas, mode)
            violation = float(violations(profile.retention, profile.gammas, profile.mode).max())
            yield Case(
                f"m={size:,} {mode} excess={max(violation, 0.0):.0e}",
                partial(solve, frequencies, gammas, mode),
                partial(programmed, frequencies, gammas, mode),
            )


def programmed(frequencies: np.ndarray, gammas: np.ndarray, mode: BreachMode) -> float:
    """Return max Σ f_i·p_i by a linear program over p and its prefix and suffix maxima."""
    size = len(frequencies)
    one, none = sparse.eye_array(size), sparse.csr_array((size, size))
    before = sparse.eye_array(size, k=-1)
    after = sparse.eye_array(size, k=1)
    own = sparse.diags_array((size - 1) / gammas)
    rows = [
        [one, -one, none],  # p_i ≤ prefix_i
        [none, before - one, none],  # prefix_(i-1) ≤ prefix_i
        [one, none, -one],  # p_i ≤ suffix_i
        [none, none, after - one],  # suffix_(i+1) ≤ suffix_i
        [own, before, none],  # the limit against everything before i
        [own, none, after],  # and against everything after it
    ]
    if mode is BreachMode.STRICT:
        rows += [[one, own @ before, none], [one, none, own @ after]]
    limits = [np.zeros(size)] * 4 + [1 - 1 / gammas] * (len(rows) - 4)
    objective = np.concatenate([-frequencies / frequencies.max(), np.zeros(2 * size)])
    found = linprog(
        objective,
        A_ub=sparse.block_array(rows, format="csr"),
        b_ub=np.concatenate(limits),
        bounds=(0, 1),
        method="highs",
    )
    return -found.fun * frequencies.max()
