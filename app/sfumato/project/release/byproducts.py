"""What in a bundle follows from the true table beside the released values: one place to ask.

The guarantee, the README's list of what is not promised, the report and the check before a
release all ask here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import LadderError, SfumatoError
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.mechanisms import all_mechanisms, mechanism_called
from sfumato.project.document.model import Document, PolicyEntry

COUNTS_TOLD: Final = Sentence(
    "The number of records, and how many of them share values of the columns released unchanged,"
    " are disclosed exactly."
)


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
            "The parameters that recipients get with {entry} were computed from the exact table,"
            " so anyone who knows all other records can work out a person's {entry}",
            entry=entry.key,
        )
        for entry in document.policy
        if math.isinf(byproduct_epsilon(entry))
    }


def columns_from_rows(document: Document) -> tuple[str, ...]:
    """Return the released columns whose values or bins were taken from the rows, unconfirmed."""
    perturbed = {name for entry in document.policy for name in entry.attributes}
    return tuple(
        column.name
        for column in document.columns
        if column.tells_rows
        and column.role is not Role.IDENTIFYING
        and (column.binning is not None or column.name in perturbed)
    )


def from_rows_sentence(document: Document) -> str:
    """Say which lists of values tell that somebody has each value; empty where none does."""
    names = columns_from_rows(document)
    if not names:
        return ""
    return Sentence(
        "The values or bins of {names} were taken from the table, so anyone who sees them can"
        " tell that somebody has each of them. No figure here includes that; it holds until they"
        " are confirmed as the values that could occur.",
        names=listed(names),
    )


def byproducts_that_remain(document: Document) -> tuple[str, ...]:
    """Return what every bundle tells of the table beside its released values, uncounted.

    What mechanisms tell, exact or with noise, stands with their own promises
    (`Mechanism.byproducts`).
    """
    told: list[str] = [from_rows_sentence(document)] if columns_from_rows(document) else []
    return (*told, COUNTS_TOLD)


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
            "Compute its settings again (per-value limits: solve them again with noisy counts),"
            " or state a reason for releasing anyway, which the ledger keeps.",
            sentence=sentence,
        )
