"""Replacement by a published distribution: its law, its invariance, its coalition, its promise."""

import itertools
import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import EstimationError, LevelError, PolicyError
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Origin
from sfumato.engine.mechanisms.distribution import CELLS, DistributionMatrix, cells_of
from tests.engine.categories import column_of, released, request_for
from tests.noise import NOISE

DISTRIBUTION = mechanism_called("distribution")
COUNTS = [30_000, 10_000, 5_000, 50_000]
STATED = {"frequencies": "stated", "shares": [6, 2, 1, 10], "even_share": 0.1}


@pytest.fixture(scope="module")
def column():
    return column_of(COUNTS)


def own_matrix(retention, distribution):
    """The matrix by its definition, entry by entry."""
    size = len(distribution)
    return np.array(
        [
            [
                retention * (row == column) + (1 - retention) * distribution[row]
                for column in range(size)
            ]
            for row in range(size)
        ]
    )


# ----- the distribution


@given(
    st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=2, max_size=40).filter(any),
    st.floats(0, 1),
)
def test_cells_follow_the_shares_and_leave_no_value_out(shares, even):
    cells = cells_of(shares, even)
    assert sum(cells) == CELLS
    assert min(cells) >= 1
    wanted = (1 - even) * np.array(shares) / math.fsum(shares) + even / len(shares)
    assert np.abs(np.array(cells) / CELLS - wanted).max() <= len(shares) / CELLS


def test_a_stated_distribution_is_mixed_with_an_even_one(column):
    attributes = (column.attribute,)
    cells = np.array(DISTRIBUTION.cells(attributes, STATED)) / CELLS
    assert cells == pytest.approx(0.9 * np.array([6, 2, 1, 10]) / 19 + 0.1 / 4, abs=1e-4)


# ----- the matrix


@given(
    st.floats(0.01, 0.99),
    st.lists(st.integers(1, 50), min_size=2, max_size=7),
    st.data(),
)
def test_the_matrix_agrees_with_its_entries(retention, parts, data):
    distribution = np.array(parts) / sum(parts)
    matrix = DistributionMatrix(retention, distribution)
    entries = own_matrix(retention, distribution)
    dense, size = DenseMatrix(entries), len(parts)
    numbers = st.lists(st.floats(0, 1), min_size=size, max_size=size).map(np.array)
    vector = data.draw(numbers)
    assert matrix.dense() == pytest.approx(entries)
    assert matrix.diagonal == pytest.approx(np.diag(entries))
    for place in range(size):
        assert matrix.row(place) == pytest.approx(entries[place])
        assert matrix.column(place) == pytest.approx(entries[:, place])
    for name in ("apply", "apply_transposed", "solve", "apply_squared_inverse"):
        expected = getattr(dense, name)(vector)
        assert getattr(matrix, name)(vector) == pytest.approx(expected, rel=1e-6, abs=1e-6), name
    for name in ("own_second_moments", "inverse_ranges"):
        assert getattr(matrix, name)() == pytest.approx(getattr(dense, name)(), rel=1e-6), name
    odds, expected_odds = matrix.worst_odds_ratios(), dense.worst_odds_ratios()
    assert odds.up == pytest.approx(expected_odds.up)
    assert odds.down == pytest.approx(expected_odds.down)
    assert matrix.gamma == pytest.approx(1 + retention / ((1 - retention) * distribution.min()))


def test_no_release_of_noise_alone_is_estimated_from():
    with pytest.raises(EstimationError, match="says nothing"):
        DistributionMatrix(0.0, np.array([0.5, 0.5])).solve(np.array([0.4, 0.6]))


def test_another_distribution_is_no_garbling_unless_its_matrix_is():
    one = DistributionMatrix(0.5, np.array([0.9, 0.1]))
    other = DistributionMatrix(0.49, np.array([0.1, 0.9]))
    expected = DenseMatrix(other.dense()).test_garbling_of(DenseMatrix(one.dense()))
    assert other.test_garbling_of(one).holds == expected.holds


# ----- releases


def enumerated(owner, prior, levels):
    """Pr[X, Y1, Y2, …] from the ladder over cells: what is kept, and each cell that is drawn."""
    cells, size = len(owner), len(prior)
    joint = np.zeros((size,) * (1 + len(levels)))
    steps = [now / then for then, now in itertools.pairwise((1.0, *levels))]
    for true in range(size):
        paths = [((owner.index(true),), prior[true])]
        for kept in steps:
            paths = [
                further
                for path, chance in paths
                for further in (
                    ((*path, path[-1]), chance * kept),
                    *(((*path, drawn), chance * (1 - kept) / cells) for drawn in range(cells)),
                )
            ]
        for path, chance in paths:
            joint[(true, *(owner[cell] for cell in path[1:]))] += chance
    return joint


def test_a_coalition_knows_what_its_most_trusted_member_knows():
    """Enumerated for three values that own one, two and five of eight cells, and any prior."""
    owner, prior, levels = [0, 1, 1, 2, 2, 2, 2, 2], np.array([0.5, 0.2, 0.3]), (0.7, 0.4, 0.1)
    distribution = np.bincount(owner) / len(owner)
    joint = enumerated(owner, prior, levels)
    law = prior[:, None] * own_matrix(levels[0], distribution).T
    for then, now in itertools.pairwise(levels):
        law = np.einsum("...y,zy->...yz", law, own_matrix(now / then, distribution))
    assert joint == pytest.approx(law, abs=1e-12)
    assert joint.sum(axis=(1, 2)) == pytest.approx(
        prior[:, None] * own_matrix(levels[2], distribution).T
    )
    alone = joint.sum(axis=(2, 3), keepdims=True)
    ratio = (joint / joint.sum(axis=0)) / (alone / alone.sum(axis=0))
    assert ratio == pytest.approx(np.ones_like(ratio))


def test_shares_that_follow_the_distribution_stay_right_at_every_level(column):
    settings = {"frequencies": "stated", "shares": COUNTS, "even_share": 0.0}
    true = np.array(COUNTS) / sum(COUNTS)
    for level in (0.7, 0.2, 0.01):
        matrix = DISTRIBUTION.matrix(level, (column.attribute,), settings)
        assert matrix.apply(true) == pytest.approx(true, abs=2e-5)
        release = released(DISTRIBUTION, request_for(column, settings, level))
        codes = column.attribute.domain.encode(release.columns["Disease"])
        counted = np.bincount(codes, minlength=4) / len(codes)
        error = np.sqrt(true * (1 - true) / len(codes))
        assert (np.abs(counted - true) < 5.3 * error).all()  # false alarm below 1e-6


# ----- what is promised


def test_distribution_and_value_together_keep_the_odds_that_are_promised():
    """Enumerated over the noisy counts and the released value of the one unknown record."""
    epsilon, level, reach = 0.9, 0.3, 10
    others = (3, 1)
    settings = {"frequencies": "noisy", "frequencies_epsilon": epsilon, "even_share": 0.2}
    ratio = math.exp(-epsilon / 2)
    joint = [defaultdict(float), defaultdict(float)]
    attribute = column_of(others).attribute
    for noisy in itertools.product(range(-4, reach), repeat=2):
        drawn = {**settings, "noisy_counts": list(noisy)}
        cells = DISTRIBUTION.cells((attribute,), drawn)
        entries = own_matrix(level, np.array(cells) / CELLS)
        for value in range(2):
            exact = [count + (place == value) for place, count in enumerate(others)]
            chance = math.prod(
                (1 - ratio) / (1 + ratio) * ratio ** abs(seen - true)
                for seen, true in zip(noisy, exact, strict=True)
            )
            for shown in range(2):
                # The promise is made for the distribution in hand; each has its own.
                joint[value][(cells, shown)] += chance * entries[shown, value]
    for (cells, shown), chance in joint[0].items():
        odds = chance / joint[1][(cells, shown)]
        gamma = 1 + level / ((1 - level) * min(cells) / CELLS)
        assert max(odds, 1 / odds) <= gamma * math.exp(epsilon) * (1 + 1e-9)


def test_even_a_release_of_noise_tells_what_its_distribution_does(column):
    attributes = (column.attribute,)
    settings = DISTRIBUTION.complete_settings(attributes, {"frequencies": "noisy"}, NOISE)
    cost = DISTRIBUTION.byproduct_epsilon(settings)
    assert DISTRIBUTION.odds_factor(0.0, attributes, settings) == pytest.approx(math.exp(cost))
    sentence = DISTRIBUTION.promise(0.0, attributes, settings).sentence
    assert "All released values are random" in sentence
    assert "at most" in sentence
    (told,) = DISTRIBUTION.byproducts(attributes, settings)
    assert told.origin is Origin.NOISY
    assert "says nothing" in DISTRIBUTION.promise(0.0, attributes, STATED).sentence
    assert DISTRIBUTION.byproducts(attributes, STATED) == ()


def test_the_original_promises_nothing(column):
    promise = DISTRIBUTION.promise(1.0, (column.attribute,), STATED)
    assert "promises nothing" in promise.sentence


def test_noisy_counts_that_were_drawn_stay(column):
    attributes = (column.attribute,)
    first = DISTRIBUTION.complete_settings(attributes, {"frequencies": "noisy"}, NOISE)
    grown = (replace(column.attribute, counts=np.array([1, 2, 3, 4])),)
    assert DISTRIBUTION.complete_settings(grown, first, NOISE) == first
    identity = DISTRIBUTION.ladder_identity(attributes, first)
    assert DISTRIBUTION.ladder_identity(grown, first) == identity
    assert DISTRIBUTION.ladder_identity(attributes, {**first, "even_share": 0.3}) != identity


# ----- what is refused


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"frequencies": "stated", "shares": [1, 2]}, "are 2 numbers for 4 values"),
        ({"frequencies": "stated", "shares": []}, "not a list of numbers"),
        ({"frequencies": "guessed"}, "not one of"),
        ({**STATED, "even_share": 2}, "not a number from 0 to 1"),
        ({**STATED, "even_share": "much"}, "not a number from 0 to 1"),
        ({**STATED, "profile": [1]}, "no setting called profile"),
    ],
)
def test_settings_that_give_no_distribution_are_refused(column, settings, said):
    with pytest.raises(PolicyError, match=said):
        DISTRIBUTION.check_settings((column.attribute,), settings)


def test_an_odds_factor_that_the_distribution_spends_alone_is_refused(column):
    noisy = {**STATED, "frequencies": "noisy", "frequencies_epsilon": 1.0, "noisy_counts": COUNTS}
    with pytest.raises(LevelError, match="leaves nothing"):
        DISTRIBUTION.level({"gamma": 2.0}, (column.attribute,), noisy)


def test_a_domain_that_is_too_large_is_refused_by_name():
    large = replace(column_of([1, 1]).attribute, domain=Domain(tuple(map(str, range(20_000)))))
    with pytest.raises(PolicyError, match="has 20,000"):
        DISTRIBUTION.check_attributes((large,))
