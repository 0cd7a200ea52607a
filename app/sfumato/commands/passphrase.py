"""Change a project's passphrase."""

from __future__ import annotations

from argparse import Namespace

from sfumato.commands.shared.command import PROJECT, Command, ExitCode, option
from sfumato.commands.shared.terminal import NEW_PASSPHRASE_VARIABLE, Terminal
from sfumato.engine.core.wording import Sentence


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.project_file import ProjectFile

    old = terminal.passphrase(arguments.passphrase_fd)
    with ProjectFile.open(arguments.project, old) as project:
        new = terminal.new_passphrase(arguments.new_passphrase_fd, NEW_PASSPHRASE_VARIABLE)
        project.change_passphrase(old, new)
    terminal.remark_on(new)
    terminal.note("The passphrase is changed. Copies of the project keep the old one.")
    return ExitCode.OK


COMMAND = Command(
    (
        *PROJECT,
        option(
            "--new-passphrase-fd",
            "N",
            Sentence(
                "read the new passphrase from file descriptor N (or set {NEW_PASSPHRASE_VARIABLE})",
                NEW_PASSPHRASE_VARIABLE=NEW_PASSPHRASE_VARIABLE,
            ),
            type=int,
        ),
    ),
    _run,
    ("sfumato passphrase clinic.sfumato",),
)
