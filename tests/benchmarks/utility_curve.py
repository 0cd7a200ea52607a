"""``python -m tests.benchmarks.utility_curve``: Fig. 5 of Chaytor et al. 2010 as a table.

Record and aggregate utility of per-value limits and of one limit for all, over the tolerance θ,
on a Zipf attribute of the paper's size and on the education of the Adult table where it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.per_value import utility_curve
from sfumato.engine.mechanisms.retention_solver import BreachMode

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult" / "adult.csv"
DRAWS = 10
THETAS = {"Zipf": (5, 10, 20, 40, 60, 80), "Adult education": (2, 4, 6, 8, 10, 12)}
HEADING = (
    "| attribute | mode | θ | record, fine-grain | record, uniform"
    " | aggregate, fine-grain | aggregate, uniform |\n|---|---|---|---|---|---|---|\n"
)


def zipf_counts(size: int = 40, records: int = 95_946) -> np.ndarray:
    shares = 1 / np.arange(1, size + 1)
    return np.round(records * shares / shares.sum()).astype(np.int64)


def main() -> int:
    attributes = {"Zipf": zipf_counts()}
    if ADULT.exists():
        education = pd.read_csv(ADULT, sep=";", usecols=["education"])["education"]
        attributes["Adult education"] = education.value_counts().to_numpy()
    sys.stdout.write(HEADING)
    for name, counts in attributes.items():
        for mode in BreachMode:
            for point in utility_curve(counts, THETAS[name], mode, DRAWS, Silent()):
                fine, uniform = point.fine_grain, point.uniform
                sys.stdout.write(
                    f"| {name} | {mode} | {point.theta:g} | {fine.record:.3f}"
                    f" | {uniform.record:.3f} | {fine.aggregate_bayes:.4f}"
                    f" | {uniform.aggregate_bayes:.4f} |\n"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
