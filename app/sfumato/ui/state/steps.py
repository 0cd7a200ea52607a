"""How far each step is, and what the check before a release found, for whoever shows it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from PySide6.QtCore import QObject, Signal

from sfumato.analysis.guarantee import Guarantee, guarantee_of
from sfumato.analysis.readiness.readiness import checked_rows, examine
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.analysis.steps import Step, Work, steps_of
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Attribute
from sfumato.jobs import Ending, Job
from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.errors import LedgerTampered
from sfumato.project.ledger import events_in
from sfumato.project.release.batched_table import BatchedTable
from sfumato.ui.widgets.paint_queue import delayed

if TYPE_CHECKING:
    from sfumato.analysis.shown_columns import LeavingColumns
    from sfumato.engine.randomness.keys import KeyRing
    from sfumato.engine.table.table import EncodedColumn
    from sfumato.jobs import JobRunner
    from sfumato.project.document.model import Document
    from sfumato.project.ledger import LedgerEvent, ReleaseRecord
    from sfumato.project.project_file import ProjectFile

CHECK: Final = "releases-ready"
GAUGES: Final = "board-gauges"
"""The gauges above the recipients, which whoever drags a cell waits for: they go before a check."""
QUIET_MILLISECONDS: Final = 1500
"""So long after the last edit a policy is checked that nobody asked about: the rail tells of it."""


class AsksForGauges(Protocol):
    """Who weighs what everybody gets, as far as steps depend on it."""

    def ask(self) -> None:
        """Ask for the gauges of the present settings."""


class OpenSession(Protocol):
    """What is open: the session, as far as steps depend on it."""

    runner: JobRunner

    @property
    def document(self) -> Document:
        """What is decided."""

    @property
    def protected(self) -> tuple[str, ...]:
        """The policy's attributes."""

    @property
    def source(self) -> BatchedTable | None:
        """All rows, in memory or not."""

    @property
    def keys(self) -> KeyRing:
        """What releases are drawn by."""

    @property
    def project(self) -> ProjectFile | None:
        """The project file."""

    @property
    def weighing(self) -> AsksForGauges:
        """The gauges."""

    def attribute(self, name: str) -> EncodedColumn | None:
        """Return an encoded column."""

    def attributes(self) -> dict[str, Attribute]:
        """Return what is known of the policy's attributes."""

    def attribute_error(self, name: str) -> SfumatoError | None:
        """Return why a column does not fit."""

    @property
    def leaving(self) -> LeavingColumns | None:
        """What is known of the columns of a table in memory."""


class Steps(QObject):
    """Computes the states of the steps when they are asked for, and checks releases in a job.

    Parameters
    ----------
    opened
        What is open; whoever has it calls `take_notice` where it is another.
    parent
        The owner.

    Attributes
    ----------
    found
        What the last check found, be it of the present settings or of earlier ones.
    refusal
        Why the last check could not be made; None where it could.
    tampering
        What is wrong with the ledger, as far as it was examined.
    """

    changed = Signal()
    """A step's state may be another."""
    checked = Signal()
    """A check of the present settings has ended."""
    given_up = Signal()
    """A check of the present settings was cancelled, or failed."""

    def __init__(self, opened: OpenSession, parent: QObject) -> None:
        super().__init__(parent)
        self._session = opened
        self.found: tuple[Readiness, ...] = ()
        self.refusal: SfumatoError | None = None
        self.tampering: SfumatoError | None = None
        self._asked: tuple[object, ...] | None = None
        self._known = False
        self._kept: object = None
        """The objects whose identity stands for them in what was asked."""
        self._guarantee: tuple[tuple[object, ...], Guarantee] | None = None
        self._states: tuple[Work, dict[str, Step]] | None = None
        self._quiet = delayed(self, self.check_policy, QUIET_MILLISECONDS)

    # ----- what is asked

    @property
    def checking(self) -> bool:
        """Whether releases are being checked."""
        return self._asked is not None and not self._known

    @property
    def current(self) -> bool:
        """Whether what was found is about the present settings."""
        return self._known and self._question() == self._asked

    def of(self, name: str) -> Step:
        """Return how far a step is, by its name."""
        work = self._work()
        known = self._states
        if known is None or not _same(known[0], work):
            known = self._states = (work, steps_of(work))
        return known[1][name]

    def guarantee(self) -> Guarantee:
        """Return what the present settings promise, apart from earlier releases and pooled rows."""
        document, attributes = self._session.document, self._session.attributes()
        # Typed letter by letter: what is promised depends on whether there is a reason, not on it.
        as_in_table = str(bool(document.rows_as_in_table))
        decided = replace(document, title="", rows_as_in_table=as_in_table, terms=None)
        key = (decided, *((name, id(one)) for name, one in attributes.items()))
        if self._guarantee is None or self._guarantee[0][: len(key)] != key:
            found = guarantee_of(document, attributes)
            self._guarantee = ((*key, attributes), found)  # which keeps the objects of these ids
        return self._guarantee[1]

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Return what the ledger tells of, oldest first.

        Nothing where there is no project, or where the ledger can't be read any more: whoever
        examines its chain says so.
        """
        project = self._session.project
        try:
            return () if project is None else project.releases
        except LedgerTampered:
            return ()

    def count_tables(self) -> tuple[CountTableRecord, ...]:
        """Return the tables of counts that left, oldest first, as `releases` does."""
        project = self._session.project
        if project is None or project.tampering is not None:
            return ()
        try:
            return count_tables_in(project.ledger.entries)
        except LedgerTampered:
            return ()

    def events(self) -> tuple[LedgerEvent, ...]:
        """Return everything that the ledger tells of, oldest first, as `releases` does."""
        project = self._session.project
        try:
            return () if project is None else events_in(project.ledger.entries)
        except LedgerTampered:
            return ()

    def take_tampering(self, error: SfumatoError | None) -> None:
        """Take note of what examining the ledger came to."""
        self.tampering = error
        self.changed.emit()

    def _work(self) -> Work:
        session, document = self._session, self._session.document
        names = [*(column.name for column in document.sensitive), *session.protected]
        attributes, errors = {}, {}
        for name in dict.fromkeys(names) if session.source is not None else ():
            encoded, error = session.attribute(name), session.attribute_error(name)
            if encoded is not None:
                attributes[name] = encoded.attribute
            elif error is not None:
                errors[name] = error
        known = self.current
        return Work(
            document,
            None if session.source is None else session.source.rows,
            attributes,
            errors,
            self.guarantee(),
            self.found if known else None,
            self.releases(),
            self.tampering is not None,
            self.refusal if known else None,
        )

    # ----- the check before a release

    def check_policy(self) -> None:
        """Check releases where a policy is complete and that is all that is unknown of it.

        Not of a long table, all rows of which are read: somebody has to ask for that.
        """
        if self._session.leaving is None:
            return
        guarantee = self.guarantee()
        if guarantee.complete and guarantee.promises and self._session.document.recipients:
            self.check()

    def check(self) -> None:
        """Check every recipient's release, unless that was done for what is open now."""
        session, asked = self._session, self._question()
        source, document, attributes = session.source, session.document, session.attributes()
        if source is None or len(attributes) < len(session.protected) or asked == self._asked:
            return
        self._asked, self._known, self._kept = asked, False, (source, attributes)
        session.weighing.ask()
        releases, keys, project = self.releases(), session.keys, session.project
        columns = session.leaving

        def work(context: Context) -> tuple[Readiness, ...]:
            if columns is not None:
                shown = columns.of(document)
                return examine(document, shown, attributes, releases, context)
            remembered = None if project is None else project.remembered
            rows = checked_rows(document, source, keys, remembered, context)
            return rows.readiness(releases, document.accepted)

        job = session.runner.run(
            self.tr("Checking whether releases are ready"),
            work,
            lambda found: self._end(asked, found),
            lambda error: self._end(asked, (), error),
            key=CHECK,
            after=GAUGES,
        )
        job.finished.connect(partial(self._give_up, asked, job))

    def _question(self) -> tuple[object, ...]:
        """Return what a check is about: attributes are the same where they are the same objects."""
        source, attributes = self._session.source, self._session.attributes()
        counted = tuple((name, id(one.counts)) for name, one in attributes.items())
        # No finding is about these, which are typed letter by letter.
        document = replace(self._session.document, title="", rows_as_in_table="", terms=None)
        return (id(source), counted, document, self.releases())

    def _end(
        self,
        asked: tuple[object, ...],
        found: tuple[Readiness, ...],
        error: SfumatoError | None = None,
    ) -> None:
        if asked is self._asked:
            self._known, self.found, self.refusal = True, found, error
            self.checked.emit()
            self.changed.emit()

    def _give_up(self, asked: tuple[object, ...], job: Job) -> None:
        """Let the check be made another time, where it was cancelled or failed."""
        if asked is self._asked and job.ending in (Ending.CANCELLED, Ending.BUG):
            self._asked = None
            self.given_up.emit()

    def take_notice(self, _changed: object = None) -> None:
        """Tell that states may be others, and check a complete policy once edits have ended.

        A check that is under way is cancelled where it is of no use any more.
        """
        if self._session.project is None:
            self.tampering = None
        if self.checking and self._question() != self._asked:
            self._asked = None
            self._session.runner.cancel(CHECK)
        self._quiet.start()
        self.changed.emit()


def _same(one: Work, other: Work) -> bool:
    """Return whether two states of the work are the same, by the identity of what is large."""
    return (
        one.document == other.document
        and one.attributes.keys() == other.attributes.keys()
        and all(other.attributes[name] is known for name, known in one.attributes.items())
        and one.errors == other.errors
        and one.guarantee is other.guarantee
        and one.found is other.found
        and one.refusal is other.refusal
        and (one.rows, one.releases, one.tampered) == (other.rows, other.releases, other.tampered)
    )
