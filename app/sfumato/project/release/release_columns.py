"""What releases are made from: the attributes of the policy, encoded, and the plan of each release.

Making a release and verifying one both use this module, so that a verification regenerates
exactly what a release made. It is pure: no files, no clocks, no state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Role, Value
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import DURATIONS, Period
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies.tree import value_text
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.row_order import Positions
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import (
    Attribute,
    EncodedColumn,
    Table,
    encode_attribute,
    no_column,
)
from sfumato.formats.options import READING_VERSION
from sfumato.project.document.entry_plan import EntryPlan, check_policy
from sfumato.project.document.model import Document
from sfumato.project.release.batches import schema_of
from sfumato.project.release.byproducts import check_weights, scopes_for
from sfumato.project.release.groups import public_columns, with_groups
from sfumato.project.release.plan import Plan, record_ids_of
from sfumato.project.release.units import encoded_by_unit, rows_that_leave, unit_ids_of
from sfumato.project.release.views import Coarsening

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing


@dataclass(frozen=True)
class EncodedTable:
    """What every release of one table is made from, whoever it is for.

    Parameters
    ----------
    document
        The columns' roles and the policy; the domain of every attribute of the policy is
        filled in where the rows had to suggest it.
    table
        The source table.
    encoded
        Every attribute of the policy, by name, with its rows.
    """

    document: Document
    table: Table
    encoded: Mapping[str, EncodedColumn]

    @property
    def attributes(self) -> dict[str, Attribute]:
        """What mechanisms know about every attribute of the policy, by name."""
        return {name: column.attribute for name, column in self.encoded.items()}


def leaving_rows(document: Document, table: Table, keys: KeyRing) -> Positions:
    """Return the rows that leave in releases with a project's keys, see `rows_that_leave`.

    Raises the errors of `record_ids_of` and `unit_ids_of`.
    """
    unit = document.unit
    if unit is None or int(np.bincount(units_of(table, unit.columns)).max()) <= unit.most_rows:
        return np.arange(table.rows)
    ids = record_ids_of(document.record_key, table, keys, Silent())
    return rows_that_leave(unit, unit_ids_of(unit, table, keys), ids, keys)


def leaving_table(document: Document, table: Table, keys: KeyRing) -> Table:
    """Return the table of the rows that leave; the table itself where all of them do.

    Raises the errors of `leaving_rows`.
    """
    rows = leaving_rows(document, table, keys)
    if len(rows) == table.rows:
        return table
    return replace(table, frame=table.frame.iloc[rows].reset_index(drop=True))


def material_of(document: Document, table: Table) -> EncodedTable:
    """Encode every attribute of the policy.

    Raises
    ------
    PolicyError
        If the policy is not complete, see `check_policy`.
    TableError
        If table and document have different columns, or a sampling weight is no weight.
    DomainError
        If a row does not fit its column's domain or bins, or is missing where that is refused.
    """
    check_policy(document)
    check_columns(document, table.columns)
    check_weights(document, table)
    names = [name for entry in document.policy for name in entry.attributes]
    encoded = {name: encode_attribute(table, document.column(name)) for name in names}
    for entry in document.policy:
        own = {name: encoded[name] for name in entry.attributes}
        encoded |= with_groups(document, table, own, entry.mechanism, entry.settings, Silent())
    return material_with(document, table, encoded_by_unit(document, table, encoded))


def material_with(
    document: Document, table: Table, encoded: Mapping[str, EncodedColumn]
) -> EncodedTable:
    """Return what releases are made from, once every attribute of the policy is encoded."""
    for name, column in encoded.items():
        spec = replace(document.column(name), domain=column.attribute.domain)
        document = document.with_column(spec)
    return EncodedTable(document, table, encoded)


def attributes_of(document: Document, table: Table) -> dict[str, Attribute]:
    """Return what mechanisms know about every attribute of the policy, by name.

    Raises the errors of `material_of`.
    """
    return material_of(document, table).attributes


def plan_for(
    material: EncodedTable,
    entries: Sequence[EntryPlan],
    recipient: str,
    coarsening: Coarsening | None = None,
) -> Plan:
    """Return the plan of a release at levels that are resolved.

    Raises
    ------
    TableError
        If every column is identifying.
    """
    document = material.document
    released = tuple(name for name, _ in released_specs(document, material.table))
    groups = {
        entry.key: public_columns(document, entry.settings, entry.mechanism)
        for entry in entries
        if mechanism_called(entry.mechanism).needs_groups
    }
    unit = () if document.unit is None else document.unit.columns
    return Plan(
        columns=document.columns,
        schema=schema_of(material.table, {*released, document.record_key, *unit}),
        record_key=document.record_key,
        entries=tuple(entries),
        released=released,
        groups=groups,
        rows_as_in_table=bool(document.rows_as_in_table),
        coarsening=coarsening,
        pseudonyms=scopes_for(document, recipient),
        unit=document.unit,
        reading=READING_VERSION if document.source is None else document.source.reading,
    )


def released_specs(document: Document, table: Table) -> tuple[tuple[str, ColumnSpec], ...]:
    """Return the columns that are released, in the table's order, with their specifications.

    Raises
    ------
    TableError
        If every column is identifying.
    """
    specs = [(name, document.column(name)) for name in table.columns]
    kept = tuple((name, spec) for name, spec in specs if not spec.is_dropped)
    if not kept:
        raise TableError(
            "Every column is identifying, so there is nothing to release.",
            "Give at least one column another role.",
        )
    return kept


def check_columns(document: Document, columns: Sequence[str]) -> None:
    """Refuse a table whose columns are not the document's.

    Raises
    ------
    TableError
        If the table lacks a column, or has one whose role nobody has decided.
    """
    known = {column.name for column in document.columns}
    for name in columns:
        if name not in known:
            raise TableError(
                "The table has a column {column} that has no role yet.",
                "Give it a role under Attributes, or open the table this project was made for.",
                column=name,
            )
    there = set(columns)
    for column in document.columns:
        if column.name not in there:
            raise no_column(column.name)


def _shows_periods(spec: ColumnSpec, period: Period) -> bool:
    """Whether a column leaves as the periods it holds: a perturbed one as its domain lists them."""
    if spec.role is Role.SENSITIVE:
        return period in DURATIONS and spec.binning is None
    return spec.binning is None and spec.as_pseudonym is None


def texts_of_codes(labels: Mapping[Value, str]) -> dict[Value, str]:
    """Return labels of codes by the texts that a hierarchy writes for these: "3" or "3 – 4"."""
    return {value_text(value): text for value, text in labels.items()}


def released_table(
    document: Document,
    table: Table,
    frame: pd.DataFrame,
    coarser: Collection[str] = (),
    with_codes: Collection[str] = (),
) -> Table:
    """Return a released frame with the labels that its columns keep from the source table.

    A sensitive attribute has the labels of its domain. A binned column, and one shown `coarser`,
    has none: its values are labels already; nor has a coded one, or one of symbols (`coarser`,
    too), whose numbers mean other things. What is coarser and written `with_codes`, alone or as
    the ends of groups, has the labels of these: nobody could say else which sex 1 is.
    Nothing of a dropped column is kept. Reasons of missing values are where the column that tells
    them leaves, too.
    """
    value_labels: dict[str, Mapping[Value, str]] = {}
    for name in map(str, frame.columns):
        spec = document.column(name)
        coded = spec.coded is not None or spec.as_pseudonym is not None
        if spec.binning is not None or coded or name in set(coarser) - set(with_codes):
            continue
        labels = table.value_labels.get(name, {})
        if name in with_codes:
            labels = texts_of_codes(labels)
        if spec.role is Role.SENSITIVE and spec.domain is not None:
            labels = spec.domain.labels
        if labels:
            value_labels[name] = labels
    column_labels = {
        name: label for name, label in table.column_labels.items() if name in frame.columns
    }
    reasons = {
        name: known
        for name, known in table.missing_reasons.items()
        if {name, known.companion} <= set(frame.columns) and name not in coarser
    }
    periods = {
        name: period
        for name, period in table.periods.items()
        if name in frame.columns
        and name not in coarser
        and _shows_periods(document.column(name), period)
    }
    return Table(frame, value_labels, column_labels, missing_reasons=reasons, periods=periods)
