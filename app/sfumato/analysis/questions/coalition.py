"""What recipients learn by pooling releases, of categories and of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, joined

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.analysis.coalitions.holdings import Holding
    from sfumato.project.document.model import Document, PolicyEntry
    from sfumato.project.ledger import ReleaseRecord


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    from sfumato.analysis.coalitions.coalitions import answer_of, report_coalition
    from sfumato.analysis.coalitions.restored_files import answer_of_files, weigh_held
    from sfumato.analysis.unperturbed.open_columns import (
        figures_beside,
        weigh_open_columns,
        with_figures,
    )

    columns = inputs.columns(Part(context, 0.0, 0.1))
    reports = report_coalition(
        inputs.document,
        inputs.attributes,
        inputs.members,
        inputs.what_if,
        Part(context, 0.1, 0.5),
        inputs.releases,
        inputs.basis,
    )
    findings = weigh_open_columns(inputs.document, columns, Part(context, 0.5, 0.7))
    for place, report in enumerate(reports):
        part = Part(
            context, 0.7 + 0.3 * place / len(reports), 0.7 + 0.3 * (place + 1) / len(reports)
        )
        members = report.answer.members
        found = weigh_held(inputs.rows, members, part)
        in_files = answer_of_files(found)
        realized = Sentence("{where}: {told}", where=found.where, told=joined(*in_files.sentences))
        beside = figures_beside(findings, members[0], inputs.attributes)
        told = with_figures(answer_of(report), beside)
        yield replace(
            told,
            sentences=(
                *told.sentences,
                realized,
                *asides(inputs.document, report.answer.entry, members, inputs.releases),
            ),
            facts={**told.facts, "realized": in_files.facts},
        )


def _of_numbers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
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


def _of_entry(inputs: AuditInputs, entry: PolicyEntry, context: Context) -> Iterator[Answer]:
    """Tell what all holders learn together, of categories or numbers; nothing of a single one."""
    from sfumato.analysis.coalitions import coalitions, pooled_numbers
    from sfumato.engine.core.errors import SfumatoError

    held = inputs.held(entry)
    if len(held) < 2:
        return
    try:
        weighed = coalitions.weigh_coalition(entry, held, inputs.attributes, context)
        if weighed is not None:
            yield coalitions.answer_of(coalitions.CoalitionReport(weighed))
        pool = pooled_numbers.numbers_coalition(entry, held, inputs.attributes)
        if pool is not None:
            yield pooled_numbers.answer_of(pooled_numbers.weigh_numbers(pool, context))
    except SfumatoError as error:
        problem = Sentence(
            "What is held can't be weighed together. {problem}", problem=error.sentence
        )
        yield Answer((problem,), entry=entry.key)
    if beside := asides(inputs.document, entry.key, held, inputs.releases):
        yield Answer(beside, entry=entry.key)


def asides(
    document: Document, key: str, members: Iterable[Holding], releases: Iterable[ReleaseRecord]
) -> tuple[str, ...]:
    """Return what else is to be known of a coalition about an entry.

    Of adopted releases some are no rungs and are left out, others have some of the records only;
    releases that were withdrawn are held none the less.
    """
    from sfumato.engine.core.errors import SfumatoError
    from sfumato.project.adoption.adopt import beside_sentence, part_sentence
    from sfumato.project.withdrawal import still_counted

    names = {member.recipient for member in members}
    told = [still_counted(each for each in releases if each.recipient in names)]
    entries = [entry for entry in document.policy if entry.key == key]
    with suppress(SfumatoError):  # the policy says what is wrong with the entry's settings
        told = [part_sentence(entries), beside_sentence(entries), *told]
    return tuple(filter(None, told))


QUESTIONS = (
    AuditQuestion(
        name="coalition",
        title=Sentence("Coalitions"),
        summary=Sentence("Weigh what recipients learn by pooling releases."),
        topic=Topic.TOGETHER,
        order=1,
        answers=_answers,
        of_entry=_of_entry,
        options=("members", "what_if", "released"),
    ),
    AuditQuestion(
        name="numbers",
        title=Sentence("Numbers"),
        summary=Sentence("Weigh how closely pooled releases tell numbers."),
        topic=Topic.TOGETHER,
        order=2,
        answers=_of_numbers,
        options=("members", "released"),
    ),
)
