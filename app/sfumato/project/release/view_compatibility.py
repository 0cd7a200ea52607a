"""Whether a recipient's view stands in one chain with the views that were released before.

Of two views one has to be a function of the other: no level of it finer, and nothing shown in it
that the other suppresses. Otherwise whoever holds both knows more than either tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sfumato.engine.core.errors import LadderError
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, Source
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.long_views import suppressed_together
from sfumato.project.release.views import Coarsening, coarsened, coarsening_of, nested_in


def crossing_views(
    document: Document,
    table: Table | LongTable,
    source: Source,
    coarsening: Coarsening | None,
    releases: Iterable[ReleaseRecord],
) -> dict[str, str]:
    """Return the releases whose views cross a new one, by what they are called, with the reason.

    Views of another edition are compared by their levels alone.

    Parameters
    ----------
    document, table, source
        What the new release is made by, the rows that leave, and from what.
    coarsening
        Its view; None for quasi-identifiers as they are, which cross nothing.
    releases
        Those already made.
    """
    if coarsening is None:
        return {}
    found: dict[str, str] = {}
    earlier = [record for record in releases if record.counts and not record.is_publication]
    for record in earlier:
        other = coarsening_at(record)
        if other is None or other == coarsening:
            continue
        same_table = record.source.digest == source.digest
        if _in_one_chain(document, table if same_table else None, coarsening, other):
            continue
        day = record.day
        found[f"view of {record.recipient}, {day}"] = Sentence(
            "The quasi-identifiers were released to {earlier} on {day} by a view that is neither"
            " wholly finer nor wholly coarser than {recipient}'s, so whoever has both can tell"
            " more people apart than either view lets them",
            earlier=record.recipient,
            day=day,
            recipient=coarsening.own.recipient,
        )
    return found


def _in_one_chain(
    document: Document, table: Table | LongTable | None, one: Coarsening, other: Coarsening
) -> bool:
    shared = set(one.hierarchies) & set(other.hierarchies)
    if any(one.hierarchies[name] != other.hierarchies[name] for name in shared):
        return False
    for finer, coarser in ((one, other), (other, one)):
        if nested_in(finer, coarser) and _suppression_nested(document, table, finer, coarser):
            return True
    return False


def _suppression_nested(
    document: Document,
    table: Table | LongTable | None,
    finer: Coarsening,
    coarser: Coarsening,
) -> bool:
    # Along one chain the sets are nested by the way they are made.
    along = finer.steps == coarser.steps[: len(finer.steps)] and finer.unit == coarser.unit
    if along or table is None or all(step.k == 1 for step in finer.steps):
        return True
    known = {column.name for column in document.columns}
    if not {*finer.hierarchies, *coarser.hierarchies} <= known:
        return False
    if isinstance(table, LongTable):
        both = suppressed_together(table, document.columns, (finer, coarser), Silent())
    else:
        views = (coarsened(each, document.columns, table).view for each in (finer, coarser))
        both = [view.suppressed for view in views]
    hidden, above = both
    return not bool((hidden & ~above).any())


def check_crossing(found: Mapping[str, str]) -> None:
    """Refuse the first of `crossing_views`.

    Raises
    ------
    LadderError
        Naming the release and the way forward.
    """
    for sentence in found.values():
        raise LadderError(
            "{sentence}.",
            "Choose levels that are all as high as those, or all as low, or state a reason for"
            " releasing anyway, which the ledger keeps.",
            sentence=sentence,
        )


def coarsening_at(record: ReleaseRecord) -> Coarsening | None:
    """Return the view by which a release was made, from the policy that was in force then.

    Raises
    ------
    LedgerTampered
        If what the ledger keeps is no policy.
    """
    policy = record.policy
    if policy is None or "view" not in record.details:
        return None
    recipients = [each for each in policy.recipients if each.name == record.recipient]
    return coarsening_of(policy, recipients[0]) if recipients else None
