"""What is known of the columns' values: profiles and proposals, looked up once for each table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from PySide6.QtCore import QCoreApplication

from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.profile import ColumnProfile, profile_columns
from sfumato.engine.table.proposals import Proposal, proposals
from sfumato.engine.table.relations import Relation, exact_relations
from sfumato.engine.table.repeated_units import RepeatedUnit, find_repeated_units
from sfumato.engine.table.table import Table
from sfumato.jobs.runner import JobRunner

TABLES_KEPT = 2
"""Undo can bring the table before back."""


@dataclass(frozen=True)
class Insight:
    """What looking at a table's columns told."""

    profiles: tuple[ColumnProfile, ...]
    proposals: tuple[Proposal, ...]
    repeated: tuple[RepeatedUnit, ...] = ()
    """The columns by which rows may belong together."""
    relations: tuple[Relation, ...] = ()
    """Which columns follow from others exactly."""

    @cached_property
    def by_name(self) -> dict[str, ColumnProfile]:
        """The profiles by the columns' names."""
        return {profile.name: profile for profile in self.profiles}

    @cached_property
    def proposal_for(self) -> dict[str, Proposal]:
        """The proposals by the columns' names."""
        return {proposal.spec.name: proposal for proposal in self.proposals}


def look_at(table: Table, context: Context) -> Insight:
    """Look at every column (for a job)."""
    profiles = profile_columns(table, Part(context, 0.0, 0.7))
    repeated = find_repeated_units(table, Part(context, 0.7, 0.9))
    proposed = proposals(table, profiles)
    names = [each.spec.name for each in proposed if each.spec.role is not Role.IDENTIFYING]
    relations = exact_relations(table, names, Part(context, 0.9, 1.0))
    return Insight(profiles, proposed, repeated, relations)


class Insights:
    """Keeps what is known of the last tables.

    Parameters
    ----------
    runner
        Looks at large tables.
    announce
        Called once something has become known.
    """

    def __init__(self, runner: JobRunner, announce: Callable[[], None]) -> None:
        self._runner = runner
        self._announce = announce
        self._known: list[tuple[Table, Insight]] = []
        self._pending: Table | None = None

    def remember(self, table: Table, insight: Insight) -> None:
        """Keep what was found out elsewhere."""
        self._known = [(table, insight), *self._known][:TABLES_KEPT]

    def get(self, table: Table) -> Insight | None:
        """Return what is known of a table; start finding out where nothing is."""
        for known, insight in self._known:
            if known is table:
                return insight
        if self._pending is not table:
            self._pending = table
            self._runner.run(
                QCoreApplication.translate("Insights", "Looking at the columns"),
                lambda context: look_at(table, context),
                lambda insight: self._keep(table, insight),
                key="insight",
            )
        return None

    def _keep(self, table: Table, insight: Insight) -> None:
        self._pending = None
        self.remember(table, insight)
        self._announce()
