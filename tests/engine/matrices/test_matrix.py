"""The perturbation matrix: its entries, what they promise, and which releases are garblings."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.engine.core.errors import EstimationError, LadderError, LevelError, PolicyError
from sfumato.engine.matrices.matrix import DENSE_LIMIT, DenseMatrix
from sfumato.engine.matrices.retention_matrix import (
    RetentionMatrix,
    largest_of_others,
    uniform_epsilon,
    uniform_matrix,
)
from tests.thorough import tried

# Chaytor et al., Fig. 2 (b): SARS, HIV, H1N1, cancer.
FINE_GRAIN = np.array([[3, 2, 2, 2], [3, 6, 2, 2], [3, 2, 6, 2], [3, 2, 2, 6]]) / 12
# The same as retention probabilities: SARS is always replaced, the others are kept by a third.
FINE_GRAIN_RETENTION = np.array([0, 1 / 3, 1 / 3, 1 / 3])

PROBABILITIES = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0]))
RETENTIONS = st.integers(2, 6).flatmap(lambda m: arrays(float, m, elements=PROBABILITIES))
PAIRS = st.integers(2, 5).flatmap(
    lambda m: st.tuples(*[arrays(float, m, elements=st.sampled_from([0, 0.1, 0.3, 0.7, 1]))] * 2)
)


def beliefs(size, generator, count=400):
    """Beliefs of every kind: spread out, concentrated, and nearly certain."""
    yield from generator.dirichlet(np.full(size, 0.1), count)
    yield from generator.dirichlet(np.full(size, 5.0), count)
    for i, k in itertools.permutations(range(size), 2):
        belief = np.zeros(size)
        belief[i], belief[k] = 0.3, 0.7
        yield belief


def test_uniform_entries_are_the_papers_equation_1():
    # Xiao et al., example 1: p = 40 %, s = 10, HIV stays HIV with probability 0.46.
    entries = uniform_matrix(0.4, 10).dense()
    assert entries[3, 3] == pytest.approx(0.46)
    assert entries[3, 4] == pytest.approx(0.06)
    assert entries.sum(axis=0) == pytest.approx(np.ones(10))


def test_fine_grain_entries_are_the_papers_figure_2b():
    assert RetentionMatrix(FINE_GRAIN_RETENTION).dense() == pytest.approx(FINE_GRAIN)


@settings(deadline=None, max_examples=tried(60))
@given(RETENTIONS)
def test_rows_columns_and_blocks_are_parts_of_the_whole(retention):
    matrix = RetentionMatrix(retention)
    whole = matrix.dense()
    assert whole.sum(axis=0) == pytest.approx(np.ones(matrix.size))
    assert np.array_equal(np.diagonal(whole), matrix.diagonal)
    for place in range(matrix.size):
        assert np.array_equal(matrix.row(place), whole[place])
        assert np.array_equal(matrix.column(place), whole[:, place])
    few = np.array([0, matrix.size - 1])
    assert np.array_equal(matrix.block(few, np.arange(matrix.size)), whole[few])
    assert np.array_equal(DenseMatrix(whole).block(few, few), whole[np.ix_(few, few)])


@settings(deadline=None, max_examples=tried(60))
@given(RETENTIONS)
def test_shortcuts_equal_the_dense_arithmetic(retention):
    matrix, dense = RetentionMatrix(retention), DenseMatrix(RetentionMatrix(retention).dense())
    shares = np.random.default_rng(1).dirichlet(np.ones(matrix.size))
    assert matrix.apply(shares) == pytest.approx(dense.dense() @ shares)
    assert matrix.apply_transposed(shares) == pytest.approx(dense.dense().T @ shares)
    fast, slow = matrix.worst_odds_ratios(), dense.worst_odds_ratios()
    assert fast.up == pytest.approx(slow.up)
    assert fast.down == pytest.approx(slow.down)


@pytest.mark.parametrize(
    "retention", [[0.2, 0.2, 0.2], [0.0, 1 / 3, 1 / 3, 1 / 3], [0.9, 0.1], [0.5, 0.2, 0.7]]
)
def test_no_belief_moves_its_odds_beyond_the_worst_ratios(retention):
    matrix = RetentionMatrix(np.array(retention))
    odds = matrix.worst_odds_ratios()
    reached_up, reached_down = np.zeros(matrix.size), np.full(matrix.size, np.inf)
    for belief in beliefs(matrix.size, np.random.default_rng(2)):
        after = matrix.posterior(belief)
        sure = (belief > 1e-4) & (belief < 1 - 1e-4)  # beyond, 1 − belief loses its digits
        before, now = belief[sure], after[:, sure]
        ratios = now / (1 - now) / (before / (1 - before))
        reached_up[sure] = np.maximum(reached_up[sure], ratios.max(axis=0))
        reached_down[sure] = np.minimum(reached_down[sure], ratios.min(axis=0))
    assert np.all(reached_up <= odds.up * (1 + 1e-9))
    assert np.all(reached_down >= odds.down * (1 - 1e-9))
    # Two-point beliefs reach the bounds: they are the least that can be promised.
    assert reached_up == pytest.approx(odds.up)
    assert reached_down == pytest.approx(odds.down)


def test_gamma_bounds_the_odds_on_every_set_of_values():
    matrix = RetentionMatrix(np.array([0.5, 0.2, 0.7, 0.0]))
    worst = 0.0
    for belief in beliefs(4, np.random.default_rng(3), 100):
        after = matrix.posterior(belief)
        for chosen in itertools.chain.from_iterable(
            itertools.combinations(range(4), k) for k in (1, 2, 3)
        ):
            before, now = belief[list(chosen)].sum(), after[:, list(chosen)].sum(axis=1)
            if 1e-4 < before < 1 - 1e-4:
                worst = max(worst, (now / (1 - now) / (before / (1 - before))).max())
    assert worst <= matrix.gamma * (1 + 1e-9)


def test_the_papers_downward_half_fails_in_its_own_example():
    matrix = RetentionMatrix(FINE_GRAIN_RETENTION)
    odds = matrix.worst_odds_ratios()
    assert odds.up == pytest.approx([1.5, 3, 3, 3])
    assert odds.down[0] == pytest.approx(0.5)  # below 1/γ of SARS, which is 1/1.5
    prior = np.array([1 / 7, 0, 0, 6 / 7])
    assert matrix.posterior(prior, released=3)[0] == pytest.approx(1 / 13)


@pytest.mark.parametrize("size", [2, 7, 1_000])
def test_without_its_matrix_a_uniform_level_has_the_same_epsilon_to_the_last_digit(size):
    levels = [0.0, 1e-40, 1e-12, 1 / 3, 0.6, 1 - 1e-9, np.nextafter(1.0, 0.0), 1.0]
    for level in (*levels, *np.random.default_rng(size).random(20)):
        assert uniform_epsilon(level, size) == uniform_matrix(level, size).epsilon


@settings(max_examples=tried(60))
@given(retention=RETENTIONS)
def test_gamma_is_the_largest_of_what_is_told_of_each_value(retention):
    matrix = RetentionMatrix(retention)
    assert matrix.gamma == matrix.worst_odds_ratios().up.max()
    others = [np.delete(retention, place).max() for place in range(len(retention))]
    assert largest_of_others(retention).tolist() == others


@pytest.mark.parametrize(("retention", "size"), [(0.5, 10), (0.3, 2), (0.001, 20_000)])
def test_uniform_promises_are_the_known_formulas(retention, size):
    matrix = uniform_matrix(retention, size)
    gamma = 1 + size * retention / (1 - retention)
    assert matrix.gamma == matrix.worst_odds_ratio() == pytest.approx(gamma)
    assert matrix.worst_odds_ratios().down.min() == pytest.approx(1 / gamma)
    assert matrix.epsilon == pytest.approx(math.log(gamma))
    assert matrix.rho2_for(0.1) == pytest.approx(gamma * 0.1 / (0.9 + gamma * 0.1))


def test_the_original_and_noise_are_exact():
    original, noise = uniform_matrix(1.0, 3), uniform_matrix(0.0, 3)
    assert np.array_equal(original.dense(), np.eye(3))
    assert original.gamma == math.inf
    assert original.worst_odds_ratios().down.max() == 0.0
    assert noise.gamma == 1.0
    assert noise.epsilon == 0.0
    prior = np.array([0.2, 0.3, 0.5])
    assert noise.posterior(prior) == pytest.approx(np.tile(prior, (3, 1)))


def test_the_posterior_is_bayes_and_undefined_where_nothing_can_be_seen():
    matrix = uniform_matrix(0.4, 3)
    prior = np.array([0.5, 0.5, 0.0])
    joint = matrix.dense() * prior
    assert matrix.posterior(prior) == pytest.approx(joint / joint.sum(axis=1, keepdims=True))
    assert matrix.posterior(prior, 2) == pytest.approx([0.5, 0.5, 0])
    assert np.isnan(uniform_matrix(1.0, 3).posterior(prior, 2)).all()


@settings(deadline=None, max_examples=tried(80))
@given(PAIRS)
def test_a_garbling_is_found_exactly_where_a_channel_exists(pair):
    upper, lower = map(RetentionMatrix, pair)
    test = lower.test_garbling_of(upper)
    dense = DenseMatrix(lower.dense()).test_garbling_of(DenseMatrix(upper.dense()))
    assert test.holds == dense.holds
    if test.holds:
        channel = upper.garbling_to(lower)
        assert channel.dense() @ upper.dense() == pytest.approx(lower.dense(), abs=1e-8)
        assert channel.dense().min() >= 0.0
    else:
        with pytest.raises(LadderError):
            upper.garbling_to(lower)


@settings(deadline=None, max_examples=tried(60))
@given(st.floats(0.001, 1), st.floats(0, 1), st.integers(2, 50))
def test_uniform_levels_sit_on_one_ladder(upper_level, share, size):
    upper, lower = uniform_matrix(upper_level, size), uniform_matrix(upper_level * share, size)
    assert lower.test_garbling_of(upper).holds
    assert share > 0.999 or not upper.test_garbling_of(lower).holds
    channel = upper.garbling_to(lower)
    assert isinstance(channel, RetentionMatrix)
    assert channel.retention == pytest.approx(np.full(size, share))


def test_scaling_a_fine_grain_profile_stays_on_one_ladder():
    profile = np.array([0.1, 0.4, 0.8, 0.3])
    channel = RetentionMatrix(profile).garbling_to(RetentionMatrix(profile * 0.5))
    assert isinstance(channel, RetentionMatrix)
    assert channel.retention == pytest.approx(np.full(4, 0.5))


def test_unrelated_profiles_name_the_entries_that_forbid_a_garbling():
    upper = RetentionMatrix(np.array([0.8, 0.2, 0.5]))
    lower = RetentionMatrix(np.array([0.2, 0.8, 0.5]))
    test = lower.test_garbling_of(upper)
    candidate = lower.dense() @ np.linalg.inv(upper.dense())
    assert not test.holds
    worst = test.forbidding[0]
    assert worst.value == pytest.approx(candidate.min())
    assert candidate[worst.released, worst.original] == pytest.approx(worst.value)


@pytest.mark.parametrize("apart", [0.0, 1e-17, 1e-15, 1e-13, 1e-9, 1e-3])
def test_a_matrix_is_singular_where_its_inverse_is_of_no_use(apart):
    entries = np.random.default_rng(1).dirichlet(np.ones(6), 6).T
    entries[:, 5] = (entries[:, 0] + entries[:, 1]) / 2
    entries[0, 5] += apart
    entries[1, 5] -= apart
    assert DenseMatrix(entries).is_singular == (np.linalg.cond(entries) > 1e6)


def test_a_singular_dense_matrix_has_its_garblings_found_by_a_program():
    blurred = DenseMatrix(np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1.0]]))
    coarser = DenseMatrix(np.array([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.2, 0.2, 0.6]]))
    assert coarser.test_garbling_of(blurred).holds
    channel = blurred.garbling_to(coarser)
    assert channel.dense() @ blurred.dense() == pytest.approx(coarser.dense())
    assert not uniform_matrix(0.5, 3).test_garbling_of(blurred).holds


def test_twenty_thousand_values_never_become_a_whole_matrix():
    size = 20_000
    retention = np.random.default_rng(4).uniform(0.1, 0.9, size)
    matrix = RetentionMatrix(retention)
    shares = np.full(size, 1 / size)
    assert matrix.solve(matrix.apply(shares)) == pytest.approx(shares)
    assert matrix.posterior(shares, 7).sum() == pytest.approx(1.0)
    assert RetentionMatrix(retention * 0.5).test_garbling_of(matrix).holds
    assert matrix.garbling_to(RetentionMatrix(retention * 0.5)).size == size
    with pytest.raises(PolicyError, match="too large"):
        uniform_matrix(0.5, DENSE_LIMIT + 1).dense()


@settings(deadline=None, max_examples=tried(60))
@given(RETENTIONS.filter(lambda p: (p > 0.01).sum() >= len(p) - 1 and (p[p > 0] > 0.01).all()))
def test_solving_undoes_applying(retention):
    matrix = RetentionMatrix(retention)
    shares = np.random.default_rng(5).dirichlet(np.ones(matrix.size))
    weights = np.random.default_rng(6).random(matrix.size)
    assert matrix.solve(matrix.apply(shares)) == pytest.approx(shares, abs=1e-9)
    squares = np.linalg.inv(matrix.dense()) ** 2
    assert matrix.apply_squared_inverse(weights) == pytest.approx(squares @ weights, rel=1e-6)


def test_values_that_cannot_be_told_apart_are_named():
    with pytest.raises(EstimationError, match="1, 3"):
        RetentionMatrix(np.array([0, 0.5, 0])).solve(np.ones(3) / 3)
    with pytest.raises(EstimationError, match="…"):
        uniform_matrix(0.0, 9).apply_squared_inverse(np.ones(9))
    with pytest.raises(EstimationError, match="singular"):
        DenseMatrix(np.full((2, 2), 0.5)).solve(np.ones(2) / 2)


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (PolicyError, lambda: RetentionMatrix(np.array([0.5]))),
        (PolicyError, lambda: RetentionMatrix(np.full((2, 2), 0.5))),
        (LevelError, lambda: RetentionMatrix(np.array([0.5, 1.5]))),
        (LevelError, lambda: RetentionMatrix(np.array([0.5, np.nan]))),
        (PolicyError, lambda: DenseMatrix(np.ones((2, 3)))),
        (PolicyError, lambda: DenseMatrix(np.array([[0.5, 0.5], [0.4, 0.5]]))),
        (PolicyError, lambda: DenseMatrix(np.array([[1.5, 0.5], [-0.5, 0.5]]))),
        (PolicyError, lambda: DenseMatrix(np.array([[np.nan, 0.5], [0.5, 0.5]]))),
        (PolicyError, lambda: uniform_matrix(0.5, 2).posterior(np.ones(3) / 3)),
        (PolicyError, lambda: uniform_matrix(0.5, 2).posterior(np.array([0.6, 0.6]))),
        (PolicyError, lambda: uniform_matrix(0.5, 2).posterior(np.array([1.5, -0.5]))),
        (
            LadderError,
            lambda: uniform_matrix(0.5, 2).test_garbling_of(uniform_matrix(0.5, 3)),
        ),
    ],
)
def test_what_is_no_matrix_or_belief_is_refused(error, make):
    with pytest.raises(error) as refused:
        make()
    assert refused.value.what
    assert refused.value.remedy


def test_the_text_form_says_what_it_is():
    assert repr(uniform_matrix(0.25, 7)) == "RetentionMatrix(m=7, p=0.25..0.25)"
    assert repr(DenseMatrix(np.eye(2))) == "DenseMatrix(m=2)"
