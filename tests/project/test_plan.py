"""A plan is all of a release but the key and the rows: it can be kept, sent and carried out."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.entry_plan import plan_release
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.plan import Plan
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import material_of, plan_for
from tests.in_batches import in_batches
from tests.project import test_attacker
from tests.project.adopting import settled, ward
from tests.project.verifying import a_table, new_project
from tests.project.whole_table import release_whole, rows_of

SECRET = bytes(range(32))
KEYS = KeyRing(SECRET)


def planned(document, table):
    material = material_of(document, table)
    entries = plan_release(material.document, material.attributes, document.recipients[0])
    return material, plan_for(material, entries, document.recipients[0].name)


@pytest.mark.parametrize(
    ("document", "table"),
    [
        (settled(record_key="person"), ward()),
        (test_attacker.document("reconstruction"), test_attacker.crowd(400)),
    ],
)
def test_a_plan_comes_back_from_json_and_releases_the_same(document, table):
    material, plan = planned(document, table)
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert again.to_json() == plan.to_json()
    rows = rows_of(material, KEYS)
    frames = [release_whole(each, KEYS, rows, "some release") for each in (plan, again)]
    pd.testing.assert_frame_equal(*frames)


def test_a_plan_names_the_groups_of_mechanisms_that_need_them():
    _, plan = planned(test_attacker.document("reconstruction"), test_attacker.crowd(400))
    assert plan.groups == {"illness": ("town", "age")}
    assert plan.others_count


def test_a_plan_holds_no_key_and_no_row_and_says_its_version():
    table = ward()
    _, plan = planned(settled(record_key="person"), table)
    text = plan.to_json()
    assert SECRET.hex() not in text
    assert not any(person in text for person in table.frame["person"].head(50))
    assert SECRET.hex() not in repr(plan.bind(KEYS))
    plain = json.loads(text)
    assert plain["version"] == 1
    with pytest.raises(PolicyError, match="version 2"):
        Plan.from_json(json.dumps({**plain, "version": 2}))


def test_a_table_released_in_parts_is_the_whole_where_rows_stand_alone():
    document, table = settled(record_key="person"), ward()
    material, plan = planned(document, table)
    assert not plan.others_count
    whole = release_whole(plan, KEYS, rows_of(material, KEYS))
    parts = []
    for start, end in ((0, 700), (700, 701), (701, table.rows)):
        part = Table(table.frame.iloc[start:end])
        rows = rows_of(material_of(material.document, part), KEYS)
        parts.append(release_whole(plan, KEYS, rows))
    pd.testing.assert_frame_equal(pd.concat(parts), whole)


def test_what_all_recipients_share_is_computed_once(tmp_path, monkeypatch):
    told, real = [], BatchedTable.read

    def read(table, names, text, context):
        told.append(text)
        return real(table, names, text, context)

    monkeypatch.setattr(BatchedTable, "read", read)
    with new_project(tmp_path) as project:
        table = a_table()
        prepared = PreparedTable(project, in_batches(table))
        for name in ("Institute B", "Public C"):
            make_release(
                *(project, in_batches(table), name, tmp_path / "out", "csv", Silent()),
                prepared=prepared,
            )
        assert sorted(told) == ["Looking at the rows", *["Releasing the rows"] * 2]
        assert [record.recipient for record in project.releases] == ["Institute B", "Public C"]
