"""The three tests of a group's privacy, against the paper and against enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import LevelError
from sfumato.engine.disclosure.group_privacy import (
    PrivacyTest,
    allowed_size,
    passes,
    private_groups,
)
from sfumato.engine.disclosure.group_tails import SampleDraw, Tails, release_tails
from sfumato.engine.table.micro_groups import MicroGroups, value_counts
from tests.engine.disclosure.group_cases import enumerated_tails, estimated_shares, is_private
from tests.thorough import tried

DESIGN = {"retention": 0.5, "size_of_domain": 10, "epsilon": 0.3}


def tails(counts, place, retention, size_of_domain, epsilon):
    """How likely the estimate of a value's share in a group is too high, and too low."""
    given, size = np.asarray(counts, dtype=np.int64), np.array([sum(counts)])
    of_value = given[place : place + 1]
    found = release_tails(size, of_value, size, retention, size_of_domain, epsilon)
    return float(found.upper[0]), float(found.lower[0])


def test_the_simplified_rule_lets_128_records_pass_whose_true_tails_are_one_per_cent() -> None:
    allowed = allowed_size(PrivacyTest.SIMPLIFIED, 0.5, 10, 0.5, 0.3, 0.3)
    assert math.floor(allowed) == 128
    upper, lower = tails([64, 64], 0, 0.5, 10, 0.3)
    assert upper == pytest.approx(0.010, abs=5e-4)
    assert lower == pytest.approx(0.011, abs=5e-4)
    assert is_private(PrivacyTest.SIMPLIFIED, [64, 64], 0.5, 10, 0.3, 0.3)
    assert not is_private(PrivacyTest.EXACT, [64, 64], 0.5, 10, 0.3, 0.3)


def test_the_full_chernoff_bound_allows_less_than_the_simplified_one() -> None:
    shares = np.linspace(0.01, 1.0, 40)
    for retention in (0.1, 0.5, 0.9):
        simplified = allowed_size(PrivacyTest.SIMPLIFIED, retention, 14, shares, 0.3, 0.3)
        full = allowed_size(PrivacyTest.CHERNOFF, retention, 14, shares, 0.3, 0.3)
        assert np.all(full <= simplified)
        assert np.all(np.diff(full) < 0), "the largest share decides"


@pytest.mark.parametrize("rule", [PrivacyTest.SIMPLIFIED, PrivacyTest.CHERNOFF])
def test_the_published_rules_are_their_equations(rule: PrivacyTest) -> None:
    retention, size, share, epsilon, delta = 0.3, 14, 0.4, 0.5, 0.22
    w = share * retention + (1 - retention) / size
    theta = epsilon * retention * share / w
    expected = {
        PrivacyTest.SIMPLIFIED: -2 * math.log(delta) / (w * theta**2),
        PrivacyTest.CHERNOFF: math.log(delta)
        / (w * math.log(math.exp(-theta) / (1 - theta) ** (1 - theta))),
    }[rule]
    found = allowed_size(rule, retention, size, share, epsilon, delta)
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "count", "retention", "domain", "epsilon"),
    [
        (size, count, retention, domain, epsilon)
        for size, count in [(1, 1), (2, 1), (5, 2), (6, 6), (9, 4)]
        for retention, domain, epsilon in [
            (Fraction(1, 2), 10, Fraction(3, 10)),
            (Fraction(1, 10), 3, Fraction(9, 10)),
            (Fraction(9, 10), 2, Fraction(1, 10)),
        ]
    ],
)
def test_the_tails_are_those_of_enumeration(
    size: int, count: int, retention: Fraction, domain: int, epsilon: Fraction
) -> None:
    upper, lower = enumerated_tails(
        size, count, size, retention, domain, epsilon, SampleDraw.BY_VALUE
    )
    found = tails([count, size - count], 0, float(retention), domain, float(epsilon))
    assert found == pytest.approx((float(upper), float(lower)), abs=1e-12)


@pytest.mark.parametrize("draw", list(SampleDraw))
@pytest.mark.parametrize(
    ("size", "count", "sample"), [(5, 2, 3), (7, 7, 3), (7, 3, 5), (8, 1, 4), (9, 5, 2), (6, 4, 1)]
)
def test_the_tails_of_a_sample_are_those_of_enumeration(
    size: int, count: int, sample: int, draw: SampleDraw
) -> None:
    retention, domain, epsilon = Fraction(3, 10), 4, Fraction(3, 10)
    expected = enumerated_tails(size, count, sample, retention, domain, epsilon, draw)
    found = release_tails(
        np.array([size]), np.array([count]), np.array([sample]), 0.3, domain, 0.3, draw
    )
    assert float(found.upper[0]) == pytest.approx(float(expected[0]), abs=1e-12)
    assert float(found.lower[0]) == pytest.approx(float(expected[1]), abs=1e-12)


def test_large_groups_and_tables_give_the_same_tails() -> None:
    # The sum over a convolution begins where the table of laws ends.
    sizes = np.arange(180, 206)
    counts = sizes // 2
    found = release_tails(sizes, counts, sizes, 0.5, 10, 0.3)
    for size, upper in zip(sizes, found.upper, strict=True):
        assert upper == pytest.approx(_convolved(int(size), int(size) // 2), rel=1e-9)


def _convolved(size: int, count: int) -> float:
    law = np.ones(1)
    for place in range(size):
        shown = 0.55 if place < count else 0.05
        law = np.convolve(law, [1 - shown, shown])
    most = math.floor(size * 0.05 + 0.5 * count * 1.3 + 1e-9)
    return float(law[most + 1 :].sum())


@pytest.mark.parametrize(
    ("retention", "domain", "epsilon", "delta", "share"),
    [
        (0.5, 10, 0.3, 0.3, Fraction(1, 2)),
        (0.5, 10, 0.3, 0.3, Fraction(1)),
        (0.3, 14, 0.3, 0.22, Fraction(3, 4)),
        (0.7, 5, 0.5, 0.14, Fraction(1, 3)),
        (0.5, 2, 0.9, 0.46, Fraction(2, 3)),
    ],
)
def test_the_exact_rule_finds_the_largest_sample_that_passes(
    retention: float, domain: int, epsilon: float, delta: float, share: Fraction
) -> None:
    found = int(allowed_size(PrivacyTest.EXACT, retention, domain, float(share), epsilon, delta))
    # Far beyond what the exact rule allows, the published one gives out: nothing passes there.
    end = (
        int(allowed_size(PrivacyTest.SIMPLIFIED, retention, domain, float(share), epsilon, delta))
        + 2
    )
    passing = [
        s
        for s in range(1, end)
        if _passes(*_endless_tails(s, retention, domain, epsilon, float(share)), delta)
    ]
    assert found == max(passing, default=0)


def _endless_tails(
    sample: int, retention: float, domain: int, epsilon: float, share: float
) -> tuple[float, float]:
    """Convolve indicator by indicator; the record at the edge is in the sample by chance."""
    own, other = retention + (1 - retention) / domain, (1 - retention) / domain
    whole = math.floor(share * sample + 1e-12)
    rest = share * sample - whole if share * sample - whole > 1e-12 else 0.0
    chances = [own] * whole + ([rest * own + (1 - rest) * other] if rest else [])
    chances += [other] * (sample - len(chances))
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    counts, mean = np.arange(sample + 1), sample * (share * retention + other)
    reach = epsilon * retention * share * sample
    return (
        float(law[counts > (mean + reach) * (1 + 1e-9)].sum()),
        float(law[counts < (mean - reach) * (1 - 1e-9)].sum()),
    )


def _passes(upper: float, lower: float, delta: float) -> bool:
    return min(upper, lower) >= delta or max(upper, lower) >= 1 - delta


def test_an_estimate_that_is_always_off_on_one_side_passes() -> None:
    found = passes(Tails(np.array([0.1, 0.1, 0.3]), np.array([0.9, 0.5, 0.3])), 0.3)
    assert found.tolist() == [True, False, True]


def test_a_single_record_is_private_at_a_low_retention_and_not_at_a_high_one() -> None:
    assert is_private(PrivacyTest.EXACT, [1], 0.1, 50, 0.3, 0.3)
    assert not is_private(PrivacyTest.EXACT, [1], 0.95, 50, 0.3, 0.3)


@given(
    counts=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    retention=st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]),
    delta=st.sampled_from([0.14, 0.3, 0.46]),
)
@settings(deadline=None, max_examples=tried(60))
def test_the_exact_rule_asks_for_the_true_tails_of_every_value(
    counts: list[int], retention: float, delta: float
) -> None:
    single = [
        _passes(*tails(counts, place, retention, 14, 0.3), delta) for place in range(len(counts))
    ]
    assert is_private(PrivacyTest.EXACT, counts, retention, 14, 0.3, delta) == all(single)


def test_many_groups_are_tested_as_one_by_one() -> None:
    rng = np.random.default_rng(5)
    members = rng.integers(0, 60, 1500)
    codes = rng.integers(0, 6, 1500).astype(np.uint8)
    groups = MicroGroups(np.unique(members, return_inverse=True)[1], np.bincount(members))
    counts = value_counts(groups, codes, 6)
    for rule in PrivacyTest:
        found = private_groups(rule, counts, 0.5, 6, 0.3, 0.2)
        single = [
            is_private(rule, counts.data[start:stop], 0.5, 6, 0.3, 0.2)
            for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
        ]
        assert found.tolist() == single


def test_a_group_too_large_for_its_shares_is_told_from_others_of_its_size() -> None:
    single = [[60, 60, 0], [119, 1, 0], [40, 40, 40], [118, 1, 1], [1, 0, 0], [2, 1, 0], [3, 0, 0]]
    counts = scipy.sparse.csr_array(np.array(single))
    found = private_groups(PrivacyTest.EXACT, counts, 0.3, 3, 0.3, 0.2)
    alone = [
        is_private(PrivacyTest.EXACT, [n for n in each if n], 0.3, 3, 0.3, 0.2) for each in single
    ]
    assert found.tolist() == alone
    assert len(set(alone[:4])) == 2, "of one size, some are private and some are not"


def test_estimates_are_unbiased_and_sum_to_one() -> None:
    true = np.array([0.5, 0.3, 0.2])
    shown = 0.4 * true + 0.6 / 3
    np.testing.assert_allclose(estimated_shares(1000 * shown, 0.4, 3), true, atol=1e-12)


@given(
    inside=st.lists(st.integers(0, 40), min_size=4, max_size=4),
    outside=st.lists(st.integers(0, 40), min_size=4, max_size=4),
)
@settings(deadline=None, max_examples=tried(50))
def test_subtracting_super_groups_gives_the_groups_own_estimate(
    inside: list[int], outside: list[int]
) -> None:
    # Lemma 4.3: (F'_X·|X| - F'_Y·|Y|)/|S| is F'_S, so there is nothing to gain from it.
    if not sum(inside) or not sum(outside):
        return
    group, rest = np.array(inside), np.array(outside)
    whole = group + rest
    difference = (
        estimated_shares(whole, 0.3, 4) * whole.sum() - estimated_shares(rest, 0.3, 4) * rest.sum()
    )
    np.testing.assert_allclose(difference / group.sum(), estimated_shares(group, 0.3, 4), atol=1e-9)


@pytest.mark.parametrize(
    ("rule", "epsilon", "delta", "named"),
    [
        (PrivacyTest.EXACT, 0.0, 0.3, "ε"),
        (PrivacyTest.EXACT, 1.2, 0.3, "ε"),
        (PrivacyTest.EXACT, 0.3, 0.6, "0.5"),
        (PrivacyTest.CHERNOFF, 0.3, 1.0, "δ"),
        (PrivacyTest.SIMPLIFIED, 0.3, 0.0, "δ"),
        (PrivacyTest.SIMPLIFIED, float("nan"), 0.3, "ε"),
    ],
)
def test_limits_out_of_range_are_refused(
    rule: PrivacyTest, epsilon: float, delta: float, named: str
) -> None:
    with pytest.raises(LevelError, match=named):
        allowed_size(rule, 0.5, 10, 0.5, epsilon, delta)


@pytest.mark.parametrize(("retention", "share"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.5)])
def test_retentions_and_shares_out_of_range_are_refused(retention: float, share: float) -> None:
    with pytest.raises(LevelError):
        allowed_size(PrivacyTest.EXACT, retention, 10, share, 0.3, 0.3)


def test_every_published_tail_is_below_its_bound() -> None:
    # The gap between what is published and what is true, at the size that just passes.
    for share, retention in product((0.3, 0.5, 1.0), (0.3, 0.5)):
        size = int(allowed_size(PrivacyTest.SIMPLIFIED, retention, 10, share, 0.3, 0.3))
        count = round(share * size)
        upper, lower = tails([count, size - count], 0, retention, 10, 0.3)
        assert max(upper, lower) < 0.05
