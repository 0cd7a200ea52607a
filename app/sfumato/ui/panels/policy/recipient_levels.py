"""What each recipient's level for an entry comes to, as the table and the ladder show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Mechanism
from sfumato.engine.table.table import Attribute
from sfumato.plots.figure import percent
from sfumato.plots.trust_ladder import Rung
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.look.wording import number, statement_text
from sfumato.ui.panels.policy.recipients import Row
from sfumato.ui.panels.policy.wording import tr


@dataclass(frozen=True)
class Standing:
    """One recipient's place.

    Parameters
    ----------
    row
        The line in the table.
    rung
        The rung of the ladder; None where the level is missing or not sound.
    stated
        Whether a level is stated at all.
    """

    row: Row
    rung: Rung | None
    stated: bool

    @property
    def sound(self) -> bool:
        """Whether the level can be met."""
        return self.rung is not None


def standings_of(
    recipients: Iterable[Recipient], entry: PolicyEntry, attributes: tuple[Attribute, ...]
) -> tuple[Standing, ...]:
    """Return every recipient's standing for an entry, in their order."""
    return tuple(_standing(recipient, entry, attributes) for recipient in recipients)


def _standing(
    recipient: Recipient, entry: PolicyEntry, attributes: tuple[Attribute, ...]
) -> Standing:
    statement = recipient.statements.get(entry.key)
    if statement is None:
        row = Row(recipient.name, tr("not set"), "–", None, recipient.note)
        return Standing(row, None, stated=False)
    mechanism = mechanism_called(entry.mechanism)
    text = statement_text(mechanism, statement)
    try:
        level = mechanism.level(statement, attributes, entry.settings)
        trust = mechanism.trust(level)
        figure, detail, numbers = _figure(mechanism, level, entry, attributes)
    except SfumatoError:
        row = Row(recipient.name, text, tr("not valid"), None, recipient.note)
        return Standing(row, None, stated=True)
    row = Row(recipient.name, text, figure or "–", trust, recipient.note, numbers)
    return Standing(row, Rung(recipient.name, trust, text, detail), stated=True)


_LEFT_OPEN: Final = "D"
"""What promises on numbers call the share of the variance that an estimate leaves open."""


def _figure(
    mechanism: Mechanism, level: float, entry: PolicyEntry, attributes: tuple[Attribute, ...]
) -> tuple[str, str, bool]:
    """Return what a level comes to as a figure and as a sentence, and whether it is of numbers."""
    odds = mechanism.odds_factor(level, attributes, entry.settings)
    if odds is not None:
        factor = number(odds)
        told = tr("Multiplies the odds on any value by at most {factor}", factor=factor)
        return factor, told, False
    facts = mechanism.promise(level, attributes, entry.settings).facts
    for fact in facts:
        if fact.symbol == _LEFT_OPEN:
            share = percent(fact.value)
            return share, tr("Leaves {share} of the numbers' variance open", share=share), True
    return "", "", False
