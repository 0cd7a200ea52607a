"""Levels, or single cells suppressed: what a plan proposes for the quasi-identifiers.

Levels alone hide a whole column because of a few records, and cells alone cost as much where nearly
everybody is rare. So both are tried, and what keeps more is taken: first, that whoever is trusted
most sees something of every column; then, the detail that is kept for all recipients together,
that of important columns counting more. A column that both would hide whole is shown at a finer
level where all that is asked can be kept so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from sfumato.analysis.coarsening.view_checks import seen_by, shown_to
from sfumato.analysis.coarsening.views import (
    FEW_COLUMNS,
    find_views,
    with_cells,
    with_level,
    with_statement,
)
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.utility.worth import DetailKept, details_kept
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, one_by_one
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, Recipient
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.groups import public_names
from sfumato.project.release.views import cell_costs, check_view, in_chain, quasi_identifiers

MOST_ROWS: Final = 100_000
"""Of longer tables, the levels stay: to find cells takes longer there than somebody waits."""
_TRIED: Final = (0.1, 0.2)
"""The shares of all cells that may be suppressed; the second where the first hides a column."""
_LEAST_TRUSTED: Final = 2.0
"""So many times the share goes to whoever is trusted least, whose classes are larger."""

_TRYING: Final = "Trying what single cells would keep"

LooksAt = Callable[[Document], tuple[Document, ShownColumns, Mapping[str, Attribute]]]


def views_keeping_most(
    document: Document, rows: BatchedTable, looked: LooksAt, context: Context
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
    if len(quasi_identifiers(document)) > FEW_COLUMNS or rows.rows > MOST_ROWS:
        return document, False
    now = _kept(document, _watched(looked, context, 0.0))
    better: list[tuple[tuple[int, float], Document]] = []
    for share, part in one_by_one(context, _TRIED):
        if any(not hidden for (hidden, _), _ in better):
            break
        part.report(0.0, _TRYING)
        other = with_cells(document, True)
        for each in document.recipients:
            last = each is document.recipients[-1] and len(document.recipients) > 1
            own = share * _LEAST_TRUSTED if last else share
            other = with_statement(other, each.name, suppression=own)
        with suppress(SfumatoError):
            watched = _watched(looked, part, 1.0)
            tried = _showing_all(find_views(other, rows, part, evenly=True), watched)
            kept = _kept(tried, watched)
            better += [(kept, tried)] if kept > now else []
    for _, tried in sorted(better, key=lambda one: one[0], reverse=True):
        if can_be_released(tried, _watched(looked, context, 1.0)):
            return tried, True
    return document, False


def _watched(looked: LooksAt, context: Context, fraction: float) -> LooksAt:
    """Look at documents as before, and let whoever waits stop the work each time.

    Which cells are suppressed is found anew for each: by many columns, a second's work.
    """

    def look(document: Document) -> tuple[Document, ShownColumns, Mapping[str, Attribute]]:
        context.report(fraction, _TRYING)
        return looked(document)

    return look


def _showing_all(document: Document, looked: LooksAt) -> Document:
    """Return the document with something shown of each column that is hidden from the first.

    The search goes down one level after the other, as long as each gains: it never passes one at
    which all records are alike, such as the year of one year's visits. So the levels below are
    tried, the coarsest first, for as many recipients as can see them.
    """
    first = document.recipients[0].view
    levels = {} if first is None else first.levels
    for name in _hidden(document, looked):
        for level in reversed(range(levels.get(name, 0))):
            found = _shown_at(document, name, level, looked)
            if found is not None:
                document = found
                break
    return document


def _shown_at(document: Document, name: str, level: int, looked: LooksAt) -> Document | None:
    """Return the document with a column at a level that shows the first something of it.

    Whoever is trusted least sees it too, where that can be released; None where none can.
    """
    for each in reversed(in_chain(document)):
        with suppress(SfumatoError):
            tried, _ = with_level(document, each.name, name, level)
            if name in _hidden(tried, looked):
                return None
            if can_be_released(tried, looked):
                return tried
    return None


def can_be_released(document: Document, looked: LooksAt) -> bool:
    """Return whether every recipient's view holds what is asked of it."""
    document, columns, _ = looked(document)
    try:
        for seen in (seen_by(document, each, columns) for each in document.recipients):
            if seen is not None:
                check_view(seen)
    except SfumatoError:
        return False
    return True


def _kept(document: Document, looked: LooksAt) -> tuple[int, float]:
    """Return how many columns hide nothing whole from the first recipient, and all detail kept."""
    document, columns, _ = looked(document)
    names, kept = quasi_identifiers(document), 0.0
    weights = dict(zip(names, cell_costs(names, document.importance), strict=True))
    for recipient in document.recipients:
        found = _details(document, recipient, columns)
        kept += sum(weights[name] * (found[name].kept if name in found else 1.0) for name in names)
    return -len(_hidden(document, looked)), round(kept, 9)


def detail_kept_of(document: Document, names: Iterable[str], looked: LooksAt) -> float:
    """Return how much of columns' detail leaves for all recipients together, 1 for each whole one.

    What is left out keeps nothing.
    """
    document, columns, _ = looked(document)
    leaving = set(names).intersection(public_names(document))
    kept = 0.0
    for recipient in document.recipients:
        found = _details(document, recipient, columns)
        kept += sum(found[name].kept if name in found else 1.0 for name in leaving)
    return round(kept, 9)


def _hidden(document: Document, looked: LooksAt) -> tuple[str, ...]:
    """Return the columns of which the first recipient learns nothing."""
    document, columns, _ = looked(document)
    found = _details(document, document.recipients[0], columns)
    return tuple(
        name for name in quasi_identifiers(document) if name in found and found[name].worthless
    )


def _details(
    document: Document, recipient: Recipient, columns: ShownColumns
) -> dict[str, DetailKept]:
    shown = shown_to(document, recipient, columns)
    return {one.column: one for one in details_kept(recipient.name, shown, columns)}
