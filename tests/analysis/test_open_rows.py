"""A part of a long table, by which open columns are weighed, tells what the whole table tells."""

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.unperturbed import open_columns, open_figures
from sfumato.analysis.unperturbed.open_columns import OpenFindings, weigh_open_columns
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document

ROWS = 40_000


@pytest.fixture
def table() -> Table:
    rng = np.random.default_rng(3)
    household = np.repeat(np.arange(ROWS // 4), 4)
    region = rng.integers(0, 40, ROWS)
    illness = np.where(rng.random(ROWS) < 0.7, household * 7919, rng.integers(0, 10, ROWS)) % 10
    income = np.round(rng.lognormal(10, 0.5, ROWS), 2)
    order = rng.permutation(ROWS)
    frame = {
        "household": household + 0.5,
        "region": pd.Categorical([f"r{code}" for code in region]),
        "income": income,
        "twice": income * 2.0,
        "illness": pd.Categorical([f"i{code}" for code in illness]),
        "code": pd.Categorical([f"c{(code * 3) % 10}" for code in illness]),
    }
    return Table(pd.DataFrame(frame).iloc[order].reset_index(drop=True))


def weighed(table: Table) -> OpenFindings:
    kinds = {"household": Kind.NUMERIC, "income": Kind.NUMERIC, "twice": Kind.NUMERIC}
    sensitive = ("illness", "twice")
    columns = tuple(
        ColumnSpec(
            name,
            Role.SENSITIVE if name in sensitive else Role.QUASI_IDENTIFIER,
            kinds.get(name, Kind.CATEGORICAL),
        )
        for name in table.columns
    )
    return weigh_open_columns(Document(columns=columns), ShownColumns(table), Silent())


def told(found: OpenFindings) -> dict[str, tuple[str, ...]]:
    return {each.name: each.columns for each in found.relations}


@pytest.mark.slow
def test_a_part_tells_what_the_whole_table_tells(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(table.frame.drop(columns="code"))
    whole = weighed(table)
    monkeypatch.setattr(open_figures, "LEARNED", 5_000)
    part = weighed(table)
    assert part.sampled == 5_000
    assert part.records == ROWS
    both = [found.estimates["illness"] for found in (whole, part)]
    # Members of one household are hardly ever together in an eighth of the rows.
    assert [[name for name, _ in each.telling] for each in both] == [["household"]] * 2
    assert both[1].best == pytest.approx(both[0].best, abs=0.04)
    assert both[0].best > 2 * both[0].without
    np.testing.assert_array_equal(
        part.estimates["illness"].codes,
        table.frame["illness"].cat.codes.to_numpy()[part.estimates["illness"].sample],
    )


@pytest.mark.slow
def test_relations_are_those_of_all_rows(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the columns tell beside relations takes long to find out, and is not asked for here.
    monkeypatch.setattr(open_columns, "MOST_ROWS", 600)
    monkeypatch.setattr(open_columns, "_LEAST_ROWS", 600)
    whole = weighed(table)
    assert told(whole) == {"illness": ("code",), "twice": ("income",)}
    monkeypatch.setattr(open_figures, "LEARNED", 5_000)
    part = weighed(table)
    assert told(part) == told(whole)
    outside = np.setdiff1d(np.arange(ROWS), part.rows)[:40]
    frame = table.frame.copy()
    frame.loc[outside, "twice"] += 1.0
    frame.loc[outside, "code"] = frame["code"].iloc[(outside + 1) % ROWS].to_numpy()
    assert told(weighed(Table(frame))) == {}
