"""What pooling the rows of one person or household restores, where each row is drawn by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer, AnswerFigure
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.analysis.disclosure.pooled_rows import PooledRows
    from sfumato.engine.table.repeated_units import RepeatedUnit
    from sfumato.project.document.model import Document


def _answers(inputs: AuditInputs, context: Context) -> Iterator[Answer]:
    """Return what each recipient restores of an attribute by a column, the most trusted first."""
    from sfumato.analysis.disclosure.pooled_rows import pooled_rows

    document, attributes = inputs.document, inputs.attributes
    units = inputs.units(Part(context, 0.0, 0.6))
    pooling = Part(context, 0.6, 1.0)
    found = pooled_rows(document, attributes, units, inputs.releases, inputs.basis, pooling)
    for one in found:
        pair = one.attribute, one.column
        alike = tuple(other for other in found if (other.attribute, other.column) == pair)
        yield Answer(
            (one.sentence,),
            about=Sentence("{attribute}, by {column}", attribute=pair[0], column=pair[1]),
            notes=tuple(_notes(one)),
            remedies=(_remedy(one),),
            leads_to="attributes",
            figures=(AnswerFigure("pooled_numbers.build_pooled_rows", (alike,)),),
            facts=one.plain(),
        )


def _notes(one: PooledRows) -> Iterator[str]:
    yield Sentence(
        "{units} {units:group|groups}, on average a row shares its {column} with {others:.3g}"
        " {others:other|others}. A coalition pools what its most trusted member holds.",
        units=one.units,
        column=one.column,
        others=round(one.rows - 1, 1),
    )
    if one.restored is None:
        yield Sentence("Pooled: the mean of as many rows as a row has on average.")
    elif one.restored.error:
        yield Sentence("Outcomes were drawn, so the shares are estimates.")
    else:
        yield Sentence("The shares are computed from the matrix, by Bayes' rule.")
    if one.varying:
        yield Sentence(
            "{count} {count:group|groups} whose rows differ in {attribute} {count:is|are} left"
            " out.",
            count=one.varying,
            attribute=one.attribute,
        )


def _remedy(one: PooledRows) -> str:
    if one.varying:
        return Sentence(
            "Under Attributes, let rows belong to {column}: the level stated then holds for all"
            " rows of a unit together, of which at most so many leave as you say there.",
            column=one.column,
        )
    return Sentence(
        "Under Attributes, let rows belong to {column}: {attribute} is then drawn once for all of"
        " them, and pooling them restores nothing more.",
        column=one.column,
        attribute=one.attribute,
    )


def _applies(document: Document, units: Sequence[RepeatedUnit] | None) -> bool:
    """Return whether rows seem to belong together and show the same sensitive value."""
    from sfumato.analysis.disclosure.pooled_rows import found_unit

    return units is None or any(found_unit(document, unit) for unit in units)


QUESTION = AuditQuestion(
    name="units",
    title=Sentence("Pooled rows"),
    summary=Sentence("Weigh what pooling the rows of one person or household restores."),
    topic=Topic.TOGETHER,
    order=3,
    answers=_answers,
    options=("by", "released"),
    nothing=Sentence(
        "No sensitive attribute that is randomised row by row is the same in all rows that share a"
        " value of another column."
    ),
    on_page=True,
    applies=_applies,
)
