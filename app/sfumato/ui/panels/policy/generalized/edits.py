"""The edits of a generalized table: each takes a document and returns another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.engine.core.columns import Role
from sfumato.engine.generalization.lattice import Node
from sfumato.project.document.generalization import (
    CRITERION_KINDS,
    CriterionChoice,
    Generalization,
    OtherTableFile,
    PopulationFile,
)
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import decided_in, proposed

MOST_PINNED = 6
"""More candidates than this can't be compared at a glance."""


def changed(document: Document, **changes: Any) -> Document:
    """Return a document in which something is decided otherwise about the table."""
    return replace(document, generalization=replace(decided_in(document), **changes))


def started(document: Document) -> Document:
    """Return a document with a generalized table to start from, if there can be one."""
    return replace(document, generalization=proposed(document))


def stopped(document: Document) -> Document:
    """Return a document without a generalized table."""
    return replace(document, generalization=None)


def with_quasi_identifiers(document: Document, names: tuple[str, ...]) -> Document:
    """Generalize other columns; nodes chosen for the old ones mean nothing any more."""
    return changed(document, quasi_identifiers=names, node=None, pinned=())


def with_criterion(document: Document, place: int, choice: CriterionChoice) -> Document:
    """Put a criterion in the place of another, or at the end."""
    criteria = list(decided_in(document).criteria)
    criteria[place : place + 1] = [choice]
    return changed(document, criteria=tuple(criteria))


def without_criterion(document: Document, place: int) -> Document:
    """Take a criterion away."""
    criteria = decided_in(document).criteria
    return changed(document, criteria=criteria[:place] + criteria[place + 1 :])


def fresh_criterion(kind: str) -> CriterionChoice:
    """Return a criterion with the numbers that it starts with."""
    return CriterionChoice(kind, dict(CRITERION_KINDS[kind].numbers))


def with_node(document: Document, node: Node | None) -> Document:
    """Choose the levels to publish; None for the best ones."""
    return changed(document, node=node)


def with_pin(document: Document, node: Node, pinned: bool) -> Document:
    """Keep a candidate for comparison, or no longer; the oldest makes room."""
    others = tuple(each for each in decided_in(document).pinned if each != node)
    kept = (*others, node)[-MOST_PINNED:] if pinned else others
    return changed(document, pinned=kept)


def with_other(document: Document, other: OtherTableFile) -> Document:
    """Add another holder's table; one of the same holder is replaced."""
    others = tuple(o for o in decided_in(document).others if o.holder != other.holder)
    return changed(document, others=(*others, other))


def without_other(document: Document, holder: str) -> Document:
    """Take another holder's table away."""
    others = tuple(o for o in decided_in(document).others if o.holder != holder)
    return changed(document, others=others)


def with_population(
    document: Document, file: PopulationFile | None, fraction: float | None = None
) -> Document:
    """Say what is known of the population: a list of it, or how much of it is in the table."""
    return changed(document, population=file, sampling_fraction=fraction)


def usable(document: Document) -> tuple[str, ...]:
    """Return the columns that can be generalized: quasi-identifiers with a hierarchy."""
    return tuple(
        column.name
        for column in document.columns
        if column.role is Role.QUASI_IDENTIFIER and column.name in document.hierarchies
    )


def question_of(document: Document) -> tuple[object, ...]:
    """Return all that a search depends on: where it is alike, so is what is found."""
    decided = document.generalization
    if decided is None:
        return ()
    asked = Generalization(
        decided.sensitive,
        decided.quasi_identifiers,
        decided.criteria,
        decided.suppression,
        others=decided.others,
    )
    names = {*decided.quasi_identifiers, decided.sensitive}
    columns = tuple(column for column in document.columns if column.name in names)
    recipes = tuple(document.hierarchies.get(name) for name in decided.quasi_identifiers)
    return (asked, columns, recipes)
