"""Two real windows on one project: in turn and at once, and nothing is lost without a word."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.options import ReadOptions
from sfumato.project.project_file import ProjectFile
from sfumato.project.source import read_source
from tests.project.making import PASSPHRASE, document, new_project, table

pytestmark = pytest.mark.slow


class Window:
    """A window in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.e2e.window_driver"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def begins(self, do: str, **details: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **details}) + "\n")
        self.process.stdin.flush()

    def ends(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the window's process has ended"
        told: dict[str, Any] = json.loads(line)
        return told

    def does(self, do: str, **details: object) -> dict[str, Any]:
        self.begins(do, **details)
        return self.ends()

    def leaves(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@pytest.fixture
def windows():
    pair = (Window(), Window())
    yield pair
    for each in pair:
        each.process.kill()
        with each.process:  # closes its pipes
            pass


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "ward.csv"
    table().frame.to_csv(file, index=False)
    _, source = read_source(file, ReadOptions(), Silent())
    with new_project(tmp_path, document("person", source=source)) as project:
        return project.path


def kept_in(path: Path) -> tuple[int, list[str]]:
    """Return how many releases a project has, and the columns that are insensitive."""
    with ProjectFile.open(path, PASSPHRASE, read_only=True) as project:
        project.ledger.verify_chain()
        names = [c.name for c in project.document.columns if c.role.value == "insensitive"]
        return len(project.releases), names


IN_USE = "is open in another window or command"


def test_a_second_window_is_told_and_sees_all_once_the_first_is_done(windows, path, tmp_path):
    first, second = windows
    assert first.does("open", path=str(path))["open"]
    told = second.does("open", path=str(path))
    assert not told["open"]
    assert any(IN_USE in each for each in told["messages"]), told
    linked = path.with_name("link.sfumato")
    linked.symlink_to(path)
    assert not second.does("open", path=str(linked))["open"]
    assert "sex" in first.does("mark", column="sex")["insensitive"]
    made = first.does("release", folder=str(tmp_path / "one"))
    assert made["releases"] > 0, made
    assert not second.does("open", path=str(path))["open"]
    first.does("save")
    assert not first.does("close")["open"]
    taken = second.does("open", path=str(path))
    assert taken["open"], taken
    assert "sex" in taken["insensitive"]
    assert taken["releases"] == made["releases"]
    again = second.does("release", folder=str(tmp_path / "two"))
    assert again["releases"] == 2 * made["releases"], again
    refused = first.does("open", path=str(path))
    assert not refused["open"]
    assert any(IN_USE in each for each in refused["messages"]), refused
    assert (first.leaves(), second.leaves()) == (0, 0)
    assert kept_in(path) == (again["releases"], taken["insensitive"])


def test_of_two_windows_that_open_and_release_at_once_one_has_the_project(windows, path, tmp_path):
    count = 0
    for turn in range(5):
        for each in windows:
            each.begins("open", path=str(path))
        told = [each.ends() for each in windows]
        assert sorted(each["open"] for each in told) == [False, True], told
        outside = next(each for each in told if not each["open"])
        assert any(IN_USE in each for each in outside["messages"]), outside
        for place, each in enumerate(windows):
            if told[place]["open"]:
                each.begins("release", folder=str(tmp_path / f"made {turn}"))
            else:
                each.begins("open", path=str(path))
        told = [each.ends() for each in windows]
        [made] = [each["releases"] for each in told if each["open"]]
        assert made > count
        count = made
        for each in windows:
            each.does("close")
    assert kept_in(path)[0] == count


def test_what_a_killed_window_had_saved_is_there_for_the_other(windows, path, tmp_path):
    first, second = windows
    first.does("open", path=str(path))
    made = first.does("release", folder=str(tmp_path / "one"))["releases"]
    marked = first.does("mark", column="sex")["insensitive"]
    first.does("save")
    assert not second.does("open", path=str(path))["open"]
    first.process.kill()
    first.process.wait()
    taken = second.does("open", path=str(path))
    assert (taken["open"], taken["releases"], taken["insensitive"]) == (True, made, marked)
