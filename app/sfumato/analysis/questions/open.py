"""What the columns released unchanged tell of the sensitive ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.project.document.model import PolicyEntry


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.unperturbed.open_columns import answer_of

    if (found := inputs.opened(context)) is not None:
        yield answer_of(found, inputs.recipients)


def _of_entry(inputs: AuditInputs, entry: PolicyEntry, context: Context) -> Iterator[Answer]:
    """Tell it recipient by recipient."""
    from sfumato.analysis.unperturbed.open_columns import answer_of_entry

    names = [recipient.name for recipient in inputs.document.recipients]
    if (found := inputs.opened(context)) is not None:
        yield from filter(None, [answer_of_entry(found, entry.key, names)])


QUESTION = AuditQuestion(
    name="open",
    title=Sentence("Open columns"),
    summary=Sentence("Weigh what the columns released unchanged tell of the sensitive ones."),
    topic=Topic.FOUND,
    order=6,
    answers=_answers,
    of_entry=_of_entry,
    options=("recipient",),
    alone=True,
)
