"""Profile and released value together: what they tell, by exact laws and this file's own code."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Origin
from sfumato.engine.mechanisms.frequency_source import (
    FrequencySource,
    frequencies_in,
    usual_frequencies,
)
from tests.engine.categories import column_of
from tests.noise import NOISE
from tests.thorough import tried

FINE = mechanism_called("finegrain")
OTHERS = (3, 1, 1)
"""The records that an attacker knows, by value; the last person's is not known."""
VALUES = 3
REACH = 12
STEP = REACH // (tried(7, least=4) - 1)
"""Of the noisy counts from -1 to 11 these are tried; the promise holds of any part of them."""
LIMITS = {
    "mode": "strict",
    "limits": [
        {"value": "SARS", "rho1": 0.1, "rho2": 0.2},
        {"value": "HIV", "rho1": 0.1, "rho2": 0.3},
        {"value": "H1N1", "rho1": 0.1, "rho2": 0.5},
    ],
}
GAMMAS = [0.2 * 0.9 / (0.1 * 0.8), 0.3 * 0.9 / (0.1 * 0.7), 0.5 * 0.9 / (0.1 * 0.5)]


def counts_with(value):
    return tuple(n + (place == value) for place, n in enumerate(OTHERS))


def law_of(noisy, exact, epsilon):
    """The probability of noisy counts: discrete Laplace with ratio exp(−ε0/2), each by itself."""
    r = math.exp(-epsilon / 2)
    return math.prod((1 - r) / (1 + r) * r ** abs(a - b) for a, b in zip(noisy, exact, strict=True))


def profile_of(noisy, settings):
    made = FINE.complete_settings(
        (column_of(counts_with(0)).attribute,), {**settings, "noisy_counts": list(noisy)}, NOISE
    )
    return tuple(made["profile"])


@cache
def worst_odds(epsilon):
    """By how much the pair (profile, released value) moves the odds on each value, up and down."""
    settings = {**LIMITS, "frequencies": "noisy", "frequencies_epsilon": epsilon}
    joint = [defaultdict(float) for _ in range(VALUES)]  # of the last person's value
    for noisy in itertools.product(range(-1, REACH, STEP), repeat=VALUES):
        profile = profile_of(noisy, settings)
        for true in range(VALUES):
            weight = law_of(noisy, counts_with(true), epsilon)
            for seen in range(VALUES):
                kept = profile[true] if seen == true else 0.0
                joint[true][profile, seen] += weight * (kept + (1 - profile[true]) / VALUES)
    up = [
        max(joint[i][seen] / joint[j][seen] for j in range(VALUES) for seen in joint[i])
        for i in range(VALUES)
    ]
    down = [
        min(joint[i][seen] / joint[j][seen] for j in range(VALUES) for seen in joint[i])
        for i in range(VALUES)
    ]
    return up, down


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("epsilon", [0.5, 0.1])
def test_profile_and_value_together_keep_every_limit(epsilon):
    settings = {**LIMITS, "frequencies": "noisy", "frequencies_epsilon": epsilon}
    up, down = worst_odds(epsilon)
    assert all(odds <= gamma * (1 + 1e-12) for odds, gamma in zip(up, GAMMAS, strict=True))
    assert all(odds >= (1 - 1e-12) / gamma for odds, gamma in zip(down, GAMMAS, strict=True))
    # Whatever the promise counts beside the limit is not idle: the profiles do differ.
    profiles = {profile_of(noisy, settings) for noisy in [(9, 1, 1), (1, 9, 1), (1, 1, 9)]}
    assert len(profiles) > 1


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_promise_is_not_below_what_exact_laws_give():
    epsilon = 0.5
    settings = {**LIMITS, "frequencies": "noisy", "frequencies_epsilon": epsilon}
    up, _ = worst_odds(epsilon)
    attributes = (column_of(counts_with(0)).attribute,)
    for noisy in [(9, 1, 1), (1, 9, 1), (1, 1, 9), (5, 1, 1)]:
        whole = FINE.complete_settings(attributes, {**settings, "noisy_counts": list(noisy)}, NOISE)
        level = FINE.level({"trust_factor": 1.0}, attributes, whole)
        facts = {f.symbol: f.value for f in FINE.promise(level, attributes, whole).facts}
        kept = np.array(whole["profile"])
        matrix = np.diag(kept) + (1 - kept) / VALUES
        alone = max((row / row.min()).max() for row in matrix)
        assert facts["γ"] == pytest.approx(alone * math.exp(epsilon), rel=1e-9)
        assert facts["γ"] >= alone * math.exp(epsilon)
        assert facts["ε"] == pytest.approx(math.log(alone) + epsilon)
        assert facts["ε0"] == epsilon
        assert facts["ρ2"] == pytest.approx(facts["γ"] * 0.1 / (0.9 + facts["γ"] * 0.1))
        assert facts[""] == 0
        told = FINE.published(level, attributes, whole).parameters
        assert told["odds_factor"] == facts["γ"]
        assert FINE.odds_factor(level, attributes, whole) == facts["γ"]
        assert told["frequencies_epsilon"] == epsilon
        assert facts["γ"] <= max(GAMMAS) * (1 + 1e-12)
    assert max(up) > 1


def test_a_recipients_limit_counts_the_frequencies():
    attributes = (column_of((50, 30, 20)).attribute,)
    noisy = FINE.first_settings(attributes, NOISE)
    cost = FINE.byproduct_epsilon(noisy)
    assert cost == 0.1
    level = FINE.level({"epsilon": 0.5}, attributes, noisy)
    assert FINE.matrix(level, attributes, noisy).epsilon <= 0.5 - cost
    assert FINE.matrix(level, attributes, noisy).epsilon == pytest.approx(0.5 - cost, abs=1e-6)
    restated = FINE.restate(level, attributes, noisy)
    assert restated["epsilon"]["epsilon"] == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(LevelError, match="leaves nothing"):
        FINE.level({"epsilon": 0.05}, attributes, noisy)


def test_tables_that_differ_in_one_record_keep_their_own_drawn_frequencies():
    one, other = ((column_of(c).attribute,) for c in ((50, 30, 20), (49, 31, 20)))
    first = FINE.first_settings(one, NOISE)
    assert FINE.first_settings(one, NOISE) == first
    assert FINE.first_settings(other, NOISE)["noisy_counts"] != first["noisy_counts"]
    # New limits keep what was drawn; so does another table.
    again = {k: v for k, v in first.items() if k != "profile"}
    assert FINE.complete_settings(other, again, NOISE)["profile"] == first["profile"]


@pytest.mark.parametrize("chosen", [{"frequencies": "equal"}, {"shares": [5, 3, 2]}])
def test_frequencies_that_are_not_from_the_table_cost_nothing(chosen):
    settings = {**LIMITS, "frequencies": "stated", **chosen}
    made = [
        FINE.complete_settings((column_of(c).attribute,), settings, NOISE)
        for c in ((50, 30, 20), (0, 1, 99))
    ]
    assert made[0] == made[1]
    assert FINE.byproduct_epsilon(made[0]) == 0.0
    assert FINE.byproducts((column_of((50, 30, 20)).attribute,), made[0]) == ()


def test_a_profile_from_exact_counts_is_named_as_a_danger():
    attributes = (column_of((50, 30, 20)).attribute,)
    old = {"mode": "strict", "theta": 3.0, "limits": [], "profile": [0.1, 0.2, 0.2]}
    assert math.isinf(FINE.byproduct_epsilon(old))
    promise = FINE.promise(0.2, attributes, old)
    assert "anyone who knows all other records can" in promise.sentence
    assert {f.symbol: f.value for f in promise.facts}["γ"] == math.inf
    assert FINE.published(0.2, attributes, old).parameters["odds_factor"] is None
    assert [each.origin for each in FINE.byproducts(attributes, old)] == [Origin.EXACT]
    solved = FINE.complete_settings(
        attributes, {k: v for k, v in old.items() if k != "profile"}, NOISE
    )
    assert math.isfinite(FINE.byproduct_epsilon(solved))


def test_limits_that_leave_nothing_are_refused_by_name():
    attributes = (column_of((50, 30, 20)).attribute,)
    settings = {**LIMITS, "frequencies": "noisy", "frequencies_epsilon": 1.0}
    with pytest.raises(LevelError, match="limit of SARS") as refused:
        FINE.complete_settings(attributes, settings, NOISE)
    assert "below 0.81" in refused.value.remedy


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"frequencies": "exact"}, "not one of"),
        ({"frequencies": 7}, "not one of"),
        ({"frequencies": "noisy", "frequencies_epsilon": 0}, "ε0"),
        ({"frequencies": "noisy", "frequencies_epsilon": "0.1"}, "ε0"),
        ({"frequencies": "stated", "shares": [1, -1, 2]}, "shares is not a list of numbers"),
        ({"frequencies": "stated"}, "shares is not a list of numbers"),
        ({"frequencies": "stated", "shares": [1, 2]}, "2 numbers for 3 values"),
    ],
)
def test_frequencies_that_are_none_are_refused(wrong, said):
    with pytest.raises((PolicyError, LevelError), match=said):
        FINE.complete_settings((column_of((5, 3, 2)).attribute,), {**LIMITS, **wrong}, NOISE)


@pytest.mark.parametrize(
    ("records", "epsilon"), [(0, 0.1), (29, 0.1), (9_000, 0.04), (10**7, 0.01)]
)
def test_few_records_spend_more_on_frequencies_but_never_above_a_tenth(records, epsilon):
    assert usual_frequencies(records).epsilon == epsilon
    assert frequencies_in({}, records).source is FrequencySource.NOISY
