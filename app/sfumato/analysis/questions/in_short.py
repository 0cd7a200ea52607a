"""The first questions of all, which are answered in a sentence or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs


def _answered(name: str) -> Callable[[AuditInputs, Context], tuple[Answer]]:
    def answer(inputs: AuditInputs, context: Context) -> tuple[Answer]:
        from sfumato.analysis.audit_answers import ANSWERS

        return (ANSWERS[name](inputs, context),)

    return answer


QUESTIONS: Final = tuple(
    AuditQuestion(
        name=topic.name.lower(),
        title=topic.value,
        summary=summary,
        topic=topic,
        order=-4 + place,
        answers=_answered(topic.name.lower()),
        alone=True,
        in_short=True,
    )
    for place, (topic, summary) in enumerate(
        {
            Topic.TOGETHER: Sentence("Say what all who hold releases learn together."),
            Topic.FOUND: Sentence("Say how many people can be found in what recipients see."),
            Topic.GROUPS: Sentence("Say how well shares of small groups can be estimated."),
            Topic.LEAK: Sentence("Say whether a file that turns up names one recipient."),
        }.items()
    )
)
