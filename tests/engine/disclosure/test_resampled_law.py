"""What some people's rows show of a resampled release, at any level and for any knowledge."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.count_queries import estimated_answer
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_tails import (
    SampleDraw,
    beyond,
    count_law,
    effective_draws,
    release_tails,
)
from sfumato.engine.disclosure.resampled_law import (
    GroupParts,
    ResampledLaw,
    Resampling,
    copies_in_part,
)
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.reconstruction.limits import GroupLimits, GroupSampling
from sfumato.engine.mechanisms.reconstruction.release import resampled_codes
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.micro_groups import MicroGroups, value_counts
from tests.engine.disclosure.group_listing import listed_law, row_by_row
from tests.engine.mechanisms.reconstruction.test_release import keys


def groups(codes):
    numbers = np.unique(codes, return_inverse=True)[1]
    return MicroGroups(numbers, np.bincount(numbers))


def tails_of(law, known, codes, group, value, epsilon):
    count = int(((known == group) & (codes == value)).sum())
    asked = (np.array([group]), np.array([value]), np.array([count]))
    found = law.tails(*asked, epsilon, Silent())
    return float(found.upper[0]), float(found.lower[0])


def beyond_limits(law, count, retention, domain, epsilon):
    above, below = beyond(
        count_law(retention, domain), np.array([len(law) - 1]), np.array([count]), epsilon
    )
    return law[int(above[0]) + 1 :].sum(), law[: max(0, int(below[0]) + 1)].sum()


@pytest.mark.few(3)
@pytest.mark.parametrize("draw", list(SampleDraw))
@pytest.mark.parametrize("share", [1.0, 0.5, 0.15])
@pytest.mark.parametrize(
    ("known", "protected"),
    [
        ("aaaabbb", "ttttuuu"),  # the protected groups themselves
        ("aaaaaaa", "ttttuuu"),  # two of them joined
        ("aaabbbb", "ttttttt"),  # a part of one
        ("aabbaab", "ttttuuu"),  # parts of both
    ],
)
def test_the_law_is_that_of_listing_every_outcome(known, protected, share, draw):
    known, protected = groups(list(known)), groups(list(protected))
    codes = np.array([0, 0, 1, 0, 1, 1, 0])
    domain, top = 3, 0.6
    # The last group is perturbed row by row, unless it is the only one.
    samples = np.array([3] if protected.count == 1 else [2, 3])
    law = ResampledLaw(
        GroupParts.of(known, protected, codes, domain),
        Resampling(samples, draw, top, top * share, domain),
    )
    for group in range(known.count):
        for value in np.unique(codes[known.codes == group]).tolist():
            expected = np.ones(1)
            for one in range(protected.count):
                here = (known.codes == group) & (protected.codes == one)
                own, rows = int((codes[here] == value).sum()), int(here.sum())
                values = codes[protected.codes == one].tolist()
                sample = int(samples[one])
                part = (
                    row_by_row(own, rows, top * share, domain)
                    if sample == len(values)
                    else listed_law(values, sample, domain, top, share, value, rows, draw)
                )
                expected = np.convolve(expected, part)
            count = int((codes[known.codes == group] == value).sum())
            for epsilon in (0.2, 0.5, 1.0):
                assert tails_of(law, known.codes, codes, group, value, epsilon) == pytest.approx(
                    beyond_limits(expected, count, top * share, domain, epsilon), abs=1e-12
                )


def test_at_the_top_the_law_of_a_protected_group_is_that_of_its_sample():
    rng = np.random.default_rng(4)
    known = groups(np.repeat(np.arange(12), 15 + np.arange(12)))
    codes = rng.integers(0, 3, known.records)
    parts = GroupParts.of(known, known, codes, 3)
    samples = np.minimum(known.sizes, 17)
    law = ResampledLaw(parts, Resampling(samples, SampleDraw.AT_RANDOM, 0.5, 0.5, 3))
    counts = np.bincount(known.codes[codes == 1])
    every = np.arange(12)
    found = law.tails(every, np.ones(12, dtype=np.int64), counts, 0.3, Silent())
    direct = release_tails(known.sizes, counts, samples, 0.5, 3, 0.3, SampleDraw.AT_RANDOM)
    assert np.allclose(found.upper, direct.upper, rtol=0, atol=1e-12)
    assert np.allclose(found.lower, direct.lower, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_large_joined_groups_are_added_up_within_their_reach(share):
    rng = np.random.default_rng(9)
    protected, known = groups(rng.integers(0, 25, 1_500)), groups(np.zeros(1_500))
    codes = rng.choice(4, 1_500, p=[0.1, 0.02, 0.28, 0.6])
    samples = np.minimum(protected.sizes, 20 + np.arange(protected.count) % 7)
    samples[:3] = protected.sizes[:3]
    how = Resampling(samples, SampleDraw.AT_RANDOM, 0.4, 0.4 * share, 4)
    law = ResampledLaw(GroupParts.of(known, protected, codes, 4), how)
    for value in range(4):
        total = np.ones(1)
        for one, (size, sample) in enumerate(zip(protected.sizes, samples, strict=True)):
            own = int((codes[protected.codes == one] == value).sum())
            total = np.convolve(total, group_law(int(size), own, int(sample), how))
        count = int((codes == value).sum())
        expected = beyond_limits(total, count, how.retention, 4, 0.3)
        found = tails_of(law, known.codes, codes, 0, value, 0.3)
        assert found == pytest.approx(expected, abs=1e-10)


def group_law(size, own, sample, how):
    """Return the law of a protected group by mixing the laws of its rows over its copies."""
    if sample == size:
        return row_by_row(own, size, how.retention, 4)
    copies = copies_in_part(count_law(how.top, 4), how.draw, size, own, sample, size)
    share = how.retention / how.top
    return sum(
        chance * row_by_row(number, size, share, 4)
        for number, chance in zip(copies.numbers.tolist(), copies.chances.tolist(), strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("sampling", list(GroupSampling))
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_hundred_thousand_releases_miss_as_often_as_the_law_says(sampling, share):
    # Two protected groups of 7 and 5; the attacker tells 6 rows of the first and 2 of the
    # second from the rest. The same table stands there again and again.
    repetitions, domain, top, epsilon = 100_000, 3, 0.6, 0.3
    one = np.array([0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 2, 0], dtype=np.uint8)
    inside = np.array([1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0]) == 1
    place = np.repeat([0, 1], [7, 5])
    codes = np.tile(one, repetitions)
    members = np.add.outer(2 * np.arange(repetitions), place).ravel()
    protected = MicroGroups(members, np.tile([7, 5], repetitions))
    limits = GroupLimits(epsilon, 0.17, PrivacyTest.EXACT, sampling, top, domain)
    ids = record_ids_by_position(len(codes))
    shown = resampled_codes(
        codes, protected, np.tile([3, 2], repetitions), limits, ids, keys(), Silent()
    )
    out = release_codes(codes, domain, share, ids, keys()[0], Silent(), top=shown)
    seen = out.reshape(repetitions, -1)[:, inside]
    known = groups(~inside)
    law = ResampledLaw(
        GroupParts.of(known, groups(place), one, domain),
        Resampling(np.array([3, 2]), sampling.draw, top, top * share, domain),
    )
    group = int(known.codes[0])
    for value in range(domain):
        count = int((one[inside] == value).sum())
        estimate = ((seen == value).mean(axis=1) - (1 - top * share) / domain) / (top * share)
        error = estimate / (count / inside.sum()) - 1
        found = np.mean(error > epsilon + 1e-9), np.mean(error < -epsilon - 1e-9)
        expected = tails_of(law, known.codes, one, group, value, epsilon)
        assert found == pytest.approx(expected, abs=4.5 * np.sqrt(0.25 / repetitions))


def test_a_number_of_draws_can_not_stand_for_the_law_below_the_top():
    # As many draws as give the same variance: the law of their counts is another one.
    sizes, counts, samples = np.array([12]), np.array([9]), np.array([4])
    known = groups(np.zeros(12))
    codes = np.repeat([0, 1], [9, 3])
    how = Resampling(samples, SampleDraw.AT_RANDOM, 0.6, 0.3, 3)
    law = ResampledLaw(GroupParts.of(known, known, codes, 3), how)
    exact = sum(tails_of(law, known.codes, codes, 0, 0, 0.3))
    draws = effective_draws(sizes, counts / sizes, samples, 0.3, 0.6, 3)
    stand_in = release_tails(sizes, counts, draws, 0.3, 3, 0.3, SampleDraw.AT_RANDOM)
    assert abs(exact - float(stand_in.total[0])) > 0.01


@pytest.mark.few(5)
@pytest.mark.parametrize("draw", list(SampleDraw))
@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize(("rows", "sample"), [(7, 3), (4, 3), (7, 7)])
def test_the_variance_of_estimates_is_that_of_listing_every_outcome(rows, sample, share, draw):
    codes, domain, top = np.array([0, 0, 1, 0, 1, 1, 0]), 3, 0.6
    known, protected = groups(np.arange(7) >= rows), groups(np.zeros(7))
    how = Resampling(np.array([sample]), draw, top, top * share, domain)
    law = ResampledLaw(GroupParts.of(known, protected, codes, domain), how)
    # A part of a group shows what the whole group holds.
    shares = np.bincount(codes, minlength=domain) / 7
    group = int(known.codes[0])
    found = law.estimate_variance(np.arange(known.count) == group, shares)
    for value in range(domain):
        own = int((codes == value).sum())
        listed = (
            row_by_row(own, rows, top * share, domain)
            if sample == 7
            else listed_law(codes.tolist(), sample, domain, top, share, value, rows, draw)
        )
        numbers = np.arange(rows + 1)
        mean = numbers @ listed
        exact = (numbers - mean) ** 2 @ listed / (top * share) ** 2
        # What rounding adds is counted in full, and a part's own spread a little too high.
        sometimes = (rows / sample) ** 2 if draw is SampleDraw.BY_VALUE else 0.0
        slack = 0.0 if sample == 7 else 0.25 / top**2 + 0.25 * sometimes
        assert exact - 1e-9 <= found[value] <= 1.25 * exact + slack


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_intervals_from_blind_draws_hold_the_truth_as_often_as_they_say(share):
    repetitions, domain, top = 1_500, 4, 0.5
    one = np.repeat(np.arange(4, dtype=np.uint8), [100, 30, 15, 5])
    codes = np.tile(one, repetitions)
    protected = MicroGroups(np.repeat(np.arange(repetitions), 150), np.full(repetitions, 150))
    limits = GroupLimits(0.3, 0.17, PrivacyTest.EXACT, GroupSampling.BLIND, top, domain)
    ids = record_ids_by_position(len(codes))
    shown = resampled_codes(
        codes, protected, np.full(repetitions, 24), limits, ids, keys(), Silent()
    )
    out = release_codes(codes, domain, share, ids, keys()[0], Silent(), top=shown)
    known = groups(np.zeros(150))
    law = ResampledLaw(
        GroupParts.of(known, known, one, domain),
        Resampling(np.array([24]), SampleDraw.AT_RANDOM, top, top * share, domain),
    )
    released = value_counts(protected, out, domain)
    matrix, everybody = uniform_matrix(top * share, domain), np.array([True])
    inside = 0
    for place in range(repetitions):
        answer = estimated_answer(known.sizes, released[[place]], everybody, 0, matrix, 0.95, law)
        inside += answer.low <= 100 <= answer.high
    # Few draws make few different intervals, so some hold it more often than 95 %.
    assert 0.93 <= inside / repetitions <= 0.995
