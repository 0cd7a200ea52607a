"""A generalized table of a table that is too long for memory is published in parts."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256

import pandas as pd
import pytest

from sfumato.analysis.other_holders.composition import beside_others
from sfumato.analysis.tables.generalized_table import look
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import Cancelled, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.publication import rank
from sfumato.engine.randomness.keys import sample_rows
from sfumato.formats.reading import detect_options
from sfumato.project.document.generalization import (
    CriterionChoice,
    Generalization,
    OtherTableFile,
    PopulationFile,
)
from sfumato.project.document.model import Unit
from sfumato.project.publication import prepared, publish
from sfumato.project.publication.generalization_pipeline import chosen_node, find
from sfumato.project.publication.publish import publish_table
from sfumato.project.release import batched_views, bucket_counts
from sfumato.project.verification.found import verify_file
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.test_long_release import frame_of, long_of, whole_of

ward, small_parts = test_long_release.ward, test_long_release.small_parts

K = CriterionChoice("k-anonymity", {"k": 4})
DIVERSE = CriterionChoice("distinct-diversity", {"l": 2})
CLOSE = CriterionChoice("closeness", {"t": 0.45})


def generalizing(*criteria, unit=None, **decided):
    """Decide on a generalized table in the place of releases."""

    def change(document):
        found = Generalization("illness", ("age", "zip", "grade"), criteria or (K, DIVERSE))
        columns = document.columns
        if unit is not None:
            columns += (ColumnSpec("house", Role.IDENTIFYING, "text"),)
        document = replace(document, columns=columns, policy=(), recipients=(), unit=unit)
        return replace(document, generalization=replace(found, **decided))

    return change


def with_houses(frame):
    return frame.assign(house=[f"H{i // 3}" for i in range(len(frame))])


def published(project, table, folder, format_name="csv", **options):
    made = publish_table(project, in_batches(table), folder, format_name, Silent(), **options)
    return {path.name: path.read_bytes() for path in made.path.iterdir()}, made


def both(project, folder, format_name="csv", **options):
    """The bundle made of the table in memory, and the one made in parts."""
    whole, first = published(project, whole_of(project), folder / "whole", format_name, **options)
    parts, second = published(project, long_of(project), folder / "parts", format_name, **options)
    assert first.record.digest == second.record.digest
    told = [json.loads(json.dumps(each.record.details)) for each in (first, second)]
    risks = [each.pop("risk") for each in told]
    for when in ("before", "after"):  # sums of floats may differ in their last digit
        assert risks[0].pop(when) == pytest.approx(risks[1].pop(when), rel=1e-12)
    assert risks[0] == risks[1]
    for name in ("open_columns", "generalization", "alone"):
        assert told[0][name] == told[1][name]
    return whole, parts, first.record, second.path


def leave_some_out(project):
    """Choose levels at which some records stand out, where that is allowed."""
    decided = project.document.generalization
    found = find(project.document, in_batches(whole_of(project)), Silent())
    ranked = rank(
        found.prepared.coded, found.searched.result.safe_nodes(), found.prepared.criteria, Silent()
    )
    chosen = [each.node for each in ranked if each.loss.suppressed]
    if decided.suppression:
        decided = replace(decided, node=chosen[0])
        project.save_document(replace(project.document, generalization=decided))


def other_table(folder, frame):
    path = folder / "registry.csv"
    frame[["grade", "illness"]].to_csv(path, index=False)
    digest = sha256(path.read_bytes()).hexdigest()
    options = detect_options(path).to_dict()
    return OtherTableFile("Registry", str(path), digest, options, ("grade",), "illness")


STARRED = Suppressed.STARRED
CASES = {
    "nobody left out": generalizing(),
    "left out": generalizing(suppression=0.2),
    "starred": generalizing(K, suppression=0.2, suppressed=STARRED),
    "frequencies": generalizing(K, CLOSE, suppression=0.1),
    "sampled": generalizing(sampling_fraction=0.1),
}


@pytest.mark.turns(4)
@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("format_name", ["parquet", "csv"])
@pytest.mark.parametrize("case", CASES)
def test_a_table_published_in_parts_is_that_of_the_whole_table(
    ward, tmp_path, case, format_name, ending
):
    with ward(frame_of(), CASES[case], ending) as project:
        leave_some_out(project)
        whole, parts, record, path = both(project, tmp_path, format_name)
        told = [
            verify_file(project, in_batches(t(project)), path, Silent())
            for t in (whole_of, long_of)
        ]
    assert parts == whole
    gone = record.details["generalization"]["suppressed_rows"]
    assert bool(gone) == (case in {"left out", "starred", "frequencies"})
    for each in told:
        assert each.holds, each.failed
        assert [str(check.title) for check in each.checks][-2:] == ["Promises", "Table"]
    assert [str(c.finding) for c in told[0].checks] == [str(c.finding) for c in told[1].checks]


@pytest.mark.slow
@pytest.mark.parametrize("format_name", ["sav", "dta"])
def test_files_that_are_made_in_memory_hold_the_published_rows(ward, tmp_path, format_name):
    frame = frame_of().assign(far=lambda f: f["far"].replace(float("inf"), 7.0))
    with ward(frame, generalizing(suppression=0.2)) as made:
        _, outcome = published(made, whole_of(made), tmp_path / "out", format_name)
        report = verify_file(made, in_batches(whole_of(made)), outcome.path, Silent())
    assert report.holds, report.failed


@pytest.mark.slow
def test_rows_may_leave_as_they_stand_in_the_table(ward, tmp_path):
    def change(document):
        document = generalizing(suppression=0.2)(document)
        return replace(document, rows_as_in_table="The register is public.")

    with ward(frame_of(), change) as project:
        whole, parts, _, _ = both(project, tmp_path)
    assert parts == whole


@pytest.mark.slow
@pytest.mark.parametrize("suppressed", Suppressed)
def test_units_are_counted_in_parts_as_in_memory(ward, tmp_path, suppressed):
    change = generalizing(K, unit=Unit(("house",), 2), suppression=0.3, suppressed=suppressed)
    with ward(with_houses(frame_of()), change) as project:
        whole, parts, record, path = both(project, tmp_path)
        report = verify_file(project, long_of(project), path, Silent())
        shown = pd.read_csv(path / "data.csv", dtype=str, keep_default_na=False)
    assert parts == whole
    assert report.holds, report.failed
    assert "counted in records only" not in " ".join(str(c.finding) for c in report.checks)
    assert record.details["risk"]["after"]["smallest"] >= 4
    assert shown.groupby(["age", "zip", "grade"]).size().min() >= 4


@pytest.mark.slow
def test_beside_other_tables_and_in_a_population_it_is_the_same(ward, tmp_path):
    frame = frame_of()
    other = other_table(tmp_path, frame)
    path = tmp_path / "people.csv"
    pd.concat([frame, frame])[["age", "zip", "grade"]].to_csv(path, index=False)
    digest, options = sha256(path.read_bytes()).hexdigest(), detect_options(path).to_dict()
    pairs = tuple((name, name) for name in ("age", "zip", "grade"))
    people = PopulationFile(str(path), digest, options, pairs)
    with ward(frame, generalizing(others=(other,), population=people)) as project:
        whole, parts, record, _ = both(project, tmp_path)
        left = [
            beside_others(
                project.document, in_batches(t(project)), True, 2, "ours", Silent()
            ).standing
            for t in (whole_of, long_of)
        ]
    assert parts == whole
    assert record.details["risk"]["people"] == 2 * len(frame)
    assert left[0] == left[1]


@pytest.mark.slow
def test_what_is_shown_of_a_long_table_is_what_is_shown_in_memory(ward):
    with ward(frame_of(), generalizing(suppression=0.2)) as project:
        seen = []
        for table in (whole_of(project), long_of(project)):
            found = find(project.document, in_batches(table), Silent())
            node = chosen_node(project.document, found.searched)
            seen.append(look(project.document, found.searched, node, None, Silent()))
    whole, parts = seen
    assert parts.check == whole.check
    assert parts.check.holds
    assert parts.risks == whole.risks
    assert (parts.alone, parts.left_out) == (whole.alone, whole.left_out)
    assert parts.distinct == whole.distinct
    assert whole.distinct["age"][0] == frame_of()["age"].nunique()
    rows = sample_rows(len(whole.after), len(parts.after))
    for shown, every in ((parts.after, whole.after), (parts.before, whole.before)):
        assert 0 < len(shown) < len(every)
        drawn = every.iloc[rows].reset_index(drop=True)
        pd.testing.assert_frame_equal(shown.astype(object), drawn.astype(object))
    assert whole.after["age"].isna().sum() > 0


@pytest.mark.slow
@pytest.mark.turns(1)
def test_too_many_rows_that_differ_are_refused_in_parts_with_what_to_do(ward, monkeypatch):
    monkeypatch.setattr(batched_views, "MOST_APART", 100)
    with ward(frame_of(), generalizing()) as project:
        with pytest.raises(TableError, match="more than 100 different combinations") as raised:
            find(project.document, long_of(project), Silent())
        assert "bins" in raised.value.remedy
        assert find(project.document, in_batches(whole_of(project)), Silent()).searched is not None


@pytest.mark.slow
@pytest.mark.turns(1)
def test_rows_that_break_a_promise_are_not_published(ward, tmp_path, monkeypatch):
    checked = prepared.PromisedRows.checked

    def broken(self, by_unit=True):
        found = checked(self, by_unit)
        return replace(found, criteria=tuple(replace(c, holds=False) for c in found.criteria))

    monkeypatch.setattr(prepared.PromisedRows, "checked", broken)
    with ward(frame_of(), generalizing()) as project:
        with pytest.raises(Exception, match="does not keep what was asked"):
            published(project, long_of(project), tmp_path / "out")
        assert not (tmp_path / "out").exists()
        assert project.releases == ()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_publication_that_is_cancelled_leaves_nothing(ward, tmp_path):
    seen = []
    context = Callback(lambda share, _: seen.append(share), lambda: bool(seen) and seen[-1] > 0.6)
    with ward(frame_of(), generalizing()) as project:
        with pytest.raises(Cancelled):
            publish_table(project, long_of(project), tmp_path / "out", "csv", context)
        assert project.releases == ()
        assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_an_altered_row_and_missing_rows_are_found_in_parts(ward, tmp_path):
    with ward(frame_of(), generalizing()) as project:
        _, made = published(project, long_of(project), tmp_path / "out")
        data = made.path / "data.csv"
        header, *rows = data.read_bytes().split(b"\r\n")
        for altered, said in (
            ([rows[0].replace(rows[0].split(b",")[0], b'"0-9"'), *rows[1:]], "not those published"),
            (rows[20:], "those that were published, but not all of them"),
        ):
            data.write_bytes(b"\r\n".join([header, *altered]))
            report = verify_file(project, long_of(project), made.path, Silent())
            findings = {str(check.title): str(check.finding) for check in report.failed}
            assert said in findings["Table"]


@pytest.mark.slow
def test_a_repeated_record_key_is_refused(ward, tmp_path):
    frame = frame_of()
    frame.loc[7, "person"] = frame.loc[3, "person"]
    with ward(frame, generalizing()) as project, pytest.raises(TableError, match="person"):
        published(project, long_of(project), tmp_path / "out")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_no_value_lies_in_temporary_files(ward, tmp_path, monkeypatch):
    put = []
    add = bucket_counts.Buckets.add

    def noted(self, batch, numbers):
        put.append(batch.schema.names)
        add(self, batch, numbers)

    monkeypatch.setattr(bucket_counts.Buckets, "add", noted)
    with ward(with_houses(frame_of()), generalizing(K, unit=Unit(("house",), 3))) as project:
        found = find(project.document, long_of(project), Silent())
        node = chosen_node(project.document, found.searched)
        made = publish.published_rows(found.searched.prepared, node)
        prepared.counted_rows(made, Silent())
    assert put
    assert {name for names in put for name in names} <= {"mark", "unit", "row"}
