import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.checker import verify_publication
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.criteria import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Suppressed,
)
from sfumato.engine.generalization.publication import explain_no_solution
from sfumato.engine.generalization.search import search
from tests.engine.generalization.tables import (
    PARAMETERS,
    beside,
    coded_tables,
    others_for,
    publish,
    quasi,
    source_frame,
    values_of,
)
from tests.thorough import tried


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", sorted(PARAMETERS))
@given(table=coded_tables(), suppression=st.sampled_from([0.0, 0.3]), choice=st.integers(0, 5))
@settings(max_examples=8, deadline=None)
def test_every_safe_node_published_passes_the_check_from_its_own_rows(
    kind, table, suppression, choice
):
    criteria = [PARAMETERS[kind][choice % len(PARAMETERS[kind])]]
    try:
        found = search(table, criteria, Silent(), suppression)
    except DiversityError:
        assume(False)
    frame = source_frame(table)
    for node in found.safe_nodes()[:6]:
        made = publish(table, frame, node, criteria, suppression)
        check = verify_publication(
            made.frame, table.names, "sensitive", criteria, order=table.values
        )
        assert check.holds
        assert check.rows == table.rows - made.classes.suppressed


@given(table=coded_tables(), seed=st.integers(0, 100))
@settings(max_examples=tried(10), deadline=None)
def test_a_table_published_beside_others_passes_the_check_with_their_rows(table, seed):
    others = others_for(table, np.random.default_rng(seed))
    criteria = [beside(table, others, 1)]
    found = search(table, criteria, Silent())
    for node in found.minimal[:3]:
        made = publish(table, source_frame(table), node, criteria)
        names = (table.names, "sensitive")
        assert verify_publication(made.frame, *names, criteria, others).holds


def table_with_an_outlier():
    """Nine records alike and varied, and one that stands alone at every level but the top."""
    q = quasi("place", [0, 1, 0, 1, 0, 1, 0, 1, 0, 2], [0, 0, 1], [0, 0, 0])
    return CodedTable((q,), np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0]), values_of(3))


def test_outlying_records_are_left_out_and_the_others_keep_their_place():
    table = table_with_an_outlier()
    criteria = [DistinctDiversity(3)]
    found = search(table, criteria, Silent(), suppression=0.1)
    assert found.is_safe((1,))
    made = publish(table, source_frame(table), (1,), criteria, suppression=0.1)
    assert made.frame.index.tolist() == list(range(9))
    assert made.frame["place"].unique().tolist() == ["place1-0"]
    assert made.classes.suppressed == 1


def test_starred_records_are_a_class_of_their_own_and_refused_where_they_break_the_criteria():
    table = table_with_an_outlier()
    frame = source_frame(table)
    starred = publish(
        table, frame, (1,), [KAnonymity(2)], suppression=0.1, suppressed=Suppressed.DROPPED
    )
    assert len(starred.frame) == 9
    with pytest.raises(DiversityError, match="starred record") as raised:
        publish(table, frame, (1,), [KAnonymity(2)], suppression=0.1, suppressed=Suppressed.STARRED)
    assert "Leave these records out" in raised.value.remedy


def test_where_only_starred_records_stand_in_the_way_it_is_advised_to_leave_them_out():
    q = quasi("place", [0] * 6 + [1], [0, 1])
    table = CodedTable((q,), np.array([0, 1, 2, 0, 1, 2, 0]), values_of(3))
    asked = (table, [KAnonymity(2)])
    assert search(*asked, Silent(), 0.2).safe.all()
    assert not search(*asked, Silent(), 0.2, Suppressed.STARRED).safe.any()
    why = explain_no_solution(*asked, 0.2, suppressed=Suppressed.STARRED)
    assert why.advice[-1] == "Leave these records out instead of starring them."
    assert why.dropping == (("place",),)


def test_starred_records_that_satisfy_the_criteria_together_stay():
    q = quasi("place", [0] * 6 + [1, 2], [0, 1, 2], [0, 0, 0])
    table = CodedTable((q,), np.array([0, 1, 2, 0, 1, 2, 0, 1]), values_of(3))
    criteria = [DistinctDiversity(2), KAnonymity(2)]
    made = publish(table, source_frame(table), (1,), criteria, 0.25, suppressed=Suppressed.STARRED)
    assert made.frame["place"].tolist() == ["place1-0"] * 6 + ["*"] * 2
    assert verify_publication(made.frame, ["place"], "sensitive", criteria).holds


def test_other_columns_stay_as_they_are():
    table = table_with_an_outlier()
    frame = source_frame(table).assign(note=range(10))
    made = publish(table, frame, (2,), [KAnonymity(2)])
    assert made.frame["note"].tolist() == list(range(10))
    assert made.frame["place"].unique().tolist() == ["place2-0"]
    assert frame["place"].tolist() != made.frame["place"].tolist()


@pytest.mark.parametrize(
    ("node", "suppression", "said"),
    [((0,), 0.0, "stands out"), ((3,), 0.0, "no levels"), ((1,), 0.05, "may be left out")],
)
def test_a_node_that_is_not_safe_is_not_published(node, suppression, said):
    table = table_with_an_outlier()
    with pytest.raises(DiversityError, match=said):
        publish(table, source_frame(table), node, [KAnonymity(3)], suppression)


def by_hand():
    """Two classes: a, a, b and a, b, c, c."""
    return pd.DataFrame({"q": list("xxxyyyy"), "s": list("aababcc")})


@pytest.mark.parametrize(
    ("criterion", "reached", "holds"),
    [
        (KAnonymity(3), 3, True),
        (KAnonymity(4), 3, False),
        (DistinctDiversity(2), 2, True),
        (DistinctDiversity(3), 2, False),
        # exp(log 3 − 2/3·log 2) in the first class.
        (EntropyDiversity(1.8), 3 / 2 ** (2 / 3), True),
        (EntropyDiversity(1.9), 3 / 2 ** (2 / 3), False),
        # First class 2 < c·1; second 2 < c·2.
        (RecursiveDiversity(2.5, 2), 2.0, True),
        (RecursiveDiversity(2.0, 2), 2.0, False),
        # Shares 3/7, 2/7, 2/7 in all; 2/3, 1/3, 0 in the first class.
        (Closeness(0.286), 2 / 7, True),
        (Closeness(0.28), 2 / 7, False),
        (Closeness(0.262, ordered=True), (5 / 21 + 6 / 21) / 2, True),
        (Closeness(0.26, ordered=True), (5 / 21 + 6 / 21) / 2, False),
    ],
)
def test_the_check_computes_each_criterion_from_its_definition(criterion, reached, holds):
    check = verify_publication(by_hand(), ["q"], "s", [criterion])
    assert check.criteria[0].reached == pytest.approx(reached)
    assert check.holds is holds
    assert (check.criteria[0].failing == 0) is holds
    assert check.classes == 2


def test_missing_public_values_are_a_class_of_their_own():
    frame = pd.DataFrame({"q": ["x", None, None, "x"], "s": list("abab")})
    assert verify_publication(frame, ["q"], "s", [DistinctDiversity(2)]).classes == 2


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (by_hand().drop(columns="q"), "no column q"),
        (by_hand().drop(columns="s"), "no column s"),
        (by_hand().iloc[:0], "no rows"),
    ],
)
def test_a_file_that_is_not_the_published_table_is_refused(frame, said):
    with pytest.raises(DiversityError, match=said):
        verify_publication(frame, ["q"], "s", [KAnonymity(1)])
