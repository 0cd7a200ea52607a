"""What the questions of an audit are asked of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TypeVar

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.coalitions.holdings import Holding, ReleaseBasis, holdings_of
from sfumato.analysis.disclosure.pooled_rows import repeated_units
from sfumato.analysis.disclosure.record_losses import RecordLosses
from sfumato.analysis.readiness.readiness import looked_at
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.unperturbed.open_columns import OpenAnswer, answer_open_columns
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.repeated_units import RepeatedUnit
from sfumato.engine.table.table import Attribute
from sfumato.project.count_tables.held import CountTableRecord
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.batched_table import BatchedTable


@dataclass(frozen=True)
class AuditInputs:
    """What the questions are asked of.

    Parameters
    ----------
    rows, table
        All rows, by the policy that is weighed; and the table that they are read from.
    attributes
        The policy's attributes, by name, as far as they are known.
    releases
        What the ledger tells of.
    columns, leaving
        Find what is known of all rows' columns, and of the columns of those that leave.
    units
        Finds the columns by which rows may belong together.
    opened
        Finds what the columns released unchanged tell.
    basis
        Which releases are weighed.
    members
        Who is in the coalition that is asked about; nobody for everybody.
    recipients
        Whose releases are asked about; nobody for everybody.
    attribute, knows
        The sensitive attribute that is asked about, and the public columns that the attacker
        knows; empty and None for what is usual.
    settings
        The numbers that the question is asked with, as far as they are stated.
    rule
        The test that small groups are examined by; empty for the exact one.
    remedies
        Whether what releasing less would change is asked, too.
    what_if
        The level of one more recipient; None for none.
    in_class
        A person's class in each table that others and we publish, by its labels, by holder.
    counts, losses
        The tables of counts that left; and what finds what a record lost by releases of records.
    """

    rows: AllRows
    table: BatchedTable
    attributes: Mapping[str, Attribute]
    releases: Sequence[ReleaseRecord]
    columns: Callable[[Context], ShownColumns]
    leaving: Callable[[Context], ShownColumns]
    units: Callable[[Context], Sequence[RepeatedUnit]]
    opened: Callable[[Context], OpenAnswer | None]
    basis: ReleaseBasis = ReleaseBasis.EITHER
    members: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    attribute: str = ""
    knows: tuple[str, ...] | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    rule: str = ""
    remedies: bool = False
    what_if: float | None = None
    in_class: Mapping[str, str] = field(default_factory=dict)
    counts: tuple[CountTableRecord, ...] = ()
    losses: Callable[[Context], RecordLosses] = lambda _context: RecordLosses()

    @property
    def document(self) -> Document:
        """What is decided."""
        return self.rows.document

    def held(self, entry: PolicyEntry) -> tuple[Holding, ...]:
        """Return what everybody holds or will hold of a policy entry, the most trusted first."""
        given = (self.document, entry, self.attributes, self.releases, self.basis)
        return tuple(one for one in holdings_of(*given) if one.plan.mechanism == entry.mechanism)


def inputs_of(
    rows: AllRows,
    table: BatchedTable,
    releases: Sequence[ReleaseRecord],
    attributes: Mapping[str, Attribute],
    by: Sequence[str] = (),
) -> AuditInputs:
    """Return what questions are asked of about a table.

    Parameters
    ----------
    rows
        All of its rows, by the policy that is weighed.
    table
        The table.
    releases
        What the ledger tells of.
    attributes
        What is known of the policy's attributes, by name.
    by
        The columns by which rows belong together; none for those that look so.
    """
    leaving = once(lambda looking: looked_at(rows.document, table, rows.keys, looking)[1])
    units = partial(repeated_units, table, asked=by)

    def whole(looking: Context) -> ShownColumns:
        return leaving(looking).whole

    def opened(looking: Context) -> OpenAnswer:
        columns, weighing = whole(Part(looking, 0.0, 0.4)), Part(looking, 0.4, 1.0)
        return answer_open_columns(rows.document, columns, attributes, weighing)

    found = (whole, leaving, units, once(opened))
    return AuditInputs(rows, table, attributes, releases, *found)


Found = TypeVar("Found")


def once(find: Callable[[Context], Found]) -> Callable[[Context], Found]:
    """Return what finds something when it is first asked, and keeps it."""
    kept: list[Found] = []

    def found(context: Context) -> Found:
        if not kept:
            kept.append(find(context))
        return kept[0]

    return found
