"""The audits of the command line: one module each, found by being here.

A module of this package that defines ``AUDIT`` (a `Command`) is an audit, ``sfumato audit NAME``.
"""

from __future__ import annotations

import importlib
import pkgutil

from sfumato.commands.shared.command import Command


def all_audits() -> tuple[Command, ...]:
    """Return every audit, in the order in which help shows them."""
    found = []
    for info in pkgutil.iter_modules(__path__):
        audit = getattr(importlib.import_module(f"{__name__}.{info.name}"), "AUDIT", None)
        if isinstance(audit, Command):
            found.append(audit)
    return tuple(sorted(found, key=lambda audit: audit.order))
