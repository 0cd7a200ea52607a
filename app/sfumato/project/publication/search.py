"""The search for safe generalizations, with what stands in the way where there are none."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.generalization.explain import NoSolution, explain_no_solution
from sfumato.engine.generalization.loss import choose
from sfumato.engine.generalization.search import search
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import (
    Prepared,
    Searched,
    decided_in,
    prepare,
)


@dataclass(frozen=True)
class Found:
    """What came of a search.

    Parameters
    ----------
    prepared
        What was searched.
    searched
        What was found; None where no search was possible.
    problem
        Why none was possible.
    no_solution
        What stands in the way, where no node is safe.
    """

    prepared: Prepared
    searched: Searched | None = None
    problem: DiversityError | None = None
    no_solution: NoSolution | None = None


def find(document: Document, table: Table, context: Context) -> Found:
    """Find the safe nodes; where there are none, what stands in the way.

    Raises
    ------
    SfumatoError
        If the table can't be prepared.
    """
    prepared = prepare(document, table, Part(context, 0.0, 0.4))
    suppression = decided_in(document).suppression
    try:
        result = search(prepared.coded, prepared.criteria, Part(context, 0.4, 0.8), suppression)
    except DiversityError as problem:
        found = None
        with suppress(DiversityError):  # the problem itself explains then
            found = explain_no_solution(
                prepared.coded, prepared.criteria, suppression, prepared.holders
            )
        return Found(prepared, None, problem.with_traceback(None), found)
    best = choose(prepared.coded, result, prepared.criteria, Part(context, 0.8, 0.95))
    why = None
    if best is None:
        why = explain_no_solution(prepared.coded, prepared.criteria, suppression, prepared.holders)
    return Found(prepared, Searched(prepared, result, best), None, why)
