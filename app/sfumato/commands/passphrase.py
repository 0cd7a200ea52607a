"""Change a project's passphrase."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sfumato.commands.shared.command import Command, ExitCode, add_project
from sfumato.commands.shared.terminal import NEW_PASSPHRASE_VARIABLE, Terminal
from sfumato.project.project_file import ProjectFile


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    parser.add_argument(
        "--new-passphrase-fd",
        type=int,
        metavar="N",
        help=f"read the new passphrase from file descriptor N (or set {NEW_PASSPHRASE_VARIABLE})",
    )


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    old = terminal.passphrase(arguments.passphrase_fd)
    with ProjectFile.open(arguments.project, old) as project:
        new = terminal.new_passphrase(arguments.new_passphrase_fd, NEW_PASSPHRASE_VARIABLE)
        project.change_passphrase(old, new)
    terminal.note("The passphrase is changed. Copies of the project keep the old one.")
    return ExitCode.OK


COMMAND = Command(_add_arguments, _run, ("sfumato passphrase clinic.sfumato",))
