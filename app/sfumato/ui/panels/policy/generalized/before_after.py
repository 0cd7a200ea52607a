"""The table before and after, row beside row, with statistics and the risk of being found."""

from __future__ import annotations

from functools import partial
from typing import Final

import pandas as pd
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.risk import Basis
from sfumato.plots.reidentification import RiskData, build_class_sizes, build_reidentification
from sfumato.project.release.uniqueness import exact_sentence, publication_sentence
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import grouped, number, typeset
from sfumato.ui.panels.policy.generalized.computing import View
from sfumato.ui.panels.policy.generalized.population_card import PopulationCard
from sfumato.ui.panels.policy.generalized.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import Card, ScrollPage, label
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.responsive import ResponsiveRow
from sfumato.ui.widgets.tables import FrameModel, TableView

TABLES_HEIGHT: Final = 270
WIDE: Final = 700
STATISTICS_ROW: Final = 32


class BeforeAfterPage(ScrollPage):
    """Input and output side by side.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: View | None = None
        self.sentence = label("", "muted", wrap=True)
        self.exact = label("", "caution", wrap=True)
        self.exact.hide()
        self.order = Segments([(False, tr("As in the file")), (True, tr("Class by class"))], self)
        self.order.setAccessibleName(tr("Order of the rows"))
        self.order.chosen.connect(lambda _order: self._arrange())
        head = QHBoxLayout()
        head.addWidget(self.sentence, 1)
        head.addWidget(self.order)
        self.column.setContentsMargins(0, Space.INSIDE, Space.INSIDE, 0)
        self.column.addLayout(head)
        self.column.addWidget(self.exact)
        self.before, self.after = TableView(self), TableView(self)
        self.before.setAccessibleName(tr("The table as it is"))
        self.after.setAccessibleName(tr("The table as it is published"))
        self._models: tuple[FrameModel, ...] = ()
        sides = QHBoxLayout()
        sides.setSpacing(Space.BETWEEN)
        for title, table in (
            (tr("As it is"), self.before),
            (tr("As it is published"), self.after),
        ):
            table.setMinimumHeight(TABLES_HEIGHT)
            side = QVBoxLayout()
            side.setSpacing(Space.TIGHT)
            side.addWidget(label(title, "caption"))
            side.addWidget(table)
            sides.addLayout(side, 1)
        self.column.addLayout(sides)
        self._tie()
        self.risk = PlotView(session.chooser, self)
        self.sizes = PlotView(session.chooser, self)
        plots = ResponsiveRow(WIDE, parent=self)
        plots.add(self.risk)
        plots.add(self.sizes)
        self.column.addWidget(plots)
        self.population = PopulationCard(session, self)
        self.column.addWidget(self.population)
        self.statistics = TableView(self, row_numbers=False)
        self.statistics.setProperty("framed", False)
        self.statistics.setAccessibleName(tr("Statistics"))
        card = Card(tr("Statistics"), parent=self)
        card.body.addWidget(self.statistics)
        self.column.addWidget(card)
        self.column.addStretch(1)

    def _tie(self) -> None:
        """Let both tables scroll, and select, together."""
        for one, other in ((self.before, self.after), (self.after, self.before)):
            one.verticalScrollBar().valueChanged.connect(other.verticalScrollBar().setValue)
            one.horizontalScrollBar().valueChanged.connect(other.horizontalScrollBar().setValue)

    # ----- what is shown

    def show_view(self, view: View | None, error: SfumatoError | None) -> None:
        """Show a table, or why there is none."""
        self._view = view
        self.population.show_view(view)
        self._show_exact(view)
        if view is None:
            for table in (self.before, self.after, self.statistics):
                table.setModel(None)
            self._models = ()
            self.risk.clear()
            self.sizes.clear()
            self.sentence.setText(
                " ".join(error_texts(error)) if error is not None else tr("Making the table…")
            )
            return
        self._models = (FrameModel(view.before), FrameModel(view.after))
        for table, model in zip((self.before, self.after), self._models, strict=True):
            model.setParent(table)
            table.setModel(model)
            table.fit_columns()
        for column in range(view.before.shape[1]):  # so that they stand below each other
            widest = max(self.before.columnWidth(column), self.after.columnWidth(column))
            for table in (self.before, self.after):
                table.setColumnWidth(column, widest)
        self._arrange()
        risk = RiskData(*view.risks)
        self.risk.show_plot(partial(build_reidentification, risk))
        self.sizes.show_plot(partial(build_class_sizes, risk))
        self._show_statistics(view)
        self.sentence.setText(_sentence(view))

    def _show_exact(self, view: View | None) -> None:
        """Say who is alone by columns that the counts below know nothing of."""
        alone = view.alone if view is not None else None
        self.exact.setVisible(alone is not None)
        if alone is not None:
            texts = (exact_sentence(alone.exact), publication_sentence(alone))
            self.exact.setText(" ".join(typeset(text) for text in texts))

    def _arrange(self) -> None:
        if self._view is not None:
            order = self._view.grouped if self.order.value else None
            for model in self._models:
                model.set_order(order)

    def _show_statistics(self, view: View) -> None:
        model = FrameModel(statistics(view))
        model.setParent(self.statistics)
        self.statistics.setModel(model)
        self.statistics.fit_columns()
        self.statistics.setFixedHeight(STATISTICS_ROW * (model.rowCount() + 1) + 16)


def statistics(view: View) -> pd.DataFrame:
    """Return what is counted of a table before and after."""
    before, after = view.risks
    rows = [
        (tr("Records"), grouped(before.records), grouped(after.records)),
        (tr("Classes of people alike"), grouped(before.classes), grouped(after.classes)),
        (tr("Smallest class"), grouped(before.smallest), grouped(after.smallest)),
        (tr("Average class"), number(before.average, 4), number(after.average, 4)),
        (tr("People who are unique"), grouped(before.uniques), grouped(after.uniques)),
    ]
    if view.alone is not None:
        beside = tr("Unique with the columns published unchanged")
        rows.append((beside, grouped(view.alone.before), grouped(view.alone.alone)))
    if after.basis is not Basis.TABLE:
        was, now = (number(risk.population_uniques, 4) for risk in (before, after))
        rows.append((tr("Unique in the population too"), was, now))
    rows += [
        (tr("Different values of {name}", name=name), grouped(old), grouped(new))
        for name, (old, new) in view.distinct.items()
    ]
    return pd.DataFrame(rows, columns=[tr("Count"), tr("As it is"), tr("As it is published")])


def _sentence(view: View) -> str:
    risk = view.risks[1]
    words = tr(
        "{records} records in {classes} classes of at least {smallest} people who look alike.",
        records=grouped(risk.records),
        classes=grouped(risk.classes),
        smallest=grouped(risk.smallest),
    )
    if view.left_out and view.publication.suppressed == "dropped":
        words += " " + tr("{count} records are left out.", count=grouped(view.left_out))
    elif view.left_out:
        words += " " + tr("{count} records show * only.", count=grouped(view.left_out))
    return words
