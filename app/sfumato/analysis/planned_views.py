"""Levels, or single cells suppressed: what a plan proposes for the quasi-identifiers.

Levels alone hide a whole column because of a few records, and cells alone cost as much where nearly
everybody is rare. So both are tried, and what keeps more is taken: first, that whoever is trusted
most sees something of every column; then, the detail that is kept for all recipients together,
that of important columns counting more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.view_checks import seen_by, shown_to
from sfumato.analysis.views import find_views, with_cells, with_statement
from sfumato.analysis.worth import details_kept
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, one_by_one
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.views import cell_costs, check_view, quasi_identifiers

MOST_COLUMNS: Final = 10
"""Single cells are tried for up to so many quasi-identifiers: of more, few cells would be left."""
MOST_ROWS: Final = 100_000
"""Of longer tables, the levels stay: to find cells takes longer there than somebody waits."""
_TRIED: Final = (0.1, 0.2)
"""The shares of all cells that may be suppressed; the second where the first hides a column."""
_LEAST_TRUSTED: Final = 2.0
"""So many times the share goes to whoever is trusted least, whose classes are larger."""

_Looked = Callable[[Document], tuple[Document, ShownColumns, Mapping[str, Attribute]]]


def views_keeping_most(
    document: Document, rows: BatchedTable, looked: _Looked, context: Context
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
    if len(quasi_identifiers(document)) > MOST_COLUMNS or rows.rows > MOST_ROWS:
        return document, False
    now = _kept(document, looked)
    better: list[tuple[tuple[int, float], Document]] = []
    for share, part in one_by_one(context, _TRIED):
        if any(not hidden for (hidden, _), _ in better):
            break
        part.report(0.0, "Trying what single cells would keep")
        other = with_cells(document, True)
        for each in document.recipients:
            last = each is document.recipients[-1] and len(document.recipients) > 1
            own = share * _LEAST_TRUSTED if last else share
            other = with_statement(other, each.name, suppression=own)
        with suppress(SfumatoError):
            tried = find_views(other, rows, part, evenly=True)
            kept = _kept(tried, looked)
            better += [(kept, tried)] if kept > now else []
    for _, tried in sorted(better, key=lambda one: one[0], reverse=True):
        if can_be_released(tried, looked):
            return tried, True
    return document, False


def can_be_released(document: Document, looked: _Looked) -> bool:
    """Return whether every recipient's view holds what is asked of it."""
    document, columns, _ = looked(document)
    try:
        for seen in (seen_by(document, each, columns) for each in document.recipients):
            if seen is not None:
                check_view(seen)
    except SfumatoError:
        return False
    return True


def _kept(document: Document, looked: _Looked) -> tuple[int, float]:
    """Return how many columns hide nothing whole from the first recipient, and all detail kept."""
    document, columns, _ = looked(document)
    names, hidden, kept = quasi_identifiers(document), 0, 0.0
    weights = dict(zip(names, cell_costs(names, document.importance), strict=True))
    for place, recipient in enumerate(document.recipients):
        shown = shown_to(document, recipient, columns)
        found = {one.column: one for one in details_kept(recipient.name, shown, columns)}
        kept += sum(weights[name] * (found[name].kept if name in found else 1.0) for name in names)
        if place == 0:
            hidden = sum(name in found and found[name].worthless for name in names)
    return -hidden, round(kept, 9)
