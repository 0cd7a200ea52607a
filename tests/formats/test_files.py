"""Files appear whole or not at all; disks and folders that refuse are told."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import CannotOpen, CannotWrite, DiskFull
from sfumato.formats.files import remove_abandoned, remove_all_abandoned, write_whole, written_whole
from sfumato.formats.reading import (
    detect_options,
    digest_of,
    read_table,
    writable_formats,
    write_table,
)
from tests.formats.reading import Watch, reports_of, write

ROWS = {"csv": 200_000, "parquet": 200_000, "sav": 60_000, "dta": 60_000}
"""Enough that each format tells more than once how far it is."""
WRITABLE = list(writable_formats())


@cache
def table_of(rows):
    numbers = np.arange(rows)
    return Table(
        pd.DataFrame(
            {
                "id": numbers,
                "share": numbers / 7,
                "ward": pd.Categorical.from_codes(numbers % 3, ["A", "B", "C"]),
            }
        )
    )


@pytest.fixture
def table(name):
    """A table that is long for the format of the test."""
    return table_of(ROWS[name])


def test_a_digest_is_that_of_all_bytes(tmp_path):
    content = os.urandom(9_000_000)
    (tmp_path / "file").write_bytes(content)
    fractions = reports_of(lambda watch: digest_of(tmp_path / "file", watch))
    assert digest_of(tmp_path / "file", Silent()) == hashlib.sha256(content).hexdigest()
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_a_digest_can_be_stopped(tmp_path):
    (tmp_path / "file").write_bytes(bytes(9_000_000))
    with pytest.raises(Cancelled):
        digest_of(tmp_path / "file", Watch(stop_at=2))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", WRITABLE)
def test_writing_and_reading_report_their_progress(tmp_path, table, name):
    path = tmp_path / f"table.{name}"
    written = reports_of(lambda watch: write_table(table, path, name, watch))
    options = detect_options(path)
    read = reports_of(lambda watch: read_table(path, options, watch))
    for fractions in (written, read):
        assert len(fractions) >= 3
        assert fractions == sorted(fractions)
        assert 0 <= fractions[0] <= fractions[-1] <= 1
        assert fractions[-1] > 0.9


@pytest.mark.parametrize("name", WRITABLE)
def test_writing_that_is_stopped_leaves_nothing(tmp_path, table, name):
    path = tmp_path / f"table.{name}"
    for stop_at in (1, 2):
        with pytest.raises(Cancelled):
            write_table(table, path, name, Watch(stop_at))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.few(2)
@pytest.mark.parametrize("name", WRITABLE)
def test_what_stood_there_before_is_kept_when_writing_is_stopped(tmp_path, table, name):
    path = tmp_path / f"table.{name}"
    path.write_bytes(b"before")
    with pytest.raises(Cancelled):
        write_table(table, path, name, Watch(stop_at=2))
    assert path.read_bytes() == b"before"
    write_table(table, path, name, Silent())
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    assert len(read_table(path, detect_options(path), Silent()).frame) == ROWS[name]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.parametrize("stop_at", [1, 3])
def test_reading_can_be_stopped(tmp_path, table, name, stop_at):
    path = tmp_path / f"table.{name}"
    write_table(table, path, name, Silent())
    options = detect_options(path)
    with pytest.raises(Cancelled):
        read_table(path, options, Watch(stop_at))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", WRITABLE)
def test_the_same_table_gives_the_same_bytes(tmp_path, table, name, monkeypatch):
    first = tmp_path / "first" / f"a.{name}"
    second = tmp_path / "second" / f"b.{name}"
    for path in (first, second):
        path.parent.mkdir()
        write_table(table, path, name, Silent())
        monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.few(2)
@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize("name", WRITABLE)
def test_rows_are_written_in_the_order_that_is_asked_for(tmp_path, table, name):
    order = np.random.default_rng(5).permutation(table.rows)
    ordered = Table(table.frame.iloc[order].reset_index(drop=True))
    write_table(table, tmp_path / f"asked.{name}", name, Silent(), order)
    write_table(ordered, tmp_path / f"stands.{name}", name, Silent())
    assert (tmp_path / f"asked.{name}").read_bytes() == (tmp_path / f"stands.{name}").read_bytes()


def test_a_file_gets_the_usual_permissions(tmp_path):
    usual = tmp_path / "usual"
    usual.touch()
    for name in WRITABLE:
        path = tmp_path / f"table.{name}"
        write_table(table_of(3), path, name, Silent())
        assert stat.S_IMODE(path.stat().st_mode) & ~stat.S_IMODE(usual.stat().st_mode) == 0


@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (errno.ENOSPC, DiskFull, "The disk is full"),
        (errno.EDQUOT, DiskFull, "The disk is full"),
        (errno.EROFS, CannotWrite, "may not write to the folder"),
        (errno.EIO, CannotWrite, "can't be written"),
    ],
)
def test_a_disk_that_refuses_is_told_and_nothing_is_left(
    tmp_path, name, code, error, words, monkeypatch
):
    def refuse(_handle):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(error, match=words):
        write_table(table_of(3), tmp_path / f"table.{name}", name, Silent())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")  # noqa: PTH110
@pytest.mark.parametrize("name", WRITABLE)
def test_a_disk_that_fills_up_while_writing_is_told(tmp_path, table, name, monkeypatch):
    def on_a_full_disk(unfinished):
        unfinished.symlink_to("/dev/full")
        return os.open(unfinished, os.O_RDWR)

    monkeypatch.setattr("sfumato.formats.files.new_private", on_a_full_disk)
    with pytest.raises(CannotWrite, match="disk is full"):
        write_table(table, tmp_path / f"table.{name}", name, Silent())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_nothing_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(CannotWrite, match="may not write to the folder"):
        write_table(table_of(3), tmp_path / "table.csv", "csv", Silent())


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(CannotWrite, match="There is no folder"):
        write_table(table_of(3), tmp_path / "nowhere" / "table.csv", "csv", Silent())


def test_a_file_does_not_take_the_place_of_a_folder(tmp_path):
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(CannotWrite, match="is a folder"):
        write_table(table_of(3), tmp_path / "table.csv", "csv", Silent())


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    path = write(pd.DataFrame({"a": [1]}), tmp_path / "table.csv")

    def refuse(*_args, **_kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(CannotOpen, match="You may not read"):
        detect_options(path)
    with pytest.raises(CannotOpen, match="You may not read"):
        digest_of(path, Silent())


def test_nothing_is_left_after_an_error_of_any_kind(tmp_path):
    def fail():
        with written_whole(tmp_path / "file") as unfinished:
            unfinished.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_killed_writers_left_goes_with_the_next_writing(tmp_path):
    target = tmp_path / "report.pdf"
    left = [tmp_path / f".report.pdf.{digit * 12}.part" for digit in "ab"]
    kept = [tmp_path / ".report.pdf.part", tmp_path / f".other.pdf.{'a' * 12}.part"]
    for path in (*left, *kept):
        path.write_text("begun")
        os.utime(path, (0, 0))
    os.utime(left[1])  # somebody may be writing it now
    write_whole(target, b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([target, left[1], *kept])


WRITER = """
import sys
from pathlib import Path
from sfumato.formats.files import written_whole
with written_whole(Path(sys.argv[1])) as unfinished:
    unfinished.write_bytes(b"begun")
    print(unfinished, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_what_a_living_process_writes_stays_and_what_a_killed_one_left_goes(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path / "report.pdf")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        left = Path(writer.stdout.readline().decode().strip())
        os.utime(left, (0, 0))
        remove_abandoned(tmp_path / "report.pdf")
        remove_all_abandoned(tmp_path)
        assert left.exists()
        writer.kill()
        writer.wait()
        remove_abandoned(tmp_path / "other.pdf")
        assert left.exists()
        os.utime(left)  # it may have been made in this instant
        remove_all_abandoned(tmp_path)
        assert left.exists()
        os.utime(left, (0, 0))
        journal = left.with_name(f"{left.name}-journal")
        journal.touch()
        remove_all_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_second_name_of_a_file_from_its_making_goes_at_once(tmp_path):
    target, second = tmp_path / "ward.sfumato", tmp_path / f".ward.sfumato.{'a' * 12}.part"
    target.write_bytes(b"whole")
    os.link(target, second)
    remove_abandoned(target)
    assert list(tmp_path.iterdir()) == [target]
