"""Identifying columns that leave as pseudonyms: for whom they are the same, and what that links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.randomness.record_ids import pseudonyms
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing

SHARED = "shared"


def pseudonymous(document: Document) -> tuple[ColumnSpec, ...]:
    """Return the identifying columns that leave as pseudonyms, in the table's order."""
    return tuple(column for column in document.columns if column.as_pseudonym is not None)


def scope_of(spec: ColumnSpec, recipient: str) -> str:
    """Return whose pseudonyms a recipient sees: those that several share, or their own.

    Two recipients see the same pseudonyms exactly when their scopes are the same text.
    """
    told = spec.as_pseudonym
    shares = told is not None and (told.shared_by is None or recipient in told.shared_by)
    return SHARED if shares else f"recipient {recipient}"


def scopes_for(document: Document, recipient: str) -> dict[str, str]:
    """Return the scope of each column that leaves as a pseudonym, by its name."""
    return {spec.name: scope_of(spec, recipient) for spec in pseudonymous(document)}


def pseudonym_column(
    table: Table, name: str, scope: str, keys: KeyRing, context: Context
) -> pd.Series:
    """Return an identifying column as it leaves.

    Raises
    ------
    TableError
        If there is no such column, or two values share a pseudonym.
    """
    return pseudonyms(table.column(name), keys.for_pseudonyms(name, scope), context)


def linking_cautions(document: Document) -> tuple[str, ...]:
    """Say what pseudonyms let recipients link, with their names, for the custodian."""
    said: list[str] = []
    for spec in pseudonymous(document):
        sharing = [r.name for r in document.recipients if scope_of(spec, r.name) == SHARED]
        said.append(within_sentence(spec))
        if len(sharing) > 1:
            said.append(
                Sentence(
                    "{names} share the pseudonyms of {column}: together they can lay their rows"
                    " beside each other, and know of each {column} all that any of them was given.",
                    names=listed(sharing),
                    column=spec.name,
                )
            )
    return tuple(said)


def linking_limits(document: Document, recipient: str) -> tuple[str, ...]:
    """Say what pseudonyms let one recipient link, without naming others."""
    said: list[str] = []
    for spec in pseudonymous(document):
        said.append(within_sentence(spec))
        others = [r.name for r in document.recipients if r.name != recipient]
        alike = [name for name in others if scope_of(spec, name) == SHARED]
        if alike and scope_of(spec, recipient) == SHARED:
            said.append(
                Sentence(
                    "Other recipients have the same pseudonyms of {column}: whoever pools releases"
                    " with theirs can lay the rows beside each other.",
                    column=spec.name,
                )
            )
    return tuple(said)


def within_sentence(spec: ColumnSpec) -> str:
    """Say that rows with one pseudonym belong together, in this release and in later ones."""
    return Sentence(
        "Rows with the same pseudonym of {column} belong together, in one release and in all later"
        " ones to the same recipient.",
        column=spec.name,
    )
