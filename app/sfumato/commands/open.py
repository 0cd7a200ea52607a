"""Open the window, with a project where one is named."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from sfumato.commands.shared.command import Command, ExitCode
from sfumato.commands.shared.terminal import Terminal
from sfumato.project.errors import ProjectMissing


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "project",
        type=Path,
        nargs="?",
        metavar="PROJECT",
        help="the project's file; without it the window opens empty",
    )


def _run(arguments: Namespace, _terminal: Terminal) -> ExitCode:
    project: Path | None = arguments.project
    if project is not None and not project.is_file():
        raise ProjectMissing("There is no project at {path}.", "Check the name.", path=project)
    from sfumato.ui.shell.application import run_window  # noqa: PLC0415 (other commands work without Qt)

    return ExitCode.OK if run_window(project) == 0 else ExitCode.FAULT


COMMAND = Command(_add_arguments, _run, ("sfumato open clinic.sfumato", "sfumato open"))
