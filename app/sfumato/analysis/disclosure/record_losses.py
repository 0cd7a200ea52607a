"""What a record lost by all that left: released records and tables of counts, in one sense of ε.

Neighbours differ by replacing one record, or one unit. Of an entry of the policy a coalition knows
what its most trusted member holds; entries are drawn independently, and so is the noise of tables,
so their ε are added. Columns that leave unperturbed are seen as they are: ε is of all the rest.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from types import MappingProxyType

from sfumato.analysis.coalitions.holdings import ReleaseBasis, holdings_of
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, listed
from sfumato.project.adoption.adopt import holders_of
from sfumato.project.count_tables.held import CountTableRecord, loss_by_tables
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import Document
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.publish import PUBLIC
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.regenerate import PoliciesInForce
from sfumato.project.release.units import loss_by_unit
from sfumato.project.verification.policies import RecalledPolicies

Ladder = tuple[str, str]
"""The columns of a policy entry, and what tells its ladder from others."""


@dataclass(frozen=True)
class RecordLosses:
    """ε of what left in releases of records, by ladder and who holds it.

    Parameters
    ----------
    by_ladder
        For each ladder, ε of the most telling release that everyone holds; infinite where true
        values are shown, None where no odds are bounded or it can't be computed any more.
    editions
        From how many editions of the table records were released.
    """

    by_ladder: Mapping[Ladder, Mapping[str, float | None]] = field(default_factory=dict)
    editions: int = 0

    @property
    def holders(self) -> tuple[str, ...]:
        """Who holds something."""
        return tuple(dict.fromkeys(name for held in self.by_ladder.values() for name in held))

    def together(self, recipients: Collection[str] | None = None) -> float:
        """Return ε of what some hold together, and everybody what is public; None for all."""
        total = 0.0
        for held in self.by_ladder.values():
            losses = [loss for name, loss in held.items() if _among(name, recipients)]
            total += max((loss for loss in losses if loss is not None), default=0.0)
        return total

    def uncounted(self, recipients: Collection[str] | None = None) -> tuple[str, ...]:
        """Return the columns of which they hold something that ε doesn't count."""
        return tuple(
            dict.fromkeys(
                columns
                for (columns, _), held in self.by_ladder.items()
                for name, loss in held.items()
                if loss is None and _among(name, recipients)
            )
        )

    def shown(self, recipients: Collection[str] | None = None) -> tuple[str, ...]:
        """Return the columns whose true values they hold."""
        return tuple(
            dict.fromkeys(
                columns
                for (columns, _), held in self.by_ladder.items()
                for name, loss in held.items()
                if loss == math.inf and _among(name, recipients)
            )
        )


def _among(name: str, recipients: Collection[str] | None) -> bool:
    return recipients is None or name == PUBLIC or name in recipients


def losses_by_records(project: ProjectFile, rows: BatchedTable, context: Context) -> RecordLosses:
    """Return what records lost by releases, each judged by the policy that was in force.

    Parameters
    ----------
    project, rows
        The project, and its source table.
    context
        Progress and cancelling.
    """
    document = project.document
    releases = [record for record in project.releases if record.counts]
    found: dict[Ladder, dict[str, float | None]] = {}
    policies = RecalledPolicies(project, rows, context)
    for record in releases:
        for plan in record.plans:
            loss = _loss_then(document, policies, record, plan)
            _keep(found, (plan.key, plan.ladder), record.recipient, loss)
        for name in _true_values(document, record):
            _keep(found, (name, ""), record.recipient, math.inf)
    if any(holders_of(entry) for entry in document.policy):
        _keep_adopted(found, document, policies)
    editions = len({(record.source.digest, record.source.rows) for record in releases})
    return RecordLosses(found, editions)


def _keep(
    found: dict[Ladder, dict[str, float | None]], ladder: Ladder, name: str, loss: float | None
) -> None:
    """Keep the most that somebody holds of a ladder; what can't be counted stays uncounted."""
    held = found.setdefault(ladder, {})
    before = held.get(name, 0.0)
    held[name] = None if loss is None or before is None else max(before, loss)


def _true_values(document: Document, record: ReleaseRecord) -> Iterable[str]:
    """Return the sensitive columns whose true values a release shows."""
    sensitive = {spec.name for spec in document.sensitive}
    return sorted(sensitive & set(record.open_columns))


def _loss_then(
    document: Document, policies: PoliciesInForce, record: ReleaseRecord, plan: EntryPlan
) -> float | None:
    """Return ε of what was released of an entry, for whoever is a record, or a unit, today."""
    then = record.policy
    if then is None:
        return None
    now, unit = document.unit, then.unit
    if plan.by_unit and (now is None or unit is None or now.columns != unit.columns):
        return None
    if now is not None and unit is not None:
        if now.columns != unit.columns:
            return None
        now = replace(now, most_rows=max(now.most_rows, unit.most_rows))
    with suppress(SfumatoError, KeyError):  # of columns that the table has no more
        known = policies.at(record).attributes_of(plan)
        chosen = tuple(known[name] for name in plan.attributes)
        return loss_by_unit(replace(then, unit=now), plan, chosen)
    return None


def _keep_adopted(
    found: dict[Ladder, dict[str, float | None]], document: Document, policies: PoliciesInForce
) -> None:
    """Keep what the holders of earlier releases hold that were adopted from elsewhere."""
    for entry in document.policy:
        for holder in holders_of(entry):
            if not holder.file.rung:
                _keep(found, (entry.key, "adopted"), holder.name, None)
    with suppress(SfumatoError):  # the policy says what is wrong with it
        attributes = policies.today.attributes()
        for entry in document.policy:
            for held in holdings_of(document, entry, attributes, (), ReleaseBasis.RELEASED):
                chosen = tuple(attributes[name] for name in held.plan.attributes)
                loss = loss_by_unit(document, held.plan, chosen)
                _keep(found, (held.plan.key, held.plan.ladder), held.recipient, loss)


def uncounted_sentence(columns: Sequence[str]) -> Sentence:
    """Say what ε doesn't count of what left."""
    return Sentence(
        "Released values of {columns} are not counted: their noise bounds no odds, or what left"
        " can't be made again.",
        columns=listed(columns),
    )


def editions_sentence(editions: int) -> Sentence:
    """Say that ε is of records that stayed as they were."""
    return Sentence(
        "Records were released from {editions} {editions:edition|editions} of the table: of a"
        " record that changed meanwhile, these tell more than is counted.",
        editions=editions,
    )


@dataclass(frozen=True)
class LossInAll:
    """What somebody holds of a record, before a table of counts is made and with it.

    Parameters
    ----------
    recipient
        Who; empty for all together.
    by_records
        ε by released records.
    before, after
        ε by tables of counts, without the table and with it.
    uncounted, shown
        Columns that ε doesn't count, and those whose true values are held.
    """

    recipient: str
    by_records: float
    before: float
    after: float
    uncounted: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """ε in all with the table."""
        return self.by_records + self.after

    @property
    def grows(self) -> bool:
        """Whether the table adds to it."""
        return self.after > self.before


def losses_in_all(
    document: Document,
    left: RecordLosses,
    records: Sequence[CountTableRecord],
    recipient: str = "",
    more: Mapping[str, float] = MappingProxyType({}),
) -> tuple[LossInAll, ...]:
    """Return what every recipient, and then all together, have of a record.

    Parameters
    ----------
    document
        Who is there, and whose rows belong together.
    left
        What left in releases of records.
    records
        The tables of counts that left.
    recipient, more
        Who would get a table, and its ε by its noise; see `loss_by_tables`.
    """
    everybody = (
        *(each.name for each in document.recipients),
        *left.holders,
        *(each.recipient for each in records),
    )
    names = [name for name in dict.fromkeys(everybody) if name != PUBLIC]
    found = []
    for name in (*names, ""):
        who = (name,) if name else ()
        added = more if name in ("", recipient) else {}
        found.append(loss_of(document, left, records, who, added))
    return tuple(found)


def loss_of(
    document: Document,
    left: RecordLosses,
    records: Sequence[CountTableRecord],
    members: Sequence[str] = (),
    more: Mapping[str, float] = MappingProxyType({}),
) -> LossInAll:
    """Return what some recipients, or all, have of a record together; see `losses_in_all`."""
    rows = 1 if document.unit is None else document.unit.most_rows
    who = set(members) or None
    return LossInAll(
        ", ".join(members),
        left.together(who),
        loss_by_tables(records, who, most_rows=rows),
        loss_by_tables(records, who, more, rows),
        left.uncounted(who),
        left.shown(who),
    )
