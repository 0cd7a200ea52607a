"""What other holders' tables and ours leave of everybody's value together, and of one person's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AskedNumber, AuditQuestion, Topic
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.engine.table.repeated_units import RepeatedUnit
    from sfumato.project.document.model import Document

_SHARE = AskedNumber(
    name="share",
    title=Sentence("Share of people in all the other classes"),
    gloss=Sentence(
        "of the people in the class of the first table, the percentage that is in all the other"
        " classes as well; 0 where nobody knows"
    ),
    usual=0.0,
    least=0.0,
    most=100.0,
)

OURS = "ours"
"""What our own table is called among the holders'."""


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.other_holders.composition import answer_of, asked_of, beside_others

    document = inputs.document
    if _applies(document, None):
        least, ours = asked_of(document) or 1, Sentence("this table")
        yield answer_of(beside_others(document, inputs.table, True, least, ours, context), document)


def _belief(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.other_holders.class_beliefs import (
        class_answer,
        classes_called,
        known_correlation,
    )
    from sfumato.analysis.other_holders.composition import asked_of, beside_others

    document = inputs.document
    if not _applies(document, None):
        return
    least, comparing = asked_of(document) or 1, Part(context, 0.0, 0.8)
    found = beside_others(document, inputs.table, True, least, OURS, comparing)
    classes = classes_called(found, inputs.in_class)
    told, share = class_answer(found, classes), _SHARE.stated(inputs.settings)
    within, known = found.within(classes), None
    if share and within is not None and told.belief is not None:
        known = known_correlation(*within, share / 100.0, 0, Part(context, 0.8, 1.0))
    yield told.answer(known)


def _applies(document: Document, _units: Sequence[RepeatedUnit] | None) -> bool:
    return document.generalization is not None and bool(document.generalization.others)


QUESTIONS = (
    AuditQuestion(
        name="others",
        title="Beside other holders' tables",
        summary=Sentence("Say what the tables of other holders and ours tell of people together."),
        topic=Topic.GROUPS,
        order=30,
        answers=_answers,
        nothing=Sentence("There are no tables of other holders."),
        in_report=True,
        applies=_applies,
    ),
    AuditQuestion(
        name="class-belief",
        title="One person in all tables",
        summary=Sentence("Say what is believed of somebody whose class in each table is known."),
        topic=Topic.GROUPS,
        order=31,
        answers=_belief,
        options=("in_class",),
        settings=(_SHARE,),
        nothing=Sentence("There are no tables of other holders."),
        alone=True,
        applies=_applies,
    ),
)
