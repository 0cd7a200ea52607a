"""The paper's comparison over the tolerance θ, run on the custodian's attribute or an example."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.per_value.solver import BreachMode
from sfumato.engine.mechanisms.per_value.utility_curve import UtilityPoint, utility_curve
from sfumato.engine.table.table import Attribute
from sfumato.jobs.job import Ending, Job
from sfumato.plots.utility_curve import CurveData, build_utility_curve
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import button, label, row, set_look
from sfumato.ui.widgets.plot_view import PlotView

Counts = npt.NDArray[np.int64]

JOB: Final = "utility over tolerance"
THETAS: Final = (2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
EXAMPLE_THETAS: Final = (4.0, 8.0, 12.0, 16.0, 20.0, 24.0)
DRAWS: Final = 10
EXAMPLE_VALUES: Final = 40
EXAMPLE_RECORDS: Final = 95_946
"""The example of Chaytor et al. 2010, section V: as many records as their table of reactions."""


def zipf_counts() -> Counts:
    """Return how often each value of the example occurs, shape (40,): 1/i, scaled and rounded."""
    weights = 1.0 / np.arange(1, EXAMPLE_VALUES + 1)
    exact = weights / weights.sum() * EXAMPLE_RECORDS
    counts: Counts = np.floor(exact).astype(np.int64)
    short = EXAMPLE_RECORDS - int(counts.sum())
    counts[np.argsort(counts - exact)[:short]] += 1
    return counts


class CurvePage(QWidget):
    """Starts the comparison and shows what came out."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._attribute: Attribute | None = None
        self._mode = BreachMode.STRICT
        self._job: Job | None = None
        self._shown: dict[object, CurveData] = {}
        self.source = Segments(
            [("own", tr("This attribute")), ("example", tr("An example (Zipf)"))], self
        )
        self.source.setAccessibleName(tr("What is compared"))
        self.source.chosen.connect(self._show_known)
        self.start = button(tr("Compare over θ"), self.compare)
        self.stop = button(tr("Cancel"), self.leave)
        self.words = label(self._explanation(), "small", wrap=True)
        self.plot = PlotView(session.chooser, self)
        self.plot.failed.connect(session.message)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.INSIDE)
        column.addLayout(row(self.source, self.start, self.stop, None))
        column.addWidget(self.words)
        column.addWidget(self.plot)
        self.stop.hide()
        self.plot.hide()

    def show_attribute(self, attribute: Attribute, mode: BreachMode) -> None:
        """Take an attribute as what is compared; what was found of another is forgotten."""
        before = self._attribute
        same = (
            before is not None
            and before.name == attribute.name
            and before.counts is not None
            and np.array_equal(before.counts, _counts(attribute))
            and self._mode is mode
        )
        self._attribute, self._mode = attribute, mode
        if not same:
            self.leave()
            self._shown.clear()
            self._show_known(self.source.value)

    def leave(self) -> None:
        """Stop the comparison."""
        self._session.runner.cancel(JOB)

    def compare(self) -> None:
        """Draw releases at each tolerance, in a job."""
        if self._attribute is None:
            return
        source = self.source.value
        example = source == "example"
        counts = zipf_counts() if example else _counts(self._attribute)
        about = tr("Zipf example") if example else self._attribute.name
        thetas = EXAMPLE_THETAS if example else THETAS
        work = partial(_work, counts, thetas, self._mode)
        self._busy(True)
        self._job = self._session.runner.run(
            tr("Comparing {about} over θ", about=about),
            work,
            partial(self._keep, source, about, int(counts.sum())),
            self._refuse,
            key=JOB,
        )
        self._job.finished.connect(partial(self._end, self._job))

    def _end(self, job: Job) -> None:
        if job is self._job:
            self._job = None
            self._busy(False)
            if job.ending is Ending.CANCELLED:
                self._say(self._explanation())

    def _keep(
        self, source: object, about: str, records: int, points: tuple[UtilityPoint, ...]
    ) -> None:
        self._shown[source] = CurveData(about, points, DRAWS, records)
        self._show_known(self.source.value)

    def _show_known(self, source: object) -> None:
        data = self._shown.get(source)
        self.plot.setVisible(data is not None)
        self._say(self._explanation() if data is None else self._errors(data))
        if data is not None:
            self.plot.show_plot(partial(build_utility_curve, data))

    def _refuse(self, error: SfumatoError) -> None:
        self._say(" ".join(error_texts(error)), "danger")

    def _busy(self, busy: bool) -> None:
        self.start.setEnabled(not busy)
        self.stop.setVisible(busy)

    def _say(self, text: str, look: str = "small") -> None:
        self.words.setText(text)
        set_look(self.words, look)

    def _explanation(self) -> str:
        return tr(
            "Draws {draws} releases at each tolerance and estimates the shares from them, with"
            " limits by the tolerance rule and with one limit for all.",
            draws=DRAWS,
        )

    def _errors(self, data: CurveData) -> str:
        """Return the standard errors in theory beside those that were observed."""
        last = data.points[-1]
        return tr(
            "Root mean square error of a share at θ = {theta}: expected {expected}, observed"
            " {observed} percentage points (limits of their own, inverse matrix). All figures are"
            " in the exported CSV.",
            theta=f"{last.theta:g}",
            expected=_points(last.fine_grain.error_expected),
            observed=_points(last.fine_grain.error_observed),
        )


def _work(
    counts: Counts, thetas: tuple[float, ...], mode: BreachMode, context: Context
) -> tuple[UtilityPoint, ...]:
    return utility_curve(counts, thetas, mode, DRAWS, context)


def _counts(attribute: Attribute) -> Counts:
    counts = attribute.counts
    if counts is None:
        raise TypeError("only categorical attributes have limits for their values")
    return counts


def _points(error: float) -> str:
    return "–" if np.isnan(error) else f"{error * 100:.2g}"
