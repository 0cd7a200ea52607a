"""``sfumato audit``: coalitions on the command line, as planned and of what was released."""

from __future__ import annotations

import json

import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.project.project_file import ProjectFile
from tests.project.making import ILLNESSES, PASSPHRASE, table
from tests.row_order import in_table_order


def weigh(line, *more):
    return line.run("audit", "coalition", line.project, "--with", "Clinic A", *more)


def test_a_coalition_is_weighed_in_sentences_without_any_value(made):
    assert weigh(made, "--with", "Institute B", "--what-if", "0.9") == ExitCode.OK, made.remarks
    assert made.output.startswith("illness: Clinic A, Institute B\n")
    assert "With noise of its own in each release it would be" in made.output
    assert "One more recipient at trust 0.9" in made.output
    for value in ("asthma", "cold", "flu", "gout"):
        assert value not in made.output


def test_a_coalition_as_json_has_the_figures_of_its_best_member(made):
    assert weigh(made, "--with", "Institute B", "--json") == ExitCode.OK
    [found] = json.loads(made.output)
    assert found["members"] == ["Clinic A", "Institute B"]
    assert found["on ladder"]["average"] == pytest.approx(found["alone"]["average"])
    assert found["largest difference"] < 1e-12
    counts = table().frame["illness"].value_counts()
    shares = counts.to_numpy() / counts.sum()
    rows = uniform_matrix(0.6, 4).dense()[:, : len(shares)] * shares
    expected = (rows * rows / rows.sum(axis=1, keepdims=True)).sum()
    assert found["alone"]["average"] == pytest.approx(expected)
    assert {line["value"]: line["records"] for line in found["by value"]} == counts[
        counts > 0
    ].to_dict()


def test_who_is_not_a_recipient_can_be_in_no_coalition(made):
    assert weigh(made, "--with", "Nobody") == ExitCode.EXPECTED_ERROR
    assert "no recipient Nobody" in made.remarks
    assert "Clinic A, Institute B" in made.remarks


def test_a_level_that_can_t_be_is_refused(made):
    assert weigh(made, "--what-if", "1.5") == ExitCode.EXPECTED_ERROR
    assert "1.5" in made.remarks or "between 0 and 1" in made.remarks


def test_an_audit_has_to_be_named(line, capsys):
    assert line.run("audit") == ExitCode.USAGE
    assert line.run("audit", "nonsense") == ExitCode.USAGE
    assert "coalition" in capsys.readouterr().err


def test_the_questions_are_answered_as_the_window_answers_them(made):
    assert made.run("audit", "questions", made.project, "--json") == ExitCode.OK, made.remarks
    found = {one["question"]: one for one in json.loads(made.output)}
    assert list(found) == ["together", "found", "groups", "leak"]
    together = " ".join(found["together"]["answer"])
    who = "Clinic A and Institute B together"
    assert together.startswith(f"{who} learn no more about illness than Clinic A alone.")
    assert weigh(made, "--with", "Institute B", "--json") == ExitCode.OK
    right = json.loads(made.output)[0]["guessed"]["alone"]["Clinic A"]
    assert f"is right for {right:.1%}".replace("%", " %") in together
    assert found["leak"]["verdict"] is None
    assert made.run("audit", "questions", made.project) == ExitCode.OK
    assert made.output.count("\n") == 4
    assert "flu" not in made.output


def test_the_most_that_odds_change_is_never_told_as_less(made):
    level = ("--of", "Clinic A", "--level", "retention_probability=0.7")
    assert made.run("recipients", made.project, *level) == ExitCode.OK, made.remarks
    assert made.run("audit", "together", made.project) == ExitCode.OK, made.remarks
    # (p + (1 - p)/m) / ((1 - p)/m) = 10.33 for p = 0.7 and m = 4
    assert "odds on a record's value more than 10.4-fold" in made.output


@pytest.mark.slow
def test_one_record_s_way_is_told_without_its_values(made):
    assert made.run("audit", "record", made.project, "--row", "3") == ExitCode.OK, made.remarks
    assert made.output.startswith("What each recipient sees of “illness” in row 3.\n")
    assert not any(str(value) in made.output for value in table().frame["illness"].dropna())
    assert made.run("audit", "record", made.project, "--row", "3", "--json") == ExitCode.OK
    [found] = json.loads(made.output)
    assert found["row"] == 3
    assert [one["recipient"] for one in found["recipients"]] == ["Clinic A", "Institute B"]
    assert found["changes"] == sorted(found["changes"], reverse=True)
    assert made.run("audit", "record", made.project, "--row", "13") == ExitCode.EXPECTED_ERROR
    assert made.run("audit", "record", made.project, "--attribute", "sex") != ExitCode.OK


def file_of(line, name):
    """The illnesses in a recipient's file, in the table's order."""
    [bundle] = [path for path in line.bundles() if name in path.name]
    with ProjectFile.open(line.project, PASSPHRASE, read_only=True) as project:
        return in_table_order(project, bundle, table())["illness"]


def test_the_figures_are_those_of_the_file_that_was_handed_out(released):
    assert weigh(released, "--released", "--json") == ExitCode.OK, released.remarks
    [found] = json.loads(released.output)
    true = table().frame["illness"]
    shares = true.value_counts(normalize=True).reindex(ILLNESSES, fill_value=0.0).to_numpy()
    beliefs = uniform_matrix(0.6, 4).posterior(shares)
    pairs = zip(file_of(released, "Clinic"), true, strict=True)
    own = [beliefs[ILLNESSES.index(seen), ILLNESSES.index(own)] for seen, own in pairs]
    assert found["realized"]["average"] == pytest.approx(sum(own) / 12)
    assert found["realized"]["likely"] == pytest.approx(sum(b >= 0.5 for b in own) / 12)
    assert found["realized"]["released"] is True
    assert sum(found["realized"]["histogram"]) == pytest.approx(1.0)
    assert {line["value"] for line in found["realized"]["worst values"]} <= set(true)


def test_a_coalition_s_files_are_compared_with_its_best_member_s(released):
    assert released.release("Institute B") == 0, released.remarks
    assert weigh(released, "--with", "Institute B", "--released") == ExitCode.OK, released.remarks
    assert "In the files as released: " in released.output
    assert "With all that they hold, 12 of 12 records were weighed again" in released.output
    assert not any(value in released.output for value in ILLNESSES)
    assert weigh(released, "--with", "Institute B", "--released", "--json") == ExitCode.OK
    [found] = json.loads(released.output)
    assert found["realized"]["largest difference"] < 1e-14
    assert found["realized"]["together"] == pytest.approx(found["realized"]["alone"])


def test_what_is_planned_is_weighed_as_it_will_fall(made):
    assert weigh(made, "--with", "Institute B") == ExitCode.OK, made.remarks
    assert "With the noise as it will fall: " in made.output
    assert weigh(made, "--json") == ExitCode.OK
    planned = json.loads(made.output)[0]["realized"]
    assert planned.pop("released") is False
    assert made.release() == 0
    assert weigh(made, "--released", "--json") == ExitCode.OK
    released = json.loads(made.output)[0]["realized"]
    assert released.pop("released") is True
    assert released == planned


def test_the_ledger_s_level_counts_whatever_is_planned_by_now(released):
    rules = released.folder / "rules.toml"
    changed = rules.read_text().replace("probability = 0.6", "probability = 0.2")
    rules.write_text(changed)
    assert weigh(released, "--released", "--json") == ExitCode.OK
    before = json.loads(released.output)
    assert released.run("rules", released.project, "--apply", rules) == ExitCode.OK
    assert weigh(released, "--released", "--json") == ExitCode.OK, released.remarks
    assert json.loads(released.output) == before


def test_the_policy_in_force_at_the_release_counts_whatever_is_decided_by_now(released):
    assert weigh(released, "--released", "--json") == ExitCode.OK
    before = json.loads(released.output)
    rules = released.folder / "rules.toml"
    rules.write_text(rules.read_text().replace('["asthma"', '["measles", "asthma"'))
    assert released.run("rules", released.project, "--apply", rules) == ExitCode.OK
    assert weigh(released, "--released", "--json") == ExitCode.OK, released.remarks
    assert json.loads(released.output) == before


def test_who_was_given_nothing_holds_nothing(released):
    assert weigh(released, "--with", "Institute B", "--released") == ExitCode.EXPECTED_ERROR
    assert "Nothing was released to Institute B so far." in released.remarks
