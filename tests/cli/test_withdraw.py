"""The command that withdraws a release, and where that is told."""

from __future__ import annotations

import json

import pytest

from sfumato.commands.shared.command import ExitCode

REASON = "Made from the wrong extract"


def withdrawn(line):
    assert line.run("withdraw", line.project, "2", "--reason", REASON) == ExitCode.OK
    assert "The release to Clinic A of " in line.output
    assert "goes on counting" in line.remarks


def test_ledger_recipients_and_verify_tell_that_a_release_was_withdrawn(released):
    withdrawn(released)
    (bundle,) = released.bundles()
    options = ("verify", bundle, "--project", released.project)
    assert released.run(*options) == ExitCode.CHECK_FAILED
    assert "FAIL  Withdrawn: This release was withdrawn on" in released.output
    assert released.run(*options, "--json") == ExitCode.CHECK_FAILED
    told = json.loads(released.output)["withdrawn"]
    assert (told["number"], told["reason"]) == (4, REASON)
    assert released.run("ledger", released.project) == ExitCode.OK
    lines = released.output.splitlines()
    assert lines[1].endswith("(withdrawn by entry 4)")
    assert "release withdrawn" in lines[3]
    assert REASON in lines[3]
    assert released.run("ledger", released.project, "--json") == ExitCode.OK
    entries = json.loads(released.output)["entries"]
    assert [entry.get("withdrawn_by") for entry in entries] == [None, 4, None, None]
    assert released.run("recipients", released.project) == ExitCode.OK
    assert "it was withdrawn on" in released.output


def test_a_release_is_meant_by_each_of_its_entries(released):
    assert released.run("ledger", released.project) == ExitCode.OK
    assert "release completed" in released.output.splitlines()[2]
    assert released.run("withdraw", released.project, "3", "--reason", REASON) == ExitCode.OK
    assert "The release to Clinic A of " in released.output
    assert released.run("withdraw", released.project, "1", "--reason", REASON) != ExitCode.OK
    assert "The ledger has no release 1." in released.remarks


@pytest.mark.slow
def test_the_report_tells_of_it(released):
    withdrawn(released)
    out = released.folder / "report.html"
    assert released.run("report", released.project, "--out", out) == ExitCode.OK
    page = out.read_text()
    assert "Withdrawn releases, which should no longer be used" in page
    assert REASON in page
    assert "Still counted: the release to Clinic A, withdrawn on " in page
    outside = released.folder / "outside.html"
    options = ("--out", outside, "--for", "outside")
    assert released.run("report", released.project, *options) == ExitCode.OK
    assert "completed, withdrawn on" in outside.read_text()
    assert REASON not in outside.read_text()


def test_what_can_not_be_withdrawn_is_named_and_nothing_is_recorded(released):
    for release, reason, said in (
        ("77", REASON, "no release 77"),
        ("2", " ", "withdrawn for a reason"),
        ("clinic", REASON, "no release clinic"),
    ):
        code = released.run("withdraw", released.project, release, "--reason", reason)
        assert code == ExitCode.EXPECTED_ERROR
        assert said in released.remarks
    assert released.run("withdraw", released.project, "2") == ExitCode.USAGE
    assert released.run("ledger", released.project) == ExitCode.OK
    assert len(released.output.splitlines()) == 3
