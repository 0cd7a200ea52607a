"""The pages of the audit: one module each, found by being here.

A module of this package that defines ``PAGE``, a subclass of
`sfumato.ui.panels.audit.pages.base.AuditPage`, is a page of the Audit panel.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from sfumato.ui.panels.audit.pages.base import AuditPage


@cache
def all_pages() -> tuple[type[AuditPage], ...]:
    """Return every page, in the order in which they are shown."""
    found: list[type[AuditPage]] = []
    for info in pkgutil.iter_modules(__path__):
        page = getattr(
            importlib.import_module(f"{__name__}.{info.name}{'.page' if info.ispkg else ''}"),
            "PAGE",
            None,
        )
        if isinstance(page, type) and issubclass(page, AuditPage):
            found.append(page)
    return tuple(sorted(found, key=lambda page: page.order))
