"""The command line as a process of its own, as a shell starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.formats.language import asked_for
from tests.project.making import PASSPHRASE

ROOT = Path(__file__).parents[2]


def run(*arguments, descriptor=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        pass_fds=() if descriptor is None else (descriptor,),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_main_job_runs_in_processes(line):
    reading, writing = os.pipe()
    os.write(writing, PASSPHRASE.encode() + b"\n")
    os.close(writing)
    ended = run(
        *("init", line.project, "--table", line.folder / "ward.csv"),
        *("--rules", line.folder / "rules.toml", "--passphrase-fd", reading),
        descriptor=reading,
    )
    os.close(reading)
    assert (ended.returncode, ended.stdout.strip()) == (0, str(line.project)), ended.stderr
    out, accept = line.folder / "out", ("--accept", "a test")
    secret = {"SFUMATO_PASSPHRASE": PASSPHRASE}
    ended = run("release", line.project, "--recipient", "Clinic A", "--out", out, *accept, **secret)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    ended = run("verify", ended.stdout.strip(), "--project", line.project, **secret)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("Verified.\n")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_without_a_terminal_nobody_is_asked(made):
    environment = {k: v for k, v in os.environ.items() if k != "SFUMATO_PASSPHRASE"}
    ended = subprocess.run(
        [sys.executable, "-m", "sfumato", "ledger", str(made.project)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == ExitCode.PASSPHRASE
    assert "Traceback" not in ended.stderr


HEAVY = ("PySide6", "matplotlib", "scipy.stats", "pandas", "pyarrow", "numpy")


def imported_by(*runs):
    """Return the modules that commands have imported in the end, one after the other."""
    code = (
        "import json, sys; from sfumato.cli import main;"
        " codes = [main(each) for each in json.loads(sys.argv[1])];"
        " print(*sys.modules, sep='\\n', file=sys.stderr); sys.exit(any(codes))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, json.dumps([list(map(str, each)) for each in runs])],
        cwd=ROOT,
        env={**os.environ, "SFUMATO_PASSPHRASE": PASSPHRASE},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ended.stderr.split())


def test_help_imports_nothing_that_takes_time():
    imported = imported_by(["--version"], ["--help"], ["release", "--help"])
    assert "sfumato.commands.release" in imported
    assert imported.isdisjoint(HEAVY)


def test_no_command_imports_what_it_works_with_before_it_runs():
    code = (
        "import sys; from sfumato.commands import command_called, COMMANDS;"
        " [command_called(name) for name in COMMANDS];"
        " print(*sys.modules, sep='\\n')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = ended.stdout.split()
    assert "sfumato.commands.columns" in imported
    assert set(HEAVY).isdisjoint(imported)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_command_imports_the_mechanisms_of_its_project_alone(made):
    imported = imported_by(["policy", made.project])
    assert "sfumato.engine.mechanisms.uniform.mechanism" in imported
    others = {"laplace.mechanism", "reconstruction.mechanism", "hierarchical"}
    assert imported.isdisjoint(f"sfumato.engine.mechanisms.{name}" for name in others)
    assert "sfumato.formats.bundles.datapackage" not in imported


@pytest.mark.slow
def test_a_command_imports_the_reader_of_its_source_alone(made):
    imported = imported_by(["risk", made.project])
    assert "sfumato.formats.tables.delimited" in imported
    assert imported.isdisjoint(f"sfumato.formats.tables.{name}" for name in ("excel", "parquet"))
    assert imported.isdisjoint(("sfumato.formats.tables.statistical", "pyarrow.parquet"))
    assert imported.isdisjoint(("matplotlib", "PySide6", "scipy.stats", "scipy.optimize"))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_commands_that_need_no_table_import_no_pandas(made):
    commands = ("policy", "recipients", "attributes", "rules", "terms", "ledger", "seal")
    imported = imported_by(*([command, made.project] for command in commands))
    assert "sfumato.project.project_file" in imported
    assert "pandas._libs" not in imported


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_reader_that_has_had_enough_is_no_fault(made):
    ended = subprocess.run(
        f'"{sys.executable}" -m sfumato rules "{made.project}" | head -c 1',
        shell=True,
        cwd=ROOT,
        env={**os.environ, "SFUMATO_PASSPHRASE": PASSPHRASE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == "#"
    assert ended.stderr == ""


def test_the_window_speaks_the_language_that_the_command_line_asks_for(made, monkeypatch):
    application = pytest.importorskip("sfumato.ui.shell.application")
    asked = []
    monkeypatch.setattr(application, "run_window", lambda _path: asked.append(asked_for()) or 0)
    assert made.run("--language", "de", "open", made.project) == ExitCode.OK
    assert made.run("open", made.project, "--language=de") == ExitCode.OK
    assert made.run("open", made.project) == ExitCode.OK
    assert asked == ["de", "de", ""]


def test_the_window_is_opened_with_or_without_a_project(made, monkeypatch):
    application = pytest.importorskip("sfumato.ui.shell.application")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    del os.environ["OPENBLAS_NUM_THREADS"]
    opened = []
    monkeypatch.setattr(application, "run_window", lambda path: opened.append(path) or 0)
    assert made.run() == ExitCode.OK
    assert made.run("open", made.project) == ExitCode.OK
    assert made.run("open") == ExitCode.OK
    assert made.run(made.project) == ExitCode.OK
    table = made.project.with_name("more.csv")
    table.write_text("age\n7\n", encoding="utf-8")
    assert made.run(table) == ExitCode.OK
    assert opened == [None, made.project, None, made.project, table]
    assert made.run(table.with_name("fewer.csv")) == ExitCode.USAGE
    assert made.run("open", table.with_name("fewer.csv")) == ExitCode.EXPECTED_ERROR
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
