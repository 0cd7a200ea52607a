"""Made-up household surveys, with as many columns as surveys have.

``python -m tests.household FILE.csv`` writes one of 1,000 households.
"""

from __future__ import annotations

import sys

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


def households(count: int = 1_000, seed: int = 1) -> pd.DataFrame:
    """Return a survey of 34 columns whose persons live together, as a statistical office has it.

    What a household has is the same for its persons, as is its weight; incomes, wealth and rents
    are skewed, children earn nothing, and some answers are missing.

    Parameters
    ----------
    count
        How many households there are, with about 2.3 persons each.
    seed
        Another seed makes up other persons.
    """
    draw = np.random.default_rng(seed)
    homes = _homes(draw, count)
    size = homes["household_size"].to_numpy()
    frame = homes.loc[homes.index.repeat(size)].reset_index(drop=True)
    frame.insert(1, "person_number", np.concatenate([np.arange(1, each + 1) for each in size]))
    rows, number = len(frame), frame["person_number"]
    child = (number > 2) | ((number == 2) & (draw.random(rows) < 0.15))
    age = np.where(child, draw.integers(0, 26, rows), draw.integers(22, 93, rows))
    frame["birth_year"] = 2024 - age
    for name, values in _PERSONS.items():
        frame[name] = _coded(draw, name, values, rows)
    frame["relation"] = np.select([number == 1, child], ["head", "child"], "partner")
    works = (age > 17) & (age < 67) & (draw.random(rows) < 0.75)
    for name in ("occupation", "industry", "contract", "commute"):
        frame[name] = frame[name].where(works)
    wage = np.exp(draw.normal(10.1, 0.8, rows)) * works
    frame["income"] = np.round(np.where(age > 66, np.exp(draw.normal(9.7, 0.4, rows)), wage), 2)
    frame["hours_worked"] = np.where(works, draw.integers(8, 56, rows), 0)
    frame["doctor_visits"] = draw.poisson(1 + age / 20)
    return frame


_HOMES = {"region": 8, "dwelling_type": 4, "tenure": 3, "heating": 5, "internet": 2}
_PERSONS = {
    "sex": 2,
    "marital_status": 5,
    "citizenship": 6,
    "country_of_birth": 9,
    "education": 6,
    "employment_status": 4,
    "occupation": 10,
    "industry": 12,
    "contract": 3,
    "commute": 5,
    "language": 5,
    "religion": 6,
    "smoker": 3,
    "disability": 2,
    "insurance": 4,
}
"""How many values each column of codes has, of a household and of a person."""


def _homes(draw: np.random.Generator, count: int) -> pd.DataFrame:
    """Return a row for each household."""
    homes = pd.DataFrame({"hhid": np.sort(draw.choice(90_000, count, replace=False)) + 10_000})
    for name, values in _HOMES.items():
        homes[name] = _coded(draw, name, values, count)
    homes["district"] = homes["region"] + draw.choice(list("abc"), count)
    homes["household_size"] = draw.choice(range(1, 8), count, p=(35, 30, 14, 12, 5, 3, 1) / _WHOLE)
    homes["rooms"] = homes["household_size"] // 2 + draw.integers(1, 5, count)
    homes["cars"] = draw.binomial(3, 0.35, count)
    homes["rent"] = np.round(np.exp(draw.normal(6.5, 0.5, count)))
    homes["wealth"] = np.round(np.exp(draw.normal(10, 1.6, count)), 2)
    homes["weight"] = np.round(np.exp(draw.normal(6, 0.4, count)), 2)
    return homes


_WHOLE = np.full(7, 100)


def _coded(draw: np.random.Generator, name: str, values: int, rows: int) -> list[str]:
    shares = 1 / np.arange(1, values + 1)
    return [f"{name[:3]}{code}" for code in draw.choice(values, rows, p=shares / shares.sum())]


if __name__ == "__main__":
    households().to_csv(sys.argv[1], index=False)
