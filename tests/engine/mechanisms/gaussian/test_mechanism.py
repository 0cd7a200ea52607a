"""Gaussian noise: what a level means and promises, and what is released."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.ladders.brownian import HIGHEST, LOWEST
from sfumato.engine.mechanisms.gaussian.promise import measured_sentence
from sfumato.engine.mechanisms.gaussian.settings import NumberForm, settings_of
from sfumato.engine.table.covariance import RecordMoments
from sfumato.engine.table.table import Attribute
from tests.engine.numbers import (
    GAUSSIAN,
    attributes_of,
    number_columns,
    people,
    released,
    stated_settings,
)
from tests.noise import NOISE
from tests.thorough import tried

PEOPLE = people()
BOTH = attributes_of(PEOPLE)
PROPORTIONAL = GAUSSIAN.first_settings(BOTH, NOISE)
SEPARATE = {**PROPORTIONAL, "noise": "separate"}
ROWS = len(PEOPLE[0].values)


def stated(spreads, correlation=0.0, noise="proportional"):
    """Two attributes with moments as stated."""
    covariance = np.outer(spreads, spreads)
    covariance[0, 1] = covariance[1, 0] = correlation * covariance[0, 1]
    return {"noise": noise, "measured": "stated", "covariance": covariance.tolist()}


def level(chosen=PROPORTIONAL, **statement):
    return GAUSSIAN.level(statement, BOTH, chosen)


def shown(columns, chosen, at, **changes):
    out = released(columns, chosen, at, **changes).columns
    return np.array([out[c.attribute.name].to_numpy(float, na_value=np.nan) for c in columns])


# ----- what a level means


def test_a_level_can_be_stated_in_each_of_the_terms():
    known = stated([10.0, 3.0])
    assert level(known, sigma_squared=4.0) == 4.0
    assert level(known, normalized_error=0.8) == 4.0
    assert level(known, normalized_error=0.5) == 1.0
    width = 1.6448536269514722 * 10 * math.sqrt(0.5)
    assert level(known, half_width=width) == 1.0


@settings(deadline=None, max_examples=tried(80))
@given(
    st.floats(LOWEST, HIGHEST),
    st.sampled_from(["proportional", "separate"]),
    st.floats(-0.999, 0.999),
)
def test_a_level_restated_in_any_term_is_the_same_level(sigma, noise, correlation):
    known = stated([2.0, 7.0], correlation, noise)
    used = level(known, sigma_squared=sigma)
    restated = GAUSSIAN.restate(used, BOTH, known)
    assert set(restated) == {term.name for term in GAUSSIAN.terms}
    assert restated["sigma_squared"]["sigma_squared"] == used >= sigma
    for statement in restated.values():
        again = level(known, **statement)
        # A share next to 1 is rounded as any float.
        assert again == pytest.approx(used, rel=1e-3 if used < 1e3 else 1e-2)


@settings(deadline=None, max_examples=tried(60))
@given(st.floats(0.001, 0.999), st.sampled_from(["proportional", "separate"]))
def test_a_stated_error_or_width_is_met_and_not_exceeded_by_more_than_the_grid(error, noise):
    known = stated([2.0, 7.0], 0.7, noise)
    for term in ("normalized_error", "half_width"):
        wanted = error if term == "normalized_error" else error * 1.644 * 2.0
        used = level(known, **{term: wanted})
        left = GAUSSIAN.restate(used, BOTH, known)[term][term]
        assert wanted * (1 - 1e-9) <= left <= wanted * (1 + 2.0**-10)


def test_separate_noise_on_attributes_that_go_together_leaves_less():
    correlated = stated([2.0, 7.0], 0.9)
    error = {
        noise: GAUSSIAN.restate(1.0, BOTH, {**correlated, "noise": noise})["normalized_error"]
        for noise in ("proportional", "separate")
    }
    # Eigenvalues 1.9 and 0.1 of the correlations: ½·(1.9/2.9 + 0.1/1.1).
    assert error["proportional"]["normalized_error"] == 0.5
    assert error["separate"]["normalized_error"] == pytest.approx(0.5 * (1.9 / 2.9 + 0.1 / 1.1))
    assert level({**correlated, "noise": "separate"}, normalized_error=0.5) > 1.0


@pytest.mark.parametrize("epsilon", [0.12, 1.4, 2.5, 3.912, 4.61, 6.0])
def test_odds_that_the_size_of_the_noise_multiplies_are_never_told_smaller(epsilon):
    told = measured_sentence(
        ["age", "pay"], replace(settings_of(BOTH, PROPORTIONAL), epsilon=epsilon)
    )
    [odds] = re.findall(r"odds on a person's numbers by(?: at most)? ([\d.,]+) \(ε0", str(told))
    assert math.exp(epsilon) <= float(odds.replace(",", "")) < 1.02 * math.exp(epsilon)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ({"sigma_squared": 0.0}, "σ² = 0 is out of range"),
        ({"sigma_squared": -1.0}, "out of range"),
        ({"sigma_squared": math.inf}, "out of range"),
        ({"normalized_error": 0.0}, "not between 0 and 1"),
        ({"normalized_error": 1.0}, "not between 0 and 1"),
        ({"normalized_error": 0.9999999}, "more noise than can be added"),
        ({"half_width": 0.0}, "not above 0"),
        ({"half_width": math.inf}, "not above 0"),
        ({"half_width": 1e6}, "No noise leaves anyone as unsure"),
        ({"sigma_squared": math.nan}, "not a number"),
        ({"sigma_squared": True}, "not a number"),
        ({"sigma_squared": 1.0, "half_width": 1.0}, "can't be stated by"),
        ({"epsilon": 1.0}, "can't be stated by epsilon"),
        ({}, "can't be stated by nothing"),
    ],
)
def test_levels_that_can_t_be_met_are_refused_with_the_reason(statement, what):
    with pytest.raises(LevelError, match=what) as refused:
        GAUSSIAN.level(statement, BOTH, PROPORTIONAL)
    assert refused.value.remedy


def test_trust_falls_as_noise_grows_and_stays_between_0_and_1():
    trusts = [GAUSSIAN.trust(v) for v in (LOWEST, 0.25, 1.0, 4.0, HIGHEST)]
    assert trusts == sorted(trusts, reverse=True)
    assert GAUSSIAN.trust(1.0) == 0.5
    assert 0 < trusts[-1] < trusts[0] < 1
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(LevelError):
            GAUSSIAN.trust(bad)


@settings(deadline=None, max_examples=tried(60))
@given(st.floats(LOWEST, HIGHEST / 3), st.floats(1e-5, 0.5))
def test_a_level_lowered_by_a_hair_has_a_hair_more_noise(sigma, share):
    used = level(sigma_squared=sigma)
    lowered = GAUSSIAN.lowered(used, share)
    assert GAUSSIAN.lowered(used, 0.0) == used
    assert used < lowered == pytest.approx(used / (1 - share), rel=2e-6)
    assert GAUSSIAN.trust(lowered) < GAUSSIAN.trust(used)
    assert GAUSSIAN.trust(GAUSSIAN.level_at(GAUSSIAN.trust(used))) <= GAUSSIAN.trust(used)


@pytest.mark.parametrize("count", [0, 1, 3, 12, 100])
def test_levels_are_proposed_most_trusted_first(count):
    levels = [level(**s) for s in GAUSSIAN.default_statements(count)]
    assert len(levels) == count
    assert levels == sorted(set(levels))


# ----- what is promised


def test_the_promise_gives_the_noise_and_what_nobody_can_tell_apart_in_each_unit():
    known = stated([10.0, 100.0])
    promise = GAUSSIAN.promise(1.0, BOTH, known)
    for told in (
        "10.0 for age",
        "100 for income",
        "age up to 13.4 apart",
        "income up to 134 apart",
    ):
        assert told in promise.sentence
    assert "at best" not in promise.sentence
    assert "90 %" not in promise.sentence
    figures = {fact.title: fact.value for fact in promise.facts}
    assert figures["Normalized error at the published variance"] == 0.5
    assert figures["Noise added to income"] == pytest.approx(100.0)
    assert figures["Told apart 3 times in 4: age"] == pytest.approx(13.48979500)
    assert figures["Chance to tell two values apart"] == pytest.approx(0.6914625)
    assert any("far from everyone" in limit for limit in promise.limits)


def test_the_promise_says_what_rounding_and_separate_noise_cost():
    plain = GAUSSIAN.promise(1.0, BOTH, PROPORTIONAL)
    odd = GAUSSIAN.promise(1.0, BOTH, {**SEPARATE, "rounding": {"age": 1}})
    extra = " ".join(set(odd.limits) - set(plain.limits))
    assert "rounded or clipped releases together" in extra
    assert "filtered out" in extra


@settings(deadline=None, max_examples=tried(50))
@given(st.floats(1e-9, 1e12), st.floats(LOWEST, HIGHEST))
def test_a_promise_reads_well_at_any_scale(spread, sigma):
    used = level(sigma_squared=sigma)
    sentence = GAUSSIAN.promise(used, BOTH, stated([spread, 1.0])).sentence
    found = re.search(r"age up to ([\d.,e+-]+) apart and", sentence)
    told = float(found[1].replace(",", ""))
    assert told == pytest.approx(1.3489795 * spread * math.sqrt(used), rel=0.02)


@pytest.mark.parametrize("noise", ["proportional", "separate"])
@pytest.mark.parametrize("level", [0.25, 1.0])
def test_nobody_tells_two_values_apart_more_often_than_is_promised(noise, level):
    """The likelihood-ratio test, by its own code, of whoever knows the person's other number.

    40,000 draws: a share of 0.75 has a standard error of 0.0022, so ± 0.01 is 4.6 of them. At
    other distances than the promised one, the share must be on the right side.
    """
    known = {**stated([10.0, 100.0], correlation=0.8), "noise": noise}
    facts = {fact.title: fact.value for fact in GAUSSIAN.promise(level, BOTH, known).facts}
    noise_covariance = GAUSSIAN.noise_covariance(level, BOTH, known)
    draws = np.random.default_rng(17).multivariate_normal([0, 0], noise_covariance, 40_000)
    precision = np.linalg.inv(noise_covariance)
    for place, name in enumerate(("age", "income")):
        apart = np.zeros(2)
        apart[place] = facts[f"Told apart 3 times in 4: {name}"]
        # The truth is 0; the other candidate is `apart`, and the person's other number is known.
        odds = draws @ precision @ apart - 0.5 * apart @ precision @ apart
        right = np.mean(odds < 0)
        assert right == pytest.approx(0.75, abs=0.01)


def test_recipients_are_told_the_covariance_of_the_noise_and_no_means():
    told = GAUSSIAN.published(0.5, BOTH, PROPORTIONAL)
    assert told.parameters["sigma_squared"] == 0.5
    assert told.parameters["covariance"] == PROPORTIONAL["covariance"]
    assert "mean" not in told.parameters
    assert told.parameters["covariance_measured"] == "noisy"
    assert told.parameters["covariance_epsilon"] == PROPORTIONAL["measured_epsilon"]
    assert json.loads(json.dumps(told.parameters)) == told.parameters
    noise = GAUSSIAN.noise_covariance(0.5, BOTH, PROPORTIONAL)
    assert noise == pytest.approx(0.5 * np.array(PROPORTIONAL["covariance"]))
    assert GAUSSIAN.matrix(0.5, BOTH, PROPORTIONAL) is None


# ----- what is released


def test_a_release_is_a_pure_function_of_key_record_value_and_level():
    whole = shown(PEOPLE, PROPORTIONAL, 0.25)
    rows = np.random.default_rng(1).permutation(ROWS)[:500]
    part = number_columns(age=PEOPLE[0].values[rows], income=PEOPLE[1].values[rows])
    assert np.array_equal(shown(part, PROPORTIONAL, 0.25, ids=rows), whole[:, rows], True)
    assert np.array_equal(shown(PEOPLE, PROPORTIONAL, 0.25), whole, True)


def test_the_noise_has_the_covariance_of_the_data_times_the_level():
    for chosen in (PROPORTIONAL, SEPARATE):
        for at in (0.25, 4.0):
            noise = shown(PEOPLE, chosen, at) - np.array([c.values for c in PEOPLE])
            noise = noise[:, ~np.isnan(noise).any(axis=0)]
            wanted = GAUSSIAN.noise_covariance(at, BOTH, chosen)
            found = noise @ noise.T / noise.shape[1]
            variances = np.diag(wanted)
            error = np.sqrt((np.outer(variances, variances) + wanted**2) / noise.shape[1])
            assert (np.abs(found - wanted) < 4.5 * error).all()


def test_missing_numbers_stay_missing_and_others_keep_their_noise():
    out = shown(PEOPLE, PROPORTIONAL, 1.0)
    assert (np.isnan(out[1]) == np.isnan(PEOPLE[1].values)).all()
    assert not np.isnan(out[0]).any()


def test_released_numbers_lie_on_a_lattice_that_says_nothing_about_the_true_ones():
    column = number_columns(x=np.random.default_rng(1).normal(size=2000) * 3)
    chosen = GAUSSIAN.first_settings(attributes_of(column), NOISE)
    out = shown(column, chosen, 0.01)[0]
    unit = 2.0 ** (math.floor(math.log2(math.sqrt(chosen["covariance"][0][0]))) - 30)
    assert (out / unit == np.rint(out / unit)).all()


def test_rounding_and_clipping_come_last():
    plain = shown(PEOPLE, PROPORTIONAL, 1.0)
    form = {"rounding": {"age": 1, "income": 0.1}, "lowest": {"age": 0}, "highest": {"age": 60.5}}
    out = released(PEOPLE, {**PROPORTIONAL, **form}, 1.0).columns
    assert out["age"].dtype == np.float64
    assert (out["age"] == np.clip(np.rint(plain[0]), 0, 60.5)).all()
    tenths = out["income"].dropna()
    assert (tenths == tenths.round(1)).all()


def test_whole_numbers_are_released_as_whole_numbers():
    form = {"rounding": {"age": 1, "income": 5}}
    out = released(PEOPLE, {**PROPORTIONAL, **form}, 1.0).columns
    assert out["age"].dtype == np.int64
    assert out["income"].dtype == pd.Int64Dtype()
    assert (out["income"].dropna() % 5 == 0).all()


@pytest.mark.parametrize("values", [[1e140, -1e140, 3.0], [1e-100, 2e-100, 7e-100]])
def test_extreme_scales_are_released(values):
    column = number_columns(x=values)
    out = shown(column, stated_settings(attributes_of(column)), 1.0)
    assert np.isfinite(out).all()
    assert (out != np.array(values)).all()


@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_the_normalized_error_is_said_of_the_published_variance_alone(spread: float) -> None:
    """Of lognormal numbers, the best linear estimate leaves far less than σ²/(1 + σ²)."""
    numbers = np.random.default_rng(11).lognormal(3.0, spread, 4_000)
    attributes = (Attribute("income", Kind.NUMERIC, numbers=numbers),)
    measured = GAUSSIAN.first_settings(attributes, NOISE)
    noise = np.sqrt(GAUSSIAN.read(attributes, measured).covariance[0, 0])
    shown = numbers + noise * np.random.default_rng(12).standard_normal(len(numbers))
    left = 1.0 - np.corrcoef(numbers, shown)[0, 1] ** 2
    promise = GAUSSIAN.promise(1.0, attributes, measured)
    (told,) = (fact for fact in promise.facts if fact.symbol == "D")
    assert left < 0.9 * told.value
    assert "published" in told.title
    assert "vary more" in told.explanation


def test_a_ladder_is_the_attributes_and_the_covariance_of_the_noise():
    def ladder(attributes=BOTH, **changes):
        return GAUSSIAN.ladder_identity(attributes, {**PROPORTIONAL, **changes})

    assert ladder(rounding={"age": 1}, lowest={"age": 0}) == ladder()
    assert ladder(publish_covariance=False, mean=[1.0, 2.0]) == ladder()
    assert ladder(noise="separate") != ladder()
    assert ladder(covariance=(np.array(PROPORTIONAL["covariance"]) * 1.001).tolist()) != ladder()
    renamed = (Attribute("years", Kind.NUMERIC), BOTH[1])
    assert ladder(renamed) != ladder()


def test_the_moments_are_settled_once():
    moved = people(seed=6)
    kept = GAUSSIAN.complete_settings(attributes_of(moved), PROPORTIONAL, NOISE)
    assert kept == PROPORTIONAL
    chosen = {"noise": "separate", "rounding": {"age": 1, "income": 10}}
    again = GAUSSIAN.resettled(BOTH[:1], {**PROPORTIONAL, **chosen})
    assert "covariance" not in again
    again = GAUSSIAN.complete_settings(BOTH[:1], again, NOISE)
    assert again["noise"] == "separate"
    assert again["rounding"] == {"age": 1}
    assert np.shape(again["covariance"]) == (1, 1)


def test_a_release_at_another_ladder_shows_other_noise():
    one = shown(PEOPLE, PROPORTIONAL, 1.0) - np.array([c.values for c in PEOPLE])
    other = shown(PEOPLE, SEPARATE, 1.0) - np.array([c.values for c in PEOPLE])
    assert abs(np.corrcoef(one[0], other[0])[0, 1]) < 4.5 / math.sqrt(ROWS)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"noise": "loud"}, "noise is not one of: proportional, separate"),
        ({"measured": "guessed"}, "measured is not one of: noisy, stated"),
        ({"covariance": [[1.0]]}, "no covariance that fits age, income"),
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]]}, "no covariance"),
        ({"covariance": [[0.0, 0.0], [0.0, 1.0]]}, "no covariance"),
        ({"covariance": "large"}, "covariance is not rows of numbers"),
        ({"rounding": {"age": 0.0}}, "age can't be rounded to multiples of 0"),
        ({"rounding": {"age": -1.0}}, "can't be rounded"),
        ({"rounding": {"age": 1e-9}}, "can't be rounded"),
        ({"rounding": 1.0}, "rounding is not a table that gives numbers"),
        ({"rounding": {"pay": 1.0}}, "names pay, which the entry does not cover"),
        ({"lowest": {"age": "0"}}, "lowest is not a table that gives numbers"),
        ({"lowest": {"age": math.inf}}, "gives numbers to columns"),
        ({"lowest": {"age": 9.0}, "highest": {"age": 9.0}}, "not below the highest"),
        ({"sigma": 1.0}, "no setting called sigma"),
    ],
)
def test_settings_that_are_not_valid_are_refused_by_name(change, what):
    with pytest.raises(PolicyError, match=what) as refused:
        GAUSSIAN.check_settings(BOTH, {**PROPORTIONAL, **change})
    assert refused.value.remedy


def test_only_numbers_without_bins_get_noise():
    named = Attribute("town", Kind.CATEGORICAL, Domain(("a", "b")), np.array([1, 2]))
    binned = Attribute("age", Kind.NUMERIC, Domain(("a", "b")), np.array([1, 2]))
    for attributes in ((named,), (BOTH[0], binned)):
        with pytest.raises(PolicyError, match="is not numeric, or its numbers are grouped"):
            GAUSSIAN.check_attributes(attributes)
    with pytest.raises(PolicyError, match="no attribute"):
        GAUSSIAN.check_attributes(())
    with pytest.raises(PolicyError, match="age are not at hand"):
        GAUSSIAN.first_settings((Attribute("age", Kind.NUMERIC),), NOISE)


@settings(deadline=None, max_examples=tried(60))
@given(st.floats(-1e6, 1e6), st.sampled_from([0.1, 0.25, 0.3, 1.0, 5.0, 1000.0, 0.001]))
def test_rounding_goes_to_the_nearest_multiple(number, step):
    found = float(NumberForm(step).apply(np.array([number]))[0])
    assert abs(found - number) <= step / 2 * (1 + 1e-6)
    assert found / step == pytest.approx(round(found / step), abs=1e-6)


def test_no_number_is_minus_zero():
    for form in (NumberForm(1.0), NumberForm(0.1), NumberForm(None, 0.0), NumberForm(5.0, 0.0)):
        found = form.apply(np.array([-0.02, -0.0, -1e-9]))
        assert not np.signbit(found[found == 0.0]).any()


def test_moments_know_their_spreads():
    assert RecordMoments(np.zeros(1), np.array([[9.0]])).spreads == [3.0]
