"""Made-up tables on which plans are judged: a wide household survey, companies, and visits.

    python -m tests.useful survey.csv
    python -m tests.useful companies.csv companies
    python -m tests.useful visits.csv visits

Amounts are skewed as they are in life, and columns hang together: whoever is older is less often
single, whoever has more spends more. Nothing in them is about anybody.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

_ASKED = {
    "roof": ("tiles", "sheet", "thatch", "other"),
    "walls": ("brick", "wood", "mud", "other"),
    "floor": ("cement", "earth", "wood", "tiles"),
    "toilet": ("flush", "latrine", "shared", "none"),
    "water": ("piped", "well", "spring", "truck", "river"),
    "light": ("mains", "solar", "lamp", "candles"),
    "fuel": ("gas", "wood", "coal", "electric", "dung"),
    "tenure": ("owner", "tenant", "free"),
    "radio": ("yes", "no"),
    "television": ("yes", "no"),
    "fridge": ("yes", "no"),
    "bicycle": ("yes", "no"),
    "motorbike": ("yes", "no"),
    "car": ("yes", "no"),
    "phone": ("yes", "no"),
    "internet": ("yes", "no"),
    "bank_account": ("yes", "no"),
    "livestock": ("yes", "no"),
}
"""What is asked of each household, the commonest answer first."""
_REGIONS = 12
_RELATIONS = ("head", "spouse", "child", "other")


def _commonest_first(draw: np.random.Generator, values: tuple[str, ...], rows: int) -> np.ndarray:
    shares = 1.0 / np.arange(1, len(values) + 1)
    return draw.choice(np.array(values), rows, p=shares / shares.sum())


def wide_survey(households: int = 1_000, seed: int = 31) -> pd.DataFrame:
    """Return persons in households, 40 columns wide: amounts with long tails, and weights.

    Parameters
    ----------
    households
        How many there are, of about 4.6 persons each.
    seed
        Another seed makes up other persons.
    """
    draw = np.random.default_rng(seed)
    sizes = 1 + draw.poisson(3.6, households)
    of = np.repeat(np.arange(households), sizes)
    rows = len(of)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = np.arange(rows) - np.repeat(first, sizes)
    relation = np.array(_RELATIONS)[np.minimum(place, 3 - (place == 2))]
    adult = place < 2
    age = np.where(adult, draw.integers(20, 85, rows), draw.integers(0, 30, rows))
    married = (draw.random(rows) < 0.7) & (age >= 18)
    wealth = draw.normal(0.0, 0.8, households)
    frame = pd.DataFrame(
        {
            "person_id": np.arange(1, rows + 1) + 100_000,
            "household_id": of + 5_000,
            "region": np.array([f"region {n:02d}" for n in range(1, _REGIONS + 1)])[
                draw.integers(0, _REGIONS, households)
            ][of],
            "urban": _commonest_first(draw, ("rural", "urban"), households)[of],
            "household_size": sizes[of],
            "relation": relation,
            "sex": draw.choice(["f", "m"], rows),
            "age": age,
            "marital_status": np.where(married, "married", "single"),
            "education": _commonest_first(draw, ("primary", "secondary", "none", "tertiary"), rows),
            "occupation": _commonest_first(draw, tuple(f"group {n}" for n in range(1, 10)), rows),
            "employment": _commonest_first(draw, ("own account", "employee", "unpaid"), rows),
            "literate": _commonest_first(draw, ("yes", "no"), rows),
            "birthplace": _commonest_first(draw, ("here", "elsewhere", "abroad"), rows),
        }
    )
    for name, values in _ASKED.items():
        frame[name] = _commonest_first(draw, values, households)[of]
    frame["religion"] = _commonest_first(draw, tuple("ABCDE"), households)[of]
    frame["disability"] = _commonest_first(draw, ("none", "sight", "hearing", "walking"), rows)
    earned = np.exp(16.0 + wealth[of] + draw.normal(0.0, 0.6, rows))
    frame["income"] = np.round(earned, -3)
    frame["expend"] = np.round(np.exp(15.6 + 0.8 * wealth + draw.normal(0, 0.4, households)), -3)[
        of
    ]
    frame["savings"] = np.round(
        np.where(
            draw.random(rows) < 0.4, 0.0, np.exp(13.0 + wealth[of] + draw.normal(0, 1.1, rows))
        ),
        -3,
    )
    frame["debts"] = np.round(
        np.where(
            draw.random(households) < 0.5, 0.0, np.exp(14.0 + draw.normal(0, 1.2, households))
        ),
        -3,
    )[of]
    frame["rent"] = np.round(np.exp(12.0 + 0.5 * wealth + draw.normal(0, 0.3, households)), -2)[of]
    frame["weight"] = np.round(draw.lognormal(5.0, 0.5, households), 2)[of]
    return frame.iloc[draw.permutation(rows)].reset_index(drop=True)


def many_companies(rows: int = 2_000, seed: int = 32) -> pd.DataFrame:
    """Return companies, a few of them far larger than all others."""
    draw = np.random.default_rng(seed)
    turnover = np.round((draw.pareto(1.4, rows) + 0.02) * 2e5)
    return pd.DataFrame(
        {
            "company_id": np.arange(70_000, 70_000 + rows),
            "sector": _commonest_first(draw, tuple("ABCDEFGH"), rows),
            "region": draw.choice(["north", "south", "east", "west"], rows),
            "legal_form": _commonest_first(draw, ("private", "public", "partnership"), rows),
            "founded": 2024 - np.minimum(draw.geometric(0.06, rows), 120),
            "employees": np.maximum((turnover / 9e4).astype(int), 1),
            "turnover": turnover,
            "profit": np.round(turnover * draw.normal(0.05, 0.2, rows)),
            "insolvent": draw.choice(["yes", "no"], rows, p=[0.06, 0.94]),
        }
    )


def many_visits(patients: int = 1_500, seed: int = 33) -> pd.DataFrame:
    """Return visits of patients, a few each, with long-tailed costs and missing diagnoses."""
    draw = np.random.default_rng(seed)
    of = np.repeat(np.arange(patients), draw.integers(1, 4, patients))
    rows = len(of)
    codes = tuple(f"{letter}{number}" for letter in "ACEJK" for number in range(3))
    diagnosis = pd.Series(_commonest_first(draw, codes, rows))
    return pd.DataFrame(
        {
            "patient": [f"p{number:05d}" for number in of],
            "sex": draw.choice(["f", "m"], patients)[of],
            "birth_year": draw.integers(1930, 2015, patients)[of],
            "district": _commonest_first(draw, tuple(f"d{n}" for n in range(1, 9)), patients)[of],
            "ward": draw.choice(["surgery", "medicine", "children"], rows),
            "admission": _commonest_first(draw, ("planned", "urgent"), rows),
            "diagnosis": diagnosis.mask(draw.random(rows) < 0.05),
            "cost": draw.lognormal(6.0, 1.0, rows).round(2),
        }
    )


TABLES = {"survey": wide_survey, "companies": many_companies, "visits": many_visits}


if __name__ == "__main__":
    TABLES[sys.argv[2] if len(sys.argv) > 2 else "survey"]().to_csv(sys.argv[1], index=False)
