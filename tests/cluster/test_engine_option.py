"""``sfumato release --engine``: the bundle of an engine's rows is that of the project's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.commands.shared import engines
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, ExitCode
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.reading import write_table
from sfumato.project.project_file import ProjectFile
from tests.cli.conftest import REASON, RULES, CommandLine, cheap_passphrases
from tests.cluster.sent import SHORT_LIVED
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


ARROW = pa.Table.from_pandas(table(40).frame, preserve_index=False)


def made_from(folder, rows=ARROW, rules=RULES, ending="parquet"):
    """The command line with a project whose table is in Parquet files, or one of another format."""
    place = folder / "parts"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for number in range(2):
        pa.parquet.write_table(rows.slice(20 * number, 20), place / f"{number}.parquet")
    if ending != "parquet":
        place = folder / f"ward.{ending}"
        write_table(Table(rows.to_pandas()), place, ending, Silent())
    (folder / "rules.toml").write_text(rules)
    made = CommandLine(folder, {PASSPHRASE_VARIABLE: PASSPHRASE})
    made.project.unlink(missing_ok=True)
    arguments = ("--table", place, "--rules", folder / "rules.toml")
    assert made.run("init", made.project, *arguments) == ExitCode.OK, made.remarks
    return made


@pytest.fixture
def line(tmp_path):
    return made_from(tmp_path)


@pytest.fixture
def here(monkeypatch):
    """Dask works in this process."""
    dask = pytest.importorskip("dask")

    def made(*given):
        with dask.config.set(scheduler="sync"):
            engines.write_by_dask(*given)

    monkeypatch.setitem(engines.MAKERS, "dask", made)


def releasing(line, engine, folder, *more):
    """Start a release in a process of its own, which ends with all that the engine starts."""
    words = ("release", line.project, "--recipient", "Clinic A", "--out", folder)
    return subprocess.Popen(
        [sys.executable, "-m", "sfumato", *map(str, words), "--engine", engine, *more],
        env={
            **os.environ,
            **SHORT_LIVED,
            **line.environment,
            "PYTHONPATH": str(ROOT / "app"),
        },
        cwd=line.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def released(line, engine, folder, *more):
    """Run such a release to its end."""
    process = releasing(line, engine, folder, *more)
    output, remarks = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, output, remarks)


def java_of(parent):
    """Return the Java that a process has started, by its number; None while there is none."""
    listing = ["ps", "-eo", "pid=,ppid=,comm="]
    told = subprocess.run(listing, check=True, capture_output=True, text=True)
    rows = [line.split(None, 2) for line in told.stdout.splitlines()]
    below = {str(parent)}
    for pid, above, _ in sorted(rows, key=lambda row: int(row[0])):
        if above in below:
            below.add(pid)
    return next((int(pid) for pid, _, name in rows if pid in below and name == "java"), None)


def of_houses():
    """Rows that belong to units, whose order is not that of their files' sizes."""
    frame = table(40).frame.assign(house=[f"H{row % 13}" for row in range(40)])
    unit = 'columns = ["house"]\nmost_rows = 2\nconstant = []\n'
    rules = f'{RULES}\n[columns.house]\nrole = "identifying"\n\n[unit]\n{unit}'
    return pa.Table.from_pandas(frame, preserve_index=False), rules


@pytest.mark.slow
@pytest.mark.queued
@pytest.mark.parametrize("engine", ENGINES)
def test_bundles_of_an_engines_rows_are_the_projects_own(tmp_path, engine):
    # The parts are read by the same code on both; texts on the one that starts sooner.
    ending = "csv" if engine == "dask" else "parquet"
    line = made_from(tmp_path, ending=ending)
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
@pytest.mark.queued
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_holds_back_the_rows_of_a_unit_that_the_project_does(tmp_path, engine):
    line = made_from(tmp_path, *of_houses())
    assert line.run("row-order", line.project, "--as-in-table", REASON) == ExitCode.OK, line.remarks
    assert line.release("Clinic A", "--format", "parquet") == ExitCode.OK, line.remarks
    more = ("--format", "parquet", "--accept", REASON)
    ran = released(line, engine, line.folder / "by-engine", *more)
    assert ran.returncode == ExitCode.OK, ran.stderr
    [own], [made] = line.bundles(), sorted((line.folder / "by-engine").iterdir())
    assert pa.parquet.read_metadata(own / "data.parquet").num_rows == 26
    assert (made / "data.parquet").read_bytes() == (own / "data.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.queued
@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize("point", ["begun", "at work"])
def test_where_java_is_killed_nothing_is_released_and_it_is_said(tmp_path, engine, point):
    line = made_from(tmp_path)
    before = sorted(each.name for each in tmp_path.iterdir())
    out = tmp_path / "by-engine"
    process = releasing(line, engine, out, "--format", "parquet", "--accept", REASON)
    while process.poll() is None:
        java = java_of(process.pid)
        if java is not None and (point == "begun" or any(tmp_path.rglob("blockmgr-*"))):
            os.kill(java, signal.SIGKILL)
            break
    _, remarks = process.communicate(timeout=300)
    assert process.returncode == ExitCode.EXPECTED_ERROR, remarks
    assert "Spark ended before all rows were made" in remarks
    assert sorted(each.name for each in tmp_path.iterdir()) == before
    with ProjectFile.open(line.project, PASSPHRASE, read_only=True) as project:
        assert project.releases == ()


@pytest.mark.few(1)
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_with_an_engine_the_table_is_never_read_as_a_whole(tmp_path, monkeypatch, ending):
    def refuse(*_):
        raise AssertionError("the whole table was read")

    line = made_from(tmp_path, ending=ending)
    assert line.release("Clinic A", "--format", "parquet") == ExitCode.OK, line.remarks
    [own] = line.bundles()
    data = (own / "data.parquet").read_bytes()
    shutil.rmtree(own)
    monkeypatch.setattr("sfumato.commands.shared.opening.source_of", refuse)
    more = ("--format", "parquet", "--engine", "dask")
    assert line.release("Clinic A", *more) == ExitCode.OK, line.remarks
    [again] = line.bundles()
    assert (again / "data.parquet").read_bytes() == data
    assert sorted(each.name for each in again.iterdir() if each.name.startswith(".")) == []


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_an_engines_rows_are_put_into_a_zip_file_too(line):
    bundles = []
    for name, engine in (("own", ()), ("by engine", ("--engine", "dask"))):
        out = ("--out", line.folder / name, "--accept", REASON, "--zip", *engine)
        code = line.run("release", line.project, "--recipient", "Clinic A", *out)
        assert code == ExitCode.OK, line.remarks
        [bundle] = (line.folder / name).iterdir()
        assert bundle.suffix == ".zip"
        with ZipFile(bundle) as packed:
            bundles.append(
                {each: packed.read(each) for each in packed.namelist() if "package" not in each}
            )
    assert bundles[0] == bundles[1]


@pytest.mark.few(1)
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("engine", ["Dask", "Sfumato"])
def test_classes_are_counted_before_the_rows_are_made(line, engine):
    named = ("--engine", "dask") if engine == "Dask" else ()
    assert line.release("Clinic A", *named, "--count-classes") == ExitCode.OK, line.remarks
    frame = ARROW.to_pandas()
    sizes, kinds = frame.groupby("sex").size(), frame.groupby("sex")["illness"].nunique()
    assert f"{engine} counted 40 records in {len(sizes)} classes" in line.remarks
    assert f"the smallest has {sizes.min()}, and 0 records are unique" in line.remarks
    assert kinds.min() == 1
    assert "illness: 1 value or more in each class (l), as mixed as 1" in line.remarks
    assert len(line.bundles()) == 1


@pytest.mark.parametrize("format_name", ["sav", "dta"])
def test_a_format_that_is_made_in_memory_is_refused_with_an_engine(line, format_name):
    assert line.release("Clinic A", "--format", format_name, "--engine", "dask") != ExitCode.OK
    assert "Choose Parquet or CSV, or release without --engine." in line.remarks
    assert line.bundles() == []


def test_rows_told_apart_by_their_position_are_refused_with_an_engine(tmp_path):
    line = made_from(tmp_path, rules=RULES.replace('record_key = "person"\n', ""))
    assert line.release("Clinic A", "--engine", "dask") == ExitCode.EXPECTED_ERROR
    assert "told apart by their position" in line.remarks
    assert "Release without --engine." in line.remarks


def test_a_table_that_an_engine_does_not_read_is_refused_with_what_to_do(tmp_path):
    line = made_from(tmp_path, ending="dta")
    assert line.release("Clinic A", "--engine", "dask") == ExitCode.EXPECTED_ERROR
    assert "this one is read as dta" in line.remarks
    assert "Write the table as Parquet or CSV" in line.remarks
    assert line.bundles() == []


def test_an_engine_that_is_not_installed_is_named_with_how_to_install_it(line, monkeypatch):
    monkeypatch.setattr("sfumato.commands.shared.engines.find_spec", lambda _: None)
    assert line.release("Clinic A", "--engine", "spark") == ExitCode.EXPECTED_ERROR
    assert "Spark is not installed" in line.remarks
    assert 'pip install "sfumato[spark]"' in line.remarks


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.usefixtures("here")
def test_a_column_that_leaves_alone_is_made_by_an_engine_too(tmp_path):
    line = made_from(tmp_path, rules=RULES.replace("quasi-identifier", "identifying"))
    bundles = []
    for name, engine in (("own", ()), ("by engine", ("--engine", "dask"))):
        out = ("--out", line.folder / name, "--accept", REASON, "--format", "csv", *engine)
        code = line.run("release", line.project, "--recipient", "Clinic A", *out)
        assert code == ExitCode.OK, line.remarks
        [bundle] = (line.folder / name).iterdir()
        bundles.append((bundle / "data.csv").read_bytes())
    assert bundles[0] == bundles[1]
    assert bundles[0].startswith(b'"illness"\r\n')
