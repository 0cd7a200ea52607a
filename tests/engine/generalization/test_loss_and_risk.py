import math

import numpy as np
import pytest

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.criteria import DistinctDiversity, KAnonymity, Suppressed
from sfumato.engine.generalization.publication import choose, equivalence_classes, loss_of, rank
from sfumato.engine.generalization.risk import (
    PopulationBasis,
    risk_of_classes,
    risk_of_sizes,
    size_shares,
)
from sfumato.engine.generalization.search import search
from tests.engine.generalization.tables import quasi, values_of


def table():
    """Eight records; the first attribute has four values, the second two."""
    first = quasi("a", [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1], [0, 0, 0, 0])
    second = quasi("b", [0, 1] * 4, [0, 0])
    return CodedTable((first, second), np.array([0, 1, 1, 0, 0, 1, 1, 0]), values_of(2))


def test_nothing_is_lost_at_the_bottom_and_everything_at_the_top():
    bottom, top = loss_of(table(), (0, 0)), loss_of(table(), (2, 1))
    assert (bottom.average_level, bottom.generalization, bottom.entropy) == (0, 0, 0)
    assert (bottom.classes, bottom.discernibility, bottom.average_discernibility) == (8, 8, 1)
    assert (top.average_level, top.generalization, top.entropy) == (1.5, 1, 1)
    assert (top.classes, top.discernibility, top.average_discernibility) == (1, 64, 8)


def test_in_between_each_measure_follows_its_definition():
    loss = loss_of(table(), (1, 0))
    assert loss.average_level == 0.5
    # One of three other values in the first column, none in the second.
    assert loss.generalization == pytest.approx((1 / 3 + 0) / 2)
    # One of two bits in the first column, none in the second.
    assert loss.entropy == pytest.approx((1 / 2 + 0) / 2)
    assert loss.discernibility == 4 * 2**2


def test_a_record_left_out_loses_everything():
    q = quasi("a", [0, 0, 0, 1], [0, 0])
    one = CodedTable((q,), np.array([0, 1, 0, 1]), values_of(2))
    loss = loss_of(one, (0,), [KAnonymity(2)])
    assert loss.suppressed == 1
    assert loss.generalization == pytest.approx(1 / 4)
    assert loss.discernibility == 3**2 + 1 * 4
    whole = 3 * np.log2(4 / 3) + 2
    assert loss.entropy == pytest.approx(2 / whole)


def test_among_nodes_of_the_lowest_average_level_the_least_loss_is_published():
    found = search(table(), [DistinctDiversity(2)], Silent())
    assert found.lowest == ((0, 1), (1, 0))
    best = choose(table(), found, [DistinctDiversity(2)], Silent())
    assert best.node == (1, 0)
    ranked = rank(table(), found.safe_nodes(), [DistinctDiversity(2)], Silent())
    assert [choice.loss.average_level for choice in ranked] == sorted(
        sum(node) / 2 for node in found.safe_nodes()
    )


def test_without_a_safe_node_none_is_chosen():
    q = quasi("a", [0, 1], [0, 1])
    one = CodedTable((q,), np.array([0, 1]), values_of(2))
    found = search(one, [DistinctDiversity(2)], Silent())
    assert choose(one, found, [DistinctDiversity(2)], Silent()) is None


def test_the_three_attackers_by_hand():
    sizes, people = np.array([1, 2, 5]), np.array([1, 4, 20])
    known = risk_of_sizes(sizes, people)
    assert known.prosecutor == 1
    assert known.journalist == 1
    assert known.marketer == pytest.approx((1 + 2 / 4 + 5 / 20) / 8)
    assert (known.uniques, known.population_uniques) == (1, 1)
    alone = risk_of_sizes(sizes)
    assert (alone.journalist, alone.marketer) == (1, 3 / 8)
    assert (known.basis, alone.basis) == (PopulationBasis.COUNTED, PopulationBasis.TABLE)
    assert alone.above(0.3) == pytest.approx(3 / 8)
    assert (alone.smallest, alone.average) == (1, 8 / 3)


def test_class_sizes_are_spread_over_bars():
    bars = size_shares(np.array([1, 1, 4, 30, 2000]))
    filled = {(bar.least, bar.most): (bar.classes, bar.records) for bar in bars if bar.classes}
    assert filled == {(1, 1): (2, 2), (3, 4): (1, 4), (20, 49): (1, 30), (1000, None): (1, 2000)}


def test_the_journalist_finds_nobody_more_easily_than_in_the_smallest_class_there():
    # The smallest class of the table is not the one that is smallest in the population.
    risk = risk_of_sizes(np.array([2, 3]), np.array([50, 10]))
    assert (risk.prosecutor, risk.journalist) == (1 / 2, 1 / 10)
    assert risk.marketer == pytest.approx((2 / 50 + 3 / 10) / 5)


def test_in_a_sample_the_chances_are_expected_ones():
    risk = risk_of_sizes(np.array([1, 2, 2]), fraction=0.5)
    one, two = math.log(2), 1 - math.log(2)
    assert risk.prosecutor == 1
    assert risk.journalist == pytest.approx(one)
    assert risk.marketer == pytest.approx((one + 4 * two) / 5)
    assert (risk.uniques, risk.population_uniques) == (1, 0.5)
    assert risk.basis is PopulationBasis.SAMPLED


def test_generalizing_lowers_the_risk():
    before, after = (
        risk_of_classes(equivalence_classes(table(), node), Suppressed.DROPPED)
        for node in ((0, 0), (0, 1))
    )
    assert (before.prosecutor, after.prosecutor) == (1, 0.5)
    assert (before.uniques, after.uniques) == (8, 0)


def outlier():
    """Three records alike, and one alone."""
    q = quasi("a", [0, 0, 0, 1], [0, 0])
    return CodedTable((q,), np.array([0, 1, 0, 1]), values_of(2))


def test_records_left_out_are_not_found_and_starred_ones_are_a_class():
    classes = equivalence_classes(outlier(), (0,), [KAnonymity(2)])
    people = np.array([30, 7])
    dropped = risk_of_classes(classes, Suppressed.DROPPED, people)
    assert (dropped.records, dropped.prosecutor, dropped.journalist) == (3, 1 / 3, 1 / 30)
    starred = risk_of_classes(classes, Suppressed.STARRED, people)
    assert (starred.records, starred.classes) == (4, 2)
    assert (starred.prosecutor, starred.journalist) == (1, 1 / 7)
    assert starred.marketer == pytest.approx((3 / 30 + 1 / 7) / 4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: risk_of_sizes(np.zeros(0, int)), "no records"),
        (lambda: risk_of_sizes(np.array([2, 3]), np.array([1, 3])), "In 1 of 2 classes"),
        (lambda: risk_of_sizes(np.array([2]), fraction=0.0), "sampling fraction is 0"),
        (lambda: risk_of_sizes(np.array([2]), fraction=1.5), "sampling fraction is 1.5"),
    ],
)
def test_a_population_that_does_not_fit_is_refused(call, said):
    with pytest.raises(DiversityError, match=said):
        call()


def test_k_is_promised_in_words_for_one_other_and_for_several():
    assert KAnonymity(2).promise.endswith("with at least one other.")
    assert KAnonymity(3).promise.endswith("with at least 2 others.")
