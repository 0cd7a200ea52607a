"""What everybody gets, weighed once for whoever shows it: the board and the guarantee card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from PySide6.QtCore import QCoreApplication, QObject, Signal

from sfumato.analysis.answers import Severity
from sfumato.analysis.planning.board import (
    Gauges,
    beside_open_columns,
    gauges_of,
    recipients_in_order,
)
from sfumato.analysis.readiness.verdicts import Standing
from sfumato.ui.state.insights import LatestAnswer, SurveyedTable
from sfumato.ui.state.steps import GAUGES, OpenSession, Steps

if TYPE_CHECKING:
    from sfumato.analysis.readiness.verdicts import Readiness
    from sfumato.analysis.shown_columns import ShownColumns
    from sfumato.analysis.unperturbed.open_columns import OpenAnswer
    from sfumato.engine.core.progress import Context

LOOKS: Final = {
    Standing.DANGER: "danger",
    Standing.WORTHLESS: "danger",
    Standing.CAUTION: "caution",
    Standing.GOOD: "good",
}
"""The icon and the colour of a recipient's verdict."""
SEVERITY_LOOKS: Final = {
    Severity.GRAVE: "danger",
    Severity.CAUTION: "caution",
    Severity.GOOD: "good",
}
"""The icon and the colour of an answer's verdict, or of a finding's."""


class WeighedSession(OpenSession, Protocol):
    """What is open: the session, as far as gauges depend on it."""

    steps: Steps

    @property
    def surveyed(self) -> SurveyedTable | None:
        """The open table, as far as it is known."""

    def shown_columns(self) -> ShownColumns | None:
        """Return what is known of all rows' columns, or of a sample of a long table."""

    def open_columns(self) -> OpenAnswer | None:
        """Return what the columns released unchanged tell."""


class Weighing(QObject):
    """The gauges of every recipient, asked for by whoever is in sight, and worked out in a job.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    changed = Signal()
    """The gauges have become known."""

    def __init__(self, session: WeighedSession, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._order: tuple[str, ...] = ()
        self._answer = LatestAnswer[tuple[Gauges, ...]](session.runner, GAUGES, self.changed.emit)

    @property
    def known(self) -> bool:
        """Whether the gauges are those of the present settings."""
        return self._answer.known

    @property
    def people(self) -> tuple[str, ...]:
        """The recipients, the most trusted first; dragging a level changes no order."""
        document = self._session.document
        if {each.name for each in document.recipients} != set(self._order):
            people = recipients_in_order(document, self._session.attributes())
            self._order = tuple(each.name for each in people)
        return self._order

    def gauges(self) -> tuple[Gauges, ...]:
        """Return the last gauges there were, with what columns tell that are released unchanged."""
        beside = self._session.open_columns()
        return tuple(beside_open_columns(one, beside) for one in self._answer.answer or ())

    def found(self) -> tuple[Readiness, ...]:
        """Return what the check before a release found of the present settings."""
        steps = self._session.steps
        return steps.found if steps.current else ()

    def ask(self) -> None:
        """Ask for the gauges of the present settings, after which `changed` is emitted."""
        session, document = self._session, self._session.document
        held, attributes, sampled = session.surveyed, session.attributes(), session.shown_columns()
        if sampled is None or not document.recipients:
            self._answer.forget()
            return
        if len(attributes) < len(session.protected):
            return
        known = session.leaving
        # Neither a title nor a reason changes what is counted.
        decided = (document.columns, document.policy, document.recipients, document.unit)
        more = (document.level_spacing, tuple(document.hierarchies.items()), document.record_key)
        counted = tuple((name, id(one.counts)) for name, one in attributes.items())

        def work(context: Context) -> tuple[Gauges, ...]:
            if known is None:
                return gauges_of(document, sampled, attributes, context, counting=False)
            return gauges_of(document, known.of(document), attributes, context)

        title = QCoreApplication.translate("Policy", "Working out what everybody gets")
        self._answer.ask((id(held), decided, more, counted), title, work)
