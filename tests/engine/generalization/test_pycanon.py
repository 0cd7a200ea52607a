"""Another tool measures what is published: pyCANON (Sáinz-Pardo Díaz and López García 2022).

Versions after 1.0.1 pin pandas below 3 and can't be installed beside the product.
"""

import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.checker import verify_publication
from sfumato.engine.generalization.criteria import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
)
from sfumato.engine.generalization.search import search
from sfumato.engine.generalization.views import Demand
from tests.benchmarks.diversity_tables import census
from tests.engine.generalization.tables import find_chain, publish

anonymity = pytest.importorskip("pycanon.anonymity", reason="pyCANON checks what is published")

CRITERIA = (
    KAnonymity(25),
    DistinctDiversity(12),
    EntropyDiversity(9.0),
    RecursiveDiversity(3.0, 4),
    Closeness(0.25),
    Closeness(0.05, ordered=True),
)


@pytest.mark.few(1)
@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_pycanon_measures_the_same_in_what_is_published(criterion):
    table = census(3000).only(("age", "education", "race"))
    found = search(table, [criterion], Silent())
    frame = source(table)
    for node in found.lowest[:2]:
        made = publish(table, frame, node, [criterion]).frame
        check = verify_publication(made, table.names, "income", [criterion])
        assert check.holds
        confirm(criterion, check.criteria[0].reached, made, list(table.names))


def source(table):
    columns = {q.name: q.codes for q in table.quasi_identifiers}
    return pd.DataFrame({**columns, "income": table.sensitive})


def confirm(criterion, reached, frame, names):
    frame = frame.astype(dict.fromkeys(names, str))
    args = (frame, names, ["income"])
    if isinstance(criterion, KAnonymity):
        assert anonymity.k_anonymity(frame, names) == reached
    elif isinstance(criterion, DistinctDiversity):
        assert anonymity.l_diversity(*args) == reached
    elif isinstance(criterion, EntropyDiversity):
        assert anonymity.entropy_l_diversity(*args) == int(reached)
    elif isinstance(criterion, RecursiveDiversity):
        # Its c comes from the least frequent value where the definition has the most frequent
        # one, so that only its l can be compared.
        assert anonymity.recursive_c_l_diversity(*args)[1] >= criterion.l
    elif criterion.ordered:
        # For numbers pyCANON takes the ordered distance, for texts the equal one.
        assert anonymity.t_closeness(*args) == pytest.approx(reached)
    else:
        as_text = frame.assign(income=frame["income"].astype(str))
        assert anonymity.t_closeness(as_text, names, ["income"]) == pytest.approx(reached)


def test_pycanon_finds_the_k_of_every_view_of_a_chain():
    table = census(3000).only(("age", "education", "race"))
    demands = [Demand(2, 0.02), Demand(10, 0.05), Demand(40, 0.05)]
    for view, demand in zip(
        find_chain(table.quasi_identifiers, demands, Silent()), demands, strict=True
    ):
        columns = {
            quasi.name: quasi.levels[level][quasi.codes].astype(str)
            for quasi, level in zip(table.quasi_identifiers, view.node, strict=True)
        }
        frame = pd.DataFrame(columns)
        frame[view.suppressed] = "*"
        measured = anonymity.k_anonymity(frame, list(columns))
        assert measured == view.smallest >= demand.k
