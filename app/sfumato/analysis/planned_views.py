"""Levels, or single cells suppressed: what a plan proposes for the quasi-identifiers.

Levels alone hide a whole column because of a few records, and cells alone cost as much where nearly
everybody is rare. So both are tried, and what keeps more is taken: first, that whoever is trusted
most sees something of every column; then, the detail that is kept for all recipients together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.view_checks import shown_to
from sfumato.analysis.views import find_views, views_in, with_cells, with_statement
from sfumato.analysis.worth import details_kept
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Silent, one_by_one
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.views import quasi_identifiers

MOST_COLUMNS: Final = 10
"""Single cells are tried for up to so many quasi-identifiers: of more, few cells would be left."""
MOST_ROWS: Final = 50_000
"""Of longer tables, the levels stay: to find cells takes longer there than somebody waits."""
_TRIED: Final = ((0.05, False), (0.05, True), (0.1, True))
"""The shares of all cells that may be suppressed, and whether levels are found evenly."""

_Looked = Callable[[Document], tuple[Document, ShownColumns, Mapping[str, Attribute]]]


def views_keeping_most(
    document: Document, rows: LongTable, looked: _Looked, context: Context
) -> tuple[Document, bool]:
    """Return the document with the views that keep most, and whether they were found evenly.

    Parameters
    ----------
    document
        What is decided, with a view for every recipient.
    rows
        The rows that leave.
    looked
        What is known of the columns that leave by a document.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        If the rows don't fit the document.
    """
    found = document, False
    if len(quasi_identifiers(document)) > MOST_COLUMNS or rows.rows > MOST_ROWS:
        return found
    most = _kept(document, looked)
    for (share, evenly), part in one_by_one(context, _TRIED):
        part.report(0.0, "Trying what single cells would keep")
        other = with_cells(document, True)
        for each in document.recipients:
            other = with_statement(other, each.name, suppression=share)
        with suppress(SfumatoError):
            tried = find_views(other, rows, part, evenly=evenly)
            if any(one.problem for one in views_in(tried, rows, Silent())):
                continue
            kept = _kept(tried, looked)
            if kept > most:
                found, most = (tried, evenly), kept
    return found


def _kept(document: Document, looked: _Looked) -> tuple[int, float]:
    """Return how many columns hide nothing whole from the first recipient, and all detail kept."""
    document, columns, _ = looked(document)
    names, hidden, kept = quasi_identifiers(document), 0, 0.0
    for place, recipient in enumerate(document.recipients):
        shown = shown_to(document, recipient, columns)
        found = {one.column: one for one in details_kept(recipient.name, shown, columns)}
        kept += sum(found[name].kept if name in found else 1.0 for name in names)
        if place == 0:
            hidden = sum(name in found and found[name].worthless for name in names)
    return -hidden, round(kept, 9)
