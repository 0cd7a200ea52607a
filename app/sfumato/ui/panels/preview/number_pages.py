"""The pages of the preview for attributes that stay numbers, each answering one question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.previews.number_estimates import EstimatesData
from sfumato.analysis.previews.previewed_numbers import (
    Noise,
    NumberPreview,
    NumberSample,
    Witness,
    linear_estimate,
)
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.values import Floats
from sfumato.formats.language import grouped, shown
from sfumato.plots.axes import amount
from sfumato.plots.estimates import build_number_estimates
from sfumato.plots.numbers import (
    RecordBelief,
    RecordData,
    build_number_distribution,
    build_number_ellipse,
    build_number_intervals,
    build_number_scatter,
)
from sfumato.ui.look.theme import Space, scaled, themes
from sfumato.ui.panels.preview.pages import ROW, TRUE, PlotPage, WorthLine, tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import boxed, column, fill, label, row
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.sheets import TickGrid
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

DIGITS = 3
"""Digits shown of a number, counted from the first of the attribute's spread."""


JOB: Final = "preview regression"
ACROSS: Final = 3


class EstimatesPage(PlotPage):
    """How well a recipient can estimate means, spreads, correlations, quantiles and slopes."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._preview: NumberPreview | None = None
        self.quantiles, self.regression = (
            PlotView(session.chooser, self, session.message.emit) for _ in range(2)
        )
        words = tr(
            "A plain spread of the released numbers is too wide and, where each column has"
            " noise of its own, a plain correlation is too weak: the recipient's guide says"
            " how to correct both, as it was done here."
        )
        self.note = label(words, "muted", wrap=True)
        self.picker = AttributePicker(tr("Quantiles and dependence of"), parent=self)
        self.quantiles_note = label("", "muted", wrap=True)
        self.beside = TickGrid(ACROSS, parent=self)
        explained = label(tr("Explained also by"), "muted")
        self._beside = boxed(column(explained, row(self.beside, None), spacing=Space.TIGHT), self)
        self.regression_note = label("", "muted", wrap=True)
        self.worth = WorthLine(self)
        self.put(
            self.worth,
            self.plot,
            self.note,
            self.picker,
            self.quantiles,
            self.quantiles_note,
            self._beside,
            self.regression,
            self.regression_note,
            None,
        )
        self.picker.chosen.connect(self._draw)
        self.beside.chosen.connect(lambda _names: self._regress())

    def show_preview(self, preview: NumberPreview) -> None:
        """Show estimates, where there are any."""
        self._preview = preview
        self.worth.show_worth(preview.worth)
        self.picker.offer(preview.sample.attributes)
        recovery = preview.recovery
        names = () if recovery is None else tuple(spec.name for spec in recovery.beside)
        self.beside.show_names(names, self.beside.names)
        self._beside.setVisible(bool(names))
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
        if not ticked or preview.recovery is None:
            several = len(preview.sample.attributes) > 1
            self._show_regression(preview, preview.regressions[place])
            self.regression_note.setVisible(several)
            return
        work = partial(preview.recovery.regression, place, ticked)
        take, title = partial(self._show_regression, preview), tr("Estimating a regression")
        self._session.runner.run(title, work, take, self._show_obstacle, key=JOB)

    def _show_regression(self, preview: NumberPreview, data: EstimatesData | None) -> None:
        _show(self.regression, data)
        self.regression_note.show()
        if data is None:
            words = tr(
                "How {attribute} depends on the others can't be estimated: there is too much"
                " noise for so few records.",
                attribute=preview.sample.attributes[self.picker.places[0]],
            )
            self.regression_note.setText(words)
            return
        told = tr(
            "Where each column has noise of its own, a plain regression on the released"
            " numbers finds slopes that are too weak: here, as in the recipient's guide, the"
            " noise was taken out of the covariances first."
        )
        if self.beside.names:
            told += " " + tr("Columns that are released as they are enter as they are.")
        self.regression_note.setText(told)

    def _show_obstacle(self, error: SfumatoError) -> None:
        """Say why there is no such regression."""
        _show(self.regression, None)
        self.regression_note.setText(error_words(error))
        self.regression_note.show()


def _show(plot: PlotView, data: EstimatesData | None) -> None:
    plot.setVisible(data is not None)
    if data is not None:
        plot.show_plot(partial(build_number_estimates, data))


class AttributePicker(QWidget):
    """Chooses one or two of the entry's attributes; hidden where there is nothing to choose.

    Parameters
    ----------
    words
        What stands before the field.
    pair
        Whether two attributes are chosen.
    """

    chosen = Signal()

    def __init__(self, words: str, *, pair: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pair = pair
        self.fields = [ChoiceField(parent=self) for _ in range(2 if pair else 1)]
        self.line = row()
        self.setLayout(self.line)
        self._words = [label(words, "muted"), label(tr("and"), "muted")]
        for name, field in zip(self._words, self.fields, strict=False):
            name.setBuddy(field)
            field.setAccessibleName(words)
            field.setMinimumWidth(scaled(140))
            field.chosen.connect(lambda _value: self.chosen.emit())
            fill(self.line, name, field)
        self.line.addStretch(1)

    def offer(self, attributes: tuple[str, ...]) -> None:
        """Offer an entry's attributes; what was chosen stays where it can."""
        for place, field in enumerate(self.fields):
            known = field.count() > 0
            field.set_choices(list(enumerate(attributes)))
            if not known and place < len(attributes):
                field.set_value(place)
        if self._pair and len(set(self.places)) < 2 and len(attributes) > 1:
            self.fields[1].set_value(1 - min(self.places[0], 1))
        self.setVisible(len(attributes) > (2 if self._pair else 1))

    @property
    def places(self) -> tuple[int, ...]:
        """The positions of the chosen attributes in the entry, in the entry's order."""
        chosen = [field.value for field in self.fields]
        return tuple(sorted(value for value in chosen if isinstance(value, int)))


class NumberSampleModel(CellsModel):
    """A line for each row of the sample, a column for each recipient."""

    def show_sample(self, sample: NumberSample, place: int) -> None:
        """Show other rows, or another attribute of them, by its place in the entry."""
        self._sample, self._place = sample, place
        self._numbers = [side[:, place] for side in (sample.true, *(s.values for s in sample.seen))]
        self._spreads = [self._spread_of(numbers) for numbers in self._numbers]
        names = [
            tr("Row"),
            tr("True {attribute}", attribute=sample.attributes[place]),
            *(seen.recipient for seen in sample.seen),
        ]
        self.lay_out(len(sample.rows), [Heading(name, right=True) for name in names])

    def _spread_of(self, numbers: Floats) -> float:
        """Return the spread that decides about a column's decimals; whole ones have none."""
        known = numbers[np.isfinite(numbers)]
        spread = float(self._sample.spreads[self._place])
        return max(spread, 10.0**DIGITS) if np.array_equal(known, np.round(known)) else spread

    def cell(self, row: int, column: int) -> Cell:
        """Return a row's number, its true value, or what a recipient sees instead."""
        style, sample = themes().current.style, self._sample
        if column == ROW:
            return Cell(grouped(sample.rows[row]), ink=style.muted)
        value = float(self._numbers[column - TRUE][row])
        text = _known(value, self._spreads[column - TRUE])
        if column == TRUE:
            return Cell(text, ink=style.original)
        off = value - float(self._numbers[0][row])
        units = _known(off, float(sample.spreads[self._place]))
        tip = tr("Off by {units}", units=units) if math.isfinite(off) else ""
        return Cell(text, tip, ink=style.released)


def _known(value: float, spread: float) -> str:
    return fixed(value, spread) if math.isfinite(value) else tr("missing")


def fixed(value: float, spread: float) -> str:
    """Return a number with as many decimals as tell in a column of this spread."""
    if spread <= 0 or not 1e-9 < spread < 1e12:
        return amount(value, 6)
    decimals = max(DIGITS - 1 - math.floor(math.log10(spread)), 0)
    return shown(f"{value:,.{decimals}f}")


def typical_error(sample: NumberSample, seen: Floats, place: int) -> float:
    """Return the root of the mean squared error of an attribute in the sample rows."""
    error = seen[:, place] - sample.true[:, place]
    known = error[np.isfinite(error)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else math.nan


class NumberSamplePage(QWidget):
    """Rows as they are and as each recipient sees them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._preview: NumberPreview | None = None
        self._recipient = ""
        self.picker = AttributePicker(tr("Numbers of"), parent=self)
        self.picker.chosen.connect(self._draw)
        self.headline = label("", "heading", wrap=True)
        self.note = label("", "muted", wrap=True)
        self.model = NumberSampleModel(parent=self)
        self.table = TableView(self, row_numbers=False, model=self.model, name=tr("Sample rows"))
        lines = column(
            self.picker,
            self.headline,
            self.note,
            self.table,
            spacing=Space.TIGHT,
            margins=(0, Space.BETWEEN, 0, 0),
        )
        lines.insertSpacing(3, Space.INSIDE)
        lines.setStretch(4, 1)
        self.setLayout(lines)

    def show_preview(self, preview: NumberPreview, recipient: str, *, final: bool) -> None:
        """Show rows; `final` where a release would show these very numbers."""
        self._preview, self._recipient = preview, recipient
        self.picker.offer(preview.sample.attributes)
        words = tr("Every known number is changed; recipients see only their own column.")
        if final:
            words += " " + tr("A release at these levels shows exactly these numbers.")
        else:
            words += " " + tr("Once the project is saved, its own key decides which.")
        self.note.setText(words)
        self._draw()

    def _draw(self) -> None:
        if self._preview is None:
            return
        sample, place = self._preview.sample, self.picker.places[0]
        view = next((seen for seen in sample.seen if seen.recipient == self._recipient), None)
        if view is not None:
            off = typical_error(sample, view.values, place)
            spread = float(sample.spreads[place])
            words = tr(
                "In these {rows} {rows:row|rows}, {recipient} sees {attribute} off by {units},"
                " typically",
                rows=grouped(len(sample.rows)),
                recipient=self._recipient,
                attribute=sample.attributes[place],
                units=fixed(off, spread) if math.isfinite(off) else "–",
            )
            self.headline.setText(words)
        self.model.show_sample(sample, place)
        self.table.fit_columns()


class _PickedPage(PlotPage):
    """A page with a picker above its plot."""

    def __init__(self, session: Session, picker: AttributePicker) -> None:
        super().__init__(session)
        self._preview: NumberPreview | None = None
        self.picker = picker
        self.put(self.picker, self.plot, None)
        self.picker.chosen.connect(self.draw)

    def show_preview(self, preview: NumberPreview) -> None:
        """Show another preview."""
        self._preview = preview
        self.picker.offer(preview.sample.attributes)
        self.draw()

    def draw(self) -> None:
        """Draw the plot for what is picked."""


class DistributionPage(_PickedPage):
    """How the released numbers spread beside the true ones."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, AttributePicker(tr("Numbers of")))

    def draw(self) -> None:
        """Draw both distributions of the picked attribute."""
        if self._preview is not None:
            data = self._preview.distributions[self.picker.places[0]]
            self.plot.show_plot(partial(build_number_distribution, data))


class ScatterPage(_PickedPage):
    """What stays of the dependence between two attributes."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, AttributePicker(tr("Between"), pair=True))

    def draw(self) -> None:
        """Draw the picked pair."""
        if self._preview is None or len(self.picker.places) < 2:
            return
        first, second = self.picker.places
        if first == second:
            first, second = (first, first + 1) if first == 0 else (first - 1, first)
        data = self._preview.scatters.get((first, second))
        if data is not None:
            self.plot.show_plot(partial(build_number_scatter, data))


class NumberRecordPage(_PickedPage):
    """How closely one record can be told, by one recipient and by several together."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, AttributePicker(tr("Between"), pair=True))
        self.row = NumberField(1, 1, decimals=0, step=1, show_range=False)
        self.row.spin.setAccessibleName(tr("Which of the sample rows"))
        self.row.value_changed.connect(lambda _value: self.draw())
        line = row(label(tr("Sample row"), "muted"), self.row, None)
        words = tr(
            "Whoever pools releases of one ladder gains nothing over its most trusted member."
            " With independent noise they could average it away."
        )
        self.note = label(words, "muted", wrap=True)
        self.column.insertLayout(0, line)
        self.column.insertWidget(self.column.count() - 1, self.note)

    def show_preview(self, preview: NumberPreview) -> None:
        """Show another preview; the row stays."""
        self.row.set_range(1, max(len(self._complete(preview)), 1))
        super().show_preview(preview)

    @staticmethod
    def _complete(preview: NumberPreview) -> list[int]:
        """Return the positions of the sample rows in which everything is known."""
        sample = preview.sample
        known = np.isfinite(sample.true).all(axis=1)
        for seen in sample.seen:
            known &= np.isfinite(seen.values).all(axis=1)
        return [int(place) for place in np.flatnonzero(known)]

    def draw(self) -> None:
        """Draw what is believed of the record."""
        preview = self._preview
        if preview is None:
            return
        complete = self._complete(preview)
        members = [seen for seen in preview.sample.seen if seen.noise is not None]
        if not complete or not members:
            self.plot.clear()
            return
        at = complete[min(round(self.row.value), len(complete)) - 1]
        places = list(dict.fromkeys(self.picker.places))
        if len(preview.sample.attributes) > 1 and len(places) < 2:
            places = [places[0], places[0] + 1] if places[0] == 0 else [places[0] - 1, places[0]]
        data = record_data(preview, at, places, members)
        build = build_number_ellipse if len(places) == 2 else build_number_intervals
        self.plot.show_plot(partial(build, data))


def record_data(
    preview: NumberPreview, at: int, places: Sequence[int], members: Sequence[Witness]
) -> RecordData:
    """Return what is believed of one record of the sample.

    Parameters
    ----------
    preview
        What is known of the table and its releases.
    at
        The record's place in the sample.
    places
        One or two attributes, by their places in the entry. Estimates use all of them.
    members
        The recipients whose noise is known, the most trusted first.
    """
    means, covariance = preview.means, preview.covariance
    noises = [member.noise for member in members if member.noise is not None]
    nothing = np.zeros_like(covariance)

    def believed(
        copies: Sequence[Floats], between: Noise, who: str, trust: float | None
    ) -> RecordBelief:
        guess, error = linear_estimate(means, covariance, copies, between)
        return RecordBelief(who, guess[places], error[np.ix_(places, places)], trust)

    def apart(first: int, second: int) -> Floats:
        return noises[first] if first == second else nothing

    def on_ladder(first: int, second: int) -> Floats:
        # Noise grows by independent steps, so two rungs share that of the more trusted one.
        return noises[min(first, second)]

    def own(noise: Floats) -> Noise:
        return lambda _first, _second: noise

    def pooled(copies: Sequence[Floats], between: Noise, who: str) -> RecordBelief:
        return believed(copies, between, who, None)

    alone = [
        believed([member.values[at]], own(noise), member.recipient, member.trust)
        for member, noise in zip(members, noises, strict=True)
    ]
    return RecordData(
        tuple(preview.sample.attributes[place] for place in places),
        preview.sample.rows[at],
        preview.sample.true[at, places],
        RecordBelief(tr("Without any release"), means[places], covariance[np.ix_(places, places)]),
        tuple(alone),
        pooled([m.values[at] for m in members], on_ladder, tr("Together, on the ladder")),
        pooled([m.apart[at] for m in members], apart, tr("Together, independent noise")),
    )
