"""``sfumato audit``: coalitions and experiments on the command line."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sfumato.commands import audits, command_names
from sfumato.commands.shared.command import ExitCode
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from tests.project.making import table


def weigh(line, *more):
    return line.run("audit", "coalition", line.project, "--with", "Clinic A", *more)


def experiment(line, figure, *more):
    return line.run("audit", "experiment", figure, *more)


def test_a_coalition_is_weighed_in_sentences_without_any_value(made):
    assert weigh(made, "--with", "Institute B", "--what-if", "0.9") == ExitCode.OK, made.remarks
    assert made.output.startswith("illness: Clinic A, Institute B\n")
    assert "If each release had noise of its own" in made.output
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
    assert sum(line["records"] for line in found["by value"]) == 12


def test_who_is_not_a_recipient_can_be_in_no_coalition(made):
    assert weigh(made, "--with", "Nobody") == ExitCode.EXPECTED_ERROR
    assert "no recipient Nobody" in made.remarks
    assert "Clinic A, Institute B" in made.remarks


def test_a_level_that_can_t_be_is_refused(made):
    assert weigh(made, "--what-if", "1.5") == ExitCode.EXPECTED_ERROR
    assert "1.5" in made.remarks or "between 0 and 1" in made.remarks


@pytest.mark.parametrize(
    ("figure", "size", "words"),
    [
        ("fig5", ("--simulations", "2e4"), "20,000 simulations of Alice"),
        ("fig6", ("--simulations", "20000"), "match uniform perturbation"),
        ("fig7", ("--recipients", "4"), "After 4 releases"),
        ("fig8", ("--releases", "12", "--records", "40"), "12 releases of 40 records"),
    ],
)
def test_each_figure_is_run_on_a_column_beside_the_paper(made, figure, size, words):
    where = ("--project", made.project, "--column", "illness")
    assert experiment(made, figure, *where, *size) == ExitCode.OK, made.remarks
    assert words in made.output
    assert "The paper" in made.output


def test_an_experiment_writes_its_figure_its_values_and_its_findings(line, tmp_path):
    out = tmp_path / "new" / "folder"
    assert experiment(line, "fig7", "--recipients", "3", "--json", "--out", out) == ExitCode.OK
    found = json.loads(line.output)
    assert len(found["points"]) == 3
    assert sorted(path.name for path in out.iterdir()) == [
        f"fig7.{kind}" for kind in ("csv", "json", "png", "svg")
    ]
    assert len(pd.read_csv(out / "fig7.csv")) == 3
    assert json.loads((out / "fig7.json").read_text()) == found
    assert (out / "fig7.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--column", "illness"), "no project"),
        (("--project", "PROJECT"), "no column"),
        (("--project", "PROJECT", "--column", "height"), "no column height"),
    ],
)
def test_true_values_come_from_a_project_and_one_of_its_columns(made, arguments, words):
    given = [made.project if part == "PROJECT" else part for part in arguments]
    assert experiment(made, "fig7", *given) == ExitCode.EXPECTED_ERROR
    assert words in made.remarks


@pytest.mark.parametrize("count", ["0", "-3", "many", "2.5", "nan"])
def test_a_size_is_a_whole_number(line, count, capsys):
    assert experiment(line, "fig5", "--simulations", count) == ExitCode.USAGE
    assert "whole number" in capsys.readouterr().err


def test_an_audit_has_to_be_named(line, capsys):
    assert line.run("audit") == ExitCode.USAGE
    assert line.run("audit", "nonsense") == ExitCode.USAGE
    assert "coalition" in capsys.readouterr().err
    assert {"coalition", "experiment", "numbers"} <= set(command_names(audits.__name__))


def test_an_unknown_folder_is_no_fault(line, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("x")
    assert experiment(line, "fig7", "--recipients", "2", "--out", blocked) == (
        ExitCode.EXPECTED_ERROR
    )
    assert "file can't be written" in line.remarks
