"""Who holds what: the releases made so far, or those that the policy plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Statement
from sfumato.engine.table.table import Attribute
from sfumato.project.adoption.holders import rung_holders
from sfumato.project.document.entry_plan import EntryPlan, plan_entry
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.ui.look.wording import statement_text, term_of


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
    place: int = 0
    """In which order the recipients were, or will be, given their releases."""
    adopted: bool = False
    """Whether it is an earlier release from elsewhere that was adopted as a rung."""
    odds: float | None = None
    """By how much the release multiplies anyone's odds at most; None where there is no matrix."""


def planned(
    document: Document, entry: PolicyEntry, attributes: Sequence[Attribute]
) -> tuple[Holding, ...]:
    """Return what every recipient with a sound level will hold, the most trusted first."""
    known = {attribute.name: attribute for attribute in attributes}
    found = []
    for place, recipient in enumerate(document.recipients):
        try:
            plan = plan_entry(document, entry, known, recipient)
        except SfumatoError:
            continue  # the policy says what is wrong with this recipient's level
        found.append(_holding(recipient.name, plan, attributes, place))
    return _most_telling([*found, *_adopted(entry, attributes)])


def released(
    records: Iterable[ReleaseRecord], entry: PolicyEntry, attributes: Sequence[Attribute]
) -> tuple[Holding, ...]:
    """Return the most telling release that every recipient holds, the most trusted first."""
    found = []
    for place, record in enumerate(records):
        plan = next((p for p in record.plans if p.attributes == entry.attributes), None)
        if plan is None or not record.counts:
            continue
        try:
            holding = _holding(record.recipient, plan, attributes, place, record.recorded_at)
        except SfumatoError:
            continue  # released under another domain; verifying the file tells more
        found.append(holding)
    return _most_telling([*found, *_adopted(entry, attributes)])


def _holding(
    recipient: str,
    plan: EntryPlan,
    attributes: Sequence[Attribute],
    place: int = 0,
    recorded_at: str | None = None,
) -> Holding:
    """Return what a plan gives: its level is the one that is used, stated or lowered by a hair."""
    mechanism = mechanism_called(plan.mechanism)
    statement = plan.statement
    if plan.level != mechanism.level(statement, attributes, plan.settings):
        term = term_of(mechanism, statement) or mechanism.terms[0]
        statement = mechanism.restate(plan.level, attributes, plan.settings)[term.name]
    return Holding(
        recipient,
        plan.level,
        mechanism.trust(plan.level),
        statement_text(mechanism, statement),
        mechanism.matrix(plan.level, attributes, plan.settings),
        recorded_at,
        place,
        odds=mechanism.odds_factor(plan.level, attributes, plan.settings),
    )


def imagined(
    entry: PolicyEntry, statement: Statement, attributes: Sequence[Attribute], name: str
) -> Holding:
    """Return what somebody would hold who is given a level.

    Raises
    ------
    LevelError, PolicyError
        If the level can't be met.
    """
    mechanism = mechanism_called(entry.mechanism)
    level = mechanism.level(statement, attributes, entry.settings)
    plan = EntryPlan(entry.attributes, entry.mechanism, entry.settings, statement, level, "")
    return _holding(name, plan, attributes)


def _adopted(entry: PolicyEntry, attributes: Sequence[Attribute]) -> list[Holding]:
    """Return what the holders of adopted rungs hold: they came before everybody else."""
    mechanism = mechanism_called(entry.mechanism)
    found = []
    try:
        for holder in rung_holders(entry):
            level = holder.file.level
            statements = mechanism.restate(level, attributes, entry.settings)
            text = statement_text(mechanism, statements[mechanism.terms[0].name])
            matrix = mechanism.matrix(level, attributes, entry.settings)
            odds = mechanism.odds_factor(level, attributes, entry.settings)
            found.append(
                Holding(holder.name, level, holder.trust, text, matrix, None, -1, True, odds)
            )
    except SfumatoError:
        return []  # the policy says what is wrong with the entry's settings
    return found


def _most_telling(holdings: Iterable[Holding]) -> tuple[Holding, ...]:
    """Return the most trusted holding of everyone, the most trusted first."""
    best: dict[str, Holding] = {}
    for holding in holdings:
        before = best.get(holding.recipient)
        if before is None or holding.trust > before.trust:
            best[holding.recipient] = holding
    return tuple(sorted(best.values(), key=lambda holding: -holding.trust))
