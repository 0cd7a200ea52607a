"""Withdrawing a release that was wrong: the ledger keeps it, and says why it should not be used.

Nobody can take back what a recipient has. So a withdrawn release goes on counting: for
coalitions, for the guarantee, and for the ladder that later releases stay on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.mechanisms.base import Check
from sfumato.project.errors import ReleaseError
from sfumato.project.ledger import Entry, EntryKind, ReleaseRecord, ReleaseState, Withdrawal
from sfumato.project.project_file import ProjectFile

SHORTEST: Final = 6
"""So many characters of a release's identifier are enough to name it."""
_SHOWN: Final = 10


def entry_that_prepared(entries: Iterable[Entry], text: str) -> str:
    """Return the number of the entry that prepared a release, where another entry of it is meant.

    A ledger lists two entries for a release: that it was prepared, and that it was completed.
    """
    prepared = {str(one.number): one.details.get("prepared") for one in entries}
    number = prepared.get(text.strip())
    return text if number is None else str(number)


def release_called(releases: Sequence[ReleaseRecord], text: str) -> ReleaseRecord:
    """Return the release that a person means.

    Parameters
    ----------
    releases
        What the ledger has.
    text
        The number of its ledger entry, or the beginning of its identifier.

    Raises
    ------
    ReleaseError
        If there is none, or there are several.
    """
    wanted = text.strip().lower()
    found = [record for record in releases if str(record.number) == wanted]
    if not found and len(wanted) >= SHORTEST:
        found = [record for record in releases if record.release_id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    numbers = [str(record.number) for record in found[:_SHOWN]]
    if numbers:
        raise ReleaseError(
            "The ledger has several releases {text}: the entries {numbers}.",
            "Name one by the number of its entry.",
            text=text,
            numbers=listed(numbers),
        )
    raise ReleaseError(
        "The ledger has no release {text}.",
        "Name it by the number of its entry, which sfumato ledger lists, or by the identifier"
        " that is in its bundle.",
        text=text,
    )


def refuse_twice(recipient: str, withdrawn: Withdrawal | None) -> None:
    """Raise `ReleaseError` where what a recipient got was withdrawn already."""
    if withdrawn is not None:
        raise ReleaseError(
            "The release to {recipient} was withdrawn on {day} already.",
            "Its reason is in the ledger.",
            recipient=recipient,
            day=withdrawn.day,
        )


def refuse_withdrawal(record: ReleaseRecord) -> None:
    """Raise where a release can't be withdrawn.

    Raises
    ------
    ReleaseError
        If nobody was given it, or it is withdrawn already.
    """
    refuse_twice(record.recipient, record.withdrawn)
    if record.state in (ReleaseState.ABANDONED, ReleaseState.PREPARED):
        raise ReleaseError(
            "The release to {recipient} was never finished, so there is nothing to withdraw.",
            "Choose a release that was made.",
            recipient=record.recipient,
        )


def withdraw(project: ProjectFile, record: ReleaseRecord, reason: str) -> ReleaseRecord:
    """Record that a release was wrong; return what the ledger has of it then.

    Parameters
    ----------
    project
        Open for writing.
    record
        One of its releases.
    reason
        The custodian's, which the ledger keeps.

    Raises
    ------
    ReleaseError
        If no reason is given, or as `refuse_withdrawal`.
    ProjectError
        If the project can't be written.
    """
    reason = reason_for(reason)
    (record,) = (one for one in project.releases if one.number == record.number)
    refuse_withdrawal(record)
    details = {
        "withdrawn": record.number,
        "release_id": record.release_id,
        "recipient": record.recipient,
        "target": str(record.target),
        "reason": reason,
    }
    project.record(EntryKind.RELEASE_WITHDRAWN, details)
    return next(one for one in project.releases if one.number == record.number)


def reason_for(text: str) -> str:
    """Return the reason of a withdrawal as it is kept.

    Raises
    ------
    ReleaseError
        If none is given.
    """
    reason = text.strip()
    if not reason:
        raise ReleaseError(
            "A release is withdrawn for a reason.",
            "Say what was wrong with it: the ledger and the report keep that.",
        )
    return reason


def still_counted(releases: Iterable[ReleaseRecord]) -> str:
    """Say which of some releases were withdrawn, and that they count; empty where none was."""
    found = [
        Sentence(
            "the release to {recipient}, withdrawn on {day}",
            recipient=each.recipient,
            day=each.withdrawn.day,
        )
        for each in releases
        if each.withdrawn is not None
    ]
    if not found:
        return ""
    return Sentence(
        "Still counted: {releases}{more}.",
        releases=listed(found[:_SHOWN]),
        more=Sentence(" and {count:,} more", count=len(found) - _SHOWN) if found[_SHOWN:] else "",
    )


def check_withdrawn(withdrawn: Withdrawal | None) -> tuple[Check, ...]:
    """Return a check that fails where something was withdrawn; none where it was not."""
    if withdrawn is None:
        return ()
    finding = Sentence(
        "This release was withdrawn on {day}: “{reason}” It should no longer be used. Whoever has"
        " it knows what it tells, so it goes on counting.",
        day=withdrawn.day,
        reason=withdrawn.reason,
    )
    return (Check("Withdrawn", False, finding),)
