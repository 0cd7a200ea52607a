"""The commands of the command line: one module each, found by being here.

A module of this package is a command of the same name, and one of a package below it, such as
``audits``, a command of a command. The first line of its docstring is its summary, and it defines
``COMMAND`` (a `Command`). Nothing is imported to list them, so that no command costs the start of
another. What commands share is in `sfumato.commands.shared`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sfumato.commands.shared.command import Command

ORDER: Final = (
    "open",
    "demo",
    "init",
    "release",
    "publish",
    "verify",
    "trace",
    "rules",
    "audit",
    "hierarchy",
    "report",
    "diversity",
    "others",
    "recipients",
    "risk",
    "query",
    "adopt",
    "row-order",
    "noisy-counts",
    "ledger",
    "source",
    "seal",
    "passphrase",
)
"""The order in which help shows the commands."""


def command_names(package: str = __name__, order: Sequence[str] = ORDER) -> tuple[str, ...]:
    """Return the commands of a package: those of `order` first, others by their names."""
    path = importlib.import_module(package).__path__
    found = {i.name.replace("_", "-") for i in pkgutil.iter_modules(path) if not i.ispkg}
    return (*(name for name in order if name in found), *sorted(found.difference(order)))


def summary_of(name: str, package: str = __name__) -> str:
    """Return what a command does, in one line, without importing it."""
    loader = importlib.util.find_spec(_module(name, package)).loader  # type: ignore[union-attr]
    code = loader.get_code(_module(name, package))  # type: ignore[union-attr]
    return next(text for text in code.co_consts if isinstance(text, str)).partition("\n")[0]


def command_called(name: str, package: str = __name__) -> Command:
    """Import a command and return it."""
    command: Command = importlib.import_module(_module(name, package)).COMMAND
    return command


def _module(name: str, package: str) -> str:
    return f"{package}.{name.replace('-', '_')}"
