"""The Adult table with the hierarchies that come with it, occupation being sensitive."""

import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.checker import verify_publication
from sfumato.engine.generalization.criteria import DistinctDiversity
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.generalization.publication import choose
from sfumato.engine.generalization.search import search
from sfumato.engine.table.table import Table
from tests.benchmarks.diversity_baseline import incognito
from tests.benchmarks.diversity_tables import ADULT_NAMES
from tests.data import shared_data
from tests.engine.generalization.tables import coded_table, publish

# By l and quasi-identifiers: safe nodes, minimal nodes, the lowest sum of levels, and the node to
# publish. A plain Incognito by pandas groupby finds the same safe nodes.
KNOWN = {
    (2, 3): (12, 2, 2, (1, 0, 1)),
    (2, 4): (23, 6, 4, (2, 0, 1, 1)),
    (2, 5): (47, 14, 7, (4, 0, 0, 2, 1)),
    (2, 7): (62, 21, 11, (4, 0, 0, 2, 1, 2, 2)),
    (2, 8): (82, 26, 12, (4, 0, 1, 0, 3, 2, 2, 0)),
    (5, 3): (10, 2, 2, (1, 0, 1)),
    (5, 4): (19, 4, 4, (1, 0, 1, 2)),
    (5, 5): (31, 8, 7, (4, 0, 1, 1, 1)),
    (5, 7): (38, 11, 11, (4, 0, 1, 1, 1, 2, 2)),
    (5, 8): (49, 16, 12, (4, 0, 1, 1, 1, 2, 2, 1)),
}


@pytest.fixture(scope="module")
def table():
    return Table(pd.read_csv(shared_data("adult/adult.csv"), sep=";"))


@pytest.fixture(scope="module")
def adult(table):
    hierarchies = [hierarchy(name) for name in ADULT_NAMES]
    return coded_table(table, hierarchies, "occupation")


def hierarchy(name):
    file = shared_data(f"adult/adult_hierarchy_{name}.csv")
    frame = pd.read_csv(file, sep=";", header=None, dtype=str, na_filter=False)
    ground = [int(v) for v in frame[0]] if name == "age" else list(frame[0])
    return Hierarchy(name, tuple(ground), tuple(tuple(frame[level]) for level in frame.columns))


@pytest.mark.parametrize(("least", "number"), sorted(KNOWN))
def test_the_optimum_and_the_numbers_of_safe_and_minimal_nodes(adult, table, least, number):
    few = adult.only(ADULT_NAMES[:number])
    criteria = [DistinctDiversity(least)]
    found = search(few, criteria, Silent())
    best = choose(few, found, criteria, Silent())
    assert found.minimum_average_level == sum(best.node) / number
    made = publish(few, table.frame, best.node, criteria)
    assert verify_publication(made.frame, few.names, "occupation", criteria).holds
    assert KNOWN[least, number] == (
        found.safe_count,
        len(found.minimal),
        sum(best.node),
        best.node,
    )


@pytest.mark.slow
def test_a_plain_incognito_finds_the_same(adult):
    few = adult.only(ADULT_NAMES[:5])
    found = search(few, [DistinctDiversity(5)], Silent())
    assert set(found.safe_nodes()) == incognito(few, 5)
