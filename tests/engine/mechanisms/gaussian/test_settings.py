"""Gaussian noise: its settings and its ladders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms.gaussian.settings import NumberForm
from sfumato.engine.table.covariance import RecordMoments
from sfumato.engine.table.table import Attribute
from tests.engine.numbers import (
    GAUSSIAN,
    attributes_of,
    people,
    released,
)
from tests.noise import NOISE
from tests.thorough import tried

PEOPLE = people()
BOTH = attributes_of(PEOPLE)
PROPORTIONAL = GAUSSIAN.first_settings(BOTH, NOISE)
SEPARATE = {**PROPORTIONAL, "noise": "separate"}
ROWS = len(PEOPLE[0].values)


def shown(columns, chosen, at, **changes):
    out = released(columns, chosen, at, **changes).columns
    return np.array([out[c.attribute.name].to_numpy(float, na_value=np.nan) for c in columns])


# ----- ladders


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


# ----- what is refused


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


# ----- forms


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
