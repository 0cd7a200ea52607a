"""Projects with adopted releases: the ledger, verifying, and files that move or change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import LadderError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.adoption.adopt import (
    check_not_released,
    holders_of,
    with_new_place,
    without_file,
)
from sfumato.project.errors import AdoptionError
from sfumato.project.ledger import EntryKind
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.leak import trace_file
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project import adopting as made
from tests.project.adopting import entry, files, released
from tests.project.making import new_project, reopened

TABLE = made.ward()


def adopted_project(tmp_path, *levels: float):
    paths = made.ladder_files(tmp_path, TABLE, *levels)
    told = [
        made.claim(p, level, holder=f"Old {level}") for p, level in zip(paths, levels, strict=True)
    ]
    return new_project(tmp_path, made.adopted(made.settled(), TABLE, *told)), paths


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_ledger_records_an_adoption_with_the_first_release_and_only_once(tmp_path):
    project, _ = adopted_project(tmp_path, 0.7, 0.2)
    with project:
        assert not any(e.kind == EntryKind.ADOPTED for e in project.ledger.entries)
        released(project, TABLE, tmp_path / "out", "Clinic A", "Institute B")
        kinds = [e.kind for e in project.ledger.entries]
        assert kinds[1:4] == [EntryKind.ADOPTED, EntryKind.ADOPTED, EntryKind.RELEASE_PREPARED]
        assert kinds.count(EntryKind.ADOPTED) == 2
        project.ledger.verify_chain()
        recorded = [e.details for e in project.ledger.entries if e.kind == EntryKind.ADOPTED]
    assert sorted(details["holder"] for details in recorded) == ["Old 0.2", "Old 0.7"]
    assert {details["attribute"] for details in recorded} == {"illness"}
    assert sorted(details["release"]["level"] for details in recorded) == [0.2, 0.7]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_releases_beside_adopted_ones_verify_and_are_examined_beside_them(tmp_path):
    project, _ = adopted_project(tmp_path, 0.7, 0.2)
    with project:
        outcome = make_release(
            project, in_batches(TABLE), "Clinic A", tmp_path / "out", "csv", Silent()
        )
        report = verify_bundle(project, in_batches(TABLE), outcome.path, Silent())
    assert [check.finding for check in report.failed] == []
    titles = [check.title for check in report.checks]
    assert "illness beside Old 0.7: Retained values" in titles
    assert "illness beside Old 0.2: Spread of released values" in titles


@pytest.mark.few(1)
@pytest.mark.parametrize("fate", ["gone", "changed"])
def test_without_the_adopted_file_nothing_is_released_and_nothing_lost(tmp_path, fate):
    project, (path, _) = adopted_project(tmp_path, 0.7, 0.2)
    kept = path.read_bytes()
    if fate == "gone":
        path.unlink()
    else:
        path.write_bytes(kept + b"P99999,flu\n")
    with project:
        before = project.ledger.entries
        message = {"gone": "is not at", "changed": "its contents changed"}[fate]
        with pytest.raises(AdoptionError, match=message):
            make_release(project, in_batches(TABLE), "Clinic A", tmp_path / "out", "csv", Silent())
        assert project.ledger.entries == before
        assert not (tmp_path / "out").exists()
        path.write_bytes(kept)
        assert released(project, TABLE, tmp_path / "out", "Clinic A")[0.6].shape == (made.ROWS,)


@pytest.mark.slow
def test_a_file_that_moved_is_shown_again_and_found_beside_the_project(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    paths = made.ladder_files(folder, TABLE, 0.7)
    document = made.adopted(made.settled(), TABLE, made.claim(paths[0], 0.7))
    with new_project(tmp_path, document) as project:
        first = released(project, TABLE, tmp_path / "out", "Clinic A")[0.6]
        moved = paths[0].rename(folder / "moved.csv")
        with pytest.raises(AdoptionError, match="is not at"):
            released(project, TABLE, tmp_path / "again", "Clinic A")
        digest = files(document)[0].digest
        found = with_new_place(document, "illness", digest, moved, Silent())
        project.save_document(found)
        assert (released(project, TABLE, tmp_path / "again", "Clinic A")[0.6] == first).all()
        project.save_document(document)
        moved.rename(tmp_path / paths[0].name)
        assert (released(project, TABLE, tmp_path / "third", "Clinic A")[0.6] == first).all()
        with pytest.raises(AdoptionError, match="not the file that was adopted"):
            with_new_place(document, "illness", digest, tmp_path / "ward.sfumato", Silent())


@pytest.mark.slow
@pytest.mark.turns(1)
def test_after_a_release_the_rungs_of_its_ladder_stay(tmp_path):
    project, _ = adopted_project(tmp_path, 0.7, 0.2)
    with project:
        released(project, TABLE, tmp_path / "out", "Clinic A")
        document = project.document
        changed = without_file(document, "illness", files(document)[0].digest)
        with pytest.raises(AdoptionError, match="was released from this project to Clinic A"):
            check_not_released(entry(document), entry(changed), project.releases)
        check_not_released(entry(document), entry(document), project.releases)
        project.save_document(changed)
        with pytest.raises(LadderError, match="made elsewhere were adopted"):
            make_release(
                project, in_batches(TABLE), "Institute B", tmp_path / "out", "csv", Silent()
            )


def test_a_table_matched_by_rows_must_stay_the_same_edition(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.7)
    document = made.adopted(made.settled(record_key="person"), TABLE, made.claim(path, 0.7))
    source = replace(document.source, digest="cd" * 32)
    with (
        new_project(tmp_path, replace(document, source=source)) as project,
        pytest.raises(AdoptionError, match="another edition"),
    ):
        make_release(project, in_batches(TABLE), "Clinic A", tmp_path / "out", "csv", Silent())
    assert not (tmp_path / "out").exists()


def test_adoptions_survive_saving_and_rules(tmp_path):
    project, _ = adopted_project(tmp_path, 0.7, 0.2)
    document = project.document
    with reopened(project) as again:
        assert again.document == document
    assert (
        apply_rules(rules_of(document), MemorySurvey(TABLE), made.settled()).policy
        == document.policy
    )


@pytest.mark.parametrize(
    "setting", ["text", [1], [{}], [{"level": 0.5, "digest": "ab", "file": "x", "columns": {}}]]
)
def test_settings_that_can_not_be_read_are_a_step_to_mend(setting):
    document = made.settled()
    broken = replace(document, policy=(replace(entry(document), settings={"adopted": setting}),))
    attributes = attributes_of(broken, TABLE)
    assert "can't be read" in " ".join(guarantee_of(broken, attributes).next_steps)
    with pytest.raises((PolicyError, AdoptionError)):
        holders_of(entry(broken))


@pytest.mark.slow
def test_a_leaked_part_of_an_adopted_file_is_traced_to_its_holder(tmp_path):
    """200 shuffled rows, with a column that tells beds apart."""
    beds = np.arange(made.ROWS) % 500
    table = Table(TABLE.frame.assign(bed=beds))
    document = made.settled()
    columns = (*document.columns, ColumnSpec("bed", Role.QUASI_IDENTIFIER, Kind.NUMERIC))
    document = replace(document, columns=columns)
    told = [
        made.claim(path, level, holder=f"Old {level}")
        for path, level in zip(
            made.ladder_files(tmp_path, table, 0.7, 0.2), (0.7, 0.2), strict=True
        )
    ]
    document = made.adopted(document, table, *told)
    with new_project(tmp_path, document) as project:
        released(project, table, tmp_path / "out", "Clinic A", "Institute B")
        for file in files(document):
            leaked = pd.read_csv(file.path).assign(bed=beds).drop(columns="person")
            part = leaked.sample(200, random_state=6).reset_index(drop=True)
            report = trace_file(project, in_batches(table), Table(part), Silent())
            assert {c.name for c in report.candidates} == {
                "Clinic A",
                "Institute B",
                "Old 0.7",
                "Old 0.2",
            }
            assert f"come from the release to {file.holder}." in report.verdict
