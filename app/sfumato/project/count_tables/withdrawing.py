"""Withdrawing a table of counts that was wrong; like a release, it goes on counting."""

from __future__ import annotations

from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.withdrawal import reason_for, refuse_twice


def count_table_called(project: ProjectFile, text: str) -> CountTableRecord | None:
    """Return the table of counts with the number of an entry; None where there is none."""
    records = count_tables_in(project.ledger.entries)
    return next((one for one in records if str(one.number) == text.strip()), None)


def withdraw_counts(project: ProjectFile, number: int, reason: str) -> CountTableRecord:
    """Record that a table of counts was wrong; return what the ledger has of it then.

    Parameters
    ----------
    project
        Open for writing.
    number
        That of its ledger entry.
    reason
        The custodian's, which the ledger keeps.

    Raises
    ------
    ReleaseError
        If no reason is given, or it is withdrawn already.
    ProjectError
        If the project can't be written.
    """
    reason, record = reason_for(reason), _with(project, number)
    refuse_twice(record.recipient, record.withdrawn)
    details = {
        "withdrawn": number,
        "recipient": record.recipient,
        "columns": list(record.columns),
        "target": record.target,
        "reason": reason,
    }
    project.record(EntryKind.COUNTS_WITHDRAWN, details)
    return _with(project, number)


def _with(project: ProjectFile, number: int) -> CountTableRecord:
    records = count_tables_in(project.ledger.entries)
    return next(one for one in records if one.number == number)
