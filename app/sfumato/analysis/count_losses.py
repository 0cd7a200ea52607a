"""What tables of counts that left, and released records, tell of one person, by the law of ε."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.analysis.answers import Answer, AnswerTable, CellKind
from sfumato.analysis.record_losses import (
    LossInAll,
    RecordLosses,
    editions_sentence,
    loss_of,
    losses_in_all,
    uncounted_sentence,
)
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.wording import Sentence, formatted, listed
from sfumato.project.count_tables.held import CountTableRecord
from sfumato.project.document.model import Document


def answer_of_counts(
    document: Document,
    left: RecordLosses,
    records: Sequence[CountTableRecord],
    members: Sequence[str] = (),
) -> Answer:
    """Return what some recipients, or all, learn of a person together.

    Of each table the coalition knows what its most trusted member does; ε of tables and of
    randomised columns with noise of their own are added. Whatever they thought before, and whatever
    else they know, the odds on what is true of a record change by a factor of at most e^ε: who
    held two cases for equally likely is right about them in at most e^ε/(1 + e^ε) of the cases.
    That is not said where they hold what ε doesn't count: values with noise that bounds no odds, or
    records of several editions.

    Raises
    ------
    PolicyError
        If a member holds nothing and is no recipient.
    """
    everybody = losses_in_all(document, left, records)
    known = [one.recipient for one in everybody[:-1]]
    for name in members:
        if name not in known:
            raise PolicyError(
                "The project has no recipient {name}.",
                "Its recipients are: {known}.",
                name=name,
                known=", ".join(known),
            )
    asked = loss_of(document, left, records, members) if members else everybody[-1]
    bounded = not asked.uncounted and left.editions < 2
    rows = [
        (one.recipient or Sentence("all together"), one.by_records, one.after, one.total)
        for one in everybody
    ]
    columns: dict[str, CellKind] = {
        Sentence("Recipient"): CellKind.TEXT,
        Sentence("ε by released records"): CellKind.NUMBER,
        Sentence("ε by tables of counts"): CellKind.NUMBER,
        Sentence("ε in all"): CellKind.NUMBER,
    }
    return Answer(
        (_said(document, asked, members or known, bounded),),
        notes=_notes(asked, left.editions),
        tables=(AnswerTable(columns, rows),),
        facts={
            "members": list(members or known),
            "epsilon": None if math.isinf(asked.total) else asked.total,
            "by_records": None if math.isinf(asked.by_records) else asked.by_records,
            "by_tables": asked.after,
            "right_at_most": best_guess(asked.total) if bounded else None,
            "not_counted": list(asked.uncounted),
        },
    )


def _said(document: Document, asked: LossInAll, names: Sequence[str], bounded: bool) -> Sentence:
    told = listed(tuple(names))
    whom: str = Sentence("one record")
    if document.unit is not None:
        whom = Sentence("all rows with the same {unit}", unit=document.unit.name)
    if math.isinf(asked.total):
        return Sentence(
            "{names} hold true values of {columns}, so ε has no bound. Their tables of counts alone"
            " have ε = {tables} of {whom}.",
            names=told,
            columns=listed(asked.shown),
            tables=formatted(asked.after, ".4g"),
            whom=whom,
        )
    if not bounded:
        return Sentence(
            "By tables of counts, and by those released values that ε counts, {names} have"
            " ε = {total} of {whom} together. They hold more than that, so it bounds no guess.",
            names=told,
            total=formatted(asked.total, ".4g"),
            whom=whom,
        )
    return Sentence(
        "By tables of counts and released records {names} have ε = {total} of {whom} together."
        " Of two cases that they held for equally likely, they tell the true one in at most"
        " {right} of 100 tries.",
        names=told,
        total=formatted(asked.total, ".4g"),
        whom=whom,
        right=formatted(100.0 * best_guess(asked.total), ".1f"),
    )


def best_guess(epsilon: float) -> float:
    """Return how often the likelier of two cases is true, at most, where ε bounds the odds."""
    return 1.0 / (1.0 + math.exp(-epsilon))


def _notes(asked: LossInAll, editions: int) -> tuple[str, ...]:
    notes = [
        Sentence(
            "Columns that leave unperturbed are seen as they are; this is of what is true beside"
            " them."
        )
    ]
    if asked.uncounted:
        notes.append(uncounted_sentence(asked.uncounted))
    if editions > 1:
        notes.append(editions_sentence(editions))
    return tuple(notes)
