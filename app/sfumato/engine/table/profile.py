"""Looking at a table: a profile of each column, and what each column is probably for."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.binning_proposals import BinWidths, suggest_binning
from sfumato.engine.table.role_proposals import Proposal, propose
from sfumato.engine.table.summary import ColumnProfile, NumberSummary, ValueCount, summarize
from sfumato.engine.table.table import Table

__all__ = [
    "BinWidths",
    "ColumnProfile",
    "NumberSummary",
    "Proposal",
    "ValueCount",
    "profile_columns",
    "proposals",
    "propose_columns",
    "suggest_binning",
]


def profile_columns(table: Table, context: Context | None = None) -> tuple[ColumnProfile, ...]:
    """Return the profile of every column, in the table's order.

    Parameters
    ----------
    table
        The table, n records.
    context
        Progress, told before each column, and cancelling.
    """
    watched = context or Silent()
    profiles = []
    # Going through the columns in order is faster than looking each of them up.
    for place, (name, series) in enumerate(table.frame.items()):
        watched.report(place / len(table.columns), Sentence("Looking at {name}", name=name))
        profiles.append(summarize(series))
    watched.report(1.0, "Looked at every column")
    return tuple(profiles)


def proposals(
    table: Table, profiles: Sequence[ColumnProfile] | None = None
) -> tuple[Proposal, ...]:
    """Return what each column is proposed to be, with the reason, in the table's order.

    Parameters
    ----------
    table
        The table.
    profiles
        Its columns' profiles, if they are known already.
    """
    known = profile_columns(table) if profiles is None else profiles
    return tuple(propose(profile, bool(table.value_labels.get(profile.name))) for profile in known)


def propose_columns(
    table: Table, profiles: Sequence[ColumnProfile] | None = None
) -> tuple[ColumnSpec, ...]:
    """Return the proposed specification of each column; see `proposals` for the reasons."""
    return tuple(proposal.spec for proposal in proposals(table, profiles))
