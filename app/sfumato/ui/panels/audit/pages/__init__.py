"""The pages of the audit: one module each, found by being here.

A module of this package that defines ``PAGE``, a subclass of
`sfumato.ui.panels.audit.pages.base.AuditPage`, is a page of the Audit panel: of something that is
asked in another way than by a question, or shown in a layout of its own. All other questions have
a page by being asked.
"""

from __future__ import annotations

from functools import cache

from sfumato.analysis.questions import all_questions
from sfumato.engine.core.discovery import found_in
from sfumato.ui.panels.audit.pages.answer import page_of
from sfumato.ui.panels.audit.pages.base import AuditPage


@cache
def all_pages() -> tuple[type[AuditPage], ...]:
    """Return every page, in the order in which they are shown."""
    asked = [page_of(question) for question in all_questions() if question.on_page]
    return tuple(sorted([*own_pages(), *asked], key=lambda page: page.order))


def own_pages() -> list[type[AuditPage]]:
    """Return the pages that have a module of their own."""
    return found_in(__name__, "PAGE", main="page")
