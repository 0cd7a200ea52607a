"""The page on what a recipient can estimate from noisy numbers."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from sfumato.analysis.number_estimates import EstimatesData
from sfumato.analysis.previewed_numbers import NumberPreview
from sfumato.engine.core.errors import SfumatoError
from sfumato.plots.estimates import build_number_estimates
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.preview.number_pages import AttributePicker
from sfumato.ui.panels.preview.pages import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import TickAll, WrappedCheckBox
from sfumato.ui.widgets.layout import ScrollPage, label
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.plot_view import PlotView

JOB: Final = "preview regression"
ACROSS: Final = 3


class BesidePicker(QWidget):
    """Ticks columns that a regression is to use beside the entry's own attributes."""

    chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[str, WrappedCheckBox] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.BETWEEN)
        self._grid.setVerticalSpacing(Space.TIGHT)
        self._grid.addWidget(label(tr("Explained also by"), "muted"), 0, 0, 1, ACROSS)
        self._grid.setColumnStretch(ACROSS, 1)
        self.tick_all = TickAll(self._tick_all, self)
        self.hide()

    @property
    def names(self) -> tuple[str, ...]:
        """The ticked columns."""
        return tuple(name for name, box in self.boxes.items() if box.isChecked())

    def offer(self, names: tuple[str, ...]) -> None:
        """Offer columns; what was ticked stays where it can."""
        if names != tuple(self.boxes):
            ticked = self.names
            for box in self.boxes.values():
                self._grid.removeWidget(box)
                box.hide()
                box.deleteLater()
            self.boxes = {name: WrappedCheckBox(name.replace("&", "&&"), self) for name in names}
            for place, (name, box) in enumerate(self.boxes.items()):
                box.setChecked(name in ticked)
                box.clicked.connect(lambda _ticked: self.chosen.emit())
                self._grid.addWidget(box, 1 + place // ACROSS, place % ACROSS)
            self._grid.addWidget(self.tick_all, 2 + len(names) // ACROSS, 0, 1, ACROSS)
            self.tick_all.offer(len(names))
        self.setVisible(bool(names))

    def _tick_all(self, ticked: bool) -> None:
        for box in self.boxes.values():
            box.setChecked(ticked)
        self.chosen.emit()


class EstimatesPage(ScrollPage):
    """How well a recipient can estimate means, spreads, correlations, quantiles and slopes."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._preview: NumberPreview | None = None
        self._asked: object = None
        self.plot, self.quantiles, self.regression = (
            PlotView(session.chooser, self) for _ in "123"
        )
        self.note = label(
            tr(
                "A plain spread of the released numbers is too wide and, where each column has"
                " noise of its own, a plain correlation is too weak: the recipient's guide says"
                " how to correct both, as it was done here."
            ),
            "muted",
            wrap=True,
        )
        self.picker = AttributePicker(tr("Quantiles and dependence of"), parent=self)
        self.quantiles_note = label("", "muted", wrap=True)
        self.beside = BesidePicker(self)
        self.regression_note = label("", "muted", wrap=True)
        self.column.setContentsMargins(0, Space.BETWEEN, 0, 0)
        for part in (
            self.plot,
            self.note,
            self.picker,
            self.quantiles,
            self.quantiles_note,
            self.beside,
            self.regression,
            self.regression_note,
        ):
            self.column.addWidget(part)
        self.column.addStretch(1)
        for plot in (self.plot, self.quantiles, self.regression):
            plot.failed.connect(session.message)
        self.picker.chosen.connect(self._draw)
        self.beside.chosen.connect(self._regress)

    def show_preview(self, preview: NumberPreview) -> None:
        """Show estimates, where there are any."""
        self._preview = preview
        self.picker.offer(preview.sample.attributes)
        recovery = preview.recovery
        names = () if recovery is None else tuple(spec.name for spec in recovery.beside)
        self.beside.offer(names)
        if preview.estimates is not None:
            self.plot.show_plot(partial(build_number_estimates, preview.estimates))
            self._draw()

    def _draw(self) -> None:
        """Show the quantiles and the regression of the picked attribute."""
        preview = self._preview
        if preview is None or preview.estimates is None:
            return
        place = self.picker.places[0]
        name = preview.sample.attributes[place]
        _show(self.quantiles, preview.quantiles[place])
        self.quantiles_note.setText(
            tr(
                "Estimated from the first four moments, less what noise adds to them: good for"
                " distributions with one peak. The intervals do not cover what other shapes add."
            )
            if preview.quantiles[place] is not None
            else tr(
                "Quantiles of {attribute} can't be estimated: the noise explains all of its"
                " spread. More records, or less noise, would help.",
                attribute=name,
            )
        )
        self._regress()

    def _regress(self) -> None:
        """Show the regression of the picked attribute, on what was ticked as well."""
        preview = self._preview
        if preview is None:
            return
        self._session.runner.cancel(JOB)
        place, ticked = self.picker.places[0], self.beside.names
        self._asked = asked = (preview, place, ticked)
        if not ticked or preview.recovery is None:
            several = len(preview.sample.attributes) > 1
            self._show_regression(asked, preview.regressions[place])
            self.regression_note.setVisible(several)
            return
        self._session.runner.run(
            tr("Estimating a regression"),
            partial(preview.recovery.regression, place, ticked),
            partial(self._show_regression, asked),
            partial(self._show_obstacle, asked),
            key=JOB,
        )

    def _show_regression(self, asked: object, data: EstimatesData | None) -> None:
        preview = self._preview
        if asked is not self._asked or preview is None:
            return
        _show(self.regression, data)
        self.regression_note.show()
        if data is None:
            self.regression_note.setText(
                tr(
                    "How {attribute} depends on the others can't be estimated: there is too much"
                    " noise for so few records.",
                    attribute=preview.sample.attributes[self.picker.places[0]],
                )
            )
            return
        told = tr(
            "Where each column has noise of its own, a plain regression on the released"
            " numbers finds slopes that are too weak: here, as in the recipient's guide, the"
            " noise was taken out of the covariances first."
        )
        if self.beside.names:
            told += " " + tr("Columns that are released as they are enter as they are.")
        self.regression_note.setText(told)

    def _show_obstacle(self, asked: object, error: SfumatoError) -> None:
        """Say why there is no such regression."""
        if asked is not self._asked:
            return
        _show(self.regression, None)
        self.regression_note.setText(" ".join(error_texts(error)))
        self.regression_note.show()


def _show(plot: PlotView, data: EstimatesData | None) -> None:
    plot.setVisible(data is not None)
    if data is not None:
        plot.show_plot(partial(build_number_estimates, data))
