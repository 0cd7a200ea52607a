"""The page on what a recipient can estimate from noisy numbers."""

from __future__ import annotations

from functools import partial

from app.plots.number_estimates import EstimatesData, build_number_estimates
from app.ui.panels.preview.number_pages import AttributePicker
from app.ui.panels.preview.numbers import NumberPreview
from app.ui.panels.preview.pages import tr
from app.ui.session import Session
from app.ui.theme import Space
from app.ui.widgets.layout import ScrollPage, label
from app.ui.widgets.plot_view import PlotView


class EstimatesPage(ScrollPage):
    """How well a recipient can estimate means, spreads, correlations, quantiles and slopes."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._preview: NumberPreview | None = None
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
        self.regression_note = label("", "muted", wrap=True)
        self.column.setContentsMargins(0, Space.BETWEEN, 0, 0)
        for part in (
            self.plot,
            self.note,
            self.picker,
            self.quantiles,
            self.quantiles_note,
            self.regression,
            self.regression_note,
        ):
            self.column.addWidget(part)
        self.column.addStretch(1)
        for plot in (self.plot, self.quantiles, self.regression):
            plot.failed.connect(session.message)
        self.picker.chosen.connect(self._draw)

    def show_preview(self, preview: NumberPreview) -> None:
        """Show estimates, where there are any."""
        self._preview = preview
        self.picker.offer(preview.sample.attributes)
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
        several = len(preview.sample.attributes) > 1
        _show(self.regression, preview.regressions[place])
        self.regression_note.setVisible(several)
        self.regression_note.setText(
            tr(
                "Where each column has noise of its own, a plain regression on the released"
                " numbers finds slopes that are too weak: here, as in the recipient's guide, the"
                " noise was taken out of the covariances first."
            )
            if preview.regressions[place] is not None
            else tr(
                "How {attribute} depends on the others can't be estimated: there is too much noise"
                " for so few records.",
                attribute=name,
            )
        )


def _show(plot: PlotView, data: EstimatesData | None) -> None:
    plot.setVisible(data is not None)
    if data is not None:
        plot.show_plot(partial(build_number_estimates, data))
