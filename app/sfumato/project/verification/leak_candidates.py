"""The releases that a leaked file may come from, and what their columns show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace

import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.project.adoption.adopt import rung_holders
from sfumato.project.document.entry_plan import EntryPlan, adopted_plan, plan_release
from sfumato.project.document.model import canonical_json
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.plan import open_column
from sfumato.project.release.regenerate import PoliciesInForce, Regenerator
from sfumato.project.release.release_compatibility import coarsening_at
from sfumato.project.release.views import Coarsening, coarsening_of


@dataclass(frozen=True)
class LeakCandidate:
    """Releases that show the same values: one that a leaked file may come from.

    Parameters
    ----------
    plans
        The policy entries with their levels.
    records
        The ledger's releases with these values.
    recipients
        Whom they were made for, or would be made for by the present policy.
    maker
        Makes them again, by the policy that was in force.
    view
        How coarsely they show the quasi-identifiers; None for as they are.
    """

    plans: tuple[EntryPlan, ...]
    records: tuple[ReleaseRecord, ...]
    recipients: tuple[str, ...]
    maker: Regenerator = field(compare=False, repr=False)
    view: Coarsening | None = None

    @property
    def seen(self) -> tuple[int, str]:
        """What candidates share that show the unperturbed columns alike."""
        view = "" if self.view is None else canonical_json(self.view.to_dict())
        return id(self.maker), view

    @property
    def name(self) -> str:
        """The recipients, as they are shown."""
        return ", ".join(self.recipients)


def candidates_of(
    releases: Sequence[ReleaseRecord], policies: PoliciesInForce
) -> tuple[LeakCandidate, ...]:
    """Return the releases that can be made again: the ledger's, and the present policy's.

    Adopted rungs are among them: at their levels the policy releases them as they were adopted.
    """
    found: dict[tuple[object, ...], LeakCandidate] = {}
    for record in releases:
        # A generalized table has no perturbed column to tell it by.
        if record.counts and record.plans:
            maker = policies.at(record)
            if not any(maker.obstacle(plan) for plan in record.plans):
                view = coarsening_at(record)
                _add(
                    found, LeakCandidate(record.plans, (record,), (record.recipient,), maker, view)
                )
    today = policies.today
    for recipient in today.document.recipients:
        try:
            plans = plan_release(today.document, today.attributes(), recipient)
            view = coarsening_of(today.document, recipient)
        except SfumatoError:
            continue  # not complete yet, so nobody was given it
        _add(found, LeakCandidate(plans, (), (recipient.name,), today, view))
    for plan, holder in adopted_plans(today):
        _add(found, LeakCandidate((plan,), (), (holder,), today))
    return tuple(found.values())


def adopted_plans(regenerator: Regenerator) -> Iterator[tuple[EntryPlan, str]]:
    """Yield each adopted rung that can be read, with who holds it.

    At its level the policy releases a rung as it was adopted.
    """
    document = regenerator.document
    with suppress(SfumatoError):  # the policy says what is wrong with its settings
        attributes = regenerator.attributes()
        for entry in document.policy:
            for holder in rung_holders(entry):
                plan = adopted_plan(document, entry, attributes, holder.file.level)
                if not regenerator.obstacle(plan):
                    yield plan, holder.name


def _add(found: dict[tuple[object, ...], LeakCandidate], candidate: LeakCandidate) -> None:
    """Add a candidate to those that show the same values of the same columns."""
    same = (
        tuple(sorted((plan.ladder, plan.level) for plan in candidate.plans)),
        candidate.maker.shown_as(),
        candidate.seen[1],
    )
    known = found.setdefault(same, replace(candidate, records=(), recipients=()))
    recipients = dict.fromkeys((*known.recipients, *candidate.recipients))
    records = (*known.records, *candidate.records)
    found[same] = replace(known, records=records, recipients=tuple(recipients))


def opened(
    maker: Regenerator, names: Sequence[str], view: Coarsening | None
) -> dict[str, pd.Series]:
    """Return those of some columns that a policy releases unperturbed, as they are seen."""
    return {
        name: column
        for name in names
        if not _is_dropped(maker, name) and (column := maker.unperturbed(name, view)) is not None
    }


def released_names(candidates: Sequence[LeakCandidate]) -> list[str]:
    """Return the columns that candidates show, perturbed or not."""
    found: dict[str, None] = {}
    for maker in {id(each.maker): each.maker for each in candidates}.values():
        found |= {s.name: None for s in maker.document.columns if not _is_dropped(maker, s.name)}
    return list(found)


def made_again(
    candidate: LeakCandidate, telling: Sequence[str], context: Context
) -> dict[str, pd.Series]:
    """Return the telling columns as a candidate releases them."""
    maker = candidate.maker
    made = {
        name: column
        for plan in candidate.plans
        for name, column in maker.perturbed(plan, context).items()
    }
    maker.forget()
    found = {}
    for name in telling:
        spec = maker.specification(name)
        if name in made:
            found[name] = made[name]
        elif spec is None or spec.role is Role.SENSITIVE:
            found[name] = maker.table.column(name)
        elif spec.role is not Role.IDENTIFYING:
            found[name] = open_column(maker.table, spec)
    return found


def _is_dropped(maker: Regenerator, name: str) -> bool:
    spec = maker.specification(name)
    return spec is None or spec.role is Role.IDENTIFYING
