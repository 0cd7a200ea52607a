"""Any matrix on the ladder: its law, its zeros, its coalition, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms import mechanism_called
from tests.engine.categories import column_of, released, request_for

MATRIX = mechanism_called("matrix")
ENTRIES = np.array(
    [
        [0.7, 0.1, 0.0, 0.2],
        [0.1, 0.8, 0.3, 0.0],
        [0.1, 0.1, 0.6, 0.1],
        [0.1, 0.0, 0.1, 0.7],
    ]
)
SETTINGS = {"entries": ENTRIES.tolist()}


@pytest.fixture(scope="module")
def column():
    return column_of([30_000, 10_000, 5_000, 50_000])


def test_zeros_of_the_matrix_are_never_released(column):
    release = released(MATRIX, request_for(column, SETTINGS, 1.0))
    codes = column.attribute.domain.encode(release.columns["Disease"])
    assert not ((column.values == 2) & (codes == 0)).any()
    assert not ((column.values == 1) & (codes == 3)).any()
    assert not ((column.values == 3) & (codes == 1)).any()


def test_a_matrix_without_zeros_meets_loose_limits_as_it_is(column):
    settings = MATRIX.default_settings((column.attribute,))
    assert MATRIX.level({"gamma": 1e6}, (column.attribute,), settings) == 1.0


def test_zeros_that_leave_no_doubt_are_said_in_the_promise(column):
    promise = MATRIX.promise(1.0, (column.attribute,), SETTINGS)
    assert "promises nothing for" in promise.sentence
    softer = MATRIX.promise(0.5, (column.attribute,), SETTINGS)
    assert "by at most" in softer.sentence


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], "does not fit the 4 values"),
        ([[0.25] * 4] * 3, "does not fit the 4 values"),
        ([[0.25] * 3] + [[0.25] * 4] * 3, "row 1 has 3 entries"),
        ((np.eye(4) * 0.5).tolist(), "sum to 0.5"),
        ((np.eye(4) - np.eye(4)[::-1]).tolist(), "is negative"),
        ([[float("nan")] * 4] * 4, "is not a number"),
        ([["much"] * 4] * 4, "is not a number"),
    ],
)
def test_matrices_that_are_not_transition_matrices_are_refused(column, entries, said):
    with pytest.raises(PolicyError, match=said):
        MATRIX.check_settings((column.attribute,), {"entries": entries})


def test_a_domain_too_large_for_a_matrix_is_refused_before_any_is_made():
    large = replace(column_of([1, 1]).attribute, domain=Domain(tuple(map(str, range(20_000)))))
    for ask in (MATRIX.check_attributes, MATRIX.default_settings):
        with pytest.raises(PolicyError, match="1,000 values at most"):
            ask((large,))
