"""What every recipient sees of the quasi-identifiers, all together see, and what is kept at all."""

from __future__ import annotations

from contextlib import suppress

from sfumato.analysis.coarsening.columns_left import KeptColumns, kept_columns
from sfumato.analysis.coarsening.undone_views import GivenBack, given_back
from sfumato.analysis.coarsening.views import SeenBy, seen_together, uncoarsened_views, views_in
from sfumato.analysis.guarantee import AllTogether, together_of
from sfumato.analysis.readiness.readiness import attributes_in
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.randomness.keys import KeyRing
from sfumato.project.document.model import Document
from sfumato.project.release.batched_table import BatchedTable


@dataclass(frozen=True)
class AllViews:
    """What is seen of the quasi-identifiers.

    Parameters
    ----------
    found, others
        What those see who have a view, and those who have none.
    together, virtual
        What all recipients know together, and how coarsely they see; None where that can't be said.
    kept
        Which columns are kept; None where something is kept of each.
    given_back
        What other columns give back of those that are coarsened.
    """

    found: tuple[SeenBy, ...]
    others: tuple[SeenBy, ...]
    together: AllTogether | None
    virtual: SeenBy | None
    kept: KeptColumns | None
    given_back: tuple[GivenBack, ...]


def all_views(
    document: Document,
    table: BatchedTable,
    left: BatchedTable,
    keys: KeyRing,
    context: Context,
) -> AllViews:
    """Return what is seen of a table's quasi-identifiers.

    Parameters
    ----------
    document, table, keys
        What is decided, the rows and the project's keys.
    left
        The rows that leave (`released_rows`).
    context
        Progress and cancelling.
    """
    # Of a long table, the rows of the finest view are counted first: the others join them.
    others = uncoarsened_views(document, left, Part(context, 0.0, 0.2))
    found = views_in(document, left, Part(context, 0.2, 0.5))
    together = virtual = kept = None
    restored: tuple[GivenBack, ...] = ()
    if found:
        kept = kept_columns(document, left, Part(context, 0.5, 0.6))
        restored = given_back(document, left, Part(context, 0.6, 0.7))
        with suppress(SfumatoError):  # a domain that does not fit the table hides no view
            attributes = attributes_in(document, table, keys, Part(context, 0.7, 0.8))
            together = together_of(document, attributes)
    if together is not None:
        part = Part(context, 0.8, 1.0)
        virtual = seen_together(document, left, together.finest[0], found, part)
    return AllViews(found, others, together, virtual, kept, restored)
