"""The edits of a policy and of a generalized table: each takes a document and returns another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import adopted_part
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.table.table import Attribute
from sfumato.project.document.generalization import (
    CRITERION_KINDS,
    CriterionChoice,
    Generalization,
    OtherTableFile,
    PopulationFile,
    PublicCountsFile,
)
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.publication.generalization_pipeline import proposed
from sfumato.project.publication.prepared import decided_in


def with_settings(document: Document, key: str, settings: Settings) -> Document:
    """Change the settings of a policy entry; releases that it adopted stay adopted."""
    return replace(
        document,
        policy=tuple(
            replace(entry, settings={**adopted_part(entry.settings), **settings})
            if entry.key == key
            else entry
            for entry in document.policy
        ),
    )


def misfit(entry: PolicyEntry, attributes: Sequence[Attribute]) -> SfumatoError | None:
    """Return why an entry's mechanism can't serve its attributes (any more), or None."""
    try:
        mechanism_called(entry.mechanism).check_attributes(attributes)
    except SfumatoError as error:
        return error
    return None


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


def with_counts(document: Document, counts: PublicCountsFile) -> Document:
    """Heed public counts; ones of the same name are replaced."""
    others = tuple(c for c in decided_in(document).public_counts if c.name != counts.name)
    return changed(document, public_counts=(*others, counts))


def without_counts(document: Document, name: str) -> Document:
    """Heed public counts no longer."""
    others = tuple(c for c in decided_in(document).public_counts if c.name != name)
    return changed(document, public_counts=others)


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
        decided.suppressed,
        others=decided.others,
        public_counts=decided.public_counts,
    )
    names = {*decided.quasi_identifiers, decided.sensitive}
    columns = tuple(column for column in document.columns if column.name in names)
    recipes = tuple(document.hierarchies.get(name) for name in decided.quasi_identifiers)
    return (asked, columns, recipes)
