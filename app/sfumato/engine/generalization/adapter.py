"""From a table with hierarchies to what is searched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.generalization.coded import CodedTable, QuasiIdentifier
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.table.table import Table, encode_column


def coded_table(
    table: Table, hierarchies: Sequence[Hierarchy], sensitive: ColumnSpec
) -> CodedTable:
    """Encode the quasi-identifiers by their hierarchies, and the sensitive attribute.

    Parameters
    ----------
    table
        The table.
    hierarchies
        One for each quasi-identifier, in the order of a node's levels.
    sensitive
        The sensitive attribute: categorical, or with bins.

    Raises
    ------
    DiversityError
        If the sensitive attribute is numbers without bins, or is a quasi-identifier as well.
    HierarchyError
        If a hierarchy does not cover a row.
    DomainError
        If a row does not fit the sensitive attribute's domain.
    """
    for hierarchy in hierarchies:
        if hierarchy.column == sensitive.name:
            raise DiversityError(
                "Column {column} is sensitive and a quasi-identifier at once.",
                "Give it one of the two roles under Attributes.",
                column=sensitive.name,
            )
    encoded = encode_column(table, sensitive)
    domain = encoded.attribute.domain
    if domain is None:
        raise DiversityError(
            "The sensitive attribute {column} holds numbers, which hardly ever repeat.",
            "Give it bins under Attributes.",
            column=sensitive.name,
        )
    quasi = tuple(quasi_identifier(hierarchy, table) for hierarchy in hierarchies)
    return CodedTable(quasi, encoded.values.astype(np.intp), domain.names, sensitive.name)


def quasi_identifier(hierarchy: Hierarchy, table: Table) -> QuasiIdentifier:
    """Return one quasi-identifier of a table, encoded by its hierarchy."""
    levels = range(hierarchy.height)
    return QuasiIdentifier(
        hierarchy.column,
        hierarchy.encode(table.column(hierarchy.column)),
        tuple(hierarchy.codes(level).astype(np.intp) for level in levels),
        tuple(hierarchy.names(level) for level in levels),
    )
