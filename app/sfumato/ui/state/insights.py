"""What is known of an open table: its columns, what they tell of others, what pooling restores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from PySide6.QtCore import QCoreApplication

from sfumato.analysis.holdings import Basis
from sfumato.analysis.open_columns import Asked, OpenAnswer, answer_open_columns
from sfumato.analysis.pooled_rows import PooledRows, pooled_rows
from sfumato.analysis.shown_columns import SampledColumns, ShownColumns
from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.profile import ColumnProfile, profile_columns
from sfumato.engine.table.proposals import Proposal, proposals
from sfumato.engine.table.relations import Relation, exact_relations
from sfumato.engine.table.repeated_units import (
    FEWEST_UNITS,
    MOST_ROWS_A_UNIT,
    RepeatedUnit,
    find_repeated_units,
)
from sfumato.engine.table.table import Attribute, Table
from sfumato.jobs.runner import JobRunner
from sfumato.project.document.model import Document
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.long_survey import LongSurvey, survey_of
from sfumato.project.release.long_table import LongTable

_MOST_DIFFERENT = 0.9
"""A column of which a larger share of the values differ names no units, see `RepeatedUnit`."""
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
    looked_for_units: bool = True
    """Whether `repeated` has what there is: in a long table it is looked for on request."""

    @property
    def may_repeat(self) -> bool:
        """Whether any column may name units, as far as is known."""
        if self.looked_for_units:
            return bool(self.repeated)
        return any(
            FEWEST_UNITS <= each.distinct <= _MOST_DIFFERENT * each.count
            and each.present <= MOST_ROWS_A_UNIT * each.distinct
            for each in self.profiles
        )

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


@dataclass(eq=False)
class LongSource:
    """A table that is too long for memory, as far as it is known.

    Nothing of it is a `Table` but `sample`, so that nothing takes some rows for all.

    Parameters
    ----------
    survey
        What was counted in all its rows.
    insight
        What looking at its columns told.
    """

    survey: LongSurvey
    insight: Insight

    @property
    def table(self) -> LongTable:
        """The rows."""
        return self.survey.table

    @property
    def sample(self) -> Table:
        """Rows drawn evenly, for pictures and proposals."""
        return self.survey.sample

    @cached_property
    def columns(self) -> ShownColumns:
        """What the sample tells of its columns."""
        return SampledColumns(self.sample, self.table.rows)


def column_source(held: Table | LongSource | None) -> Table | LongSurvey | None:
    """Return what has every value of each column; of a long table, hardly any twice."""
    return held.survey if isinstance(held, LongSource) else held


def look_at_long(table: LongTable, context: Context) -> LongSource:
    """Look at all rows of a long table once (for a job)."""
    survey = survey_of(table, Part(context, 0.0, 0.95))
    proposed = survey.proposals()
    names = [each.spec.name for each in proposed if each.spec.role is not Role.IDENTIFYING]
    relations = exact_relations(survey.sample, names, Part(context, 0.95, 1.0))
    return LongSource(survey, Insight(survey.profiles, proposed, (), relations, False))


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


class OpenColumnsCache:
    """The last answer, and the question that is being worked on.

    Parameters
    ----------
    runner
        Computes answers.
    announce
        Called once an answer has become known.
    """

    def __init__(self, runner: JobRunner, announce: Callable[[], None]) -> None:
        self._runner = runner
        self._announce = announce
        self._columns: ShownColumns | None = None
        self._question: tuple[object, ...] = ()
        self._answer: OpenAnswer | None = None

    def get(
        self, document: Document, columns: ShownColumns, attributes: Mapping[str, Attribute]
    ) -> OpenAnswer | None:
        """Return the answer; while it is worked on, the last one if it is about these columns.

        Figures of levels that have changed are left out by `OpenAnswer.beside`.
        """
        asked = Asked.of(document)
        if self._columns is not columns:
            self._columns, self._question, self._answer = columns, (), None
        known = self._answer
        if known is not None and known.findings.asked != asked:
            known = None
        people = tuple(
            (each.name, each.mark, each.statements, each.view) for each in document.recipients
        )
        question = (asked, document.policy, people, document.level_spacing, tuple(attributes))
        if question == self._question:
            return known
        self._question = question

        def work(context: Context) -> OpenAnswer:
            return answer_open_columns(document, columns, attributes, context)

        def keep(answer: OpenAnswer) -> None:
            if self._question == question and self._columns is columns:
                self._answer = answer
                self._announce()

        title = QCoreApplication.translate("Insights", "Weighing the columns released unchanged")
        self._runner.run(title, work, keep, key="open columns")
        return known


class PooledCache:
    """The last answer, and the question that is being worked on.

    Parameters
    ----------
    runner
        Computes answers.
    announce
        Called once an answer has become known.
    """

    def __init__(self, runner: JobRunner, announce: Callable[[], None]) -> None:
        self._runner = runner
        self._announce = announce
        self._question: tuple[object, ...] = ()
        self._answer: tuple[PooledRows, ...] = ()

    def get(
        self,
        document: Document,
        attributes: Mapping[str, Attribute],
        units: Sequence[RepeatedUnit],
        releases: Sequence[ReleaseRecord],
    ) -> tuple[PooledRows, ...]:
        """Return the answer; nothing while it is worked on. See `pooled_rows`."""
        # Titles, notes and the like change no figure.
        relevant = replace(document, title="", hierarchies={}, rows_as_in_table="")
        places = tuple(id(attribute) for attribute in attributes.values())
        question = (relevant, places, tuple(id(unit) for unit in units), tuple(releases))
        if question == self._question:
            return self._answer
        self._question, self._answer = question, ()

        def work(context: Context) -> tuple[PooledRows, ...]:
            return pooled_rows(document, attributes, units, releases, Basis.EITHER, context)

        def keep(answer: tuple[PooledRows, ...]) -> None:
            if self._question == question:
                self._answer = answer
                self._announce()

        title = QCoreApplication.translate("Insights", "Pooling rows that belong together")
        self._runner.run(title, work, keep, key="pooled")
        return ()
