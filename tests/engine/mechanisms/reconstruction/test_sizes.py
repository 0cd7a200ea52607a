"""How many records are drawn: the promise holds for every group, and nothing else shows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_privacy import (
    PrivacyTest,
    allowed_size,
    largest_by_chernoff,
)
from sfumato.engine.disclosure.group_tails import SampleDraw, release_tails
from sfumato.engine.mechanisms.reconstruction.limits import (
    GroupLimits,
    GroupSampling,
    blind_sizes,
    sample_sizes,
)
from tests.engine.disclosure.group_cases import enumerated_tails, estimated_shares
from tests.engine.mechanisms.reconstruction.test_release import many_groups, released
from tests.thorough import tried

BLIND = GroupLimits(0.3, 0.17, PrivacyTest.EXACT, GroupSampling.BLIND, 0.5, 4)
PUBLISHED = replace(BLIND, sampling=GroupSampling.PUBLISHED, delta=0.3)


def sizes_of(limits, *groups):
    width = max(len(group) for group in groups)
    dense = np.array([list(group) + [0] * (width - len(group)) for group in groups])
    return sample_sizes(limits, sparse.csr_array(dense), Silent())


@given(
    counts=st.lists(st.integers(1, 25), min_size=1, max_size=4),
    retention=st.sampled_from([0.1, 0.3, 0.5, 0.7]),
    delta=st.sampled_from([0.14, 0.22, 0.3, 0.38, 0.46]),
    epsilon=st.sampled_from([0.1, 0.3, 0.5, 0.9]),
)
@settings(deadline=None, max_examples=tried(40))
def test_as_published_every_value_of_every_group_keeps_its_tails(counts, retention, delta, epsilon):
    limits = GroupLimits(epsilon, delta, PrivacyTest.EXACT, GroupSampling.PUBLISHED, retention, 14)
    if delta > limits.largest_delta():
        return
    size = sum(counts)
    (sample,) = sizes_of(limits, counts)
    assert 1 <= sample <= size
    for count in counts:
        upper, lower = enumerated_tails(
            size,
            count,
            int(sample),
            Fraction(str(retention)),
            14,
            Fraction(str(epsilon)),
            SampleDraw.BY_VALUE,
        )
        low, high = sorted((upper, lower))
        assert low >= Fraction(str(delta)) - Fraction(1, 10**9) or high >= 1 - Fraction(str(delta))


@pytest.mark.slow
@pytest.mark.parametrize("limits", [BLIND, replace(BLIND, epsilon=0.5, delta=0.1)])
def test_how_many_are_drawn_of_a_group_does_not_depend_on_the_sizes_of_others(limits):
    sizes = np.array([1, 2, 5, 7, 12, 40, 41, 77, 300, 5000])
    together = blind_sizes(limits, sizes, Silent())
    for size, drawn in zip(sizes, together, strict=True):
        assert blind_sizes(limits, np.array([size]), Silent()).tolist() == [drawn]
        assert sizes_of(limits, [size - 1, 1]).tolist() == [drawn]


@pytest.mark.few(2)
@pytest.mark.parametrize("delta", [0.1, 0.17, 0.3])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8])
def test_blindly_the_promise_holds_for_whatever_a_group_holds_and_for_no_larger_draw(size, delta):
    limits = replace(BLIND, delta=delta)
    (sample,) = blind_sizes(limits, np.array([size]), Silent())

    def kept(drawn):
        sides = [
            sorted(enumerated_tails(size, count, drawn, Fraction(1, 2), 4, Fraction(3, 10),
                                    SampleDraw.AT_RANDOM))
            for count in range(1, size + 1)
        ]  # fmt: skip
        hair = Fraction(1, 10**9)
        return all(
            low >= Fraction(delta) - hair or high >= 1 - Fraction(delta) - hair
            for low, high in sides
        )

    assert kept(int(sample))
    for more in range(int(sample) + 1, size + 1):
        assert not kept(more)


@pytest.mark.parametrize("rule", [PrivacyTest.SIMPLIFIED, PrivacyTest.CHERNOFF])
def test_the_published_tests_draw_what_they_allow(rule):
    limits = replace(PUBLISHED, rule=rule)
    half = allowed_size(rule, 0.5, 4, 0.5, 0.3, 0.3)
    whole = allowed_size(rule, 0.5, 4, 1.0, 0.3, 0.3)
    groups = ((400, 400), (900, 0), (10, 10))
    assert sizes_of(limits, *groups).tolist() == [int(half), int(whole), 20]
    blind = replace(limits, sampling=GroupSampling.BLIND)
    assert sizes_of(blind, *groups).tolist() == [int(whole), int(whole), 20]


def test_as_published_the_number_of_draws_tells_the_largest_share():
    one, other = sizes_of(replace(PUBLISHED, rule=PrivacyTest.SIMPLIFIED), (600, 600), (1200, 0))
    assert one != other
    one, other = sizes_of(replace(BLIND, rule=PrivacyTest.SIMPLIFIED), (600, 600), (1200, 0))
    assert one == other


def test_blindly_nothing_but_a_groups_size_decides():
    rng = np.random.default_rng(6)
    sizes = [4, 11, 30, 75]
    found = [
        sizes_of(BLIND, *(rng.multinomial(size, rng.dirichlet(np.ones(4))) for size in sizes))
        for _ in range(5)
    ]
    assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.slow
@pytest.mark.parametrize("sampling", list(GroupSampling))
@pytest.mark.parametrize("counts", [(9, 3), (12, 0), (6, 5, 4)])
def test_a_hundred_thousand_repetitions_miss_as_often_as_promised(counts, sampling):
    limits = replace(BLIND if sampling is GroupSampling.BLIND else PUBLISHED)
    counts = tuple(count for count in counts if count)
    (sample,) = sizes_of(limits, counts)
    size, repetitions = sum(counts), 100_000
    codes, groups = many_groups(counts, repetitions)
    out = released(codes, groups, np.full(repetitions, sample), limits).reshape(-1, size)
    for value, count in enumerate(counts):
        shown = (out == value).sum(axis=1)
        estimate = (shown / size - 0.5 / 4) / 0.5
        error = estimate / (count / size) - 1
        upper, lower = np.mean(error > 0.3 + 1e-9), np.mean(error < -0.3 - 1e-9)
        slack = 4 * np.sqrt(0.25 / repetitions)
        true = release_tails(
            np.array([size]), np.array([count]), np.array([sample]), 0.5, 4, 0.3, sampling.draw
        )
        assert upper == pytest.approx(float(true.upper[0]), abs=slack)
        assert lower == pytest.approx(float(true.lower[0]), abs=slack)
        low, high = sorted((upper, lower))
        assert low >= limits.delta - slack or high >= 1 - limits.delta - slack


def test_the_attack_on_a_skewed_group_is_carried_out_and_stopped():
    # All k men of 30 have disease x1, of ten; (0.1, 0.5)-privacy holds at this p.
    retention, k, repetitions = 4 / 9, 400, 500
    limits = GroupLimits(0.3, 0.17, PrivacyTest.EXACT, GroupSampling.BLIND, retention, 10)
    codes, groups = many_groups((k,), repetitions)

    def estimates(samples):
        out = released(codes, groups, np.full(repetitions, samples), limits).reshape(-1, k)
        counts = np.stack([np.bincount(row, minlength=10) for row in out])
        return estimated_shares(counts, retention, 10)[:, 0]

    plain = estimates(k)
    assert np.mean(np.abs(plain - 1) < 0.2) > 0.99  # Bob has x1, says the perturbed group
    (sample,) = sizes_of(limits, (k,))
    stopped = estimates(int(sample))
    assert np.mean(np.abs(stopped - 1) > 0.3) >= 0.34 - 4 * np.sqrt(0.25 / repetitions)


def test_a_delta_that_f_and_p_do_not_allow_is_refused_with_the_range():
    limits = GroupLimits(1.0, 0.9, PrivacyTest.SIMPLIFIED, GroupSampling.PUBLISHED, 0.9, 10)
    most = limits.largest_delta()
    with pytest.raises(PolicyError, match=r"f = 1 allows δ from 0 to 0\.\d+") as refused:
        limits.check()
    assert f"{np.floor(most * 1000) / 1000:.3g}" in str(refused.value)
    replace(limits, delta=most * 0.99).check()


@pytest.mark.parametrize("sampling", list(GroupSampling))
def test_a_retention_that_no_delta_can_be_promised_at_is_refused_with_the_range(sampling):
    limits = GroupLimits(0.3, 0.3, PrivacyTest.EXACT, sampling, 0.9, 10)
    with pytest.raises(PolicyError, match=r"below 0\.75"):
        limits.check()
    replace(limits, retention=0.74).check()


def test_limits_out_of_range_are_refused():
    with pytest.raises(LevelError, match="ε"):
        sizes_of(replace(BLIND, epsilon=2.0), (3, 1))
    with pytest.raises(LevelError, match="δ"):
        sizes_of(replace(BLIND, delta=0.7), (3, 1))


@pytest.mark.parametrize("retention", [0.1, 0.5])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.17), (0.05, 0.17), (0.3, 0.001)])
def test_asking_about_some_counts_finds_what_asking_about_all_does(retention, epsilon, delta):
    limits = replace(BLIND, epsilon=epsilon, delta=delta, retention=retention)
    sizes = np.array([3, 17, 40, 75])
    for size, drawn in zip(sizes, blind_sizes(limits, sizes, Silent()), strict=True):
        counts = np.arange(1, size + 1)
        for sample in range(int(drawn), size + 1):
            everywhere = limits.tails_pass(np.full(size, size), counts, np.full(size, sample)).all()
            assert everywhere == (sample == drawn)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_no_sample_above_the_chernoff_bound_keeps_the_promise(share, delta):
    bound = int(largest_by_chernoff(0.5, 4, share, 0.3, delta))
    samples = np.arange(bound + 1, bound + 200, 20)
    for size, draw in ((1 << 30, SampleDraw.BY_VALUE), (2 * bound + 400, SampleDraw.AT_RANDOM)):
        sizes = np.full(len(samples), size)
        counts = np.full(len(samples), round(share * size))
        found = release_tails(sizes, counts, samples, 0.5, 4, 0.3, draw)
        assert (found.upper < delta).all()
        assert (found.lower < delta).all()
