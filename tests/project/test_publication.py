"""Publishing a generalized table beside a project's other releases."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

from sfumato.engine.core.errors import DiversityError, LadderError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Suppression
from sfumato.formats.bundles.reading import read_bundle
from sfumato.project.document.generalization import CriterionChoice
from sfumato.project.ledger import EntryKind, ReleaseRecord
from sfumato.project.publication.publish import publish_table
from sfumato.project.recovery import no_step
from sfumato.project.release.release import make_release
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project.test_generalizing import decided
from tests.project.verifying import SECRETS, a_table, edit, failed, new_project


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path, decided()) as made:
        yield made


def published(project, folder, format_name="csv", **options):
    return publish_table(
        project, in_batches(a_table()), folder, format_name, Silent(), **options
    ).path


def verified(project, path):
    report = verify_bundle(project, in_batches(a_table()), path, Silent())
    for check in report.checks:
        assert not any(secret in check.finding for secret in SECRETS[:-1] if len(secret) > 3)
    return report


@pytest.mark.few(2)
@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
def test_a_publication_is_verified_in_every_format(project, tmp_path, format_name):
    path = published(project, tmp_path / "out", format_name)
    report = verified(project, path)
    assert report.holds, report.failed
    assert [check.title for check in report.checks][-2:] == ["Promises", "Table"]
    assert report.recipient == "the public"


def test_the_bundle_holds_coarser_values_hierarchies_and_what_is_promised(project, tmp_path):
    path = published(project, tmp_path / "out")
    frame = pd.read_csv(path / "data.csv", dtype=str)
    assert list(frame.columns) == ["age", "illness", "zip", "income"]
    assert frame.groupby(["age", "zip"]).size().min() >= 5
    package = json.loads((path / "datapackage.json").read_text())
    facts = package["sfumato"]["generalized"]
    assert facts["sensitive"] == "illness"
    assert set(facts["levels"]) == {"age", "zip"}
    rows = (path / "hierarchy-1.csv").read_text().splitlines()
    assert {row.split(";")[0] for row in rows} == set(frame["age"])
    readme = (path / "README.md").read_text()
    assert (
        "Everybody shares their values in the generalized columns with at least 4 others." in readme
    )
    assert "person" not in frame.columns
    assert "work" not in frame.columns


def test_a_zip_holds_the_same_files(project, tmp_path):
    folder = read_bundle(published(project, tmp_path / "a"))
    zipped = read_bundle(published(project, tmp_path / "b", as_zip=True))
    assert folder.digest == zipped.digest
    assert "hierarchy-1.csv" in zipped.files


def test_publishing_after_a_perturbed_release_is_refused(project, tmp_path):
    make_release(project, in_batches(a_table()), "Clinic A", tmp_path / "out", "csv", Silent())
    with pytest.raises(LadderError, match=r"perturbed for Clinic A .* true"):
        published(project, tmp_path / "out")
    assert not any(release.is_publication for release in project.releases)


def test_perturbing_after_a_publication_is_refused(project, tmp_path):
    published(project, tmp_path / "out")
    with pytest.raises(LadderError, match="generalized table"):
        make_release(project, in_batches(a_table()), "Clinic A", tmp_path / "out", "csv", Silent())


def test_an_override_is_recorded_with_its_reason(project, tmp_path):
    make_release(project, in_batches(a_table()), "Clinic A", tmp_path / "out", "csv", Silent())
    published(project, tmp_path / "out", override="The clinic returned its copy")
    (entry,) = [e for e in project.ledger.entries if e.kind == EntryKind.OVERRIDE]
    assert entry.details["reason"] == "The clinic returned its copy"
    assert set(entry.details["overridden"]) >= {"illness"}


def test_a_second_table_with_incomparable_levels_is_refused(project, tmp_path):
    published(project, tmp_path / "out")
    (record,) = project.releases
    levels = record.details["generalization"]["levels"]
    heights = [1, 1]
    other = (levels[0] + heights[0], max(levels[1] - 1, 0)) if levels[1] else None
    if other is None:
        other = (max(levels[0] - 1, 0), levels[1] + 1)
    document = project.document
    project.save_document(
        replace(document, generalization=replace(document.generalization, node=other))
    )
    with pytest.raises((LadderError, DiversityError)):
        published(project, tmp_path / "again")
    assert len(project.releases) == 1


def test_a_coarser_table_may_follow(project, tmp_path):
    published(project, tmp_path / "out")
    levels = project.releases[0].details["generalization"]["levels"]
    coarser = (levels[0] + 1, levels[1])
    document = project.document
    project.save_document(
        replace(document, generalization=replace(document.generalization, node=coarser))
    )
    assert verified(project, published(project, tmp_path / "again")).holds


@pytest.mark.slow
@pytest.mark.turns(1)
def test_another_edition_is_published_for_a_reason_only(tmp_path):
    """What one person's coming adds to a class is that person's value."""
    document = replace(decided(), record_key="person")
    with new_project(tmp_path, document) as project:
        published(project, tmp_path / "out")
        source = replace(document.source, digest="cd" * 32, rows=899)
        project.save_document(replace(document, source=source))
        options = "csv", Silent()
        with pytest.raises(LadderError, match="people who came, left or changed"):
            publish_table(project, in_batches(a_table(899)), tmp_path / "next", *options)
        made = publish_table(
            project, in_batches(a_table(899)), tmp_path / "next", *options, override="Agreed"
        )
    assert "contradicts this one" in (made.path / "README.md").read_text(encoding="utf-8")


def test_an_altered_row_is_found(project, tmp_path):
    path = published(project, tmp_path / "out")
    edit(path, lambda rows: [rows[0].replace("flu", "gout").replace("cold", "gout"), *rows[1:]])
    edit(path, lambda rows: [rows[1], rows[0], *rows[2:]])
    found = failed(verified(project, path))
    assert "Files" in found


def test_rows_in_another_order_are_told_from_altered_ones(project, tmp_path):
    path = published(project, tmp_path / "out")
    edit(path, lambda rows: [*rows[450:], *rows[:450]])
    assert "in another order" in failed(verified(project, path))["Table"]


def test_a_hierarchy_that_changed_since_changes_nothing(project, tmp_path):
    path = published(project, tmp_path / "out")
    project.save_document(project.document.with_hierarchy("zip", Suppression()))
    assert failed(verified(project, path)) == {}


def test_a_hierarchy_that_changed_is_named_where_the_ledger_keeps_no_policy(
    project, tmp_path, monkeypatch
):
    path = published(project, tmp_path / "out")
    monkeypatch.setattr(ReleaseRecord, "policy", None)
    project.save_document(project.document.with_hierarchy("zip", Suppression()))
    assert "hierarchy" in failed(verified(project, path))["Table"]


@pytest.mark.few(1)
@pytest.mark.parametrize("step", ["planned", "computed", "noted", "staged", "written", "synced"])
def test_a_publication_that_breaks_off_leaves_nothing(project, tmp_path, step):
    class Broken(Exception):
        pass

    def at_step(name):
        if name == step:
            raise Broken

    with pytest.raises(Broken):
        published(project, tmp_path / "out", at_step=at_step)
    assert project.releases == ()
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
    assert published(project, tmp_path / "out", at_step=no_step).exists()


def test_an_impossible_l_is_refused_before_any_file(project, tmp_path):
    asked = (CriterionChoice("distinct-diversity", {"l": 9}),)
    document = project.document
    project.save_document(
        replace(document, generalization=replace(document.generalization, criteria=asked))
    )
    with pytest.raises(DiversityError, match="l is 9, and 4"):
        published(project, tmp_path / "out")
    assert not (tmp_path / "out").exists()
