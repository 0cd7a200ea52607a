"""A second person's approval on the command line."""

from __future__ import annotations

import json

import pytest

from sfumato.commands.shared.command import APPROVER_VARIABLE, ExitCode

GRACE, OWN = "Grace Hopper", "nanoseconds of wire"


@pytest.fixture
def guarded(made):
    made.environment[APPROVER_VARIABLE] = OWN
    code = made.run("approvers", made.project, "--add", GRACE, "--require")
    assert code == ExitCode.OK, made.remarks
    return made


def test_a_release_waits_for_the_approval_and_is_made_once_it_is_given(guarded):
    assert guarded.release() == ExitCode.EXPECTED_ERROR
    assert "No second person has approved the release to Clinic A" in guarded.remarks
    assert "sfumato approve" in guarded.remarks
    assert guarded.bundles() == []
    assert guarded.run("approve", guarded.project, "Clinic A") == ExitCode.OK, guarded.remarks
    assert "Grace Hopper approves the release to Clinic A" in guarded.output
    assert guarded.release() == ExitCode.OK, guarded.remarks
    assert guarded.release("Institute B") == ExitCode.EXPECTED_ERROR
    assert guarded.run("ledger", guarded.project) == ExitCode.OK
    assert "release approved" in guarded.output
    assert GRACE in guarded.output
    assert OWN not in guarded.output + guarded.remarks


def test_who_approves_and_what_is_approved_are_listed(guarded):
    assert guarded.run("approve", guarded.project, "Clinic A", "--name", GRACE) == ExitCode.OK
    assert guarded.run("approvers", guarded.project) == ExitCode.OK
    assert "A second person approves each release." in guarded.output
    assert "can approve: Grace Hopper" in guarded.output
    assert "Clinic A: approved by Grace Hopper" in guarded.output
    assert "Institute B: not approved" in guarded.output
    assert guarded.run("approvers", guarded.project, "--json") == ExitCode.OK
    plain = json.loads(guarded.output)
    assert (plain["required"], plain["approvers"]) == (True, [GRACE])
    assert plain["approvals"]["Clinic A"]["name"] == GRACE
    assert plain["approvals"]["Institute B"] is None
    assert guarded.run("check", guarded.project) == ExitCode.CHECK_FAILED
    assert "Approval: No second person has approved" in guarded.output


def test_an_approval_is_asked_for_by_a_key_of_the_rules(made):
    assert made.run("rules", made.project) == ExitCode.OK
    assert "needs_approval" not in made.output
    rules = made.folder / "asking.toml"
    rules.write_text(made.output.replace("format = 1", "format = 1\nneeds_approval = true"))
    assert made.run("rules", made.project, "--apply", rules) == ExitCode.OK
    assert made.run("rules", made.project) == ExitCode.OK
    assert "needs_approval = true" in made.output
    assert made.release() == ExitCode.EXPECTED_ERROR
    assert "sfumato approvers PROJECT --add NAME" in made.remarks
    rules.write_text(rules.read_text().replace("needs_approval = true", 'needs_approval = "yes"'))
    assert made.run("rules", made.project, "--apply", rules) == ExitCode.EXPECTED_ERROR
    assert "needs_approval" in made.remarks
    assert made.run("approvers", made.project, "--no-require") == ExitCode.OK
    assert made.release() == ExitCode.OK


def test_what_is_wrong_is_named(guarded):
    for arguments, said, code in (
        (("approve", guarded.project, "Nowhere"), "no recipient called Nowhere", 3),
        (("approve", guarded.project, "Clinic A", "--name", "Ada"), "Nobody called Ada", 3),
        (("approvers", guarded.project, "--remove", "Ada"), "Nobody called Ada", 3),
        (("approvers", guarded.project, "--add", GRACE), "approves releases already", 3),
    ):
        assert guarded.run(*arguments) == code
        assert said in guarded.remarks
    guarded.environment[APPROVER_VARIABLE] = "wrong"
    assert guarded.run("approve", guarded.project, "Clinic A") == ExitCode.PASSPHRASE
    assert "not that of Grace Hopper" in guarded.remarks
    del guarded.environment[APPROVER_VARIABLE]
    assert guarded.run("approve", guarded.project, "Clinic A") == ExitCode.PASSPHRASE
    assert "--approver-passphrase-fd" in guarded.remarks
    guarded.environment[APPROVER_VARIABLE] = "another"
    assert guarded.run("approvers", guarded.project, "--add", "Ada") == ExitCode.OK
    assert guarded.run("approve", guarded.project, "Clinic A") == ExitCode.EXPECTED_ERROR
    assert "--name" in guarded.remarks
    assert guarded.run("approvers", guarded.project, "--remove", "Ada") == ExitCode.OK


@pytest.mark.slow
def test_the_report_says_who_approved(guarded):
    guarded.release()
    assert guarded.run("approve", guarded.project, "Clinic A") == ExitCode.OK
    assert guarded.release() == ExitCode.OK, guarded.remarks
    for audience in ("internal", "outside"):
        out = guarded.folder / f"{audience}.html"
        given = ("--out", out, "--for", audience)
        assert guarded.run("report", guarded.project, *given) == ExitCode.OK
        assert "Releases that a second person approved" in out.read_text()
        assert (GRACE in out.read_text()) == (audience == "internal")
