"""What protecting households costs, and the bound on their rows at which that is least."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.utility.unit_price import price_in, price_of_unit
from sfumato.analysis.utility.worth import columns_worth
from sfumato.analysis.utility.worth_figures import records_behind
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit
from sfumato.project.release import batched_table
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.table_survey import survey_of
from tests.in_batches import in_batches

NOISE = KeyedNoise(KeyRing(b"5" * 32))
JOBS = ("baker", "cook", "smith")
PAY = {"bounds": "stated", "lowest": -100, "highest": 200, "step": 1}


def a_table(households=500, seed=4):
    """Return households of 1 to 8 members; the larger, the lower the pay."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, households)
    household = np.repeat(np.arange(households), sizes)
    rows = len(household)
    pay = 60.0 - 4.0 * np.repeat(sizes, sizes) + rng.normal(0.0, 10.0, rows)
    frame = {"household": household, "job": rng.choice(JOBS, rows), "pay": np.round(pay)}
    frame["region"] = np.repeat(rng.choice(JOBS, households), sizes)
    return Table(pd.DataFrame(frame))


def a_document(pay=8.0):
    levels = {"job": {"epsilon": 3.0}, "region": {"epsilon": 3.0}, "pay": {"epsilon": pay}}
    return Document(
        title="Survey",
        columns=(
            ColumnSpec("household", Role.IDENTIFYING, Kind.NUMERIC),
            ColumnSpec("job", Role.SENSITIVE, domain=Domain(JOBS)),
            ColumnSpec("pay", Role.SENSITIVE, Kind.NUMERIC),
            ColumnSpec("region", Role.SENSITIVE, domain=Domain(JOBS)),
        ),
        policy=(
            PolicyEntry(("job",), "uniform"),
            PolicyEntry(("pay",), "laplace", PAY),
            PolicyEntry(("region",), "uniform"),
        ),
        recipients=(Recipient("Institute", levels),),
    )


@pytest.fixture(scope="module")
def priced():
    table, document = a_table(), a_document()
    return table, document, price_of_unit(document, table, ("household",), NOISE, Silent())


@pytest.mark.slow
@pytest.mark.turns(1)
def test_every_bound_is_worth_what_the_document_with_it_is(priced):
    table, document, price = priced
    recipient = document.recipients[0]
    for rows in price.by_bound:
        unit = Unit(("household",), rows, ("region",))
        bounded = document.with_unit(unit)
        known = attributes_of(bounded, table)
        found, _ = columns_worth(bounded, recipient, known, records_behind(bounded, table))
        assert {one.column: pytest.approx(one.records) for one in found} == price.by_bound[rows]


def test_the_bound_is_proposed_at_which_columns_are_worth_most(priced):
    _, _, price = priced
    gains = {
        rows: np.log(found["job"]) + np.log(found["pay"]) for rows, found in price.by_bound.items()
    }
    assert price.proposed == max(gains, key=gains.get)
    assert 1 <= price.proposed < price.largest == 8
    assert price.unit.constant == ("region",)


def test_the_price_is_told_beside_what_pooling_restores(priced):
    _, _, price = priced
    told = " ".join(map(str, price.sentences))
    assert f"At most {price.proposed}" in told
    for name in ("job", "pay"):
        assert f"Protected by household, {name} is worth" in told
    assert "region is drawn once for a household" in told
    assert "Without it: " in told
    plain = {one["column"]: one for one in price.plain()["columns"]}
    assert plain["region"]["drawn_once"]
    assert plain["pay"]["worth_row_by_row"] > max(plain["pay"]["worth_by_bound"].values())


def test_all_rows_leave_where_everything_is_drawn_once():
    table, document = a_table(), a_document()
    columns = tuple(c for c in document.columns if c.name in ("household", "region"))
    document = replace(document, columns=columns, policy=document.policy[2:])
    table = replace(table, frame=table.frame[["household", "region"]])
    price = price_of_unit(document, table, ("household",), NOISE, Silent())
    assert price.proposed == price.largest == 8


def test_rows_that_are_read_in_parts_are_priced_as_those_in_memory(priced, monkeypatch, tmp_path):
    table, document, price = priced
    parts = BatchedTable(in_batches(table).batches, tmp_path)
    found = price_in(document, survey_of(parts, Silent()), ("household",), NOISE, Silent())
    assert found == price
    monkeypatch.setattr(batched_table, "SAMPLE", table.rows - 1)
    few = survey_of(parts, Silent())
    assert price_in(document, few, ("household",), NOISE, Silent()) is None


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("rows", [1, 3])
def test_a_bound_that_moves_the_mean_is_worth_what_simulated_releases_are(rows):
    """Large households earn less, and lose members: that does not average out."""
    table, document = a_table(), a_document(pay=30.0)
    rng = np.random.default_rng(9)
    pay = table.frame["pay"].to_numpy()
    by_household = [part.to_numpy() for _, part in table.frame.groupby("household")["pay"]]
    errors = []
    scale = 300.0 / (30.0 / rows)
    for _ in range(2_000):
        drawn = [by_household[at] for at in rng.integers(0, len(by_household), len(by_household))]
        left = np.concatenate([rng.permutation(one)[:rows] for one in drawn])
        errors.append((left + rng.laplace(0.0, scale, len(left))).mean() - pay.mean())
    squares = np.square(errors)
    worth = pay.var() / squares.mean()
    bounded = document.with_unit(Unit(("household",), rows, ("region",)))
    known = attributes_of(bounded, table)
    found, _ = columns_worth(bounded, document.recipients[0], known, records_behind(bounded, table))
    records = next(one.records for one in found if one.column == "pay")
    error = squares.std() / squares.mean() / np.sqrt(len(squares))
    assert abs(records / worth - 1.0) < 4 * error + 0.05
