"""Privacy limits of single values: what they mean, and what is refused."""

import numpy as np
import pytest

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.matrices.privacy import gamma_for_rho
from sfumato.engine.mechanisms.per_value import (
    PerValueLimit,
    PrivacyLimits,
    positions_by_name,
)
from sfumato.engine.mechanisms.retention_solver import BreachMode

DOMAIN = Domain(("flu", "cancer", "HIV", None))
FREQUENCIES = np.array([0.6, 0.3, 0.1, 0.0])


def test_the_tightest_of_several_limits_of_a_value_counts():
    limits = PrivacyLimits(stated=(PerValueLimit("HIV", 0.1, 0.5), PerValueLimit("HIV", 0.1, 0.2)))
    gammas = limits.gammas(DOMAIN, FREQUENCIES)
    assert gammas[2] == gamma_for_rho(0.1, 0.2)
    assert np.isinf(gammas[[0, 1, 3]]).all()


def test_limits_of_a_value_take_the_place_of_the_tolerance():
    limits = PrivacyLimits(theta=2.0, stated=(PerValueLimit("flu", 0.1, 0.3),))
    gammas = limits.gammas(DOMAIN, FREQUENCIES)
    assert gammas[0] == gamma_for_rho(0.1, 0.3)
    assert gammas[1] == pytest.approx(gamma_for_rho(0.3, 0.6))


def test_a_missing_value_can_have_limits_of_its_own():
    limits = PrivacyLimits(stated=(PerValueLimit("(missing)", 0.1, 0.3),))
    assert np.isfinite(limits.gammas(DOMAIN, FREQUENCIES)[3])


def test_limits_survive_being_written_as_plain_values():
    limits = PrivacyLimits(BreachMode.PUBLISHED, 2.5, (PerValueLimit("HIV", 0.1, 0.5),))
    assert PrivacyLimits.from_dict(limits.to_dict()) == limits


@pytest.mark.parametrize(("rho1", "rho2"), [(0.5, 0.5), (0.6, 0.2), (0.0, 0.5), (0.5, 1.0)])
def test_limits_that_do_not_fit_together_name_their_value(rho1, rho2):
    with pytest.raises(LevelError, match="HIV"):
        PrivacyLimits(stated=(PerValueLimit("HIV", rho1, rho2),)).gammas(DOMAIN, FREQUENCIES)


def test_a_limit_for_an_unknown_value_is_refused():
    with pytest.raises(PolicyError, match="does not have"):
        PrivacyLimits(stated=(PerValueLimit("plague", 0.1, 0.2),)).gammas(DOMAIN, FREQUENCIES)


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({"mode": "unknown"}, "mode is not one of: strict, published"),
        ({"limits": [{"value": "flu"}]}, "list of tables with value, rho1, rho2"),
        ({"limits": [{"value": "flu", "rho1": "a", "rho2": 0.2}]}, "limits is not a list"),
        ({"limits": 3}, "limits is not a list"),
        ({"theta": True}, "theta is not a number above 1"),
    ],
)
def test_plain_values_that_are_no_limits_are_refused(plain, said):
    with pytest.raises(PolicyError, match=said):
        PrivacyLimits.from_dict(plain)


def test_two_values_with_one_name_are_refused():
    with pytest.raises(PolicyError, match="Values 1 and 2"):
        positions_by_name(Domain((1, 2), {1: "same", 2: "same"}))
