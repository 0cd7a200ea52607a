"""Runs commands of Sfumato in processes of their own and kills them at a step.

Run as ``python -m tests.campaigns.command_driver``; each line of standard input is one JSON job
with ``arguments`` (a command line), the ``environment`` to add, and perhaps a ``step`` (the kill
comes before this change of the world, counted from 1) or ``seconds`` (the kill comes so long after
the command began). The answer is a line of JSON with the
``code`` the command ended with, none if it was killed, the number of ``steps`` it came to, and what
it ``said``, and the ``seconds`` it took.

A step is whatever changes a file: opening one to write, making, linking, renaming or removing a
name, and every statement of SQLite. Each job runs in a fork, which spares the imports.
"""

from __future__ import annotations

import io
import json
import os
import select
import signal
import sqlite3
import sys
import time
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import sfumato
from sfumato.cli import main
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, Terminal
from sfumato.project import project_file as store
from tests.project.making import CHEAP, PASSPHRASE

_CHANGES = frozenset(
    {
        *("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.chmod"),
        *("shutil.rmtree", "shutil.copyfile", "tempfile.mkdtemp", "tempfile.mkstemp"),
    }
)
_connect = sqlite3.connect


class Steps:
    """Counts the steps of this process, and ends it without a word before the one wanted."""

    def __init__(self, wanted: int | None) -> None:
        self.wanted = wanted
        self.count = 0

    def take(self, *_: object) -> None:
        """Come to another step."""
        self.count += 1
        if self.count == self.wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, event: str, given: tuple[Any, ...]) -> None:
        """Listen to what Python tells of itself."""
        if event in _CHANGES or (event == "open" and _writes(given)):
            self.take()

    def connect(self, *given: Any, **named: Any) -> sqlite3.Connection:
        """Connect as sqlite3 does, and count the statements."""
        connection = _connect(*given, **named)
        connection.set_trace_callback(self.take)
        return connection


def _writes(given: tuple[Any, ...]) -> bool:
    flags = given[2] if isinstance(given[2], int) else 0
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))


def _child(job: dict[str, Any], answer: int) -> None:
    steps = Steps(job.get("step"))
    sys.addaudithook(steps.watch)
    sqlite3.connect = steps.connect  # type: ignore[assignment]
    os.environ.update(job.get("environment", {}))
    told = io.StringIO()
    terminal = Terminal(told, told, io.StringIO(), {PASSPHRASE_VARIABLE: PASSPHRASE})
    code = int(main(job["arguments"], terminal))
    said = {"code": code, "steps": steps.count, "said": told.getvalue()}
    os.write(answer, json.dumps(said).encode())


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job in a fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _child(job, writing)
        finally:
            os._exit(0)
    os.close(writing)
    begun = time.monotonic()
    with os.fdopen(reading, "rb") as stream:
        if not select.select([stream], [], [], job.get("seconds"))[0]:
            os.kill(child, signal.SIGKILL)
        told = stream.read()
    os.waitpid(child, 0)
    answer: dict[str, Any] = json.loads(told) if told else {"code": None, "steps": None, "said": ""}
    return answer | {"seconds": time.monotonic() - begun}


def warm_up() -> None:
    """Import what commands import when they come to it, once for all forks."""
    for function in (store.ProjectFile.create.__func__, store.ProjectFile.change_passphrase):
        function.__kwdefaults__["cost"] = CHEAP
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    for _, name, _ in walk_packages(sfumato.__path__, "sfumato."):
        if not name.startswith(("sfumato.ui", "sfumato.__main__")):
            import_module(name)
    import_module("sfumato.ui.look.theme")


if __name__ == "__main__":
    warm_up()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(json.loads(line))) + "\n")
        sys.stdout.flush()
