"""Columns that are sums of others, or that others determine: where one is protected in vain."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.engine.core.columns import Role
from sfumato.engine.table.relations import LinearRelation, Relation
from sfumato.project.document.model import Document


def released_relations(document: Document, relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the relations whose columns are all released, perturbed or not."""
    released = {spec.name for spec in document.columns if spec.role is not Role.IDENTIFYING}
    return tuple(each for each in relations if {each.name, *each.columns} <= released)


def endangering(document: Document, relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the relations by which others tell a sensitive column that is protected apart."""
    sensitive = {spec.name for spec in document.sensitive}
    found = []
    for relation in released_relations(document, relations):
        columns = {relation.name, *relation.columns}
        told = columns if isinstance(relation, LinearRelation) else {relation.name}
        together = any(columns <= set(entry.attributes) for entry in document.policy)
        if told & sensitive and not together:
            found.append(relation)
    return tuple(found)
