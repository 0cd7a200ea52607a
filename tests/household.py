"""A made-up household survey: persons with a row each, and as many columns as surveys have."""

from __future__ import annotations

import numpy as np
import pandas as pd

_CODED = {
    "sex": 2,
    "marital_status": 5,
    "citizenship": 6,
    "country_of_birth": 9,
    "education": 6,
    "occupation": 10,
    "industry": 12,
    "employment_status": 4,
    "contract": 3,
    "region": 8,
    "district": 24,
    "dwelling_type": 4,
    "tenure": 3,
    "heating": 5,
    "rooms": 8,
    "household_size": 7,
    "children": 5,
    "cars": 4,
    "bicycles": 6,
    "internet": 2,
    "language": 5,
    "smoker": 3,
    "disability": 2,
    "insurance": 4,
    "religion": 6,
    "school_type": 5,
    "commute": 5,
    "relation": 5,
}
"""How many values each column of codes has."""

_COUNTED = ("rooms", "household_size", "children", "cars", "bicycles")


def household_survey(rows: int = 400, seed: int = 1) -> pd.DataFrame:
    """Return the survey, 34 columns wide; its last column is a sampling weight.

    Parameters
    ----------
    rows
        How many persons there are, two in each household on average.
    seed
        Another seed makes up other persons.
    """
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "hhid": np.sort(draw.integers(1, max(rows // 2, 2), rows)) + 10_000,
            "age": draw.integers(0, 95, rows),
            "birth_year": 2024 - draw.integers(0, 95, rows),
        }
    )
    for name, values in _CODED.items():
        shares = 1 / np.arange(1, values + 1)
        codes = draw.choice(values, rows, p=shares / shares.sum())
        frame[name] = codes + 1 if name in _COUNTED else [f"{name[:3]}{code}" for code in codes]
    frame["income"] = np.round(np.exp(draw.normal(10, 0.7, rows)), 2)
    frame["rent"] = np.round(np.exp(draw.normal(6.5, 0.5, rows)))
    frame["weight"] = np.round(draw.uniform(200, 900, rows), 2)
    return frame
