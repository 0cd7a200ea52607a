"""The published experiments, run again by whoever wants to see for themselves."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QStackedWidget, QVBoxLayout, QWidget

from sfumato.analysis.experiments import (
    Figure,
    Outcome,
    Sizes,
    findings,
    run_experiment,
    table_of,
)
from sfumato.engine.core.errors import SfumatoError
from sfumato.jobs.job import Ending, Job
from sfumato.plots.experiment import build_experiment
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.audit.pages.base import AuditPage, Theme
from sfumato.ui.panels.audit.pages.experiments.settings import ExperimentSettings
from sfumato.ui.panels.base import PanelState
from sfumato.ui.shell.messages import Message
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import EmptyState, ScrollPage, button, label, row
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.tables import FrameModel, TableView

JOB: Final = "audit experiment"
TABLE_ROWS: Final = 8
SIGNIFICANT: Final = 4

Asked = tuple[Figure, str, Sizes]


class ExperimentsPage(AuditPage):
    """Runs the experiments of the paper on multi-level releases and compares."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Experiments"))
    theme: ClassVar[Theme] = Theme.EVIDENCE
    order: ClassVar[int] = 90

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._outcomes: dict[Asked, Outcome] = {}
        self._shown: Asked | None = None
        self.settings = ExperimentSettings(session, self)
        self.run_button = button(self.tr("Run"), self.run, "primary")
        self.cancel_button = button(self.tr("Cancel"), self.cancel)
        self.progress = QProgressBar(self)
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.doing = label("", "muted")
        self.found = label("", wrap=True)
        self.plot = PlotView(session.chooser, self)
        self.plot.failed.connect(self.told)
        self.table = TableView(self, row_numbers=False)
        self.table.setAccessibleName(self.tr("Figures of the experiment"))
        self.pages = QStackedWidget(self)
        self.empty = self._build_empty()
        self.working = self._build_working()
        self.result = self._build_result()
        for page in (self.empty, self.working, self.result):
            self.pages.addWidget(page)
        line = QHBoxLayout()
        line.addWidget(self.settings, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, Space.INSIDE, 0, 0)
        column.setSpacing(Space.BETWEEN)
        column.addLayout(line)
        self.settings.line.addWidget(self.run_button)
        column.addWidget(self.pages, 1)
        self.settings.changed.connect(self._recall)
        for signal in (session.document_changed, session.table_changed):
            signal.connect(self._forget_table)

    def _build_empty(self) -> EmptyState:
        return EmptyState(
            "audit",
            self.tr("See for yourself"),
            self.tr(
                "These are the experiments with which the method was published (Xiao, Tao and Chen,"
                " 2009). Choose one, on made-up values or on a column of your table, and run it:"
                " the result stands beside the paper's. Nothing of it is released."
            ),
        )

    def _build_working(self) -> QWidget:
        made = QWidget(self)
        column = QVBoxLayout(made)
        column.setContentsMargins(0, Space.AROUND, 0, 0)
        column.setSpacing(Space.INSIDE)
        column.addWidget(self.doing)
        column.addLayout(row(self.progress, self.cancel_button))
        column.addStretch(1)
        return made

    def _build_result(self) -> QWidget:
        page = ScrollPage(self)
        page.column.addWidget(self.found)
        page.column.addWidget(self.plot)
        page.column.addWidget(self.table)
        page.column.addStretch(1)
        return page

    def state(self) -> PanelState:
        """Return whether an experiment was run."""
        if self._job() is not None:
            return PanelState.IN_PROGRESS
        return PanelState.DONE if self._outcomes else PanelState.EMPTY

    def showEvent(self, event: QShowEvent) -> None:
        """Offer the columns that there are now."""
        super().showEvent(event)
        self.settings.offer_values()

    # ----- running

    def run(self) -> None:
        """Run the chosen experiment."""
        try:
            prior = self.settings.prior()
        except SfumatoError as error:
            self._fail(error)
            return
        if prior is None:
            self._fail(
                SfumatoError(
                    "The column is still being read.",
                    "Wait a moment, and run the experiment again.",
                )
            )
            return
        asked = self._asked()
        job = self.session.runner.run(
            self.tr("Running an experiment"),
            partial(run_experiment, asked[0], prior, asked[2]),
            partial(self._show, asked),
            self._fail,
            key=JOB,
        )
        job.progressed.connect(partial(self._show_progress, job))
        job.finished.connect(partial(self._end, job))
        self.doing.setText(self.tr("Starting"))
        self.progress.setValue(0)
        self.run_button.setEnabled(False)
        self.pages.setCurrentWidget(self.working)
        self.state_changed.emit()

    def cancel(self) -> None:
        """Stop the experiment; what was found before stays."""
        self.session.runner.cancel(JOB)

    def _job(self) -> Job | None:
        return next((job for job in self.session.runner.jobs if job.key == JOB), None)

    def _asked(self) -> Asked:
        return self.settings.chosen, repr(self.settings.values.value), self.settings.sizes

    def _show_progress(self, job: Job) -> None:
        self.progress.setValue(round(1000 * job.fraction))
        self.doing.setText(f"{job.text} … {100 * job.fraction:.0f} %")

    def _end(self, job: Job) -> None:
        """Leave the progress, however the work ended."""
        self.run_button.setEnabled(True)
        if job.ending is not Ending.DONE:
            self._recall()
        self.state_changed.emit()

    def _fail(self, error: SfumatoError) -> None:
        self.tell(Message.of_error(error, topic="experiment"))
        self._recall()

    # ----- what was found

    def _show(self, asked: Asked, outcome: Outcome) -> None:
        self._outcomes[asked] = outcome
        if outcome.test is not None:
            # One run gives both figures.
            for figure in (Figure.COLLUSION, Figure.EQUIVALENCE):
                both = Outcome(figure, outcome.prior, outcome.seconds, outcome.test)
                self._outcomes[(figure, *asked[1:])] = both
        self._shown = None
        self._recall()
        self.state_changed.emit()

    def _recall(self) -> None:
        """Show what was found with the present settings; else what there is to run."""
        if self._job() is not None and not self.run_button.isEnabled():
            return
        asked = self._asked()
        outcome = self._outcomes.get(asked)
        if outcome is None:
            self._shown = None
            self.pages.setCurrentWidget(self.empty)
            return
        self.pages.setCurrentWidget(self.result)
        if asked == self._shown:
            return
        self._shown = asked
        self.found.setText("\n".join(findings(outcome)))
        self.plot.show_plot(partial(build_experiment, outcome))
        frame = table_of(outcome)
        numbers = frame.select_dtypes("float").columns
        frame[numbers] = frame[numbers].map(lambda number: float(f"{number:.{SIGNIFICANT}g}"))
        self.table.setModel(FrameModel(frame))
        self.table.fit_columns()
        self.table.setMinimumHeight(Space.FIELD * (min(len(frame), TABLE_ROWS) + 1) + 8)

    def _forget_table(self) -> None:
        """Forget what was found on columns that may have changed."""
        self._outcomes = {
            asked: outcome
            for asked, outcome in self._outcomes.items()
            if asked[1].startswith("(")  # a made-up distribution
        }
        self.settings.offer_values()
        self._recall()


PAGE = ExperimentsPage
