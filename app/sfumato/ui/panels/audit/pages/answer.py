"""The page of every question that needs none of its own: sentences, plots, tables, what helps."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import ClassVar, Final

import numpy as np
import pandas as pd
from PySide6.QtCore import QT_TRANSLATE_NOOP, Qt, Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Answer, AnswerTable, CellKind
from sfumato.analysis.audit_inputs import AuditInputs
from sfumato.analysis.disclosure.small_groups import grouped_entries
from sfumato.analysis.questions.question import AskedNumber, AuditQuestion
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.plots.figure import builder
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import apart, spoken
from sfumato.ui.panels.audit.asking import inputs_from
from sfumato.ui.panels.audit.pages.base import GO, AuditPage, named
from sfumato.ui.panels.audit.pages.groups import QuestionBar
from sfumato.ui.panels.base import PanelState
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.files import FileChooser
from sfumato.ui.widgets.layout import button, column, label, row, say
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.tables import FrameModel, TableView

MOST_LINES: Final = 12
"""Lines of a table in sight; it scrolls through more."""


class AnswerView(QWidget):
    """As many plots and tables as an answer has.

    Parameters
    ----------
    chooser
        Asks where a plot is saved.
    title
        What the tables are of, for who can't see them.
    picks
        Whether a line of a table can be chosen, as the first is then.
    """

    failed = Signal(object)
    """A `Message`: a plot could not be saved."""
    picked = Signal(int)
    """The place of the chosen line among those that the answer has."""

    def __init__(
        self,
        chooser: FileChooser,
        title: str,
        parent: QWidget | None = None,
        *,
        picks: bool = False,
    ) -> None:
        super().__init__(parent)
        self._chooser, self._title, self._picks = chooser, title, picks
        self.plots: list[PlotView] = []
        self.tables: list[TableView] = []
        self._column = column()
        self.setLayout(self._column)

    def show_answer(self, answer: Answer) -> None:
        """Show what an answer has, and nothing else."""
        while len(self.plots) < len(answer.figures):
            self.plots.append(PlotView(self._chooser, self))
            self.plots[-1].failed.connect(self.failed)
            self._column.addWidget(self.plots[-1])
        for plot in self.plots[len(answer.figures) :]:
            plot.clear()
            plot.hide()
        for plot, figure in zip(self.plots, answer.figures, strict=False):
            plot.show_plot(builder(figure))
            plot.show()
        for table in self.tables:
            self._column.removeWidget(table)
            table.deleteLater()
        self.tables = [self._table_of(table) for table in answer.tables]
        for table in self.tables if self._picks else ():
            table.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
            table.setSelectionMode(TableView.SelectionMode.SingleSelection)
            table.selectionModel().selectionChanged.connect(partial(self._pick, table))
            table.selectRow(0)

    def _pick(self, table: TableView, *_changed: object) -> None:
        model = table.model()
        for index in table.selectionModel().selectedRows():
            if isinstance(model, FrameModel):
                self.picked.emit(model.source_row(index.row()))

    def _table_of(self, told: AnswerTable) -> TableView:
        table = TableView(self, row_numbers=False)
        table.setAccessibleName(", ".join((self._title, *told.header)))
        lines = min(len(told.rows), MOST_LINES) + 1
        table.setFixedHeight(Space.FIELD * lines + Space.AROUND)
        table.setSortingEnabled(True)
        table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        table.show_frame(_frame_of(told))
        self._column.addWidget(table)
        return table


def _frame_of(told: AnswerTable) -> pd.DataFrame:
    """Return a table as it is sorted: numbers as such, shares in %."""
    names = list(told.header)
    shown: list[pd.Series] = []
    for place, kind in enumerate(told.columns.values()):
        cells = [row[place] for row in told.rows]
        if kind is CellKind.SHARE and None not in cells:
            names[place] += ", %"
            shown.append(pd.Series(np.round(100.0 * np.array(cells), 1)))
        elif kind is CellKind.NUMBER and None not in cells:
            shown.append(pd.Series([float(f"{cell:.4g}") for cell in cells]))
        elif kind is CellKind.VALUE or (kind is CellKind.COUNT and None not in cells):
            shown.append(pd.Series(cells, dtype=object if kind is CellKind.VALUE else None))
        else:
            shown.append(pd.Series([row[place] for row in told.texts]))
    return pd.DataFrame(dict(enumerate(shown))).set_axis(names, axis=1)


class AnswerPage(AuditPage):
    """Asks a question while somebody looks, and shows one of its answers."""

    question: ClassVar[AuditQuestion]
    nothing: ClassVar[tuple[str, str, str]] = (
        "audit",
        str(QT_TRANSLATE_NOOP("Audit", "Nothing to answer yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Once a sensitive attribute has a mechanism and recipients have levels of trust,"
                " the answer is shown here.",
            )
        ),
    )
    listens: ClassVar[tuple[str, ...]] = (*AuditPage.listens, "profiles_changed", "ledger_changed")
    picks: ClassVar[bool] = False
    """Whether a line of a table can be chosen."""

    def build(self) -> None:
        """Put the choice above the plots, the tables and what helps."""
        self._asked: tuple[object, ...] = ()
        self._answers: tuple[Answer, ...] = ()
        self.inputs: AuditInputs | None = None
        self.asked = ChoiceField(parent=self)
        self.asked.setAccessibleName(self.translated("What the answer is about"))
        self.asked.setSizeAdjustPolicy(ChoiceField.SizeAdjustPolicy.AdjustToContents)
        self.asked.chosen.connect(self._show_chosen)
        self.remedy = label("", wrap=True)
        self.go = button("", self._go)
        self.about = named(self.translated("&About"), self.asked)
        self.bar: QuestionBar | None = None
        if "attribute" in self.question.options:
            options = self.question.options
            self.bar = QuestionBar("recipient" in options, "knows" in options)
            self.bar.changed.connect(self.refresh)
            self._above.insertWidget(0, self.bar)
        self.fields = {spec.name: self._field(spec) for spec in self.question.settings}
        fields = [(spoken(s.title), self.fields[s.name]) for s in self.question.settings]
        self.controls(self.about, *fields, *self.asked_beside(), None)
        self.shown = AnswerView(
            self.session.chooser, self.translated_title(), self, picks=self.picks
        )
        self.shown.failed.connect(self.told)
        self.lay_out()

    # ----- what a page of its own layout changes

    def asked_beside(self) -> tuple[tuple[str, QWidget], ...]:
        """Return what is asked for beside numbers, with its name."""
        return ()

    def lay_out(self) -> None:
        """Put what answers below one another."""
        self.add(self.shown, self.remedy, row(self.go, None))

    def prepare(self, inputs: AuditInputs) -> AuditInputs:
        """Return what is asked of, once it is clear which attribute; fields may follow it."""
        return inputs

    def show_answer(self, answer: Answer) -> None:
        """Show plots and tables of the answer that is chosen."""
        self.shown.show_answer(answer)

    # ----- what is asked

    def _field(self, spec: AskedNumber) -> NumberField:
        """Return the field of a number that the question is asked with, in the line of choices."""
        decimals = 0 if spec.whole else 3
        low = spec.least + (10.0**-decimals if spec.above else 0.0)
        made = NumberField(
            low,
            spec.most,
            decimals=decimals,
            step=spec.step,
            show_range=False,
            width=88,
            given=self.refresh,
            parent=self,
        )
        made.set_value(spec.usual)
        made.setToolTip(spoken(spec.gloss))
        made.spin.setAccessibleName(spoken(spec.gloss))
        return made

    @classmethod
    def translated_title(cls) -> str:
        """Return the question's title in the person's language."""
        return spoken(cls.question.title)

    def state(self) -> PanelState:
        """Return whether there is an answer."""
        return PanelState.DONE if self._answers else PanelState.EMPTY

    def has_material(self) -> bool:
        """Return whether there is anything to ask about."""
        if self.question.of_counts and not self.session.steps.count_tables():
            return False
        insight = self.session.insight()
        if "by" not in self.question.options:
            return self.question.applies(self.session.document, None)
        if insight is None:
            return False
        known = insight.repeated if insight.looked_for_units else None
        may = known is not None or insight.may_repeat
        return may and self.question.applies(self.session.document, known)

    def refresh(self, _changed: object = None) -> None:
        """Ask, where something has changed and somebody looks."""
        if not self.isVisible():
            return
        if "by" in self.question.options:
            self.session.look_for_units()
        asked, inputs = self._inputs()
        if inputs is None:
            self._keep(asked, ())
        elif asked != self._asked:
            self._asked, self.inputs = asked, inputs

            def work(context: Context) -> tuple[Answer, ...]:
                return tuple(self.question.answers(inputs, context))

            title = self.translated_title()
            shown, failed = partial(self._keep, asked), self._fail
            self.session.runner.run(title, work, shown, failed, key=self.job)

    def _inputs(self) -> tuple[tuple[object, ...], AuditInputs | None]:
        """Return what is open as the question asks of it, after what tells it from before."""
        asked, inputs = inputs_from(self.session)
        if inputs is None:
            return asked, None
        for spec in self.question.settings:
            if spec.of_rows:
                self.fields[spec.name].set_range(spec.least, inputs.rows.rows)
        if self.bar is not None:
            document = inputs.document
            named = grouped_entries(document, inputs.attributes)
            self.bar.offer(
                document, named if "knows" in self.question.options else inputs.attributes
            )
            name, knows = str(self.bar.attribute.value or ""), self.bar.knowledge.names
            whom = (str(self.bar.recipient.value or ""),)
            if not name or not (self.bar.recipient.isHidden() or all(whom)):
                return asked, None
            inputs = replace(inputs, attribute=name, knows=knows)
            if "recipient" in self.question.options:
                inputs = replace(inputs, recipients=whom)
        inputs = self.prepare(inputs)
        settings = {name: field.value for name, field in self.fields.items()}
        inputs = replace(inputs, settings=settings)
        told = (inputs.attribute, inputs.knows, inputs.recipients, inputs.rule)
        return (*asked, *told, *settings.values()), inputs

    def _keep(self, asked: tuple[object, ...], found: tuple[Answer, ...]) -> None:
        """Offer what the answers are about, and show the one that is chosen."""
        self._asked, self._answers = asked, found
        abouts = dict.fromkeys(answer.about for answer in found)
        self.asked.set_choices([(about, spoken(about)) for about in abouts])
        self.about.setVisible(len(abouts) > 1)
        self.show_work(bool(found))
        self._show_chosen()
        self.state_changed.emit()

    def _fail(self, error: SfumatoError) -> None:
        self._keep(self._asked, ())
        self.show_work(True)
        self.refuse(error)

    def _show_chosen(self, _chosen: object = None) -> None:
        """Show the first answer about what is chosen."""
        about = self.asked.value
        answer = next((one for one in self._answers if one.about == about), Answer(()))
        told = partial(apart, columns=self.session.document.column_names)
        first, *others = (*map(told, answer.sentences), "")
        self.say(first, " ".join(filter(None, (*others, *map(told, answer.notes)))))
        say(self.remedy, " ".join(map(told, answer.remedies)))
        self.go.setVisible(bool(answer.leads_to))
        if answer.leads_to:
            self.go.setText(self.translated(GO[answer.leads_to]))
        self.show_answer(answer)

    def _go(self) -> None:
        answer = next(one for one in self._answers if one.about == self.asked.value)
        self.session.panel_requested.emit(answer.leads_to)


@cache
def page_of(question: AuditQuestion) -> type[AnswerPage]:
    """Return the page of a question."""
    told = {
        "question": question,
        "topic": question.topic,
        "order": question.order,
        "job": f"audit {question.name}",
    }
    name = question.name.title().replace("-", "")
    return type(f"{name}Page", (AnswerPage,), told)
