"""What recipients learn by pooling releases of categories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, joined

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.analysis.holdings import Holding


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.coalitions import (
        answer_of,
        realized_plain,
        realized_sentences,
        report_coalition,
        weigh_held,
    )
    from sfumato.analysis.open_columns import figures_beside, weigh_open_columns, with_figures

    columns = inputs.columns(Part(context, 0.0, 0.1))
    reports = report_coalition(
        inputs.document,
        inputs.attributes,
        inputs.members,
        inputs.what_if,
        Part(context, 0.1, 0.5),
        inputs.releases,
        inputs.basis,
    )
    findings = weigh_open_columns(inputs.document, columns, Part(context, 0.5, 0.7))
    for place, report in enumerate(reports):
        part = Part(
            context, 0.7 + 0.3 * place / len(reports), 0.7 + 0.3 * (place + 1) / len(reports)
        )
        members = report.answer.members
        found = weigh_held(inputs.rows, members, part)
        said = joined(*realized_sentences(found))
        realized = Sentence("{where}: {told}", where=found.where, told=said)
        beside = figures_beside(findings, members[0], inputs.attributes)
        told = with_figures(answer_of(report), beside)
        yield replace(
            told,
            sentences=(
                *told.sentences,
                realized,
                *_withdrawn(inputs, members),
            ),
            facts={**told.facts, "realized": realized_plain(found)},
        )


def _withdrawn(inputs: AuditInputs, members: Iterable[Holding]) -> tuple[str, ...]:
    """Say which releases to the members were withdrawn: the members have them none the less."""
    from sfumato.project.withdrawal import still_counted

    names = {member.recipient for member in members}
    said = still_counted(each for each in inputs.releases if each.recipient in names)
    return (said,) if said else ()


QUESTION = AuditQuestion(
    name="coalition",
    title=Sentence("Coalitions"),
    summary=Sentence("Weigh what recipients learn by pooling releases."),
    topic=Topic.TOGETHER,
    order=1,
    answers=_answers,
    options=("members", "what_if", "released"),
)
