"""The recovery sheet on the command line."""

from __future__ import annotations

import os
import re

import pytest

from sfumato.commands.shared.command import (
    NEW_PASSPHRASE_VARIABLE,
    PASSPHRASE_VARIABLE,
    RECOVERY_VARIABLE,
    ExitCode,
)

NEW = "pear glass tower violin"


def code_in(path):
    return "-".join(re.findall(r"\b[1-8]  ([0-9A-Z]{5})\b", path.read_text()))


def descriptor_with(text):
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return str(reading)


@pytest.fixture
def sheet(made):
    path = made.folder / "sheet.txt"
    assert made.run("recovery-sheet", made.project, "--out", path) == ExitCode.OK, made.remarks
    assert "delete the file" in made.remarks
    code = code_in(path)
    assert code.split("-")[0] not in made.output + made.remarks
    return code


@pytest.mark.few(1)
@pytest.mark.parametrize("by_descriptor", [False, True])
def test_a_lost_passphrase_is_replaced_by_the_sheet(made, sheet, by_descriptor):
    del made.environment[PASSPHRASE_VARIABLE]
    options = ["--recovery"]
    if by_descriptor:
        options = ["--recovery-fd", descriptor_with(f"{sheet.lower()}\n")]
        options += ["--new-passphrase-fd", descriptor_with(NEW)]
    else:
        made.environment |= {RECOVERY_VARIABLE: sheet, NEW_PASSPHRASE_VARIABLE: NEW}
    assert made.run("passphrase", made.project, *options) == ExitCode.OK, made.remarks
    assert "has been reset" in made.remarks
    made.environment[PASSPHRASE_VARIABLE] = NEW
    assert made.release() == ExitCode.OK
    assert made.run("ledger", made.project) == ExitCode.OK
    assert "recovery sheet made" in made.output
    assert sheet.split("-")[0] not in made.output + made.remarks


def test_a_mistyped_code_is_refused_by_its_group(made, sheet):
    groups = sheet.split("-")
    groups[2] = ("1" if groups[2][0] == "0" else "0") + groups[2][1:]  # one letter is always told
    made.environment |= {RECOVERY_VARIABLE: "-".join(groups), NEW_PASSPHRASE_VARIABLE: NEW}
    assert made.run("passphrase", made.project, "--recovery") == ExitCode.PASSPHRASE
    assert "Group 3 is not as it was printed" in made.remarks
    assert groups[2] not in made.remarks
    assert made.run("ledger", made.project) == ExitCode.OK


def test_a_code_that_is_not_given_is_asked_for_by_its_own_option(made, sheet):
    assert made.run("passphrase", made.project, "--recovery") == ExitCode.PASSPHRASE
    assert f"Set {RECOVERY_VARIABLE}, use --recovery-fd" in made.remarks


def test_a_sheet_is_a_new_page_or_text(made, sheet):
    for name, said in (("sheet.txt", "already"), ("sheet.pdf", "html or .txt")):
        out = made.folder / name
        code = made.run("recovery-sheet", made.project, "--out", out)
        assert code == ExitCode.EXPECTED_ERROR
        assert said in made.remarks
    made.environment[PASSPHRASE_VARIABLE] = "wrong"
    out = made.folder / "another.html"
    assert made.run("recovery-sheet", made.project, "--out", out) == ExitCode.PASSPHRASE
    assert not out.exists()
