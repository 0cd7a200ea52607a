"""Commands killed from the interpreter's first instant to their last: nothing lost, nothing half.

Most kills come before a change of the world drawn by chance, or at a random time of the command,
in forks of one process that has everything imported (see `tests.campaigns.command_driver`); some
at a random time after ``python -m sfumato …`` is started. ``SFUMATO_CAMPAIGN_RUNS`` says how many
there are for each command, ``SFUMATO_TEST_KEYS`` where they fall.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sfumato.commands.shared.command import PASSPHRASE_VARIABLE
from sfumato.project.document.model import Document
from sfumato.project.errors import WrongRecoveryCode
from sfumato.project.ledger import Entry, ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery_sheet import recover
from sfumato.project.store.files import digest_of_bundle
from tests.campaigns import chance, runs, slow, tell
from tests.cli.conftest import RULES
from tests.project import adopting
from tests.project.making import CHEAP, PASSPHRASE, noon

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="killing and forking are POSIX's")

ROWS = 1_500
HIDDEN = ".notes"
NOTES = "XDG_STATE_HOME"
"""Names the folder of notes on the newest state of each project: each trial has its own."""
PEOPLE = RULES.replace('[columns.sex]\nrole = "quasi-identifier"\n\n', "").replace(
    '"asthma", "cold", "flu", "gout"', '"asthma", "cold", "flu", "gout", "measles"'
)
GENERALIZED = """\
format = 1
other_columns = "identifying"
[columns.ward]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["asthma", "cold", "flu", "gout", "measles"]
[hierarchies.ward]
file = "wards.csv"
[generalization]
sensitive = "illness"
quasi_identifiers = ["ward"]
criteria = [{ kind = "distinct-diversity", l = 2 }]
"""


@dataclass(frozen=True)
class Scenario:
    """A command that is killed.

    Parameters
    ----------
    arguments
        Its command line, for a folder.
    rules
        The project's rules.
    begins
        Whether the command makes the project.
    ending
        Of the table's file.
    then
        The command line of what must work afterwards.
    first
        The command line of what was done before, if anything was.
    """

    arguments: Callable[[Path], list[str]]
    rules: str = PEOPLE
    begins: bool = False
    ending: str = "csv"
    then: Callable[[Path], list[str]] = lambda folder: releasing(folder, "next", "Institute B")
    first: Callable[[Path], list[str]] | None = None


def project_in(folder: Path) -> str:
    return str(folder / "ward.sfumato")


def beginning(folder: Path) -> list[str]:
    (table,), rules = folder.glob("ward.[cp]*"), str(folder / "rules.toml")
    return ["init", project_in(folder), "--table", str(table), "--rules", rules]


def releasing(folder: Path, out: str, recipient: str, *more: str) -> list[str]:
    where = ["--recipient", recipient, "--out", str(folder / out), "--accept", "a test"]
    return ["release", project_in(folder), *where, *more]


def publishing(folder: Path, out: str) -> list[str]:
    return ["publish", project_in(folder), "--out", str(folder / out), "--override", "again"]


def adopting_a_file(folder: Path) -> list[str]:
    file = str(folder / "earlier.csv")
    given = ["--attribute", "illness", "--file", file, "--level", "0.7", "--match", "key"]
    return ["adopt", project_in(folder), *given, "--holder", "Old Clinic"]


def reporting(folder: Path) -> list[str]:
    return ["report", project_in(folder), "--out", str(folder / "report.pdf")]


def withdrawing(folder: Path) -> list[str]:
    return ["withdraw", project_in(folder), "2", "--reason", "the wrong extract"]


SCENARIOS = {
    "init": Scenario(beginning, begins=True),
    "release": Scenario(lambda folder: releasing(folder, "out", "Clinic A")),
    "release as zip": Scenario(lambda folder: releasing(folder, "out", "Clinic A", "--zip")),
    "release in parts": Scenario(
        lambda folder: releasing(folder, "out", "Clinic A", "--memory", "0"),
        ending="parquet",
        then=lambda folder: releasing(folder, "next", "Institute B", "--memory", "0"),
    ),
    "release of a text in parts": Scenario(
        lambda folder: releasing(folder, "out", "Clinic A", "--memory", "0"),
        then=lambda folder: releasing(folder, "next", "Institute B", "--memory", "0"),
    ),
    "publish": Scenario(
        lambda folder: publishing(folder, "out"),
        GENERALIZED,
        then=lambda folder: publishing(folder, "next"),
    ),
    "adopt": Scenario(adopting_a_file),
    "report": Scenario(reporting),
    "withdraw": Scenario(withdrawing, first=lambda folder: releasing(folder, "out", "Clinic A")),
}


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
    document: Document | None
    entries: tuple[Entry, ...]


def prepared(scenario: Scenario, driver: Driver, folder: Path) -> Before:
    people = adopting.ward(ROWS).frame
    people = people.assign(ward=[f"W{i % 8}" for i in range(ROWS)])
    if scenario.ending == "csv":
        people.to_csv(folder / "ward.csv", index=False)
    else:
        people.to_parquet(folder / "ward.parquet", index=False)
    ward = '[columns.ward]\nrole = "insensitive"\n\n[[policy]]'
    rules = scenario.rules.replace("[[policy]]", ward)
    (folder / "rules.toml").write_text(rules, encoding="utf-8")
    halves = [f"W{number};{'low' if number < 4 else 'high'};*" for number in range(8)]
    (folder / "wards.csv").write_text("\n".join(halves) + "\n", encoding="utf-8")
    earlier = people.assign(illness=adopting.randomized(people["illness"], 0.7, 1))
    earlier[["person", "illness"]].to_csv(folder / "earlier.csv", index=False)
    if scenario.begins:
        return Before(folder, None, ())
    began = driver.run(beginning(folder))
    assert began["code"] == 0, began["said"]
    if scenario.first is not None:
        went = driver.run(scenario.first(folder))
        assert went["code"] == 0, went["said"]
    with ProjectFile.open(folder / "ward.sfumato", PASSPHRASE) as project:
        return Before(folder, project.document, project.ledger.entries)


@dataclass(frozen=True)
class Expected:
    """What a command that nobody kills comes to.

    Parameters
    ----------
    steps
        How often it changes the world.
    seconds
        How long it takes in a fork.
    after
        The rows of what is made next, with the command and where it never was.
    """

    steps: int
    seconds: float
    after: tuple[list[str], list[str]]


class Campaign:
    """Kills one command again and again, each time in a folder of its own."""

    def __init__(self, name: str, folder: Path, driver: Driver) -> None:
        self.scenario, self.folder, self.driver = SCENARIOS[name], folder, driver
        self.draws = chance(f"kills, {name}")
        base = folder / "base"
        base.mkdir()
        self._noting(base)
        self.before = prepared(self.scenario, driver, base)
        whole = self._fresh("whole")
        done = driver.run(self.scenario.arguments(whole))
        assert done["code"] == 0, done["said"]
        after = self._sound(whole)
        never = self._fresh("never")
        self.expected = Expected(done["steps"], done["seconds"], (after, self._sound(never)))

    def kill(self, steps: int, times: int, starts: int) -> int:
        """Kill at so many steps, times of a fork, and times after the interpreter's start."""
        known, died = self.expected, 0
        chosen = [self.draws.randrange(known.steps) + 1 for _ in range(steps)]
        if steps >= known.steps:
            chosen[: known.steps] = range(1, known.steps + 1)  # every one at least once
        for step in chosen:
            ended = self._trial(lambda folder, at=step: self._killed(folder, step=at))
            assert ended is None, f"step {step} was not come to"
            died += 1
        for _ in range(times):
            moment = self.draws.uniform(0.0, known.seconds)
            died += self._trial(lambda folder, at=moment: self._killed(folder, seconds=at)) is None
        lasting = self._lasting() if starts else 0.0
        for _ in range(starts):
            moment = self.draws.uniform(0.0, lasting)
            died += self._trial(lambda folder, at=moment: self._from_start(folder, at)) is None
        return died

    def _killed(self, folder: Path, **when: float) -> int | None:
        code: int | None = self.driver.run(self.scenario.arguments(folder), **when)["code"]
        return code

    def _from_start(self, folder: Path, seconds: float) -> int | None:
        """Start the interpreter as a person does, and kill it."""
        environment = {**os.environ, PASSPHRASE_VARIABLE: PASSPHRASE}
        process = subprocess.Popen(
            [sys.executable, "-m", "sfumato", *self.scenario.arguments(folder)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None

    def _lasting(self) -> float:
        """Return how long the command takes from the interpreter's start when nobody kills it."""
        begun = time.monotonic()
        assert self._from_start(self._fresh("timed"), 300.0) == 0
        return time.monotonic() - begun

    def _trial(self, killed: Callable[[Path], int | None]) -> int | None:
        folder = self._fresh("trial")
        ended = killed(folder)
        rows = self._sound(folder)
        if not self.scenario.begins:  # else it has a secret of its own
            assert rows in self.expected.after
        shutil.rmtree(folder)
        return ended

    def _fresh(self, name: str) -> Path:
        folder = self.folder / name
        shutil.copytree(self.before.folder, folder)
        self._noting(folder)
        return folder

    def _noting(self, folder: Path) -> None:
        os.environ[NOTES] = str(folder / HIDDEN)

    def _sound(self, folder: Path) -> list[str]:
        """Expect that nothing is lost or half done; return the rows of what is made next."""
        scenario, out = self.scenario, folder / "out"
        known = {path.name for path in self.before.folder.iterdir()}
        shown = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
        # SQLite finishes or takes back what its journal holds when the project is opened.
        project_files = {"ward.sfumato", "ward.sfumato-journal"}
        assert shown <= {*known, *project_files, "out", "report.pdf"}, shown
        if (folder / "report.pdf").exists():
            assert (folder / "report.pdf").read_bytes().rstrip().endswith(b"%%EOF")
        if not (folder / "ward.sfumato").exists():
            assert scenario.begins
            leave_alone(folder)
            began = self.driver.run(beginning(folder))
            assert began["code"] == 0, began["said"]
        with ProjectFile.open(folder / "ward.sfumato", PASSPHRASE, clock=noon) as project:
            expect_agreement(project, self.before, out)
        went = self.driver.run(scenario.then(folder))
        assert went["code"] == 0, went["said"]
        self._expect_no_strays(folder)
        (made,) = (folder / "next").iterdir()
        return sorted((made / "data.csv").read_text(encoding="utf-8").splitlines())

    def _expect_no_strays(self, folder: Path) -> None:
        """What a writer had begun is gone, and all that it left behind goes with the next."""
        if self.scenario.arguments is reporting:
            leave_alone(folder)
            assert self.driver.run(reporting(folder))["code"] == 0
        places = (folder, folder / "out", folder / "next")
        found = [path for place in places if place.exists() for path in place.iterdir()]
        strays = [path.name for path in found if path.name.startswith(".")]
        assert strays == [HIDDEN]
        assert not (folder / "ward.sfumato-journal").exists()


def leave_alone(folder: Path) -> None:
    """Let two hours pass for what was not finished in a folder."""
    for path in folder.glob(".*.part*"):
        os.utime(path, (time.time() - 7_200.0,) * 2)


def expect_agreement(project: ProjectFile, before: Before, out: Path) -> None:
    """Ledger, records of releases and files say the same, and what there was is still there."""
    project.ledger.verify_chain()
    assert project.ledger.entries[: len(before.entries)] == before.entries
    if before.document is not None:
        assert project.document.columns == before.document.columns
        assert project.document.recipients == before.document.recipients
    ended = {ReleaseState.COMPLETED, ReleaseState.ABANDONED}
    assert {release.state for release in project.releases} <= ended
    whole = [r for r in project.releases if r.state is ReleaseState.COMPLETED]
    for record in whole:
        assert digest_of_bundle(record.target) == record.digest
    found = sorted(path.name for path in out.iterdir()) if out.exists() else []
    assert found == sorted(record.target.name for record in whole)


def sheet_at(folder: Path, name: str) -> list[str]:
    return ["recovery-sheet", project_in(folder), "--out", str(folder / name)]


def opened_by_sheet(folder: Path, name: str) -> bool:
    """Whether a printed sheet opens the project."""
    if not (folder / name).exists():
        return False
    code = re.findall(r"[1-8]  ([0-9A-Z]{5})", (folder / name).read_text(encoding="utf-8"))
    try:
        recover(Path(project_in(folder)), "".join(code), PASSPHRASE, cost=CHEAP).close()
    except WrongRecoveryCode:
        return False
    return True


@slow
def test_of_two_recovery_sheets_exactly_one_opens_whenever_the_second_is_killed(
    tmp_path, driver, monkeypatch
):
    monkeypatch.setenv(NOTES, str(tmp_path))
    base = tmp_path / "base"
    base.mkdir()
    os.environ[NOTES] = str(base / HIDDEN)
    prepared(SCENARIOS["release"], driver, base)
    assert driver.run(sheet_at(base, "first.txt"))["code"] == 0
    whole = tmp_path / "whole"
    shutil.copytree(base, whole)
    os.environ[NOTES] = str(whole / HIDDEN)
    steps = driver.run(sheet_at(whole, "second.txt"))["steps"]
    assert opened_by_sheet(whole, "second.txt")
    draws, valid = chance("kills, recovery sheet"), set()
    for step in sorted(draws.sample(range(1, steps + 1), min(steps, runs(24)))):
        folder = tmp_path / f"at {step}"
        shutil.copytree(base, folder)
        os.environ[NOTES] = str(folder / HIDDEN)
        assert driver.run(sheet_at(folder, "second.txt"), step=step)["code"] is None
        with ProjectFile.open(Path(project_in(folder)), PASSPHRASE) as project:
            project.ledger.verify_chain()
        names = [name for name in ("first.txt", "second.txt") if opened_by_sheet(folder, name)]
        assert len(names) == 1, f"step {step}: {names}"
        valid.update(names)
    assert valid == {"first.txt", "second.txt"}


@pytest.fixture
def campaign(request, tmp_path, driver, monkeypatch):
    monkeypatch.setenv(NOTES, str(tmp_path))  # what it is before comes back afterwards
    return Campaign(request.param, tmp_path, driver)


@pytest.mark.turns(4)
@slow
@pytest.mark.parametrize("campaign", SCENARIOS, indirect=True)
def test_a_killed_command_loses_nothing_and_leaves_nothing_half_done(campaign, request):
    kills = runs(8)
    starts = 2 if kills < 50 else kills // 20
    times = kills // 4
    steps = kills - times - starts
    died = campaign.kill(steps, times, starts)
    assert steps <= died <= kills
    tell(
        f"{request.node.callspec.id}: {kills} kills, {steps} before one of"
        f" {campaign.expected.steps} steps, {times} within {campaign.expected.seconds:.2f} s of"
        f" the command, {starts} after the interpreter's start; {died} came before its end"
    )
