"""The ledger of the open project, as panels show it."""

from __future__ import annotations

from sfumato.engine.core.progress import Context
from sfumato.project.errors import LedgerTampered
from sfumato.project.ledger import LedgerEvent, ReleaseRecord, events_in
from sfumato.project.project_file import ProjectFile
from sfumato.ui.state.session import Session


def releases_of(session: Session) -> tuple[ReleaseRecord, ...]:
    """Return what the ledger tells of, oldest first.

    Nothing where there is no project, or where the ledger can't be read any more: whoever
    examines its chain says so.
    """
    return session.steps.releases()


def events_of(session: Session) -> tuple[LedgerEvent, ...]:
    """Return everything that the ledger tells of, oldest first; nothing where `releases_of` has."""
    if session.project is None:
        return ()
    try:
        return events_in(session.project.ledger.entries)
    except LedgerTampered:
        return ()


def count_entries(project: ProjectFile, context: Context) -> int:
    """Examine the ledger's chain and return the number of its entries.

    Raises
    ------
    LedgerTampered
        If an entry is not as it was written.
    NotSealed
        If something else in the project is not as it was sealed.
    """
    context.report(0.0, "Examining the ledger")
    if project.tampering is not None:
        raise project.tampering
    project.ledger.verify_chain()
    return len(project.ledger.entries)
