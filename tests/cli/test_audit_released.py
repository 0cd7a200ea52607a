"""``sfumato audit coalition``: the figures of what was released, beside what is expected."""

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
