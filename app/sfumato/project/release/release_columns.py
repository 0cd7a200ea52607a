"""What a recipient is given: the released columns, made from the document, table and keys.

Making a release and verifying one both use this module, so that a verification regenerates
exactly what a release made. It is pure: no files, no clocks, no state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, MissingRule, Role, Value
from sfumato.engine.core.errors import DomainError, TableError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Adopted, ReleaseRequest
from sfumato.engine.randomness.keys import record_ids_by_key, record_ids_by_position
from sfumato.engine.randomness.row_order import release_order
from sfumato.engine.table.table import Attribute, EncodedColumn, Table, encode_column
from sfumato.project.document.entry_plan import EntryPlan, check_policy, plan_release
from sfumato.project.document.model import Document, Recipient
from sfumato.project.release.groups import with_groups

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing


@dataclass(frozen=True)
class Material:
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
    adopted
        For a policy entry's key, the rows of earlier releases that it is fitted to.
    """

    document: Document
    table: Table
    encoded: Mapping[str, EncodedColumn]
    adopted: Mapping[str, tuple[Adopted, ...]] = field(default_factory=dict)

    @property
    def attributes(self) -> dict[str, Attribute]:
        """What mechanisms know about every attribute of the policy, by name."""
        return {name: column.attribute for name, column in self.encoded.items()}


def material_of(document: Document, table: Table) -> Material:
    """Encode every attribute of the policy.

    Raises
    ------
    PolicyError
        If the policy is not complete, see `check_policy`.
    TableError
        If table and document have different columns.
    DomainError
        If a row does not fit its column's domain or bins, or is missing where that is refused.
    """
    check_policy(document)
    check_columns(document, table)
    names = [name for entry in document.policy for name in entry.attributes]
    encoded = {name: encode_attribute(table, document.column(name)) for name in names}
    for entry in document.policy:
        own = {name: encoded[name] for name in entry.attributes}
        encoded |= with_groups(document, table, own, entry.mechanism, entry.settings, Silent())
    for name, column in encoded.items():
        spec = replace(document.column(name), domain=column.attribute.domain)
        document = document.with_column(spec)
    return Material(document, table, encoded)


def attributes_of(document: Document, table: Table) -> dict[str, Attribute]:
    """Return what mechanisms know about every attribute of the policy, by name.

    Raises the errors of `material_of`.
    """
    return material_of(document, table).attributes


def released_columns(
    document: Document,
    table: Table,
    recipient: Recipient,
    keys: KeyRing,
    context: Context,
) -> pd.DataFrame:
    """Return the frame that a recipient is given.

    Rows keep the table's order. Identifying columns are dropped, sensitive attributes pass
    through their mechanism, binned columns show their bins' labels, all others are as they are.

    Parameters
    ----------
    document
        The columns' roles and the policy.
    table
        The source table.
    recipient
        Whose levels are used.
    keys
        The source of keyed randomness.
    context
        Progress and cancelling.

    Returns
    -------
    pandas.DataFrame
        Shape (n, released columns), with the table's index.

    Raises
    ------
    TableError
        If table and document have different columns, or the record key can't be used.
    DomainError
        If a row does not fit its column's domain or bins.
    PolicyError
        If a sensitive attribute has no mechanism, or the recipient no level for it.
    LevelError
        If a level can't be met.
    """
    material = material_of(document, table)
    plans = plan_release(document, material.attributes, recipient)
    return released_by_plan(material, plans, keys, context)


def released_by_plan(
    material: Material,
    plans: Sequence[EntryPlan],
    keys: KeyRing,
    context: Context,
    ordered_for: str | None = None,
) -> pd.DataFrame:
    """Return the released frame at levels that are already resolved.

    With `ordered_for`, a release's identifier, rows stand in the keyed order of that release
    and are numbered from 0; without, in the table's order. Otherwise it returns and raises what
    `released_columns` does.
    """
    record_ids = record_ids_of(material.document, material.table, keys, Part(context, 0.0, 0.1))
    released: dict[str, pd.Series] = {}
    for position, plan in enumerate(plans):
        start = 0.1 + 0.9 * position / len(plans)
        part = Part(context, start, start + 0.9 / len(plans))
        part.report(0.0, Sentence("Releasing {key}", key=plan.key))
        released.update(regenerate(plan, material, record_ids, keys, part))
    frame = {
        name: released[name].set_axis(material.table.frame.index)
        if spec.role is Role.SENSITIVE
        else open_column(material.table, spec)
        for name, spec in released_specs(material.document, material.table)
    }
    whole = pd.DataFrame(frame, index=material.table.frame.index, copy=False)
    if ordered_for is not None:
        whole = in_release_order(whole, record_ids, keys, ordered_for)
    context.report(1.0, "Released columns are ready")
    return whole


def in_release_order(
    frame: pd.DataFrame, record_ids: npt.NDArray[np.uint64], keys: KeyRing, release_id: str
) -> pd.DataFrame:
    """Return a frame's rows in the keyed order of a release, numbered from 0.

    Parameters
    ----------
    frame
        The rows that leave, shape (n, columns).
    record_ids
        Their records' identifiers, shape (n,).
    keys, release_id
        The project's keys and the release.
    """
    order = release_order(record_ids, keys.for_row_order(release_id), Silent())
    columns = {str(name): frame[name].take(order).reset_index(drop=True) for name in frame.columns}
    return pd.DataFrame(columns, copy=False)


def released_specs(document: Document, table: Table) -> tuple[tuple[str, ColumnSpec], ...]:
    """Return the columns that are released, in the table's order, with their specifications.

    Raises
    ------
    TableError
        If every column is identifying.
    """
    specs = [(name, document.column(name)) for name in table.columns]
    kept = tuple((name, spec) for name, spec in specs if spec.role is not Role.IDENTIFYING)
    if not kept:
        raise TableError(
            "Every column is identifying, so there is nothing to release.",
            "Give at least one column another role.",
        )
    return kept


def regenerate(
    plan: EntryPlan,
    material: Material,
    record_ids: npt.NDArray[np.uint64],
    keys: KeyRing,
    context: Context,
) -> Mapping[str, pd.Series]:
    """Return one policy entry's released columns, by name, each of shape (n,)."""
    request = request_of(plan, material, record_ids, keys)
    return mechanism_called(plan.mechanism).release(request, context)


def request_of(
    plan: EntryPlan, material: Material, record_ids: npt.NDArray[np.uint64], keys: KeyRing
) -> ReleaseRequest:
    """Return what a mechanism is asked for a plan."""
    return ReleaseRequest(
        columns=tuple(material.encoded[name] for name in plan.attributes),
        settings=plan.settings,
        level=plan.level,
        record_ids=record_ids,
        keys=keys,
        adopted=material.adopted.get(plan.key, ()),
    )


def check_columns(document: Document, table: Table) -> None:
    """Refuse a table whose columns are not the document's.

    Raises
    ------
    TableError
        If the table lacks a column, or has one whose role nobody has decided.
    """
    known = {column.name for column in document.columns}
    for name in table.columns:
        if name not in known:
            raise TableError(
                "The table has a column {column} that has no role yet.",
                "Give it a role under Attributes, or open the table this project was made for.",
                column=name,
            )
    for column in document.columns:
        table.column(column.name)


def record_ids_of(
    document: Document, table: Table, keys: KeyRing, context: Context
) -> npt.NDArray[np.uint64]:
    """Return each record's identifier, shape (n,): by record key, or else by position.

    Raises
    ------
    TableError
        If the record key is not in the table, or is missing or repeated in a row.
    """
    if document.record_key is None:
        return record_ids_by_position(table.rows)
    return record_ids_by_key(table.column(document.record_key), keys, context)


def encode_attribute(table: Table, spec: ColumnSpec) -> EncodedColumn:
    """Encode one sensitive attribute.

    Raises
    ------
    TableError
        If the table has no such column.
    DomainError
        If a row does not fit the domain or the bins, or is missing where that is refused.
    """
    series = table.column(spec.name)
    if spec.missing is MissingRule.REFUSED:
        missing = series.isna().to_numpy()
        if missing.any():
            raise DomainError(
                "Column {column} is missing in {count} rows, first in row {row}.",
                "Let missing be a value of its own, or mend these rows in the source table.",
                column=spec.name,
                count=int(missing.sum()),
                row=int(missing.argmax()) + 1,
            )
    return encode_column(table, spec)


def open_column(table: Table, spec: ColumnSpec) -> pd.Series:
    """Return a column that is released unperturbed: as it is, or as its bins' labels."""
    series = table.column(spec.name)
    return series if spec.binning is None else spec.binning.apply(series)


def released_table(document: Document, table: Table, frame: pd.DataFrame) -> Table:
    """Return a released frame with the labels that its columns keep from the source table.

    A sensitive attribute has the labels of its domain. A binned column has none: its values
    are labels already. Nothing of a dropped column is kept.
    """
    value_labels: dict[str, Mapping[Value, str]] = {}
    for name in map(str, frame.columns):
        spec = document.column(name)
        if spec.binning is not None:
            continue
        labels = table.value_labels.get(name, {})
        if spec.role is Role.SENSITIVE and spec.domain is not None:
            labels = spec.domain.labels
        if labels:
            value_labels[name] = labels
    column_labels = {
        name: label for name, label in table.column_labels.items() if name in frame.columns
    }
    return Table(frame, value_labels, column_labels)
