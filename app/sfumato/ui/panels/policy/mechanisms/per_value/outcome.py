"""What comes of the limits: how much is kept, who gains and who pays, and over θ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.mechanisms.per_value.solver import BreachMode, Profile
from sfumato.engine.mechanisms.per_value.utility_curve import uniform_retention
from sfumato.engine.table.table import Attribute
from sfumato.plots.figure import percent
from sfumato.plots.matrix_pair import PairData, build_matrix_pair
from sfumato.plots.retention_by_value import RetentionData, build_retention_by_value
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.mechanisms.per_value.curve import CurvePage
from sfumato.ui.panels.policy.mechanisms.per_value.model import Solved
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import label
from sfumato.ui.widgets.plot_view import PlotView

TOLERATED = 1e-12
PAUSE_MILLISECONDS = 200
MOST_NAMED = 6


@dataclass(frozen=True)
class Gain:
    """How much limits of their own keep, beside one limit for all.

    Parameters
    ----------
    own, uniform
        The shares of records that show their true value.
    retention
        The uniform retention probability for the tightest limit.
    violated
        How many limits do not hold, recomputed from the matrix.
    never_kept
        The values with retention probability 0.
    """

    own: float
    uniform: float
    retention: float
    violated: int
    never_kept: tuple[str, ...]

    @classmethod
    def of(cls, profile: Profile, attribute: Attribute) -> Gain:
        """Return the gain of a profile for an attribute's frequencies."""
        kept = uniform_retention(profile.gammas)
        size = len(profile.retention)
        names = attribute.domain.names if attribute.domain is not None else ()
        return cls(
            profile.record_utility(attribute.frequencies),
            kept + (1 - kept) / size,
            kept,
            _violated(profile),
            tuple(names[place] for place in np.flatnonzero(profile.retention == 0)),
        )

    @property
    def sentence(self) -> str:
        """The gain in words and figures."""
        words = tr(
            "{own} of the records keep their value, {uniform} if all values had the tightest"
            " limit.",
            own=percent(self.own, 1),
            uniform=percent(self.uniform, 1),
        )
        if self.own > self.uniform * 1.005:
            words += " " + tr("That is {more} more.", more=percent(self.own / self.uniform - 1, 0))
        return words

    @property
    def note(self) -> str:
        """What was checked, and what can't be estimated."""
        if self.violated:
            return tr("{count} limits do not hold for this profile.", count=self.violated)
        words = tr("Recomputed from the matrix, every limit holds.")
        if len(self.never_kept) > 1:
            named = ", ".join(self.never_kept[:MOST_NAMED])
            more = len(self.never_kept) - MOST_NAMED
            words += " " + tr(
                "Never kept, so estimates can't tell them apart: {named}{more}.",
                named=named,
                more=tr(" and {count} others", count=more) if more > 0 else "",
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


def solved_of(retention: npt.NDArray[np.float64], spent: float) -> Solved:
    """Return what a profile does to each value, from its matrix and what its making cost, ε0."""
    odds = RetentionMatrix(retention).worst_odds_ratios()
    factor = math.exp(spent) if math.isfinite(spent) else 1.0
    return Solved(retention, odds.up * factor, odds.down / factor)


class Outcome(QWidget):
    """The gain in words, and three pictures of it."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sentence = label("", "strong", wrap=True)
        self.note = label("", "small", wrap=True)
        self.view = Segments(
            [
                ("values", tr("Who gains, who pays")),
                ("matrices", tr("Beside one limit for all")),
                ("curve", tr("Over the tolerance")),
            ],
            self,
        )
        self.view.setAccessibleName(tr("What comes of the limits"))
        self.values = PlotView(session.chooser, self)
        self.matrices = PlotView(session.chooser, self)
        self.curve = CurvePage(session, self)
        self._pages = {"values": self.values, "matrices": self.matrices, "curve": self.curve}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.INSIDE)
        for widget in (self.sentence, self.note, self.view):
            column.addWidget(widget)
        for page in self._pages.values():
            column.addWidget(page)
        for plot in (self.values, self.matrices):
            plot.failed.connect(session.message)
        self._shown: tuple[Profile, Attribute, Gain] | None = None
        # Drawing takes a while: the pictures wait until a drag pauses, the words don't.
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MILLISECONDS)
        self._pause.timeout.connect(self._draw)
        self.view.chosen.connect(self.show_view)
        self.show_view("values")

    def show_view(self, name: object) -> None:
        """Bring a picture into sight."""
        self.view.set_value(str(name))
        for each, page in self._pages.items():
            page.setVisible(each == name)

    def show_profile(self, profile: Profile, attribute: Attribute) -> None:
        """Show what a profile keeps."""
        gain = Gain.of(profile, attribute)
        self.sentence.setText(gain.sentence)
        self.note.setText(gain.note)
        self.curve.show_attribute(attribute, profile.mode)
        first, self._shown = self._shown is None, (profile, attribute, gain)
        if first:
            self._draw()
        else:
            self._pause.start()

    def _draw(self) -> None:
        """Draw what was shown last."""
        if self._shown is None:
            return
        profile, attribute, gain = self._shown
        names = attribute.domain.names if attribute.domain is not None else ()
        data = RetentionData(names, attribute.frequencies, profile.retention, gain.retention)
        self.values.show_plot(partial(build_retention_by_value, data))
        pair = PairData(names, profile.retention, gain.retention, gain.own, gain.uniform)
        self.matrices.show_plot(partial(build_matrix_pair, pair))
