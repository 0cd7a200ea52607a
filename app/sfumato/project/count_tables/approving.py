"""What a second person approves of a table of counts: its columns, its noise and its ε."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sfumato.project.approval import COLUMNS, source_in
from sfumato.project.count_tables.counting import count_table
from sfumato.project.count_tables.held import count_tables_in
from sfumato.project.count_tables.noise import edition_of, root_for
from sfumato.project.document.model import Recipient, canonical_json
from sfumato.project.project_file import ProjectFile


def content_of_counts(
    project: ProjectFile, columns: Sequence[str], recipient: Recipient, epsilon: float
) -> dict[str, Any]:
    """Return what an approval is of; it lapses when values, units, ε, edition or noise change.

    Parameters
    ----------
    project
        Whose saved document and ledger decide.
    columns
        One to four, in any order.
    recipient
        Who gets the table.
    epsilon
        ε.

    Raises
    ------
    SfumatoError
        As `count_table`, and if there is no source table.
    """
    document = project.document
    source, table = source_in(document), count_table(document, columns)
    root = root_for(document, columns, source, count_tables_in(project.ledger.entries))
    decided = (table.canonical, root.canonical, edition_of(source))
    told = canonical_json([*decided, document.title, recipient.language])
    return {
        "project": project.project_id,
        "recipient": recipient.name,
        "policy": hashlib.sha256(told.encode()).hexdigest(),
        "table": [source.digest, source.rows],
        COLUMNS: list(table.columns),
        "epsilon": float(epsilon),
    }
