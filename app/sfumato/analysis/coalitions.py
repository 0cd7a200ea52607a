"""What a coalition of recipients restores of a categorical attribute by pooling its releases.

That is told on average, and record by record from the very values that were released: these are
made again from the key, and are for nobody but the custodian.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.answers import Answer, AnswerFigure
from sfumato.analysis.holdings import Holding, ReleaseBasis, imagined, members_of
from sfumato.engine.core.columns import Codes, Value
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence, formatted, joined, listed, small_number
from sfumato.engine.disclosure.best_guess import restored_alone, restored_without
from sfumato.engine.disclosure.coalition_risk import (
    AddedRecipient,
    CoalitionRisk,
    GrowthPoint,
    added_recipient,
    coalition_risk,
    risk_growth,
)
from sfumato.engine.disclosure.realized_risk import RealizedRisk, RealizedRisks
from sfumato.engine.disclosure.record_risk import CERTAIN, LIKELY, RecordRisk
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import combined, combined_column
from sfumato.engine.table.table import Attribute, Attributes
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.release.release_compatibility import rows_of

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
                names=listed(names),
                best=names[0],
                together=_share(risk.on_ladder),
                alone=_share(risk.alone),
                difference=_difference(risk.largest_difference),
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
        What the new one would hold, see `sfumato.analysis.holdings.imagined`.

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
    for place, entry in enumerate(weighable):
        part = Part(context, place / len(weighable), (place + 1) / len(weighable))
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
    told: list[str] = [*weighed.agreement, weighed.guessed]
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
        figures=(AnswerFigure("coalitions.build_collusion_bars", (weighed,), what),),
        facts=_plain(report),
    )


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
    values
        The attribute's values.
    """

    members: tuple[str, ...]
    released: bool
    risk: RealizedRisk | None
    reason: str = ""
    values: tuple[Value, ...] = field(default=(), repr=False)

    @property
    def where(self) -> str:
        """Which values were looked at."""
        if self.released:
            return Sentence("In the files as released")
        return Sentence("With the noise as it will fall")


def weigh_held(rows: AllRows, held: Sequence[Holding], context: Context) -> RealizedReport:
    """Weigh what the members of a coalition hold, by the values that they hold.

    Parameters
    ----------
    rows
        All rows of the table.
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
    known = rows.attributes(Part(context, 0.0, 0.2))
    plans = [one.plan for one in ordered]
    reason = obstacle_to(rows.maker, ordered)
    attributes = () if reason else tuple(known[name] for name in plans[0].attributes)
    if not reason and combined(attributes).counts is None:
        reason = "numbers have no single values to restore; see how far an estimate is off."
    if reason:
        return RealizedReport(members, released, None, reason)
    matrices = []
    for plan in plans:
        matrix = mechanism_called(plan.mechanism).matrix(plan.level, attributes, plan.settings)
        assert matrix is not None  # it has values to count
        matrices.append(matrix)
    found = RealizedRisks(matrices, combined(attributes).frequencies, rows.rows)
    text = Sentence("Making {key} again", key=plans[0].key)
    for part in rows.parts(rows.read_for(plans), text, Part(context, 0.2, 0.9)):
        with part.naming_rows():
            true = combined_column(part.maker.request(plans[0]).columns).values
            columns = _columns(part.maker, plans, attributes, Silent())
            covered = [covered_by(part.maker, one) for one in ordered]
            found.add(cast(Codes, true), columns, covered, Silent())
    domain = combined(attributes).domain
    values = () if domain is None else domain.values
    return RealizedReport(members, released, found.found(Part(context, 0.9, 1.0)), values=values)


def realized_sentences(
    report: RealizedReport, expected: RecordRisk | None = None
) -> tuple[str, ...]:
    """Return what was found, in plain sentences without any value of the table.

    Parameters
    ----------
    report
        What was found.
    expected
        What was to be expected on average over the noise; None where that is told elsewhere.
    """
    if report.risk is None:
        return (report.reason,)
    found, risk, names = report.risk, report.risk.risk, report.members
    average = Sentence(
        "{best} alone gives a record's true value a probability of {share:.1%} on average."
        if len(names) == 1
        else "{names} give a record's true value a probability of {share:.1%} on average.",
        best=names[0],
        names=listed(names),
        share=risk.average,
    )
    wanted: str = ""
    if expected is not None:
        wanted = Sentence("{expected:.1%} was to be expected.", expected=expected.average)
    told = joined(
        average,
        wanted,
        Sentence(
            "For {likely:.1%} of the records it is at least {half:.0%}, for {certain:.1%} at least"
            " {high:.0%}. The best guess is right for {guessed:.1%} of them.",
            likely=risk.likely,
            half=LIKELY,
            certain=risk.certain,
            high=CERTAIN,
            guessed=risk.guessed,
        ),
    )
    if len(names) == 1:
        return (told,)
    agreement = Sentence(
        "With all that they hold, {compared:,} of {records:,} {records:record|records}"
        " {compared:was|were} weighed again: the largest difference from what {best} believes"
        " alone is {difference}.",
        compared=found.compared,
        records=found.records,
        best=names[0],
        difference=_difference(found.largest_difference),
    )
    return told, agreement


def _difference(difference: float) -> Sentence:
    """Return the largest difference of beliefs, and whether it is one of rounding alone."""
    told = small_number(difference)
    if not 0.0 < difference <= ROUNDING:
        return told
    return Sentence("{difference} (rounding): they are the same", difference=told)


def realized_plain(report: RealizedReport) -> dict[str, Any]:
    """Return the figures as plain JSON values."""
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
            {"value": report.values[at], "average": float(risk.by_value[at])}
            for at in found.worst(WORST_TOLD)
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
            mechanism, columns = mechanism_called(plan.mechanism), regenerator.perturbed(plan, part)
            made[plan.level] = mechanism.shown_codes(attributes, columns, plan.settings)
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
