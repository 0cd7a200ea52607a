"""What a coalition restores from the very files that were released."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.coalitions import RealizedReport, realized_sentences, weigh_held
from sfumato.analysis.holdings import Holding
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.disclosure.realized_risk import RealizedRisk
from sfumato.engine.disclosure.record_risk import RecordRisk
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.plots.coalitions import RealizedData, build_realized_distribution
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.audit.holders import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import boxed, column, label, say
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.responsive import ResponsiveRow
from sfumato.ui.widgets.tables import MISSING_TEXT, show_value

JOB: Final = "audit files"
WIDE: Final = 640
WORST: Final = 3


class ReleasedFiles(QWidget):
    """Makes the released columns again and tells what they give away of each record."""

    failed = Signal(object)
    """A `Message`: the plot could not be saved."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._coalition: tuple[Holding, ...] = ()
        self.sentence = label("", wrap=True)
        self.worst = label("", wrap=True)
        self.agreement = label("", "muted", wrap=True)
        self.plot = PlotView(session.chooser, self)
        self.plot.failed.connect(self.failed)
        words = boxed(column(self.sentence, self.worst, self.agreement, None), self)
        beside = ResponsiveRow(WIDE, words, self.plot, parent=self)
        heading = label(self.tr("In the files as released"), "heading")
        note = self.tr(
            "The figures above are averages over the noise. Here the released values themselves"
            " are looked at, record by record."
        )
        self.setLayout(column(heading, label(note, "muted", wrap=True), beside))
        self.hide()

    def show_coalition(
        self,
        entry: PolicyEntry,
        attribute: Attribute,
        coalition: Sequence[Holding],
        expected: RecordRisk,
    ) -> None:
        """Weigh the files of a coalition, if they are released; else there is nothing to show.

        Parameters
        ----------
        entry, attribute
            What is weighed.
        coalition
            What the members hold, the most trusted first.
        expected
            What they restore on average over the noise.
        """
        session, rows = self._session, self._session.all_rows()
        released = not any(one.planned for one in coalition)
        if session.project is None or rows is None or not coalition or not released:
            self.dismiss()
            return
        self._coalition = tuple(coalition)
        self._say(tr("The released columns are being made again."))
        self.show()
        session.runner.run(
            self.tr("Weighing the released files"),
            partial(weigh_held, rows, self._coalition),
            partial(self._show, entry, attribute, self._coalition, expected),
            self._refuse,
            key=JOB,
        )

    def dismiss(self) -> None:
        """Show nothing any more."""
        self._session.runner.cancel(JOB)
        self._coalition = ()
        self.plot.clear()
        self.hide()

    def _show(
        self,
        entry: PolicyEntry,
        attribute: Attribute,
        coalition: tuple[Holding, ...],
        expected: RecordRisk,
        report: RealizedReport,
    ) -> None:
        if coalition != self._coalition:
            return
        if report.risk is None:
            self._say(tr("That can't be told: {reason}", reason=spoken(report.reason)))
            return
        found = report.risk
        names = report.members
        told, *agreement = map(typeset, realized_sentences(report, expected))
        self._say(told, _worst(attribute, found))
        say(self.agreement, " ".join(agreement))
        data = RealizedData(entry.key, names, found.risk, expected)
        self.plot.show()
        self.plot.show_plot(partial(build_realized_distribution, data))

    def _refuse(self, error: SfumatoError) -> None:
        self._say(" ".join(error_texts(error)).strip())

    def _say(self, sentence: str, worst: str = "") -> None:
        """Show words alone, until there is more."""
        self.sentence.setText(sentence)
        self.worst.setText(worst)
        self.worst.setVisible(bool(worst))
        self.agreement.hide()
        self.plot.clear()
        self.plot.hide()


def _worst(attribute: Attribute, found: RealizedRisk) -> str:
    """Return which values' records are in most danger; for the custodian's eyes."""
    if attribute.domain is None or attribute.counts is None:
        return ""
    told = []
    for at in found.worst(WORST):
        value = attribute.domain.values[at]
        told.append(
            tr(
                "{value} ({share}, {records} {records:record|records})",
                value=MISSING_TEXT if value is None else show_value(value),
                share=percent(float(found.risk.by_value[at]), 1),
                records=grouped(int(attribute.counts[at])),
            )
        )
    return tr("In most danger, on average: {values}.", values=", ".join(told))
