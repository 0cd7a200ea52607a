"""A table's problems, found one by one, and the ways to mend them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.generalization.hierarchies import (
    Mend,
    ProblemKind,
    Taxonomy,
    find_problems,
    mended,
    mended_throughout,
    refuse_problems,
    sentence,
)
from tests.thorough import tried

VALUES = ("Bonn", "Lyon", "Nice")
GOOD = (("Bonn", "DE", "*"), ("Lyon", "FR", "*"), ("Nice", "FR", "*"))


def the_problem(rows, values=VALUES):
    (found,) = find_problems(rows, values, "town")
    return found


def test_a_table_that_lists_the_column_s_values_has_no_problem():
    assert find_problems(GOOD, (*VALUES, None), "town") == ()


@pytest.mark.parametrize("heading", ["value", "Town", "Level 0"])
def test_headings_are_known_and_removed(heading):
    rows = ((heading, "country", "all"), *GOOD)
    found = find_problems(rows, VALUES, "town")
    assert found[0].kind is ProblemKind.HEADER
    assert mended(rows, found[:1], Mend.DROP_ROW) == GOOD


def test_a_short_row_is_filled_below_its_top():
    rows = (("a", "b", "c", "*"), ("d", "b", "c", "*"), ("x", "y", "*"))
    found = the_problem(rows, ("a", "d", "x"))
    assert (found.kind, found.row, found.values) == (ProblemKind.UNEVEN, 3, 3)
    assert mended(rows, [found], Mend.FILL_ROW)[2] == ("x", "y", "y", "*")


def test_a_long_row_is_cut_below_its_top():
    rows = (*GOOD[:2], ("Nice", "South", "FR", "*"))
    found = the_problem(rows)
    assert (found.kind, found.row) == (ProblemKind.UNEVEN, 3)
    assert mended(rows, [found], Mend.CUT_ROW)[2] == ("Nice", "South", "*")
    trailing = (*GOOD[:2], ("Nice", "FR", "*", ""))
    assert mended(trailing, [the_problem(trailing)], Mend.CUT_ROW) == GOOD


def test_an_empty_label_is_taken_from_above():
    rows = (*GOOD[:2], ("Nice", "", "*"))
    found = the_problem(rows)
    assert (found.kind, found.row, found.level) == (ProblemKind.EMPTY_LABEL, 3, 1)
    assert mended(rows, [found], Mend.LABEL_FROM_ABOVE)[2] == ("Nice", "*", "*")


@pytest.mark.parametrize(
    ("second", "kind"),
    [
        (("Lyon", "FR", "*"), ProblemKind.REPEATED),
        (("Lyon", "DE", "*"), ProblemKind.CONFLICT),
    ],
)
def test_a_value_that_stands_there_twice_is_named_with_both_rows(second, kind):
    rows = (*GOOD, second)
    found = the_problem(rows)
    assert (found.kind, found.row, found.first) == (kind, 4, 2)
    assert mended(rows, [found], Mend.DROP_ROW) == GOOD


@pytest.mark.parametrize("spelled", ["lyon", " Lyon", "LYON "])
def test_another_spelling_is_known_and_mended(spelled):
    rows = (GOOD[0], (spelled, "FR", "*"), GOOD[2])
    found = the_problem(rows)
    assert (found.kind, found.row, found.other) == (ProblemKind.SPELLING, 2, "Lyon")
    assert mended(rows, [found], Mend.RESPELL) == GOOD


def test_numbers_with_a_needless_point_are_a_spelling():
    assert the_problem((("39.0", "*"),), (39,)).kind is ProblemKind.SPELLING


def test_values_that_no_row_lists_are_named_one_by_one_and_added():
    found = find_problems(GOOD[:1], VALUES)
    assert [(p.kind, p.text) for p in found] == [
        (ProblemKind.ABSENT, "Lyon"),
        (ProblemKind.ABSENT, "Nice"),
    ]
    assert mended(GOOD[:1], found, Mend.ADD_HIDDEN)[1:] == (("Lyon", "*", "*"), ("Nice", "*", "*"))
    assert mended(GOOD[:1], found[:1], Mend.ADD_OWN)[1:] == (("Lyon", "Lyon", "*"),)


def test_values_that_do_not_occur_are_no_hindrance():
    rows = (*GOOD, ("Oslo", "NO", "*"))
    found = the_problem(rows)
    assert found.kind is ProblemKind.EXTRA
    assert not found.blocks
    refuse_problems([found])
    assert Taxonomy(rows).build("town", VALUES).size == 3


def test_a_torn_class_is_mended_by_the_frequent_label_or_by_two_classes():
    rows = (("a", "x", "N", "*"), ("b", "x", "N", "*"), ("c", "x", "S", "*"), ("d", "y", "S", "*"))
    found = the_problem(rows, tuple("abcd"))
    assert (found.kind, found.level, found.row, found.text) == (ProblemKind.NO_TREE, 1, 3, "x")
    assert (found.other, found.values) == ("N", 1)
    assert mended(rows, [found], Mend.USE_FREQUENT_PARENT)[2] == ("c", "x", "N", "*")
    assert mended(rows, [found], Mend.SPLIT_CLASS)[2] == ("c", "x (S)", "S", "*")


def test_a_table_without_one_top_is_remarked_and_can_get_one():
    rows = (("Bonn", "DE"), ("Lyon", "FR"), ("Nice", "FR"))
    found = the_problem(rows)
    assert found.kind is ProblemKind.NO_TOP
    assert not found.blocks
    assert mended(rows, [found], Mend.ADD_TOP) == GOOD


def test_a_way_that_does_not_mend_a_problem_is_a_bug_of_the_caller():
    with pytest.raises(ValueError, match="not a way"):
        mended(GOOD, find_problems(GOOD[:1], VALUES), Mend.FILL_ROW)


def test_an_empty_table_lacks_every_value():
    assert len(find_problems((), VALUES)) == 3


def test_a_refusal_names_a_row_and_how_many_more_but_no_value():
    rows = (*GOOD[:2], ("Nice", "", "*"), GOOD[0], GOOD[1])
    with pytest.raises(HierarchyError) as refused:
        refuse_problems(find_problems(rows, VALUES))
    assert "Row 3" in str(refused.value)
    assert "2 more" in str(refused.value)
    for name in ("Nice", "Bonn", "FR"):
        assert name not in str(refused.value)


def test_sentences_and_text_forms_of_problems_hold_no_value():
    rows = (("town", "x"), ("Bonn", "DE", "*"), ("bonn", "DE", "*"), ("Lyon", "", "*"))
    for problem in find_problems(rows, VALUES, "town"):
        assert sentence(problem)
        assert not {"Bonn", "Lyon", "Nice"} & set(f"{sentence(problem)} {problem!r}".split())


CELLS = st.sampled_from(["", "a", "b", "c", "*", "A "])
TABLES = st.lists(st.lists(CELLS, min_size=1, max_size=5).map(tuple), max_size=12).map(tuple)


@settings(deadline=None, max_examples=tried(250))
@given(TABLES)
def test_any_table_can_be_mended_throughout_into_a_hierarchy(rows):
    values = ("a", "b", "d", None)
    made, _ = mended_throughout(rows, values, "column")
    assert all(not problem.blocks for problem in find_problems(made, values, "column"))
    hierarchy = Taxonomy(made).build("column", values)
    assert hierarchy.size == 4


@settings(deadline=None, max_examples=tried(150))
@given(TABLES, st.data())
def test_every_way_to_mend_leads_to_a_hierarchy_in_the_end(rows, data):
    values = ("a", "b")
    for _ in range(200):
        blocking = [p for p in find_problems(rows, values) if p.blocks]
        if not blocking:
            break
        alike = [p for p in blocking if (p.kind, p.mends) == (blocking[0].kind, blocking[0].mends)]
        chosen = alike if data.draw(st.booleans()) else alike[:1]
        rows = mended(rows, chosen, data.draw(st.sampled_from(blocking[0].mends)))
    assert [p for p in find_problems(rows, values) if p.blocks] == []


@pytest.mark.slow
def test_many_torn_classes_are_found_and_mended_at_once():
    rows = tuple((str(i), f"c{i % 2000}", "N" if i % 3 else "S", "*") for i in range(20_000))
    values = tuple(range(20_000))
    found = find_problems(rows, values)
    assert {problem.kind for problem in found} == {ProblemKind.NO_TREE}
    assert len(found) == 2000
    for mend in (Mend.USE_FREQUENT_PARENT, Mend.SPLIT_CLASS):
        assert find_problems(mended(rows, found, mend), values) == ()
