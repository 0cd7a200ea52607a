"""Micro groups: of the mechanisms that need them, and of attackers who know public columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.table.micro_groups import MicroGroups, micro_groups
from sfumato.engine.table.table import EncodedColumn, Table
from sfumato.project.document.model import Document


def public_columns(document: Document, settings: Settings, mechanism: str) -> tuple[str, ...]:
    """Return the columns that make a policy entry's micro groups, in the table's order.

    Parameters
    ----------
    document
        The columns' roles.
    settings, mechanism
        The policy entry's. What the settings name counts, or else all columns; of them, those
        that are released as they are.

    Raises
    ------
    PolicyError
        If there is no column of a name.
    """
    shown = [
        column.name
        for column in document.columns
        if column.role not in {Role.SENSITIVE, Role.IDENTIFYING}
    ]
    named = mechanism_called(mechanism).public_columns(settings)
    if named is None:
        return tuple(shown)
    known = {column.name for column in document.columns}
    for name in named:
        if name not in known:
            raise PolicyError(
                "{column} is to make groups of records alike in public, but there is no such"
                " column.",
                "Take it out of the public columns, or correct its name.",
                column=name,
            )
    return tuple(name for name in shown if name in named)


def groups_by(
    table: Table,
    specs: Sequence[ColumnSpec],
    context: Context,
    seen: Mapping[str, pd.Series] | None = None,
) -> MicroGroups:
    """Group a table's records by public columns as they are released: bins as their labels.

    Columns that are `seen` otherwise, by name, are grouped as they are there.

    Raises
    ------
    TableError
        If the table has no such column.
    DomainError
        If a row does not fit a column's bins.
    """
    seen = seen or {}
    columns = {
        spec.name: seen[spec.name] if spec.name in seen else spec.shown(table.column(spec.name))
        for spec in specs
    }
    frame = pd.DataFrame(columns, index=table.frame.index, copy=False)
    return micro_groups(frame, tuple(columns), context)


def with_groups(
    document: Document,
    table: Table,
    encoded: Mapping[str, EncodedColumn],
    mechanism: str,
    settings: Settings,
    context: Context,
) -> dict[str, EncodedColumn]:
    """Return a policy entry's columns, with their rows' groups where its mechanism needs them.

    Raises the errors of `public_columns` and `groups_by`.
    """
    if not mechanism_called(mechanism).needs_groups:
        return dict(encoded)
    names = public_columns(document, settings, mechanism)
    groups = groups_by(table, [document.column(name) for name in names], context)
    return {name: column.grouped(groups) for name, column in encoded.items()}


def public_names(document: Document) -> tuple[str, ...]:
    """Return the columns that recipients see as they are, in the table's order."""
    hidden = (Role.IDENTIFYING, Role.SENSITIVE)
    return tuple(column.name for column in document.columns if column.role not in hidden)


def is_known_to_others(spec: ColumnSpec) -> bool:
    """Return whether a column counts as a quasi-identifier: so does a weight unless rounded."""
    rounded = spec.coded is not None and spec.coded.step is not None
    weight = spec.role is Role.WEIGHT and spec.binning is None and not rounded
    return weight or spec.role is Role.QUASI_IDENTIFIER


def usual_knowledge(document: Document) -> tuple[str, ...]:
    """Return what an attacker is usually taken to know: the quasi-identifiers.

    Where nothing is marked as one, every column that is released as it is.
    """
    marked = tuple(column.name for column in document.columns if is_known_to_others(column))
    return marked or public_names(document)


def check_knowledge(document: Document, names: Sequence[str]) -> None:
    """Refuse columns that no recipient sees as they are.

    Raises
    ------
    PolicyError
        Naming the column.
    """
    public = public_names(document)
    for name in names:
        if name not in public:
            raise PolicyError(
                "The column {column} is not released as it is, so no attacker can look people up"
                " by it.",
                "Choose among: {public}.",
                column=name,
                public=", ".join(public) or "none",
            )


def groups_known_by(
    document: Document,
    table: Table,
    names: Sequence[str],
    context: Context,
    seen: Mapping[str, pd.Series] | None = None,
) -> MicroGroups:
    """Return the micro groups of whoever knows some public columns, as `groups_by` does.

    Raises
    ------
    PolicyError
        If a column is not released as it is.
    DomainError
        If a row does not fit a column's bins.
    """
    check_knowledge(document, names)
    return groups_by(table, [document.column(name) for name in names], context, seen)
