"""What a coalition of recipients learns: at the levels that the policy plans, or as released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.added_recipient import AddedRecipient, added_recipient
from sfumato.engine.disclosure.coalition_risk import CoalitionRisk, coalition_risk
from sfumato.engine.disclosure.record_risk import CERTAIN, RecordRisk
from sfumato.engine.matrices.matrix import Vector
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.holdings import Held, held_planned, held_released


@dataclass(frozen=True, eq=False)
class CoalitionReport:
    """What a coalition learns about one policy entry.

    Parameters
    ----------
    entry
        The policy entry's attributes.
    members
        The coalition's names, the most trusted first.
    counts
        How many records have each value, shape (m,).
    risk
        What they restore.
    added
        What one more recipient would change; None where nobody asked.
    held
        What each member holds, the most trusted first.
    """

    entry: str
    members: tuple[str, ...]
    counts: Vector
    risk: CoalitionRisk
    added: AddedRecipient | None
    held: tuple[Held, ...] = ()


def report_coalition(
    document: Document,
    attributes: Mapping[str, Attribute],
    names: Sequence[str],
    what_if: float | None,
    context: Context,
    releases: Sequence[ReleaseRecord] | None = None,
) -> tuple[CoalitionReport, ...]:
    """Weigh a coalition for every policy entry whose mechanism has a perturbation matrix.

    Parameters
    ----------
    document
        The policy and the recipients.
    attributes
        Every attribute of the policy, by name.
    names
        The members; at least one.
    what_if
        The level of one more recipient, in each mechanism's first term; None asks for none.
    context
        Progress and cancelling.
    releases
        What the ledger tells of: then everybody's most telling release counts, and who holds
        none is left out. None weighs what the policy plans.

    Raises
    ------
    PolicyError
        If a recipient is not known or holds nothing, or no entry can be weighed.
    LevelError, LadderError
        If a level can't be met, or releases are on no ladder.
    """
    for name in names if releases is not None else ():
        _check_holds(releases or (), name)
    weighable = [entry for entry in document.policy if _countable(entry, attributes)]
    reports = []
    for place, entry in enumerate(weighable):
        part = Part(context, place / len(weighable), (place + 1) / len(weighable))
        if releases is None:
            held = held_planned(document, entry, attributes, names)
        else:
            held = held_released(releases, entry, names)
        report = _report(entry, held, attributes, what_if, part)
        if report is not None:
            reports.append(report)
    if not reports:
        raise PolicyError(
            "No attribute of the policy has a perturbation matrix.",
            "Coalitions are weighed for categorical attributes.",
        )
    return tuple(reports)


def sentences(report: CoalitionReport) -> tuple[str, ...]:
    """Return what was found, in plain sentences without any value of the table."""
    best, risk = report.members[0], report.risk
    told = [
        f"{report.entry}: {', '.join(report.members)}",
        f"  On the ladder, together: {_share(risk.on_ladder)} expected on average; {best} alone:"
        f" {_share(risk.alone)}. Largest difference of the two: {risk.largest_difference:.1g}.",
        f"  If each release had noise of its own: {_share(risk.independent)} on average;"
        f" {100 * risk.independent.certain:.1f} % of the records with at least"
        f" {100 * CERTAIN:.0f} % certainty (on the ladder {100 * risk.on_ladder.certain:.1f} %).",
        f"  The best guess is right for {100 * risk.on_ladder.guessed:.1f} % of the records.",
    ]
    added = report.added
    if added is not None and added.before is not None:
        told.append(
            f"  One more recipient at trust {added.trust:.3g}: on the ladder"
            f" {_share(added.before)} becomes {_share(added.after)}; with noise of its own,"
            f" {_share(added.independent_after)}."
        )
    return tuple(told)


def plain(report: CoalitionReport) -> dict[str, Any]:
    """Return the figures as plain JSON values; values are told by their place in the domain."""
    risk = report.risk
    found: dict[str, Any] = {
        "attributes": report.entry,
        "members": list(report.members),
        "without": risk.without,
        "largest difference": risk.largest_difference,
        "on ladder": _figures(risk.on_ladder),
        "alone": _figures(risk.alone),
        "independent": _figures(risk.independent),
        "by value": [
            {
                "value": at + 1,
                "records": int(report.counts[at]),
                "on ladder": float(risk.on_ladder.by_value[at]),
                "independent": float(risk.independent.by_value[at]),
            }
            for at in np.flatnonzero(report.counts).tolist()
        ],
    }
    if report.added is not None:
        found["added"] = {
            "trust": report.added.trust,
            "on ladder": _figures(report.added.after),
            "independent": _figures(report.added.independent_after),
        }
    return found


def _report(
    entry: PolicyEntry,
    members: Sequence[Held],
    attributes: Mapping[str, Attribute],
    what_if: float | None,
    context: Context,
) -> CoalitionReport | None:
    mechanism = mechanism_called(entry.mechanism)
    chosen = tuple(attributes[name] for name in entry.attributes)
    found = [
        mechanism_called(h.plan.mechanism).matrix(h.plan.level, chosen, h.plan.settings)
        for h in members
    ]
    matrices = [matrix for matrix in found if matrix is not None]
    if not matrices or len(matrices) < len(members):
        return None
    shares = chosen[0].frequencies
    risk = coalition_risk(matrices, shares, Part(context, 0.0, 0.6))
    added = None
    term = next((term for term in mechanism.terms if len(term.fields) == 1), None)
    if what_if is not None and term is not None:
        level = mechanism.level({term.fields[0].name: what_if}, chosen, entry.settings)
        extra = mechanism.matrix(level, chosen, entry.settings)
        assert extra is not None
        trusts = [held.trust for held in members]
        trust = mechanism.trust(level)
        part = Part(context, 0.6, 1.0)
        added = added_recipient(matrices, trusts, extra, trust, shares, part)
    names = tuple(held.holder for held in members)
    counts = np.asarray(chosen[0].counts, dtype=np.float64)
    return CoalitionReport(entry.key, names, counts, risk, added, tuple(members))


def _check_holds(releases: Sequence[ReleaseRecord], name: str) -> None:
    if any(record.counts and record.plans and record.recipient == name for record in releases):
        return
    raise PolicyError(
        "Nothing was released to {name} so far.",
        "Weigh what is planned, or release it first.",
        name=name,
    )


def _countable(entry: PolicyEntry, attributes: Mapping[str, Attribute]) -> bool:
    return len(entry.attributes) == 1 and attributes[entry.attributes[0]].counts is not None


def _figures(risk: RecordRisk) -> dict[str, Any]:
    return {
        "average": risk.average,
        "average ±": risk.average_error,
        "best guess": risk.guessed,
        "certain": risk.certain,
        "exact": risk.exact,
    }


def _share(risk: RecordRisk) -> str:
    exact = f"{100 * risk.average:.1f} %"
    return exact if risk.exact else f"{exact} ± {100 * risk.average_error:.1f}"
