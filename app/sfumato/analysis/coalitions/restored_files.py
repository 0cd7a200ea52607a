"""What a coalition restores from the very values that its members hold.

These are made again from the key, record by record, and are for nobody but the custodian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.answers import Answer, AnswerFigure, AnswerTable, CellKind
from sfumato.analysis.coalitions.coalitions import difference_told
from sfumato.analysis.coalitions.holdings import Holding, called
from sfumato.engine.core.columns import Codes, Value
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.disclosure.realized_risk import RealizedRisk, RealizedRisks
from sfumato.engine.disclosure.record_risk import CERTAIN, LIKELY, RecordRisk
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import combined, combined_column
from sfumato.engine.table.table import Attributes
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.release.release_compatibility import rows_of

WORST_TOLD = 5
"""Values whose records are in most danger, as they are told."""


@dataclass(frozen=True, eq=False)
class RealizedReport:
    """What a coalition restores of one policy entry from what its members hold.

    Parameters
    ----------
    key
        The policy entry's attributes.
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

    key: str
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
        return RealizedReport(plans[0].key, members, released, None, reason)
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
    risk = found.found(Part(context, 0.9, 1.0))
    return RealizedReport(plans[0].key, members, released, risk, values=values)


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
        names=called(names),
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
        difference=difference_told(found.largest_difference),
    )
    return told, agreement


def answer_of_files(report: RealizedReport, expected: RecordRisk | None = None) -> Answer:
    """Return what was found; parameters are those of `realized_sentences`."""
    told, facts = realized_sentences(report, expected), realized_plain(report)
    if report.risk is None:
        return Answer(told, facts=facts)
    columns: dict[str, CellKind] = {
        Sentence("In most danger, on average"): CellKind.VALUE,
        Sentence("Probability of the true value"): CellKind.SHARE,
    }
    rows = [(one["value"], one["average"]) for one in facts["worst values"]]
    figure = AnswerFigure(
        "coalitions.build_realized_distribution", (report.key, report.risk.risk, expected)
    )
    return Answer(
        told,
        tables=(AnswerTable(columns, rows),),
        figures=(figure,) if expected is not None else (),
        facts=facts,
    )


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
    for plan, part in one_by_one(context, plans):
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
