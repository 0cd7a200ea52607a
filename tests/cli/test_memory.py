"""``--memory``: a long table is read in parts, or it is said why not."""

from __future__ import annotations

import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import REASON
from tests.project.making import table

PARTS, WHOLE = "read in parts", "read as a whole"


@pytest.fixture
def long(line):
    """The command line with a project whose table is in a Parquet file."""
    frame = table(40).frame.astype(str)
    frame.to_parquet(line.folder / "ward.parquet", index=False)
    rules = ("--rules", line.folder / "rules.toml")
    arguments = ("init", line.project, "--table", line.folder / "ward.parquet", *rules)
    assert line.run(*arguments) == ExitCode.OK, line.remarks
    return line


def test_a_release_in_parts_is_the_release_of_the_whole_table(long):
    assert long.release("Clinic A", "--memory", "0") == ExitCode.OK, long.remarks
    assert PARTS in long.remarks
    where = ("--out", long.folder / "whole", "--accept", REASON)
    assert long.run("release", long.project, "--recipient", "Clinic A", *where) == ExitCode.OK
    assert PARTS not in long.remarks
    [made], [whole] = long.bundles(), (long.folder / "whole").iterdir()
    for name in ("data.csv", "README.md", "datapackage.json"):
        assert (made / name).read_bytes() == (whole / name).read_bytes()
    assert long.run("verify", made, "--project", long.project) == ExitCode.OK, long.output


def test_a_check_in_parts_finds_what_the_check_of_the_whole_table_does(long):
    code = long.run("check", long.project)
    wanted = long.output
    assert long.run("check", long.project, "--memory", "0") == code
    assert PARTS in long.remarks
    assert long.output == wanted
    assert "Clinic A" in wanted


@pytest.mark.parametrize("key", [True, False], ids=["CSV", "no record key"])
def test_what_can_not_be_read_in_parts_is_read_as_a_whole_and_it_is_said(line, key):
    table(40).frame.astype(str).to_parquet(line.folder / "ward.parquet", index=False)
    rules = line.folder / "rules.toml"
    if not key:
        rules.write_text(rules.read_text().replace('record_key = "person"\n', ""))
    source = line.folder / ("ward.csv" if key else "ward.parquet")
    assert line.run("init", line.project, "--table", source, "--rules", rules) == ExitCode.OK
    assert line.release("Clinic A", "--memory", "0") == ExitCode.OK, line.remarks
    assert WHOLE in line.remarks
    assert ("position" in line.remarks) != key
