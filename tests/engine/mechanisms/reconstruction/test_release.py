"""Sample, perturb, scale: the law of what is released, and that it is a function of the key."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_tails import SampleDraw
from sfumato.engine.mechanisms.reconstruction.limits import GroupLimits, GroupSampling, sample_sizes
from sfumato.engine.mechanisms.reconstruction.release import resampled_codes
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.micro_groups import MicroGroups, micro_groups, value_counts
from tests.engine.disclosure.group_cases import enumerated_law, estimated_shares

LIMITS = GroupLimits(0.3, 0.17, PrivacyTest.EXACT, GroupSampling.BLIND, 0.5, 4)
COPIES = 20_000


def keys(seed: int = 0):
    ring = KeyRing(bytes([seed]) * 32)
    return tuple(ring.for_attribute("disease", "domain", purpose) for purpose in ("one", "two"))


def many_groups(counts, copies=COPIES):
    """Return the codes and groups of a table that holds the same group again and again."""
    group = np.repeat(np.arange(len(counts), dtype=np.uint8), counts)
    codes = np.tile(group, copies)
    members = np.repeat(np.arange(copies), len(group))
    return codes, MicroGroups(members, np.full(copies, len(group)))


def released(codes, groups, samples, limits, seed=0):
    ids = record_ids_by_position(len(codes))
    return resampled_codes(codes, groups, samples, limits, ids, keys(seed), Silent())


@pytest.mark.few(4)
@pytest.mark.parametrize("sampling", list(GroupSampling))
@pytest.mark.parametrize(
    ("counts", "sample"), [((3, 2), 3), ((1, 3, 3), 2), ((4, 4), 5), ((7,), 3), ((2, 1), 1)]
)
def test_counts_follow_the_enumerated_law(counts, sample, sampling):
    limits = replace(LIMITS, sampling=sampling)
    codes, groups = many_groups(counts)
    out = released(codes, groups, np.full(COPIES, sample), limits)
    size = sum(counts)
    for value in range(len(counts)):
        found = np.bincount((out.reshape(COPIES, size) == value).sum(axis=1), minlength=size + 1)
        law = enumerated_law(size, counts[value], sample, Fraction(1, 2), 4, sampling.draw)
        expected = COPIES * np.array([float(law[copies]) for copies in range(size + 1)])
        assert np.all(found[expected == 0] == 0)
        kept = expected > 5
        chance = stats.chisquare(
            np.append(found[kept], found[~kept].sum() + 1e-9),
            np.append(expected[kept], expected[~kept].sum() + 1e-9),
        ).pvalue
        assert chance > 1e-6


def test_the_example_of_the_paper_draws_as_it_says():
    # 5 and 15 records, s_g = 15: 3 or 4 of x1 (75 %) and 11 or 12 of x2 (25 %). Hardly
    # perturbed, 3 draws become 4 copies, and 4 become 5 or 6.
    limits = replace(LIMITS, sampling=GroupSampling.PUBLISHED, retention=1 - 1e-12)
    codes, groups = many_groups((5, 15))
    out = released(codes, groups, np.full(COPIES, 15), limits)
    found = np.bincount((out.reshape(COPIES, 20) == 0).sum(axis=1), minlength=21) / COPIES
    assert found[[4, 5, 6]] == pytest.approx([0.25, 0.5, 0.25], abs=0.02)
    assert found[[4, 5, 6]].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("sampling", list(GroupSampling))
def test_estimates_stay_unbiased(sampling):
    counts = (5, 3, 1)
    codes, groups = many_groups(counts)
    out = released(codes, groups, np.full(COPIES, 2), replace(LIMITS, sampling=sampling))
    shares = estimated_shares(np.bincount(out, minlength=4), 0.5, 4)
    # Each group's count varies by at most n²/s·w(1 - w).
    error = 4 * np.sqrt(0.25 / (2 * COPIES)) / 0.5
    np.testing.assert_allclose(shares, np.array([5, 3, 1, 0]) / 9, atol=error)


@pytest.mark.parametrize("sampling", list(GroupSampling))
def test_rows_of_a_resampled_group_tell_nothing_of_their_own(sampling):
    counts = (4, 2)
    codes, groups = many_groups(counts)
    out = released(codes, groups, np.full(COPIES, 2), replace(LIMITS, sampling=sampling))
    own, other = 0.5 + 0.125, 0.125
    shown = np.array([own * 4 / 6 + other * 2 / 6, own * 2 / 6 + other * 4 / 6])
    for value, place in product(range(2), range(6)):
        rows = out.reshape(COPIES, 6)[:, place]
        assert np.mean(rows == value) == pytest.approx(shown[value], abs=0.018)


def test_groups_that_stay_whole_keep_their_rows():
    codes, groups = many_groups((3, 2), 4000)
    whole = np.full(4000, 5)
    mixed = np.where(np.arange(4000) % 2 == 0, 5, 2)
    one, other = (released(codes, groups, samples, LIMITS) for samples in (whole, mixed))
    kept = (mixed == 5)[groups.codes]
    assert np.array_equal(one[kept], other[kept])
    assert np.mean(one[kept] == codes[kept]) == pytest.approx(0.625, abs=0.02)


@pytest.mark.parametrize("sampling", list(GroupSampling))
def test_the_order_of_the_rows_is_of_no_account(sampling):
    limits = replace(LIMITS, sampling=sampling)
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 4, 3000).astype(np.uint8)
    members = rng.integers(0, 90, 3000)
    order = rng.permutation(3000)
    ids = record_ids_by_position(3000)

    def release(rows):
        frame = {"member": members[rows]}
        groups = micro_groups(pd.DataFrame(frame), ["member"], Silent())
        counts = value_counts(groups, codes[rows], 4)
        samples = sample_sizes(limits, counts, Silent())
        return resampled_codes(codes[rows], groups, samples, limits, ids[rows], keys(), Silent())

    assert np.array_equal(release(order), release(np.arange(3000))[order])


def test_another_key_draws_others():
    codes, groups = many_groups((5, 5), 200)
    samples = np.full(200, 3)
    one, same, other = (released(codes, groups, samples, LIMITS, seed) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_drawn_blindly_no_release_moves_the_odds_on_a_record_by_more_than_gamma():
    # Every release of a group of three, for both values of one record, whatever the others are.
    retention, domain, size, sample = Fraction(1, 2), 2, 3, 2
    gamma = 1 + domain * retention / (1 - retention)
    for others in product(range(2), repeat=2):
        laws = [
            enumerated_law(size, sum(1 for x in (own, *others) if x == 0), sample, retention,
                           domain, SampleDraw.AT_RANDOM)
            for own in range(2)
        ]  # fmt: skip
        for copies in range(size + 1):
            low, high = sorted(law[copies] for law in laws)
            assert high <= gamma * low
