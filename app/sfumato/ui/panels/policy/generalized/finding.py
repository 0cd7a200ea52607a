"""The search as the page sees it: when it starts, what it found, and what nodes lose."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, Signal

from sfumato.analysis.tables.generalized_table import (
    NodeMeasure,
    PublishedView,
    is_cheap,
    look,
    measure,
)
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.lattice import Node, listed
from sfumato.project.publication.generalization_pipeline import (
    PipelineResult,
    Searched,
    chosen_node,
    find,
)
from sfumato.ui.panels.policy import edits
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.paint_queue import delayed

SEARCH: Final = "generalized search"
MEASURE: Final = "generalized measure"
LOOK: Final = "generalized look"
PATIENCE_MILLISECONDS: Final = 250
AT_ONCE: Final = 24
"""Nodes that are measured in one job, so that results keep coming."""
MEASURED_BY_ITSELF: Final = 240
"""Nodes that are measured without being asked for."""


class NodeFinding(QObject):
    """Searches when what is asked has changed, and measures what nodes lose.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    changed = Signal()
    """A search began, ended or became necessary."""
    measured = Signal()
    """More nodes are measured."""
    looked = Signal()
    """The table of the chosen node is known, or can't be made."""

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._active = False
        self._asked: tuple[object, ...] = ()
        self._answered: tuple[object, ...] = ()
        self._viewed: tuple[object, ...] = ()
        self._wanted: list[Node] = []
        self.found: PipelineResult | None = None
        self.error: SfumatoError | None = None
        self.view: PublishedView | None = None
        self.view_error: SfumatoError | None = None
        self.nodes: dict[Node, NodeMeasure] = {}
        self._timer = delayed(self, self.search, PATIENCE_MILLISECONDS)

    # ----- what is known

    @property
    def searched(self) -> Searched | None:
        """What was found for what is asked now; None while that is not known."""
        return self.found.searched if self.found is not None else None

    @property
    def working(self) -> bool:
        """Whether a search is under way or about to start."""
        jobs = self._session.runner.jobs
        running = any(job.key == SEARCH and not job.stop_requested() for job in jobs)
        return running or self._timer.isActive()

    @property
    def node(self) -> Node | None:
        """The node that would be published; None where there is none."""
        if self.searched is None:
            return None
        try:
            return chosen_node(self._session.document, self.searched)
        except SfumatoError:
            return None

    def _question(self) -> tuple[object, ...]:
        question = edits.question_of(self._session.document)
        return (id(self._session.surveyed), *question) if question else ()

    # ----- searching

    def activate(self, active: bool) -> None:
        """Work only while somebody looks."""
        self._active = active
        self.refresh()

    def refresh(self, _changed: object = None) -> None:
        """Take notice of changes; what was found for another question is forgotten."""
        question = self._question()
        if question != self._asked:
            self._asked = question
            self._forget()
        if not question or self._session.source is None or not self._active:
            return
        if question == self._answered or self.working:
            self.refresh_view()
        elif is_cheap(self._session.document, self._session.source):
            self._timer.start()
            self.changed.emit()

    def _forget(self) -> None:
        for key in (SEARCH, MEASURE, LOOK):
            self._session.runner.cancel(key)
        self._timer.stop()
        self.found = self.error = self.view = self.view_error = None
        self._answered = self._viewed = ()
        self.nodes = {}
        self._wanted = []
        self.changed.emit()

    def search(self) -> None:
        """Search for what is asked now."""
        self._timer.stop()
        table = self._session.source
        if table is None or not self._asked:
            return
        title = tr("Searching for safe generalizations")
        work = partial(find, self._session.document, table)
        self._session.runner.run(title, work, self._take, self._fail, key=SEARCH)
        self.changed.emit()

    def stop(self) -> None:
        """Give the search up; it starts again by itself only for another question."""
        self._timer.stop()
        self._session.runner.cancel(SEARCH)
        self._answered = self._asked
        self.changed.emit()

    def _take(self, found: PipelineResult) -> None:
        self._answered, self.found, self.error = self._asked, found, None
        self.changed.emit()
        if found.searched is not None:
            result = found.searched.result
            order = [*result.minimal[:MEASURED_BY_ITSELF]]
            if result.safe_count <= 20 * MEASURED_BY_ITSELF:
                order += result.safe_nodes()
            self.want(list(dict.fromkeys(order))[:MEASURED_BY_ITSELF])
            self.refresh_view()

    def _fail(self, error: SfumatoError) -> None:
        self._answered, self.error = self._asked, error
        self.changed.emit()

    # ----- measuring

    def want(self, nodes: Sequence[Node]) -> None:
        """Measure nodes, these first."""
        fresh = [node for node in dict.fromkeys(nodes) if node not in self.nodes]
        self._wanted = [*fresh, *(node for node in self._wanted if node not in set(fresh))]
        self._measure()

    def want_all(self, most: int) -> None:
        """Measure every node, the safe ones first, up to so many."""
        if self.searched is None:
            return
        result = self.searched.result
        safe = result.safe_nodes() if result.safe_count <= most else list(result.minimal)
        rest = listed(~result.safe) if result.lattice.size <= most else []
        self.want([*safe, *rest][:most])

    @property
    def waiting(self) -> int:
        """How many nodes are to be measured still."""
        return len(self._wanted)

    def _measure(self) -> None:
        if self.found is None or not self._wanted:
            return
        batch = tuple(self._wanted[:AT_ONCE])
        title = tr("Measuring what is lost, {count} to go", count=len(self._wanted))
        work = partial(measure, self.found.prepared, batch)
        self._session.runner.run(title, work, self._keep, self._stop_measuring, key=MEASURE)

    def _keep(self, measured: tuple[NodeMeasure, ...]) -> None:
        self.nodes.update({each.node: each for each in measured})
        self._wanted = [node for node in self._wanted if node not in self.nodes]
        self.measured.emit()
        self._measure()

    def _stop_measuring(self, _error: SfumatoError) -> None:
        self._wanted = []

    # ----- the table of the chosen node

    def refresh_view(self) -> None:
        """Make the table of the node that would be published, unless it is made."""
        searched, node = self.searched, self.node
        document = self._session.document
        decided = document.generalization
        if searched is None or decided is None:
            return
        known = (decided.population, decided.sampling_fraction)
        wanted = (self._asked, node, decided.suppressed, document.columns, known)
        if wanted == self._viewed:
            return
        self._viewed = wanted
        population = self.view.population if self.view is not None else None
        self.view = self.view_error = None
        self.looked.emit()
        if node is None:
            self._session.runner.cancel(LOOK)
            return
        title, work = tr("Making the generalized table"), partial(look, document, searched, node)
        take = partial(self._show_view, error=None)
        self._session.runner.run(
            title, partial(work, population), take, partial(self._show_view, None), key=LOOK
        )

    def _show_view(self, view: PublishedView | None, error: SfumatoError | None) -> None:
        self.view, self.view_error = view, error
        self.looked.emit()
