"""Criteria that several tables keep together or not: which levels do, and what they reach."""

from __future__ import annotations

from typing import Final

import numpy as np

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, one_by_one
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.criteria import Criterion, InformedDiversity, narrowed_already
from sfumato.engine.generalization.joint_criteria import AlignedDiversity, LargestBelief
from sfumato.engine.generalization.lattice import Node, at_least, at_most
from sfumato.engine.generalization.lattice import listed as nodes_in
from sfumato.engine.generalization.others import weakest_of
from sfumato.engine.generalization.public_counts import ProgramSizeError, remaining
from sfumato.engine.generalization.search import SearchResult
from sfumato.engine.generalization.shared_columns import (
    MeetingClasses,
    TooManyMeetingError,
    meeting_classes,
)
from sfumato.project.publication.prepared import Prepared
from sfumato.project.publication.public_counts import known_to, our_classes

_SLACK: Final = 1e-9  # as where beliefs are compared


@dataclass(frozen=True)
class Reached:
    """What a node reaches of a joint criterion.

    Parameters
    ----------
    holds
        Whether it keeps it.
    number
        The values that remain, or the largest belief as a share; where it isn't kept, a belief at
        least as large.
    """

    holds: bool
    number: float


def is_joint(criterion: Criterion) -> bool:
    """Return whether classes of several tables have to be looked at together."""
    if isinstance(criterion, LargestBelief):
        return bool(criterion.beside)
    return isinstance(criterion, InformedDiversity | AlignedDiversity)


def check_joint(prepared_suppression: float, criteria: tuple[Criterion, ...]) -> None:
    """Refuse what can't be told of tables that leave records out.

    Raises
    ------
    DiversityError
        If records may be left out.
    """
    if prepared_suppression and any(
        isinstance(each, LargestBelief) and each.beside for each in criteria
    ):
        raise DiversityError(
            "Beside other holders' tables, a largest belief is promised only where no records are"
            " left out: who is left out can't be told from the tables.",
            "Let no records be left out, or require something else.",
        )


def meeting_at(prepared: Prepared, node: Node) -> MeetingClasses:
    """Return which classes of the others' tables can meet ours at a node."""
    ours, quasi = our_classes(prepared, node), prepared.coded.quasi_identifiers
    tables = (prepared.holders, prepared.shared)
    return meeting_classes(ours.classes, ours.ground, node, quasi, *tables)


def reached_at(prepared: Prepared, node: Node, criterion: Criterion) -> Reached:
    """Return what a node reaches of a joint criterion.

    Raises
    ------
    DiversityError
        If there is too much to compute, or public counts contradict the tables.
    """
    if isinstance(criterion, InformedDiversity):
        left = remaining(*known_to(prepared, node)).weakest
        return Reached(left >= criterion.l, left)
    return _reached(meeting_at(prepared, node), criterion)


def _reached(meeting: MeetingClasses, criterion: Criterion) -> Reached:
    if isinstance(criterion, AlignedDiversity):
        left = int(meeting.left().min())
        return Reached(left >= criterion.l, left)
    if isinstance(criterion, LargestBelief):
        enough = criterion.x / 100
        belief = meeting.largest_belief(criterion.independent, enough)
        return Reached(belief <= enough * (1 + _SLACK), belief)
    raise TypeError(f"{type(criterion).__name__} is seen class by class")


def refuse_broken(prepared: Prepared, node: Node) -> None:
    """Refuse a node that does not keep the joint criteria.

    Raises
    ------
    DiversityError
        Naming the first that it doesn't keep.
    """
    for criterion in filter(is_joint, prepared.criteria):
        if not reached_at(prepared, node, criterion).holds:
            raise _broken(criterion)


def _broken(criterion: Criterion) -> DiversityError:
    if isinstance(criterion, LargestBelief):
        return DiversityError(
            "At these levels somebody's value is likelier than {x:g} % beside the other holders'"
            " tables.",
            "Choose a safe node.",
            x=criterion.x,
        )
    values = criterion.l if isinstance(criterion, InformedDiversity | AlignedDiversity) else 0
    return DiversityError(
        "These levels don't keep {l} {l:value|values} beside the other holders' tables.",
        "Choose a safe node.",
        l=values,
    )


def heeding_others(prepared: Prepared, result: SearchResult, context: Context) -> SearchResult:
    """Return which of the safe nodes keep the joint criteria, too.

    Nodes with too many classes to compute are taken not to: what isn't known isn't promised.

    Raises
    ------
    DiversityError
        If none does, or public counts contradict the tables.
    """
    asked = [each for each in prepared.criteria if is_joint(each)]
    for criterion, part in one_by_one(context, asked):
        if not result.safe.any():
            return result
        result = _heeding(prepared, result, criterion, part)
    return result


def _heeding(
    prepared: Prepared, result: SearchResult, criterion: Criterion, context: Context
) -> SearchResult:
    # With aligned columns, people who are kept apart at low levels may meet at higher ones.
    follows = not (isinstance(criterion, LargestBelief) and criterion.shared)
    safe, still = np.zeros_like(result.safe), result.safe.copy()
    found: list[float] = []
    too_large: DiversityError | None = None
    while still.any():
        node = _middle(result, still)
        context.report(
            1.0 - float(still.sum()) / float(result.safe.sum()), "Comparing with others' tables"
        )
        try:
            reached = reached_at(prepared, node, criterion)
            found.append(reached.number)
        except (ProgramSizeError, TooManyMeetingError) as error:
            reached, too_large = Reached(False, 0), error.with_traceback(None)
        still[node] = False
        if reached.holds:
            safe[at_least(node) if follows else node] = True
        if follows:
            still[at_least(node) if reached.holds else at_most(node)] = False
    safe &= result.safe
    if not safe.any():
        if too_large is not None and not found:
            raise too_large
        raise _none_keep(prepared, result, criterion, found)
    return SearchResult(result.names, result.lattice, safe, result.examined, result.followed)


def _middle(result: SearchResult, still: np.ndarray) -> Node:
    """Return a node of middle height among those that are open; the one that settles most."""
    heights = result.lattice.heights
    chosen = still & (heights == int(np.median(heights[still])))
    if not chosen.any():
        chosen = still & (heights == int(heights[still].max()))
    return nodes_in(chosen)[0]


def _none_keep(
    prepared: Prepared, result: SearchResult, criterion: Criterion, found: list[float]
) -> DiversityError:
    """Return what is told where no levels keep a joint criterion."""
    if isinstance(criterion, LargestBelief):
        return DiversityError(
            "Beside the other holders' tables, no levels keep everybody's value at most {x:g} %"
            " likely.",
            "{advice}",
            x=criterion.x,
            advice=_advice(_causes(prepared, result.lattice.top, criterion)),
        )
    values = criterion.l if isinstance(criterion, InformedDiversity | AlignedDiversity) else 0
    told = {"l": values, "best": int(max(found))}
    if isinstance(criterion, InformedDiversity):
        return DiversityError(
            "Beside the other holders' tables and public counts, no levels keep {l}"
            " {l:value|values} for everybody; the best keep {best}.",
            "Choose a smaller l, or hide more of the columns that the counts are by.",
            **told,
        )
    size = len(prepared.values)
    narrowed = weakest_of(prepared.holders, size)
    if narrowed < values and narrowed >= max(found):
        return narrowed_already(narrowed)
    return DiversityError(
        "Beside the other holders' tables, no levels keep {l} {l:value|values} for everybody; the"
        " best keep {best}.",
        "{advice}",
        advice=_advice(_causes(prepared, result.lattice.top, criterion)),
        **told,
    )


def _advice(causes: tuple[str, ...]) -> Sentence:
    if not causes:
        return Sentence("Ask for less, or hide more of the columns.")
    return Sentence(
        "Ask for less, or leave out the table of {holders}: without it there is a solution.",
        holders=listed(causes),
    )


def _causes(prepared: Prepared, top: Node, criterion: Criterion) -> tuple[str, ...]:
    """Return the holders without whose table alone the highest levels keep a criterion."""
    meeting = meeting_at(prepared, top)
    return tuple(
        holder.holder
        for number, holder in enumerate(prepared.holders)
        if _reached(meeting.without(number), criterion).holds
    )
