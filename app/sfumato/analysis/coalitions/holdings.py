"""Who holds which release of a policy entry: as it was released, or as the policy plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Statement
from sfumato.engine.table.table import Attribute
from sfumato.project.adoption.adopt import rung_holders
from sfumato.project.document.entry_plan import (
    EntryPlan,
    adopted_plan,
    ladder_of,
    level_of,
    plan_entry,
)
from sfumato.project.document.model import Document, PolicyEntry, TableSource
from sfumato.project.ledger import ReleaseRecord

TIED: Final = 1e-12
"""Levels whose trust differs by less are the same."""
MOST_NAMED: Final = 3


class ReleaseBasis(StrEnum):
    """Which releases count, beside the adopted ones, which always do."""

    PLANNED = "planned"
    """What the policy gives every recipient."""
    RELEASED = "released"
    """What the ledger tells of."""
    EITHER = "either"
    """Both: what recipients hold, or will hold where that tells more."""


@dataclass(frozen=True)
class Holding:
    """What somebody holds, or will hold, of one policy entry.

    Parameters
    ----------
    recipient
        The holder's name.
    plan
        At which level, on which ladder.
    statement
        The level that is used, as a custodian states it.
    matrix
        The release's perturbation matrix; None where the mechanism has none.
    odds
        By how much the release multiplies anyone's odds at most; None without a matrix.
    place
        In which order the holders were, or will be, given their releases.
    recorded_at
        When the release was made (ISO 8601, UTC); None for one that is planned or was adopted.
    source
        What it was made from, where it was made by the project.
    file
        The digest of the adopted file that it is; empty for a release of the project.
    """

    recipient: str
    plan: EntryPlan
    statement: Statement
    matrix: PerturbationMatrix | None = field(compare=False, repr=False)
    odds: float | None
    place: int = 0
    recorded_at: str | None = None
    source: TableSource | None = None
    file: str = ""

    @property
    def level(self) -> float:
        """The level in the mechanism's unit."""
        return self.plan.level

    @property
    def trust(self) -> float:
        """The release's trust, from 0 to 1."""
        return mechanism_called(self.plan.mechanism).trust(self.plan.level)

    @property
    def adopted(self) -> bool:
        """Whether it is an earlier release from elsewhere that was adopted as a rung."""
        return bool(self.file)

    @property
    def planned(self) -> bool:
        """Whether nobody was given it yet."""
        return self.recorded_at is None and not self.adopted


def called(names: Sequence[str]) -> str:
    """Return holders as they stand in a sentence: by name, or counted where they are many."""
    if len(names) > MOST_NAMED:
        return Sentence("These {count:,} {count:recipient|recipients}", count=len(names))
    return listed(names)


def told_together(key: str, held: Sequence[Holding], formed: bool = False) -> Sentence:
    """Return what those who hold something of an entry learn of it by pooling it.

    Parameters
    ----------
    key
        The policy entry's attributes.
    held
        What they hold, the most trusted first; at least one.
    formed
        Whether released numbers are rounded or bounded, and so on no ladder any more.
    """
    best = held[0]
    if best.trust >= 1.0 - TIED:
        words = "{best} holds the true {attribute}."
    elif len(held) == 1:
        words = "{best} alone holds {attribute}."
    elif held[-1].trust >= best.trust - TIED:
        words = (
            "{names} hold the same values of {attribute}: together they learn no more than each"
            " alone."
        )
    elif formed:
        words = (
            "{names} together can learn a little more about {attribute} than {best} alone, because"
            " released numbers are rounded or bounded."
        )
    else:
        words = "{names} together learn no more about {attribute} than {best} alone."
    names = called([each.recipient for each in held])
    return Sentence(words, best=best.recipient, attribute=key, names=names)


def holdings_of(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    releases: Iterable[ReleaseRecord],
    basis: ReleaseBasis,
) -> tuple[Holding, ...]:
    """Return the most telling release that everyone holds of an entry, the most trusted first.

    Recipients whose level can't be met, and releases on another ladder, are left out.

    Parameters
    ----------
    document, entry
        What is decided, and the policy entry.
    attributes
        The entry's attributes, by name.
    releases
        What the ledger tells of.
    basis
        Which releases count. Adopted rungs always do.
    """
    found: list[Holding] = []
    if basis is not ReleaseBasis.PLANNED:
        found += _released(document, releases, entry, attributes)
    if basis is not ReleaseBasis.RELEASED:
        found += _planned(document, entry, attributes)
    found += _adopted(document, entry, attributes)
    best: dict[str, Holding] = {}
    for holding in found:
        before = best.get(holding.recipient)
        if before is None or holding.trust > before.trust:
            best[holding.recipient] = holding
    return tuple(sorted(best.values(), key=lambda holding: -holding.trust))


def members_of(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    releases: Sequence[ReleaseRecord],
    basis: ReleaseBasis,
    names: Sequence[str],
) -> tuple[Holding, ...]:
    """Return what the named members of a coalition hold of an entry; see `holdings_of`.

    Who holds nothing of this very entry is left out.

    Raises
    ------
    PolicyError
        If a member is not known, has no level, or what it holds fits the attribute no more.
    LevelError
        If a member's level can't be met.
    """
    held = holdings_of(document, entry, attributes, releases, basis)
    known = {holding.recipient for holding in held}
    for name in dict.fromkeys(names):
        if name not in known:
            _explain(document, entry, attributes, releases, basis, name)
    return tuple(holding for holding in held if holding.recipient in names)


def imagined(
    document: Document,
    entry: PolicyEntry,
    statement: Statement,
    attributes: Mapping[str, Attribute],
    name: str,
) -> Holding:
    """Return what somebody would hold who is given a level.

    Raises
    ------
    LevelError, PolicyError
        If the level can't be met.
    """
    level = level_of(document, entry, statement, attributes)
    ladder = ladder_of(document, entry, attributes)
    plan = EntryPlan(entry.attributes, entry.mechanism, entry.settings, statement, level, ladder)
    return _holding(name, plan, attributes)


def _planned(
    document: Document, entry: PolicyEntry, attributes: Mapping[str, Attribute]
) -> Iterable[Holding]:
    for place, recipient in enumerate(document.recipients):
        try:
            plan = plan_entry(document, entry, attributes, recipient)
            yield _holding(recipient.name, plan, attributes, place)
        except SfumatoError:
            continue  # the policy says what is wrong with this recipient's level


def _released(
    document: Document,
    releases: Iterable[ReleaseRecord],
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
) -> Iterable[Holding]:
    for place, record in enumerate(releases):
        plan = _plan_in(record, entry)
        if plan is None or plan.ladder != ladder_of(document, entry, attributes):
            continue  # released by another policy; verifying the file tells more
        try:
            yield _holding(
                record.recipient, plan, attributes, place, record.recorded_at, record.source
            )
        except SfumatoError:
            continue


def _plan_in(record: ReleaseRecord, entry: PolicyEntry) -> EntryPlan | None:
    if not record.counts:
        return None
    return next((plan for plan in record.plans if plan.attributes == entry.attributes), None)


def _adopted(
    document: Document, entry: PolicyEntry, attributes: Mapping[str, Attribute]
) -> list[Holding]:
    """Return what the holders of adopted rungs hold: they came before everybody else.

    At its level the policy releases a rung as it was adopted.
    """
    found = []
    try:
        for holder in rung_holders(entry):
            plan = adopted_plan(document, entry, attributes, holder.file.level)
            digest = holder.file.digest
            found.append(_holding(holder.name, plan, attributes, -1, file=digest))
    except SfumatoError:
        return []  # the policy says what is wrong with the entry's settings
    return found


def _holding(
    recipient: str,
    plan: EntryPlan,
    attributes: Mapping[str, Attribute],
    place: int = 0,
    recorded_at: str | None = None,
    source: TableSource | None = None,
    file: str = "",
) -> Holding:
    """Return what a plan gives: its level is the one that is used, stated or lowered by a hair."""
    mechanism = mechanism_called(plan.mechanism)
    chosen = tuple(attributes[name] for name in plan.attributes)
    statement = plan.statement
    if plan.level != mechanism.level(statement, chosen, plan.settings):
        names = set(statement)
        term = next(
            (term for term in mechanism.terms if {field.name for field in term.fields} == names),
            mechanism.terms[0],
        )
        statement = mechanism.restate(plan.level, chosen, plan.settings)[term.name]
    return Holding(
        recipient,
        plan,
        statement,
        mechanism.matrix(plan.level, chosen, plan.settings),
        mechanism.odds_factor(plan.level, chosen, plan.settings),
        place,
        recorded_at,
        source,
        file,
    )


def _explain(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    releases: Sequence[ReleaseRecord],
    basis: ReleaseBasis,
    name: str,
) -> None:
    """Raise why somebody holds nothing; return where that is of no account."""
    elsewhere = {holder.name for other in document.policy for holder in rung_holders(other)}
    if basis is not ReleaseBasis.PLANNED:
        own = [r for r in releases if r.counts and r.plans and r.recipient == name]
        if any(_plan_in(record, entry) is not None for record in own):
            raise PolicyError(
                "What was released to {name} of {entry} does not fit the attribute as it is now.",
                "Restore its values and its mechanism as they were then, or leave {name} out.",
                name=name,
                entry=entry.key,
            )
        if not own and name not in elsewhere:
            raise PolicyError(
                "Nothing was released to {name} so far.",
                "Weigh what is planned, or release it first.",
                name=name,
            )
        return
    recipient = next((each for each in document.recipients if each.name == name), None)
    if recipient is not None:
        plan_entry(document, entry, attributes, recipient)
        return
    if name not in elsewhere:
        known = dict.fromkeys([*(each.name for each in document.recipients), *sorted(elsewhere)])
        raise PolicyError(
            "The project has no recipient {name}.",
            "Its recipients are: {known}.",
            name=name,
            known=", ".join(known) or "none",
        )
