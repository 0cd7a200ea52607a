import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.beliefs import probabilistic_table
from sfumato.engine.generalization.criteria import (
    DistinctDiversity,
    NonCentralizedDiversity,
    cardinality,
    from_flags,
    inclusion_minimal,
    members,
    singletons,
    to_flags,
)
from sfumato.engine.generalization.others import (
    HolderClasses,
    OtherTable,
    breaches,
    holder_classes,
    minimal_sets,
    propose_spelling,
    standing_of,
    unknown_values,
)
from sfumato.engine.generalization.publication import explain_no_solution
from sfumato.engine.generalization.search import search
from tests.engine.generalization.tables import CodedTable, quasi, values_of
from tests.thorough import tried

VALUES = ("flu", "HIV", None)


def other(frame, spelling=None, holder="Clinic", columns=("area",)):
    return OtherTable(holder, pd.DataFrame(frame), columns, "illness", spelling or {})


def holder_of(name, *sets, size=4):
    counts = np.array([[value in each for value in range(size)] for each in sets], dtype=np.int64)
    return HolderClasses(name, ("q",), tuple((str(i),) for i in range(len(sets))), counts)


def test_a_table_is_read_with_its_own_columns_labels_and_spelling():
    frame = {"area": ["N", "N", "S", "S"], "illness": ["Influenza", "HIV", "HIV", None]}
    read = holder_classes(other(frame, {"Influenza": "flu"}), VALUES)
    assert read.labels == (("N",), ("S",))
    assert read.counts.tolist() == [[1, 1, 0], [0, 1, 1]]
    assert read.diversity == 2


def test_a_table_without_public_columns_is_one_class():
    read = holder_classes(other({"illness": ["flu", "HIV"]}, columns=()), VALUES)
    assert read.classes == 1
    assert read.describe(0) == "everybody"


def test_values_that_are_not_ours_are_found_and_a_spelling_proposed():
    table = other({"area": ["N"] * 3, "illness": [" FLU", "hiv", "cold"]})
    assert unknown_values(table, VALUES) == [" FLU", "hiv", "cold"]
    assert propose_spelling(table, VALUES) == {" FLU": "flu", "hiv": "HIV"}


def test_case_and_blanks_are_mapped_by_themselves_and_what_is_stated_goes_before():
    frame = {"area": ["N", "N", "S"], "illness": [" Flu", "hiv ", "FLU"]}
    assert holder_classes(other(frame), VALUES).counts.tolist() == [[1, 1, 0], [1, 0, 0]]
    read = holder_classes(other(frame, {"FLU": "HIV"}), VALUES)
    assert read.counts.tolist() == [[1, 1, 0], [0, 1, 0]]


def test_of_two_values_that_differ_in_case_only_none_is_meant_by_itself():
    frame = {"area": ["N"], "illness": ["FLU"]}
    assert propose_spelling(other(frame), ("flu", "Flu", "HIV")) == {}
    with pytest.raises(DiversityError, match="can't take"):
        holder_classes(other(frame), ("flu", "Flu", "HIV"))


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"area": ["N"], "illness": ["cold"]}, "can't take"),
        ({"area": ["N"], "income": ["flu"]}, "no column illness"),
        ({"region": ["N"], "illness": ["flu"]}, "no column area"),
        ({"area": [], "illness": []}, "no rows"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_and_no_value_named(frame, said):
    with pytest.raises(DiversityError, match=said) as raised:
        holder_classes(other(frame), VALUES)
    assert "Clinic" in raised.value.what
    assert "cold" not in str(raised.value)
    assert raised.value.remedy


def test_a_missing_value_that_our_domain_does_not_have_is_refused():
    with pytest.raises(DiversityError, match="1 value, first in row 2"):
        holder_classes(other({"area": ["N", "N"], "illness": ["flu", None]}), ("flu", "HIV"))


def test_a_key_among_the_public_columns_is_refused():
    rows = 150_000
    frame = {"area": np.arange(rows), "illness": np.arange(rows) % 1500}
    with pytest.raises(DiversityError, match="too many to compare"):
        holder_classes(other(frame), tuple(range(1500)))


@given(st.lists(st.sets(st.integers(0, 99), max_size=12), min_size=1, max_size=20))
def test_bit_masks_are_sets(sets):
    flags = np.array([[value in each for value in range(100)] for each in sets])
    masks = from_flags(flags)
    assert masks.shape == (len(sets), 2)
    assert np.array_equal(to_flags(masks, 100), flags)
    assert cardinality(masks).tolist() == [len(each) for each in sets]
    assert all(members(mask, 100) == tuple(sorted(s)) for mask, s in zip(masks, sets, strict=True))
    smallest = {members(mask, 100) for mask in inclusion_minimal(masks)}
    assert smallest == {tuple(sorted(s)) for s in sets if not any(other < s for other in sets)}


def test_one_value_is_one_bit():
    assert singletons(np.array([0, 63, 64]), 65).tolist() == [[1, 0], [2**63, 0], [0, 1]]


@st.composite
def several_holders(draw):
    def sets():
        return draw(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=4))

    return [holder_of(f"h{i}", *sets(), size=6) for i in range(draw(st.integers(1, 3)))]


@given(several_holders(), st.integers(1, 4))
@settings(max_examples=tried(40), deadline=None)
def test_breaches_are_all_combinations_that_leave_too_few_values(holders, least):
    sets = [[set(np.flatnonzero(row)) for row in holder.counts] for holder in holders]
    combined = [
        len(set.intersection(*(sets[t][c] for t, c in enumerate(choice))))
        for choice in itertools.product(*(range(h.classes) for h in holders))
    ]
    found = breaches(holders, least, 6)
    assert sum(breach.combinations for breach in found) == sum(n < least for n in combined)
    assert all(len(breach.remaining) < least for breach in found)
    standing = standing_of(holders, least, 6)
    assert standing.weakest == min(combined)
    assert standing.holds is (found == [])


def test_the_table_whose_removal_is_enough_is_the_cause():
    tables = [
        holder_of("careful", {0, 1, 2, 3}),
        holder_of("careless", {0, 1}, {2, 3}),
        holder_of("usual", {0, 1, 2}, {0, 1, 2, 3}),
    ]
    standing = standing_of(tables, 3, 4)
    assert [h.holder for h in standing.holders if h.is_cause] == ["careless"]
    found = breaches(tables, 3, 4)
    assert {breach.needed for breach in found} == {("careless",)}
    assert len(found[0].remaining) == 1
    assert len(breaches(tables, 3, 4, limit=2)) == 2


def test_a_combination_that_nobody_can_be_in_has_no_beliefs():
    tables = [holder_of("a", {0}, {1}, size=2), holder_of("b", {0}, {1}, size=2)]
    beliefs = probabilistic_table(tables)
    assert np.isnan(beliefs.probabilities[0, 1]).all()
    assert (np.nan_to_num(beliefs.probabilities) > 0).sum(axis=-1).tolist() == [[1, 0], [0, 1]]
    assert np.nanmax(beliefs.probabilities) == 1


def test_a_probabilistic_table_that_is_too_large_is_refused():
    many = holder_of("many", *[{0}] * 3000)
    with pytest.raises(DiversityError, match="rows, more than"):
        probabilistic_table([many, many])
    with pytest.raises(DiversityError, match="No published table"):
        probabilistic_table([])


def no_solution_table():
    """Two groups at the highest level, one of which has two values only."""
    place = quasi("place", [0, 0, 0, 0, 1, 1, 1], [0, 1])
    sex = quasi("sex", [0, 1, 0, 1, 0, 1, 0], [0, 0])
    return CodedTable((place, sex), np.array([0, 1, 2, 3, 0, 1, 1]), values_of(4))


def test_without_a_solution_it_is_said_which_quasi_identifier_is_in_the_way():
    table, criteria = no_solution_table(), [DistinctDiversity(3)]
    assert search(table, criteria, Silent()).safe_count == 0
    said = explain_no_solution(table, criteria)
    assert said.dropping == (("place",),)
    assert said.standing_out == 3
    assert said.failing == ("distinct l-diversity",)
    assert said.without_holder == ()
    assert "place" in said.advice[0]
    assert "3 records" in said.advice[1]


def test_without_a_solution_it_is_said_whose_table_is_in_the_way():
    place = quasi("place", [0, 0, 1, 1], [0, 0])
    table = CodedTable((place,), np.array([0, 1, 2, 3]), values_of(4))
    holders = [holder_of("good", {0, 1, 2, 3}), holder_of("bad", {0, 1}, {2, 3})]
    criteria = [NonCentralizedDiversity(3, minimal_sets(holders, 4))]
    with pytest.raises(DiversityError, match="2 values already"):
        search(table, criteria, Silent())
    said = explain_no_solution(table, criteria, holders=holders)
    assert said.without_holder == ("bad",)
    assert said.advice[-1] == "Without the table of bad there is a solution."


def test_values_of_the_others_that_nobody_has_here_make_a_solution_impossible():
    table = CodedTable((quasi("q", [0, 0], [0]),), np.array([0, 1]), values_of(4))
    criterion = NonCentralizedDiversity(2, minimal_sets([holder_of("other", {1, 2, 3})], 4))
    with pytest.raises(DiversityError, match="occur nowhere") as raised:
        search(table, [criterion], Silent())
    assert "spelled the same" in raised.value.remedy
