"""What `sfumato init` says of the roles it proposes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Role
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.project.project_file import ProjectFile
from tests.project.making import PASSPHRASE

RULES = """
format = 1
other_columns = "quasi-identifier"
[columns.illness]
role = "insensitive"
"""


def survey(folder):
    """Write persons in households of three."""
    frame = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(40) * 7, 3),
            "sampling_weight": np.repeat(np.linspace(20.0, 90.0, 40), 3),
            "illness": np.resize(["flu", "asthma"], 120),
        }
    )
    path = folder / "survey.csv"
    frame.to_csv(path, index=False)
    return path


def test_without_rules_the_proposed_roles_are_taken_and_told_with_their_reasons(line):
    assert line.run("init", line.project, "--table", survey(line.folder)) == 0, line.remarks
    assert "hid: identifying. " in line.remarks
    assert "sampling weight" in line.remarks
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        assert project.document.column("hid").role is Role.IDENTIFYING
        assert project.document.title == "survey"
    assert line.run("rules", line.project) == 0
    assert "[columns.hid]" in line.output


def test_a_number_that_nearly_every_row_has_for_itself_is_pointed_out(line):
    table = line.folder / "tests.csv"
    score = np.random.default_rng(3).normal(50.0, 10.0, 100)
    pd.DataFrame({"score": score, "illness": ["flu", "asthma"] * 50}).to_csv(table, index=False)
    assert line.run("init", line.project, "--table", table) == 0, line.remarks
    assert "score: insensitive. Nearly every row has a value of its own" in line.remarks


@pytest.mark.parametrize("memory", [(), ("--memory", 0)], ids=["in memory", "in parts"])
def test_rows_that_change_before_the_first_check_are_counted(line, memory):
    table = survey(line.folder)
    assert line.run("init", line.project, "--table", table, *memory) == 0, line.remarks
    first, *rows = table.read_text().splitlines()
    table.write_text("\n".join([first, *rows[1:], "999,20.0,flu"]) + "\n")
    assert line.run("check", line.project) != 0
    assert "1 row is new or changed. 1 row of before is gone." in line.remarks


def test_rules_that_release_what_looks_identifying_are_remarked_on(line):
    rules = line.folder / "survey.toml"
    rules.write_text(RULES)
    table = survey(line.folder)
    assert line.run("init", line.project, "--table", table, "--rules", rules) == 0, line.remarks
    assert "“hid” is quasi-identifier; proposed: identifying. " in line.remarks
    assert "illness" not in line.remarks


def books(folder):
    """Write accounts whose result is revenue less costs."""
    rng = np.random.default_rng(4)
    revenue, costs = rng.lognormal(11, 1, (2, 200)).round()
    frame = pd.DataFrame({"revenue": revenue, "costs": costs, "result": revenue - costs})
    path = folder / "books.csv"
    frame.to_csv(path, index=False)
    return path


def test_columns_that_follow_from_each_other_are_told_with_what_to_do(line):
    assert line.run("init", line.project, "--table", books(line.folder)) == 0, line.remarks
    assert "revenue = result + costs in every row" in line.remarks
    assert "protect all 3 together, or leave the others out" in line.remarks


def test_with_rules_they_are_told_where_a_sensitive_one_is_protected_apart(line):
    table = books(line.folder)
    rules = line.folder / "books.toml"
    level = "[[recipients]]\nname = 'Bank'\nlevels = { result = { sigma_squared = 1 } }\n"
    entry = "[[policy]]\nattributes = ['result']\nmechanism = 'gaussian'\n"
    sensitive = "[columns.result]\nrole = 'sensitive'\nkind = 'numeric'\n"
    told = []
    for other in ("insensitive", "identifying"):
        rules.write_text(f"format = 1\nother_columns = '{other}'\n{sensitive}{entry}{level}")
        project = line.folder / f"{other}.sfumato"
        asked = ("init", project, "--table", table, "--rules", rules)
        assert line.run(*asked) == 0, line.remarks
        told.append("in every row" in line.remarks)
    assert told == [True, False], "columns that are left out tell nothing"


def test_a_weak_passphrase_is_remarked_on(line):
    assert line.run("init", line.project, "--table", survey(line.folder)) == 0, line.remarks
    assert "The passphrase is weak" in line.remarks


NO_ROLES = 'format = 1\nother_columns = "insensitive"\n'


def options_of(line):
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        return ReadOptions.from_dict(dict(project.document.source.options))


def test_options_say_how_the_table_is_read(line):
    table = line.folder / "old.txt"
    table.write_bytes("Köln\nplz/größe\nNA/x\n".encode("cp850") + b"01/1,5\n" * 9)
    stated = ("--encoding", "cp850", "--skip-lines", "1", "--missing", "NA", "--delimiter", "/")
    more = ("--bad-values", "missing", "--column-type", "größe=number", "--header")
    assert line.run("init", line.project, "--table", table, *stated, *more) == 0, line.remarks
    options = options_of(line)
    assert (options.delimiter, options.decimal, options.missing) == ("/", ",", ("", "NA"))
    assert options.column_types == {"größe": ColumnType.NUMBER}


@pytest.mark.parametrize(
    "more",
    [
        ("--delimiter", "::"),
        ("--column-type", "age"),
        ("--column-type", "age=colour"),
        ("--encoding", "nowhere"),
    ],
)
def test_options_that_say_nothing_sensible_are_refused(line, more):
    assert line.run("init", line.project, "--table", survey(line.folder), *more) == 3
    assert not line.project.exists()


def test_a_key_of_the_rules_replaces_what_is_found_and_an_option_replaces_the_key(line):
    table, rules = line.folder / "t.csv", line.folder / "r.toml"
    table.write_text("sep=;\nsex;age\nm;20\nf;21\n")
    rules.write_text(NO_ROLES + '[reading]\nformat = "csv"\nskip_lines = 1\nmissing = ["m"]\n')
    asked = ("init", line.project, "--table", table, "--rules", rules)
    assert line.run(*asked, "--missing", "f") == 0, line.remarks
    options = options_of(line)
    assert (options.delimiter, options.skip_lines, options.missing) == (";", 1, ("", "f"))


def test_texts_of_a_column_of_categories_stay_distinct_though_they_look_measured(line):
    table, rules = line.folder / "t.csv", line.folder / "r.toml"
    cells = ["-1.5", "-1.50", "2", "2.0"] * 20
    table.write_text("id,code\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(cells)))
    column = '[columns.code]\nrole = "sensitive"\nkind = "categorical"\n'
    policy = '[[policy]]\nattributes = ["code"]\nmechanism = "uniform"\n'
    rules.write_text(NO_ROLES + column + policy)
    for memory in ("1000", "0.0001"):
        project = line.folder / f"{memory}.sfumato"
        asked = ("init", project, "--table", table, "--rules", rules, "--memory", memory)
        assert line.run(*asked) == 0, line.remarks
        with ProjectFile.open(project, PASSPHRASE) as opened:
            assert set(opened.document.column("code").domain.values) == set(cells)
