"""Who holds what: the releases made so far, or those that the policy plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.engine.errors import SfumatoError
from app.engine.matrix import PerturbationMatrix
from app.engine.mechanisms import mechanism_called
from app.engine.mechanisms.base import Settings, Statement
from app.engine.table import Attribute
from app.project.model import Document, PolicyEntry
from app.project.plan import plan_entry
from app.project.records import ReleaseRecord
from app.ui.wording import statement_text


@dataclass(frozen=True)
class Holding:
    """What one recipient holds, or will hold, of one policy entry.

    Parameters
    ----------
    recipient
        The recipient.
    level
        In the mechanism's unit.
    trust
        From 0 to 1.
    text
        The level as it was stated.
    matrix
        The release's perturbation matrix; None where the mechanism has none.
    recorded_at
        When the release was made (ISO 8601, UTC); None for a planned one.
    """

    recipient: str
    level: float
    trust: float
    text: str
    matrix: PerturbationMatrix | None
    recorded_at: str | None = None


def planned(
    document: Document, entry: PolicyEntry, attributes: Sequence[Attribute]
) -> tuple[Holding, ...]:
    """Return what every recipient with a sound level will hold, the most trusted first."""
    known = {attribute.name: attribute for attribute in attributes}
    found = []
    for recipient in document.recipients:
        try:
            plan = plan_entry(document, entry, known, recipient)
        except SfumatoError:
            continue  # the policy says what is wrong with this recipient's level
        found.append(
            _holding(
                recipient.name, entry.mechanism, plan.settings, plan.statement, attributes, None
            )
        )
    return _sorted(found)


def released(
    records: Iterable[ReleaseRecord], entry: PolicyEntry, attributes: Sequence[Attribute]
) -> tuple[Holding, ...]:
    """Return the most telling release that every recipient holds, the most trusted first."""
    best: dict[str, Holding] = {}
    for record in records:
        plan = next((p for p in record.plans if p.attributes == entry.attributes), None)
        if plan is None or not record.counts:
            continue
        try:
            holding = _holding(
                record.recipient,
                plan.mechanism,
                plan.settings,
                plan.statement,
                attributes,
                record.recorded_at,
            )
        except SfumatoError:
            continue  # released under another domain; verifying the file tells more
        before = best.get(record.recipient)
        if before is None or holding.trust > before.trust:
            best[record.recipient] = holding
    return _sorted(best.values())


def _holding(
    recipient: str,
    mechanism_name: str,
    settings: Settings,
    statement: Statement,
    attributes: Sequence[Attribute],
    recorded_at: str | None,
) -> Holding:
    mechanism = mechanism_called(mechanism_name)
    level = mechanism.level(statement, attributes, settings)
    return Holding(
        recipient,
        level,
        mechanism.trust(level),
        statement_text(mechanism, statement),
        mechanism.matrix(level, attributes, settings),
        recorded_at,
    )


def _sorted(holdings: Iterable[Holding]) -> tuple[Holding, ...]:
    return tuple(sorted(holdings, key=lambda holding: -holding.trust))
