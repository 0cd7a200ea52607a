"""Released tables look like their law.

The keys are fixed, so these tests always give the same answer; with a key chosen at random,
each would fail by chance once in a million times.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm

from sfumato.engine.core.columns import smallest_unsigned
from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_key, record_ids_by_position

FALSE_ALARM = 1e-6
KEYS = KeyRing(b"statistics of released tables...")
KEY = KEYS.for_attribute("disease", "d1", "test")
RECORDS = 300_000
LEVELS = (0.95, 0.75, 0.6, 0.3, 0.1, 0.02, 0.001)


def original(size: int) -> np.ndarray:
    weights = 1 / np.arange(1, size + 1)
    drawn = np.random.default_rng(size).choice(size, RECORDS, p=weights / weights.sum())
    return drawn.astype(smallest_unsigned(size))


def release(codes: np.ndarray, size: int, level: float) -> np.ndarray:
    ids = record_ids_by_position(len(codes))
    return release_codes(codes, size, level, ids, KEY, Silent())


def uniform_matrix(p: float, size: int) -> np.ndarray:
    """Return the chance of each released value (row) for each original (column)."""
    return np.full((size, size), (1 - p) / size) + p * np.eye(size)


def check_rows(counts: np.ndarray, chances: np.ndarray) -> None:
    """Hold rows of counts against rows of chances, each row given its total."""
    expected = counts.sum(axis=1, keepdims=True) * chances
    used = expected.min(axis=1) > 5
    assert used.any()
    statistic = ((counts - expected)[used] ** 2 / expected[used]).sum()
    freedom = used.sum() * (counts.shape[1] - 1)
    assert FALSE_ALARM / 2 < chi2.sf(statistic, freedom) < 1 - FALSE_ALARM / 2


def table_of(*columns: np.ndarray, size: int) -> np.ndarray:
    """Count the combinations of some columns; the last one varies along a row."""
    joint = np.zeros(RECORDS, dtype=np.int64)
    for column in columns:
        joint = joint * size + column
    return np.bincount(joint, minlength=size ** len(columns)).reshape(-1, size)


@pytest.mark.few(9)
@pytest.mark.parametrize("size", [2, 5, 50, 100])
@pytest.mark.parametrize("level", LEVELS)
def test_a_release_fits_its_matrix(size, level):
    codes = original(size)
    counts = table_of(codes, release(codes, size, level), size=size)
    check_rows(counts, uniform_matrix(level, size).T)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize(
    ("high", "low"),
    [(0.9, 0.8), (0.95, 0.76), (0.6, 0.3), (0.5, 0.05), (0.1, 0.02), (0.02, 0.001), (0.5, 1e-5)],
)
def test_a_lower_release_is_a_garbling_of_a_higher_one(size, high, low):
    """Whatever the original, the lower value depends on the higher one alone."""
    codes = original(size)
    upper, lower = release(codes, size, high), release(codes, size, low)
    counts = table_of(codes, upper, lower, size=size)
    garbling = uniform_matrix(low / high, size).T
    check_rows(counts, np.tile(garbling, (size, 1)))


def test_three_releases_are_a_chain():
    size, levels = 3, (0.8, 0.5, 0.2)
    codes = original(size)
    shown = [release(codes, size, level) for level in levels]
    counts = table_of(codes, *shown, size=size)
    check_rows(counts, np.tile(uniform_matrix(0.4, size).T, (size**2, 1)))


def test_two_attributes_are_replaced_independently():
    codes = np.zeros(RECORDS, dtype=np.uint8)
    other = KEYS.for_attribute("salary", "d1", "test")
    ids = record_ids_by_position(RECORDS)
    one = release(codes, 4, 0.5)
    two = release_codes(codes, 4, 0.5, ids, other, Silent())
    check_rows(table_of(one, two, size=4), np.tile(uniform_matrix(0.5, 4)[:, 0], (4, 1)))


def test_records_with_neighbouring_identifiers_are_replaced_independently():
    shown = release(np.zeros(RECORDS, dtype=np.uint8), 4, 0.5)
    neighbours = np.append(shown[1:], shown[0])
    check_rows(table_of(shown, neighbours, size=4), np.tile(uniform_matrix(0.5, 4)[:, 0], (4, 1)))


def test_hashed_record_keys_serve_as_well_as_positions():
    count = 50_000
    ids = record_ids_by_key(pd.Series(range(count)), KEYS, Silent())
    shown = release_codes(np.ones(count, dtype=np.uint8), 10, 0.4, ids, KEY, Silent())
    counts = np.bincount(shown, minlength=10)[None, :]
    check_rows(counts, uniform_matrix(0.4, 10)[:, 1][None, :])


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.7, 0.01, 1e-4])
def test_the_share_of_retained_records_is_right_to_the_fourth_digit(level):
    """A domain so large that a replaced value hardly ever meets the original again."""
    records, size = 4_000_000, 2**31
    codes = np.zeros(records, dtype=np.uint32)
    kept = (release(codes, size, level) == codes).sum()
    spread = (level * (1 - level) / records) ** 0.5
    assert abs(kept / records - level) < norm.isf(FALSE_ALARM / 2) * spread
