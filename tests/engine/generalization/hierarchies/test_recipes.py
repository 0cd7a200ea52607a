"""What each kind of recipe makes of its values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Binning, ColumnSpec, Kind, Role
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.generalization.hierarchies import (
    Dates,
    DateUnit,
    FourLevels,
    Intervals,
    IntervalStyle,
    Masking,
    Orders,
    Rename,
    Side,
    Suppression,
    Taxonomy,
    hierarchy_of,
    propose_hierarchy,
    recipe_from_dict,
)


def paths(recipe, *values):
    """Return the labels of each value from level 1 up."""
    made = recipe.build("column", values)
    return [path[1:] for path in zip(*made.labels, strict=True)]


def test_intervals_start_at_multiples_and_double():
    assert paths(Intervals(5.0, steps=3), 37, 40, 0, -1) == [
        ("[35, 40)", "[30, 40)", "[20, 40)", "*"),
        ("[40, 45)", "[40, 50)", "[40, 60)", "*"),
        ("[0, 5)", "[0, 10)", "[0, 20)", "*"),
        ("[-5, 0)", "[-10, 0)", "[-20, 0)", "*"),
    ]


def test_a_number_on_an_edge_of_tenths_belongs_above_it():
    assert [path[0] for path in paths(Intervals(0.1, steps=1), 0.3, 0.7, 0.29)] == [
        "[0.3, 0.4)",
        "[0.7, 0.8)",
        "[0.2, 0.3)",
    ]


def test_intervals_of_whole_numbers_can_name_both_ends():
    recipe = Intervals(5.0, steps=1, style=IntervalStyle.WHOLE)
    assert [path[0] for path in paths(recipe, 37, -3)] == ["35-39", "-5--1"]
    assert paths(Intervals(1.0, steps=1, style=IntervalStyle.WHOLE), 37)[0][0] == "37"
    assert paths(Intervals(0.5, steps=1, style=IntervalStyle.WHOLE), 37)[0][0] == "[37, 37.5)"


def test_own_edges_leave_open_ends():
    assert paths(Intervals(edges=(18.0, 65.0), steps=2), 3, 18, 64.5, 65) == [
        ("< 18", "< 65", "*"),
        ("[18, 65)", "< 65", "*"),
        ("[18, 65)", "< 65", "*"),
        ("≥ 65", "≥ 65", "*"),
    ]


def test_intervals_can_start_anywhere_and_grow_by_any_factor():
    assert paths(Intervals(10.0, 3.0, steps=2, growth=3), 14)[0] == ("[13, 23)", "[3, 33)", "*")


def test_neighbours_in_the_given_order_are_grouped():
    recipe = Orders((2, 2), ("low", "middle", "high"))
    assert paths(recipe, "high", "low", "middle") == [
        ("high", "low – high", "*"),
        ("low – middle", "low – high", "*"),
        ("low – middle", "low – high", "*"),
    ]


def test_values_that_an_order_does_not_list_follow_naturally():
    assert [path[0] for path in paths(Orders((2,), ("z",)), "5-9", "10-14", "z")] == [
        "z – 5-9",
        "10-14",
        "z – 5-9",
    ]


@pytest.mark.parametrize("values", [509, 77, 14, 6, 4])
def test_the_four_level_form_has_four_two_and_one_class(values):
    made = FourLevels().build("occupation", tuple(range(values)))
    assert [made.classes(level) for level in range(made.height)] == [values, 4, 2, 1]
    leaves = np.bincount(made.codes(1))
    assert leaves.max() - leaves.min() <= 1


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (Masking((1, 2)), ("1234*", "12***", "*")),
        (Masking((1, 2), Side.LEFT), ("*2345", "***45", "*")),
        (Masking((1, 2), keep_length=False), ("1234*", "12*", "*")),
        (Masking((9,)), ("*****", "*")),
        (Masking((1,), digits=7), ("001234*", "*")),
    ],
)
def test_characters_are_masked(recipe, expected):
    assert paths(recipe, 12345)[0] == expected


def test_dates_are_put_in_spans_of_the_calendar():
    assert paths(Dates(tuple(DateUnit)), "2026-11-20", "1999-02-01 10:30:00") == [
        (
            "2026-11-20",
            "2026-11",
            "2026 Q4",
            "2026 H2",
            "2026",
            "2025-2029",
            "2020-2029",
            "2000-2099",
            "*",
        ),
        (
            "1999-02-01",
            "1999-02",
            "1999 Q1",
            "1999 H1",
            "1999",
            "1995-1999",
            "1990-1999",
            "1900-1999",
            "*",
        ),
    ]


def test_a_table_gives_its_labels_and_may_list_more_than_occurs():
    recipe = Taxonomy((("f", "any", "*"), ("m", "any", "*"), ("", "unknown", "*")))
    assert paths(recipe, "m", None) == [("any", "*"), ("unknown", "*")]
    without = Taxonomy((("f", "any", "*"), ("m", "any", "*")))
    assert paths(without, "m", None) == [("any", "*"), (None, "*")]


def test_a_table_that_leaves_values_out_is_refused_without_naming_them():
    with pytest.raises(HierarchyError) as refused:
        paths(Taxonomy((("f", "*"),)), "f", "secret")
    assert "1 of its 2 values" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_class_can_have_another_name():
    recipe = Suppression(renames=(Rename(1, "*", "hidden"),))
    assert paths(recipe, "a")[0] == ("hidden",)


def test_a_name_given_to_two_classes_of_different_parents_is_refused():
    renames = (Rename(1, "[0, 5)", "same"), Rename(1, "[10, 15)", "same"))
    with pytest.raises(HierarchyError, match="not a tree"):
        paths(Intervals(5.0, steps=2, renames=renames), 1, 11)


def test_columns_without_any_value_have_as_many_levels_as_others():
    assert paths(Intervals(), None) == [(None, None, None, "*")]
    for recipe, value in (
        *((Intervals(steps=2), 3), (Orders((2, 3)), "a"), (FourLevels(), "a")),
        *((Masking((1, 1)), "abc"), (Dates(), "2026-01-01"), (Suppression(), "a")),
        (Taxonomy((("a", "b", "*"),)), "a"),
    ):
        assert len(paths(recipe, None)[0]) == len(paths(recipe, value)[0]) == recipe.height


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Intervals(0.0), "above 0"),
        (lambda: Intervals(float("nan")), "above 0"),
        (lambda: Intervals(steps=0), "0 levels"),
        (lambda: Intervals(growth=1), "merge 1"),
        (lambda: Intervals(steps=32, growth=1000), "wider than any number"),
        (lambda: Intervals(edges=(3.0, 1.0)), "increase"),
        (lambda: Orders(()), "fewer than two"),
        (lambda: Orders((1,)), "fewer than two"),
        (lambda: FourLevels(("a", "a")), "twice"),
        (lambda: Masking(()), "no character"),
        (lambda: Masking((1,), digits=1000), "1,000 characters"),
        (lambda: Dates(()), "grow"),
        (lambda: Dates((DateUnit.YEAR, DateUnit.MONTH)), "grow"),
        (lambda: Taxonomy(()), "no levels"),
        (lambda: Taxonomy((("a", "*"), ("b",))), "Row 2"),
        (lambda: Taxonomy((("a", "*"), ("a", "*"))), "Rows 1 and 2"),
        (lambda: Taxonomy((("a", ""),)), "Row 1"),
        (lambda: paths(Intervals(), "forty"), "no finite number"),
        (lambda: paths(Intervals(1e-6), 1e12), "too large"),
        (lambda: paths(Dates(), "yesterday"), "not a date"),
    ],
)
def test_what_can_not_be_is_refused_in_words(make, said):
    with pytest.raises(HierarchyError, match=said):
        make()


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({}, "kind"),
        ({"kind": "magic"}, "magic"),
        ({"kind": "intervals", "width": "ten"}, "width should be a number"),
        ({"kind": "intervals", "steps": 1.5}, "steps should be a whole number"),
        ({"kind": "intervals", "edges": ["a"]}, "edges should be a list of numbers"),
        ({"kind": "intervals", "style": "round"}, "style should be one of"),
        ({"kind": "intervals", "wdth": 3}, "no setting wdth"),
        ({"kind": "order", "sizes": 2}, "sizes should be a list"),
        ({"kind": "order", "order": [1]}, "order should be a list of texts"),
        ({"kind": "masking", "keep_length": 1}, "keep_length should be true or false"),
        ({"kind": "dates", "units": ["fortnight"]}, "fortnight"),
        ({"kind": "table", "rows": [["a", 1]]}, "rows should be a list of lists of texts"),
        ({"kind": "suppression", "renames": [1]}, "renames should be a list of tables"),
        (
            {"kind": "suppression", "renames": [{"level": 1, "made": "*", "shown": ""}]},
            "renamed to nothing",
        ),
    ],
)
def test_plain_values_that_are_no_recipe_are_refused_by_their_setting(plain, said):
    with pytest.raises(HierarchyError, match=said):
        recipe_from_dict(plain)


@pytest.mark.parametrize(
    ("spec", "column", "kind"),
    [
        (ColumnSpec("age", kind=Kind.NUMERIC), pd.Series(range(17, 91)), "intervals"),
        (ColumnSpec("income", kind=Kind.NUMERIC), pd.Series([0.1 * i for i in range(50)]), None),
        (ColumnSpec("children"), pd.Series([0, 1, 2, 3, 4, 5]), "order"),
        (ColumnSpec("postcode"), pd.Series([10115, 1067, 50667] * 2), "masking"),
        (ColumnSpec("icd"), pd.Series(["A12.3", "B07", "C34.1"]), "masking"),
        (ColumnSpec("age group"), pd.Series(["0-4", "5-9", "10-14", "65+"]), "order"),
        (ColumnSpec("born"), pd.Series(pd.date_range("1950-01-01", periods=9, freq="YS")), "dates"),
        (ColumnSpec("job"), pd.Series(["baker", "nurse", "pilot"]), "suppression"),
        (ColumnSpec("sex"), pd.Series(["f", "m"]), "suppression"),
        (
            ColumnSpec("age", kind=Kind.NUMERIC, binning=Binning((0, 20, 40, 60, 80))),
            pd.Series([5, 25, 70]),
            "order",
        ),
    ],
)
def test_a_hierarchy_is_proposed_for_every_kind_of_column(spec, column, kind):
    proposal = propose_hierarchy(spec, column)
    assert proposal.reason
    assert proposal.recipe.kind == (kind or "intervals")
    assert hierarchy_of(proposal.recipe, spec, column).height >= 2


def test_a_proposal_for_ages_halves_down_to_a_few_classes():
    column = pd.Series(range(17, 91), name="age")
    spec = ColumnSpec("age", kind=Kind.NUMERIC)
    made = hierarchy_of(propose_hierarchy(spec, column).recipe, spec, column)
    assert [made.classes(level) for level in range(made.height)] == [74, 16, 9, 5, 1]


def test_texts_of_a_proposal_hold_no_value():
    proposal = propose_hierarchy(ColumnSpec("job"), pd.Series(["baker", "nurse", "pilot"]))
    assert "baker" not in repr(proposal)


def test_periods_are_put_in_longer_spans_of_the_calendar():
    units = (DateUnit.QUARTER, DateUnit.HALF_YEAR, DateUnit.YEAR, DateUnit.DECADE)
    assert paths(Dates(units), "1968-02", "1999-12") == [
        ("1968 Q1", "1968 H1", "1968", "1960-1969", "*"),
        ("1999 Q4", "1999 H2", "1999", "1990-1999", "*"),
    ]
    assert paths(Dates(units[1:]), "1968 Q3") == [("1968 H2", "1968", "1960-1969", "*")]
    for value in ("1968 H2", "1968w05", "2004-W53", "1968", 1968):
        year = str(value)[:4]
        assert paths(Dates((DateUnit.YEAR,)), value) == [(year, "*")]


@pytest.mark.parametrize(
    ("values", "unit"),
    [(("1968-02",), "day"), (("1968-02-03", "1968 Q1"), "month"), (("1968w05",), "quarter")],
)
def test_a_span_shorter_than_the_periods_is_refused(values, unit):
    with pytest.raises(HierarchyError, match=f"1 value tells no {unit}"):
        paths(Dates((DateUnit(unit), DateUnit.YEAR)), *values)


@pytest.mark.parametrize(
    ("values", "units"),
    [
        ([f"{year}-02" for year in range(1968, 1990)], ("quarter", "year", "decade")),
        ([f"{year} Q1" for year in range(1968, 1990)], ("year", "decade")),
        ([f"{year}w05" for year in range(1968, 1972)], ("year",)),
    ],
)
def test_spans_longer_than_the_periods_are_proposed(values, units):
    series = pd.Series(values, name="born")
    spec = ColumnSpec("born", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL)
    assert tuple(propose_hierarchy(spec, series).recipe.units) == units
