"""The published experiments: how long they take, and their numbers as tables.

``python -m tests.benchmarks audit`` measures; ``python -m tests.benchmarks.audit`` prints what the
four figures come to on the paper's made-up values and on two columns of the Adult table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.analysis.experiments import BELL, EVEN, Figure, Prior, Sizes, findings, run_experiment
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.coalition_risk import coalition_risk
from sfumato.engine.disclosure.experiments.simulation import joint_counts
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from tests.benchmarks.harness import Case

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult" / "adult.csv"
COLUMNS = ("salary-class", "occupation")
BASELINE = "as many triples of plain numpy uniform perturbation, not even counted"
SIMULATIONS = 100_000_000
BLOCK = 1 << 20


def cases(quick: bool) -> Iterator[Case]:
    simulations = 1_000_000 if quick else SIMULATIONS
    for prior in (EVEN, BELL):
        run = partial(joint_counts, prior.shares, simulations, Silent())
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


def priors() -> Iterator[Prior]:
    yield from (EVEN, BELL)
    if ADULT.exists():
        table = pd.read_csv(ADULT, sep=";", usecols=list(COLUMNS))
        for column in COLUMNS:
            yield Prior(f"Adult {column}", table[column].value_counts(normalize=True).to_numpy())


def main() -> int:
    for figure in Figure:
        for prior in priors():
            if figure is Figure.COST and prior is not EVEN:
                continue
            outcome = run_experiment(figure, prior, Sizes(), Silent())
            sys.stdout.write(f"{figure.value}, {prior.name} ({outcome.seconds:.1f} s)\n")
            for sentence in findings(outcome):
                sys.stdout.write(f"  {sentence}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
