from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bad_inputs import (
    attributes,
    disks,
    files,
    hierarchies,
    levels,
    projects,
    publications,
    releases,
    rules,
)
from tests.bad_inputs.workshop import SECRET_WORDS, BadInput, Workshop

CASES: tuple[BadInput, ...] = (
    *files.CASES,
    *attributes.CASES,
    *hierarchies.CASES,
    *levels.CASES,
    *projects.CASES,
    *publications.CASES,
    *releases.CASES,
    *rules.CASES,
    *disks.CASES,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "work"
    folder.mkdir()
    Workshop(folder).build()
    return folder


@pytest.fixture
def workshop(template: Path, tmp_path: Path) -> Iterator[Workshop]:
    folder = tmp_path / "work"
    shutil.copytree(template, folder)
    return Workshop(folder)


def test_there_are_forty_kinds_and_each_is_told_apart():
    assert len({case.what for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_has_its_message_and_loses_nothing(case: BadInput, workshop: Workshop):
    act = case.prepare(workshop)
    workshop.keep()
    with pytest.raises(case.error) as caught:
        act()
    error = caught.value
    assert type(error) is case.error
    assert re.search(case.says, error.what), error.what
    assert error.remedy, "nothing is said about what to do"
    shown = f"{error} {error!r} {error.details}"
    assert not [word for word in SECRET_WORDS if word in shown]
    assert workshop.lost() == []
