"""List the recipients and their levels."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import JSON, PROJECT, Command, ExitCode
from sfumato.commands.shared.opening import open_project
from sfumato.commands.shared.terminal import Terminal

if TYPE_CHECKING:
    from sfumato.project.document.model import Document


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with open_project(arguments, terminal, read_only=True) as project:
        document = project.document
    terminal.tell(arguments.json, _plain(document), _lines(document))
    if not document.recipients and not arguments.json:
        terminal.note("The project has no recipients yet.")
    return ExitCode.OK


def _lines(document: Document) -> Iterator[str]:
    for recipient in document.recipients:
        yield recipient.name + (f"  ({recipient.note})" if recipient.note else "")
        for entry in document.policy:
            statement = recipient.statements.get(entry.key)
            levels = ", ".join(f"{name} = {value:g}" for name, value in (statement or {}).items())
            stated = "no level yet" if statement is None else levels
            yield f"  {entry.key} [{entry.mechanism}]: {stated}"


def _plain(document: Document) -> list[dict[str, object]]:
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


COMMAND = Command((*PROJECT, JSON), _run, ("sfumato recipients clinic.sfumato",))
