"""Hierarchies: trees over all values, and what they make of a column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.generalization.hierarchies import (
    Hierarchy,
    Intervals,
    Masking,
    Suppression,
    find_splits,
    ground_values,
    hierarchy_of,
    recipe_from_dict,
)
from tests.engine.generalization.hierarchies.recipes import RECIPES, cases
from tests.thorough import tried


def regions():
    return Hierarchy(
        "town",
        ("Bonn", "Lyon", "Nice", None),
        (("Bonn", "Lyon", "Nice", None), ("DE", "FR", "FR", None), ("*", "*", "*", "*")),
    )


@settings(deadline=None, max_examples=tried(120))
@given(cases())
def test_every_recipe_yields_a_tree_that_covers_all_values(case):
    recipe, values = case
    made = recipe.build("column", values)
    assert made.values == values
    assert made.names(made.height - 1) == ("*",)
    for level in range(made.height - 1):
        lower, upper = made.codes(level), made.codes(level + 1)
        # Each class lies within one class of the next level.
        assert len(set(zip(lower.tolist(), upper.tolist(), strict=True))) == made.classes(level)
        assert made.parents(level)[lower].tolist() == upper.tolist()
        assert np.bincount(made.codes(level)).sum() == len(values)
    assert find_splits(made.labels) == ()


@settings(deadline=None, max_examples=tried(120))
@given(RECIPES)
def test_a_recipe_is_the_same_after_it_was_written_and_read(recipe):
    assert recipe_from_dict(recipe.to_dict()) == recipe


def test_codes_and_names_say_the_same():
    made = regions()
    assert made.height == 3
    assert made.codes(0).tolist() == [0, 1, 2, 3]
    assert made.codes(1).tolist() == [0, 1, 1, 2]
    assert made.names(1) == ("DE", "FR", "(missing)")
    assert made.parents(1).tolist() == [0, 0, 0]
    assert np.bincount(made.codes(1)).tolist() == [1, 2, 1]


def test_a_column_is_generalized_to_labels_and_missing_stays_missing():
    column = pd.Series(["Nice", None, "Bonn"], name="town", index=[5, 6, 7])
    shown = regions().generalize(column, 1)
    assert shown.name == "town"
    assert shown.index.tolist() == [5, 6, 7]
    assert shown.isna().tolist() == [False, True, False]
    assert shown.dropna().tolist() == ["FR", "DE"]
    assert regions().generalize(column, 2).tolist() == ["*"] * 3
    assert regions().generalize(column, 0) is column


def test_a_row_that_is_not_covered_is_named_without_its_value():
    with pytest.raises(HierarchyError) as refused:
        regions().encode(pd.Series(["Bonn", "Paris", "Paris"], name="town"))
    assert "row 2" in str(refused.value)
    assert "2 rows" in str(refused.value)
    assert "Paris" not in str(refused.value)


def test_levels_that_are_no_tree_are_refused_with_the_level_and_without_values():
    with pytest.raises(HierarchyError) as refused:
        Hierarchy("town", ("a", "b"), (("a", "b"), ("x", "x"), ("y", "z")))
    assert "not a tree" in str(refused.value)
    assert "level 1" in str(refused.value).lower()
    assert "2 values" in str(refused.value)
    (split,) = find_splits((("a", "b"), ("x", "x"), ("y", "z")))
    assert (split.level, split.label, split.parents, split.values) == (1, "x", ("y", "z"), 2)


@pytest.mark.parametrize(
    ("values", "labels", "said"),
    [
        ((), (), "no values"),
        (("a", "a"), (("a", "a"),), "twice"),
        (("a", "b"), (("a", "b"), ("x",)), "1 label for 2 values"),
        (("a", "b"), (("a", "b"), ("x", "")), "no label for 1 value"),
        (("a", "b"), (("a", "b"), ("x", None)), "no label for 1 value"),
    ],
)
def test_a_hierarchy_that_is_not_complete_is_refused(values, labels, said):
    with pytest.raises(HierarchyError, match=said):
        Hierarchy("town", values, labels)


def test_neither_values_nor_labels_show_in_a_text_form():
    assert "Bonn" not in repr(regions())
    assert "FR" not in repr(regions())


def test_ground_values_stand_in_their_natural_order_with_missing_last():
    spec = ColumnSpec("group")
    column = pd.Series(["10-14", None, "5-9", "65+"], dtype="category")
    assert ground_values(spec, column) == ("5-9", "10-14", "65+", None)
    assert ground_values(spec, pd.Series([3.5, 1.0, 2.0])) == (1.0, 2.0, 3.5)


def test_values_of_the_domain_are_covered_whether_they_occur_or_not():
    spec = ColumnSpec("group", domain=Domain(("a", "b", "z")))
    assert ground_values(spec, pd.Series(["b", "a"])) == ("a", "b", "z")


def test_a_column_in_bins_is_generalized_from_its_bins():
    spec = ColumnSpec("age", kind=Kind.NUMERIC, binning=Binning((0, 18, 65, 120)))
    column = pd.Series([3, 70, 40, np.nan])
    made = hierarchy_of(Suppression(), spec, column)
    assert made.values == (*spec.binning.names, None)


def test_a_column_of_two_types_is_refused():
    with pytest.raises(HierarchyError, match="two types"):
        ground_values(ColumnSpec("mixed"), pd.Series(["1", 1], dtype=object))


def test_a_whole_number_is_the_same_value_however_it_is_stored():
    made = Intervals(10.0, steps=1).build("age", (37, 40))
    assert made.encode(pd.Series([40.0, 37.0])).tolist() == [1, 0]


def test_forty_thousand_values_are_built_and_applied():
    codes = pd.Series(np.arange(40_000) * 2 + 10_000, name="zip")
    made = hierarchy_of(Masking((1, 1, 1)), ColumnSpec("zip"), codes)
    assert [made.classes(level) for level in range(made.height)] == [40_000, 8_000, 800, 80, 1]
    assert made.encode(codes).tolist() == list(range(40_000))
