"""The worked examples of Cheong, Wu and Wong 2012, tables 2 to 8."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.beliefs import imaginary_tables, probabilistic_table
from sfumato.engine.generalization.criteria import DistinctDiversity, NonCentralizedDiversity
from sfumato.engine.generalization.others import (
    HolderClasses,
    breaches,
    holder_classes,
    minimal_sets,
    standing_of,
    weakest_of,
)
from sfumato.engine.generalization.search import search
from tests.engine.generalization.paper import (
    HIGH_ZIP,
    LOW_ZIP,
    OLD,
    SALARIES,
    YOUNG,
    coded,
    private_table,
    published,
    table_2,
    table_5,
)
from tests.engine.generalization.tables import publish

HIGH, MIDDLE, LOW = range(3)


@pytest.mark.parametrize("column", ["Age", "ZIP Code"])
def test_table_2_is_the_least_generalized_table_that_is_2_diverse_by_itself(column):
    table = coded(column)
    found = search(table, [DistinctDiversity(2)], Silent())
    assert found.minimal == ((1,),)
    frame = private_table()[[column, "Salary Class"]]
    made = publish(table, frame, (1,), [DistinctDiversity(2)]).frame
    assert made[column].tolist() == published(column, "other").frame[column].tolist()


def test_table_2_shows_its_classes_and_their_sets():
    ages, zips = table_2()
    assert ages.counts.tolist() == [[4, 2, 2], [0, 2, 2]]
    assert zips.counts.tolist() == [[2, 4, 2], [2, 0, 2]]
    assert (ages.diversity, zips.diversity) == (2, 2)
    assert ages.describe(YOUNG) == "Age = <40"
    assert ages.counts.sum(axis=0).tolist() == zips.counts.sum(axis=0).tolist()


def test_table_4_the_centralized_table_is_only_1_diverse():
    found = search(coded("Age", "ZIP Code"), [DistinctDiversity(2)], Silent())
    assert not found.is_safe((1, 1))
    assert set(found.minimal) == {(1, 2), (2, 1)}


def test_table_7_the_probabilistic_table():
    beliefs = probabilistic_table(table_2())
    expected = {
        (OLD, HIGH_ZIP): [0.4, 0.4, 0.2],
        (OLD, LOW_ZIP): [2 / 3, 0, 1 / 3],
        (YOUNG, HIGH_ZIP): [0, 2 / 3, 1 / 3],
        (YOUNG, LOW_ZIP): [0, 0, 1],
    }
    for classes, row in expected.items():
        assert beliefs.probabilities[classes] == pytest.approx(row, abs=1e-12)
    assert beliefs.prior == pytest.approx([1 / 3] * 3)
    assert (np.nan_to_num(beliefs.probabilities) > 0).sum(axis=-1).tolist() == [[3, 2], [2, 1]]
    assert np.nanmax(beliefs.probabilities) == 1


def test_tables_5_and_6_the_attack_with_a_known_correlation():
    attack = imaginary_tables(table_5(), (OLD, HIGH_ZIP), correlation=4 / 9, of=1)
    assert attack.records == 4
    assert attack.most == (3, 3, 2)
    assert attack.instances == 10
    assert attack.listed() == [
        *[(3, 1, 0), (3, 0, 1), (2, 2, 0), (2, 1, 1), (2, 0, 2)],
        *[(1, 3, 0), (1, 2, 1), (1, 1, 2), (0, 3, 1), (0, 2, 2)],
    ]
    assert attack.probabilities == (Fraction(3, 8), Fraction(3, 8), Fraction(1, 4))


def test_the_attack_averages_over_instances_too_many_to_list():
    large = HolderClasses("large", ("q",), (("a",), ("b",)), np.array([[40] * 12] * 2))
    attack = imaginary_tables([large, large], (0, 0), correlation=0.25, of=0)
    assert attack.records == 120
    assert attack.instances > 10**12
    assert attack.probabilities == (Fraction(1, 12),) * 12
    assert len(attack.listed(5)) == 5


@pytest.mark.parametrize(("share", "said"), [(0.0, "above 0"), (1.0, "at most 8")])
def test_a_correlation_that_the_tables_contradict_is_refused(share, said):
    with pytest.raises(DiversityError, match=said):
        imaginary_tables(table_5(), (OLD, HIGH_ZIP), share, of=1)


def test_the_paper_s_bound_from_above_alone_believes_in_what_is_impossible():
    # Section 4.2.2 counts c ≤ min(a, z) alone: (5, 0, 0) and three ways that no table has, since
    # of six people with H, five and six can't share fewer than five.
    ours = HolderClasses("ours", ("q",), (("a",), ("b",)), np.array([[5, 1, 1], [1, 3, 3]]))
    theirs = HolderClasses("theirs", ("r",), (("x",), ("y",)), np.array([[6, 1, 1], [0, 3, 3]]))
    real = Counter()
    for both in ways_of_two_tables(ours, theirs):
        if sum(both) == 5:
            real[both] += 1
    assert set(real) == {(5, 0, 0)}
    papers = [c for c in itertools.product(range(6), range(2), range(2)) if sum(c) == 5]
    assert papers == [(3, 1, 1), (4, 0, 1), (4, 1, 0), (5, 0, 0)]
    believed = [Fraction(sum(way[v] for way in papers), 5 * len(papers)) for v in range(3)]
    assert believed == [Fraction(4, 5), Fraction(1, 10), Fraction(1, 10)]
    attack = imaginary_tables([ours, theirs], (0, 0), correlation=5 / 7, of=0)
    assert (attack.least, attack.most) == ((5, 0, 0), (5, 1, 1))
    assert attack.listed() == [(5, 0, 0)]
    assert attack.probabilities == (1, 0, 0)
    # The sets alone leave three values, which is what section 5 calls 3-diverse whatever the
    # attacker knows of the correlation.
    assert weakest_of([ours, theirs], 3) == 2  # of a with y
    assert not any(breach.classes == (0, 0) for breach in breaches([ours, theirs], 3, 3))


def ways_of_two_tables(first, second):
    """Yield how many people with each value are in the first class of both, table by table.

    Every table of two classes by two is counted up from its one free cell, value by value.
    """
    each = []
    for (inside, outside), (within, without) in zip(first.counts.T, second.counts.T, strict=True):
        assert inside + outside == within + without
        cells = range(int(inside + outside) + 1)
        each.append([c for c in cells if c <= inside and c <= within and within - c <= outside])
    yield from itertools.product(*each)


def test_table_2_together_narrows_the_young_with_a_low_zip_to_one_value():
    tables = table_2()
    found = breaches(tables, 2, 3)
    assert [breach.classes for breach in found] == [(YOUNG, LOW_ZIP)]
    assert found[0].remaining == (LOW,)
    assert found[0].combinations == 1
    # Either table alone leaves two values, so that both are needed.
    assert found[0].needed == ("Revenue", "Census")
    standing = standing_of(tables, 2, 3)
    assert not standing.holds
    assert standing.weakest == 1
    assert [(h.diversity, h.without, h.is_cause) for h in standing.holders] == [(2, 2, True)] * 2


def test_beside_the_revenue_s_table_the_census_has_to_hide_its_zip_codes():
    revenue = table_2()[0]
    criterion = NonCentralizedDiversity(2, minimal_sets([revenue], 3))
    assert search(coded("ZIP Code"), [criterion], Silent()).minimal == ((2,),)
    assert search(coded("ZIP Code"), [DistinctDiversity(2)], Silent()).minimal == ((1,),)


def test_what_earlier_tables_have_narrowed_too_far_is_impossible_however_general_ours():
    criterion = NonCentralizedDiversity(3, minimal_sets(table_2()[:1], 3))
    with pytest.raises(DiversityError, match="2 values already") as raised:
        search(coded("ZIP Code"), [criterion], Silent())
    assert "at most 2" in raised.value.remedy


def test_table_8_only_the_minimal_sets_of_all_combinations_are_looked_at():
    random = np.random.default_rng(8)
    size = 70
    tables = [
        HolderClasses(f"T{t}", (), ((),) * classes, (random.random((classes, size)) < 0.8) * 1)
        for t, classes in enumerate((3, 2, 2))
    ]
    sets = [[set(np.flatnonzero(row)) for row in table.counts] for table in tables]
    combined = [set.intersection(*choice) for choice in itertools.product(*sets)]
    assert len(combined) == 12
    assert weakest_of(tables, size) == min(map(len, combined))
    smallest = sorted(combined, key=len)[3]
    breaking = sum(len(each) < len(smallest) + 1 for each in combined)
    assert len(breaches(tables, len(smallest) + 1, size)) == breaking


def test_a_table_by_itself_is_read_from_its_own_columns():
    only = holder_classes(published("Age", "Revenue"), SALARIES)
    assert only.classes == 2
    assert minimal_sets([only], 3).tolist() == [[0b110]]
