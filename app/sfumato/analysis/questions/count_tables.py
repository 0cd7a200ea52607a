"""What recipients of tables of counts learn of a person together, beside released records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.tables.count_tables import answer_of_counts

    if inputs.counts:
        left = inputs.losses(context)
        yield answer_of_counts(inputs.document, left, inputs.counts, inputs.members)


QUESTION = AuditQuestion(
    name="counts",
    title=Sentence("Tables of counts pooled"),
    summary=Sentence("Say what recipients of tables of counts learn of a person together."),
    topic=Topic.TOGETHER,
    order=4,
    answers=_answers,
    options=("any_members",),
    nothing=Sentence("No table of counts was released."),
    of_counts=True,
    on_page=True,
    in_report=True,
)
