"""How attributes vary together: estimated robustly, or refused with the column's name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.table.covariance import estimate_moments, factor_of
from tests.engine.numbers import attributes_of, number_columns
from tests.thorough import tried


def moments(**columns):
    return estimate_moments(attributes_of(number_columns(**columns)))


def table(rows=500, size=4, seed=3):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(size, size)) @ draw.normal(size=(size, rows))


def columns_of(values):
    return {f"x{place}": column for place, column in enumerate(values)}


def test_the_moments_are_those_of_a_record_taken_from_the_table():
    values = table()
    found = moments(**columns_of(values))
    assert found.mean == pytest.approx(values.mean(axis=1))
    assert found.covariance == pytest.approx(np.cov(values, bias=True), rel=1e-12)
    assert found.spreads == pytest.approx(values.std(axis=1))


def test_the_moments_are_the_same_bits_with_the_rows_in_another_order():
    values = table(rows=4_000)
    plain = moments(**columns_of(values))
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(values.shape[1])
        shuffled = moments(**columns_of(values[:, order]))
        assert shuffled.mean.tolist() == plain.mean.tolist()
        assert shuffled.covariance.tolist() == plain.covariance.tolist()


def test_wild_scales_do_no_harm_to_one_another():
    values = table()
    scale = np.array([1e-120, 1e-3, 1.0, 1e120])
    shift = np.array([0.0, 1e6, -5.0, 0.0])
    found = moments(**columns_of(values * scale[:, None] + shift[:, None]))
    plain = moments(**columns_of(values))
    back = found.covariance / scale / scale[:, None]
    assert back == pytest.approx(plain.covariance, rel=1e-5)
    factor = factor_of(found.covariance) / scale[:, None]
    assert factor @ factor.T == pytest.approx(back, rel=1e-9)


def test_pairs_use_the_records_that_have_both():
    values = table(rows=400)
    values[0, ::3] = np.nan
    values[1, 1::5] = np.nan
    found = moments(**columns_of(values))
    both = ~np.isnan(values[:2]).any(axis=0)
    assert found.mean[0] == pytest.approx(np.nanmean(values[0]))
    assert found.covariance[0, 0] == pytest.approx(np.nanvar(values[0]))
    correlation = np.corrcoef(values[0, both], values[1, both])[0, 1]
    wanted = correlation * np.nanstd(values[0]) * np.nanstd(values[1])
    assert found.covariance[0, 1] == pytest.approx(wanted)


def test_correlations_that_contradict_one_another_become_a_covariance():
    nan = np.nan
    rise = np.arange(6.0)
    a = np.concatenate([rise, rise, [nan] * 6])
    b = np.concatenate([rise, [nan] * 6, rise])
    c = np.concatenate([[nan] * 6, rise, -rise])
    found = moments(a=a, b=b, c=c)
    assert np.linalg.eigvalsh(found.covariance)[0] > -1e-12
    assert np.diag(found.covariance) == pytest.approx([np.nanvar(x) for x in (a, b, c)])
    assert found.covariance[0, 1] > 0 > found.covariance[1, 2]
    factor = factor_of(found.covariance)
    assert factor @ factor.T == pytest.approx(found.covariance, abs=1e-8)


def test_columns_that_explain_one_another_are_served():
    values = table(size=2)
    values = np.vstack([values, values[0], 2 * values[0] - 3 * values[1] + 5])
    covariance = moments(**columns_of(values)).covariance
    factor = factor_of(covariance)
    assert factor @ factor.T == pytest.approx(covariance, rel=1e-9, abs=1e-9)
    assert (np.diag(factor) > 0).all()


def test_what_two_nearly_equal_columns_differ_by_gets_its_noise():
    draw = np.random.default_rng(8)
    start = draw.normal(0, 1e6, 3000)
    lasted = draw.normal(50, 10, 3000)
    factor = factor_of(moments(start=start, end=start + lasted).covariance)
    difference = factor[1] - factor[0]
    assert np.sqrt(difference @ difference) == pytest.approx(10, rel=0.1)


@settings(deadline=None, max_examples=tried(60))
@given(st.integers(1, 7), st.integers(0, 10_000), st.integers(1, 7))
def test_the_factor_gives_the_covariance_back_whatever_its_rank(size, seed, rank):
    root = np.random.default_rng(seed).normal(size=(size, min(rank, size)))
    covariance = root @ root.T
    factor = factor_of(covariance)
    assert (factor == np.tril(factor)).all()
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs(factor @ factor.T - covariance).max() < 1e-6 * scale.max()


# ----- what is refused


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([3.5, 3.5, 3.5, np.nan], "the same number in every row"),
        ([np.nan] * 4, "holds no numbers"),
        ([1.0, np.inf, 2.0, -np.inf], "infinite numbers in 2 rows, first in row 2"),
        ([1e150, 2e150, 3e150, 1.0], "too large or too close"),
        ([1e-300, 2e-300, 3e-300, 0.0], "too large or too close"),
    ],
)
def test_a_column_whose_spread_can_t_be_measured_is_refused_by_name(values, what):
    with pytest.raises(PolicyError, match=f"odd.*{what}") as refused:
        moments(sound=[1.0, 2.0, 3.0, 5.0], odd=values)
    assert refused.value.remedy
    for number in ("3.5", "1e+150", "1e-300"):
        assert number not in str(refused.value)


def test_fewer_records_than_attributes_are_refused():
    with pytest.raises(PolicyError, match=r"2 records for 3 attributes.*x2"):
        moments(**columns_of(np.array([[1.0, 2.0], [1.0, 3.0], [5.0, 3.0]])))


def test_two_columns_that_are_never_present_together_are_refused():
    nan = np.nan
    with pytest.raises(PolicyError, match="both one and other"):
        moments(one=[1.0, 2.0, 3.0, nan], other=[nan, nan, 1.0, 2.0])
