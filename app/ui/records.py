"""The releases of the open project, as panels show them."""

from __future__ import annotations

from app.project.errors import LedgerTampered
from app.project.records import ReleaseRecord
from app.ui.session import Session


def releases_of(session: Session) -> tuple[ReleaseRecord, ...]:
    """Return what the ledger tells of, oldest first.

    Nothing where there is no project, or where the ledger can't be read any more: whoever
    examines its chain says so.
    """
    if session.project is None:
        return ()
    try:
        return session.project.releases
    except LedgerTampered:
        return ()
