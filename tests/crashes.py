"""Tells at the end of a run where its workers crashed, in which function of which thread.

xdist says only which test a worker was at; what Python writes as it goes down stands somewhere
among all other output, or nowhere. So each worker writes it into a file of its own.
"""

from __future__ import annotations

import faulthandler
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

FOLDER = "SFUMATO_TEST_CRASHES"
"""Names the folder of these files to the workers."""
_FOLDER = pytest.StashKey[tempfile.TemporaryDirectory]()
_FILE = pytest.StashKey[Any]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the folder before any worker starts; let a worker write there if it crashes."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        made = tempfile.TemporaryDirectory(prefix="sfumato-crashes-", ignore_cleanup_errors=True)
        config.stash[_FOLDER] = made
        os.environ[FOLDER] = made.name
    elif folder := os.environ.get(FOLDER):
        file = Path(folder, f"{worker}.txt").open("w", encoding="utf-8")  # noqa: SIM115
        config.stash[_FILE] = file
        faulthandler.enable(file)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what crashed workers left."""
    folder = terminalreporter.config.stash.get(_FOLDER, None)
    for path in sorted(Path(folder.name).iterdir()) if folder is not None else ():
        if text := path.read_text(encoding="utf-8", errors="replace").strip():
            terminalreporter.section(f"where worker {path.stem!r} crashed")
            terminalreporter.write_line(text)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder, or end what would write into it."""
    if (file := config.stash.get(_FILE, None)) is not None:
        faulthandler.disable()
        file.close()
    if (folder := config.stash.get(_FOLDER, None)) is not None:
        folder.cleanup()
