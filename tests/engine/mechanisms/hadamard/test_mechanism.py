"""Hadamard retention as a mechanism: what it refuses, promises and recommends, and its checks."""

import math

import numpy as np
import pytest

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.errors import LadderError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.pooled_rows import chances
from sfumato.engine.matrices.estimate import estimate_frequencies
from sfumato.engine.matrices.hadamard_matrix import HadamardMatrix, SymbolSets
from sfumato.engine.matrices.worth import worth_of_shares
from sfumato.engine.mechanisms import mechanism_called, recommended
from sfumato.engine.mechanisms.base import Released
from sfumato.engine.mechanisms.hadamard import best_blocks
from sfumato.engine.table.table import Attribute
from tests.engine.categories import column_of, request_for

HADAMARD = mechanism_called("hadamard")
COLUMN = column_of([9_000, 3_000, 6_000, 2_000, 500])
ATTRIBUTES = (COLUMN.attribute,)
ONE, TWO = {"blocks": 1}, {"blocks": 2}


def listed(size):
    return (Attribute("d", Kind.CATEGORICAL, Domain(tuple(range(size))), np.ones(size, int)),)


@pytest.mark.parametrize("settings", [ONE, TWO])
@pytest.mark.parametrize("level", [0.05, 0.4, 0.9])
def test_the_odds_that_are_promised_are_the_largest_ratio_of_entries(level, settings):
    entries = HADAMARD.matrix(level, ATTRIBUTES, settings).dense()
    gamma = (entries.max(axis=1) / entries.min(axis=1)).max()
    assert gamma == pytest.approx(1 + 2 * settings["blocks"] * level / (1 - level))
    promise = HADAMARD.promise(level, ATTRIBUTES, settings)
    facts = {fact.symbol: fact.value for fact in promise.facts}
    assert facts["γ"] == pytest.approx(gamma)
    assert facts["ε"] == pytest.approx(math.log(gamma))
    assert (facts["m"], facts["B"]) == (5, settings["blocks"])
    assert any("for counting" in str(limit) for limit in promise.limits)
    assert any("5 codes cost 5 estimates" in str(limit) for limit in promise.limits)


def test_the_ends_of_the_ladder_promise_nothing_and_tell_nothing():
    assert "promises nothing" in str(HADAMARD.promised(1.0, ATTRIBUTES, ONE))
    assert "nothing about anyone" in str(HADAMARD.promised(0.0, ATTRIBUTES, ONE))
    assert HADAMARD.odds_factor(1.0, ATTRIBUTES, ONE) == math.inf
    assert HADAMARD.channel(0.0, ATTRIBUTES, ONE) is None
    assert HADAMARD.published(0.0, ATTRIBUTES, ONE).guide == "hadamard-noise"


@pytest.mark.parametrize(
    "statement", [{"epsilon": 1.5}, {"gamma": 6.0}, {"rho1": 0.1, "rho2": 0.4}]
)
def test_a_stated_promise_is_kept_and_used_up_whatever_the_number_of_codes(statement):
    wanted = {"epsilon": math.exp(1.5), "gamma": 6.0, "rho1": 6.0}[next(iter(statement))]
    levels = {HADAMARD.level(statement, listed(size), TWO) for size in (5, 1000, 20_000)}
    (level,) = levels
    gamma = HADAMARD.odds_factor(level, ATTRIBUTES, TWO)
    assert wanted * (1 - 1e-9) < gamma <= wanted


@pytest.mark.parametrize(
    ("size", "settings", "words"),
    [
        (2, ONE, "needs 3 codes or more; the domain of column d has 2"),
        (20_001, ONE, "takes 20,000 values at most"),
        (5, {"blocks": 3}, "5 codes can't be put into 3 blocks"),
        (5, {"blocks": 0}, "The setting blocks is not"),
        (5, {"blocks": 1.5}, "The setting blocks is not"),
        (5, {"blocks": "two"}, "The setting blocks is not"),
        (5, {"rows": 2}, "rows"),
    ],
)
def test_what_does_not_do_is_refused_by_name(size, settings, words):
    with pytest.raises(PolicyError) as refused:
        HADAMARD.check_settings(listed(size), settings)
    assert words in str(refused.value.sentence)


def test_another_number_of_blocks_is_another_ladder():
    assert HADAMARD.ladder_identity(ATTRIBUTES, ONE) != HADAMARD.ladder_identity(ATTRIBUTES, TWO)
    upper, lower = HADAMARD.matrix(0.5, ATTRIBUTES, ONE), HADAMARD.matrix(0.2, ATTRIBUTES, TWO)
    with pytest.raises(LadderError, match="different sets"):
        upper.garbling_to(lower)
    same = HADAMARD.matrix(0.2, ATTRIBUTES, ONE)
    assert upper.garbling_to(same).dense() @ upper.dense() == pytest.approx(same.dense())
    assert not upper.test_garbling_of(same).holds


def test_earlier_releases_are_not_adopted():
    assert not HADAMARD.adopts


def test_it_is_recommended_for_long_lists_to_be_counted():
    name, why = recommended(listed(500))
    assert name == "hadamard"
    assert str(why).startswith("500 codes to be counted")
    assert recommended(listed(499))[0] == "uniform"


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0])
def test_the_best_number_of_blocks_has_the_smallest_error(epsilon):
    gamma = math.exp(epsilon)

    def error(blocks):
        p = (gamma - 1) / (gamma - 1 + 2 * blocks)
        matrix = HadamardMatrix(p, SymbolSets(1000, blocks))
        return matrix.apply_squared_inverse(np.full(matrix.outcomes, 1 / matrix.outcomes)).mean()

    best = best_blocks(gamma, 1000)
    assert error(best) == min(error(blocks) for blocks in range(1, 200))
    assert best_blocks(gamma, 5) <= 2


@pytest.mark.parametrize("settings", [ONE, TWO])
def test_a_sound_release_passes_its_checks_and_others_do_not(settings):
    request = request_for(COLUMN, settings, 0.5)
    columns = HADAMARD.release(request, Silent())
    assert all(check.holds for check in HADAMARD.check_release(request, Released(0.5, columns)))
    shown = columns["Disease"].astype(int)
    symbols = HADAMARD.matrix(0.5, ATTRIBUTES, settings).outcomes
    wrong = {
        "another level": (0.6, shown),
        "the same symbol for all": (0.5, shown * 0 + 1),
        "rows moved": (0.5, shown.iloc[::-1].reset_index(drop=True)),
        "no symbol": (0.5, shown.replace(0, symbols)),
        "rows lost": (0.5, shown.iloc[:-1]),
    }
    for what, (level, column) in wrong.items():
        checks = HADAMARD.check_release(request, Released(level, {"Disease": column}))
        assert not all(check.holds for check in checks), what


def test_worth_follows_from_the_variance_of_one_estimate():
    shares, records, p = np.arange(1, 1001) / 500_500, 100_000, 0.4
    found = worth_of_shares(shares, HadamardMatrix(p, SymbolSets(1000)), records)
    variances = (1 - p**2 * shares**2) / p**2
    wanted = records * (1 - (shares**2).sum()) / variances.sum()
    assert found.records == pytest.approx(wanted)
    by_code = records * shares * (1 - shares) / variances
    assert found.by_value == pytest.approx(by_code)


def test_estimates_are_unbiased_and_their_variance_is_that_of_the_law():
    """Over all symbols: the mean of estimates, and of their squares."""
    matrix, shares = HadamardMatrix(0.3, SymbolSets(20, 3)), np.arange(1, 21) / 210
    shown = matrix.apply(shares)
    assert matrix.solve(shown) == pytest.approx(shares)
    estimate = estimate_frequencies(np.round(shown * 1e9), matrix)
    each = np.array([matrix.solve(row) for row in np.eye(matrix.outcomes)])
    variance = shown @ each**2 - shares
    assert estimate.standard_errors == pytest.approx(np.sqrt(variance / estimate.records), rel=1e-6)


@pytest.mark.slow
def test_pooling_rows_of_a_unit_tells_more_the_more_rows_there_are():
    matrix, prior = HadamardMatrix(0.5, SymbolSets(100)), np.full(100, 1 / 100)
    one, three = (float(chances(matrix, prior, rows)[0] @ prior) for rows in (1, 3))
    joint = matrix.dense() / 100
    assert one == pytest.approx(joint.max(axis=1).sum(), abs=0.01)
    assert three > 1.5 * one
