"""What may stand beside the releases already made, and what may not."""

from __future__ import annotations

import errno
import os
from dataclasses import replace

import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.errors import LadderError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import CannotWrite
from sfumato.project import recovery
from sfumato.project.document.model import Recipient
from sfumato.project.errors import SourceChanged
from sfumato.project.ledger import ReleaseState
from sfumato.project.release.release import make_release
from tests.project.making import (
    ILLNESSES,
    document,
    new_project,
    table,
)
from tests.row_order import in_table_order


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as opened:
        yield opened


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def release(project, out, recipient="Clinic A", given=None, **options):
    return make_release(project, given or table(), recipient, out, "csv", Silent(), **options)


def released_csv(outcome):
    return pd.read_csv(outcome.path / "data.csv")


def test_releases_at_several_levels_sit_on_one_ladder(project, out):
    release(project, out, "Clinic A")
    release(project, out, "Institute B")
    ladders = {plan.ladder for record in project.releases for plan in record.plans}
    assert len(ladders) == 1


def with_domain(*values):
    spec = ColumnSpec("illness", Role.SENSITIVE, domain=Domain(values))
    return document().with_column(spec)


def test_a_domain_that_changed_since_a_release_is_refused(project, out):
    release(project, out)
    project.save_document(with_domain(*ILLNESSES, "measles"))
    with pytest.raises(LadderError, match="its domain changed") as caught:
        release(project, out, "Institute B")
    assert "Clinic A" in str(caught.value)
    assert "2026-11-20" in str(caught.value)
    assert "Restore it" in caught.value.remedy
    project.save_document(document())
    assert release(project, out, "Institute B").record.state is ReleaseState.COMPLETED


def test_another_record_key_since_a_release_is_refused(project, out):
    release(project, out)
    project.save_document(document(record_key="person"))
    with pytest.raises(LadderError, match="the record key person instead of their position"):
        release(project, out)


def test_an_abandoned_release_binds_nobody(project, out, monkeypatch):
    def refuse(staged, target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(recovery, "move_without_overwriting", refuse)
        with pytest.raises(CannotWrite):
            release(project, out)
    project.save_document(with_domain(*ILLNESSES, "measles"))
    assert release(project, out).record.state is ReleaseState.COMPLETED


def other_source(base):
    return replace(base, source=replace(base.source, digest="cd" * 32))


def test_records_told_apart_by_position_need_the_table_of_the_first_release(project, out):
    release(project, out)
    project.save_document(other_source(document()))
    with pytest.raises(SourceChanged, match="position") as caught:
        release(project, out, "Institute B")
    assert "record-key" in caught.value.remedy


def test_another_sheet_of_the_same_file_is_another_table(project, out):
    release(project, out)
    source = replace(document().source, options={"sheet": "Second"})
    project.save_document(replace(document(), source=source))
    with pytest.raises(SourceChanged):
        release(project, out, "Institute B")


def test_records_told_apart_by_a_key_may_come_in_a_new_edition(tmp_path, out):
    keyed = document(record_key="person")
    with new_project(tmp_path, keyed) as project:
        first = in_table_order(project, release(project, out).path, table())
        turned = Table(table().frame.iloc[::-1].reset_index(drop=True))
        project.save_document(other_source(keyed))
        second = in_table_order(project, release(project, out, given=turned).path, turned)
    assert second["illness"].tolist() == first["illness"].tolist()[::-1]


def test_a_repeated_record_key_stops_the_release(tmp_path, out):
    twice = table()
    frame = twice.frame.assign(person=["P"] * 12)
    with new_project(tmp_path, document(record_key="person")) as project:
        with pytest.raises(TableError, match="person"):
            release(project, out, given=Table(frame))
        assert project.releases == ()
    assert not out.exists()


def test_a_column_that_was_perturbed_is_not_shown_later(project, out):
    release(project, out)
    shown = document().with_column(ColumnSpec("illness", Role.INSENSITIVE))
    shown = replace(shown, policy=(), recipients=(Recipient("Clinic A"),))
    project.save_document(shown)
    with pytest.raises(LadderError, match="illness was perturbed for Clinic A") as caught:
        release(project, out)
    assert "reason" in caught.value.remedy


def test_a_column_that_was_shown_is_not_said_to_be_hidden_later(tmp_path, out):
    shown = document().with_column(ColumnSpec("illness", Role.INSENSITIVE))
    with new_project(tmp_path, replace(shown, policy=())) as project:
        release(project, out)
        project.save_document(document())
        with pytest.raises(LadderError, match="hides nothing"):
            release(project, out)


def test_the_ledger_keeps_the_reason_of_an_override(tmp_path, out):
    shown = document().with_column(ColumnSpec("illness", Role.INSENSITIVE))
    with new_project(tmp_path, replace(shown, policy=())) as project:
        release(project, out)
        project.save_document(document())
        release(project, out, override=" the board agreed ")
        entry = project.ledger.entries[-3]
    assert entry.kind == "override"
    assert entry.details["reason"] == "the board agreed"
    assert list(entry.details["overridden"]) == ["illness"]
