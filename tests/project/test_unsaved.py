"""Unsaved work on the disk: encrypted, of one window, whole or not there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace

import pytest

from sfumato.project.document.model import Document, document_to_json
from sfumato.project.errors import UnsavedUnreadable
from sfumato.project.store.unsaved import UnsavedWork, unsaved_in
from tests.project.making import document

WRITER = """
import sys
from pathlib import Path
from dataclasses import replace
from sfumato.project.store.unsaved import UnsavedWork
from tests.project.making import document

work = UnsavedWork(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    work.document = replace(document(), title=f"version {number}")
    work.write()
    print(number, flush=True)
"""


@pytest.fixture
def left(tmp_path):
    """Work that a window has left behind."""
    work = UnsavedWork(tmp_path)
    work.document = document()
    work.write()
    work.leave()
    return work


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_was_left_is_found_and_read(left, tmp_path):
    found = unsaved_in(tmp_path)
    assert found.path == left.path
    assert found.read() == document()
    found.leave()


def test_what_a_window_still_has_is_not_found(tmp_path):
    work = UnsavedWork(tmp_path)
    work.document = document()
    work.write()
    assert unsaved_in(tmp_path) is None
    work.leave()
    first = unsaved_in(tmp_path)
    assert first.read() == document()
    assert unsaved_in(tmp_path) is None  # it is offered in one window at a time
    first.leave()


def test_the_newest_comes_first(left, tmp_path):
    later = UnsavedWork(tmp_path)
    later.document = replace(document(), title="later")
    later.write()
    later.leave()
    os.utime(left.path, (1_000.0, 1_000.0))
    found = unsaved_in(tmp_path)
    assert found.read().title == "later"
    found.forget()
    assert unsaved_in(tmp_path).path == left.path


def test_nothing_is_readable_without_the_key_and_all_of_it_is_the_owners(left):
    for path in (left.path, left.key_path):
        content = path.read_bytes()
        words = {"illness", "asthma", "Clinic", "ward"}
        assert not [word for word in words if word.encode() in content]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 or os.name != "posix"
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700 or os.name != "posix"
    assert all(word in document_to_json(document()) for word in ("illness", "asthma", "Clinic"))
    assert left.path.parent != left.key_path.parent


def test_the_key_goes_with_what_it_opens(left, tmp_path):
    found = unsaved_in(tmp_path)
    found.forget()
    assert files_in(tmp_path) == []
    found.document = Document(title="too late")
    found.write()
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda work: work.path.write_bytes(work.path.read_bytes()[:-1]), "damaged"),
        (lambda work: work.path.write_bytes(b""), "damaged"),
        (lambda work: work.key_path.write_bytes(b"k" * 32), "damaged"),
        (lambda work: work.key_path.write_bytes(b"short"), "damaged"),
        (lambda work: work.key_path.unlink(), "its key is not on this computer"),
        (
            lambda work: work.path.write_bytes(
                work.path.read_bytes().replace(b"work 1\n", b"work 2\n")
            ),
            "another version",
        ),
    ],
)
def test_what_can_not_be_read_is_told_and_stays_until_it_is_discarded(left, tmp_path, damage, said):
    damage(left)
    found = unsaved_in(tmp_path)
    with pytest.raises(UnsavedUnreadable, match=said):
        found.read()
    assert left.path.exists()
    found.forget()
    assert files_in(tmp_path) == []


def test_one_file_does_not_stand_for_another(left, tmp_path):
    other = UnsavedWork(tmp_path)
    other.document = replace(document(), title="other")
    other.write()
    other.leave()
    other.path.write_bytes(left.path.read_bytes())
    other.key_path.write_bytes(left.key_path.read_bytes())
    left.path.unlink()
    with pytest.raises(UnsavedUnreadable):
        unsaved_in(tmp_path).read()


def test_keys_without_a_file_are_removed_once_nobody_has_them(tmp_path):
    living, dead = UnsavedWork(tmp_path), UnsavedWork(tmp_path)
    for work in (living, dead):
        work.document = document()
        work.write()
        work.path.unlink()
        os.utime(work.key_path, (1_000.0, 1_000.0))
    dead.leave()
    assert unsaved_in(tmp_path) is None
    assert files_in(tmp_path) == [living.key_path]
    living.leave()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="killing is POSIX's")
def test_a_writer_killed_at_any_moment_leaves_a_whole_document(tmp_path):
    for lines in (1, 3, 8):
        folder = tmp_path / str(lines)
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True
        ) as process:
            said = [int(process.stdout.readline()) for _ in range(lines)]
            assert unsaved_in(folder) is None
            process.kill()
        found = unsaved_in(folder)
        title = found.read().title
        assert int(title.removeprefix("version ")) >= said[-1]
        found.leave()
