"""Tables in memory, as the product passes them around."""

from sfumato.engine.table.table import Table
from sfumato.project.release.batched_table import BatchedTable


def in_batches(table: Table | BatchedTable) -> BatchedTable:
    """Return a table that a test has in memory, or in batches already, in batches."""
    return table if isinstance(table, BatchedTable) else BatchedTable.of(table)
