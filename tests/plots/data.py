"""Data that the tests of the plots draw."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sfumato.analysis.coalitions.coalitions import CoalitionAnswer
from sfumato.analysis.previews.previewed_values import UtilityData
from sfumato.plots.beliefs import PosteriorData
from sfumato.plots.ladders import LadderData, LadderRung
from sfumato.plots.matrices import MatrixData

NAMES = ("flu", "asthma", "cancer $1 and $2", "none")
TRUE = np.array([0.4, 0.3, 0.2, 0.1])


def matrix(size: int = 4, retention: float = 0.6) -> MatrixData:
    names = NAMES if size == 4 else tuple(f"value {i}" for i in range(size))
    other = (1 - retention) / size
    shares = np.full((size, size), other) + retention * np.eye(size)
    own = retention + other
    return MatrixData(names, shares, size, size, (own, own), (other, other), "Clinic A")


def posterior(seen: int = 0) -> PosteriorData:
    after = np.full(4, 0.1)
    after[seen] = 0.7
    return PosteriorData(NAMES, TRUE, after, seen)


def utility() -> UtilityData:
    estimated = TRUE + np.array([0.012, -0.012, 0.004, -0.004])
    return UtilityData(NAMES, TRUE, estimated, estimated - 0.01, estimated + 0.01, 0.95, "Clinic A")


def collusion(members: int = 3, uncertainty: float = 0.0) -> CoalitionAnswer:
    places = range(1, members + 1)
    held = tuple(SimpleNamespace(recipient=f"Recipient {i}", trust=0.6 / i) for i in places)
    independent = SimpleNamespace(guessed=0.71, guessed_error=uncertainty)
    risk, alone = SimpleNamespace(independent=independent), tuple(0.63 / i for i in places)
    return CoalitionAnswer("disease", held, np.ones(4), risk, alone, 0.4)


def ladder(**changes: object) -> LadderData:
    rungs = (
        LadderRung("Public", 0.1, "p = 0.1"),
        LadderRung("Clinic A", 0.6, "p = 0.6", "odds at most 22"),
        LadderRung("Institute", 0.3, "p = 0.3"),
    )
    return LadderData("disease", **{"rungs": rungs, **changes})
