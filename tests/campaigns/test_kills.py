"""Commands killed from the interpreter's first instant to their last: nothing lost, nothing half.

A third of the kills come at a random time after ``python -m app …`` is started, the others before
a random change of the world (see `tests.campaigns.command_driver`). ``SFUMATO_CAMPAIGN_RUNS`` says
how many there are for each command, ``SFUMATO_CAMPAIGN_SEED`` where they fall.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.commands.terminal import PASSPHRASE_VARIABLE
from app.project.ledger import Entry
from app.project.model import Document
from app.project.records import ReleaseState
from app.project.staging import digest_of_bundle
from app.project.store import ProjectFile
from tests.campaigns import chance, runs, slow, tell
from tests.cli.conftest import RULES
from tests.project import adopting
from tests.project.making import PASSPHRASE, noon

pytestmark = [
    slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="killing and forking are POSIX's"),
]

ROWS = 1_500
NOTES = "XDG_STATE_HOME"
"""Names the folder of notes on the newest state of each project: each trial has its own."""
PEOPLE = RULES.replace('[columns.sex]\nrole = "quasi-identifier"\n\n', "").replace(
    '"asthma", "cold", "flu", "gout"', '"asthma", "cold", "flu", "gout", "measles"'
)


@dataclass(frozen=True)
class Scenario:
    """A command that is killed.

    Parameters
    ----------
    arguments
        Its command line, for a folder.
    rules
        The project's rules.
    then
        The command line of what must work afterwards.
    """

    arguments: Callable[[Path], list[str]]
    rules: str = PEOPLE
    then: Callable[[Path], list[str]] = lambda folder: releasing(folder, "next", "Institute B")


def project_in(folder: Path) -> str:
    return str(folder / "ward.sfumato")


def beginning(folder: Path) -> list[str]:
    table, rules = str(folder / "ward.csv"), str(folder / "rules.toml")
    return ["init", project_in(folder), "--table", table, "--rules", rules]


def releasing(folder: Path, out: str, recipient: str, *more: str) -> list[str]:
    where = ["--recipient", recipient, "--out", str(folder / out)]
    return ["release", project_in(folder), *where, *more]


SCENARIOS = {"release": Scenario(lambda folder: releasing(folder, "out", "Clinic A"))}


class Driver:
    """Runs jobs in forks of one process that has everything imported."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaigns.command_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: list[str], **job: Any) -> dict[str, Any]:
        """Run a command; kill it where the job says so."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job["environment"] = {NOTES: os.environ[NOTES]}
        self._process.stdin.write(json.dumps({"arguments": arguments, **job}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    made = Driver()
    yield made
    made.close()


@dataclass(frozen=True)
class Before:
    """A folder in which a command can be run, and what its project holds."""

    folder: Path
    document: Document
    entries: tuple[Entry, ...]


def prepared(scenario: Scenario, driver: Driver, folder: Path) -> Before:
    people = adopting.ward(ROWS).frame
    people = people.assign(ward=[f"W{i % 8}" for i in range(ROWS)])
    people.to_csv(folder / "ward.csv", index=False)
    ward = '[columns.ward]\nrole = "insensitive"\n\n[[policy]]'
    rules = scenario.rules.replace("[[policy]]", ward)
    (folder / "rules.toml").write_text(rules, encoding="utf-8")
    began = driver.run(beginning(folder))
    assert began["code"] == 0, began["said"]
    with ProjectFile.open(folder / "ward.sfumato", PASSPHRASE) as project:
        return Before(folder, project.document, project.ledger.entries)


def copied(before: Before, folder: Path) -> None:
    shutil.copytree(before.folder, folder)


def kill_from_the_start(arguments: list[str], seconds: float) -> None:
    """Start the interpreter as a person does, and kill it."""
    environment = {**os.environ, PASSPHRASE_VARIABLE: PASSPHRASE, "QT_QPA_PLATFORM": "offscreen"}
    process = subprocess.Popen(
        [sys.executable, "-m", "app", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def time_from_the_start(before: Before, scenario: Scenario, folder: Path) -> float:
    """Return how long the command takes when nobody kills it."""
    copied(before, folder)
    begun = time.monotonic()
    kill_from_the_start(scenario.arguments(folder), 300.0)
    return time.monotonic() - begun


def expect_sound(folder: Path, before: Before, scenario: Scenario, driver: Driver) -> None:
    """Nothing is lost, nothing is half done, and the work goes on."""
    known = {"ward.csv", "rules.toml"}
    shown = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    # SQLite finishes or takes back what its journal holds when the project is opened.
    project_files = {"ward.sfumato", "ward.sfumato-journal"}
    assert shown <= {*known, *project_files, "out"}, shown
    with ProjectFile.open(folder / "ward.sfumato", PASSPHRASE, clock=noon) as project:
        project.ledger.verify_chain()
        assert project.ledger.entries[: len(before.entries)] == before.entries
        assert project.document.policy == before.document.policy
        assert project.document.recipients == before.document.recipients
        ended = {ReleaseState.COMPLETED, ReleaseState.ABANDONED}
        assert {release.state for release in project.releases} <= ended
        whole = [r for r in project.releases if r.state is ReleaseState.COMPLETED]
        for record in whole:
            assert digest_of_bundle(record.target) == record.digest
        out = folder / "out"
        found = sorted(path.name for path in out.iterdir()) if out.exists() else []
        assert found == sorted(record.target.name for record in whole)
    went = driver.run(scenario.then(folder))
    assert went["code"] == 0, went["said"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_killed_command_loses_nothing_and_leaves_nothing_half_done(
    name, tmp_path, driver, monkeypatch
):
    scenario = SCENARIOS[name]
    draws = chance(f"kills, {name}")
    base = tmp_path / "base"
    base.mkdir()
    monkeypatch.setenv(NOTES, str(base / ".notes"))
    before = prepared(scenario, driver, base)
    copied(before, tmp_path / "whole")
    monkeypatch.setenv(NOTES, str(tmp_path / "whole" / ".notes"))
    whole = driver.run(scenario.arguments(tmp_path / "whole"))
    assert whole["code"] == 0, whole["said"]
    expect_sound(tmp_path / "whole", before, scenario, driver)
    kills = runs(100)
    at_times = kills // 3
    steps = [draws.randrange(whole["steps"]) + 1 for _ in range(kills - at_times)]
    if kills - at_times >= whole["steps"]:
        steps[: whole["steps"]] = range(1, whole["steps"] + 1)  # every one at least once
    died = 0
    for number, step in enumerate(steps):
        folder = tmp_path / f"step-{number}"
        copied(before, folder)
        monkeypatch.setenv(NOTES, str(folder / ".notes"))
        died += driver.run(scenario.arguments(folder), step=step)["code"] is None
        expect_sound(folder, before, scenario, driver)
        shutil.rmtree(folder)
    assert died == len(steps)
    lasting = time_from_the_start(before, scenario, tmp_path / "timed")
    for number in range(at_times):
        folder = tmp_path / f"time-{number}"
        copied(before, folder)
        monkeypatch.setenv(NOTES, str(folder / ".notes"))
        kill_from_the_start(scenario.arguments(folder), draws.uniform(0.0, lasting))
        expect_sound(folder, before, scenario, driver)
        shutil.rmtree(folder)
    tell(
        f"{name}: {len(steps)} kills before one of {whole['steps']} steps,"
        f" {at_times} within {lasting:.1f} s of the interpreter's start"
    )
