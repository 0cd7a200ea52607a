"""What a finding's button does: the edit that mends it, at once or after reading the table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from sfumato.analysis.coarsening.views import levels_found_anew
from sfumato.analysis.findings import Remedy
from sfumato.analysis.readiness.readiness import fits, mended
from sfumato.engine.core.progress import Context
from sfumato.project.document.model import Document
from sfumato.ui.look.wording import spoken
from sfumato.ui.state.session import Session

MENDING_JOB: Final = "releases-mending"


def mend(session: Session, remedy: Remedy, unfit: Callable[[], object]) -> None:
    """Take a remedy, as one edit.

    Parameters
    ----------
    session
        What is open.
    remedy
        What mends a finding.
    unfit
        Called where what it is for is gone: it was offered before an edit.
    """
    before = session.document
    if remedy.reading is not None:
        session.reading_requested.emit(remedy.reading)
        return
    if not fits(before, remedy):
        unfit()
        return
    words = spoken(remedy.words).partition(":")[0]
    if not remedy.needs_rows:
        session.edit(words, mended(before, remedy))
        return
    source, table, noise, keys = session.survey, session.source, session.noise, session.keys
    if source is None or table is None:
        return

    def levels(document: Document, context: Context) -> Document:
        return levels_found_anew(document, table, keys, context)

    def work(context: Context) -> Document:
        context.report(0.0, words)
        return mended(before, remedy, source, noise, context, levels)

    session.edit_later(words, work, partial(session.say_error, topic="ready"), key=MENDING_JOB)
