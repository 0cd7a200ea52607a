"""Whatever a person does in the window, it goes on answering, and nothing piles up.

Each walk tells its seed and keeps its log. Jobs end when they end, so the same seed leads to the
same deeds as far as they end in the same order: enough to find again what it found. A walk ends
after so many deeds or its time, whichever comes first. 10,000 deeds of three seeds:
``SFUMATO_WALK_DEEDS=10000 SFUMATO_WALK_SECONDS=7200 pytest -m slow -n 2`` with this file; another
seed: ``SFUMATO_WALK_SEED=7``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sfumato.ui.shell.main_window import MainWindow
from tests.campaigns.walk import Walk, walk
from tests.ui.fixtures import Answers

FEW = 150
MANY = int(os.environ.get("SFUMATO_WALK_DEEDS", "600"))
SEEDS = [int(seed) for seed in os.environ.get("SFUMATO_WALK_SEED", "1 2 3").split()]
SECONDS = float(os.environ.get("SFUMATO_WALK_SECONDS", "90"))
"""How long a long walk takes at most: three of them in two processes take CI some four minutes."""

GRAVE = 2.0
"""Steps above 0.3 s are told; a long walk fails at one of so many seconds of the thread's own time.
Replacing rows in the hierarchy of thousands of values was once seen to take 1.2 s."""

MORE_WIDGETS = 1.05
MORE_JOBS = 10
MORE_MEGABYTES = 250.0
"""Memory in use says little of leaks: pages, dialogs and figures are made when they are first seen,
and the allocator keeps what was freed. What lives is counted; this stops what is far off."""


def faults(done: Walk, place: Path) -> str:
    """Return what failed and when the window did not answer; empty where all is well."""
    return done.told(place) if done.troubles or done.stalls else ""


def test_a_short_walk_finds_the_window_answering(
    dressed: MainWindow, answers: Answers, place: Path
):
    done = walk(dressed, answers, place, 11, FEW, 30.0)
    assert faults(done, place) == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_long_walk_leaves_nothing_behind(
    dressed: MainWindow,
    answers: Answers,
    place: Path,
    seed: int,
    capsys: pytest.CaptureFixture[str],
):
    done = walk(dressed, answers, place, seed, MANY, SECONDS)
    with capsys.disabled():
        sys.stdout.write(f"\n  seed {seed}: longest {done.longest.worked:.2f} s of the thread's")
        sys.stdout.write(f" own ({done.longest.passed:.2f} s) in {done.longest.what}\n")
        sys.stdout.writelines(f"  {left}\n" for left in (done.left[0], done.left[-1]))
        sys.stdout.writelines(f"  {step.what}: {step.worked:.2f} s\n" for step in done.stalls)
    assert not done.troubles, done.told(place)
    assert not [step for step in done.stalls if step.worked > GRAVE], done.told(place)
    first, last = done.left[min(1, len(done.left) - 1)], done.left[-1]
    assert last.objects <= MORE_WIDGETS * first.objects
    assert last.widgets <= MORE_WIDGETS * first.widgets
    assert last.jobs <= first.jobs + MORE_JOBS
    assert last.megabytes <= first.megabytes + MORE_MEGABYTES
