"""A copy of an open project under another name, whole or not at all."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sfumato.formats.files import new_private, refusal_to_write, unfinished_beside
from sfumato.project.errors import ProjectExists
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.database import explain
from sfumato.project.store.files import move_without_overwriting, sync_file


def copy_project(project: ProjectFile, path: Path) -> None:
    """Write a copy of a project; it opens with the same passphrase.

    Both copies hold the same secret, so releases made from either sit on the same ladder.

    Parameters
    ----------
    project
        Open; saved as far as the copy should know.
    path
        The new file.

    Raises
    ------
    ProjectExists
        If there is a file already.
    CannotWrite, DiskFull
        If the folder does not take the file.
    """
    path = Path(path)
    staged = unfinished_beside(path)
    try:
        os.close(new_private(staged))
        with closing(sqlite3.connect(staged)) as target, project.database.raw() as source:
            _copy(source, target, path)
        sync_file(staged)
        move_without_overwriting(staged, path)
    except FileExistsError:
        raise ProjectExists(
            "There is a file at {path} already.", "Choose another name.", path=path
        ) from None
    except OSError as error:
        raise refusal_to_write(error, path) from None
    finally:
        for leftover in (staged, staged.with_name(f"{staged.name}-journal")):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, path: Path) -> None:
    try:
        source.backup(target)
    except sqlite3.Error as error:  # the original can be read: what fails is the copy
        raise explain(error, path) from None
