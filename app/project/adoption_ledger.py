"""What the ledger keeps of earlier releases that were made elsewhere and adopted.

An adoption can be undone until something is released beside it; with the first release it is
recorded, and stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.project.adopted_files import AdoptedFile, adopted_files
from app.project.ledger import Entry, EntryKind, tampered_at
from app.project.model import Document


@dataclass(frozen=True)
class AdoptedRecord:
    """One adopted release as the ledger has it.

    Parameters
    ----------
    number
        The number of the ledger entry.
    recorded_at
        When it was recorded; ISO 8601, UTC.
    entry
        The key of its policy entry.
    mechanism
        The entry's mechanism.
    file
        The release.
    """

    number: int
    recorded_at: str
    entry: str
    mechanism: str
    file: AdoptedFile


def adoptions_to_record(document: Document, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the details of every adoption of a document that the ledger does not have yet."""
    known = [_known(entry.details) for entry in entries if entry.kind == EntryKind.ADOPTED]
    found = []
    for entry in document.policy:
        for file in adopted_files(entry.settings):
            details = {
                "attribute": entry.key,
                "mechanism": entry.mechanism,
                "holder": file.holder,
                "release": file.to_dict(),
            }
            if _known(details) not in known:
                found.append(details)
    return found


def adoptions_in(entries: Iterable[Entry]) -> tuple[AdoptedRecord, ...]:
    """Return the adopted releases that entries tell of, oldest first.

    Raises
    ------
    LedgerTampered
        If an entry does not even hold what such an entry holds.
    """
    found = []
    for entry in entries:
        if entry.kind == EntryKind.ADOPTED:
            try:
                file = AdoptedFile.from_dict(entry.details["release"])
                key, mechanism = entry.details["attribute"], entry.details["mechanism"]
            except (KeyError, TypeError, ValueError, AttributeError):
                raise tampered_at(entry.number) from None
            found.append(AdoptedRecord(entry.number, entry.recorded_at, key, mechanism, file))
    return tuple(found)


def _known(details: Any) -> tuple[Any, ...]:
    """Return what makes an adoption the same one, wherever its file stands."""
    release = details["release"]
    return (
        details["attribute"],
        details["mechanism"],
        details["holder"],
        release["digest"],
        release["level"],
        release["rung"],
    )
