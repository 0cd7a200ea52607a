"""Values, and numbers for them."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.core.values import distinct


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_distinct_numbers_and_places_are_those_that_sorting_finds(kind, count):
    numbers = np.random.default_rng(count).integers(0, 90, count).astype(kind)
    found, places = distinct(numbers)
    expected, expected_places = np.unique(numbers, return_inverse=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(places, expected_places)
