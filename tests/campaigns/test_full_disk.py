"""Every writer on a disk that takes only so many bytes: whole files, or none and the old one.

The limit is the system's on the size of a file (RLIMIT_FSIZE), which needs no rights and fails
where the byte is written, as a full disk does. Where a small disk can be mounted,
`tests/bad_inputs/test_full_disk.py` fills a real one.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfumato.cli import main
from sfumato.commands.demo import _copied_sample
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, ExitCode, Terminal
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import DiskFull
from sfumato.formats.files import write_whole
from sfumato.formats.hierarchies import write_hierarchy
from sfumato.formats.reading import write_table
from sfumato.plots.coalitions import build_collusion_bars
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile, copy_project
from sfumato.project.release.release import make_release
from sfumato.project.rules.text import rules_of
from sfumato.report.material import ReportOptions, collect
from sfumato.report.sections import compose
from sfumato.report.writing import draw, picture_kind, write_report
from sfumato.ui.widgets.plot_view import PlotView
from tests.campaigns import chance, runs, slow, tell
from tests.campaigns.limits import files_no_longer_than, needs_limits
from tests.in_batches import in_batches
from tests.plots import data
from tests.project import adopting
from tests.project.making import CHEAP, PASSPHRASE, document, new_project, noon, table

pytestmark = [slow, needs_limits]
FIXED = (0, 1, 4_096, 12_288)
"""Limits at which a PDF report once said that it was written."""


@dataclass(frozen=True)
class Writer:
    """Something that writes one file.

    Parameters
    ----------
    name
        The file's.
    write
        Writes it.
    replaces
        Whether it takes the place of a file of this name.
    """

    name: str
    write: Callable[[Path], object]
    replaces: bool = True


def _table() -> Table:
    at = np.arange(4_000)
    return Table(
        pd.DataFrame(
            {
                "person": [f"P{i:06d}" for i in at],
                "sex": pd.Categorical([("f", "m")[i % 2] for i in at]),
                "illness": pd.Categorical([("asthma", "cold", "flu", "gout")[i % 4] for i in at]),
                "cost": at * 0.7390851332151607,  # digits that no format makes small
            }
        )
    )


def _of_table(format_name: str) -> Callable[[Path], Writer]:
    def made(_work: Path) -> Writer:
        rows = _table()
        return Writer(
            f"table.{format_name}", lambda path: write_table(rows, path, format_name, Silent())
        )

    return made


def _of_report(name: str) -> Callable[[Path], Writer]:
    def made(work: Path) -> Writer:
        with new_project(work) as project:
            make_release(project, in_batches(table()), "Clinic A", work / "out", "csv", Silent())
            material = collect(project, in_batches(table()), noon, Silent())
        report = compose(material, ReportOptions())
        pictures = [draw(picture, picture_kind(Path(name))) for picture in report.pictures]
        return Writer(name, lambda path: write_report(report, pictures, path))

    return made


def _of_hierarchy(_work: Path) -> Writer:
    rows = [(str(number), f"{number // 10 * 10}s", "all") for number in range(3_000)]
    return Writer("ages.csv", lambda path: write_hierarchy(path, rows))


def _of_rules(_work: Path) -> Writer:
    return Writer(
        "ward.toml", lambda path: write_whole(path, rules_of(document(), path.parent).encode())
    )


def _of_plot(kind: str) -> Callable[[Path], Writer]:
    def made(_work: Path) -> Writer:
        view = PlotView(None)
        view.resize(600, 360)
        view.show_plot(partial(build_collusion_bars, data.collusion()))
        view.draw_now()
        return Writer(f"plot.{kind}", view.save_as)

    return made


def _of_new_project(_work: Path) -> Writer:
    def create(path: Path) -> None:
        ProjectFile.create(path, PASSPHRASE, document(), cost=CHEAP, clock=noon).close()

    return Writer("new.sfumato", create, replaces=False)


def _of_copied_project(work: Path) -> Writer:
    new_project(work).close()

    def copy(path: Path) -> None:
        with ProjectFile.open(work / "ward.sfumato", PASSPHRASE, read_only=True) as project:
            copy_project(project, path)

    return Writer("copy.sfumato", copy, replaces=False)


def _of_sample(_work: Path) -> Writer:
    return Writer("clinic.csv", lambda path: _copied_sample(path.parent))


WRITERS = {
    **{f"a table as {kind}": _of_table(kind) for kind in ("csv", "parquet", "sav", "dta")},
    **{f"a report as {name}": _of_report(f"report.{name}") for name in ("html", "pdf")},
    **{f"a plot as {kind}": _of_plot(kind) for kind in ("png", "svg", "csv")},
    "a hierarchy": _of_hierarchy,
    "rules": _of_rules,
    "a new project": _of_new_project,
    "a copy of a project": _of_copied_project,
    "the sample": _of_sample,
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("what", WRITERS)
def test_a_file_is_whole_or_not_there_and_the_old_one_stays(what, tmp_path, themed):
    work, disk = tmp_path / "work", tmp_path / "disk"
    work.mkdir()
    disk.mkdir()
    writer = WRITERS[what](work)
    target = disk / writer.name
    writer.write(target)
    full = target.stat().st_size
    target.unlink()
    draws = chance(f"full disk, {what}")
    limits = {*FIXED, full - 1, *(draws.randrange(full) for _ in range(runs(5)))}
    for number, limit in enumerate(sorted(each for each in limits if each < full)):
        old = b"what was there before" if writer.replaces and number % 2 else None
        if old is not None:
            target.write_bytes(old)
        with files_no_longer_than(limit), pytest.raises(DiskFull):
            writer.write(target)
        assert [path.name for path in disk.iterdir()] == ([] if old is None else [writer.name])
        assert old is None or target.read_bytes() == old
        target.unlink(missing_ok=True)
    writer.write(target)
    assert target.stat().st_size == full


@pytest.mark.turns(4)
@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
@pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])
def test_a_release_is_whole_or_gone_and_can_be_made_later(
    tmp_path, format_name, as_zip, monkeypatch
):
    rows = _table()
    settled = document(
        source=replace(document().source, rows=rows.rows),
        columns=(*document().columns, replace(document().columns[0], name="cost")),
    )
    new_project(tmp_path, settled).close()
    base = (tmp_path / "ward.sfumato").read_bytes()
    draws = chance(f"full disk, release as {format_name}, zip {as_zip}")
    limits = [*FIXED, *(draws.randrange(200_000) for _ in range(runs(5)))]
    for number, limit in enumerate(limits):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "notes"))  # each is a copy of one project
        (folder / "ward.sfumato").write_bytes(base)
        out = folder / "out"
        with ProjectFile.open(folder / "ward.sfumato", PASSPHRASE, clock=noon) as project:
            made = None
            try:
                with files_no_longer_than(limit):
                    made = make_release(
                        project, in_batches(rows), "Clinic A", out, format_name, Silent(), as_zip
                    )
            except DiskFull:
                pass
        with ProjectFile.open(folder / "ward.sfumato", PASSPHRASE, clock=noon) as project:
            project.ledger.verify_chain()
            if made is None:
                assert not out.exists() or list(out.iterdir()) == []
                made = make_release(
                    project, in_batches(rows), "Clinic A", out, format_name, Silent(), as_zip
                )
            assert list(out.iterdir()) == [made.path]
            assert project.releases[-1].state == "completed"


@pytest.mark.parametrize("by", ["key", "rows"])
def test_a_release_is_adopted_whole_or_not_at_all(tmp_path, by, monkeypatch):
    people = adopting.ward(400)
    earlier = adopting.randomized(people.frame["illness"], 0.7, 1)
    people.frame.to_csv(tmp_path / "ward.csv", index=False)
    adopting.write_release(tmp_path / "earlier.csv", people, earlier)
    (tmp_path / "rules.toml").write_text(_RULES, encoding="utf-8")
    project, notes = tmp_path / "ward.sfumato", tmp_path / "notes"
    monkeypatch.setenv("XDG_STATE_HOME", str(notes))
    monkeypatch.setitem(ProjectFile.create.__func__.__kwdefaults__, "cost", CHEAP)
    files = ["--table", str(tmp_path / "ward.csv"), "--rules", str(tmp_path / "rules.toml")]
    assert _ran("init", str(project), *files)[0] == ExitCode.OK
    given = ["--file", str(tmp_path / "earlier.csv"), "--level", "0.7", "--match", by]
    command = ["adopt", str(project), "--attribute", "illness", *given, "--holder", "Old Clinic"]
    base, before = project.read_bytes(), _document_of(project)
    there = {path.name for path in tmp_path.iterdir()}
    draws = chance(f"full disk, adopt by {by}")
    usual = [*FIXED, len(base) - 1, len(base), len(base) + 4_096]
    ended = []
    for limit in (*usual, *(draws.randrange(len(base) + 32_000) for _ in range(runs(5)))):
        project.write_bytes(base)
        shutil.rmtree(notes, ignore_errors=True)  # each is a copy of one project
        with files_no_longer_than(limit):
            code, said = _ran(*command)
        tell(said)  # not under the limit: what pytest keeps is a file, too
        ended.append(code)
        assert ended[-1] in {ExitCode.OK, ExitCode.EXPECTED_ERROR}
        adopted = _document_of(project) != before
        assert adopted == (ended[-1] == ExitCode.OK)
        assert {path.name for path in tmp_path.iterdir()} - {notes.name} == there - {notes.name}
        if not adopted:
            assert _ran(*command)[0] == ExitCode.OK
            assert _document_of(project) != before
    tell(f"{len(ended)} runs: {ended.count(ExitCode.OK)} adopted")
    assert ExitCode.EXPECTED_ERROR in ended


_RULES = """\
format = 1
record_key = "person"

[columns.person]
role = "identifying"

[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["asthma", "cold", "flu", "gout", "measles"]

[[policy]]
attributes = ["illness"]
mechanism = "uniform"

[[recipients]]
name = "Clinic A"
[recipients.levels]
illness = { retention_probability = 0.6 }
"""


def _ran(*arguments: str) -> tuple[int, str]:
    said = io.StringIO()
    terminal = Terminal(said, said, io.StringIO(), {PASSPHRASE_VARIABLE: PASSPHRASE})
    code = main(list(arguments), terminal)
    return int(code), said.getvalue()


def _document_of(path: Path) -> Document:
    with ProjectFile.open(path, PASSPHRASE, clock=noon) as project:
        project.ledger.verify_chain()
        return project.document


def test_a_project_keeps_what_was_saved_last(tmp_path):
    new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    longer = document(title="A title " * 4_000)
    draws = chance("full disk, saving")
    size = path.stat().st_size
    for limit in (*FIXED, size, *(draws.randrange(size + 32_000) for _ in range(runs(5)))):
        with ProjectFile.open(path, PASSPHRASE, clock=noon) as project:
            project.save_document(document())
            saved = False
            try:
                with files_no_longer_than(limit):
                    project.save_document(longer)
                    saved = True
            except DiskFull:
                pass
        with ProjectFile.open(path, PASSPHRASE, clock=noon) as project:
            assert project.document == (longer if saved else document())
            project.ledger.verify_chain()
