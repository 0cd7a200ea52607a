"""The commands of the command line: one module each, found by being here.

A module of this package that defines ``COMMAND`` (a `Command`) is a command. Nothing else
lists them.
"""

from __future__ import annotations

import importlib
import pkgutil

from sfumato.commands.shared.command import Command


def all_commands() -> tuple[Command, ...]:
    """Return every command, in the order in which help shows them."""
    found = []
    for info in pkgutil.iter_modules(__path__):
        command = getattr(importlib.import_module(f"{__name__}.{info.name}"), "COMMAND", None)
        if isinstance(command, Command):
            found.append(command)
    return tuple(sorted(found, key=lambda command: command.order))
