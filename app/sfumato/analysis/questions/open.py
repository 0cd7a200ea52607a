"""What the columns released unchanged tell of the sensitive ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs


def _answers(inputs: AuditInputs, context: Context) -> tuple[Answer]:
    from sfumato.analysis.unperturbed.open_columns import answer_of, answer_open_columns

    columns = inputs.columns(Part(context, 0.0, 0.4))
    weighing = Part(context, 0.4, 1.0)
    found = answer_open_columns(inputs.document, columns, inputs.attributes, weighing)
    return (answer_of(found, inputs.recipients),)


QUESTION = AuditQuestion(
    name="open",
    title=Sentence("Open columns"),
    summary=Sentence("Weigh what the columns released unchanged tell of the sensitive ones."),
    topic=Topic.FOUND,
    order=6,
    answers=_answers,
    options=("recipient",),
    alone=True,
)
