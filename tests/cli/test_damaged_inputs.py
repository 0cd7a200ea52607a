"""Commands that are given what no bundle, table or name is: never a fault."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sfumato.commands.shared.command import ExitCode
from tests.formats.hostile_zips import DAMAGED
from tests.formats.workbooks import parts, save, sheet
from tests.project.making import table

LONG = "n" * 300 + ".csv"
DEEP = "d/" * 3_000 + "data.csv"


def entries_of(bundle):
    return {path.name: path.read_bytes() for path in sorted(bundle.iterdir())}


@pytest.mark.slow
def test_a_damaged_zip_is_told(released):
    (bundle,) = released.bundles()
    entries = entries_of(bundle)
    path = released.folder / "given.zip"
    project = ("--project", released.project)
    for damage, make in DAMAGED.items():
        path.write_bytes(make(entries))
        for command in ("verify", "trace"):
            code = released.run(command, path, *project)
            known = {ExitCode.OK, ExitCode.CHECK_FAILED, ExitCode.EXPECTED_ERROR}
            assert code in known, f"{damage}: {released.remarks}"


def commands(made, name):
    """Every command that reads, or writes, a file somebody names."""
    project, rules = made.project, made.folder / "rules.toml"
    return (
        ("verify", name, "--project", project),
        ("trace", name, "--project", project),
        ("ledger", name),
        ("recipients", name),
        ("rules", project, "--apply", name),
        ("source", project, "--moved-to", name),
        ("source", project, "--new-edition", name),
        ("init", made.folder / "other.sfumato", "--table", name, "--rules", rules),
        ("init", made.folder / "other.sfumato", "--table", "ward.csv", "--rules", name),
        ("hierarchy", project, "--column", "sex", "--import", name),
        ("diversity", project, "--population", name),
        ("others", project, "--add", name),
        ("adopt", project, "--attribute", "illness", "--file", name),
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [LONG, DEEP, "a\0b.csv", "a\udcffb.csv", "\ud800", "", "."])
def test_a_name_that_no_file_has_is_told(line, name):
    assert line.init() == ExitCode.OK, line.remarks
    before = line.project.read_bytes()
    for arguments in commands(line, name):
        code = line.run(*arguments)
        assert code not in {ExitCode.OK, ExitCode.FAULT, ExitCode.USAGE}, (arguments, line.remarks)
    assert line.project.read_bytes() == before


@pytest.mark.slow
def test_a_target_that_no_system_takes_is_told(made):
    for target in (made.folder / name for name in (LONG, DEEP, "a\0b")):
        init = made.run("init", target, "--table", "ward.csv", "--rules", "x")
        assert init == ExitCode.EXPECTED_ERROR, made.remarks
        out = ("--out", target, "--accept", "a test")
        assert made.run("release", made.project, "--recipient", "Clinic A", *out) == 3, made.remarks
        assert not made.bundles()


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_what_is_no_regular_file_is_refused_at_once(made):
    pipe, plug = made.folder / "pipe.csv", made.folder / "plug.csv"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(plug) if len(str(plug)) > 100 else str(plug))
        for name in (pipe, plug, "/dev/zero"):
            for arguments in commands(made, name):
                code = made.run(*arguments)
                assert code not in {ExitCode.OK, ExitCode.FAULT}, f"{arguments}: {made.remarks}"


def test_a_pipe_is_called_one(made):
    pipe = made.folder / "pipe.csv"
    os.mkfifo(pipe)
    assert made.run("trace", pipe, "--project", made.project) == ExitCode.EXPECTED_ERROR
    assert "is a pipe, a socket or a device" in made.remarks
    assert "into a file" in made.remarks


def test_a_pipe_in_a_bundle_is_refused_at_once(released):
    (bundle,) = released.bundles()
    (bundle / "data.csv").unlink()
    os.mkfifo(bundle / "data.csv")
    code = released.run("verify", bundle, "--project", released.project)
    assert code in {ExitCode.CHECK_FAILED, ExitCode.EXPECTED_ERROR}
    assert "data.csv" in released.remarks + released.output


def test_rules_that_name_a_hierarchy_with_a_nul_are_refused(made):
    rules = made.folder / "odd.toml"
    for name in ("a\\u0000b.csv", "n" * 300, "d/" * 3_000):
        rules.write_text(
            (made.folder / "rules.toml").read_text()
            + f'\n[generalization]\nquasi_identifiers = ["sex"]\n'
            f'[generalization.hierarchies.sex]\nfile = "{name}"\n'
        )
        assert made.run("rules", made.project, "--apply", rules) == ExitCode.EXPECTED_ERROR, (
            made.remarks
        )


def test_a_zip_of_4_gigabytes_is_refused_before_it_is_unpacked(released):
    (bundle,) = released.bundles()
    path = released.folder / "given.zip"
    path.write_bytes(bytes(DAMAGED["entries of 4 GB"](entries_of(bundle))))
    code = released.run("verify", path, "--project", released.project)
    assert code == ExitCode.CHECK_FAILED
    assert "would unpack to 4,294,967,294 bytes" in released.output


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.skipif(os.name != "posix", reason="names are texts on other systems")
def test_a_name_that_is_no_text_is_refused_or_taken(made):
    odd = os.fsencode(made.folder) + b"/\xff.csv"
    odd = Path(os.fsdecode(odd))
    odd.write_bytes((made.folder / "ward.csv").read_bytes())
    for arguments in commands(made, odd):
        code = made.run(*arguments)
        assert code != ExitCode.FAULT, (arguments, made.remarks)


def test_formulas_without_their_values_are_told_when_a_project_is_made(line):
    rows = table().frame
    header = "".join(
        f'<c r="{chr(65 + i)}1" t="inlineStr"><is><t>{name}</t></is></c>'
        for i, name in enumerate(rows)
    )
    body = ""
    for number, record in enumerate(rows.itertuples(index=False), start=2):
        cells = "".join(
            f'<c r="{chr(65 + i)}{number}" t="inlineStr"><is><t>{value}</t></is></c>'
            for i, value in enumerate(record)
        )
        body += f'<row r="{number}">{cells}</row>'
    body = body.replace('<c r="B3" t="inlineStr"><is><t>', '<c r="B3"><f>"', 1).replace(
        '</t></is></c><c r="C3"', '"</f></c><c r="C3"', 1
    )
    path = save(line.folder / "ward.xlsx", parts(sheet(f'<row r="1">{header}</row>' + body)))
    rules = line.folder / "rules.toml"
    assert line.run("init", line.project, "--table", path, "--rules", rules) == 0, line.remarks
    assert "holds formulas without their values in 1 row" in line.remarks
