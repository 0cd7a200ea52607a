"""The engine on this machine: rows in batches, brought together and counted in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from sfumato.project.release.engine import ClassTotals, EngineRows, Work
from sfumato.project.release.workers import PLACE


@dataclass(frozen=True)
class LocalRows(EngineRows):
    """Rows that are read in batches. What becomes of them is held in memory.

    Parameters
    ----------
    names
        The columns' names.
    read
        Yields the rows of some columns, in the table's order.
    """

    names: Sequence[str]
    read: Callable[[Sequence[str]], Iterable[pa.RecordBatch]]

    @property
    def columns(self) -> Sequence[str]:
        """See `EngineRows.columns`."""
        return self.names

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        """Return the rows of a table in memory."""
        empty = pa.RecordBatch.from_pylist([], table.schema)
        batches = table.to_batches() or [empty]
        return cls(table.column_names, lambda names: [each.select(names) for each in batches])

    def to_table(self) -> pa.Table:
        """Return all rows; there is at least one batch."""
        return pa.Table.from_batches(self.read(self.columns))

    def select(self, names: Sequence[str]) -> LocalRows:
        """See `EngineRows.select`."""
        return LocalRows(list(names), self.read)

    def placed(self) -> Self:
        """See `EngineRows.placed`."""
        table = self.to_table()
        return self.of(table.append_column(PLACE, pa.array(np.arange(len(table)))))

    def mapped(self, work: Work, schema: pa.Schema) -> Self:
        """See `EngineRows.mapped`."""
        made = [work(batch).cast(schema) for batch in self.read(self.columns)]
        return self.of(pa.Table.from_batches(made, schema))

    def together(self, by: str, work: Work, schema: pa.Schema, rows: int) -> Self:  # noqa: ARG002
        """See `EngineRows.together`: all rows are."""
        batch = pa.concat_batches(self.read(self.columns))
        return self.of(pa.Table.from_batches([work(batch).cast(schema)]))

    def first_of_each(self, unit: str, rank: str, most: int) -> Self:
        """See `EngineRows.first_of_each`."""
        rows = self._sorted([unit, rank])
        units = rows[unit].to_numpy()
        begins = np.ones(len(units), dtype=np.bool_)
        begins[1:] = units[1:] != units[:-1]
        places = np.arange(len(units))
        firsts = np.maximum.accumulate(np.where(begins, places, 0))
        return self.of(rows.filter(pa.array(places - firsts < most)))

    def in_order(self, words: Sequence[str]) -> Self:
        """See `EngineRows.in_order`."""
        return self.of(self._sorted(words))

    def _sorted(self, words: Sequence[str]) -> pa.Table:
        return self.to_table().sort_by([(name, "ascending") for name in words])

    def class_counts(self, columns: Sequence[str]) -> pa.Table:
        """See `EngineRows.class_counts`."""
        counted = (
            self.select(columns).to_table().group_by(list(columns)).aggregate([([], "count_all")])
        )
        return counted.rename_columns([*columns, "rows"])

    def class_totals(self, by: Sequence[str], within: Sequence[str] = ()) -> ClassTotals:
        """See `EngineRows.class_totals`."""
        names = [f"q{place}" for place in range(len(by) + len(within))]
        table = self.select([*by, *within]).to_table().rename_columns(names)
        counted = LocalRows.of(table).class_counts(names)
        rows = counted["rows"].to_numpy()
        if not len(rows):
            return {"classes": 0, "rows": 0}
        counted = counted.append_column("weighed", pa.array(rows * np.log(rows)))
        asked = [("rows", "sum"), ("rows", "max"), ("rows", "count"), ("weighed", "sum")]
        classes = counted.group_by(names[: len(by)]).aggregate(asked)
        sizes, most, values, weighed = (classes[f"{name}_{how}"].to_numpy() for name, how in asked)
        return {
            "rows": sizes.sum(),
            "classes": len(sizes),
            "smallest": sizes.min(),
            "largest": sizes.max(),
            "unique": (sizes == 1).sum(),
            "values": values.min(),
            "varying": (values > 1).sum(),
            "entropy": (np.log(sizes) - weighed / sizes).min(),
            "largest_share": (most / sizes).max(),
        }

    def gathered(self) -> pa.Table:
        """See `EngineRows.gathered`."""
        return self.to_table()
