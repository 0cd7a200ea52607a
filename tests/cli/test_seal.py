"""The command that says whether a project was changed outside, and seals it as it stands."""

from __future__ import annotations

import json

import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.project.project_file import ProjectFile
from tests.project.making import PASSPHRASE
from tests.project.tampering import change


@pytest.fixture
def forged(made):
    level = "replace(content, '\"retention_probability\":0.6', '\"retention_probability\":0.999')"
    change(made.project, f"UPDATE document SET content = {level}")
    return made


def test_a_project_as_it_was_sealed_is_said_to_be_so(made):
    assert made.run("seal", made.project) == ExitCode.OK
    assert "matches its seal" in made.remarks
    assert made.run("seal", made.project, "--accept", "To be sure") == ExitCode.OK
    with ProjectFile.open(made.project, PASSPHRASE) as project:
        assert len(project.ledger.entries) == 1


def test_what_was_changed_is_told_and_nothing_is_released_by_it(forged):
    content = forged.project.read_bytes()
    assert forged.run("seal", forged.project) == ExitCode.CHECK_FAILED
    assert "document: Its decisions were changed" in forged.output
    assert forged.release("Clinic A") == ExitCode.EXPECTED_ERROR
    assert "--accept REASON" in forged.remarks
    assert not (forged.folder / "out").exists()
    assert forged.project.read_bytes() == content


def test_a_changed_project_is_not_ready_to_release(forged):
    assert forged.run("check", forged.project) == ExitCode.CHECK_FAILED
    assert "Clinic A: not ready to release" in forged.output
    assert "Its decisions were changed" in forged.output


def test_rules_recipients_and_ledger_can_be_seen_with_a_warning(forged):
    for command in ("rules", "recipients", "ledger"):
        assert forged.run(command, forged.project) in (ExitCode.OK, ExitCode.CHECK_FAILED)
        assert "does not match its seal" in forged.remarks
    assert forged.run("rules", forged.project) == ExitCode.OK
    assert "0.999" in forged.output


def test_accepting_seals_the_project_and_the_ledger_keeps_why(forged):
    assert forged.run("seal", forged.project, "--accept", "Agreed on the phone") == ExitCode.OK
    assert "accepted: Its decisions were changed" in forged.output
    assert forged.release("Clinic A") == ExitCode.OK
    assert forged.run("ledger", forged.project, "--json") == ExitCode.OK
    accepted = json.loads(forged.output)["entries"][1]
    assert accepted["kind"] == "unsealed state accepted"
    assert accepted["details"]["reason"] == "Agreed on the phone"
