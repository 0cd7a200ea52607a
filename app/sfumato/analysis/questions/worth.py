"""What each recipient's release is worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.engine.table.repeated_units import RepeatedUnit
    from sfumato.project.document.model import Document


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.utility.worth import answer_of, weigh_worth
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise

    if not _applies(inputs.document, None):
        return
    columns = inputs.leaving(Part(context, 0.0, 0.6))
    noise, weighing = KeyedNoise(inputs.rows.keys), Part(context, 0.6, 1.0)
    for one in weigh_worth(inputs.document, columns, inputs.attributes, weighing, noise):
        if not inputs.recipients or one.recipient in inputs.recipients:
            yield answer_of(one)


def _applies(document: Document, _units: Sequence[RepeatedUnit] | None) -> bool:
    return bool(document.recipients) and not document.is_published_only


QUESTION = AuditQuestion(
    name="worth",
    title="What the releases are worth",
    summary=Sentence("Say what each column is worth to each recipient, in true records."),
    topic=Topic.REPORT,
    order=91,
    answers=_answers,
    options=("recipient",),
    nothing=Sentence("The project has no recipients whose releases could be weighed."),
    on_page=True,
    in_report=True,
    applies=_applies,
)
