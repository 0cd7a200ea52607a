"""``sfumato adopt``: from files of another tool to releases on one ladder with them."""

from __future__ import annotations

import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.project.document.adopted_files import adopted_files
from sfumato.project.project_file import ProjectFile
from tests.cli.conftest import RULES
from tests.project import adopting
from tests.project.making import PASSPHRASE

WARD = adopting.ward(2_000)
WARD_RULES = RULES.replace('[columns.sex]\nrole = "quasi-identifier"\n\n', "").replace(
    '"asthma", "cold", "flu", "gout"', '"asthma", "cold", "flu", "gout", "measles"'
)


@pytest.fixture
def ward(line):
    """A project over two thousand records."""
    (line.folder / "ward.csv").write_text(WARD.frame.to_csv(index=False))
    (line.folder / "rules.toml").write_text(WARD_RULES)
    assert line.init() == ExitCode.OK, line.remarks
    return line


def adopt(line, path, *more):
    return line.run("adopt", line.project, "--attribute", "illness", "--file", path, *more)


@pytest.mark.slow
def test_an_earlier_release_is_adopted_in_parts_as_in_memory(ward):
    upper, _ = adopting.ladder_files(ward.folder, WARD, 0.7, 0.2)
    told = []
    for memory in ("1000", "0"):
        found = []
        for match in ("rows", "key"):
            arguments = ("--match", match, "--memory", memory)
            assert adopt(ward, upper, *arguments) == ExitCode.OK, ward.remarks
            assert ("read in parts" in ward.remarks) == (memory == "0")
            found.append((ward.output, files(ward)))
            assert ward.run("rules", ward.project, "--apply", ward.folder / "rules.toml") == 0
        told.append(found)
    assert told[1] == told[0]


def files(line):
    with ProjectFile.open(line.project, PASSPHRASE, read_only=True) as project:
        return adopted_files(project.document.policy[0].settings)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_ladder_is_adopted_level_by_level_and_released_beside(ward):
    upper, lower = adopting.ladder_files(ward.folder, WARD, 0.7, 0.2)
    assert adopt(ward, upper, "--level", "estimate", "--holder", "Old Clinic") == ExitCode.OK
    assert "with 95 % confidence" in ward.output
    assert "Adopted as a rung of the ladder." in ward.output
    assert adopt(ward, lower, "--level", "0.2", "--match", "key") == ExitCode.OK, ward.output
    assert [file.rung for file in files(ward)] == [True, True]
    assert ward.release("Clinic A") == ExitCode.OK, ward.remarks
    (bundle,) = ward.bundles()
    assert ward.run("verify", bundle, "--project", ward.project) == ExitCode.OK, ward.output
    assert "beside Old Clinic" in ward.output
    assert ward.run("ledger", ward.project) == ExitCode.OK
    assert ward.output.count("earlier release adopted") == 2
    assert f"“illness” at 0.7, on the ladder  {upper}" in ward.output
    assert "Old Clinic" in ward.output


@pytest.mark.slow
@pytest.mark.turns(1)
def test_independent_files_are_refused_with_their_damage_unless_one_insists(ward):
    upper, lower = adopting.independent_files(ward.folder, WARD, 0.6, 0.4)
    assert adopt(ward, upper, "--level", "0.6") == ExitCode.OK
    assert adopt(ward, lower, "--level", "0.4") == ExitCode.CHECK_FAILED
    assert "FAIL  beside alone-0.6.csv: Kept alike" in ward.output
    assert "show one and the same value" in ward.output
    assert "Not adopted" in ward.output
    assert len(files(ward)) == 1
    assert adopt(ward, lower, "--level", "0.4", "--beside") == ExitCode.OK
    assert "Adopted beside the ladder" in ward.output
    assert {file.level: file.rung for file in files(ward)} == {0.6: True, 0.4: False}


WRONG = (
    (("--level", "1.5"), "not between 0 and 1"),
    (("--level", "high"), "neither a number nor 'estimate'"),
    (("--column", "disease"), "has no column disease"),
    (("--column", "illness", "--column", "person"), "2 columns were given"),
    (("--match", "key", "--file-key", "id"), "has no column id"),
    (("--value", "grippe=plague"), "does not name a value"),
)
"""What can't be right of a file that is adopted, and what is said of it."""


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_can_not_be_right_is_refused_and_nothing_lost(ward):
    (path,) = adopting.ladder_files(ward.folder, WARD, 0.7)
    for more, message in WRONG:
        assert adopt(ward, path, *more) == ExitCode.EXPECTED_ERROR, more
        assert message in ward.remarks
        assert files(ward) == (), more


def test_after_a_release_nothing_is_adopted_any_more(ward):
    (path,) = adopting.ladder_files(ward.folder, WARD, 0.7)
    assert ward.release("Clinic A") == ExitCode.OK
    assert adopt(ward, path) == ExitCode.EXPECTED_ERROR
    assert "before the first release" in ward.remarks
    assert files(ward) == ()


def test_values_by_other_names_are_told_on_the_command_line(ward):
    (path,) = adopting.ladder_files(ward.folder, WARD, 0.7)
    path.write_text(path.read_text().replace("flu", "grippe"))
    assert adopt(ward, path) == ExitCode.EXPECTED_ERROR
    assert "grippe" not in ward.remarks
    assert adopt(ward, path, "--value", "grippe=flu") == ExitCode.OK, ward.remarks


def test_a_file_is_read_as_the_flags_say(ward):
    (path,) = adopting.ladder_files(ward.folder, WARD, 0.7)
    text = "\n".join(["made by another tool", *path.read_text().splitlines()])
    path.write_text(text.replace(",", ":").replace("flu", "gr\xfcbe"), encoding="utf-16-le")
    value = ("--value", "gr\xfcbe=flu")
    assert adopt(ward, path, *value) == ExitCode.EXPECTED_ERROR
    flags = ("--encoding", "utf-16-le", "--delimiter", ":", "--skip-lines", "1")
    assert adopt(ward, path, *value, *flags) == ExitCode.OK, ward.remarks
    (file,) = files(ward)
    assert file.options["encoding"] == "utf-16-le"
    assert file.rung


def test_a_mark_that_can_not_be_a_delimiter_is_refused(ward):
    (path,) = adopting.ladder_files(ward.folder, WARD, 0.7)
    assert adopt(ward, path, "--delimiter", "::") == ExitCode.EXPECTED_ERROR
    assert "must be one character" in ward.remarks
    assert adopt(ward, path, "--delimiter", "comma", "--missing", "?") == ExitCode.OK, ward.remarks


def test_a_part_of_the_records_is_adopted_by_their_key(ward):
    (path,) = adopting.ladder_files(ward.folder, WARD, 0.7)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:1201]))
    assert adopt(ward, path, "--match", "rows") == ExitCode.EXPECTED_ERROR
    assert "Match by a key column" in ward.remarks
    assert adopt(ward, path, "--match", "key", "--level", "0.7") == ExitCode.OK, ward.remarks
    assert "It has 1,200 of the table's 2,000 records." in ward.output
    assert files(ward)[0].part == (1_200, 2_000)
