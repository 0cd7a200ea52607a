"""Every mechanism's worth, beside releases that are simulated and estimated from by plain sums."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from sfumato.analysis.utility.mechanism_choice import MechanismChoice, compare_mechanisms
from sfumato.analysis.utility.worth_figures import RecordsBehind
from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document

COUNTS = np.array([800, 500, 300, 200, 140, 60])
ROWS = int(COUNTS.sum())
ILLNESS = Attribute(
    "illness",
    Kind.CATEGORICAL,
    Domain(tuple("abcdef")),
    COUNTS,
    codes=np.repeat(np.arange(6), COUNTS),
)
INCOME = Attribute(
    "income", Kind.NUMERIC, numbers=np.exp(np.random.default_rng(8).normal(10.0, 0.8, ROWS))
)
OF_VALUES = ("uniform", "distribution", "hierarchical", "hadamard", "finegrain", "matrix")
OF_NUMBERS = ("laplace", "gaussian")


def compared(attribute: Attribute) -> MechanismChoice:
    behind = RecordsBehind.of_rows(ROWS)
    return compare_mechanisms(Document(title=""), (attribute,), None, behind, KeyedNoise.passing())


@cache
def of_values() -> MechanismChoice:
    return compared(ILLNESS)


@cache
def of_numbers() -> MechanismChoice:
    return compared(INCOME)


def estimated(released: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Return shares from those that are released: by the inverse, or by each code's own symbols.

    Of each block of four symbols two are a code's own; whoever has another code shows the other two
    as often.
    """
    if entries.shape[0] == entries.shape[1]:
        return released @ np.linalg.inv(entries).T
    own = entries > 2 * entries.min()
    blocks = np.repeat(own.reshape(-1, 4, entries.shape[1]).any(axis=1), 4, axis=0)
    contrast = own.astype(float) - (blocks & ~own)
    return released @ contrast / (entries * contrast).sum(axis=0)


def simulated_shares(name: str, tries: int = 3_000) -> tuple[float, float]:
    """Return the worth that simulated releases have, and its error."""
    option, mechanism = of_values().option(name), mechanism_called(name)
    assert option is not None
    level = mechanism.level(option.statement, (ILLNESS,), option.settings)
    entries = mechanism.matrix(level, (ILLNESS,), option.settings).dense()
    shares, draw = COUNTS / ROWS, np.random.default_rng(20)
    released = draw.multinomial(ROWS, entries @ shares, tries) / ROWS
    squares = ((estimated(released, entries) - shares) ** 2).sum(axis=1)
    worth = (1 - shares @ shares) / squares.mean()
    return worth, worth * squares.std() / squares.mean() / np.sqrt(tries)


def simulated_mean(name: str, tries: int = 2_000) -> tuple[float, float]:
    """Return the same of a mean, by the noise that a README publishes."""
    option, mechanism = of_numbers().option(name), mechanism_called(name)
    assert option is not None
    level = mechanism.level(option.statement, (INCOME,), option.settings)
    told = mechanism.published(level, (INCOME,), option.settings).parameters
    true, draw = INCOME.numbers, np.random.default_rng(21)
    assert true is not None
    squares = []
    for _ in range(tries):
        drawn = true[draw.integers(0, ROWS, ROWS)]
        if name == "laplace":
            step, keeps = told["step"], -np.expm1(-told["noise_rate"])
            drawn = np.round(np.clip(drawn, told["lowest"], told["highest"]) / step) * step
            ups, downs = draw.geometric(keeps, (2, ROWS))
            drawn = drawn + step * (ups - downs)
        else:
            spread = np.sqrt(told["sigma_squared"] * told["covariance"][0][0])
            drawn = drawn + spread * draw.standard_normal(ROWS)
        squares.append((drawn.mean() - true.mean()) ** 2)
    found = np.array(squares)
    worth = true.var() / found.mean()
    return worth, worth * found.std() / found.mean() / np.sqrt(tries)


@pytest.mark.parametrize("name", OF_VALUES)
def test_a_mechanism_of_values_is_worth_what_its_simulated_releases_are(name):
    worth, error = simulated_shares(name)
    assert abs(of_values().option(name).records - worth) < 4 * error


@pytest.mark.few(1)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_noise_on_numbers_is_worth_what_simulated_releases_are(name):
    worth, error = simulated_mean(name)
    assert abs(of_numbers().option(name).records - worth) < 4 * error


def test_what_is_recommended_beats_its_rivals_in_simulated_releases_too():
    assert {one.mechanism for one in of_values().options} == set(OF_VALUES)
    assert {one.mechanism for one in of_numbers().options} == set(OF_NUMBERS)
    best = of_values().best.mechanism
    worth = {name: simulated_shares(name) for name in OF_VALUES}
    for name in OF_VALUES:
        assert worth[name][0] <= worth[best][0] + 4 * (worth[name][1] + worth[best][1])
