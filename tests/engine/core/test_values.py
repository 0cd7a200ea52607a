"""Values, and numbers for them."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.core.values import distinct, distinct_columns


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_distinct_numbers_and_places_are_those_that_sorting_finds(kind, count):
    numbers = np.random.default_rng(count).integers(0, 90, count).astype(kind)
    found, places = distinct(numbers)
    expected, expected_places = np.unique(numbers, return_inverse=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(places, expected_places)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("rows", [1, 3])
def test_distinct_columns_and_their_counts_are_those_that_sorting_finds(kind, rows):
    numbers = np.random.default_rng(rows).integers(-3, 3, (rows, 1000)).astype(kind)
    found, counts = distinct_columns(numbers)
    expected, expected_counts = np.unique(numbers, axis=1, return_counts=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(counts, expected_counts)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_there_may_be_no_columns(kind):
    found, counts = distinct_columns(np.zeros((2, 0), dtype=kind))
    assert found.shape == (2, 0)
    assert len(counts) == 0
