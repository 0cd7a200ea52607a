"""The pages of the audit: one module each, found by being here.

A module of this package that defines ``PAGE``, a subclass of
`sfumato.ui.panels.audit.pages.base.AuditPage`, is a page of the Audit panel.
"""

from __future__ import annotations

from functools import cache

from sfumato.engine.core.discovery import found_in
from sfumato.ui.panels.audit.pages.base import AuditPage


@cache
def all_pages() -> tuple[type[AuditPage], ...]:
    """Return every page, in the order in which they are shown."""
    pages: list[type[AuditPage]] = found_in(__name__, "PAGE", main="page")
    return tuple(sorted(pages, key=lambda page: page.order))
