"""Two noisy counts estimate a small group's distribution: how well is computed exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.disclosure.count_queries import ratio_tails, riskiest_groups, shares_in_table
from sfumato.engine.disclosure.grouped_values import grouped_values
from sfumato.engine.table.micro_groups import MicroGroups
from tests.benchmarks.noisy_counts import PUBLISHED_COUNTS, PUBLISHED_SETTINGS
from tests.thorough import tried


def by_integration(size: int, count: int, loss: float, limit: float) -> float:
    """Pr[(o2 + ξ2)/(o1 + ξ1) > limit], by integrating over the noise of the size."""
    noise = stats.laplace(scale=1.0 / loss)

    def above(x: float) -> float:
        return float(noise.pdf(x) * noise.sf(limit * (size + x) - count))

    def below(x: float) -> float:
        return float(noise.pdf(x) * noise.cdf(limit * (size + x) - count))

    kinks = sorted({-float(size), 0.0, count / limit - size if limit else 0.0})
    edges = [-np.inf, *kinks, np.inf]
    total = 0.0
    for low, high in itertools.pairwise(edges):
        part = below if high <= -size else above
        total += integrate.quad(part, low, high, limit=200)[0]
    return total


@pytest.mark.parametrize("group", PUBLISHED_COUNTS)
def test_the_published_numbers_of_cases_are_what_chance_makes_of_the_exact_tails(
    group: tuple[int, float, tuple[tuple[int, int], ...]],
) -> None:
    size, share, cases = group
    for (loss, epsilon), (high, low) in zip(PUBLISHED_SETTINGS, cases, strict=True):
        tails = ratio_tails([size], [round(share * size)], loss, epsilon)
        for found, chance in ((high, tails.high[0]), (low, tails.low[0])):
            spread = (100 * chance * (1 - chance)) ** 0.5
            assert abs(found - 100 * chance) < 4.0 * spread + 1.0


@pytest.mark.slow
@settings(deadline=None, max_examples=tried(32))
@given(
    size=st.integers(1, 300),
    portion=st.floats(0.0, 1.0),
    loss=st.sampled_from([0.01, 0.05, 0.1, 0.5, 1.0]),
    epsilon=st.sampled_from([0.05, 0.2, 0.3, 0.9, 1.0]),
)
def test_the_closed_form_is_the_integral(
    size: int, portion: float, loss: float, epsilon: float
) -> None:
    count = max(1, round(portion * size))
    tails = ratio_tails([size], [count], loss, epsilon)
    share = count / size
    high = by_integration(size, count, loss, share * (1 + epsilon))
    low = 1.0 - by_integration(size, count, loss, share * (1 - epsilon))
    assert tails.high[0] == pytest.approx(high, abs=1e-7)
    assert tails.low[0] == pytest.approx(low, abs=1e-7)


def test_a_ratio_limit_of_one_and_its_neighbours_agree() -> None:
    # f·(1 + ε) = 1 exactly, and a hair beside it.
    exact = ratio_tails([100], [80], 0.1, 0.25).high[0]
    beside = [ratio_tails([100], [80], 0.1, 0.25 + h).high[0] for h in (-1e-7, 1e-7)]
    assert beside[0] > exact > beside[1]
    assert beside[0] - beside[1] < 1e-6


def test_simulated_answers_have_these_tails() -> None:
    generator = np.random.default_rng(3)
    draws = 200_000
    size = 102 + generator.laplace(scale=20.0, size=draws)
    count = 73 + generator.laplace(scale=20.0, size=draws)
    error = (count / size - 73 / 102) / (73 / 102)
    tails = ratio_tails([102], [73], 0.05, 0.3)
    assert (error > 0.3).mean() == pytest.approx(tails.high[0], abs=0.004)
    assert (error < -0.3).mean() == pytest.approx(tails.low[0], abs=0.004)


def test_tails_of_a_large_group_vanish_without_a_warning() -> None:
    tails = ratio_tails([10**9, 10**7], [10**9, 1], 1.0, 0.3)
    assert tails.high[0] == 0.0
    assert tails.low[0] == 0.0
    assert tails.within[0] == 1.0
    assert 0.0 < tails.high[1] < 0.5


def test_a_group_violates_where_either_tail_is_below_delta() -> None:
    tails = ratio_tails([213, 77], [100, 57], 0.1, 0.3)
    assert tails.violates(0.1).tolist() == [True, False]


def test_the_riskiest_groups_have_the_largest_share_among_the_large() -> None:
    sizes = np.array([10, 80, 90, 100, 80])
    largest = np.array([10, 60, 60, 90, 60])
    assert riskiest_groups(sizes, largest, 70, 3).tolist() == [3, 1, 4]


def test_shares_in_the_table_are_those_of_all_records() -> None:
    codes = np.array([0, 0, 1, 2], dtype=np.uint8)
    one = MicroGroups(np.zeros(4, dtype=np.int64), np.array([4]))
    shares = shares_in_table(grouped_values(one, codes, 4), np.array([0, 2, 3]))
    assert shares.tolist() == [0.5, 0.25, 0.0]


@pytest.mark.parametrize("loss", [0.0, -1.0, float("nan"), float("inf")])
def test_a_privacy_loss_that_is_none_is_refused(loss: float) -> None:
    with pytest.raises(LevelError, match="privacy loss"):
        ratio_tails([10], [5], loss, 0.3)


@pytest.mark.parametrize("epsilon", [0.0, 1.5, float("nan")])
def test_a_relative_error_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(LevelError, match="relative error"):
        ratio_tails([10], [5], 0.1, epsilon)


def test_a_value_that_does_not_occur_is_refused() -> None:
    with pytest.raises(PolicyError, match="between 1 and its size"):
        ratio_tails([10], [0], 0.1, 0.3)
