"""The search for diverse tables: Adult, and the experiments of Cheong, Wu and Wong 2012.

Their table SAL is not public in the form they used, so that a synthetic one of its schema and size
stands in: times and the shape of the curves compare, the numbers of candidates do not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.criteria import (
    Criterion,
    DistinctDiversity,
    NonCentralizedDiversity,
)
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import (
    HolderClasses,
    OtherTable,
    holder_classes,
    minimal_sets,
)
from sfumato.engine.generalization.publication import equivalence_classes
from sfumato.engine.generalization.search import SearchResult, search
from tests.benchmarks.diversity_baseline import incognito
from tests.benchmarks.diversity_tables import ADULT, ADULT_NAMES, ROWS, SCHEMA, adult, census
from tests.benchmarks.harness import Case
from tests.engine.generalization.tables import publish

BASELINE = "Incognito by pandas groupby, node by node"
ONE_NODE = "pandas groupby of one node"

SETS = {"A": (30, 2), "B": (50, 2), "C": (30, 4), "D": (50, 4)}
"""Table 10: the l that the earlier table keeps, and its number of quasi-identifiers."""
EARLIER = ("birthplace", "occupation", "race", "work class")
"""The earlier table's quasi-identifiers; those not among them are ours, in table 9's order."""


def cases(quick: bool) -> Iterator[Case]:
    """Return what is measured; with `quick`, less of it on fewer rows."""
    if ADULT.is_dir():
        yield from _adult_cases(quick)
    rows = 7_000 if quick else ROWS
    for number in (5, 7):
        for least in (10,) if quick else (5, 10, 20, 30):
            yield _census_case(rows, number, least)
    for name in ("A",) if quick else SETS:
        yield from _experiment(rows, name, quick)


def _adult_cases(quick: bool) -> Iterator[Case]:
    table = adult()
    for least in (2, 5):
        for number in (3, 4) if quick else (3, 4, 5, 7, 8):
            few = table.only(ADULT_NAMES[:number])
            yield _case(
                f"adult, {number} QI, l = {least}",
                few,
                [DistinctDiversity(least)],
                lambda few=few, least=least: incognito(few, least),
                BASELINE,
            )


def _census_case(rows: int, number: int, least: int) -> Case:
    table = _census(rows).only(tuple(SCHEMA)[:number])
    name = f"{rows:,} rows, {number} QI, l = {least}"
    return _case(name, table, [DistinctDiversity(least)], lambda: _one_node(table), ONE_NODE)


def _experiment(rows: int, name: str, quick: bool) -> Iterator[Case]:
    kept, number = SETS[name]
    whole = _census(rows)
    earlier = EARLIER[:number]
    ours = [each for each in SCHEMA if each not in earlier]
    sets = minimal_sets([_earlier_table(rows, earlier, kept)], whole.size)
    for count in range(1, len(ours) + 1):
        table = whole.only(ours[:count])
        for least in (10,) if quick else range(10, kept + 1, 10):
            yield _case(
                f"set {name}, {count} QI, l = {least}",
                table,
                [NonCentralizedDiversity(least, sets)],
                lambda table=table: _one_node(table),
                ONE_NODE,
            )


def _case(
    name: str,
    table: CodedTable,
    criteria: Sequence[Criterion],
    baseline: Callable[[], object],
    baseline_name: str,
) -> Case:
    """Return a case whose facts are the paper's metrics."""
    last: list[SearchResult] = []
    processor: list[float] = []

    def run() -> None:
        start = time.process_time()
        last[:] = [search(table, criteria, Silent())]
        processor.append(time.process_time() - start)

    def facts() -> dict[str, object]:
        found = last[0]
        return {
            # On a busy machine the elapsed time is mostly other people's.
            "processor_seconds": round(statistics.median(processor), 4),
            "candidates": found.safe_count,
            "minimal": len(found.minimal),
            "minimum_average_level": found.minimum_average_level,
            "tested": found.examined,
            "followed": found.followed,
            "nodes": found.lattice.size,
        }

    return Case(name, run, baseline, baseline_rounds=1, baseline_name=baseline_name, facts=facts)


@cache
def _census(rows: int) -> CodedTable:
    return census(rows)


def _one_node(table: CodedTable) -> int:
    """Test the node with four classes an attribute as one would with pandas."""
    keys = [quasi.levels[1][quasi.codes] for quasi in table.quasi_identifiers]
    return int(pd.Series(table.sensitive).groupby(keys, sort=False).nunique().min())


@cache
def _earlier_table(rows: int, names: tuple[str, ...], kept: int) -> HolderClasses:
    """Return the classes of the table that another holder published earlier."""
    table = _census(rows).only(names)
    occurring = int(np.count_nonzero(table.counts))
    criteria = [DistinctDiversity(min(kept, occurring))]
    found = search(table, criteria, Silent())
    # As little general as its l lets it be: the minimal node whose classes have fewest values.
    node = min(found.minimal, key=lambda node: _fewest_values(table, node))
    columns = {q.name: q.codes for q in table.quasi_identifiers}
    sensitive = pd.Categorical.from_codes(table.sensitive, list(table.values))
    frame = pd.DataFrame({**columns, "income": sensitive})
    made = publish(table, frame, node, criteria)
    return holder_classes(OtherTable("earlier", made.frame, names, "income"), table.values)


def _fewest_values(table: CodedTable, node: Node) -> int:
    return int(np.diff(equivalence_classes(table, node).counts.indptr).min())
