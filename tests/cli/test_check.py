"""``sfumato check``, and releases that it speaks against."""

from __future__ import annotations

import json

import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.project.project_file import ProjectFile
from tests.project.making import ILLNESSES, PASSPHRASE


def checked(line, *more):
    code = line.run("check", line.project, "--json", *more)
    return code, {each["recipient"]: each for each in json.loads(line.output)}


def release(line, *more):
    out = line.folder / "out"
    return line.run("release", line.project, "--recipient", "Clinic A", "--out", out, *more)


def graves(found):
    return [one for one in found["findings"] if one["severity"] == "grave"]


@pytest.fixture
def sound(made):
    """A project nobody can be found in: sex is dropped, so only the illness leaves."""
    rules = made.folder / "rules.toml"
    rules.write_text(rules.read_text().replace("quasi-identifier", "identifying"))
    assert made.run("rules", made.project, "--apply", rules) == ExitCode.OK
    return made


@pytest.fixture
def empty(sound):
    """The same, but Clinic A's level hides nothing."""
    rules = sound.folder / "rules.toml"
    rules.write_text(rules.read_text().replace("probability = 0.6", "probability = 1.0"))
    assert sound.run("rules", sound.project, "--apply", rules) == ExitCode.OK
    return sound


def test_a_sound_project_is_ready_and_needs_no_reason(sound):
    code, found = checked(sound)
    assert code == ExitCode.OK, sound.remarks
    assert all(each["ready"] for each in found.values())
    assert release(sound) == ExitCode.OK, sound.remarks
    with ProjectFile.open(sound.project, PASSPHRASE, read_only=True) as project:
        assert "accepted" not in project.releases[0].details


def test_a_level_that_hides_nothing_is_grave_for_that_recipient_alone(empty):
    code, found = checked(empty)
    assert code == ExitCode.CHECK_FAILED
    assert not found["Clinic A"]["ready"]
    assert found["Institute B"]["ready"]
    [one] = graves(found["Clinic A"])
    assert one["check"] == "Empty promise"
    assert next(iter(found)) == "Clinic A", "the worst first"
    assert checked(empty, "--recipient", "Institute B")[0] == ExitCode.OK


def test_a_release_is_refused_until_a_reason_is_given(empty):
    assert release(empty) == ExitCode.EXPECTED_ERROR
    assert "Not ready to release to Clinic A" in empty.remarks
    assert "give a reason" in empty.remarks
    assert not empty.bundles()
    assert release(empty, "--accept", "  ") == ExitCode.EXPECTED_ERROR
    assert release(empty, "--accept", "They signed for it") == ExitCode.OK, empty.remarks
    code, found = checked(empty)
    assert code == ExitCode.OK
    assert graves(found["Clinic A"])[0]["reason"] == "They signed for it"
    with ProjectFile.open(empty.project, PASSPHRASE, read_only=True) as project:
        [kept] = project.releases[0].details["accepted"]
    assert kept["check"] == "Empty promise"
    assert kept["reason"] == "They signed for it"


def test_a_reason_stands_until_what_it_was_given_for_changes(empty):
    assert release(empty, "--accept", "They signed for it") == ExitCode.OK, empty.remarks
    again = empty.folder / "again"
    order = ("release", empty.project, "--recipient", "Clinic A", "--out", again)
    assert empty.run(*order) == ExitCode.OK, empty.remarks
    rules = empty.folder / "rules.toml"
    rules.write_text(rules.read_text().replace('role = "identifying"', 'role = "insensitive"'))
    assert empty.run("rules", empty.project, "--apply", rules) == ExitCode.OK
    _, found = checked(empty)
    said = {one["check"]: one["reason"] for one in graves(found["Clinic A"])}
    assert said.pop("Empty promise") == "They signed for it"
    assert set(said.values()) == {""}
    assert empty.run(*order[:-1], empty.folder / "more") == ExitCode.EXPECTED_ERROR


def test_findings_name_columns_and_never_values(made):
    assert made.run("check", made.project) in (ExitCode.OK, ExitCode.CHECK_FAILED)
    assert "Clinic A: " in made.output
    assert not any(value in made.output for value in (*ILLNESSES, PASSPHRASE))


def test_an_unknown_recipient_is_named(made):
    assert made.run("check", made.project, "--recipient", "Nobody") == ExitCode.EXPECTED_ERROR
    assert "no recipient Nobody" in made.remarks


@pytest.mark.slow
def test_the_report_keeps_the_reason_from_outsiders(empty):
    assert release(empty, "--accept", "They signed for it") == ExitCode.OK, empty.remarks
    inside, outside = empty.folder / "inside.html", empty.folder / "outside.html"
    assert empty.run("report", empty.project, "--out", inside) == ExitCode.OK, empty.remarks
    told = inside.read_text(encoding="utf-8")
    assert "They signed for it" in told
    assert "Empty promise" in told
    more = ("--for", "outside")
    assert empty.run("report", empty.project, "--out", outside, *more) == ExitCode.OK, empty.remarks
    assert "They signed for it" not in outside.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_level_that_had_better_be_raised_is_told_as_the_command_that_raises_it(made):
    asked = ("views", made.project, "--recipient", "Institute B", "--k", "12", "--propose")
    assert made.run(*asked) == ExitCode.EXPECTED_ERROR
    code, found = checked(made, "--recipient", "Institute B")
    assert code == ExitCode.CHECK_FAILED, "no reason lets a view through that breaks its k"
    assert found["Institute B"]["ready"] is False
    [one] = [each for each in graves(found["Institute B"]) if each["check"] == "View"]
    assert one["remedies"][0]["recipient"] == "Institute B"
    assert made.run("check", made.project) == ExitCode.CHECK_FAILED
    assert "Institute B: not ready to release" in made.output
    assert "Show “sex” at level 1 to Institute B: 12 → 0 suppressed" in made.output
    command = next(line for line in made.output.splitlines() if "sfumato views" in line)
    assert "--recipient 'Institute B' --level sex=1" in command
    assert made.run("views", made.project, "--recipient", "Institute B", "--level", "sex=1") == 0
    assert "View" not in {each["check"] for each in checked(made)[1]["Institute B"]["findings"]}
