"""How long the published simulations take, and a coalition of ten."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.coalition_risk import coalition_risk
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from tests.benchmarks.harness import Case
from tests.benchmarks.multi_level.experiments import BELL, EVEN
from tests.benchmarks.multi_level.simulation import joint_counts

BASELINE = "as many triples of plain numpy uniform perturbation, not even counted"
SIMULATIONS = 100_000_000
BLOCK = 1 << 20


def cases(quick: bool) -> Iterator[Case]:
    simulations = 1_000_000 if quick else SIMULATIONS
    for prior in (EVEN, BELL):
        run = partial(joint_counts, prior.shares, simulations)
        yield Case(
            f"{simulations:.0e} simulations, {prior.name[:20]}", run, partial(plain, simulations)
        )
    shares = 1.0 / np.arange(1, 51)
    matrices = [uniform_matrix(level, 50) for level in np.linspace(0.6, 0.1, 10)]
    weigh = partial(coalition_risk, matrices, shares / shares.sum(), Silent())
    yield Case("a coalition of 10, m = 50", weigh, partial(plain, simulations // 100))


def plain(simulations: int, size: int = 50) -> None:
    """Perturb values independently at three levels, as anyone would in numpy."""
    random = np.random.default_rng(1)
    for start in range(0, simulations, BLOCK):
        count = min(BLOCK, simulations - start)
        values = random.integers(0, size, count)
        for level in (0.3, 0.1, 0.5):
            np.where(random.random(count) < level, values, random.integers(0, size, count))
