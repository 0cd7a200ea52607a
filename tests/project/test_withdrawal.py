"""A release that was wrong: the ledger says so for ever, and everything goes on counting it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.analysis.editions.since_release import since_releases
from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LadderError
from sfumato.engine.core.progress import Silent
from sfumato.project.errors import NotSealed, ReadOnlyProject, ReleaseError
from sfumato.project.ledger import EntryKind, EventSubject, events_in
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.verification.found import verify_file
from sfumato.project.withdrawal import release_called, still_counted, withdraw
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, new_project, noon, reopened, table
from tests.project.tampering import change

REASON = "It was made from the extract of last year."


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


def released(project, recipient="Clinic A", out="out", form="csv"):
    folder = project.path.parent / out
    return make_release(project, in_batches(table()), recipient, folder, form, Silent())


def test_a_withdrawn_release_stays_and_a_new_entry_has_reason_and_date(project):
    made = released(project)
    before = project.ledger.entries
    record = withdraw(project, made.record, f"  {REASON} ")
    assert project.ledger.entries[:-1] == before
    entry = project.ledger.entries[-1]
    assert (entry.kind, entry.details["withdrawn"]) == ("release withdrawn", made.record.number)
    assert entry.details["reason"] == REASON
    assert (record.withdrawn.number, record.withdrawn.reason) == (entry.number, REASON)
    assert str(record.withdrawn.day) == "2026-11-20"
    assert replace(record, withdrawn=None) == made.record
    project.ledger.verify_chain()


def test_what_is_withdrawn_is_named_where_it_counts(project):
    made = released(project)
    assert still_counted(project.releases) == ""
    withdraw(project, made.record, REASON)
    told = "Still counted: the release to Clinic A, withdrawn on 2026-11-20."
    assert still_counted(project.releases) == told


def test_a_withdrawn_release_goes_on_counting(project):
    made = released(project)
    assert withdraw(project, made.record, REASON).counts
    column = project.document.column("illness")
    fewer = replace(column, domain=Domain(column.domain.values[:3]))
    project.save_document(project.document.with_column(fewer))
    with pytest.raises(LadderError):
        released(project, out="next")


def test_a_release_is_withdrawn_once_for_a_reason_and_where_there_is_something(project):
    made = released(project)
    for empty in ("", "  \n"):
        with pytest.raises(ReleaseError, match="for a reason"):
            withdraw(project, made.record, empty)
    withdraw(project, made.record, REASON)
    with pytest.raises(ReleaseError, match="Clinic A was withdrawn on 2026-11-20 already"):
        withdraw(project, made.record, "again")
    assert [entry.kind for entry in project.ledger.entries].count("release withdrawn") == 1


def test_an_abandoned_release_is_not_withdrawn(project):
    record = released(project).record
    details = {"prepared": record.number, "reason": "its name was taken"}
    project.record(EntryKind.RELEASE_ABANDONED, details)
    with pytest.raises(ReleaseError, match="never finished"):
        withdraw(project, record, REASON)


def test_a_project_that_is_open_for_reading_withdraws_nothing(project):
    record = released(project).record
    with reopened(project, read_only=True) as reading, pytest.raises(ReadOnlyProject):
        withdraw(reading, record, REASON)


def test_a_release_is_named_by_its_entry_or_the_beginning_of_its_identifier(project):
    first, second = released(project).record, released(project, "Institute B").record
    again = released(project, form="parquet").record
    releases = project.releases
    assert release_called(releases, str(first.number)) == first
    assert release_called(releases, f" {second.release_id[:8].upper()} ") == second
    with pytest.raises(ReleaseError, match="several releases") as several:
        release_called(releases, first.release_id)
    assert f"{first.number} and {again.number}" in str(several.value)
    for wrong in ("", "99", "-1", second.release_id[:3], "x" * 70, "Clinic A"):
        with pytest.raises(ReleaseError, match="no release"):
            release_called(releases, wrong)


@pytest.mark.parametrize("whole", [True, False])
def test_verifying_a_withdrawn_release_fails_and_says_why(project, whole):
    made = released(project)
    path = made.path if whole else made.path / "data.csv"
    assert verify_file(project, in_batches(table()), path, Silent()).holds
    withdraw(project, made.record, REASON)
    report = verify_file(project, in_batches(table()), path, Silent())
    [failed] = report.failed
    assert failed.title == "Withdrawn"
    assert f"withdrawn on 2026-11-20: “{REASON}”" in str(failed.finding)


def test_the_same_release_made_anew_is_not_withdrawn(project):
    withdraw(project, released(project).record, REASON)
    again = released(project, out="anew")
    assert verify_file(project, in_batches(table()), again.path, Silent()).holds


def test_who_has_a_withdrawn_release_is_due_another(project):
    made = released(project)
    withdraw(project, made.record, REASON)
    first, _ = since_releases(project.document, {}, project.releases)
    assert not first.current
    assert [str(told) for _, told in first.changes] == ["it was withdrawn on 2026-11-20"]


def test_the_withdrawal_is_an_event_of_its_own_about_the_release(project):
    made = released(project)
    withdraw(project, made.record, REASON)
    _, release, withdrawal = events_in(project.ledger.entries)
    assert release.subject is withdrawal.subject is EventSubject.RELEASE
    assert release.record == withdrawal.record
    assert release.record.withdrawn.reason == REASON


def test_a_withdrawal_can_not_be_taken_out_or_changed_unnoticed(project):
    withdraw(project, released(project).record, REASON)
    project.close()
    content = project.path.read_bytes()
    for statement in (
        "DELETE FROM ledger WHERE kind = 'release withdrawn'",
        "UPDATE ledger SET details = replace(details, 'last year', 'this year') WHERE number = 4",
        "UPDATE ledger SET kind = 'override' WHERE number = 4",
    ):
        change(project.path, statement)
        with pytest.raises(NotSealed, match="Entry 4"):
            ProjectFile.open(project.path, PASSPHRASE, clock=noon)
        project.path.write_bytes(content)


def test_a_withdrawal_that_does_not_say_of_what_is_passed_over(project):
    released(project)
    for odd in ({}, {"withdrawn": "2"}, {"withdrawn": 99}, {"withdrawn": None, "reason": []}):
        project.record(EntryKind.RELEASE_WITHDRAWN, odd)
    assert [record.withdrawn for record in project.releases] == [None]
    assert [event.record for event in events_in(project.ledger.entries)][2:] == [None] * 4
    project.record(EntryKind.RELEASE_WITHDRAWN, {"withdrawn": 2, "reason": ["odd"]})
    assert project.releases[0].withdrawn.reason == "['odd']"
