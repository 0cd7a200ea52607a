"""What other holders' tables and ours leave of everybody's value together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.engine.table.repeated_units import RepeatedUnit
    from sfumato.project.document.model import Document


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.other_holders.composition import answer_of, asked_of, beside_others

    document = inputs.document
    if _applies(document, None):
        least, ours = asked_of(document) or 1, Sentence("this table")
        yield answer_of(beside_others(document, inputs.table, True, least, ours, context), document)


def _applies(document: Document, _units: Sequence[RepeatedUnit] | None) -> bool:
    return document.generalization is not None and bool(document.generalization.others)


QUESTION = AuditQuestion(
    name="others",
    title="Beside other holders' tables",
    summary=Sentence("Say what the tables of other holders and ours tell of people together."),
    topic=Topic.GROUPS,
    order=30,
    answers=_answers,
    nothing=Sentence("There are no tables of other holders."),
    in_report=True,
    applies=_applies,
)
