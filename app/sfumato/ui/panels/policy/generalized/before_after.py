"""The table before and after, row beside row, with statistics and the risk of re-identification."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd
from PySide6.QtWidgets import QWidget

from sfumato.analysis.tables.generalized_table import PublishedView
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.generalization.risk import PopulationBasis
from sfumato.formats.language import grouped
from sfumato.plots.generalization import RiskData, build_class_sizes, build_reidentification
from sfumato.project.document.model import Document
from sfumato.project.publication.population import basis_text, open_population, told
from sfumato.project.release.uniqueness import exact_sentence, publication_sentence
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import number, typeset
from sfumato.ui.panels.policy import edits
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField, Segments
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.layout import Card, ScrollPage, button, column, label, row, say
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.responsive import FlowLayout, ResponsiveRow
from sfumato.ui.widgets.tables import FrameModel, TableView

JOB: Final = "population"
LEAST: Final = 0.0001
WHOLE: Final = 100.0
"""Percent: the table is all of the population, which is what counts where nothing is known."""


class PopulationCard(Card):
    """Asks what the table's people are a part of, and says what the risk rests on.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(
            tr("The population"),
            tr(
                "An attacker who does not know that a person is in the table searches the whole"
                " population (the journalist, the marketer). The more people there look like the"
                " person, the lower the risk of re-identification."
            ),
            parent,
        )
        self._session = session
        self.choose = button(tr("Choose a list of the population…"), self._choose, icon="folder")
        self.forget = button(tr("Forget it"), self._forget, "quiet")
        self.body.addLayout(FlowLayout(self.choose, self.forget))
        self.share = NumberField(LEAST, WHOLE, decimals=4, unit="%", step=1.0, show_range=False)
        self.share.spin.setAccessibleName(tr("Share of the population that is in the table"))
        self.share.value_changed.connect(self._set_share)
        line = FlowLayout(
            label(tr("or the table holds"), "muted"),
            self.share,
            label(tr("of the population, sampled with equal probability"), "muted"),
        )
        self.body.addLayout(line)
        self.basis = label("", wrap=True)
        self.unknown = label("", "caution", wrap=True)
        self.problem = label("", "danger", wrap=True)
        for text in (self.basis, self.unknown, self.problem):
            self.body.addWidget(text)

    # ----- what is shown

    def show_view(self, view: PublishedView | None) -> None:
        """Show what is decided, and what came of it."""
        decided = self._session.document.generalization
        if decided is None:
            return
        known = decided.population is not None or decided.sampling_fraction is not None
        self.forget.setVisible(known)
        self.share.setEnabled(decided.population is None)
        fraction = decided.sampling_fraction
        self.share.set_value(WHOLE if fraction is None else 100 * fraction)
        self._say("", "", "")
        if view is None:
            return
        lost = view.population.unknown if view.population is not None else ()
        problem = view.population_problem
        self._say(
            typeset(basis_text(told(view.risks, view.population, fraction))),
            "\n".join(typeset(each.text) for each in lost),
            " ".join(error_texts(problem)) if problem is not None else "",
        )

    def _say(self, *texts: str) -> None:
        for field, text in zip((self.basis, self.unknown, self.problem), texts, strict=True):
            say(field, text)

    # ----- what the person does

    def _choose(self) -> None:
        source = self._session.document.source
        folder = source.folder if source is not None else None
        path = self._session.chooser.open_file(
            tr("Choose a list of the population"), table_filters(), folder
        )
        if path is not None:
            self.open_file(path)

    def open_file(self, path: Path) -> None:
        """Take a file as the population."""
        decided = self._session.document.generalization
        if decided is None:
            return
        before, text = self._session.document, tr("Use {name} as the population", name=path.name)

        def work(context: Context) -> Document:
            found = open_population(path, decided.quasi_identifiers, context)
            return edits.with_population(before, found)

        title = tr("Reading {name}", name=path.name)
        self._session.edit_later(text, work, self._refuse, title=title, key=JOB)

    def _refuse(self, problem: SfumatoError) -> None:
        say(self.problem, " ".join(error_texts(problem)))

    def _set_share(self, percent: float) -> None:
        fraction = None if percent >= WHOLE else percent / 100
        self._session.edit(
            tr("State how much of the population is in the table"),
            edits.with_population(self._session.document, None, fraction),
            merge_key=("sampling fraction",),
        )

    def _forget(self) -> None:
        self._session.edit(
            tr("Forget the population"), edits.with_population(self._session.document, None)
        )


TABLES_HEIGHT: Final = 270
WIDE: Final = 700


class BeforeAfterPage(ScrollPage):
    """Input and output side by side.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: PublishedView | None = None
        self.sentence = label("", "muted", wrap=True)
        self.exact = label("", "caution", wrap=True)
        self.exact.hide()
        self.order = Segments([(False, tr("As in the file")), (True, tr("Class by class"))], self)
        self.order.setAccessibleName(tr("Order of the rows"))
        self.order.chosen.connect(lambda _order: self._arrange())
        self.column.setContentsMargins(0, Space.INSIDE, Space.INSIDE, 0)
        self.put(row((self.sentence, 1), self.order), self.exact)
        self.before, self.after = TableView(self), TableView(self)
        self.before.setAccessibleName(tr("The original table"))
        self.after.setAccessibleName(tr("The published table"))
        self._models: tuple[FrameModel, ...] = ()
        sides = [
            column(label(title, "caption"), table, spacing=Space.TIGHT)
            for title, table in ((tr("Original"), self.before), (tr("Published"), self.after))
        ]
        for table in (self.before, self.after):
            table.setMinimumHeight(scaled(TABLES_HEIGHT))
        self.column.addLayout(row((sides[0], 1), (sides[1], 1), spacing=Space.BETWEEN))
        self._tie()
        self.risk = PlotView(session.chooser, self)
        self.sizes = PlotView(session.chooser, self)
        self.column.addWidget(ResponsiveRow(WIDE, self.risk, self.sizes, parent=self))
        self.population = PopulationCard(session, self)
        self.column.addWidget(self.population)
        self.statistics = TableView(self, row_numbers=False, framed=False, name=tr("Statistics"))
        card = Card(tr("Statistics"), parent=self)
        card.body.addWidget(self.statistics)
        self.put(card, None)

    def _tie(self) -> None:
        """Let both tables scroll, and select, together."""
        for one, other in ((self.before, self.after), (self.after, self.before)):
            one.verticalScrollBar().valueChanged.connect(other.verticalScrollBar().setValue)
            one.horizontalScrollBar().valueChanged.connect(other.horizontalScrollBar().setValue)

    # ----- what is shown

    def show_view(self, view: PublishedView | None, error: SfumatoError | None) -> None:
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
        self._models = (self.before.show_frame(view.before), self.after.show_frame(view.after))
        for place in range(view.before.shape[1]):  # so that they stand below each other
            widest = max(self.before.columnWidth(place), self.after.columnWidth(place))
            for table in (self.before, self.after):
                table.setColumnWidth(place, widest)
        self._arrange()
        risk = RiskData(*view.risks)
        self.risk.show_plot(partial(build_reidentification, risk))
        self.sizes.show_plot(partial(build_class_sizes, risk))
        self._show_statistics(view)
        self.sentence.setText(_sentence(view))

    def _show_exact(self, view: PublishedView | None) -> None:
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

    def _show_statistics(self, view: PublishedView) -> None:
        model = self.statistics.show_frame(statistics(view))
        self.statistics.setFixedHeight(Space.FIELD * (model.rowCount() + 1) + 16)


def statistics(view: PublishedView) -> pd.DataFrame:
    """Return what is counted of a table before and after."""
    before, after = view.risks
    units = (tr("Units"), grouped(before.units), grouped(after.units))
    rows = [
        (tr("Records"), grouped(before.records), grouped(after.records)),
        *([units] if before.by_unit else []),
        (tr("Equivalence classes"), grouped(before.classes), grouped(after.classes)),
        (tr("Smallest class"), grouped(before.smallest), grouped(after.smallest)),
        (tr("Average class"), number(before.average, 4), number(after.average, 4)),
        (tr("Sample uniques"), grouped(before.uniques), grouped(after.uniques)),
    ]
    if view.alone is not None:
        beside = tr("Unique with the columns published unchanged")
        rows.append((beside, grouped(view.alone.before), grouped(view.alone.alone)))
    if after.basis is not PopulationBasis.TABLE:
        was, now = (number(risk.population_uniques, 4) for risk in (before, after))
        rows.append((tr("Unique in the population too"), was, now))
    rows += [
        (tr("Different values of {name}", name=name), grouped(old), grouped(new))
        for name, (old, new) in view.distinct.items()
    ]
    return pd.DataFrame(rows, columns=[tr("Count"), tr("Original"), tr("Published")])


def _sentence(view: PublishedView) -> str:
    risk = view.risks[1]
    words = tr(
        "{records} {records:record|records} in {classes} equivalence {classes:class|classes} with"
        " records of at least {smallest} {smallest:unit|units}."
        if view.risks[0].by_unit
        else (
            "{records} {records:record|records} in {classes} equivalence {classes:class|classes}"
            " of at least {smallest} {smallest:record|records}."
        ),
        records=grouped(risk.records),
        classes=grouped(risk.classes),
        smallest=grouped(risk.smallest),
    )
    if view.left_out and view.made.drops:
        words += " " + tr(
            "{count} {count:record is|records are} left out.", count=grouped(view.left_out)
        )
    elif view.left_out:
        words += " " + tr(
            "{count} {count:record shows|records show} only *.", count=grouped(view.left_out)
        )
    shown = len(view.before)
    if shown < view.risks[0].records:
        words += " " + tr(
            "{shown} {shown:record|records}, drawn evenly, {shown:is|are} shown.",
            shown=grouped(shown),
        )
    return words
