"""The pages of the preview for attributes that stay numbers, each answering one question."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from sfumato.plots.number_distribution import build_number_distribution
from sfumato.plots.number_ellipse import build_number_ellipse
from sfumato.plots.number_intervals import build_number_intervals
from sfumato.plots.number_scatter import build_number_scatter
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.preview.number_record import record_data
from sfumato.ui.panels.preview.number_sample_model import NumberSampleModel, fixed, typical_error
from sfumato.ui.panels.preview.numbers import NumberPreview
from sfumato.ui.panels.preview.pages import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import ScrollPage, column, label
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.tables import TableView


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
        self.line = QHBoxLayout(self)
        self.line.setContentsMargins(0, 0, 0, 0)
        self.line.setSpacing(Space.INSIDE)
        self._words = [label(words, "muted"), label(tr("and"), "muted")]
        for name, field in zip(self._words, self.fields, strict=False):
            name.setBuddy(field)
            field.setAccessibleName(words)
            field.setMinimumWidth(140)
            field.chosen.connect(lambda _value: self.chosen.emit())
            self.line.addWidget(name)
            self.line.addWidget(field)
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
        self.model = NumberSampleModel(self)
        self.table = TableView(self, row_numbers=False)
        self.table.setModel(self.model)
        self.table.setAccessibleName(tr("Sample rows"))
        lines = column(self.picker, self.headline, self.note, self.table, spacing=Space.TIGHT)
        lines.setContentsMargins(0, Space.BETWEEN, 0, 0)
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
            self.headline.setText(
                tr(
                    "In these {rows} rows, {recipient} sees {attribute} off by {units}, typically",
                    rows=len(sample.rows),
                    recipient=self._recipient,
                    attribute=sample.attributes[place],
                    units=fixed(off, spread) if math.isfinite(off) else "–",
                )
            )
        self.model.show_sample(sample, place)
        self.table.fit_columns()


class _PlotPage(ScrollPage):
    """A page with a picker above a plot."""

    def __init__(self, session: Session, picker: AttributePicker) -> None:
        super().__init__()
        self._preview: NumberPreview | None = None
        self.picker = picker
        self.plot = PlotView(session.chooser, self)
        self.plot.failed.connect(session.message)
        self.column.setContentsMargins(0, Space.BETWEEN, 0, 0)
        self.column.addWidget(self.picker)
        self.column.addWidget(self.plot)
        self.column.addStretch(1)
        self.picker.chosen.connect(self.draw)

    def show_preview(self, preview: NumberPreview) -> None:
        """Show another preview."""
        self._preview = preview
        self.picker.offer(preview.sample.attributes)
        self.draw()

    def draw(self) -> None:
        """Draw the plot for what is picked."""


class DistributionPage(_PlotPage):
    """How the released numbers spread beside the true ones."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, AttributePicker(tr("Numbers of")))

    def draw(self) -> None:
        """Draw both distributions of the picked attribute."""
        if self._preview is not None:
            data = self._preview.distributions[self.picker.places[0]]
            self.plot.show_plot(partial(build_number_distribution, data))


class ScatterPage(_PlotPage):
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


class RecordPage(_PlotPage):
    """How closely one record can be told, by one recipient and by several together."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, AttributePicker(tr("Between"), pair=True))
        self.row = NumberField(1, 1, decimals=0, step=1, show_range=False)
        self.row.spin.setAccessibleName(tr("Which of the sample rows"))
        self.row.value_changed.connect(lambda _value: self.draw())
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        line.addWidget(label(tr("Sample row"), "muted"))
        line.addWidget(self.row)
        line.addStretch(1)
        self.note = label(
            tr(
                "Whoever pools releases of one ladder gains nothing over its most trusted member."
                " With independent noise they could average it away."
            ),
            "muted",
            wrap=True,
        )
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
