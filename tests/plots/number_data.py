"""Numbers that the tests of the plots draw."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sfumato.analysis.previews.number_estimates import EstimatesData, Figure, FigureEstimate
from sfumato.analysis.previews.previewed_numbers import DistributionData, ScatterData
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.plots.numbers import RecordBelief, RecordData
from sfumato.plots.pooled_numbers import BayesData, ErrorsData

COVARIANCE = np.array([[180.0, 80000.0], [80000.0, 4e8]])
TRUE = np.array([45.0, 61000.0])


def distribution(factor: float = 1.25) -> DistributionData:
    edges = np.linspace(0.0, 90.0, 31)
    middles = (edges[:-1] + edges[1:]) / 2

    def shares(spread):
        raw = np.exp(-(((middles - 40.0) / spread) ** 2) / 2)
        return raw / raw.sum()

    return DistributionData(
        "age", "Clinic A", edges, shares(13.0), shares(13.0 * factor), 13.0, 13.0 * factor
    )


def scatter(released: float = 0.3, rows: int = 300) -> ScatterData:
    random = np.random.default_rng(5)
    true = random.multivariate_normal([40.0, 50000.0], COVARIANCE, rows)
    noisy = true + random.multivariate_normal([0.0, 0.0], COVARIANCE, rows)
    return ScatterData(("age", "income $"), "Clinic A", true, noisy, 0.3, released)


def estimates() -> EstimatesData:
    return EstimatesData(
        "Clinic A",
        4000,
        (
            FigureEstimate(Figure.MEAN, "age", 38.6, 38.7, 0.1, 13.0),
            FigureEstimate(Figure.MEAN, "income", 52000.0, 53000.0, 300.0, 20000.0),
            FigureEstimate(Figure.SPREAD, "age", 13.0, 12.9, 0.15, 13.0),
            FigureEstimate(Figure.CORRELATION, "age and income", 0.3, 0.31, 0.02, 1.0),
        ),
    )


def record(members: int = 3, attributes: int = 2) -> RecordData:
    kept = slice(0, attributes)

    def belief(who, share, trust=None):
        part = COVARIANCE[kept, kept] * share
        return RecordBelief(who, TRUE[kept] * (1 - share / 10), part, trust)

    listed = [belief(f"Recipient {i}", 0.3 + i / 10, 0.9 - i / 10) for i in range(members)]
    return RecordData(
        ("age", "income")[:attributes],
        17,
        TRUE[kept],
        belief("Without any release", 1.0),
        tuple(listed),
        belief("Together, on the ladder", 0.3),
        belief("Together, independent noise", 0.12),
    )


def copies(count: int = 3) -> tuple[SimpleNamespace, dict[Dependence, np.ndarray]]:
    names = tuple(f"Recipient {i}" for i in range(1, count + 1))
    ladder = np.full(count, 0.2)
    linear = np.array([0.2, *np.zeros(count - 1)])
    coalition = SimpleNamespace(names=names, entry=SimpleNamespace(key="age + income"))
    return coalition, {
        Dependence.LADDER: ladder,
        Dependence.INDEPENDENT: 0.2 / np.arange(1, count + 1),
        Dependence.LINEAR: linear,
    }


def errors(members: int = 3) -> ErrorsData:
    at = np.linspace(0.0, 20.0, 401)
    return ErrorsData("age", members, "the means exactly", 13.0, at, at / 2)


def bayes(members: int = 3) -> BayesData:
    shares = 0.16 / np.arange(1, members + 1)
    names = tuple(f"Recipient {place}" for place in range(members))
    return BayesData(
        "age", names, np.full(members, 0.16), shares, np.full(members, 0.2), 3e-15, 1500
    )


def quantiles() -> EstimatesData:
    rows = [("10\u202f%", 21.0, 22.5), ("50\u202f%", 38.0, 37.6), ("90\u202f%", 58.0, 57.0)]
    found = tuple(
        FigureEstimate(Figure.QUANTILE, "age", true, value, 0.4, 13.0, at)
        for at, true, value in rows
    )
    return EstimatesData("Clinic A", 4000, found)


def regression() -> EstimatesData:
    return EstimatesData(
        "Clinic A",
        4000,
        (
            FigureEstimate(Figure.INTERCEPT, "income", 900.0, 1200.0, 500.0, 20000.0, "age"),
            FigureEstimate(Figure.SLOPE, "income", 900.0, 890.0, 10.0, 1500.0, "age"),
        ),
    )
