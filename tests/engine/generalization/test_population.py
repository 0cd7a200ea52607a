"""How many people of a population are in the table's classes, counted and estimated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import nbinom

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.hierarchies import (
    Intervals,
    Masking,
    Orders,
    Suppression,
    Taxonomy,
)
from sfumato.engine.generalization.hierarchies.problems import widened
from sfumato.engine.generalization.risk import (
    ELSEWHERE,
    Population,
    PopulationColumn,
    expected_shares,
    people_in,
    population_column,
)
from tests.engine.generalization.tables import quasi, values_of


def table():
    """Four records of two attributes; the first has three values in two groups."""
    first = quasi("a", [0, 1, 2, 2], [0, 0, 1], [0, 0, 0])
    second = quasi("b", [0, 1, 0, 0], [0, 0])
    return CodedTable((first, second), np.array([0, 1, 0, 1]), values_of(2))


def population():
    """Seven people; one has a value of the first attribute that is in no class but the top's."""
    first = PopulationColumn(
        "a",
        np.array([0, 0, 1, 2, 2, 2, 3]),
        (np.array([0, 1, 2, ELSEWHERE]), np.array([0, 0, 1, ELSEWHERE]), np.array([0, 0, 0, 0])),
    )
    second = PopulationColumn(
        "b", np.array([0, 1, 1, 0, 0, 1, 0]), (np.array([0, 1]), np.array([0, 0]))
    )
    return Population((first, second))


@pytest.mark.parametrize(
    ("node", "people"),
    [
        ((0, 0), [1, 1, 2]),  # (0,0), (1,1), (2,0) as the rows come
        ((0, 1), [2, 1, 3]),
        ((1, 0), [1, 2, 2]),  # the first group with b 0 and with b 1, the second with b 0
        ((1, 1), [3, 3]),
        ((2, 0), [4, 3]),
        ((2, 1), [7]),
    ],
)
def test_people_are_counted_class_by_class(node, people):
    _, classes = table().class_codes(node)
    assert people_in(table(), population(), node).tolist() == people
    assert classes == len(people)


def test_a_population_of_other_columns_is_refused():
    with pytest.raises(DiversityError, match="other quasi-identifiers"):
        people_in(table().only(["a"]), population(), (0,))


def test_further_values_join_the_classes_that_they_belong_to():
    recipe = Intervals(width=10, steps=1)
    hierarchy = recipe.build("age", (23, 37))
    wide = widened(recipe, hierarchy, (25, 41))
    assert wide.values == (23, 25, 37, 41)
    column = population_column(hierarchy, wide, np.array([0, 1, 2, 3]), (23, 25, 41, object()))
    ground, tens, top = (level[column.codes].tolist() for level in column.levels)
    assert ground == [0, ELSEWHERE, ELSEWHERE, ELSEWHERE]
    assert tens == [0, 0, ELSEWHERE, ELSEWHERE]
    assert top == [0, 0, 0, ELSEWHERE]


def test_a_value_that_would_change_the_classes_is_not_taken():
    recipe = Orders((2,))
    hierarchy = recipe.build("grade", ("a", "c", "d", "e"))
    assert widened(recipe, hierarchy, ("b",)) is hierarchy


def test_of_several_values_those_that_the_recipe_knows_are_taken():
    recipe = Taxonomy((("flu", "lungs", "*"), ("cough", "lungs", "*"), ("rash", "skin", "*")))
    hierarchy = recipe.build("ward", ("flu", "rash"))
    wide = widened(recipe, hierarchy, ("cough", "burn"))
    assert set(wide.values) == {"flu", "rash", "cough"}
    numbers = Intervals(width=10).build("age", (23,))
    assert widened(Intervals(width=10), numbers, ("old",)) is numbers


@pytest.mark.parametrize("recipe", [Masking((1,)), Suppression()])
def test_a_missing_value_of_the_population_is_taken(recipe):
    hierarchy = recipe.build("zip", ("123", "124"))
    assert None in widened(recipe, hierarchy, (None,)).values


# ----- estimated


@pytest.mark.parametrize("fraction", [0.001, 0.1, 0.5, 0.9])
def test_the_first_classes_follow_the_closed_forms(fraction):
    # Benedetti and Franconi 1998, for one and for two records.
    odds, log = fraction / (1 - fraction), math.log(1 / fraction)
    found = expected_shares(np.array([1, 2]), fraction)
    assert found == pytest.approx([odds * log, odds - odds**2 * log])


@pytest.mark.parametrize(("records", "fraction"), [(1, 0.2), (4, 0.1), (50, 0.3), (51, 0.3)])
def test_it_is_the_mean_over_the_negative_binomial_law(records, fraction):
    others = np.arange(5000)
    mean = (nbinom.pmf(others, records, fraction) / (others + records)).sum()
    assert expected_shares(np.array([records]), fraction)[0] == pytest.approx(mean, rel=1e-9)


def test_large_classes_are_scaled_up_and_a_whole_population_is_counted():
    sizes = np.array([1000, 10**6, 1])
    large = expected_shares(sizes, 0.01)[:2]
    assert large == pytest.approx(0.01 / sizes[:2], rel=2e-3)
    assert expected_shares(sizes, 1.0) == pytest.approx(1 / sizes)


def test_no_class_is_thought_larger_than_its_share():
    sizes = np.arange(1, 200)
    for fraction in (1e-6, 1e-3, 0.3, 0.99):
        found = expected_shares(sizes, fraction)
        assert (found >= fraction / sizes).all()
        assert (np.diff(found) < 0).all()
