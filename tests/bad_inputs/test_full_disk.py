"""A disk that is really full: a small one in memory, which takes the rights to mount it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import DiskFull
from sfumato.project.document.model import TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from tests.bad_inputs.workshop import CHEAP, DIAGNOSES, PASSPHRASE, Workshop
from tests.in_batches import in_batches

ROWS = 60_000
DISK_KILOBYTES = 512


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small disk takes root")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_KILOBYTES}k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this system lets nobody mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def large_table() -> Table:
    return Table(
        pd.DataFrame(
            {
                "number": [f"A{row:06d}" for row in range(ROWS)],
                "age": [20 + row * 7919 % 60 for row in range(ROWS)],
                "diagnosis": pd.Categorical([DIAGNOSES[row % 5] for row in range(ROWS)]),
                # Digits that no format makes small.
                "cost": [row * 0.7390851332151607 for row in range(ROWS)],
            }
        )
    )


def fill(disk: Path) -> Path:
    """Take all the room that is left."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    assert shutil.disk_usage(disk).free == 0
    return filler


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    folder = tmp_path / "work"
    folder.mkdir()
    made = Workshop(folder)
    made.build()
    made.change_document(source=TableSource(str(made.table_path), "0" * 64, ROWS))
    return made


@pytest.mark.few(1)
@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
@pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])
def test_a_release_that_does_not_fit_leaves_nothing_and_can_be_made_elsewhere(
    workshop: Workshop, small_disk: Path, format_name: str, as_zip: bool
):
    table = large_table()
    with workshop.open() as project:
        before = project.ledger.entries
        with pytest.raises(DiskFull):
            make_release(
                project, in_batches(table), "Public", small_disk, format_name, Silent(), as_zip
            )
        assert list(small_disk.iterdir()) == []
        assert project.ledger.entries == before
        made = make_release(
            project,
            in_batches(table),
            "Public",
            workshop.folder / "roomy",
            format_name,
            Silent(),
            as_zip,
        )
    assert made.path.exists()


def test_a_project_on_a_full_disk_keeps_what_was_saved_and_saves_again_with_room(
    workshop: Workshop, small_disk: Path
):
    path = small_disk / "project.sfumato"
    document = workshop.document()
    ProjectFile.create(path, PASSPHRASE, document, cost=CHEAP).close()
    longer = replace(document, title="A title " * 1_000)
    with ProjectFile.open(path, PASSPHRASE) as project:
        filler = fill(small_disk)
        with pytest.raises(DiskFull):
            project.save_document(longer)
        assert project.document == document
        filler.unlink()
        project.save_document(longer)
    with ProjectFile.open(path, PASSPHRASE) as project:
        assert project.document == longer


def test_a_project_on_a_full_disk_can_still_be_read(workshop: Workshop, small_disk: Path):
    path = small_disk / "project.sfumato"
    ProjectFile.create(path, PASSPHRASE, workshop.document(), cost=CHEAP).close()
    fill(small_disk)
    with pytest.raises(DiskFull):
        ProjectFile.open(path, PASSPHRASE)
    with ProjectFile.open(path, PASSPHRASE, read_only=True) as project:
        assert project.document == workshop.document()


def test_a_project_that_does_not_fit_is_not_begun(workshop: Workshop, small_disk: Path):
    filler = fill(small_disk)
    with pytest.raises(DiskFull):
        ProjectFile.create(small_disk / "new.sfumato", PASSPHRASE, workshop.document(), cost=CHEAP)
    assert list(small_disk.iterdir()) == [filler]
