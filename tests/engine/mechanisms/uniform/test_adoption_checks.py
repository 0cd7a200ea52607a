"""What files that were perturbed elsewhere are found to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import smallest_unsigned
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.uniform.adoption import (
    check_ladder,
    check_uniform,
    damage_of,
    estimate_level,
)
from tests.thorough import tried

SIZES = [2, 3, 10, 60]


def table(size: int, n: int = 20_000, seed: int = 1) -> np.ndarray:
    """Return true codes that are distributed unevenly."""
    rng = np.random.default_rng(seed)
    return (rng.random(n) ** 2 * size).astype(smallest_unsigned(size))


def randomized(codes: np.ndarray, size: int, p: float, seed: int) -> np.ndarray:
    """Return plain randomized response, as anyone would write it with numpy."""
    rng = np.random.default_rng([7, seed])
    kept = rng.random(len(codes)) < p
    return np.where(kept, codes, rng.integers(0, size, len(codes))).astype(codes.dtype)


@settings(max_examples=tried(60), deadline=None)
@given(st.sampled_from(SIZES), st.floats(0.02, 0.98), st.integers(0, 10_000))
def test_the_estimate_is_near_the_level_and_its_proposal_within_its_interval(size, p, seed):
    true = table(size, 4_000)
    found = estimate_level(true, randomized(true, size, p, seed), size)
    own = p + (1 - p) / size
    deviation = (own * (1 - own) / 4_000) ** 0.5 / (1 - 1 / size)
    assert abs(found.level - p) < 6 * deviation
    assert found.low <= found.level <= found.high
    assert found.low <= found.proposal <= found.high


def test_the_interval_covers_the_level_as_often_as_it_says():
    true = table(5, 300)
    found = [estimate_level(true, randomized(true, 5, 0.4, seed), 5) for seed in range(400)]
    covered = sum(one.low <= 0.4 <= one.high for one in found)
    assert covered >= 0.92 * 400


def test_a_round_level_is_proposed():
    true = table(10, 50_000)
    assert estimate_level(true, randomized(true, 10, 0.4, 3), 10).proposal == 0.4


@pytest.mark.parametrize("size", SIZES)
def test_the_original_and_noise_are_no_release(size):
    true = table(size)
    assert not estimate_level(true, true, size).usable
    noise = np.random.default_rng(4).integers(0, size, len(true)).astype(true.dtype)
    found = estimate_level(true, noise, size)
    assert not found.usable
    assert found.level < 0.03
    wrong_order = randomized(true, size, 0.8, 3)[::-1].copy()
    assert not estimate_level(true, wrong_order, size).usable
    assert estimate_level(true, wrong_order[::-1], size).usable


@pytest.mark.parametrize("size", SIZES)
def test_plain_randomized_response_is_found_to_be_uniform(size):
    true = table(size)
    for seed, p in enumerate((0.05, 0.3, 0.8)):
        assert all(c.holds for c in check_uniform(true, randomized(true, size, p, seed), size, p))


@pytest.mark.parametrize("size", SIZES)
def test_a_wrong_level_is_noticed(size):
    true = table(size)
    checks = check_uniform(true, randomized(true, size, 0.5, 2), size, 0.4)
    assert [c.title for c in checks if not c.holds][:1] == ["Level"]


def test_replacements_that_are_not_even_are_noticed():
    """Replacing by the values as they are distributed keeps the share of matches plausible."""
    true = table(10)
    rng = np.random.default_rng(5)
    swapped = np.where(rng.random(len(true)) < 0.4, true, rng.permutation(true)).astype(true.dtype)
    level = estimate_level(true, swapped, 10).level
    checks = {c.title: c.holds for c in check_uniform(true, swapped, 10, level)}
    assert checks == {"Level": True, "Even replacement": False}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("levels", [(0.6, 0.3), (0.9, 0.1), (0.5, 0.45), (0.2, 0.1)])
def test_a_garbling_of_a_file_forms_a_ladder_with_it(size, levels):
    true = table(size)
    upper = randomized(true, size, levels[0], 7)
    lower = randomized(upper, size, levels[1] / levels[0], 8)
    assert all(check.holds for check in check_ladder(true, upper, lower, size))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("levels", [(0.6, 0.3), (0.5, 0.45), (0.4, 0.2)])
def test_independent_files_form_none(size, levels):
    true = table(size)
    upper, lower = (randomized(true, size, p, seed) for seed, p in enumerate(levels, start=9))
    failed = [c.title for c in check_ladder(true, upper, lower, size) if not c.holds]
    assert "Kept alike" in failed
    if size in {3, 10}:
        assert "No way back" in failed


def test_sound_ladders_are_hardly_ever_refused():
    """2,000 small ladders; each of the tests may fail once in a million."""
    refused = 0
    for seed in range(1_000):
        true = table(3, 60, seed)
        upper = randomized(true, 3, 0.7, 2 * seed)
        lower = randomized(upper, 3, 0.5, 2 * seed + 1)
        refused += not all(check.holds for check in check_ladder(true, upper, lower, 3))
    assert refused == 0


def test_the_damage_of_independent_files_is_what_they_restore_beyond_the_best():
    true = np.random.default_rng(1).integers(0, 10, 40_000).astype(np.uint8)
    releases = tuple((p, randomized(true, 10, p, seed)) for seed, p in enumerate((0.5, 0.45, 0.4)))
    damage = damage_of(true, releases, 10, Silent())
    assert damage.best.posterior < damage.independent.posterior
    assert abs(damage.observed.posterior - damage.independent.posterior) < 0.03
    assert abs(damage.fitting.posterior - damage.best.posterior) < 0.03
    assert damage.observed.posterior - damage.fitting.posterior > 0.1
    assert damage.true_agreeing > 0.95
    assert abs(damage.true_best - 0.55) < 0.01


def test_a_ladder_has_no_damage():
    true = np.random.default_rng(1).integers(0, 10, 40_000).astype(np.uint8)
    upper = randomized(true, 10, 0.5, 1)
    releases = ((0.25, randomized(upper, 10, 0.5, 2)), (0.5, upper))
    damage = damage_of(true, releases, 10, Silent())
    assert damage.observed.posterior - damage.fitting.posterior < 0.005
    assert damage.independent.posterior > damage.best.posterior + 0.03
    assert abs(damage.true_agreeing - damage.true_best) < 0.02


def test_one_release_alone_does_no_damage():
    true = table(4)
    damage = damage_of(true, ((0.5, randomized(true, 4, 0.5, 1)),), 4, Silent())
    assert damage.observed.posterior <= damage.fitting.posterior
    assert damage.independent == damage.best


def test_few_records_are_not_judged():
    true = np.array([1], dtype=np.uint8)
    assert all(check.holds for check in check_ladder(true, true, true, 3))
    assert all(check.holds for check in check_uniform(true, true, 3, 0.5))
