"""The commands of the command line: one module each, found by being here.

A module of this package is a command of the same name. The first line of its docstring is its
summary, and it defines ``COMMAND`` (a `Command`). Nothing is imported to list them, so that no
command costs the start of another. What commands share is in `sfumato.commands.shared`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sfumato.commands.shared.command import Command

ORDER: Final = (
    "open",
    "demo",
    "init",
    "check",
    "release",
    "plan",
    "publish",
    "verify",
    "trace",
    "rules",
    "audit",
    "hierarchy",
    "report",
    "diversity",
    "others",
    "attributes",
    "recipients",
    "views",
    "risk",
    "query",
    "adopt",
    "row-order",
    "noisy-counts",
    "ledger",
    "source",
    "seal",
    "passphrase",
    "about",
)
"""The order in which help shows the commands."""


def command_names() -> tuple[str, ...]:
    """Return the commands: those of `ORDER` first, others by their names."""
    found = {i.name.replace("_", "-") for i in pkgutil.iter_modules(__path__) if not i.ispkg}
    return (*(name for name in ORDER if name in found), *sorted(found.difference(ORDER)))


def summary_of(name: str) -> str:
    """Return what a command does, in one line, without importing it."""
    loader = importlib.util.find_spec(_module(name)).loader  # type: ignore[union-attr]
    code = loader.get_code(_module(name))  # type: ignore[union-attr]
    return next(text for text in code.co_consts if isinstance(text, str)).partition("\n")[0]


def command_called(name: str) -> Command:
    """Import a command and return it."""
    command: Command = importlib.import_module(_module(name)).COMMAND
    return command


def _module(name: str) -> str:
    return f"{__name__}.{name.replace('-', '_')}"
