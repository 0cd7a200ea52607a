"""Households with several members each: what is the same in a household, and what is not.

    python -m tests.samples.make_households households.csv

``water`` is where a household gets its water from, so it is the same for all its members;
``illness`` is each member's own, and ``visits`` are numbers. Nothing in it is about anybody.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

WATER = ("piped", "well", "spring", "truck", "river")
ILLNESS = ("none", "flu", "asthma", "diabetes")
REGIONS = ("north", "east", "south", "west")


def households(count: int = 1_000, seed: int = 13) -> pd.DataFrame:
    """Return a table of persons in households, in random order of rows."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(1 + rng.poisson(3.2, count), 9)
    of = np.repeat(np.arange(count), sizes)
    rows = len(of)
    water = rng.choice(len(WATER), count, p=(0.4, 0.25, 0.15, 0.12, 0.08))
    frame = pd.DataFrame(
        {
            "person": [f"p{number:05d}" for number in range(rows)],
            "household": [f"h{number:04d}" for number in of],
            "region": np.asarray(REGIONS)[rng.integers(0, 4, count)[of]],
            "sex": np.where(rng.random(rows) < 0.5, "f", "m"),
            "water": np.asarray(WATER)[water[of]],
            "rent": np.round(rng.gamma(4.0, 100.0, count), 0)[of],
            "illness": np.asarray(ILLNESS)[rng.choice(4, rows, p=(0.6, 0.2, 0.15, 0.05))],
        }
    )
    return frame.iloc[rng.permutation(rows)].reset_index(drop=True)


if __name__ == "__main__":
    households().to_csv(Path(sys.argv[1]), index=False)
