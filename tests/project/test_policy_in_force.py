"""A release is judged by the policy that was in force, whatever is decided after it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import PolicyEntry, canonical_json
from sfumato.project.errors import NotSealed
from sfumato.project.ledger import EntryKind, ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.verification.leak import trace_file
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, noon
from tests.project.tampering import change, rows
from tests.project.verifying import (
    a_document,
    a_table,
    failed,
    levels,
    new_project,
    release,
    verify,
)

NAMES = ("Clinic A", "Institute B", "Public C")


def other_bins(document):
    age = replace(document.column("age"), binning=Binning((20.0, 50.0, 81.0)))
    return document.with_column(age)


def no_bins(document):
    return document.with_column(replace(document.column("age"), binning=None))


def zip_dropped(document):
    return document.with_column(ColumnSpec("zip", Role.IDENTIFYING, Kind.TEXT))


def person_open(document):
    return document.with_column(ColumnSpec("person", Role.INSENSITIVE, Kind.TEXT))


def other_domain(document):
    illnesses = document.column("illness").domain.values
    wider = replace(document.column("illness"), domain=Domain((*illnesses, "measles")))
    return document.with_column(wider)


def other_role(document):
    recipients = tuple(
        replace(r, statements={"work": r.statements["work"]}) for r in document.recipients
    )
    illness = ColumnSpec("illness", Role.IDENTIFYING, Kind.TEXT)
    return replace(
        document.with_column(illness),
        policy=(PolicyEntry(("work",), "uniform"),),
        recipients=recipients,
    )


def nobody_left(document):
    return replace(document, policy=(), recipients=(), columns=())


CHANGES = (other_bins, no_bins, zip_dropped, person_open, other_domain, other_role, nobody_left)


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


def trace(project, frame):
    report = trace_file(
        project, in_batches(a_table()), Table(frame.reset_index(drop=True)), Silent()
    )
    return {report.name_of(suspect) for suspect in report.traced.sources}


def some_rows(path, count=80, seed=4):
    frame = pd.read_csv(path / "data.csv", dtype={"zip": str})
    return frame.iloc[np.random.default_rng(seed).permutation(len(frame))[:count]]


@pytest.mark.turns(4)
@pytest.mark.few(1)
@pytest.mark.parametrize("edited", CHANGES)
def test_an_untouched_bundle_holds_after_the_policy_has_changed(project, tmp_path, edited):
    paths = [release(project, tmp_path / "out", name) for name in NAMES]
    project.save_document(edited(project.document))
    for path, name in zip(paths, NAMES, strict=True):
        report = verify(project, path)
        assert failed(report) == {}
        assert report.recipient == name
        (told,) = [check.finding for check in report.checks if check.title == "Policy"]
        assert "which the ledger keeps" in told


def test_nothing_is_said_of_a_policy_that_is_as_it_was(project, tmp_path):
    path = release(project, tmp_path / "out")
    project.save_document(replace(project.document, title="Ward 8"))
    assert "Policy" not in {check.title for check in verify(project, path).checks}


@pytest.mark.turns(4)
@pytest.mark.few(1)
@pytest.mark.parametrize("edited", CHANGES)
def test_a_leak_is_traced_after_the_policy_has_changed(project, tmp_path, edited):
    for name in NAMES:
        path = release(project, tmp_path / "out", name)
    project.save_document(edited(project.document))
    assert trace(project, some_rows(path)) == {"Public C"}


@pytest.mark.slow
def test_releases_of_two_policies_are_told_apart_in_a_mixture(project, tmp_path):
    before = release(project, tmp_path / "out", "Institute B")
    project.save_document(zip_dropped(other_bins(project.document)))
    after = release(project, tmp_path / "later", "Public C")
    assert trace(project, some_rows(before)) == {"Institute B"}
    assert trace(project, some_rows(after)) == {"Public C"}
    mixed = pd.concat([some_rows(before, 150), some_rows(after, 90)])
    assert trace(project, mixed) == {"Institute B", "Public C"}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_column_that_a_release_lacks_and_another_has_may_have_been_added_to_it(project, tmp_path):
    release(project, tmp_path / "out", "Institute B")
    project.save_document(zip_dropped(project.document))
    path = release(project, tmp_path / "later", "Public C")
    added = some_rows(path, 200).assign(zip="00000")
    assert trace(project, added) == {"Public C"}


def test_a_file_altered_after_the_policy_has_changed_does_not_hold(project, tmp_path):
    path = release(project, tmp_path / "out")
    project.save_document(other_bins(project.document))
    data = path / "data.csv"
    data.write_bytes(data.read_bytes().replace(b'"[20, 40)"', b'"[40, 60)"', 1))
    assert {"Files", "Unperturbed columns"} <= failed(verify(project, path)).keys()


def test_the_ledger_keeps_a_policy_once(project, tmp_path):
    for name in NAMES:
        release(project, tmp_path / "out", name)
    prepared = [e for e in project.ledger.entries if e.kind == EntryKind.RELEASE_PREPARED]
    first, *others = prepared
    assert first.details["policy"]["columns"]
    assert [entry.details["policy"] for entry in others] == [first.number] * 2
    assert [record.policy for record in project.releases] == [a_document()] * 3
    project.save_document(zip_dropped(project.document))
    release(project, tmp_path / "later")
    assert project.releases[-1].policy == zip_dropped(a_document())


def test_a_policy_in_the_ledger_that_was_changed_is_refused(project, tmp_path):
    release(project, tmp_path / "out")
    project.close()
    (row,) = [row for row in rows(project.path, "ledger") if '"policy":{' in row[3]]
    plain = json.loads(row[3])
    plain["policy"]["columns"][0]["role"] = Role.INSENSITIVE.value
    change(
        project.path,
        ("UPDATE ledger SET details = ? WHERE number = ?", (canonical_json(plain), row[0])),
    )
    with pytest.raises(NotSealed):
        ProjectFile.open(project.path, PASSPHRASE, clock=noon)


def test_a_release_of_a_version_that_kept_no_policy_is_judged_by_todays(
    project, tmp_path, monkeypatch
):
    path = release(project, tmp_path / "out")
    monkeypatch.setattr(ReleaseRecord, "policy", None)
    assert verify(project, path).holds
    project.save_document(other_bins(project.document))
    assert set(failed(verify(project, path))) == {"Unperturbed columns"}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_levels_stay_those_of_the_release(project, tmp_path):
    path = release(project, tmp_path / "out", "Public C")
    lowered = tuple(replace(r, statements=levels(0.05, 0.2)) for r in project.document.recipients)
    project.save_document(replace(project.document, recipients=lowered))
    assert verify(project, path).holds
    assert trace(project, some_rows(path, 300)) == {"Public C"}
