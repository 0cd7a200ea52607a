"""The search for a chain of views on Adult, beside finding which nodes each view could have."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence

from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.criteria import KAnonymity
from sfumato.engine.generalization.search import search
from sfumato.engine.generalization.views import Demand, View
from tests.benchmarks.diversity_tables import ADULT, adult
from tests.benchmarks.harness import Case
from tests.engine.generalization.tables import find_chain

BASELINE = "the safe nodes of each recipient, one after the other"

ASKED = {
    "k = 5": ((5, 0.0),),
    "k = 5, 1 % suppressed": ((5, 0.01),),
    "k = 2, 5, 20": ((2, 0.0), (5, 0.0), (20, 0.0)),
    "k = 2, 5, 20, 1 % suppressed": ((2, 0.01), (5, 0.01), (20, 0.01)),
    "k = 5, 20, 5 % suppressed": ((5, 0.05), (20, 0.05)),
    "as it is, k = 5 and 1 %, 20 and 5 %": ((1, 0.0), (5, 0.01), (20, 0.05)),
}


def cases(quick: bool) -> Iterator[Case]:
    """Return what is measured; nothing where Adult is not there."""
    if not ADULT.is_dir():
        return
    for name in list(ASKED)[: 2 if quick else None]:
        yield _case(name, [Demand(k, share) for k, share in ASKED[name]])


def _case(name: str, demands: Sequence[Demand]) -> Case:
    table = adult()
    last: list[tuple[View, ...]] = []
    processor: list[float] = []

    def run() -> None:
        start = time.process_time()
        last[:] = [find_chain(table.quasi_identifiers, demands, Silent())]
        processor.append(time.process_time() - start)

    def baseline() -> None:
        for demand in demands:
            search(table, [KAnonymity(demand.k)], Silent(), demand.suppression)

    def facts() -> dict[str, object]:
        return {
            # On a busy machine the elapsed time is mostly other people's.
            "processor_seconds": round(statistics.median(processor), 4),
            "nodes": [list(view.node) for view in last[0]],
            "suppressed": [view.suppressed_rows for view in last[0]],
            "smallest": [view.smallest for view in last[0]],
            "loss": [round(view.loss, 4) for view in last[0]],
        }

    return Case(f"adult, {name}", run, baseline, baseline_name=BASELINE, facts=facts)
