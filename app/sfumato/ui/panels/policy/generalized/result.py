"""What came of a search, in a sentence and what it means."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.engine.generalization.explain import NoSolution
from sfumato.project.publication.generalization_pipeline import Searched
from sfumato.project.publication.search import Found
from sfumato.ui.panels.policy.generalized.finding import Finding
from sfumato.ui.panels.policy.generalized.wording import minimal_sentence, result_sentence, tr
from sfumato.ui.shell.messages import error_texts


@dataclass(frozen=True)
class Result:
    """A sentence with its icon.

    Parameters
    ----------
    icon, token
        The drawing and its colour.
    sentence, explanation
        What was found, and what it means or what would help.
    """

    icon: str
    token: str
    sentence: str
    explanation: str = ""


def result_of(finding: Finding, *, chosen: bool) -> Result:
    """Return what came of a search.

    Parameters
    ----------
    finding
        The search.
    chosen
        Whether the custodian has chosen levels.
    """
    if finding.working:
        return Result("clock", "muted", tr("Searching for safe generalizations…"))
    if finding.error is not None:
        return Result("danger", "danger", *error_texts(finding.error))
    found = finding.found
    if found is None:
        return Result(
            "search",
            "muted",
            tr("Not searched yet"),
            tr("This can take a while: search once everything is asked as it should be."),
        )
    if found.searched is None or found.searched.best is None:
        return _nothing(found)
    return _something(found.searched, lost=chosen and finding.node is None)


def _nothing(found: Found) -> Result:
    why = found.no_solution
    advice = " ".join(why.advice) if why is not None else ""
    if found.problem is not None:
        what, remedy = error_texts(found.problem)
        return Result("danger", "danger", what, " ".join(filter(None, (remedy, advice))))
    sentence = result_sentence(found.searched.result) if found.searched is not None else ""
    reason = _failing(why) if why is not None else ""
    return Result("caution", "caution", sentence, " ".join(filter(None, (reason, advice))))


def _failing(why: NoSolution) -> str:
    if not why.failing:
        return ""
    return tr("Even the highest levels fail {failing}.", failing=", ".join(why.failing))


def _something(searched: Searched, *, lost: bool) -> Result:
    sentence = result_sentence(searched.result)
    if lost:
        words = tr("The levels that were chosen are not safe any more: choose others.")
        return Result("caution", "caution", sentence, words)
    return Result("good", "good", sentence, minimal_sentence(searched.result))
