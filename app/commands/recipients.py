"""``sfumato recipients``: who gets a release, and at which level."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from app.commands.base import Command, ExitCode, add_project, open_project
from app.commands.terminal import Terminal


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with open_project(arguments, terminal, read_only=True) as project:
        document = project.document
    for recipient in document.recipients:
        terminal.say(recipient.name + (f"  ({recipient.note})" if recipient.note else ""))
        for entry in document.policy:
            statement = recipient.statements.get(entry.key)
            level = (
                "no level yet"
                if statement is None
                else ", ".join(f"{name} = {value:g}" for name, value in statement.items())
            )
            terminal.say(f"  {entry.key} [{entry.mechanism}]: {level}")
    if not document.recipients:
        terminal.note("The project has no recipients yet.")
    return ExitCode.OK


COMMAND = Command("recipients", "List the recipients and their levels.", 60, _add_arguments, _run)
