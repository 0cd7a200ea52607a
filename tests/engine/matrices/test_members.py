"""What a matrix over combinations does to one attribute, beside sums over its entries."""

import numpy as np
import pytest

from sfumato.engine.disclosure.best_guess import guessed_of_member
from sfumato.engine.matrices.retention_matrix import (
    RetentionMatrix,
    likelihood_of_member,
    matrix_of_member,
    odds_of_member,
)
from sfumato.engine.table.combinations import members

SIZES = (3, 2, 4)


@pytest.fixture(params=range(3))
def case(request):
    """A matrix, shares of which one value has none, and each combination's value."""
    rng = np.random.default_rng(request.param)
    matrix = RetentionMatrix(rng.uniform(0.0, 0.9, 24))
    member = members(SIZES, request.param)
    shares = rng.dirichlet(np.ones(24)) * (member != 1 if request.param == 2 else 1)
    return matrix, shares / shares.sum(), member


def test_odds_are_those_of_every_pair_of_combinations(case):
    matrix, _, member = case
    entries, found = matrix.dense(), odds_of_member(matrix, member)
    for value in range(member.max() + 1):
        inside, outside = member == value, member != value
        ratios = entries[:, inside][:, :, None] / entries[:, outside][:, None, :]
        assert found.up[value] == pytest.approx(ratios.max())
        assert found.down[value] == pytest.approx(ratios.min())


def test_one_attribute_by_itself_follows_a_matrix_of_its_own(case):
    matrix, shares, member = case
    entries, own = matrix.dense(), matrix_of_member(matrix, shares, member).dense()
    for true in range(member.max() + 1):
        weights = np.where(member == true, shares, 0.0)
        weights = weights if weights.any() else (member == true).astype(float)
        law = np.bincount(member, entries @ (weights / weights.sum()))
        assert own[:, true] == pytest.approx(law)


def test_what_is_guessed_and_how_likely_it_is_follow_from_the_entries(case):
    matrix, shares, member = case
    entries = matrix.dense()
    by_value = np.array(
        [(entries * shares)[:, member == value].sum(axis=1) for value in range(member.max() + 1)]
    )
    assert guessed_of_member(matrix, shares, member) == pytest.approx(by_value.max(axis=0).sum())
    everybody, own = likelihood_of_member(matrix, shares, member)
    weight = np.bincount(member, shares)
    for value in np.flatnonzero(weight):
        likelihood = everybody[value] + np.where(member == value, own, 0.0)
        assert likelihood == pytest.approx(by_value[value] / weight[value])
