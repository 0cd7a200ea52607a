"""``sfumato terms``, and what recipients and the report are told of them."""

from __future__ import annotations

import json

from sfumato.commands.shared.command import ExitCode


def test_terms_are_stated_once_and_told_in_every_readme(made):
    assert made.run("terms", made.project) == ExitCode.OK
    assert "No terms are stated" in made.output
    stated = ("--purpose", "Research on asthma", "--valid-until", "2027-12-31")
    assert made.run("terms", made.project, *stated) == ExitCode.OK, made.remarks
    assert made.run("terms", made.project, "--contact", "a@ward.example", "--json") == ExitCode.OK
    assert json.loads(made.output) == {
        "purpose": "Research on asthma",
        "valid_until": "2027-12-31",
        "contact": "a@ward.example",
    }
    assert made.release() == ExitCode.OK, made.remarks
    readme = made.bundles()[0].joinpath("README.md").read_text(encoding="utf-8")
    assert "| May be used for | Research on asthma |" in readme
    assert made.run("verify", made.bundles()[0], "--project", made.project) == ExitCode.OK, (
        made.output
    )


def test_a_last_day_that_is_none_changes_nothing(made):
    code = made.run("terms", made.project, "--valid-until", "tomorrow")
    assert code == ExitCode.EXPECTED_ERROR
    assert "2027-12-31" in made.remarks
    assert made.run("terms", made.project) == ExitCode.OK
    assert "No terms are stated" in made.output


def test_rules_hold_the_terms_and_name_the_key_that_is_wrong(made):
    assert made.run("terms", made.project, "--conditions", "Pass nothing on") == ExitCode.OK
    assert made.run("rules", made.project) == ExitCode.OK
    rules = made.output
    assert '[terms]\nconditions = "Pass nothing on"\n' in rules
    path = made.folder / "others.toml"
    path.write_text(rules.replace("conditions = ", "valid_until = "), encoding="utf-8")
    assert made.run("rules", made.project, "--apply", path) == ExitCode.EXPECTED_ERROR
    assert "valid_until" in made.remarks
    path.write_text(rules.replace("Pass nothing on", "Ask first"), encoding="utf-8")
    assert made.run("rules", made.project, "--apply", path) == ExitCode.OK, made.remarks
    assert made.run("terms", made.project) == ExitCode.OK
    assert made.output == "Conditions: Ask first\n"
