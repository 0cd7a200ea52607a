"""Per-value limits on the ladder: the promise, the law, the coalition, and what is refused."""

import numpy as np
import pytest

from sfumato.engine.core.errors import Cancelled, LevelError, PolicyError
from sfumato.engine.matrices.privacy import gamma_for_rho, retention_for_gamma
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.retention_profiles import largest_level
from tests.engine.categories import column_of, request_for
from tests.noise import NOISE

FINE = mechanism_called("finegrain")
EXAMPLE = {
    "objective": "values",
    "mode": "published",
    "frequencies": "equal",
    "limits": [
        {"value": "SARS", "rho1": 1 / 10, "rho2": 1 / 7},
        {"value": "HIV", "rho1": 1 / 10, "rho2": 1 / 4},
        {"value": "H1N1", "rho1": 1 / 9, "rho2": 19 / 35},
        {"value": "cancer", "rho1": 1 / 8, "rho2": 18 / 25},
    ],
}


@pytest.fixture(scope="module")
def column():
    return column_of([20_000, 20_000, 20_000, 20_000])


@pytest.fixture(scope="module")
def settings(column):
    return FINE.complete_settings((column.attribute,), EXAMPLE, NOISE)


@pytest.fixture(scope="module")
def strict(column):
    return FINE.complete_settings((column.attribute,), {**EXAMPLE, "mode": "strict"}, NOISE)


def test_the_papers_example_gives_the_matrix_of_figure_2b(column, settings):
    level = FINE.level({"trust_factor": 1.0}, (column.attribute,), settings)
    matrix = FINE.matrix(level, (column.attribute,), settings).dense()
    expected = np.full((4, 4), 1 / 6)
    expected[:, 0] = 1 / 4
    expected[[1, 2, 3], [1, 2, 3]] = 1 / 2
    assert matrix == pytest.approx(expected, abs=1e-12)


def test_a_trust_factor_scales_every_retention_probability(column, strict):
    attributes = (column.attribute,)
    whole = FINE.matrix(FINE.level({"trust_factor": 1.0}, attributes, strict), attributes, strict)
    for factor in (0.1, 0.5, 3.0):
        level = FINE.level({"trust_factor": factor}, attributes, strict)
        scaled = FINE.matrix(level, attributes, strict)
        assert scaled.retention == pytest.approx(factor * whole.retention, abs=1e-12)


def test_a_profile_of_one_probability_has_the_uniform_ladders_matrix_to_the_last_bit():
    column = column_of([100, 100, 100, 100])
    limits = [{"value": v, "rho1": 0.1, "rho2": 0.4} for v in ("SARS", "HIV", "H1N1", "cancer")]
    settings = FINE.complete_settings(
        (column.attribute,), {"mode": "strict", "limits": limits, "frequencies": "equal"}, NOISE
    )
    level = FINE.level({"trust_factor": 1.0}, (column.attribute,), settings)
    kept = retention_for_gamma(gamma_for_rho(0.1, 0.4), 4)
    assert level == kept
    ours = FINE.matrix(level, (column.attribute,), settings).dense()
    uniform = mechanism_called("uniform")
    assert np.array_equal(ours, uniform.matrix(kept, (column.attribute,), {}).dense())


def test_the_promise_names_the_best_protected_value_and_the_worst(column, settings):
    level = FINE.level({"trust_factor": 1.0}, (column.attribute,), settings)
    promise = FINE.promise(level, (column.attribute,), settings)
    assert "odds on SARS by at most 1.50" in promise.sentence
    assert "on no value by more than 3 " in promise.sentence
    assert {fact.symbol: fact.value for fact in promise.facts}["τ"] == pytest.approx(1)


def test_more_trust_than_the_limits_allow_is_counted_in_the_promise(column, strict):
    attributes = (column.attribute,)
    level = FINE.level({"trust_factor": 2.0}, attributes, strict)
    facts = {fact.title: fact.value for fact in FINE.promise(level, attributes, strict).facts}
    assert facts["Values whose limit is exceeded"] > 0


def test_next_months_frequencies_leave_a_stored_profile_as_it_is(strict):
    later = column_of([10, 500, 20, 4000])
    assert FINE.complete_settings((later.attribute,), strict, NOISE) == strict


def test_proportional_profiles_share_a_ladder_and_others_do_not(column, settings, strict):
    attributes = (column.attribute,)
    other = {**strict, "profile": [0.1, 0.2, 0.2, 0.2]}
    assert FINE.ladder_identity(attributes, settings) == FINE.ladder_identity(attributes, strict)
    assert FINE.ladder_identity(attributes, other) != FINE.ladder_identity(attributes, strict)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ({"trust_factor": -0.1}, "out of range"),
        ({"trust_factor": 7.0}, "out of range"),
    ],
)
def test_statements_out_of_range_are_refused(column, strict, statement, said):
    with pytest.raises(LevelError, match=said):
        FINE.level(statement, (column.attribute,), strict)


@pytest.mark.parametrize(
    "profile", [[], [0.1, 0.2], [0.1, 0.2, 0.3, 1.1], [0, 0, 0, 0], "much", [None] * 4]
)
def test_settings_without_a_fitting_profile_are_refused(column, profile):
    with pytest.raises(PolicyError, match="profile"):
        FINE.check_settings((column.attribute,), {"mode": "strict", "profile": profile})


def test_a_domain_of_one_value_is_refused():
    with pytest.raises(PolicyError, match="single value"):
        FINE.first_settings((column_of([10]).attribute,), NOISE)


def test_the_largest_level_for_loose_limits_is_the_top():
    assert largest_level(np.array([0.2, 0.1]), 1e12) == pytest.approx(1.0, abs=1e-9)


def test_a_release_can_be_cancelled(column, strict):
    class Stopping:
        def report(self, fraction, text):
            raise Cancelled

    with pytest.raises(Cancelled):
        FINE.release(request_for(column, strict, 0.5), Stopping())
