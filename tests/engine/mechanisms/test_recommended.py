"""Which mechanism is recommended for a column, and why."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.generalization.hierarchies.recipes import Masking
from sfumato.engine.mechanisms import recommended
from sfumato.engine.table.table import Attribute

CODES = tuple(f"{letter}{digit}" for letter in "AB" for digit in range(5))


def categories(values, hierarchy=None):
    counts = np.ones(len(values), dtype=np.int64)
    return Attribute("d", Kind.CATEGORICAL, Domain(values), counts, hierarchy=hierarchy)


def test_values_without_a_hierarchy_have_one_number_for_all():
    name, why = recommended((categories(CODES),))
    assert name == "uniform"
    assert str(why).startswith("10 values, and one number")


def test_values_in_chapters_of_a_hierarchy_stay_in_their_chapter_first():
    name, why = recommended((categories(CODES, Masking((1, 1))),))
    assert name == "hierarchical"
    assert str(why).startswith("10 values in 2 chapters")


def test_a_hierarchy_whose_chapters_hold_one_value_each_says_nothing():
    codes = tuple(f"{letter}1" for letter in "ABCDEF")
    assert recommended((categories(codes, Masking((1, 1))),))[0] == "uniform"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (np.linspace(0.0, 10.0, 1000), "laplace"),
        (np.append(np.linspace(0.0, 10.0, 1000), [1e6, np.nan]), "gaussian"),
        (np.full(10, 3.0), ""),
        (np.full(10, np.nan), ""),
    ],
)
def test_numbers_get_noise_by_how_far_their_extremes_are(numbers, expected):
    attribute = Attribute("n", Kind.NUMERIC, numbers=numbers)
    name, why = recommended((attribute,))
    assert name == expected
    assert bool(why) == bool(expected)
    if expected == "laplace":
        assert f"{attribute.reach:.1f} standard deviations" in str(why)
