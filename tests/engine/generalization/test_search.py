from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled, DiversityError
from sfumato.engine.core.progress import Callback, Silent
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
from sfumato.engine.generalization.publication import equivalence_classes, loss_of
from sfumato.engine.generalization.risk import risk_of_classes
from sfumato.engine.generalization.search import search
from tests.engine.generalization.tables import (
    PARAMETERS,
    beside,
    brute_force,
    coded_tables,
    counted,
    minimal_nodes,
    others_for,
    publish,
    quasi,
    source_frame,
    values_of,
)
from tests.thorough import tried


def searched(table, criteria, suppression=0.0, others=()):
    """Search, skipping the examples that are refused: there, no node may be safe."""
    try:
        return search(table, criteria, Silent(), suppression)
    except DiversityError:
        allowed = int(suppression * table.rows + 1e-9)
        assert not brute_force(table, criteria, allowed, others).any()
        assume(False)


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", sorted(PARAMETERS))
@pytest.mark.parametrize("suppression", [0.0, 0.2, 0.8])
@given(table=coded_tables(), choice=st.integers(0, 5))
@settings(max_examples=tried(25), deadline=None)
def test_the_search_finds_what_brute_force_finds(kind, suppression, table, choice):
    criteria = [PARAMETERS[kind][choice % len(PARAMETERS[kind])]]
    found = searched(table, criteria, suppression)
    safe = brute_force(table, criteria, int(suppression * table.rows + 1e-9))
    assert np.array_equal(found.safe, safe)
    assert set(found.minimal) == minimal_nodes(safe)
    assert found.safe_count == safe.sum()


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", sorted(PARAMETERS))
@given(table=coded_tables(), share=st.sampled_from([0.1, 0.3, 0.8]), several=st.integers(0, 3))
@settings(max_examples=tried(25), deadline=None)
def test_starred_records_satisfy_what_is_asked_as_a_class_of_their_own(kind, table, share, several):
    criteria = [PARAMETERS[kind][0]]
    if several:
        units = np.random.default_rng(several).integers(0, table.rows // several + 2, table.rows)
        table = replace(table, units=pd.factorize(units)[0])
        criteria.append(KAnonymity(2, "household"))
    starred = Suppressed.STARRED
    try:
        found = search(table, criteria, Silent(), share, starred)
    except DiversityError:
        assume(False)
    allowed = int(share * table.rows + 1e-9)
    assert np.array_equal(found.safe, brute_force(table, criteria, allowed, starred=True))
    assert (found.safe <= search(table, criteria, Silent(), share).safe).all()
    for node in found.safe_nodes()[:3]:
        publish(table, source_frame(table), node, criteria, share, starred)


@given(
    table=coded_tables(),
    seed=st.integers(0, 1000),
    least=st.integers(1, 3),
    suppression=st.sampled_from([0.0, 0.2]),
)
@settings(max_examples=tried(40), deadline=None)
def test_beside_others_the_search_finds_what_all_combinations_find(table, seed, least, suppression):
    others = others_for(table, np.random.default_rng(seed))
    criteria = [beside(table, others, least)]
    found = searched(table, criteria, suppression, others)
    allowed = int(suppression * table.rows + 1e-9)
    assert np.array_equal(found.safe, brute_force(table, criteria, allowed, others))


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", [None, "distinct", "recursive"])
@pytest.mark.parametrize("suppression", [0.0, 0.2, 0.6])
@given(
    table=coded_tables(), k=st.integers(2, 4), several=st.integers(1, 4), seed=st.integers(0, 99)
)
@settings(max_examples=tried(25), deadline=None)
def test_the_search_counts_units_as_brute_force_does(kind, suppression, table, k, several, seed):
    drawn = np.random.default_rng(seed).integers(0, max(table.rows // several, 3), table.rows)
    units = pd.factorize(drawn)[0]
    table = replace(table, units=units)
    criteria = [KAnonymity(k, "household"), *([PARAMETERS[kind][0]] if kind else [])]
    found = searched(table, criteria, suppression)
    allowed = int(suppression * table.rows + 1e-9)
    assert np.array_equal(found.safe, brute_force(table, criteria, allowed))
    for node in found.minimal[:2]:
        made = publish(table, source_frame(table), node, criteria, suppression)
        public = [made.frame[name] for name in table.names]
        sizes = pd.Series(units[made.rows], made.frame.index).groupby(public, observed=True)
        assert sizes.nunique().min() >= k
        check = verify_publication(
            made.frame, table.names, "sensitive", criteria, units=units[made.rows]
        )
        assert check.holds
        assert check.criteria[0].reached == sizes.nunique().min()
        risk = risk_of_classes(made.classes, made.suppressed)
        most = sizes.agg(lambda each: each.value_counts().max() / len(each))
        assert risk.prosecutor == pytest.approx(most.max())
        assert risk.smallest == sizes.nunique().min()
        assert risk.units == len(set(units[made.rows]))


def test_a_k_above_the_number_of_units_is_refused():
    table = replace(one_mixed_class(), units=np.arange(10) // 2)
    with pytest.raises(DiversityError, match="k is 6, and the records belong to 5 units"):
        search(table, [KAnonymity(6, "household")], Silent())


@given(
    table=coded_tables(),
    one=st.sampled_from(sorted(PARAMETERS)),
    two=st.sampled_from(sorted(PARAMETERS)),
)
@settings(max_examples=tried(25), deadline=None)
def test_several_criteria_are_kept_together(table, one, two):
    criteria = [PARAMETERS[one][0], PARAMETERS[two][-1]]
    found = searched(table, criteria)
    assert np.array_equal(found.safe, brute_force(table, criteria))


@pytest.mark.parametrize("kind", sorted(PARAMETERS))
@given(table=coded_tables())
@settings(max_examples=tried(20), deadline=None)
def test_generalization_and_subset_property_hold_without_suppression(kind, table):
    criteria = [PARAMETERS[kind][0]]
    safe = brute_force(table, criteria)
    for node in table.lattice.nodes():
        if safe[node]:
            assert all(safe[parent] for parent in table.lattice.parents(node))
    if len(table.quasi_identifiers) > 1:
        fewer = table.only(table.names[:-1])
        assert (brute_force(fewer, criteria) >= safe.any(axis=-1)).all()


@given(table=coded_tables(), least=st.integers(2, 3), k=st.integers(2, 4))
@settings(max_examples=tried(25), deadline=None)
def test_with_suppression_the_properties_hold_where_classes_survive_growth(table, least, k):
    for criterion in (DistinctDiversity(least), KAnonymity(k)):
        safe = brute_force(table, [criterion], allowed=table.rows // 5)
        for node in np.argwhere(safe):
            above = tuple(slice(level, None) for level in node)
            assert safe[above].all()


def entropy_loses_by_generalizing():
    """Two good classes; a third that is left out, and spoils one of them once it joins it."""
    quasi_identifier = quasi("q", [0] * 6 + [1] * 4 + [2] * 4, [0, 1, 1], [0, 0, 0])
    sensitive = np.array([0, 1, 2] * 2 + [0, 1, 2, 0] + [0, 0, 0, 0])
    return CodedTable((quasi_identifier,), sensitive, values_of(3))


def test_with_suppression_entropy_diversity_is_not_monotone_and_nodes_are_tested_one_by_one():
    table = entropy_loses_by_generalizing()
    criteria = [PARAMETERS["entropy"][2]]
    found = search(table, criteria, Silent(), suppression=4 / 14)
    assert found.safe.tolist() == [True, False, True]
    assert found.examined == table.lattice.size


def one_mixed_class():
    """A class of two equally frequent values, and a larger one of the first alone."""
    attribute = quasi("q", [0] * 4 + [1] * 6, [0, 1])
    return CodedTable((attribute,), np.array([0, 0, 1, 1] + [0] * 6), values_of(2))


@pytest.mark.parametrize("criterion", [EntropyDiversity(2.0), RecursiveDiversity(1.5, 2)])
def test_what_remains_may_be_more_mixed_than_the_whole_table(criterion):
    with pytest.raises(DiversityError, match=r"Even the whole|reaches an entropy"):
        search(one_mixed_class(), [criterion], Silent())
    found = search(one_mixed_class(), [criterion], Silent(), suppression=0.6)
    assert found.safe.tolist() == [True, True]
    published = publish(
        one_mixed_class(), source_frame(one_mixed_class()), (0,), [criterion], suppression=0.6
    )
    assert len(published.frame) == 4


@pytest.mark.parametrize(
    "criterion", [EntropyDiversity(2.0), RecursiveDiversity(9.0, 2), Closeness(0.4)]
)
def test_nodes_whose_classes_lack_values_are_not_tested_by_all_that_is_asked(criterion):
    attribute = quasi("q", [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1], [0, 0, 0, 0])
    table = CodedTable((attribute,), np.array([0, 0, 1, 1, 0, 0, 1, 1]), values_of(2))
    found = search(table, [criterion], Silent(), suppression=0.2)
    assert found.safe.tolist() == [False, True, True]
    assert found.examined == 2


def test_where_nodes_are_tested_one_by_one_no_level_is_added_to_a_hierarchy():
    found = search(one_mixed_class(), [EntropyDiversity(2.0)], Silent(), suppression=0.6)
    assert found.examined == one_mixed_class().lattice.size == 2


def test_a_tie_is_no_recursive_diversity_however_the_product_is_rounded():
    assert 5.9 * 170 > 1003
    attribute = quasi("q", [0] * 1173, [0, 0])
    tied = CodedTable((attribute,), np.repeat([0, 1], [1003, 170]), values_of(2))
    with pytest.raises(DiversityError, match="Even the whole table"):
        search(tied, [RecursiveDiversity(5.9, 2)], Silent())
    assert search(tied, [RecursiveDiversity(5.91, 2)], Silent()).safe.all()
    checked = verify_publication(
        source_frame(tied), ["q"], "sensitive", [RecursiveDiversity(5.9, 2)]
    )
    assert not checked.holds


def test_a_hierarchy_that_ends_in_several_groups_is_not_generalized_further():
    table = CodedTable((quasi("q", [0, 1], [0, 1]),), np.array([0, 1]), values_of(2))
    found = search(table, [DistinctDiversity(2)], Silent())
    assert found.safe_count == 0
    assert found.minimal == ()
    assert found.minimum_average_level is None


def test_more_than_sixty_four_values_take_several_words():
    rows = 300
    random = np.random.default_rng(5)
    table = CodedTable(
        (quasi("a", random.integers(0, 4, rows), [0, 0, 1, 1], [0, 0, 0, 0]),),
        np.arange(rows) % 150,
        values_of(150),
    )
    criteria = [DistinctDiversity(80)]
    found = search(table, criteria, Silent())
    assert np.array_equal(found.safe, brute_force(table, criteria))
    assert found.safe.tolist() == [False, True, True]


def test_a_domain_of_a_thousand_values_is_searched_the_same_way():
    random = np.random.default_rng(7)
    sensitive = np.concatenate([np.arange(300), random.integers(0, 1000, 700)])
    attributes = (
        quasi("a", random.integers(0, 4, 1000), [0, 0, 1, 1], [0, 0, 0, 0]),
        quasi("b", random.integers(0, 2, 1000), [0, 0]),
    )
    table = CodedTable(attributes, sensitive, values_of(1000))
    for suppression in (0.0, 0.4):
        criteria = [DistinctDiversity(220)]
        found = search(table, criteria, Silent(), suppression)
        assert np.array_equal(found.safe, brute_force(table, criteria, int(suppression * 1000)))
        assert 0 < found.safe_count < table.lattice.size


def test_many_quasi_identifiers_with_large_domains_do_not_overflow():
    random = np.random.default_rng(6)
    rows, ground = 400, 100_000
    halves, one = np.arange(ground) % 2, np.zeros(ground, int)
    attributes = tuple(
        quasi(f"q{i}", random.integers(0, ground, rows), halves, one) for i in range(5)
    )
    table = CodedTable(attributes, random.integers(0, 4, rows), values_of(4))
    found = search(table, [KAnonymity(20)], Silent(), suppression=0.01)
    assert not found.is_safe((0,) * 5)
    assert found.is_safe((2,) * 5)


def test_a_search_can_be_stopped():
    table = entropy_loses_by_generalizing()
    with pytest.raises(Cancelled):
        search(table, [KAnonymity(3)], Callback(lambda fraction, text: None, lambda: True))


@pytest.mark.parametrize(
    ("criteria", "suppression", "said"),
    [
        ([], 0.0, "No criterion"),
        ([DistinctDiversity(4)], 0.0, "3 different sensitive values"),
        ([DistinctDiversity(0)], 0.0, "from 1 to 3"),
        ([KAnonymity(15)], 0.0, "14 records"),
        ([KAnonymity(2)], 1.0, "below 1"),
        ([PARAMETERS["entropy"][2].__class__(2.9)], 0.0, "reaches"),
        ([PARAMETERS["recursive"][0].__class__(0.1, 2)], 0.0, "as one class"),
    ],
)
def test_what_no_generalization_can_keep_is_refused_with_what_would_help(
    criteria, suppression, said
):
    with pytest.raises(DiversityError) as raised:
        search(entropy_loses_by_generalizing(), criteria, Silent(), suppression)
    assert said in str(raised.value)
    assert raised.value.remedy


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", sorted(PARAMETERS))
@pytest.mark.parametrize("suppression", [0.0, 0.3])
@given(table=coded_tables(), several=st.integers(0, 3), seed=st.integers(0, 99))
@settings(max_examples=tried(15), deadline=None)
def test_rows_that_are_alike_can_be_counted_as_one(kind, suppression, table, several, seed):
    criteria = [PARAMETERS[kind][0]]
    if several:
        drawn = np.random.default_rng(seed).integers(0, max(table.rows // several, 3), table.rows)
        table = replace(table, units=pd.factorize(drawn)[0])
        criteria.append(KAnonymity(2, "household"))
    fewer = counted(table)
    assert (fewer.rows, fewer.counts.tolist()) == (table.rows, table.counts.tolist())
    found = searched(table, criteria, suppression)
    assert np.array_equal(searched(fewer, criteria, suppression).safe, found.safe)
    for node in found.safe_nodes()[:3]:
        one, other = (equivalence_classes(each, node, criteria) for each in (table, fewer))
        assert other.suppressed == one.suppressed
        assert sorted(other.units[other.kept]) == sorted(one.units[one.kept])
        assert asdict(loss_of(fewer, node, criteria)) == pytest.approx(
            asdict(loss_of(table, node, criteria))
        )
        risks = [asdict(risk_of_classes(each, Suppressed.STARRED)) for each in (one, other)]
        bars = [each.pop("sizes") for each in risks]
        assert bars[0] == bars[1]
        assert risks[0] == pytest.approx(risks[1])
