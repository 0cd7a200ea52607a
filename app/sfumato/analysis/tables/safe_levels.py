"""Which levels of a generalized table are safe, told: what came of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer, Severity
from sfumato.engine.core.wording import Sentence, listed

if TYPE_CHECKING:
    from sfumato.engine.generalization.search import SearchResult
    from sfumato.project.publication.generalization_pipeline import PipelineResult


def answer_of(found: PipelineResult) -> Answer:
    """Return how many choices of levels are safe, or what stands in the way and what helps."""
    why, searched = found.no_solution, found.searched
    advice = () if why is None else tuple(why.advice)
    if found.problem is not None:
        error = found.problem
        parts = (error.what_template, error.remedy_template)
        what, *helps = (Sentence(part, **error.details) for part in parts if part)
        return Answer((what,), Severity.GRAVE, remedies=(*helps, *advice))
    counted = () if searched is None else (_counted(searched.result),)
    if searched is not None and searched.best is not None:
        return Answer((*counted, _minimal(len(searched.result.minimal))), Severity.GOOD)
    told = "Even the highest levels fail {failing}."
    failing = () if why is None or not why.failing else (listed(why.failing),)
    fails = (Sentence(told, failing=names) for names in failing)
    return Answer((*counted, *fails), Severity.CAUTION, remedies=advice)


def _counted(result: SearchResult) -> Sentence:
    """Return how many of the combinations are safe."""
    size, average = result.lattice.size, result.minimum_average_level
    if average is None:
        words = "None of the {size:,} {size:combination|combinations} of levels is safe."
        return Sentence(words, size=size)
    return Sentence(
        "{safe:,} of {size:,} {size:combination|combinations} of levels {safe:is|are} safe;"
        " {safe:its average level is|the best has an average level of} {average:.3g}.",
        safe=result.safe_count,
        size=size,
        average=average,
    )


def _minimal(count: int) -> Sentence:
    """Return how many of the safe combinations can't be made more detailed."""
    return Sentence(
        "{count:,} safe {count:combination is minimal: it|combinations are minimal: they} can't be"
        " made more detailed and stay safe.",
        count=count,
    )
