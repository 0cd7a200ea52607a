"""What releases are worth, beside releases that are made and estimated from by plain arithmetic."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.shown_columns import LeavingColumns
from sfumato.analysis.utility.worth import weigh_worth
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit
from sfumato.project.release.release_columns import attributes_of

JOBS = ("baker", "cook", "smith", "tailor")
KEYS = KeyRing(b"6" * 32)
LEVEL = 0.4


def a_table(rows, seed=3):
    rng = np.random.default_rng(seed)
    jobs = rng.choice(JOBS, rows // 4, p=[0.4, 0.3, 0.2, 0.1])
    return Table(
        pd.DataFrame(
            {
                "household": np.arange(rows) // 4,
                "job": np.repeat(jobs, 4),
                "pay": np.repeat(rng.normal(50.0, 10.0, rows // 4), 4) + rng.normal(0, 10.0, rows),
                "weight": rng.choice([1.0, 2.0, 6.0], rows),
            }
        )
    )


PAY = {"bounds": "stated", "lowest": -1000, "highest": 1000, "step": 1}


def a_document(**changes):
    given = {"job": {"retention_probability": LEVEL}, "pay": {"epsilon": 40.0}}
    return replace(
        Document(
            title="Survey",
            columns=(
                ColumnSpec("household", Role.IDENTIFYING, Kind.NUMERIC),
                ColumnSpec("job", Role.SENSITIVE, domain=Domain(JOBS)),
                ColumnSpec("pay", Role.SENSITIVE, Kind.NUMERIC),
                ColumnSpec("weight", Role.IDENTIFYING, Kind.NUMERIC),
            ),
            policy=(PolicyEntry(("job",), "uniform"), PolicyEntry(("pay",), "laplace", PAY)),
            recipients=(Recipient("Institute", given),),
        ),
        **changes,
    )


def worth_in(document, table):
    columns = LeavingColumns(table, KEYS).of(document)
    [found] = weigh_worth(document, columns, attributes_of(document, table), Silent())
    assert found.problems == ()
    return {each.column: each for each in found.columns}


def as_weighted(document):
    columns = [replace(c, role=Role.WEIGHT) if c.name == "weight" else c for c in document.columns]
    return replace(document, columns=tuple(columns))


def errors_of_shares(table, units, tries, seed=1):
    """The mean square error of shares over samples of households and their perturbation.

    Drawn once for a household where `units`; else row by row. Nothing of the house is used.
    """
    rng, rows = np.random.default_rng(seed), table.rows
    true = np.array([JOBS.index(job) for job in table.frame["job"]]).reshape(-1, 4)
    shares = np.bincount(true.ravel(), minlength=4) / rows
    squares = []
    for _ in range(tries):
        drawn = true[rng.integers(0, len(true), len(true))]
        size = (len(drawn), 1) if units else drawn.shape
        kept, other = rng.random(size) < LEVEL, rng.integers(0, 4, size)
        seen = np.bincount(np.where(kept, drawn, other).ravel(), minlength=4) / rows
        error = (seen - (1 - LEVEL) / 4) / LEVEL - shares
        squares.append(error @ error)
    found = np.array(squares)
    return (1 - shares @ shares) / found.mean(), found.std() / found.mean() / np.sqrt(tries)


@pytest.mark.few(1)
@pytest.mark.parametrize("once", [True, False])
def test_shares_by_household_are_worth_what_samples_of_households_tell(once):
    table = a_table(2_000)
    unit = Unit(("household",), 4, ("job",) if once else ())
    statement = {"job": {"retention_probability": LEVEL}, "pay": {"epsilon": 160.0}}
    document = a_document(unit=unit, policy=(PolicyEntry(("job",), "uniform"),))
    document = replace(
        document,
        columns=tuple(c for c in document.columns if c.name in ("household", "job")),
        recipients=(Recipient("Institute", statement),),
    )
    table = replace(table, frame=table.frame[["household", "job"]])
    if not once:  # the level is stated for the household: each row gets less
        per_row = (LEVEL * 4 / (1 - LEVEL) + 1) ** 4
        stated = (per_row - 1) / (4 - 1 + per_row)
        recipient = Recipient("Institute", {"job": {"retention_probability": stated}})
        document = replace(document, recipients=(recipient,))
    worth, error = errors_of_shares(table, once, 3_000)
    found = worth_in(document, table)["job"].records
    assert abs(found / worth - 1) < 4 * error + 0.01


def test_unequal_weights_count_by_kish():
    table = a_table(2_000)
    plain, weighted = (worth_in(d, table) for d in (a_document(), as_weighted(a_document())))
    weights = table.frame["weight"]
    share = weights.sum() ** 2 / (weights**2).sum() / table.rows
    assert weighted["job"].records == pytest.approx(share * plain["job"].records)


def test_rows_that_the_bound_leaves_out_are_lost():
    table = a_table(2_000)
    statement = Recipient("Institute", {"job": {"retention_probability": LEVEL}})
    document = a_document(policy=(PolicyEntry(("job",), "uniform"),), recipients=(statement,))
    document = replace(document, columns=tuple(
        replace(c, role=Role.IDENTIFYING) if c.name == "pay" else c for c in document.columns
    ))  # fmt: skip
    one = worth_in(replace(document, unit=Unit(("household",), 1)), table)["job"]
    alone = worth_in(document, table)["job"]
    assert one.of == 2_000
    assert one.records == pytest.approx(alone.records / 4, rel=0.01)


def test_clipping_that_moves_the_mean_is_told():
    table = a_table(2_000)
    settings = {"bounds": "stated", "lowest": 0, "highest": 50, "step": 1}
    document = a_document(
        policy=(PolicyEntry(("job",), "uniform"), PolicyEntry(("pay",), "laplace", settings))
    )
    pay = worth_in(document, table)["pay"]
    assert pay.figures.shift < -0.3
    assert pay.worthless


@pytest.mark.slow
def test_a_million_rows_are_weighed_in_a_third_of_a_second_after_the_first_time():
    table = a_table(1_000_000)
    document = a_document()
    columns = LeavingColumns(table, KEYS).of(document)
    attributes = attributes_of(document, table)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        weigh_worth(document, columns, attributes, Silent())
        taken.append(time.perf_counter() - start)
    assert min(taken) < 0.3


def test_a_level_that_would_help_can_be_stated_where_groups_are_protected_up_to_a_level():
    table = a_table(2_000)
    table = replace(table, frame=table.frame[["job"]].assign(region=np.arange(2_000) % 2))
    settings = {
        "epsilon": 0.3,
        "delta": 0.3,
        "rule": "simplified",
        "sampling": "published",
        "retention_probability": 0.3,
        "public": ["region"],
    }
    document = a_document(
        columns=(
            ColumnSpec("job", Role.SENSITIVE, domain=Domain(JOBS)),
            ColumnSpec("region", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
        ),
        policy=(PolicyEntry(("job",), "reconstruction", settings),),
        recipients=(Recipient("Institute", {"job": {"retention_probability": 0.01}}),),
    )
    found = worth_in(document, table)["job"]
    assert found.worthless
    attributes = tuple(attributes_of(document, table).values())
    mechanism = mechanism_called("reconstruction")
    for each in found.helps:
        if each.level:
            assert mechanism.level(each.level, attributes, settings) <= 0.3
    assert found.helps[0].sentence == "At no level would it be worth 100."
