"""Who holds which release of a policy entry: by the ledger, or as the policy plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute
from sfumato.project.adoption.holders import rung_holders
from sfumato.project.document.entry_plan import EntryPlan, ladder_of, plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Source
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.regenerate import Regenerator


@dataclass(frozen=True)
class Held:
    """One release that somebody holds, or will hold, of a policy entry.

    Parameters
    ----------
    holder
        The recipient's name.
    plan
        At which level, on which ladder.
    source
        What it was made from; None for one that is planned or was adopted.
    planned
        Whether nobody was given it yet.
    file
        The digest of the adopted file that it is; empty for a release of the project.
    """

    holder: str
    plan: EntryPlan
    source: Source | None = None
    planned: bool = False
    file: str = ""

    @property
    def trust(self) -> float:
        """The release's trust, from 0 to 1."""
        return mechanism_called(self.plan.mechanism).trust(self.plan.level)


def held_planned(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    names: Sequence[str],
) -> tuple[Held, ...]:
    """Return what recipients will hold of an entry, the most trusted first.

    Raises
    ------
    PolicyError
        If a recipient is not known, or has no level.
    LevelError
        If a level can't be met.
    """
    recipients = [recipient_called(document, name) for name in dict.fromkeys(names)]
    found = [
        Held(each.name, plan_entry(document, entry, attributes, each), planned=True)
        for each in recipients
    ]
    return tuple(sorted(found, key=lambda held: -held.trust))


def held_released(
    releases: Iterable[ReleaseRecord], entry: PolicyEntry, names: Sequence[str] | None = None
) -> tuple[Held, ...]:
    """Return the most telling release of an entry that everyone holds, the most trusted first.

    Parameters
    ----------
    releases
        What the ledger tells of.
    entry
        The policy entry.
    names
        Whose releases are looked for; None for everyone's. Who holds none is left out.
    """
    best: dict[str, Held] = {}
    for record in releases:
        plan = next((plan for plan in record.plans if plan.attributes == entry.attributes), None)
        wanted = names is None or record.recipient in names
        if plan is None or not record.counts or not wanted:
            continue
        held = Held(record.recipient, plan, record.source)
        before = best.get(record.recipient)
        if before is None or held.trust > before.trust:
            best[record.recipient] = held
    return tuple(sorted(best.values(), key=lambda held: -held.trust))


def held_adopted(regenerator: Regenerator) -> tuple[Held, ...]:
    """Return each adopted rung that can be read, with who holds it.

    At its level the policy releases a rung as it was adopted.
    """
    document, found = regenerator.document, []
    try:
        attributes = regenerator.attributes()
        for entry in document.policy:
            chosen = tuple(attributes[name] for name in entry.attributes)
            mechanism = mechanism_called(entry.mechanism)
            for holder in rung_holders(entry):
                level = holder.file.level
                statements = mechanism.restate(level, chosen, entry.settings)
                plan = EntryPlan(
                    entry.attributes,
                    entry.mechanism,
                    entry.settings,
                    statements[mechanism.terms[0].name],
                    level,
                    ladder_of(document, entry, attributes),
                )
                if not regenerator.obstacle(plan):
                    found.append(Held(holder.name, plan, file=holder.file.digest))
    except SfumatoError:
        pass  # the policy says what is wrong with its settings
    return tuple(found)


def recipient_called(document: Document, name: str) -> Recipient:
    """Return a recipient.

    Raises
    ------
    PolicyError
        If the document has none of this name.
    """
    for recipient in document.recipients:
        if recipient.name == name:
            return recipient
    raise PolicyError(
        "The project has no recipient {name}.",
        "Its recipients are: {known}.",
        name=name,
        known=", ".join(recipient.name for recipient in document.recipients) or "none",
    )
