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
from sklearn.datasets import load_breast_cancer

from app.engine.audit.gaussian_attack import Dependence, estimate, expected_errors, joint_weights
from app.engine.audit.gaussian_experiment import (
    Attacker,
    error_histogram,
    errors_by_copies,
    simulated_copies,
)
from app.engine.columns import Kind
from app.engine.covariance import Moments, estimate_moments, factor_of
from app.engine.noise_level import on_grid
from app.engine.progress import Silent
from app.engine.table import Attribute

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
    data = load_breast_cancer()
    return {str(data.feature_names[place]): data.data[:, place] for place in range(2)}


def levels() -> list[float]:
    """σ² of 30 copies, drawn from [0.25, 1] as in the paper."""
    return [on_grid(level) for level in np.random.default_rng(7).uniform(0.25, 1.0, 30)]


def moments_of(columns: dict[str, np.ndarray]) -> Moments:
    return estimate_moments(
        [Attribute(name, Kind.NUMERIC, numbers=values) for name, values in columns.items()]
    )


def figure_2(name: str, columns: dict[str, np.ndarray]) -> None:
    """Print the normalized error of each attribute against the number of copies."""
    true, moments, rungs = np.array(list(columns.values())), moments_of(columns), levels()
    attackers = [Attacker(), *(Attacker(count, structured=False) for count in SAMPLES)]
    found = {}
    for scheme in SCHEMES:
        factor = factor_of(moments.covariance)
        copies = simulated_copies(true, rungs, scheme, factor, Silent())
        for attacker in attackers:
            found[scheme, attacker] = errors_by_copies(
                true, copies, rungs, scheme, moments, attacker
            )
    heads = [
        f"{scheme.value} {known}"
        for scheme in SCHEMES
        for known in ("eq. 7", "perfect", *map(str, SAMPLES))
    ]
    write(f"\nFig. 2, {name} ({true.shape[1]:,} records)\n\n")
    write(f"| attribute | M | least σ² | {' | '.join(heads)} |\n{'|---' * (len(heads) + 3)}|\n")
    for place, attribute in enumerate(columns):
        for count in COPIES:
            held = rungs[:count]
            cells = []
            for scheme in SCHEMES:
                known = moments.covariance
                cells.append(expected_errors(held, scheme, known, known).overall)
                cells += [found[scheme, a][count - 1, place] for a in attackers]
            line = " | ".join(f"{cell:.4f}" for cell in cells)
            write(f"| {attribute} | {count} | {min(held):.4f} | {line} |\n")


def figure_3(name: str, columns: dict[str, np.ndarray]) -> None:
    """Print which share of records is estimated to within some parts of a spread."""
    true, moments, rungs = np.array(list(columns.values())), moments_of(columns), levels()
    parts = np.array([0.0, 0.1, 0.25, 0.5, 1.0, 2.0])
    write(f"\nFig. 3, {name}: records estimated to within so many spreads\n\n")
    heads = " | ".join(f"{part:g}" for part in parts[1:])
    write(f"| attribute | M | noise | {heads} |\n{'|---' * (len(parts) + 2)}|\n")
    for scheme in SCHEMES:
        factor = factor_of(moments.covariance)
        copies = simulated_copies(true, rungs, scheme, factor, Silent())
        for place, (attribute, spread) in enumerate(zip(columns, moments.spreads, strict=True)):
            for count in (5, 10, 20, 30):
                weights = joint_weights(
                    rungs[:count], scheme, moments.covariance, moments.covariance
                )
                guessed = estimate(copies[:count], weights, moments.mean)
                histogram = error_histogram(true[place], guessed[place], parts * spread)
                line = " | ".join(f"{share:.3f}" for share in histogram.cumulated)
                write(f"| {attribute} | {count} | {scheme.value} | {line} |\n")


def write(text: str) -> None:
    sys.stdout.write(text)


def main() -> int:
    tables = {"breast cancer": breast_cancer()}
    if ADULT.exists():
        tables = {"Adult": adult(), **tables}
    for name, columns in tables.items():
        figure_2(name, columns)
        figure_3(name, columns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
