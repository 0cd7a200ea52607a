"""Open the window, with a project where one is named."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from sfumato.commands.shared.command import Command, ExitCode, file_argument
from sfumato.commands.shared.terminal import Terminal
from sfumato.project.errors import ProjectMissing


def _run(arguments: Namespace, _terminal: Terminal) -> ExitCode:
    project: Path | None = arguments.project
    if project is not None and not project.is_file():
        raise ProjectMissing("There is no project at {path}.", "Check the name.", path=project)
    from sfumato.ui.shell.libraries import require_libraries

    require_libraries()
    from sfumato.ui.shell.application import run_window

    return ExitCode.OK if run_window(project) == 0 else ExitCode.FAULT


COMMAND = Command(
    (
        file_argument(
            "project",
            "PROJECT",
            "the project's file; without it the window opens empty",
            nargs="?",
        ),
    ),
    _run,
    ("sfumato open clinic.sfumato", "sfumato open"),
)
