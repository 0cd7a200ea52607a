"""What a recipient is given: every column by its role, every sensitive one by its mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Released
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.entry_plan import EntryPlan, ladder_of, plan_release
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.release_columns import (
    attributes_of,
    material_of,
    plan_for,
    released_table,
)
from tests.project.whole_table import release_whole, released_columns, rows_of
from tests.thorough import tried

KEYS = KeyRing(bytes(range(32)))
ILLNESSES = ("asthma", "cold", "flu", "gout")
ROWS = 400


def a_table(rows: int = ROWS) -> Table:
    return Table(
        pd.DataFrame(
            {
                "person": [f"P{i:04d}" for i in range(rows)],
                "illness": pd.Categorical(
                    [ILLNESSES[(i % 9) % 4] for i in range(rows)], categories=list(ILLNESSES)
                ),
                "age": np.arange(rows) % 90,
                "smoker": pd.array([(True, False, None)[i % 3] for i in range(rows)], "boolean"),
                "note": [f"seen {i}" for i in range(rows)],
            }
        ),
        value_labels={"smoker": {True: "Yes", False: "No"}, "person": {"P0001": "Somebody"}},
        column_labels={"age": "Age in years", "person": "Full name"},
    )


def a_document(**changes: object) -> Document:
    document = Document(
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
            ColumnSpec(
                "age", Role.QUASI_IDENTIFIER, Kind.NUMERIC, binning=Binning((0, 30, 60, 90))
            ),
            ColumnSpec("smoker", Role.QUASI_IDENTIFIER),
            ColumnSpec("note", Role.INSENSITIVE, Kind.TEXT),
        ),
        policy=(PolicyEntry(("illness",), "uniform"),),
        recipients=(Recipient("A", {"illness": {"retention_probability": 0.5}}),),
    )
    return replace(document, **changes)


def release(document: Document, table: Table, recipient: int = 0) -> pd.DataFrame:
    return released_columns(document, table, document.recipients[recipient], KEYS, Silent())


def test_identifying_columns_are_dropped_and_the_order_of_the_others_is_kept():
    frame = release(a_document(), a_table())
    assert list(frame.columns) == ["illness", "age", "smoker", "note"]
    assert len(frame) == ROWS


def test_columns_that_are_not_perturbed_are_released_as_they_are():
    table = a_table()
    frame = release(a_document(), table)
    pd.testing.assert_series_equal(frame["smoker"], table.frame["smoker"])
    pd.testing.assert_series_equal(frame["note"], table.frame["note"])


def test_a_binned_column_shows_its_bins():
    frame = release(a_document(), a_table())
    assert list(frame["age"].iloc[[0, 29, 30, 89]]) == [
        "[0, 30)",
        "[0, 30)",
        "[30, 60)",
        "[60, 90]",
    ]


def test_a_sensitive_column_is_what_its_mechanism_releases():
    document, table = a_document(), a_table()
    material = material_of(document, table)
    (plan,) = plan_release(document, material.attributes, document.recipients[0])
    frame = release(document, table)
    assert plan.level == 0.5
    kept = (frame["illness"].astype(str) == table.frame["illness"].astype(str)).mean()
    assert 0.45 < kept < 0.8
    rows = rows_of(material, KEYS)
    again = release_whole(plan_for(material, [plan], "A"), KEYS, rows)
    pd.testing.assert_frame_equal(frame, again)


@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.QUASI_IDENTIFIER])
def test_a_binned_sensitive_number_is_perturbed_among_its_bins(role):
    binned = ColumnSpec("age", role, Kind.NUMERIC, binning=Binning((0, 30, 60, 90)))
    document = a_document().with_column(binned)
    if role is Role.SENSITIVE:
        document = replace(
            document,
            policy=(*document.policy, PolicyEntry(("age",), "uniform")),
            recipients=(
                Recipient(
                    "A",
                    {
                        "illness": {"retention_probability": 0.5},
                        "age": {"retention_probability": 0.2},
                    },
                ),
            ),
        )
    table = a_table()
    frame = release(document, table)
    true = Binning((0, 30, 60, 90)).apply(table.frame["age"]).astype(str)
    assert set(frame["age"].astype(str)) == {"[0, 30)", "[30, 60)", "[60, 90]"}
    assert (frame["age"].astype(str) == true).all() == (role is not Role.SENSITIVE)


def test_the_table_is_not_changed():
    table = a_table()
    before = table.frame.copy(deep=True)
    frame = release(a_document(), table)
    assert frame is not table.frame
    pd.testing.assert_frame_equal(table.frame, before)


def test_a_table_of_identifying_columns_only_is_refused():
    document = Document(
        columns=(ColumnSpec("person", Role.IDENTIFYING),), recipients=(Recipient("A"),)
    )
    table = Table(pd.DataFrame({"person": ["a"]}))
    with pytest.raises(TableError, match="nothing to release"):
        release(document, table)


def test_missing_is_released_like_any_value_where_it_is_one():
    spec = ColumnSpec("illness", Role.SENSITIVE, domain=Domain((*ILLNESSES, None)))
    frame = release(a_document().with_column(spec), a_table())
    assert 0 < frame["illness"].isna().sum() < ROWS / 4


def test_the_domain_that_the_rows_suggest_stands_in_the_material():
    spec = ColumnSpec("illness", Role.SENSITIVE)
    material = material_of(a_document().with_column(spec), a_table())
    assert material.document.column("illness").domain == Domain(ILLNESSES)


def test_a_record_key_lets_rows_change_places():
    document = a_document(record_key="person")
    table = a_table()
    shuffled = table.frame.iloc[::-1].reset_index(drop=True)
    one = release(document, table)
    other = release(document, Table(shuffled))
    assert list(one["illness"]) == list(other["illness"])[::-1]
    without = release(a_document(), Table(shuffled))
    assert list(without["illness"]) != list(other["illness"])


def test_labels_of_dropped_and_of_binned_columns_are_not_released():
    document, table = a_document(), a_table()
    labelled = Table(
        table.frame,
        {**table.value_labels, "age": {0: "newborn"}, "illness": {"flu": "as the file says"}},
        table.column_labels,
    )
    named = Domain(ILLNESSES, {"flu": "Influenza"})
    document = document.with_column(ColumnSpec("illness", Role.SENSITIVE, domain=named))
    released = released_table(document, labelled, release(document, labelled))
    assert released.value_labels == {
        "smoker": {True: "Yes", False: "No"},
        "illness": {"flu": "Influenza"},
    }
    assert released.column_labels == {"age": "Age in years"}


@pytest.mark.parametrize(
    "change",
    [
        {"record_key": "person"},
        {"domain": Domain(("asthma", "cold", "gout", "flu"))},
        {"domain": Domain((*ILLNESSES, "measles"))},
    ],
)
def test_what_makes_another_ladder_has_another_identity(change):
    document, table = a_document(), a_table()
    before = ladder_of(document, document.policy[0], attributes_of(document, table))
    if "domain" in change:
        document = document.with_column(ColumnSpec("illness", Role.SENSITIVE, **change))
    else:
        document = replace(document, **change)
    after = ladder_of(document, document.policy[0], attributes_of(document, table))
    assert before != after


def test_other_bins_with_the_same_labels_are_another_ladder():
    table, identities = a_table(), set()
    for edge in (30, 40):
        spec = ColumnSpec(
            "age",
            Role.SENSITIVE,
            Kind.NUMERIC,
            binning=Binning((0, edge, 90), ("young", "old")),
        )
        document = a_document(policy=(PolicyEntry(("age",), "uniform"),)).with_column(spec)
        document = document.with_column(ColumnSpec("illness", Role.IDENTIFYING))
        identities.add(ladder_of(document, document.policy[0], attributes_of(document, table)))
    assert len(identities) == 2


def test_labels_and_other_recipients_leave_the_ladder_as_it_is():
    document, table = a_document(), a_table()
    before = ladder_of(document, document.policy[0], attributes_of(document, table))
    labelled = Domain(ILLNESSES, {"flu": "Influenza"})
    document = document.with_column(ColumnSpec("illness", Role.SENSITIVE, domain=labelled))
    document = replace(document, title="Other", recipients=())
    assert ladder_of(document, document.policy[0], attributes_of(document, table)) == before


def test_a_plan_survives_being_written_down():
    document, table = a_document(), a_table()
    (plan,) = plan_release(document, attributes_of(document, table), document.recipients[0])
    assert EntryPlan.from_dict(plan.to_dict()) == plan
    assert plan.key == "illness"


@settings(deadline=None, max_examples=tried(10))
@given(st.lists(st.floats(0.05, 0.95), min_size=2, max_size=2).map(sorted))
def test_two_recipients_of_one_project_hold_releases_of_one_ladder(levels):
    document, table = a_document(), a_table(3000)
    material = material_of(document, table)
    released = []
    for level in levels:
        recipient = Recipient("A", {"illness": {"retention_probability": level}})
        plans = plan_release(document, material.attributes, recipient)
        assert plans[0].level == level
        rows = rows_of(material, KEYS)
        frame = release_whole(plan_for(material, plans, "A"), KEYS, rows)
        released.append(Released(level, {"illness": frame["illness"]}))
    attributes = (material.attributes["illness"],)
    lower, upper = released
    checks = mechanism_called("uniform").check_pair(upper, lower, attributes, {})
    assert all(check.holds for check in checks)
