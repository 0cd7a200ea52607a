"""What is known of an open table: its columns as they are encoded, and what they look like.

Whoever asks for it may ask as often as they like: it is worked out once, in a job where that takes
a while.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final, Generic, TypeVar

from sfumato.analysis.shown_columns import SampledColumns, ShownColumns
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.table.profile import ColumnProfile
from sfumato.engine.table.proposals import Proposal, proposals
from sfumato.engine.table.relations import Relation, exact_relations
from sfumato.engine.table.repeated_units import (
    FEWEST_UNITS,
    MOST_ROWS_A_UNIT,
    RepeatedUnit,
)
from sfumato.engine.table.table import EncodedColumn, Table
from sfumato.jobs import JobRunner
from sfumato.project.document.model import Unit
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.table_survey import Survey, survey_of_any

_MOST_DIFFERENT: Final = 0.9
"""A column of which a larger share of the values differ names no units, see `RepeatedUnit`."""
ROWS_AT_ONCE: Final = 100_000
"""Up to this many rows are encoded on the main thread: it takes a few milliseconds."""
Answer = TypeVar("Answer")


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


@dataclass(eq=False)
class SurveyedTable:
    """An open table, as far as it is known.

    Where it is too long for memory nothing of it is a `Table` but `sample`, so that nothing takes
    some rows for all.

    Parameters
    ----------
    survey
        What is known of all its rows, or can be asked of them.
    insight
        What looking at its columns told; None where nobody has yet.
    """

    survey: Survey
    insight: Insight | None = None

    @classmethod
    def of(cls, table: BatchedTable, context: Context | None = None) -> SurveyedTable:
        """Return a table, all rows of which are looked at once unless they are in memory."""
        return cls(survey_of_any(table, context or Silent()))

    @property
    def table(self) -> BatchedTable:
        """The rows."""
        return self.survey.table

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.survey.rows

    @property
    def sample(self) -> Table:
        """Rows drawn evenly, for pictures and proposals; all where they are in memory."""
        return self.survey.sample

    @property
    def is_sampled(self) -> bool:
        """Whether some rows stand for all where something is estimated."""
        return self.sample.rows < self.rows

    @property
    def answers_at_once(self) -> bool:
        """Whether what is asked of a column of it takes a few milliseconds only."""
        return self.table.held_rows(ROWS_AT_ONCE) is not None

    @cached_property
    def columns(self) -> ShownColumns:
        """What the sample tells of its columns."""
        return SampledColumns(self.sample, self.rows)


def insight_of(survey: Survey, context: Context) -> Insight:
    """Return what looking at the columns of a table tells (for a job)."""
    profiles = survey.profiled(Part(context, 0.0, 0.7))
    repeated = survey.repeated_units(Part(context, 0.7, 0.9))
    proposed = proposals(survey.sample, profiles)
    names = [each.spec.name for each in proposed if each.spec.role is not Role.IDENTIFYING]
    relations = exact_relations(survey.sample, names, Part(context, 0.9, 1.0))
    return Insight(profiles, proposed, repeated or (), relations, repeated is not None)


class LatestAnswer(Generic[Answer]):
    """The answer to the question that was asked last, worked out in a job.

    Parameters
    ----------
    runner
        Works answers out.
    key
        The key of its jobs: a new question supersedes the one before.
    announce
        Called once an answer has become known.
    """

    def __init__(self, runner: JobRunner, key: str, announce: Callable[[], None]) -> None:
        self._runner, self._key, self._announce = runner, key, announce
        self._question: object = None
        self.answer: Answer | None = None
        """The last answer there was, be it to an earlier question."""
        self.known = False
        """Whether it answers the question that was asked last."""

    def ask(self, question: object, title: str, work: Callable[[Context], Answer]) -> None:
        """Ask a question, unless it was the last one already."""
        if question == self._question:
            return
        self._question, self.known = question, False

        def keep(answer: Answer) -> None:
            if self._question == question:
                self.answer, self.known = answer, True
                self._announce()

        self._runner.run(title, work, keep, key=self._key)

    def forget(self) -> None:
        """Forget question and answer."""
        self._question, self.answer, self.known = None, None, False


@dataclass(frozen=True)
class Wanted:
    """What a column is encoded by.

    Parameters
    ----------
    spec
        Its specification.
    public
        The columns that group the records, where its mechanism asks for groups.
    """

    spec: ColumnSpec
    public: tuple[ColumnSpec, ...] | None = None
    unit: Unit | None = None
    """Which rows belong together, for a sensitive attribute."""
    together: bool = False
    """Whether it is protected together with others."""


@dataclass(frozen=True)
class _Entry:
    wanted: Wanted
    encoded: EncodedColumn | None = None
    error: SfumatoError | None = None


class AttributeCache:
    """Encoded columns by name, each valid for the specification it was encoded by.

    Parameters
    ----------
    runner
        Encodes the columns of large tables.
    announce
        Called with a column's name once a job has encoded it, or found out why it can't.
    """

    def __init__(self, runner: JobRunner, announce: Callable[[str], None]) -> None:
        self._runner = runner
        self._announce = announce
        self._entries: dict[str, _Entry] = {}

    def forget(self) -> None:
        """Forget everything: there is another table."""
        for name in self._entries:
            self._runner.cancel(("encode", name))
        self._entries.clear()

    def error(self, name: str) -> SfumatoError | None:
        """Return why a column could not be encoded, as far as that is known."""
        entry = self._entries.get(name)
        return entry.error if entry is not None else None

    def get(self, table: SurveyedTable, wanted: Wanted) -> EncodedColumn | None:
        """Return the encoded column, or None when it is being encoded or can't be."""
        name = wanted.spec.name
        entry = self._entries.get(name)
        if entry is not None and entry.wanted == wanted:
            return entry.encoded
        if table.answers_at_once:
            self._entries[name] = _encode(table, wanted, Silent())
        else:
            self._start(table, wanted)
        return self._entries[name].encoded

    def _start(self, table: SurveyedTable, wanted: Wanted) -> None:
        name = wanted.spec.name
        self._entries[name] = _Entry(wanted)

        def work(context: Context) -> _Entry:
            context.report(0.0, "Counting values")
            return _encode(table, wanted, context)

        self._runner.run(f"Reading {name}", work, self._keep, key=("encode", name))

    def _keep(self, entry: _Entry) -> None:
        name = entry.wanted.spec.name
        current = self._entries.get(name)
        if current is not None and current.wanted == entry.wanted:
            self._entries[name] = entry
            self._announce(name)


def _encode(table: SurveyedTable, wanted: Wanted, context: Context) -> _Entry:
    asked = wanted.spec, context, wanted.public, wanted.unit, wanted.together
    try:
        return _Entry(wanted, table.survey.encoded_for(*asked))
    except SfumatoError as error:
        return _Entry(wanted, error=error)
