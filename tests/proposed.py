"""The columns of a table as they are proposed, for tests that begin with them."""

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.table.proposals import proposals
from sfumato.engine.table.table import Table


def proposed_columns(table: Table) -> tuple[ColumnSpec, ...]:
    """Return what each column is proposed to be, without the reasons."""
    return tuple(proposal.spec for proposal in proposals(table))
