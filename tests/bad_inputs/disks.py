"""Disks that are full and folders that take nothing, at every moment of the work."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import CannotWrite, DiskFull
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from tests.bad_inputs.workshop import CHEAP, PASSPHRASE, Act, BadInput, Workshop
from tests.in_batches import in_batches


def interrupted(step: str, code: int) -> Callable[[Workshop], Act]:
    """A stage on which the system refuses at one step of a release."""

    def stage(workshop: Workshop) -> Act:
        def at_step(name: str) -> None:
            if name == step:
                raise OSError(code, os.strerror(code))

        def act() -> object:
            with workshop.open() as project:
                return make_release(
                    project,
                    in_batches(workshop.table()),
                    "Public",
                    workshop.folder / "another",
                    "csv",
                    Silent(),
                    at_step=at_step,
                )

        return act

    return stage


def refused_call(name: str, code: int, act: Callable[[Workshop], object]) -> Callable[..., Act]:
    """A stage on which one call of the system fails."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    def stage(workshop: Workshop) -> Act:
        def call() -> object:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(name, refuse)
                return act(workshop)

        return call

    return stage


def _full_database(workshop: Workshop) -> Act:
    def act() -> None:
        with workshop.open() as project:
            with project.database.raw() as connection:
                (pages,) = connection.execute("PRAGMA page_count").fetchone()
                connection.execute(f"PRAGMA max_page_count = {pages}")
            project.save_document(replace(project.document, title="x" * 100_000))

    return act


def _new_project(workshop: Workshop) -> object:
    path = workshop.folder / "new.sfumato"
    return ProjectFile.create(path, PASSPHRASE, workshop.document(), cost=CHEAP)


def _release(workshop: Workshop) -> object:
    with workshop.open() as project:
        out = workshop.folder / "another"
        return make_release(project, in_batches(workshop.table()), "Public", out, "csv", Silent())


def _long_name(workshop: Workshop) -> Act:
    path = workshop.folder / Path("n" * 300 + ".sfumato")
    return lambda: ProjectFile.create(path, PASSPHRASE, workshop.document(), cost=CHEAP)


CASES = (
    BadInput("a disk that is full while a project is saved", DiskFull, "is full", _full_database),
    BadInput(
        "a disk that is full while a project is created",
        DiskFull,
        "is full",
        refused_call("sfumato.project.project_file.sync_file", errno.ENOSPC, _new_project),
    ),
    BadInput(
        "a disk that is full before a bundle is written",
        DiskFull,
        "is full",
        interrupted("staged", errno.ENOSPC),
    ),
    BadInput(
        "a disk that is full once a bundle is written",
        DiskFull,
        "is full",
        interrupted("written", errno.ENOSPC),
    ),
    BadInput(
        "a quota that is used up in the middle of a release",
        DiskFull,
        "is full",
        interrupted("synced", errno.EDQUOT),
    ),
    BadInput(
        "a folder for projects that is read-only",
        CannotWrite,
        "may not write to the folder",
        refused_call("sfumato.formats.files.new_private", errno.EROFS, _new_project),
    ),
    BadInput(
        "a folder for releases that is read-only",
        CannotWrite,
        "may not write to the folder",
        refused_call("pathlib.Path.mkdir", errno.EACCES, _release),
    ),
    BadInput(
        "a folder that refuses the final name",
        CannotWrite,
        "may not write to the folder",
        interrupted("noted", errno.EACCES),
    ),
    BadInput("a name that is too long", CannotWrite, "name too long", _long_name),
)
