"""What recipients learn by pooling releases of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.coalitions.pooled_numbers import answer_of, pool_numbers
    from sfumato.analysis.unperturbed.open_columns import (
        figures_beside,
        weigh_open_columns,
        with_figures,
    )

    columns = inputs.columns(Part(context, 0.0, 0.1))
    found = pool_numbers(
        inputs.document,
        inputs.attributes,
        inputs.members,
        Part(context, 0.1, 0.7),
        inputs.releases,
        inputs.basis,
    )
    findings = weigh_open_columns(inputs.document, columns, Part(context, 0.7, 1.0))
    for pooled in found:
        beside = figures_beside(findings, pooled.coalition.members[0], inputs.attributes)
        yield with_figures(answer_of(pooled), beside)


QUESTION = AuditQuestion(
    name="numbers",
    title=Sentence("Numbers"),
    summary=Sentence("Weigh how closely pooled releases tell numbers."),
    topic=Topic.TOGETHER,
    order=2,
    answers=_answers,
    options=("members", "released"),
)
