"""Which small groups of people alike releases give away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AskedNumber, AuditQuestion, Topic
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.project.document.model import PolicyEntry

EPSILON: Final = AskedNumber(
    name="epsilon",
    title="&ε",
    gloss=Sentence(
        "the relative error that an estimate should exceed, unless the policy promises another"
    ),
    usual=0.3,
    above=True,
    least=0.0,
    most=1.0,
)
DELTA: Final = AskedNumber(
    name="delta",
    title="&δ",
    gloss=Sentence("how often it should, on either side, unless the policy promises otherwise"),
    usual=0.3,
    above=True,
    least=0.0,
    most=1.0,
)


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.disclosure.group_answer import answer_of_each, answer_of_one
    from sfumato.analysis.disclosure.small_groups import examined, promised_limits, subject_of
    from sfumato.engine.disclosure.group_privacy import PrivacyTest

    document, names = inputs.document, inputs.recipients
    subject = subject_of(inputs.rows, inputs.attributes, inputs.attribute, inputs.knows)
    stated = {spec.name: spec.stated(inputs.settings) for spec in (EPSILON, DELTA)}
    asked = {name: value for name, value in stated.items() if name in inputs.settings}
    rule = PrivacyTest(inputs.rule or PrivacyTest.EXACT)
    limits = replace(promised_limits(subject.entry), **asked, rule=rule)
    limits.check()
    recipients = [document.recipient(name) for name in names] or document.recipients
    found = examined(subject, recipients, limits, inputs.remedies, context)
    if len(names) == 1:
        yield answer_of_one(found[0])
    elif found:
        yield answer_of_each(found)


def _of_entry(inputs: AuditInputs, entry: PolicyEntry, context: Context) -> Iterator[Answer]:
    """Return what each recipient's release gives away, but for those whose level is wrong."""
    from sfumato.analysis.disclosure.group_answer import answer_of_each
    from sfumato.analysis.disclosure.small_groups import risk_of_each, subjects_of

    for subject in subjects_of(inputs.rows, inputs.attributes):
        if subject.entry.key == entry.key and (found := risk_of_each(subject, context)):
            yield answer_of_each(found)


QUESTION = AuditQuestion(
    name="risk",
    title=Sentence("Small groups"),
    summary=Sentence("Examine which small groups a release gives away."),
    topic=Topic.GROUPS,
    order=20,
    answers=_answers,
    options=("attribute", "recipient", "rule", "remedies", "knows"),
    settings=(EPSILON, DELTA),
    nothing=Sentence("Nobody is to receive anything yet."),
    alone=True,
    of_entry=_of_entry,
)
