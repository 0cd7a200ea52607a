from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from PySide6.QtCore import QRect, Qt

from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, ExitCode
from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import detect_options
from sfumato.project.ledger import ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.source import read_source
from sfumato.ui import pictures
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.releases.order_card import LEVELS
from sfumato.ui.pictures import draw
from sfumato.ui.widgets.tables import CELL_MARGINS
from tests.cli.conftest import CommandLine
from tests.project.making import PASSPHRASE


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The command line that made a demo, once for all that look at it, and what it said.

    Without a passphrase a demo makes one up and shows it.
    """
    line = CommandLine(tmp_path_factory.mktemp("shown"))
    out = line.folder / "demo"
    assert line.run("demo", "--out", out, "--no-pictures") == ExitCode.OK, line.remarks
    (passphrase,) = (said for said in line.output.splitlines() if said.startswith("Passphrase"))
    line.environment[PASSPHRASE_VARIABLE] = passphrase.split(": ")[1]
    return line


@pytest.mark.turns(1)
@pytest.mark.slow
def test_the_demo_does_the_whole_work_on_the_sample(shown):
    line, out = shown, shown.folder / "demo"
    assert line.output.endswith("The demo is done.\n")
    bundles = sorted((out / "bundles").iterdir())
    assert len(bundles) == 3
    for bundle in bundles:
        assert f"Released  {bundle}" in line.output
        assert f"Verified  {bundle}" in line.output
        assert len(pd.read_csv(bundle / "data.csv")) == 10_000
    assert "about nobody" in line.remarks
    with ProjectFile.open(out / "clinic.sfumato", line.environment[PASSPHRASE_VARIABLE]) as project:
        states = [release.state for release in project.releases]
        assert states == [ReleaseState.COMPLETED] * 3
        assert project.document.source.path == str(out / "clinic.csv")


@pytest.mark.slow
def test_nobody_stands_out_in_the_files_of_the_demo(shown):
    out = shown.folder / "demo"
    read = {
        k: pd.read_csv(next((out / "bundles").glob(f"*{name}*")) / "data.csv", dtype=str)
        for k, name in ((2, "Regional"), (5, "University"), (20, "Public"))
    }
    quasi = ["sex", "birth_year", "region", "occupation", "admission_date"]
    suppressed = {}
    for k, frame in read.items():
        shown = frame[quasi].fillna("(missing)")
        assert shown.value_counts().min() >= k
        suppressed[k] = int((shown == "*").all(axis=1).sum())
    assert suppressed[2] <= suppressed[5] <= suppressed[20] <= 200
    perturbed = {"ward", "diagnosis", "length_of_stay", "cost"}
    assert set(read[20].columns) == {*quasi, *perturbed}
    package = json.loads(
        (next((out / "bundles").glob("*Public*")) / "datapackage.json").read_text()
    )
    assert {name for names in package["sfumato"]["perturbed"] for name in names} == perturbed
    assert ["length_of_stay", "cost"] in package["sfumato"]["perturbed"]
    assert package["sfumato"]["view"]["k"] == 20


@pytest.mark.slow
def test_a_demo_project_moves_with_its_table(shown):
    line, out = replace(shown), shown.folder / "demo"
    moved = out.rename(line.folder / "moved")
    try:
        assert line.run("source", moved / "clinic.sfumato") == ExitCode.OK
        (bundle, *_) = sorted((moved / "bundles").iterdir())
        assert line.run("verify", bundle, "--project", moved / "clinic.sfumato") == ExitCode.OK
    finally:
        moved.rename(out)


def test_a_demo_never_mixes_with_what_is_there(line):
    assert line.run("demo", "--out", line.folder) == ExitCode.EXPECTED_ERROR
    assert "not empty" in line.remarks
    assert line.run("demo", "--out", line.folder / "ward.csv") == ExitCode.EXPECTED_ERROR


@pytest.mark.slow
def test_the_demo_draws_the_panels(line):
    pytest.importorskip("PySide6")
    out = line.folder / "demo"
    ended = subprocess.run(
        [sys.executable, "-m", "sfumato", "demo", "--out", str(out)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "SFUMATO_PASSPHRASE": PASSPHRASE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == ExitCode.OK, ended.stderr
    pictures = list((out / "pictures").glob("*.png"))
    assert len(pictures) == 12
    assert all(picture.stat().st_size > 10_000 for picture in pictures)


@pytest.mark.slow
def test_rows_of_recipients_are_as_high_as_their_texts_in_its_pictures(
    shown, themed, tmp_path, monkeypatch
):
    """The table is as high as its rows: they resize it while its columns get their widths."""
    heights = []

    def measured(window, folder, name, looks):
        yield from draw(window, folder, name, looks)
        if "releases" in name:
            recipients = window.panels["releases"].form.table
            levels = recipients.model().index(0, LEVELS)
            room = QRect(0, 0, recipients.columnWidth(LEVELS) - CELL_MARGINS, 1000)
            wrapped = Qt.TextFlag.TextWordWrap
            text = recipients.fontMetrics().boundingRect(room, wrapped, levels.data())
            needed = text.height() + Space.INSIDE + Space.TIGHT
            heights.append((recipients.rowHeight(0), needed))

    monkeypatch.setattr(pictures, "draw", measured)
    table, _ = read_source(
        path := shown.folder / "demo" / "clinic.csv", detect_options(path), Silent()
    )
    passphrase = shown.environment[PASSPHRASE_VARIABLE]
    with ProjectFile.open(path.with_suffix(".sfumato"), passphrase, read_only=True) as project:
        pictures.save_pictures(project, table, tmp_path / "pictures")
    assert len(heights) == 2
    assert all(0 <= height - needed < 4 for height, needed in heights)
