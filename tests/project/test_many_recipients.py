"""What a check and a release cost does not grow with the recipients that they are not for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest

from sfumato.analysis.readiness import readiness, readiness_checks
from sfumato.analysis.readiness.readiness import checked_rows, examine, looked_at, settle
from sfumato.analysis.unperturbed.open_columns import answer_open_columns
from sfumato.engine.core.columns import Domain, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.categorical import CategoricalMechanism
from sfumato.formats import delimited_writing
from sfumato.project import ledger
from sfumato.project.document import entry_plan
from sfumato.project.document.entry_plan import plan_entry, planned_levels
from sfumato.project.document.model import PolicyEntry, TableSource
from sfumato.project.release import plan
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.release_compatibility import edition_sentences
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.batched import with_few_columns
from tests.project.making import new_project
from tests.project.test_long_release import frame_of, long_of, whole_of
from tests.ui.clinic import clinic_table, protected

ward, small_parts = test_long_release.ward, test_long_release.small_parts

REASON = "Nobody is in it."


def with_recipients(count, settle=lambda document: document):
    """State more recipients, each trusted a little less than the one before."""

    def change(document):
        document = settle(document)
        first = document.recipients[0]
        others = [
            replace(first, name=f"Office {place}", mark=place, note=f"number {place}")
            for place in range(count - 1)
        ]
        return replace(document, recipients=(first, *others), level_spacing=0.01)

    return change


def names_of(project):
    return [each.name for each in project.document.recipients]


@pytest.fixture
def counted(monkeypatch):
    """Count calls of a function or method, by name."""
    calls = Counter()

    def watch(owner, name):
        known = getattr(owner, name)

        def counting(*given, **named):
            calls[name] += 1
            return known(*given, **named)

        monkeypatch.setattr(owner, name, counting)
        return calls

    return watch


def test_planned_levels_are_those_of_the_plans(ward):
    with ward(frame_of(), with_recipients(4)) as project:
        document, attributes = project.document, attributes_of(project.document, whole_of(project))
        lacking = replace(document.recipients[1], statements={})
        document = replace(document, recipients=(*document.recipients, lacking))
        for entry in document.policy:
            wanted = [
                plan_entry(document, entry, attributes, each).level
                for each in document.recipients[:-1]
            ]
            assert planned_levels(document, entry, attributes) == wanted


@pytest.mark.slow
@pytest.mark.turns(1)
def test_levels_are_planned_for_everybody_only_beside_another_edition(ward, tmp_path, counted):
    calls = counted(entry_plan, "_planned_level")
    with ward(frame_of(), with_recipients(4)) as project:
        table = whole_of(project)
        attributes = attributes_of(project.document, table)
        given = project, in_batches(table), "Clinic A", tmp_path / "out", "csv", Silent()
        record = make_release(*given).record
        calls.clear()
        assert not edition_sentences(project.document, attributes, [record])
        assert not calls
        other = replace(record, source=replace(record.source, digest="another"))
        assert "from 2 editions" in edition_sentences(project.document, attributes, [other])[0]
        assert calls["_planned_level"] == 4 * len(project.document.policy)


def test_what_editions_tell_of_several_attributes_alike_is_told_once(tmp_path):
    table = clinic_table(60)
    source = TableSource("/data/clinic.csv", "ab" * 32, table.rows)
    document = protected({"Clinic A": 0.5}, source=source, record_key="name")
    columns = tuple(
        replace(one, role=Role.SENSITIVE, domain=Domain(("east", "north", "south", "west")))
        if one.name == "ward"
        else one
        for one in document.columns
    )
    policy = (*document.policy, PolicyEntry(("ward",), "uniform"))
    (person,) = document.recipients
    level = {"retention_probability": 0.5}
    person = replace(person, statements={"disease": level, "ward": level})
    document = replace(document, columns=columns, policy=policy, recipients=(person,))
    with new_project(tmp_path, document) as project:
        attributes = attributes_of(document, table)
        record = make_release(
            project, in_batches(table), "Clinic A", tmp_path / "out", "csv", Silent()
        ).record
    other = replace(record, source=replace(record.source, digest="another"))
    (told,) = edition_sentences(document, attributes, [other])
    assert told.startswith("disease and ward are released from 2 editions of the table. ")
    assert told.count("editions of the table") == 1


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_check_of_twice_as_many_recipients_resolves_twice_as_many_levels(ward, counted):
    calls, found = counted(CategoricalMechanism, "level"), []
    for count in (3, 6):
        with ward(frame_of(), with_recipients(count, with_few_columns)) as project:
            given = looked_at(
                project.document, in_batches(whole_of(project)), project.keys, Silent()
            )
            calls.clear()
            examine(*given, (), Silent())
            found.append(calls["level"])
            project.path.unlink()
    assert 0 < found[1] <= 2 * found[0]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_earlier_releases_tell_is_found_once_for_all_recipients(ward, monkeypatch):
    told = []
    monkeypatch.setattr(
        readiness.BesideReleases, "of", classmethod(lambda _, *given: told.append(given) or BESIDE)
    )
    with ward(frame_of(), with_recipients(3, with_few_columns)) as project:
        given = looked_at(project.document, in_batches(whole_of(project)), project.keys, Silent())
        found = examine(*given, (), Silent())
    assert len(told) == 1
    for each in found:
        assert [one.sentence for one in each.findings if one.check == "Editions"] == ["two"]
        assert [one.columns for one in each.findings if one.check == "Released before"] == [
            ("sex",)
        ]


BESIDE = readiness.BesideReleases(("two",), {"sex": "told before"})


@pytest.mark.slow
def test_the_open_columns_of_one_recipient_are_told_as_among_all(ward):
    with ward(frame_of(), with_recipients(3)) as project:
        document, columns, known = looked_at(
            project.document, in_batches(whole_of(project)), project.keys, Silent()
        )
        every = answer_open_columns(document, columns, known, Silent())
        for each in document.recipients:
            alone = answer_open_columns(document, columns, known, Silent(), (each,))
            assert alone.for_recipient(each.name) == every.for_recipient(each.name) != ()
            assert {name for _, name in alone.figures} == {each.name}


@pytest.mark.few(1)
@pytest.mark.parametrize("table", [whole_of, long_of])
def test_a_release_examines_its_own_recipient_and_what_was_found_is_told_again(
    ward, monkeypatch, table
):
    seen = []
    first = readiness_checks.CHECKS_OF_ROWS[0]
    checks = (lambda examined: seen.append(examined.recipient.name) or first(examined),)
    monkeypatch.setattr(
        readiness, "CHECKS_OF_ROWS", (*checks, *readiness_checks.CHECKS_OF_ROWS[1:])
    )
    with ward(frame_of(), with_recipients(4, with_few_columns)) as project:
        given = project.document, in_batches(table(project)), project.keys
        whole = checked_rows(*given, None, Silent())
        assert seen == names_of(project)
        seen.clear()
        found = settle(project, in_batches(table(project)), ["Office 1"], REASON, Silent())
        assert [each.recipient for each in found] == ["Office 1"] == seen
        seen.clear()
        rows = checked_rows(*given, project.remembered, Silent(), ["Office 0", "Office 1"])
        assert seen == ["Office 0"]
        assert rows.findings.keys() == {"Office 0", "Office 1"}
        seen.clear()
        every = checked_rows(*given, project.remembered, Silent())
        assert seen == ["Clinic A", "Office 2"]
    assert every.findings == whole.findings


@pytest.mark.slow
def test_each_release_reads_its_policy_and_its_own_entries_alone(ward, tmp_path, counted):
    with ward(frame_of(), with_recipients(5)) as project:
        table = whole_of(project)
        calls = counted(ledger, "entry_of")
        counted(ledger, "_record")
        counted(ledger, "from_plain")
        made = []
        for name in names_of(project):
            calls.clear()
            make_release(project, in_batches(table), name, tmp_path / "out", "csv", Silent())
            made.append((calls["entry_of"], calls["_record"], calls["from_plain"]))
        records = project.releases
        assert [each.policy for each in records] == [project.document] * 5
        assert len({id(each.policy) for each in records}) == 1
    assert made[2:] == [made[-1]] * 3
    assert made[-1][1:] == (1, 0)


@pytest.mark.slow
def test_record_keys_are_hashed_once_for_several_recipients_and_the_bytes_stay(
    ward, tmp_path, monkeypatch
):
    hashed = Counter()
    known = plan.key_hashes

    def counting(column, *given):
        hashed["rows"] += len(column)
        return known(column, *given)

    monkeypatch.setattr(plan, "key_hashes", counting)

    def released(prepared, folder):
        hashed.clear()
        made = [
            make_release(
                project,
                in_batches(table),
                name,
                tmp_path / folder,
                "csv",
                Silent(),
                prepared=prepared,
            )
            for name in names_of(project)
        ]
        return [(each.path / "data.csv").read_bytes() for each in made], hashed["rows"]

    with ward(frame_of(), with_recipients(2)) as project:
        table, prepared = whole_of(project), PreparedTable(project, in_batches(whole_of(project)))
        apart, every_time = released(prepared, "apart")
        prepared.expect_several()
        together, once = released(prepared, "together")
    assert together == apart
    assert every_time - once >= table.rows


def awkward():
    """Texts, numbers, dates and missing values that are written in quotes, without, or not."""
    frame = frame_of()
    rows = len(frame)
    texts = ["plain", 'says "so"', "a,b", "two\r\nlines", "", None, "-1", "'=1"]
    frame["note"] = [texts[i % len(texts)] for i in range(rows)]
    frame["far"] = [None if i % 7 == 0 else 10.0 ** (i % 40 - 20) for i in range(rows)]
    frame["late"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(range(rows), unit="D")
    return frame


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "as_in_table"), [(frame_of, True), (awkward, False)], ids=["usual", "awkward"]
)
def test_columns_that_all_recipients_see_alike_are_written_as_text_once(
    ward, tmp_path, counted, monkeypatch, frame, as_in_table
):
    def change(document):
        reason = "It is sorted by nothing." if as_in_table else ""
        return replace(with_recipients(3)(document), rows_as_in_table=reason)

    def released(prepared, folder):
        made = [
            make_release(
                project,
                in_batches(table),
                name,
                tmp_path / folder,
                "csv",
                Silent(),
                prepared=prepared,
            )
            for name in names_of(project)
        ]
        return [(each.path / "data.csv").read_bytes() for each in made]

    with ward(frame(), change) as project:
        table = whole_of(project)
        apart = released(None, "apart")
        formatted = counted(delimited_writing._SharedLines, "_made")
        several = PreparedTable(project, in_batches(table))
        several.expect_several()
        assert released(several, "together") == apart
        assert formatted == {"_made": 1}
        assert all(several._texts.values())
        monkeypatch.setattr(delimited_writing, "_MOST_KEPT", 100)
        several = PreparedTable(project, in_batches(table))
        several.expect_several()
        assert released(several, "too large") == apart
    assert len({*apart}) == 3
