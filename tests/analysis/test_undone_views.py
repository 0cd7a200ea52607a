"""Columns that undo a view: found, told with figures, and the remedy that suffices suffices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.answers import Severity
from sfumato.analysis.coarsening.undone_views import UNDONE_VIEW, given_back
from sfumato.analysis.coarsening.views import released_rows, with_proposed_hierarchies
from sfumato.analysis.findings import RemedyKind
from sfumato.analysis.readiness.readiness import examine, mended
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, ViewRule
from sfumato.project.release.release_columns import attributes_of
from tests.in_batches import in_batches

ROWS = 900


def surveyed(weights=True, district=False):
    """A survey whose regions are hidden; the weight is the same in all rows of a region."""
    draw = np.random.default_rng(7)
    region = draw.integers(0, 6, ROWS)
    frame = pd.DataFrame(
        {
            "region": [f"r{code}" for code in region],
            "sex": draw.choice(["f", "m"], ROWS),
            "weight": 100.0 + (region if weights else draw.integers(0, 6, ROWS)),
            "district": [f"d{code}" for code in region * 2 + draw.integers(0, 2, ROWS)],
            "illness": draw.choice(["cold", "flu"], ROWS),
        }
    )
    table = Table(frame if district else frame.drop(columns="district"))
    specs = [
        ColumnSpec("region", Role.QUASI_IDENTIFIER),
        ColumnSpec("sex", Role.QUASI_IDENTIFIER),
        ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC),
        *([ColumnSpec("district", Role.QUASI_IDENTIFIER)] if district else ()),
        ColumnSpec("illness", Role.SENSITIVE, domain=Domain(("cold", "flu"))),
    ]
    level = {"illness": {"retention_probability": 0.4}}
    document = Document(
        title="Survey",
        columns=tuple(specs),
        policy=(PolicyEntry(("illness",), "uniform"),),
        recipients=(Recipient("Public", level, view=ViewRule(k=2)),),
    )
    document, _ = with_proposed_hierarchies(document, table)
    hidden = replace(document.recipients[0], view=ViewRule(k=2, levels={"region": 1}))
    return replace(document, recipients=(hidden,)), table


def undone(document, table):
    found = examine(document, ShownColumns(table), attributes_of(document, table), (), Silent())
    return [one for each in found for one in each.findings if one.check == UNDONE_VIEW]


def test_a_weight_that_gives_a_hidden_region_back_is_a_danger_with_the_remedy_that_suffices():
    document, table = surveyed()
    (finding,) = undone(document, table)
    assert finding.severity is Severity.GRAVE
    assert finding.columns == ("region", "weight")
    assert "for 100 in 100 of the 900 records" in str(finding.sentence)
    (remedy,) = finding.remedies
    assert (remedy.deed, remedy.column) == (RemedyKind.DROP, "weight")
    assert undone(mended(document, remedy), table) == []


def test_weights_that_have_nothing_to_do_with_it_are_no_finding():
    assert undone(*surveyed(weights=False)) == []


def test_all_columns_that_undo_a_view_go_with_it_in_one_remedy():
    document, table = surveyed(district=True)
    (finding,) = undone(document, table)
    (remedy,) = finding.remedies
    assert remedy.deed is RemedyKind.TOGETHER
    deeds = {part.column: part.deed for part in remedy.parts}
    assert deeds == {"weight": RemedyKind.DROP, "district": RemedyKind.RAISE}
    assert undone(mended(document, remedy), table) == []


def hidden_cells(document, table):
    """Return the survey with three rare regions, and single cells suppressed for them."""
    frame = table.frame.copy()
    frame.loc[:2, "region"] = ["r6", "r7", "r8"]
    frame.loc[:2, "weight"] = 100.0
    rule = ViewRule(k=5, suppression=0.5, cells=True, levels={})
    document = replace(document, recipients=(replace(document.recipients[0], view=rule),))
    return document, Table(frame)


def test_suppressed_cells_teach_nothing_of_each_other():
    """Rows that hide all are mostly alike; nobody knows that of them from elsewhere."""
    assert undone(*hidden_cells(*surveyed(weights=False))) == []


@pytest.mark.parametrize("weights", [True, False])
def test_views_tell_the_same(weights):
    document, table = surveyed(weights)
    keys = KeyRing(bytes(range(32)))
    left = released_rows(document, in_batches(table), keys, Silent())
    told = given_back(document, left, Silent())
    assert [str(one.sentence) for one in told] == [
        str(one.sentence) for one in undone(document, table)
    ]
