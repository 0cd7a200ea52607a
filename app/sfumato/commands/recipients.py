"""List the recipients and their levels."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from sfumato.commands.shared.command import Command, ExitCode, add_json, add_project, open_project
from sfumato.commands.shared.terminal import Terminal
from sfumato.project.document.model import Document


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    add_json(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with open_project(arguments, terminal, read_only=True) as project:
        document = project.document
    if arguments.json:
        terminal.say(json.dumps(recipients_as_plain(document), indent=2))
        return ExitCode.OK
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


def recipients_as_plain(document: Document) -> list[dict[str, object]]:
    """Return every recipient with what was stated for each entry, as plain JSON values."""
    return [
        {
            "name": recipient.name,
            "note": recipient.note,
            "levels": {
                entry.key: dict(statement)
                for entry in document.policy
                if (statement := recipient.statements.get(entry.key)) is not None
            },
        }
        for recipient in document.recipients
    ]


COMMAND = Command(_add_arguments, _run, ("sfumato recipients clinic.sfumato",))
