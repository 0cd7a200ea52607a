"""``python -m tests.benchmarks.gaussian_figures``: Fig. 2 and 3 of Li et al. 2012 as tables.

Normalized estimation error against the number of copies, and how errors spread, for noise drawn
independently and for the ladder. On the age of the Adult table with a synthetic income that
goes with it, and on two measurements of the breast cancer data.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.gaussian_attack import Dependence, expected_errors
from sfumato.engine.ladders.brownian import on_grid
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.postprocessing import (
    Attacker,
    Experiment,
    Pool,
    guesses,
    make_experiment,
)
from sfumato.engine.table.table import Attribute
from tests.noise import NOISE

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult" / "adult.csv"
COPIES = (1, 2, 5, 10, 20, 30)
SAMPLES = (400, 800, 1200)
"""100·N², 200·N² and 300·N² for two attributes."""

SCHEMES = (Dependence.INDEPENDENT, Dependence.LADDER)


def adult() -> dict[str, np.ndarray]:
    """Age, and an income with the mean and variance of the paper's Table 3 that goes with it."""
    age = pd.read_csv(ADULT, sep=";", usecols=["age"])["age"].to_numpy(dtype=np.float64)
    drawn = np.random.default_rng(1).gamma(1.25, 1.0, len(age)) * (0.5 + age / 80)
    return {"age": age, "income": 16.57 + (drawn - drawn.mean()) / drawn.std() * 219.92**0.5}


def breast_cancer() -> dict[str, np.ndarray]:
    """The first two measurements of the Wisconsin data."""
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - the engine's tests have none

    data = load_breast_cancer()
    return {str(data.feature_names[place]): data.data[:, place] for place in range(2)}


def levels() -> list[float]:
    """σ² of 30 copies, drawn from [0.25, 1] as in the paper."""
    return [on_grid(level) for level in np.random.default_rng(7).uniform(0.25, 1.0, 30)]


def experiment_on(columns: dict[str, np.ndarray]) -> Experiment:
    """Copies of a table as Sfumato releases them, and with noise of their own."""
    mechanism = mechanism_called("gaussian")
    attributes = tuple(
        Attribute(name, Kind.NUMERIC, numbers=values) for name, values in columns.items()
    )
    settings = mechanism.complete_settings(attributes, {}, NOISE)
    return make_experiment(Pool(mechanism, settings, attributes, tuple(levels())), None, Silent())


def found_errors(true: np.ndarray, estimated: np.ndarray) -> np.ndarray:
    """Return the normalized error of estimates that were made, by attribute, shape (N,).

    Parameters
    ----------
    true, estimated
        Shape (N, n), NaN where missing.
    """
    left = np.nanmean(np.square(estimated - true), axis=1)
    return np.asarray(left / np.nanvar(true, axis=1), dtype=np.float64)


def found_by_copies(
    experiment: Experiment, dependence: Dependence, attacker: Attacker
) -> np.ndarray:
    """Return the normalized error of estimates from the first 1, 2, … copies (Fig. 2).

    Parameters
    ----------
    experiment, dependence, attacker
        As for `guesses`.

    Returns
    -------
    numpy.ndarray
        For each attribute, shape (M, N).
    """
    true, counts = experiment.true, range(1, len(experiment.pool.levels) + 1)
    return np.array(
        [found_errors(true, guesses(experiment, dependence, attacker, count)) for count in counts]
    )


def figure_2(name: str, experiment: Experiment) -> None:
    """Print the normalized error of each attribute against the number of copies."""
    pool, rows = experiment.pool, experiment.true.shape[1]
    attackers = [Attacker(), *(Attacker(count, structured=False) for count in SAMPLES)]
    found = {
        (scheme, attacker): found_by_copies(experiment, scheme, attacker)
        for scheme in SCHEMES
        for attacker in attackers
    }
    heads = [
        f"{scheme.value} {known}"
        for scheme in SCHEMES
        for known in ("eq. 7", "perfect", *map(str, SAMPLES))
    ]
    write(f"\nFig. 2, {name} ({rows:,} records)\n\n")
    write(f"| attribute | M | least σ² | {' | '.join(heads)} |\n{'|---' * (len(heads) + 3)}|\n")
    for place, attribute in enumerate(pool.attributes):
        for count in COPIES:
            held = pool.levels[:count]
            cells = []
            for scheme in SCHEMES:
                known = pool.moments.covariance
                cells.append(expected_errors(held, scheme, known, known).overall)
                cells += [found[scheme, a][count - 1, place] for a in attackers]
            line = " | ".join(f"{cell:.4f}" for cell in cells)
            write(f"| {attribute.name} | {count} | {min(held):.4f} | {line} |\n")


def figure_3(name: str, experiment: Experiment) -> None:
    """Print which share of records is estimated to within some parts of a spread."""
    parts = (0.1, 0.25, 0.5, 1.0, 2.0)
    write(f"\nFig. 3, {name}: records estimated to within so many spreads\n\n")
    heads = " | ".join(f"{part:g}" for part in parts)
    write(f"| attribute | M | noise | {heads} |\n{'|---' * (len(parts) + 3)}|\n")
    spreads = experiment.pool.moments.spreads
    for scheme in SCHEMES:
        for count in (5, 10, 20, 30):
            off = np.abs(guesses(experiment, scheme, Attacker(), count) - experiment.true)
            for place, attribute in enumerate(experiment.pool.attributes):
                shares = [(off[place] <= part * spreads[place]).mean() for part in parts]
                line = " | ".join(f"{share:.3f}" for share in shares)
                write(f"| {attribute.name} | {count} | {scheme.value} | {line} |\n")


def write(text: str) -> None:
    sys.stdout.write(text)


def main() -> int:
    tables = {"breast cancer": breast_cancer()}
    if ADULT.exists():
        tables = {"Adult": adult(), **tables}
    for name, columns in tables.items():
        experiment = experiment_on(columns)
        figure_2(name, experiment)
        figure_3(name, experiment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
