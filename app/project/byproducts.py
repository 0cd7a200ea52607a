"""What in a bundle follows from the true table beside the released values: one place to ask.

The guarantee, the README's list of what is not promised, the report and the check before a
release all ask here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from app.engine.errors import LadderError, SfumatoError
from app.engine.mechanisms import all_mechanisms, mechanism_called
from app.engine.wording import Sentence
from app.project.model import Document, PolicyEntry


def byproduct_epsilon(entry: PolicyEntry) -> float:
    """Return ε0 of what recipients are told beside an entry's released values.

    0 where settings can't be read: the policy says what is wrong with them.
    """
    if entry.mechanism not in all_mechanisms():
        return 0.0
    try:
        return mechanism_called(entry.mechanism).byproduct_epsilon(entry.settings)
    except SfumatoError:
        return 0.0


def exact_byproducts(document: Document) -> dict[str, str]:
    """Return the policy entries whose bundles would tell exact statistics of the table, and how.

    No limit of theirs is kept: whoever knows all other records learns the last one.
    """
    return {
        entry.key: Sentence(
            "What recipients are told about {entry} beside its values was computed from the exact"
            " table, so whoever knows all other records can tell a person's {entry}",
            entry=entry.key,
        )
        for entry in document.policy
        if math.isinf(byproduct_epsilon(entry))
    }


def check_byproducts(found: Mapping[str, str]) -> None:
    """Refuse the first of `exact_byproducts`.

    Raises
    ------
    LadderError
        Naming the policy entry and the way forward.
    """
    for sentence in found.values():
        raise LadderError(
            "{sentence}.",
            "Compute its settings again (for per-value limits: solve them again, for noisy counts),"
            " or release in spite of it by stating a reason, which the ledger keeps.",
            sentence=sentence,
        )
