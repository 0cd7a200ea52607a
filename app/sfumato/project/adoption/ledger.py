"""What the ledger keeps of earlier releases that were made elsewhere and adopted.

An adoption can be undone until something is released beside it; with the first release it is
recorded, and stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfumato.project.document.adopted_files import adopted_files
from sfumato.project.document.model import Document
from sfumato.project.ledger.ledger import Entry, EntryKind


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
