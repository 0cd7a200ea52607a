"""Files whose columns were renamed are traced by what stands in them, and accuse nobody else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.tracing import FALSE_ALARM
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.errors import NotTraceable
from sfumato.project.verification.leak import trace_file
from tests.project import test_long_release
from tests.project.test_long_leak import VIEWS, released, told, two_recipients
from tests.project.test_long_release import frame_of, long_of, whole_of
from tests.project.verifying import SECRETS, a_document, a_table, new_project, release
from tests.project.whole_table import released_columns

ward, small_parts = test_long_release.ward, test_long_release.small_parts
OTHER_NAMES = {"age": "c1", "illness": "c2", "zip": "c3", "work": "c4", "income": "c5"}


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


def trace(project, frame):
    return trace_file(project, a_table(), Table(frame.reset_index(drop=True)), Silent())


def named(report):
    return [report.name_of(suspect) for suspect in report.traced.sources]


CHANGES = {
    "all renamed": lambda frame: frame.rename(columns=OTHER_NAMES),
    "some renamed": lambda frame: frame.rename(columns={"zip": "c3", "illness": "c2"}),
    "reordered and sampled": lambda frame: frame.rename(columns=OTHER_NAMES)[
        ["c4", "c5", "c2", "c1", "c3"]
    ].sample(300, random_state=1),
    "three columns": lambda frame: frame.rename(columns=OTHER_NAMES)[["c3", "c2", "c5"]],
    "columns added": lambda frame: frame.rename(columns=OTHER_NAMES).assign(
        code=[f"x{row}" for row in range(len(frame))], one=1
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_with_other_names_is_traced_and_what_was_matched_is_told(project, tmp_path, change):
    path = release(project, tmp_path / "out", "Institute B")
    frame = CHANGES[change](pd.read_csv(path / "data.csv", dtype={"zip": str}))
    report = trace(project, frame)
    assert named(report) == ["Institute B"]
    names = {new: old for old, new in OTHER_NAMES.items()}
    assert report.matched
    assert report.matched.items() <= names.items()
    for name, of in report.matched.items():
        assert f"{name} is {of}" in report.matches
    assert "in at most 1 of 1,000 files of other origin" in report.matches
    assert set(report.matched) <= set(report.compared)
    assert not any(secret in report.matches for secret in SECRETS)


def test_names_that_are_known_are_not_matched_anew(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    report = trace(project, pd.read_csv(path / "data.csv", dtype={"zip": str}))
    assert (report.matched, report.matches) == ({}, "")


def test_two_columns_that_fit_alike_are_left_aside(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    frame = pd.read_csv(path / "data.csv", dtype={"zip": str}).rename(columns=OTHER_NAMES)
    twin = frame["c2"].sample(frac=1.0, random_state=3).array
    report = trace(project, frame.assign(twin=twin))
    assert "illness" not in report.matched.values()
    assert {"c2", "twin"} <= set(report.ignored)


def strangers():
    """Files of other origin, some of which show the same values."""
    at, draw = np.arange(400), np.random.default_rng(4)
    yield pd.DataFrame({"x": draw.normal(size=400), "y": draw.integers(0, 9, 400)})
    yield pd.DataFrame({"name": [f"n{i}" for i in at], "state": draw.choice(["on", "off"], 400)})
    shuffled = a_table().frame.drop(columns="person").rename(columns=OTHER_NAMES)
    yield shuffled.apply(lambda c: c.sample(frac=1.0, random_state=len(c.name)).array)


def test_a_file_of_other_origin_names_nobody(project):
    for frame in strangers():
        try:
            report = trace(project, frame)
        except NotTraceable:
            continue
        assert named(report) == []


@pytest.mark.slow
def test_renamed_files_made_with_other_keys_name_nobody_more_often_than_is_stated():
    """The nearest that a file of other origin can come: the same table, perturbed by others."""
    trials, alarms, document = 60, 0, a_document()
    for trial in range(trials):
        keys, theirs = (KeyRing(number.to_bytes(32, "big")) for number in (trial, 1_000 + trial))
        recipient = document.recipients[trial % 3]
        frame = released_columns(document, a_table(), recipient, theirs, Silent())
        frame = frame.rename(columns=OTHER_NAMES)[list(OTHER_NAMES.values())]
        project = SimpleNamespace(
            document=document, keys=keys, path=Path("ward.sfumato"), releases=()
        )
        report = trace(project, frame.sample(150, random_state=trial))
        assert "c2" in report.matched
        alarms += bool(named(report))
    # Three standard errors above what is stated.
    assert alarms <= trials * FALSE_ALARM + 3 * np.sqrt(trials * FALSE_ALARM)


@pytest.mark.slow
@pytest.mark.parametrize("views", VIEWS)
def test_renamed_columns_are_matched_in_parts_as_in_the_whole_table(ward, tmp_path, views):
    with ward(frame_of(), two_recipients(*VIEWS[views])) as project:
        frame = released(project, tmp_path / "out")
        names = {name: f"c{place}" for place, name in enumerate(frame.columns)}
        leak = Table(frame.rename(columns=names).iloc[::-1].reset_index(drop=True))
        whole = trace_file(project, whole_of(project), leak, Silent())
        parts = trace_file(project, long_of(project), leak, Silent())
        assert whole.matched
        assert whole.matched == parts.matched
        assert told(whole) == told(parts)
        assert whole.traced.sources
