"""What a coalition of recipients restores of a categorical attribute by pooling its releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.analysis.answers import Answer, AnswerFigure, AnswerTable, CellKind
from sfumato.analysis.coalitions.holdings import (
    Holding,
    ReleaseBasis,
    called,
    imagined,
    members_of,
    told_together,
)
from sfumato.engine.core.columns import Value
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence, formatted, small_number
from sfumato.engine.disclosure.best_guess import restored_alone, restored_without
from sfumato.engine.disclosure.coalition_risk import (
    AddedRecipient,
    CoalitionRisk,
    GrowthPoint,
    added_recipient,
    coalition_risk,
    risk_growth,
)
from sfumato.engine.disclosure.record_risk import CERTAIN, RecordRisk
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import combined
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord

ROUNDING = 1e-12
"""Beliefs that differ by no more differ by rounding."""
ROWS_CHANGE_PLACES = (
    "Rows change places within their groups: of a single record's own value, its row tells less"
    " than these figures say."
)
"""Said of a mechanism whose rows depend on one another: its matrix describes the whole table."""


@dataclass(frozen=True)
class BestGuess:
    """How often a coalition guesses right: as often as its most trusted member alone.

    Parameters
    ----------
    right
        The share of records that are guessed right; exact.
    without
        The share that is guessed right without any release: the commonest value's.
    """

    right: float
    without: float

    @property
    def sentence(self) -> Sentence:
        """How often everybody's best guess is right, and how often without any release."""
        return Sentence(
            "The best guess is right for {alone:.1%} of the records; without any release, for"
            " {without:.1%}.",
            alone=self.right,
            without=self.without,
        )


@dataclass(frozen=True, eq=False)
class CoalitionAnswer:
    """What a coalition learns about one policy entry.

    Parameters
    ----------
    entry
        The policy entry's attributes.
    members
        What the members hold, the most trusted first.
    counts
        How many records have each value, shape (m,).
    risk
        For every record, how likely its true value is restored.
    alone
        The share of records that each member guesses right alone, by the members' order; exact.
    without
        The share that is guessed right without any release: the commonest value's.
    rows_change_places
        Whether rows depend on one another, see `ROWS_CHANGE_PLACES`.
    of_units
        Whether the attribute is drawn once for a unit: then units are counted in place of records.
    values
        The attribute's values, m of them.
    """

    entry: str
    members: tuple[Holding, ...]
    counts: Vector
    risk: CoalitionRisk
    alone: tuple[float, ...]
    without: float
    rows_change_places: bool = False
    of_units: bool = False
    values: tuple[Value, ...] = field(default=(), repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, the most trusted first."""
        return tuple(holding.recipient for holding in self.members)

    @property
    def agreement(self) -> tuple[Sentence, ...]:
        """That all know what the most trusted one knows, how surely, and what would be else."""
        risk, names = self.risk, self.names
        if len(names) == 1:
            alone = Sentence(
                "{best} alone gives a record's true value a probability of {share:.1%} on average;"
                " the frequencies alone give it {without:.1%}.",
                best=names[0],
                share=risk.alone.average,
                without=risk.without,
            )
            return (alone,)
        told = [
            Sentence(
                "{names} give a record's true value, as released, a probability of {together} on"
                " average; {best} alone, {alone}. Over all outcomes and values, the largest"
                " difference between the two is {difference}.",
                names=called(names),
                best=names[0],
                together=_share(risk.on_ladder),
                alone=_share(risk.alone),
                difference=difference_told(risk.largest_difference),
            ),
            Sentence(
                "With noise of its own in each release it would be {average}; {apart:.1%} of the"
                " records would be restored with at least {certain:.0%} certainty (on the ladder"
                " {ladder:.1%}).",
                average=_share(risk.independent),
                apart=risk.independent.certain,
                certain=CERTAIN,
                ladder=risk.on_ladder.certain,
            ),
        ]
        return (*told, *([Sentence(ROWS_CHANGE_PLACES)] if self.rows_change_places else ()))

    @property
    def guessed(self) -> Sentence:
        """How often everybody's best guess is right, and how often without any release."""
        return BestGuess(self.alone[0], self.without).sentence

    @property
    def guessed_apart(self) -> float:
        """The share of records guessed right if every release had noise of its own."""
        return max(self.risk.independent.guessed, self.alone[0])


def weigh_coalition(
    entry: PolicyEntry,
    members: Sequence[Holding],
    attributes: Mapping[str, Attribute],
    context: Context,
) -> CoalitionAnswer | None:
    """Weigh what a coalition restores from what its members hold.

    Parameters
    ----------
    entry
        The policy entry.
    members
        What they hold, the most trusted first; at least one.
    attributes
        The entry's attributes, by name.
    context
        Progress and cancelling.

    Returns
    -------
    CoalitionAnswer or None
        None where values can't be counted, or a mechanism has no matrix for this domain.

    Raises
    ------
    LadderError
        If the releases are on no ladder.
    """
    counted = _counted(entry, attributes)
    matrices = None if counted is None else _matrices(members, counted)
    if counted is None or matrices is None:
        return None
    shares, count = counted.frequencies, len(matrices)
    alone = tuple(
        restored_alone(matrix, shares, Part(context, 0.3 * at / count, 0.3 * (at + 1) / count))
        for at, matrix in enumerate(matrices)
    )
    risk = coalition_risk(matrices, shares, Part(context, 0.3, 1.0))
    return CoalitionAnswer(
        entry.key,
        tuple(members),
        np.asarray(counted.counts, dtype=np.float64),
        risk,
        tuple(one.guessed for one in alone),
        restored_without(shares).guessed,
        any(mechanism_called(held.plan.mechanism).needs_groups for held in members),
        all(held.plan.by_unit for held in members),
        () if counted.domain is None else counted.domain.values,
    )


def guess_of(
    entry: PolicyEntry,
    members: Sequence[Holding],
    attributes: Mapping[str, Attribute],
    context: Context,
) -> BestGuess | None:
    """Return how often a coalition guesses right, as `weigh_coalition` does, and nothing more."""
    counted = _counted(entry, attributes)
    matrices = None if counted is None else _matrices(members, counted)
    if counted is None or matrices is None:
        return None
    for upper, lower in pairwise(matrices):
        upper.garbling_to(lower)  # refuses what is on no ladder
    shares = counted.frequencies
    alone = restored_alone(matrices[0], shares, context)
    return BestGuess(alone.guessed, restored_without(shares).guessed)


def growth_of(answer: CoalitionAnswer, context: Context) -> tuple[GrowthPoint, ...]:
    """Return how the risk grows with every member, in the order in which they got releases."""
    order = in_order_of_release(answer.members)
    matrices = [holding.matrix for holding in order if holding.matrix is not None]
    shares = answer.counts / answer.counts.sum()
    return risk_growth(matrices, [holding.trust for holding in order], shares, context)


def in_order_of_release(members: Sequence[Holding]) -> tuple[Holding, ...]:
    """Return members in the order in which they were, or will be, given their releases."""
    return tuple(sorted(members, key=lambda holding: holding.place))


def weigh_added(
    entry: PolicyEntry,
    members: Sequence[Holding],
    added: Holding,
    attributes: Mapping[str, Attribute],
    context: Context,
) -> AddedRecipient | None:
    """Weigh what one more recipient would change; None where there is nothing to weigh.

    Parameters
    ----------
    entry, members, attributes, context
        As for `weigh_coalition`; there may be no members.
    added
        What the new one would hold, see `sfumato.analysis.coalitions.holdings.imagined`.

    Raises
    ------
    LadderError
        If the new release does not sit on one ladder with its neighbours.
    """
    counted = _counted(entry, attributes)
    matrices = None if counted is None else _matrices([*members, added], counted)
    if counted is None or matrices is None:
        return None
    trusts = [holding.trust for holding in members]
    shares = counted.frequencies
    return added_recipient(matrices[:-1], trusts, matrices[-1], added.trust, shares, context)


@dataclass(frozen=True, eq=False)
class CoalitionReport:
    """A coalition's weight for one policy entry, and what one more recipient would change."""

    answer: CoalitionAnswer
    added: AddedRecipient | None = None


def report_coalition(
    document: Document,
    attributes: Mapping[str, Attribute],
    names: Sequence[str],
    what_if: float | None,
    context: Context,
    releases: Sequence[ReleaseRecord],
    basis: ReleaseBasis,
) -> tuple[CoalitionReport, ...]:
    """Weigh a coalition for every policy entry whose mechanism has a perturbation matrix.

    Parameters
    ----------
    document
        The policy and the recipients.
    attributes
        Every attribute of the policy, by name.
    names
        The members, recipients or holders of adopted releases; at least one.
    what_if
        The level of one more recipient, in each mechanism's first term; None asks for none.
    context
        Progress and cancelling.
    releases
        What the ledger tells of.
    basis
        Which releases are weighed.

    Raises
    ------
    PolicyError
        If a member is not known or holds nothing, or no entry can be weighed.
    LevelError, LadderError
        If a level can't be met, or releases are on no ladder.
    """
    weighable = [entry for entry in document.policy if _counted(entry, attributes) is not None]
    reports = []
    for entry, part in one_by_one(context, weighable):
        members = members_of(document, entry, attributes, releases, basis, names)
        if not members:
            continue
        answer = weigh_coalition(entry, members, attributes, Part(part, 0.0, 0.6))
        if answer is None:
            continue
        added = None
        term = next(
            (t for t in mechanism_called(entry.mechanism).terms if len(t.fields) == 1), None
        )
        if what_if is not None and term is not None:
            statement = {term.fields[0].name: what_if}
            extra = imagined(document, entry, statement, attributes, "")
            added = weigh_added(entry, members, extra, attributes, Part(part, 0.6, 1.0))
        reports.append(CoalitionReport(answer, added))
    if not reports:
        raise PolicyError(
            "No attribute of the policy has a perturbation matrix.",
            "Coalitions are weighed for categorical attributes.",
        )
    return tuple(reports)


def answer_of(report: CoalitionReport) -> Answer:
    """Return what was found, in plain sentences without any value of the table, and in figures."""
    weighed, added = report.answer, report.added
    told: list[str] = [
        told_together(weighed.entry, weighed.members),
        weighed.guessed,
        *weighed.agreement,
    ]
    if weighed.of_units:
        told.append(
            Sentence("It is drawn once for a unit: records stand for units, each counted once.")
        )
    if added is not None and added.before is not None:
        told.append(
            Sentence(
                "One more recipient at trust {trust:.3g}: on the ladder {before} becomes {after};"
                " with noise of its own, {apart}.",
                trust=added.trust,
                before=_share(added.before),
                after=_share(added.after),
                apart=_share(added.independent_after),
            )
        )
    what = Sentence("What members restore, alone and together.")
    return Answer(
        told,
        about=f"{weighed.entry}: {', '.join(weighed.names)}",
        entry=weighed.entry,
        tables=(_by_value(weighed),),
        figures=(AnswerFigure("coalitions.build_collusion_bars", (weighed,), what),),
        facts=_plain(report),
    )


def _by_value(weighed: CoalitionAnswer) -> AnswerTable:
    """Return whose records are restored best, by their true value; for the custodian's eyes."""
    risk = weighed.risk
    columns: dict[str, CellKind] = {
        Sentence("True value"): CellKind.VALUE,
        Sentence("Records"): CellKind.COUNT,
        Sentence("On the ladder"): CellKind.SHARE,
        Sentence("Independent noise"): CellKind.SHARE,
        Sentence("Independent noise, at least {certain:.0%}", certain=CERTAIN): CellKind.SHARE,
    }
    occurs = np.flatnonzero(weighed.counts)
    occurs = occurs[np.argsort(-risk.on_ladder.by_value[occurs], kind="stable")]
    rows = [
        (
            weighed.values[at],
            int(weighed.counts[at]),
            float(risk.on_ladder.by_value[at]),
            float(risk.independent.by_value[at]),
            float(risk.independent.certain_by_value[at]),
        )
        for at in occurs.tolist()
    ]
    return AnswerTable(columns, rows)


def _plain(report: CoalitionReport) -> dict[str, Any]:
    """Return the figures as plain JSON values."""
    answer, risk = report.answer, report.answer.risk
    found: dict[str, Any] = {
        "attributes": answer.entry,
        "members": list(answer.names),
        "without": risk.without,
        "largest difference": risk.largest_difference,
        "on ladder": _figures(risk.on_ladder),
        "alone": _figures(risk.alone),
        "independent": _figures(risk.independent),
        "guessed": {
            "alone": dict(zip(answer.names, answer.alone, strict=True)),
            "independent": answer.guessed_apart,
            "without": answer.without,
        },
        "by value": [
            {
                "value": answer.values[at],
                "records": int(answer.counts[at]),
                "on ladder": float(risk.on_ladder.by_value[at]),
                "independent": float(risk.independent.by_value[at]),
            }
            for at in np.flatnonzero(answer.counts).tolist()
        ],
    }
    if report.added is not None:
        found["added"] = {
            "trust": report.added.trust,
            "on ladder": _figures(report.added.after),
            "independent": _figures(report.added.independent_after),
        }
    return found


def _counted(entry: PolicyEntry, attributes: Mapping[str, Attribute]) -> Attribute | None:
    """Return the entry's attribute, or its combinations, where values are counted."""
    attribute = combined([attributes[name] for name in entry.attributes])
    return None if attribute.counts is None else attribute


def _matrices(members: Sequence[Holding], attribute: Attribute) -> list[PerturbationMatrix] | None:
    """Return the members' matrices; None where one has none, or one of another domain."""
    present = [holding.matrix for holding in members if holding.matrix is not None]
    size = len(attribute.frequencies)
    if len(present) < len(members) or any(matrix.size != size for matrix in present):
        return None
    return present


def _figures(risk: RecordRisk) -> dict[str, Any]:
    return {
        "average": risk.average,
        "average ±": risk.average_error,
        "best guess": risk.guessed,
        "certain": risk.certain,
        "exact": risk.exact,
    }


def _share(risk: RecordRisk) -> str:
    exact = formatted(risk.average, ".1%")
    if risk.exact:
        return exact
    return Sentence("{share} ± {error:.1f}", share=exact, error=100 * risk.average_error)


def difference_told(difference: float, rounding: float = ROUNDING) -> Sentence:
    """Return the largest difference of beliefs, and whether it is one of rounding alone."""
    told = small_number(difference)
    if not 0.0 < difference <= rounding:
        return told
    return Sentence("{difference} (rounding): they are the same", difference=told)
