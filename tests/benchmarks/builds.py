"""Builds of the program to be measured beside each other: this one, and that of a commit."""

from __future__ import annotations

import os
import subprocess
import tarfile
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from tests.benchmarks.harness import Case
from tests.benchmarks.pipeline import Workplace
from tests.benchmarks.start import ROOT, Started, environment_with

USUAL = "HEAD"
"""The commit whose build stands beside the files as they are, unless another is given."""


@dataclass(frozen=True)
class Build:
    """A build, and the environment in which its commands run.

    Each has bytecode and remembered checks of its own.
    """

    name: str
    folder: Path
    environment: dict[str, str]

    def workplace(self, table: Path, rules: str) -> Workplace:
        """Return a folder of its own with a table, for which a project was made."""
        folder = self.folder / table.stem
        folder.mkdir()
        (folder / f"table{table.suffix}").symlink_to(table)
        (folder / "rules.toml").write_text(rules)
        place = Workplace(folder, table.suffix[1:], self.environment)
        place.init().run()
        return place


def builds(scratch: Path, beside: str = USUAL) -> tuple[Build, Build]:
    """Return this build, and that of a commit, which is made in a folder."""
    git = subprocess.run(["git", "archive", beside], cwd=ROOT, capture_output=True, check=False)
    if git.returncode:
        raise SystemExit(f"The build of {beside} can't be made: {git.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(git.stdout)) as archive:
        archive.extractall(scratch / "commit", filter="data")
    return (
        _build("this build", scratch / "this", ROOT / "app"),
        _build(f"the build of {beside}", scratch / "other", scratch / "commit" / "app"),
    )


def _build(name: str, folder: Path, app: Path) -> Build:
    folder.mkdir()
    environment = environment_with(folder / "bytecode")
    before = os.environ.get("PYTHONPATH", "")
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(app), before]))
    environment["SFUMATO_PASSPHRASE"] = "a passphrase for a benchmark"
    environment["XDG_STATE_HOME"] = str(folder / "state")
    return Build(name, folder, environment)


def beside(
    name: str, started: Started, other: Started, other_name: str, forget: object = None
) -> Case:
    """Return a process beside another, which the case's name has: a job has several of them.

    `forget` takes away what it leaves, before each round.
    """

    def run(process: Started) -> None:
        if callable(forget):
            forget()
        process.run()

    run(started)  # Compiles the bytecode.
    run(other)
    started.forget()
    other.forget()
    return Case(
        f"{name}, beside {other_name}",
        partial(run, started),
        partial(run, other),
        started.peak_mb,
        baseline_name=other_name,
        facts=lambda: {
            "cpu": round(min(started.cpu), 3),
            "baseline_cpu": round(min(other.cpu), 3),
            "baseline_peak_mb": round(other.peak_mb(), 1),
        },
    )
