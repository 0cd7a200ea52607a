import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.generalization.criteria import KAnonymity, Need
from sfumato.engine.generalization.grouping import Grouping, classes_of_counts
from sfumato.engine.generalization.lattice import Lattice, below_any, listed, meet, minimal
from sfumato.engine.generalization.verdict import NodeWitnesses, judge
from tests.engine.generalization.tables import PARAMETERS, coded_tables
from tests.thorough import tried


@pytest.mark.parametrize("kind", sorted(PARAMETERS))
@given(table=coded_tables(), record=st.integers(0, 5))
@settings(max_examples=tried(15), deadline=None)
def test_a_witness_knows_its_own_class_at_every_node(kind, table, record):
    criterion = PARAMETERS[kind][0]
    quasi = [each.with_one_group_on_top() for each in table.quasi_identifiers]
    witnesses = NodeWitnesses(quasi, table, [criterion])
    allowed = witnesses.allowed([int(q.codes[record]) for q in quasi])
    for node in np.ndindex(*allowed.shape):
        own = np.ones(table.rows, dtype=bool)
        for q, level in zip(quasi, node, strict=True):
            own &= q.levels[level][q.codes] == q.levels[level][q.codes[record]]
        counts = np.bincount(table.sensitive[own], minlength=table.size)
        assert allowed[node] == class_is_good(criterion, counts, table)


def class_is_good(criterion, counts, table):
    return bool(criterion.satisfied(classes_of_counts(counts[None], table.counts))[0])


@given(table=coded_tables(), data=st.data())
@settings(max_examples=tried(25), deadline=None)
def test_rolled_up_tuples_are_those_that_the_rows_give(table, data):
    lattice = table.lattice
    node = data.draw(st.sampled_from(list(lattice.nodes())))
    below = tuple(data.draw(st.integers(0, level)) for level in node)
    for needs, criterion in ((Need.SIZES | Need.SETS, KAnonymity(3)), (Need.COUNTS, KAnonymity(3))):
        grouping = Grouping.of_table(table, needs)
        rows = grouping.rows(table)
        direct = grouping.roll_up(rows, node)
        by_way = grouping.roll_up(grouping.roll_up(rows, below), node)
        assert sorted(direct.sizes) == sorted(by_way.sizes)
        verdicts = [judge(grouping, each, [criterion], 0) for each in (direct, by_way)]
        assert verdicts[0].safe == verdicts[1].safe
        assert direct.sizes.sum() == table.rows


def test_the_lattice_knows_its_nodes_and_their_neighbours():
    lattice = Lattice((2, 1))
    assert (lattice.size, lattice.bottom, lattice.shape) == (6, (0, 0), (3, 2))
    assert lattice.parents((1, 0)) == ((2, 0), (1, 1))
    assert lattice.children((1, 1)) == ((0, 1), (1, 0))
    assert lattice.average_level((2, 1)) == 1.5
    assert lattice.heights.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert (2, 1) in lattice
    assert (3, 0) not in lattice
    assert len(list(lattice.nodes())) == 6
    assert meet([(2, 0), (1, 1)]) == (1, 0)


@given(st.integers(0, 2**32 - 1))
def test_closures_follow_their_definitions(seed):
    random = np.random.default_rng(seed)
    nodes = random.random((3, 2, 4)) < 0.2
    chosen = listed(nodes)
    for node in np.ndindex(*nodes.shape):
        under = [c for c in chosen if all(a <= b for a, b in zip(node, c, strict=True))]
        assert below_any(nodes)[node] == bool(under)
        smaller = [
            c for c in chosen if c != node and all(a <= b for a, b in zip(c, node, strict=True))
        ]
        assert minimal(nodes)[node] == (nodes[node] and not smaller)
