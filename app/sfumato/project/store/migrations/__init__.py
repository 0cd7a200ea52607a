"""How a project file of any earlier version becomes one of this version.

A module of this package called ``step_0001_…`` holds ``upgrade(connection)``, which takes a
file from the version before to the version of its number. A new project is an empty file
that went through all steps, so old and new files can't differ. A step that was released is
never changed; a change of the file is a new step.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sqlite3
from collections.abc import Callable, Mapping
from functools import cache

Step = Callable[[sqlite3.Connection], None]


@cache
def all_steps() -> Mapping[int, Step]:
    """Return every step by the version that it leads to, in order.

    Raises
    ------
    RuntimeError
        If the numbers don't run 1, 2, 3, …
    """
    found: dict[int, Step] = {}
    for info in pkgutil.iter_modules(__path__):
        numbered = re.fullmatch(r"step_(\d{4})_\w+", info.name)
        if numbered:
            module = importlib.import_module(f"{__name__}.{info.name}")
            found[int(numbered[1])] = module.upgrade
    steps = dict(sorted(found.items()))
    if list(steps) != list(range(1, len(steps) + 1)):
        raise RuntimeError("the migration steps are not numbered 1, 2, 3, …")
    return steps


def newest_version() -> int:
    """Return the version of the files that this program writes."""
    return len(all_steps())


def version_of(connection: sqlite3.Connection) -> int:
    """Return a file's version; 0 for an empty one."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def upgrade(connection: sqlite3.Connection, steps: Mapping[int, Step]) -> None:
    """Apply the steps that a file lacks, inside a transaction of the caller.

    All of them and the seal that the caller writes are saved together, so that no interruption
    leaves a new file under an old seal.

    Parameters
    ----------
    connection
        In a transaction.
    steps
        From `all_steps`, or the first of them; the last one's number is the version to reach.
    """
    for number, step in steps.items():
        if number > version_of(connection):
            step(connection)
            connection.execute(f"PRAGMA user_version = {number:d}")
