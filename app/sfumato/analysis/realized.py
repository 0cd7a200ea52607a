"""What a coalition restores from the very values that were released, record by record.

The released columns are made again from the key. Nothing here is for anyone but the custodian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sfumato.analysis.holdings import Holding
from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.realized_risk import RealizedRisk, realized_by_coverage
from sfumato.engine.disclosure.record_risk import CERTAIN, LIKELY
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import combined, combined_column, combined_series
from sfumato.engine.table.table import Attributes
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.release.release_compatibility import rows_of

WORST_TOLD = 5
"""Values whose records are in most danger, as they are told on the command line."""


@dataclass(frozen=True, eq=False)
class RealizedReport:
    """What a coalition restores of one policy entry from what its members hold.

    Parameters
    ----------
    members
        The coalition's names, the most trusted first.
    released
        Whether everything was released already; else some of it is only planned.
    risk
        What they restore; None where that can't be told.
    reason
        Why it can't be told, in a sentence; else empty.
    """

    members: tuple[str, ...]
    released: bool
    risk: RealizedRisk | None
    reason: str = ""


def weigh_held(
    regenerator: Regenerator, held: Sequence[Holding], context: Context
) -> RealizedReport:
    """Weigh what the members of a coalition hold, by the values that they hold.

    Parameters
    ----------
    regenerator
        Makes the released columns again.
    held
        What the members hold of one policy entry; at least one.
    context
        Progress and cancelling.

    Raises
    ------
    LadderError
        If the releases are on no ladder.
    """
    ordered = sorted(held, key=lambda one: -one.trust)
    members = tuple(one.recipient for one in ordered)
    released = not any(one.planned for one in ordered)
    reason = obstacle_to(regenerator, ordered) or _without_values(regenerator, ordered)
    if reason:
        return RealizedReport(members, released, None, reason)
    plans = [one.plan for one in ordered]
    request = regenerator.request(plans[0])
    attributes = request.attributes
    attribute, true = combined(attributes), cast(Codes, combined_column(request.columns).values)
    columns = _columns(regenerator, plans, attributes, Part(context, 0.0, 0.7))
    matrices = []
    for plan in plans:
        matrix = mechanism_called(plan.mechanism).matrix(plan.level, attributes, plan.settings)
        assert matrix is not None  # it has values to count
        matrices.append(matrix)
    risk = realized_by_coverage(
        true,
        columns,
        [covered_by(regenerator, one) for one in ordered],
        matrices,
        attribute.frequencies,
        Part(context, 0.7, 1.0),
    )
    return RealizedReport(members, released, risk)


def realized_sentences(report: RealizedReport) -> tuple[str, ...]:
    """Return what was found, in plain sentences without any value of the table."""
    where = "In the files as released" if report.released else "With the noise as it will fall"
    if report.risk is None:
        return (f"  {where}: {report.reason}",)
    found, risk = report.risk, report.risk.risk
    told = [
        Sentence(
            "  {where}: {average:.1f} % on average; at least {likely:.0f} % for "
            "{of_likely:.1f} % of the records, at least {certain:.0f} % for "
            "{of_certain:.1f} %; the best guess is right for {guessed:.1f} %.",
            where=where,
            average=100 * risk.average,
            likely=100 * LIKELY,
            of_likely=100 * risk.likely,
            certain=100 * CERTAIN,
            of_certain=100 * risk.certain,
            guessed=100 * risk.guessed,
        )
    ]
    if len(report.members) > 1:
        told.append(
            Sentence(
                "  Over {compared:,} of {records:,} {records:record|records}, the coalition's"
                " beliefs differ from {members}'s alone by at most {largest_difference:.1g}.",
                compared=found.compared,
                records=found.records,
                members=report.members[0],
                largest_difference=found.largest_difference,
            )
        )
    return tuple(told)


def realized_plain(report: RealizedReport) -> dict[str, Any]:
    """Return the figures as plain JSON values; values are told by their place in the domain."""
    if report.risk is None:
        return {"released": report.released, "reason": report.reason}
    found, risk = report.risk, report.risk.risk
    return {
        "released": report.released,
        "average": risk.average,
        "best guess": risk.guessed,
        "likely": risk.likely,
        "certain": risk.certain,
        "together": found.together,
        "alone": found.alone,
        "largest difference": found.largest_difference,
        "compared": found.compared,
        "records": found.records,
        "histogram": risk.histogram.tolist(),
        "worst values": [
            {"value": at + 1, "average": float(risk.by_value[at])} for at in found.worst(WORST_TOLD)
        ],
    }


def _columns(
    regenerator: Regenerator, plans: Sequence[EntryPlan], attributes: Attributes, context: Context
) -> list[Codes]:
    """Return what was released by each plan, codes of shape (n,)."""
    made: dict[float, Codes] = {}
    for place, plan in enumerate(plans):
        part = Part(context, place / len(plans), (place + 1) / len(plans))
        part.report(0.0, Sentence("Making {key} again", key=plan.key))
        if plan.level not in made:
            made[plan.level] = combined_series(attributes, regenerator.perturbed(plan, part))
            regenerator.forget()  # the codes are enough, and smaller
    return [made[plan.level] for plan in plans]


def covered_by(regenerator: Regenerator, held: Holding) -> npt.NDArray[np.bool_] | None:
    """Return which records a holder has anything of, shape (n,); None for all."""
    adopted = regenerator.adopted(held.plan) if held.file else ()
    return next((one.covered for one in adopted if one.origin == held.file), None)


def obstacle_to(regenerator: Regenerator, held: Sequence[Holding]) -> str:
    """Return why no row's released values can be made again; empty where they can."""
    present = regenerator.document.source
    for one in held:
        plan = one.plan
        if mechanism_called(plan.mechanism).needs_groups:
            return (
                "rows change places within their groups, so that no file tells which of its rows"
                " is whose. Only what is to be expected can be told."
            )
        obstacle = regenerator.obstacle(plan)
        if obstacle:
            return Sentence(
                "what {holder} holds can't be made again. {obstacle}",
                holder=one.recipient,
                obstacle=obstacle,
            )
        if one.source is not None and (present is None or rows_of(one.source) != rows_of(present)):
            return Sentence(
                "what {holder} holds was made from another edition of the source table. "
                "Open that edition to weigh it.",
                holder=one.recipient,
            )
    return ""


def _without_values(regenerator: Regenerator, held: Sequence[Holding]) -> str:
    for one in held:
        columns = regenerator.request(one.plan, slice(0)).attributes
        if combined(columns).counts is None:
            return "numbers have no single values to restore; see how far an estimate is off."
    return ""
