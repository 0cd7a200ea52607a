"""What is known of a table in memory before anything is decided about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from secrets import token_bytes

import numpy as np

from sfumato.engine.core.columns import ColumnSpec, Domain
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Integers
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing
from sfumato.engine.randomness.record_ids import are_apart
from sfumato.engine.table.profile import ColumnProfile, profile_columns
from sfumato.engine.table.proposals import proposals
from sfumato.engine.table.repeated_units import RepeatedUnit, find_repeated_units, units_of
from sfumato.engine.table.table import (
    Attribute,
    EncodedColumn,
    Table,
    encode_column,
    with_proposed_domain,
)
from sfumato.project.document.model import Document, PolicyEntry, Unit
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.byproducts import check_weights
from sfumato.project.release.groups import groups_by, with_groups
from sfumato.project.release.plan import record_ids_of
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.units import by_unit, constant_columns


class MemorySurvey:
    """What is known of a table in memory; see `TableSurvey` for what is told of it.

    Parameters
    ----------
    table
        The rows.
    batched
        The same as a table of one batch; made of them where it is not there yet.
    """

    def __init__(self, table: Table, batched: BatchedTable | None = None) -> None:
        self.table = batched or BatchedTable.of(table)
        self.sample, self.columns, self.rows = table, table.columns, table.rows
        self.column = self.numbers = table.column
        self.proposals = cache(partial(proposals, table))
        """Returns what each column is proposed to be; all are looked at once."""

    @property
    def places(self) -> Integers:
        """Where the sample's rows stand in the table, shape (n,): all of them."""
        return np.arange(self.rows)

    def profiled(self, context: Context) -> tuple[ColumnProfile, ...]:
        """Return what each column looks like."""
        return profile_columns(self.sample, context)

    def with_domain(self, spec: ColumnSpec, known: Domain | None = None) -> ColumnSpec:
        """Return a column whose domain is what the rows suggest."""
        return with_proposed_domain(self.sample, spec, known)

    def attributes(
        self, specs: Sequence[ColumnSpec], unit: Unit | None = None
    ) -> tuple[Attribute, ...]:
        """Return what a mechanism knows about the attributes of a policy entry."""
        encoded = [encode_column(self.sample, spec) for spec in specs]
        if unit is not None:
            codes = units_of(self.sample, unit.columns)
            encoded = [by_unit(unit, codes, column) for column in encoded]
        return tuple(column.attribute for column in encoded)

    def encoded_for(
        self,
        spec: ColumnSpec,
        context: Context,
        public: Sequence[ColumnSpec] | None = None,
        unit: Unit | None = None,
        together: bool = False,
    ) -> EncodedColumn:
        """Return a column encoded for a mechanism, in groups by `public` columns or by `unit`."""
        del together
        encoded = encode_column(self.sample, spec)
        if unit is not None:
            encoded = by_unit(unit, units_of(self.sample, unit.columns), encoded)
        return (
            encoded if public is None else encoded.grouped(groups_by(self.sample, public, context))
        )

    def attribute(self, spec: ColumnSpec, unit: Unit | None, context: Context) -> Attribute:
        """Return what a mechanism knows about one attribute; see `attributes`."""
        del context
        return self.attributes([spec], unit)[0]

    def attributes_of(self, document: Document, context: Context) -> dict[str, Attribute]:
        """Return the attributes of a policy."""
        del context
        return attributes_of(document, self.sample)

    def grouped_as_released(
        self,
        document: Document,
        entry: PolicyEntry,
        attributes: Sequence[Attribute],
        context: Context,
    ) -> list[Attribute]:
        """Return the attributes of a policy entry with the groups that its releases have."""
        names = [attribute.name for attribute in attributes]
        columns = {name: encode_column(self.sample, document.column(name)) for name in names}
        asked = (document, self.sample, columns, entry.mechanism, entry.settings, context)
        found = with_groups(*asked)
        return [replace(one, groups=found[one.name].attribute.groups) for one in attributes]

    def check_weights(self, document: Document, context: Context) -> None:
        """Refuse sampling weights that say nothing."""
        del context
        check_weights(document, self.sample)

    def constant_columns(
        self, columns: Sequence[str], names: Sequence[str], context: Context
    ) -> tuple[tuple[str, ...], int]:
        """Return what is the same in all rows of every unit, and how many the largest has."""
        del context
        return constant_columns(self.sample, columns, names)

    def repeated_units(self, context: Context) -> tuple[RepeatedUnit, ...] | None:
        """Return the columns by which rows may belong together."""
        return find_repeated_units(self.sample, context)

    def check_key(self, name: str, context: Context) -> None:
        """Refuse a record key that is missing in a row, or stands in two."""
        if not are_apart(self.sample.column(name)):
            record_ids_of(name, self.sample, KeyRing(token_bytes(SECRET_BYTES)), context)
