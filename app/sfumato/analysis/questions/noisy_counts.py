"""What a system that answers counts with noise gives away about small groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AskedNumber, AuditQuestion, Topic
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs

LOSS: Final = AskedNumber(
    name="loss",
    title="λ",
    gloss=Sentence("the privacy loss λ of one answer"),
    usual=0.1,
    above=True,
    least=0.0,
    most=1_000.0,
    step=0.05,
)
EPSILON: Final = AskedNumber(
    name="epsilon",
    title="ε",
    gloss=Sentence("the relative error in question"),
    usual=0.3,
    above=True,
    least=0.0,
    most=1.0,
)
DELTA: Final = AskedNumber(
    name="delta",
    title="δ",
    gloss=Sentence("how often it should be exceeded on either side"),
    usual=0.3,
    above=True,
    least=0.0,
    most=0.5,
)
LARGER_THAN: Final = AskedNumber(
    name="larger-than",
    title=Sentence("Records, more than"),
    gloss=Sentence("how many records a group has at most that is left out"),
    usual=70,
    whole=True,
    least=0,
    most=1_000_000_000,
    step=10,
)
GROUPS: Final = AskedNumber(
    name="groups",
    title=Sentence("Groups"),
    gloss=Sentence("how many groups are examined, the most skewed ones"),
    usual=7,
    whole=True,
    least=1,
    most=1_000,
    step=1,
)


def _answers(inputs: AuditInputs, context: Context) -> tuple[Answer]:
    from sfumato.analysis.disclosure.small_groups import subject_of
    from sfumato.analysis.tables.noisy_counts import NoisyQuestion, answer_noisy, answer_of

    subject = subject_of(inputs.rows, inputs.attributes, inputs.attribute, inputs.knows)
    stated = inputs.settings
    asked = NoisyQuestion(
        LOSS.stated(stated),
        EPSILON.stated(stated),
        DELTA.stated(stated),
        int(LARGER_THAN.stated(stated)),
        int(GROUPS.stated(stated)),
    )
    return (answer_of(answer_noisy(subject, asked, context), subject.knowledge),)


QUESTION = AuditQuestion(
    name="noisy-counts",
    title=Sentence("Noisy answers"),
    summary=Sentence("Say what a system that answers counts with noise gives away of groups."),
    topic=Topic.GROUPS,
    order=22,
    answers=_answers,
    options=("attribute", "knows"),
    settings=(LOSS, EPSILON, DELTA, LARGER_THAN, GROUPS),
    alone=True,
    on_page=True,
)
