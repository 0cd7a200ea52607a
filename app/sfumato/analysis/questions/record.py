"""One record's ladder: at which level of trust its value changes, and to what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sfumato.analysis.answers import Answer, AnswerFigure, AnswerTable, CellKind, GivenName
from sfumato.analysis.questions.question import AskedNumber, AuditQuestion, Topic
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.analysis.disclosure.record_path import RecordPath

ROW: Final = AskedNumber(
    name="row",
    title=Sentence("&Row of the table"),
    gloss=Sentence("the record's row in the table"),
    usual=1,
    whole=True,
    least=1,
    most=1_000_000_000,
    step=1,
    of_rows=True,
)


def _answers(inputs: AuditInputs, context: Context) -> tuple[Answer, ...]:
    from sfumato.analysis.disclosure.record_path import record_path

    if not inputs.document.recipients:
        return ()
    entries = {name: entry for entry in inputs.document.policy for name in entry.attributes}
    name = inputs.attribute or next(iter(entries), "")
    if name not in entries:
        raise PolicyError(
            "{column} is no sensitive attribute of the policy.",
            "Name one with --attribute: {known}.",
            column=name or "–",
            known=", ".join(entries) or "–",
        )
    row = int(ROW.stated(inputs.settings))
    return (_answer_of(record_path(inputs.rows, entries[name], name, row, context)),)


def _answer_of(path: RecordPath) -> Answer:
    """Return what recipients see of a record: its values are for the window alone."""
    columns: dict[str, CellKind] = {
        Sentence("Recipient"): CellKind.TEXT,
        Sentence("Trust"): CellKind.NUMBER,
        Sentence("Sees"): CellKind.VALUE,
    }
    rows: list[tuple[Any, ...]] = [(one.recipient, one.trust, one.value) for one in path.stops]
    if any(one.alike for one in path.stops):
        columns |= {GivenName(name): CellKind.VALUE for name in path.stops[0].public}
        columns[Sentence("Records alike")] = CellKind.COUNT
        beside = [(*one.public.values(), one.alike) for one in path.stops]
        rows = [(*row, *more) for row, more in zip(rows, beside, strict=True)]
    told = Sentence(
        "What each recipient sees of {attribute} in row {row}.",
        attribute=path.attribute,
        row=path.row,
    )
    return Answer(
        (told,),
        tables=(AnswerTable(columns, rows),),
        figures=(AnswerFigure("ladders.build_record_ladder", (path,)),),
        facts={
            "attribute": path.attribute,
            "row": path.row,
            "changes": [one.lower for one in path.stretches[:-1]],
            "recipients": [
                {"recipient": one.recipient, "trust": one.trust, "records alike": one.alike}
                for one in path.stops
            ],
        },
    )


QUESTION = AuditQuestion(
    name="record",
    title=Sentence("One record"),
    summary=Sentence("Say at which levels of trust one record's value changes."),
    topic=Topic.FOUND,
    order=70,
    answers=_answers,
    options=("attribute",),
    settings=(ROW,),
    nothing=Sentence("Nobody is on the ladder yet."),
    on_page=True,
)
