"""``sfumato release --engine``: the bundle of an engine's rows is that of the project's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.commands.shared import engines
from sfumato.commands.shared.command import ExitCode
from sfumato.commands.shared.terminal import PASSPHRASE_VARIABLE
from sfumato.project.project_file import ProjectFile
from tests.cli.conftest import REASON, RULES, CommandLine, cheap_passphrases
from tests.project.making import PASSPHRASE, table
from tests.source_code import ROOT

__all__ = ["cheap_passphrases"]

ENGINES = [
    pytest.param("dask", marks=pytest.mark.skipif(not find_spec("distributed"), reason="no Dask")),
    pytest.param(
        "spark",
        marks=pytest.mark.skipif(
            not (find_spec("pyspark") and shutil.which("java")), reason="no Spark or no Java"
        ),
    ),
]


pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture
def line(tmp_path):
    """The command line with a project whose table is in Parquet files."""
    (tmp_path / "parts").mkdir()
    whole = pa.Table.from_pandas(table(40).frame, preserve_index=False)
    for number in range(2):
        part = whole.slice(20 * number, 20)
        pa.parquet.write_table(part, tmp_path / "parts" / f"{number}.parquet")
    (tmp_path / "rules.toml").write_text(RULES)
    made = CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})
    arguments = ("--table", tmp_path / "parts", "--rules", tmp_path / "rules.toml")
    assert made.run("init", made.project, *arguments) == ExitCode.OK, made.remarks
    return made


def released(line, engine, folder, *more):
    """Run a release in a process of its own, which ends with all that the engine starts."""
    words = ("release", line.project, "--recipient", "Clinic A", "--out", folder)
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *map(str, words), "--engine", engine, *more],
        env={**os.environ, **line.environment, "PYTHONPATH": str(ROOT / "app")},
        cwd=line.folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("engine", ENGINES)
def test_bundles_of_an_engines_rows_are_the_projects_own(line, engine):
    both = ("--recipient", "Institute B", "--format", "parquet")
    assert line.release("Clinic A", *both) == ExitCode.OK, line.remarks
    ran = released(line, engine, line.folder / "by-engine", *both)
    assert ran.returncode == ExitCode.OK, ran.stderr
    bundles = zip(line.bundles(), sorted((line.folder / "by-engine").iterdir()), strict=True)
    for own, made in bundles:
        assert made.name == own.name
        assert (made / "data.parquet").read_bytes() == (own / "data.parquet").read_bytes()
        assert (made / "README.md").read_bytes() == (own / "README.md").read_bytes()
    with ProjectFile.open(line.project, PASSPHRASE, read_only=True) as project:
        first, _, again, _ = project.releases
        assert (first.release_id, first.digest) == (again.release_id, again.digest)
    assert line.run("verify", made, "--project", line.project) == ExitCode.OK, line.output


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_holds_back_the_rows_of_a_unit_that_the_project_does(line, engine):
    frame = table(40).frame.assign(house=[f"H{row % 13}" for row in range(40)])
    shutil.rmtree(line.folder / "parts")
    (line.folder / "parts").mkdir()
    frame.to_parquet(line.folder / "parts" / "0.parquet", index=False, row_group_size=10)
    unit = 'columns = ["house"]\nmost_rows = 2\nconstant = []\n'
    rules = f'{RULES}\n[columns.house]\nrole = "identifying"\n\n[unit]\n{unit}'
    (line.folder / "rules.toml").write_text(rules)
    line.project.unlink()
    arguments = ("--table", line.folder / "parts", "--rules", line.folder / "rules.toml")
    assert line.run("init", line.project, *arguments) == ExitCode.OK, line.remarks
    assert line.release("Clinic A", "--format", "parquet") == ExitCode.OK, line.remarks
    more = ("--format", "parquet", "--accept", REASON)
    ran = released(line, engine, line.folder / "by-engine", *more)
    assert ran.returncode == ExitCode.OK, ran.stderr
    [own], [made] = line.bundles(), sorted((line.folder / "by-engine").iterdir())
    assert pa.parquet.read_metadata(own / "data.parquet").num_rows == 26
    assert (made / "data.parquet").read_bytes() == (own / "data.parquet").read_bytes()


def test_with_an_engine_the_table_is_never_read_as_a_whole(line, monkeypatch):
    def refuse(*_):
        raise AssertionError("the whole table was read")

    def made(files, plan, source, scratch):
        with dask.config.set(scheduler="sync"):
            engines.write_by_dask(files, plan, source, scratch)

    dask = pytest.importorskip("dask")
    assert line.release("Clinic A", "--format", "parquet") == ExitCode.OK, line.remarks
    [own] = line.bundles()
    data = (own / "data.parquet").read_bytes()
    shutil.rmtree(own)
    monkeypatch.setattr("sfumato.commands.shared.opening.source_of", refuse)
    monkeypatch.setitem(engines.MAKERS, "dask", made)
    more = ("--format", "parquet", "--engine", "dask")
    assert line.release("Clinic A", *more) == ExitCode.OK, line.remarks
    [again] = line.bundles()
    assert (again / "data.parquet").read_bytes() == data
    assert sorted(each.name for each in again.iterdir() if each.name.startswith(".")) == []


def test_a_format_that_is_made_in_memory_is_refused_with_an_engine(line):
    assert line.release("Clinic A", "--format", "sav", "--engine", "dask") != ExitCode.OK
    assert "Choose Parquet or CSV, or release without --engine." in line.remarks
    assert line.bundles() == []


def test_rows_told_apart_by_their_position_are_refused_with_an_engine(line):
    rules = RULES.replace('record_key = "person"\n', "")
    (line.folder / "rules.toml").write_text(rules)
    other = CommandLine(line.folder / "other", line.environment)
    other.folder.mkdir()
    arguments = ("--table", line.folder / "parts", "--rules", line.folder / "rules.toml")
    assert other.run("init", other.project, *arguments) == ExitCode.OK, other.remarks
    assert other.release("Clinic A", "--engine", "dask") == ExitCode.EXPECTED_ERROR
    assert "told apart by their position" in other.remarks
    assert "Release without --engine." in other.remarks


def test_a_table_that_an_engine_does_not_read_is_refused_with_what_to_do(line):
    table(40).frame.to_csv(line.folder / "ward.csv", index=False)
    arguments = ("--table", line.folder / "ward.csv", "--rules", line.folder / "rules.toml")
    other = CommandLine(line.folder / "other", line.environment)
    other.folder.mkdir()
    assert other.run("init", other.project, *arguments) == ExitCode.OK, other.remarks
    assert other.release("Clinic A", "--engine", "dask") == ExitCode.EXPECTED_ERROR
    assert "Parquet" in other.remarks
    assert other.bundles() == []


def test_an_engine_that_is_not_installed_is_named_with_how_to_install_it(line, monkeypatch):
    monkeypatch.setattr("sfumato.commands.shared.engines.find_spec", lambda _: None)
    assert line.release("Clinic A", "--engine", "spark") == ExitCode.EXPECTED_ERROR
    assert "Spark is not installed" in line.remarks
    assert 'pip install "sfumato[spark]"' in line.remarks


def test_a_column_that_leaves_alone_is_made_by_an_engine_too(line, monkeypatch):
    def made(files, plan, source, scratch):
        with dask.config.set(scheduler="sync"):
            engines.write_by_dask(files, plan, source, scratch)

    dask = pytest.importorskip("dask")
    rules = line.folder / "rules.toml"
    rules.write_text(RULES.replace("quasi-identifier", "identifying"))
    line.project.unlink()
    given = ("--table", line.folder / "parts", "--rules", rules)
    assert line.run("init", line.project, *given) == ExitCode.OK, line.remarks
    monkeypatch.setitem(engines.MAKERS, "dask", made)
    bundles = []
    for name, engine in (("own", ()), ("by engine", ("--engine", "dask"))):
        out = ("--out", line.folder / name, "--accept", REASON, "--format", "csv", *engine)
        code = line.run("release", line.project, "--recipient", "Clinic A", *out)
        assert code == ExitCode.OK, line.remarks
        [bundle] = (line.folder / name).iterdir()
        bundles.append((bundle / "data.csv").read_bytes())
    assert bundles[0] == bundles[1]
    assert bundles[0].startswith(b'"illness"\r\n')
