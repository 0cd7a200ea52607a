"""Made-up tables of the kinds that custodians hold: nothing in them is about anybody.

    python -m tests.samples.tables companies companies.csv

Households have members (`tests.samples.make_households`), companies have amounts that are sums of
others, and patients come several times.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from tests.samples.make_households import households

DIAGNOSES = ("cold", "flu", "asthma", "fracture")


def companies(count: int = 2_500, seed: int = 5) -> pd.DataFrame:
    """Return companies whose result is revenue less costs, and whose sector tells insolvency."""
    rng = np.random.default_rng(seed)
    revenue = rng.lognormal(11.0, 0.8, count).round()
    costs = (revenue * rng.uniform(0.5, 0.95, count)).round()
    staff = 1.0 + rng.poisson(12.0, count)
    sector = rng.choice(list("ABCD"), count)
    failing = (sector == "A") & (rng.random(count) < 0.8)
    usual = rng.choice(["no", "yes", "pending"], count, p=[0.7, 0.2, 0.1])
    return pd.DataFrame(
        {
            "firm": [f"F{place}" for place in range(count)],
            "sector": sector,
            "staff": staff,
            "revenue": revenue,
            "costs": costs,
            "result": revenue - costs,
            "wages": (2_000.0 * staff + rng.normal(0.0, 4_000.0, count)).round(),
            "insolvency": np.where(failing, "yes", usual),
        }
    )


def visits(patients: int = 400, seed: int = 7) -> pd.DataFrame:
    """Return visits, up to eight of a patient, whose ward tells the diagnosis of most."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(patients), rng.integers(1, 9, patients))
    rows = len(of)
    diagnosis = rng.choice(len(DIAGNOSES), rows, p=(0.4, 0.3, 0.2, 0.1))
    ward = np.where(rng.random(rows) < 0.7, diagnosis, rng.integers(0, len(DIAGNOSES), rows))
    frame = pd.DataFrame(
        {
            "visit": [f"v{number:05d}" for number in range(rows)],
            "patient": [f"p{number:04d}" for number in of],
            "sex": np.where(rng.random(patients) < 0.5, "f", "m")[of],
            "age": rng.integers(0, 95, patients)[of],
            "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), "D"),
            "ward": np.array(list("KLMN"))[ward],
            "diagnosis": np.array(DIAGNOSES)[diagnosis],
        }
    )
    return frame.iloc[rng.permutation(rows)].reset_index(drop=True)


TABLES = {"households": households, "companies": companies, "visits": visits}

if __name__ == "__main__":
    TABLES[sys.argv[1]]().to_csv(Path(sys.argv[2]), index=False)
