"""Examining noisy numbers without keys: sound releases pass, unsound ones are told apart."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.engine.mechanisms.base import Released
from sfumato.engine.mechanisms.gaussian.checks import (
    chance_of_product,
    chance_of_shape,
    chance_of_sum,
)
from tests.engine.numbers import (
    GAUSSIAN,
    attributes_of,
    number_columns,
    people,
    released,
    request,
    stated_settings,
)
from tests.noise import NOISE
from tests.thorough import tried

PEOPLE = people(8000)
BOTH = attributes_of(PEOPLE)
PLAIN = GAUSSIAN.first_settings(BOTH, NOISE)
FORMS = {
    "plain": {},
    "separate": {"noise": "separate"},
    "whole ages": {"rounding": {"age": 1}},
    "coarse": {"rounding": {"age": 10, "income": 5}},
    "bounds": {"lowest": {"age": 17, "income": 0}, "highest": {"age": 90}},
    "both": {"rounding": {"age": 4}, "lowest": {"age": 17.5}, "highest": {"age": 61}},
}
COARSE = ("coarse", "both")
LEVELS = (0.05, 1.0, 6.0)


def sound(form, level, **changes):
    chosen = {**PLAIN, **FORMS[form]}
    return chosen, released(PEOPLE, chosen, level, **changes)


def failing(checks):
    return [check.title for check in checks if not check.holds]


def examined(form, out, level=None):
    chosen = {**PLAIN, **FORMS[form]}
    out = out if level is None else Released(level, out.columns)
    return failing(GAUSSIAN.check_release(request(PEOPLE, chosen, out.level), out))


def changed(out, **columns):
    return Released(out.level, {**out.columns, **columns})


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("form", FORMS)
def test_a_sound_release_passes(form, level):
    chosen, out = sound(form, level)
    checks = GAUSSIAN.check_release(request(PEOPLE, chosen, level), out)
    assert failing(checks) == []
    assert {"Number of records", "Missing numbers", "Size and shape of the noise"} <= {
        check.title for check in checks
    }


def test_each_check_of_two_releases_has_a_title_of_its_own():
    upper, lower = sound("plain", 1.0)[1], sound("plain", 2.0)[1]
    titles = [check.title for check in GAUSSIAN.check_pair(upper, lower, BOTH, PLAIN)]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("form", FORMS)
def test_a_release_of_another_level_is_told_apart(form):
    _, out = sound(form, 1.0)
    assert "Size and shape of the noise" in examined(form, out, 1.5)
    assert "Size and shape of the noise" in examined(form, out, 0.6)


def test_a_slightly_wrong_level_shows_in_the_variance():
    _, out = sound("plain", 1.0)
    assert "Covariance of the noise" in examined("plain", out, 1.15)


def test_noise_off_centre_is_told_apart():
    _, out = sound("plain", 1.0)
    moved = changed(out, income=out.columns["income"] + 1.5)
    assert "Centre of the noise" in examined("plain", moved)


def test_noise_that_goes_with_the_values_is_told_apart():
    _, out = sound("plain", 1.0)
    shrunk = changed(out, age=out.columns["age"] - 0.15 * (PEOPLE[0].values - 40))
    assert "Independence" in examined("plain", shrunk)


def test_noise_of_the_wrong_shape_is_told_apart():
    spread = math.sqrt(PLAIN["covariance"][0][0])
    flat = np.random.default_rng(1).uniform(-1, 1, len(PEOPLE[0].values)) * math.sqrt(3) * spread
    _, out = sound("separate", 1.0)
    odd = changed(out, age=pd.Series(PEOPLE[0].values + flat))
    assert examined("separate", odd) == ["Size and shape of the noise"]


def test_noise_that_does_not_vary_as_the_attributes_do_is_told_apart():
    _, separate = sound("separate", 1.0)
    assert examined("plain", separate) == ["Covariance of the noise"]
    _, together = sound("plain", 1.0)
    assert examined("separate", together) == ["Covariance of the noise"]


def test_numbers_that_are_not_rounded_or_clipped_as_stated_are_told_apart():
    for form in ("whole ages", "bounds", "both"):
        _, out = sound("plain", 1.0)
        assert examined(form, out) == ["Rounding and bounds"]


def test_rows_texts_and_gaps_that_do_not_fit_are_told_with_their_row_and_no_value():
    _, out = sound("plain", 1.0)
    age = out.columns["age"]
    words = age.astype(object)
    words.iloc[4] = "secret"
    holes = age.mask(np.arange(len(age)) == 6)
    infinite = age.mask(np.arange(len(age)) == 8, np.inf)
    for column, title, row in (
        (words, "Released values", "row 5"),
        (infinite, "Released values", "row 9"),
        (holes, "Missing numbers", "row 7"),
        (age.iloc[:-1], "Number of records", "7,999 records"),
    ):
        bad = changed(out, age=column)
        checks = GAUSSIAN.check_release(request(PEOPLE, PLAIN, 1.0), bad)
        (failed,) = [c for c in checks if not c.holds and c.title == title]
        assert row in failed.finding
        assert "secret" not in failed.finding
        assert failing(GAUSSIAN.check_pair(out, bad, BOTH, PLAIN)) != []


# ----- pairs


@pytest.mark.few(5)
@pytest.mark.parametrize("levels", [(0.05, 1.0), (1.0, 1.05), (0.3, 6.0)])
@pytest.mark.parametrize("form", FORMS)
def test_two_rungs_of_a_ladder_pass(form, levels):
    chosen, upper = sound(form, levels[0])
    _, lower = sound(form, levels[1])
    checks = GAUSSIAN.check_pair(upper, lower, BOTH, chosen)
    assert failing(checks) == []
    assert GAUSSIAN.check_pair(lower, upper, BOTH, chosen) == checks


@pytest.mark.parametrize("form", [form for form in FORMS if form not in COARSE])
def test_two_releases_with_noise_of_their_own_are_told_apart(form):
    chosen, upper = sound(form, 0.5)
    _, lower = sound(form, 1.0, ids=np.arange(8000) + 10**9)
    assert "Size and shape of the noise" in failing(GAUSSIAN.check_pair(upper, lower, BOTH, chosen))


def test_what_is_rounded_too_coarsely_to_be_examined_is_said():
    chosen, upper = sound("coarse", 0.05)
    _, lower = sound("coarse", 0.06)
    (check,) = [
        check
        for check in GAUSSIAN.check_pair(upper, lower, BOTH, chosen)
        if check.title == "Coarsely rounded numbers"
    ]
    assert "can't be examined" in check.finding


def test_two_releases_of_one_level_are_the_same():
    chosen, out = sound("plain", 1.0)
    assert failing(GAUSSIAN.check_pair(out, out, BOTH, chosen)) == []
    other = changed(out, age=out.columns["age"] + (np.arange(8000) == 2))
    (failed,) = [c for c in GAUSSIAN.check_pair(out, other, BOTH, chosen) if not c.holds]
    assert failed.title == "Equal values"
    assert "first in row 3" in failed.finding


def test_a_table_of_few_records_is_examined_as_far_as_it_can_be():
    small = number_columns(x=[1.0, 5.0, 2.0], y=[2.0, 2.0, 9.0])
    chosen = stated_settings(attributes_of(small))
    outs = [released(small, chosen, level) for level in (0.5, 2.0)]
    assert failing(GAUSSIAN.check_release(request(small, chosen, 0.5), outs[0])) == []
    assert failing(GAUSSIAN.check_pair(*outs, attributes_of(small), chosen)) == []


# ----- the chances that are stated are no smaller than the true ones


@settings(deadline=None, max_examples=tried(60))
@given(st.floats(-1.0, 1.0), st.floats(-3.0, 3.0), st.integers(1, 60))
def test_the_chance_of_a_product_bounds_the_true_one(correlation, mean, count):
    draw = np.random.default_rng(7)
    first, own = draw.normal(size=(2, 2000, count))
    second = correlation * first + math.sqrt(1 - correlation**2) * own
    means = (first * second).mean(axis=1)
    far = means >= mean if mean > correlation else means <= mean
    bound = chance_of_product(mean, correlation, count)
    assert 0.0 <= bound <= 1.0
    assert far.mean() <= bound + 4.5 * math.sqrt(0.25 / 2000)


def test_the_chance_of_a_product_of_equal_noises_is_that_of_a_variance():
    for mean, count in ((1.3, 200), (0.8, 300), (1.01, 50)):
        law = stats.chi2(count)
        tail = law.sf(mean * count) if mean > 1 else law.cdf(mean * count)
        bound = chance_of_product(mean, 1.0, count)
        assert tail <= bound <= min(1.0, 40 * tail)
    assert chance_of_product(-0.1, 1.0, 10) == 0.0


def test_the_chance_of_a_sum_bounds_the_true_one_for_places_in_intervals():
    draw = np.random.default_rng(4)
    weights = draw.normal(size=50)
    cells = draw.integers(1, 6, 50)
    places = (np.floor(draw.uniform(size=(4000, 50)) * cells) + 0.5) / cells
    chances = np.array([chance_of_sum(weights, row) for row in places])
    for limit in (0.5, 0.1, 0.01):
        assert (chances <= limit).mean() <= limit
    assert chance_of_sum(np.zeros(3), np.ones(3)) == 1.0


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_chance_of_a_shape_is_that_of_chi_square_and_larger_for_intervals():
    draw = np.random.default_rng(5)
    points = draw.uniform(size=(500, 4000))
    chances = np.array([chance_of_shape(row, row) for row in points])
    assert stats.kstest(chances, "uniform").pvalue > 1e-4
    wide = np.floor(points * 8) / 8
    spread = np.array([chance_of_shape(row, row + 1 / 8) for row in wide])
    assert (spread < 0.05).mean() <= 0.05
    assert chance_of_shape(points[0, :15], points[0, :15]) == 1.0
