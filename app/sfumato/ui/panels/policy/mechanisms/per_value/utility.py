"""What comes of the limits: how much is kept, who gains and who pays, and over θ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats
from sfumato.engine.matrices.estimate import UtilityPoint
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.matrices.worth import worth_of_shares
from sfumato.engine.mechanisms.per_value import (
    Binding,
    binding_limits,
    uniform_retention,
    utility_curve,
)
from sfumato.engine.mechanisms.retention_solver import BreachMode, Objective, Profile
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped, localized, shown
from sfumato.jobs import Ending, Job
from sfumato.plots.axes import percent
from sfumato.plots.matrices import (
    CurveData,
    PairData,
    RetentionData,
    build_matrix_pair,
    build_retention_by_value,
    build_utility_curve,
)
from sfumato.ui.look.wording import number, quoted
from sfumato.ui.panels.policy.mechanisms.per_value.grid import Solved, names_of
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import button, column, label, row, say, set_look
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.plot_view import PlotView

Counts = npt.NDArray[np.int64]

TOLERATED = 1e-12
PAUSE_MILLISECONDS = 200
MOST_NAMED = 6

JOB: Final = "utility over tolerance"
BINDING_JOB: Final = "binding limits"
AT_ONCE: Final = 200
"""Domains up to this size are explained while the person looks; larger ones in a job."""
MOST_BINDING: Final = 3
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


def solved_of(retention: Floats, spent: float) -> Solved:
    """Return what a profile does to each value, from its matrix and what its making cost, ε0."""
    odds = RetentionMatrix(retention).worst_odds_ratios()
    factor = math.exp(spent) if math.isfinite(spent) else 1.0
    return Solved(retention, odds.up * factor, odds.down / factor)


class LimitsUtility(QWidget):
    """What limits of their own keep beside one limit for all, in words and three pictures."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sentence = label("", "strong", wrap=True)
        self.binding = label("", wrap=True)
        self.binding.hide()
        self.note = label("", "small", wrap=True)
        self.view = Segments(
            [
                ("values", tr("Who gains, who pays")),
                ("matrices", tr("Beside one limit for all")),
                ("curve", tr("Over the tolerance")),
            ],
            self,
        )
        self.view.setAccessibleName(tr("Effect of the limits"))
        self.values, self.matrices = (
            PlotView(session.chooser, self, session.message.emit) for _ in range(2)
        )
        self.curve = CurvePage(session, self)
        self._pages = {"values": self.values, "matrices": self.matrices, "curve": self.curve}
        words = (self.sentence, self.binding, self.note)
        self.setLayout(column(*words, self.view, *self._pages.values()))
        self._session = session
        self._shown: tuple[Profile, Attribute] | None = None
        # Drawing takes a while: the pictures wait until a drag pauses, the words don't.
        self._pause = delayed(self, self._draw, PAUSE_MILLISECONDS)
        self.view.chosen.connect(self.show_view)
        self.show_view("values")

    def show_view(self, name: object) -> None:
        """Bring a picture into sight."""
        self.view.set_value(str(name))
        for each, page in self._pages.items():
            page.setVisible(each == name)

    def show_profile(
        self, profile: Profile, attribute: Attribute, frequencies: Floats, objective: Objective
    ) -> None:
        """Show what a profile keeps that was solved for frequencies, and what holds it down."""
        own, uniform = _kept(profile, attribute)
        words = tr(
            "{own} of the records keep their value, {uniform} if all values had the tightest"
            " limit.",
            own=percent(own, 1),
            uniform=percent(uniform, 1),
        )
        if own > uniform * 1.005:
            words += " " + tr("That is {more} more.", more=percent(own / uniform - 1, 0))
        self.sentence.setText(f"{words} {_told(profile, attribute)}")
        self.note.setText(_note(profile, attribute))
        self.curve.show_attribute(attribute, profile.mode)
        first, self._shown = self._shown is None, (profile, attribute)
        if first:
            self._draw()
        else:
            self._pause.start()
        self._explain(profile, attribute, frequencies, objective)

    def _draw(self) -> None:
        """Draw what was shown last."""
        if self._shown is None:
            return
        profile, attribute = self._shown
        names, alike = names_of(attribute), uniform_retention(profile.gammas)
        data = RetentionData(names, attribute.frequencies, profile.retention, alike)
        self.values.show_plot(partial(build_retention_by_value, data))
        pair = PairData(names, profile.retention, alike, *_kept(profile, attribute))
        self.matrices.show_plot(partial(build_matrix_pair, pair))

    def _explain(
        self, profile: Profile, attribute: Attribute, frequencies: Floats, objective: Objective
    ) -> None:
        """Say which limit holds the others down: at once where that takes no time, else later."""
        if len(profile.gammas) <= AT_ONCE:
            self._tell_binding(attribute, binding_limits(profile, frequencies, objective))
            return
        self.binding.hide()

        def work(context: Context) -> tuple[Binding, ...]:
            context.report(0.1, "Finding which limits bind")
            return binding_limits(profile, frequencies, objective)

        self._session.runner.run(
            tr("Finding which limits of {name} bind", name=attribute.name),
            work,
            partial(self._tell_binding, attribute),
            lambda _error: self.binding.hide(),
            key=BINDING_JOB,
        )

    def _tell_binding(self, attribute: Attribute, found: tuple[Binding, ...]) -> None:
        if self._shown is not None and self._shown[1] is attribute:
            say(self.binding, binding_sentence(attribute, self._shown[0], found))


def binding_sentence(attribute: Attribute, profile: Profile, found: Sequence[Binding]) -> str:
    """Return which limit holds the others down most, and what a looser one would gain."""
    if not found:
        return ""
    worst, names = found[0], names_of(attribute)
    named = ", ".join(quoted(names[place]) for place in worst.values[:MOST_BINDING])
    more = len(worst.values) - MOST_BINDING
    if more > 0:
        named += (
            tr(" and {count} {count:other|others}", count=grouped(more))
            if more > 1
            else tr(" and one other")
        )
    gain = tr(
        "With γ half as large again there, {then} of the records would keep their value, in place"
        " of {now}.",
        then=percent(worst.kept_if_looser, 1),
        now=percent(worst.kept, 1),
    )
    if not worst.held:
        own = max(float(profile.retention[place]) for place in worst.values)
        return tr(
            "What costs most is the limit of {named} (γ = {gamma}): the value itself is kept with"
            " {own} at most. {gain}",
            named=named,
            gamma=number(worst.gamma),
            own=percent(own, 1),
            gain=gain,
        )
    highest = max(float(profile.retention[place]) for place in worst.held)
    return tr(
        "What holds the others down most is the limit of {named} (γ = {gamma}): beside it,"
        " {others} may be kept with {highest} at most. {gain}",
        named=named,
        gamma=number(worst.gamma),
        others=tr("{count} other {count:value|values}", count=grouped(len(worst.held)))
        if len(worst.held) > 1
        else tr("one other value"),
        highest=percent(highest, 1),
        gain=gain,
    )


def _kept(profile: Profile, attribute: Attribute) -> tuple[float, float]:
    """Return the shares of records that keep their value: now, and with one limit for all."""
    alike = uniform_retention(profile.gammas)
    uniform = alike + (1 - alike) / len(profile.retention)
    return profile.record_utility(attribute.frequencies), uniform


def _told(profile: Profile, attribute: Attribute) -> str:
    """Say how well shares are told, in true records for each that is released."""
    alike = np.full(len(profile.retention), uniform_retention(profile.gammas))
    own, uniform = (
        worth_of_shares(attribute.frequencies, RetentionMatrix(kept), 1.0).records
        for kept in (profile.retention, alike)
    )
    return tr(
        "Shares are told as exactly as by {own} of the true records, {uniform} if all values had"
        " the tightest limit.",
        own=percent(own, 2),
        uniform=percent(uniform, 2),
    )


def _note(profile: Profile, attribute: Attribute) -> str:
    """Say what was checked, and what can't be estimated."""
    violated = _violated(profile)
    if violated:
        return tr(
            "{count} {count:limit does|limits do} not hold for this profile.",
            count=grouped(violated),
        )
    words = tr("Recomputed from the matrix, every limit holds.")
    names = names_of(attribute)
    never = [names[place] for place in RetentionMatrix(profile.retention).untold]
    if never:
        more = len(never) - MOST_NAMED
        words += " " + tr(
            "Never or hardly ever kept, so estimates can't tell them apart: {named}{more}.",
            named=", ".join(never[:MOST_NAMED]),
            more=tr(" and {count} {count:other|others}", count=grouped(more)) if more > 0 else "",
        )
    return words


def _violated(profile: Profile) -> int:
    """Count the values whose odds move further than their limit, from the matrix's entries."""
    odds = RetentionMatrix(profile.retention).worst_odds_ratios()
    limited = np.isfinite(profile.gammas)
    allowed = profile.gammas[limited] * (1 + TOLERATED)
    over = odds.up[limited] > allowed
    if profile.mode is BreachMode.STRICT:
        over |= odds.down[limited] * allowed < 1
    return int(over.sum())


class CurvePage(QWidget):
    """The paper's comparison over the tolerance θ, on the custodian's attribute or an example."""

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
        self.plot = PlotView(session.chooser, self, session.message.emit)
        self.setLayout(column(row(self.source, self.start, self.stop, None), self.words, self.plot))
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
        work = partial(utility_curve, counts, thetas, self._mode, DRAWS)
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
        self._say(error_words(error), "danger")

    def _busy(self, busy: bool) -> None:
        self.start.setEnabled(not busy)
        self.stop.setVisible(busy)

    def _say(self, text: str, look: str = "small") -> None:
        self.words.setText(text)
        set_look(self.words, look)

    def _explanation(self) -> str:
        return tr(
            "Draws {draws} {draws:release|releases} at each tolerance and estimates the shares"
            " from them, with limits by the tolerance rule and with one limit for all.",
            draws=grouped(DRAWS),
        )

    def _errors(self, data: CurveData) -> str:
        """Return the standard errors in theory beside those that were observed."""
        last = data.points[-1]
        return tr(
            "Root mean square error of a share at θ = {theta}: expected {expected}, observed"
            " {observed} percentage {observed:point|points} (limits of their own, inverse matrix)."
            " All figures are in the exported CSV.",
            theta=localized(f"{last.theta:g}"),
            expected=_points(last.fine_grain.error_expected),
            observed=_points(last.fine_grain.error_observed),
        )


def _counts(attribute: Attribute) -> Counts:
    counts = attribute.counts
    if counts is None:
        raise TypeError("only categorical attributes have limits for their values")
    return counts


def _points(error: float) -> str:
    return "–" if np.isnan(error) else shown(f"{error * 100:.2g}")
