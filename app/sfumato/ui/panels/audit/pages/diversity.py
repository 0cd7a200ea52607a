"""What a generalized table and other holders' tables tell together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

import pandas as pd
from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QItemSelection, Qt, Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.class_beliefs import (
    ClassAnswer,
    class_answer,
    known_correlation,
    ways_sentence,
)
from sfumato.analysis.composition import MOST_BREACHES, Beside, answer_of, beside_others
from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.beliefs import ImaginaryTables
from sfumato.engine.generalization.others import HolderClasses
from sfumato.formats.language import grouped
from sfumato.plots.beliefs import build_belief_growth, build_beliefs
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import filled_in, spoken, typeset
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card, boxed, button, column, fill, form, label, row
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import FrameModel, TableView

JOB: Final = "audit other holders"
USUAL_L: Final = 2
TABLE_ROW: Final = 32
BREACHES_HEIGHT: Final = 260


CORRELATION_JOB: Final = "audit other holders correlation"
MOST_OFFERED: Final = 400
"""Classes of a table that can be chosen here; a combination from the list brings any other."""
MOST_WAYS: Final = 200
WAYS_HEIGHT: Final = 180


MOST_VALUES = 8


def tr(template: str, **details: object) -> str:
    """Return a sentence about other holders' tables in the person's language, filled in."""
    return filled_in(QCoreApplication.translate("OtherHolders", template), **details)


def breaches_frame(found: Beside) -> pd.DataFrame:
    """Return a row for each combination that breaks l."""
    rows = []
    for breach in found.breaches:
        names = [found.values[code] for code in breach.remaining[:MOST_VALUES]]
        rows.append(
            (
                len(breach.remaining),
                ", ".join(map(str, names)) or tr("none"),
                *(
                    holder.describe(number)
                    for holder, number in zip(found.holders, breach.classes, strict=True)
                ),
                ", ".join(breach.needed) or tr("several"),
                breach.combinations,
            )
        )
    heads = [
        tr("Left"),
        tr("Values"),
        *(holder.holder for holder in found.holders),
        tr("Caused by"),
        tr("Alike"),
    ]
    return pd.DataFrame(rows, columns=heads)


def breaches_sentence(found: Beside) -> str:
    """Return how many combinations break l."""
    count = len(found.breaches)
    if not count:
        return tr("There are none.")
    if count >= MOST_BREACHES:
        return tr("At least {count}; these come first. Choose one to see it.", count=grouped(count))
    if count == 1:
        return tr("One; what it tells is shown below.")
    return tr("{count} of them. Choose one to see what it tells.", count=grouped(count))


class PersonCard(QWidget):
    """The belief about somebody whose class in each table is known.

    Parameters
    ----------
    session
        What is open.
    """

    told = Signal(object)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        title = label(tr("What the tables tell about one person"), "heading", wrap=True)
        asked = tr("Choose the class that the person is in, in each table.")
        self.body = column(title, label(asked, "muted", wrap=True), margins=(0, Space.INSIDE, 0, 0))
        self.setLayout(self.body)
        self._session = session
        self._found: Beside | None = None
        self._told: ClassAnswer | None = None
        self.classes: list[ChoiceField] = []
        self._form = form()
        self._form.setVerticalSpacing(Space.TIGHT)
        self.body.addLayout(self._form)
        self.plot = PlotView(session.chooser, self)
        self.plot.failed.connect(self.told)
        self.growth = PlotView(session.chooser, self)
        self.growth.failed.connect(self.told)
        self.nobody = label("", "muted", wrap=True)
        self.range = label("", "muted", wrap=True)
        fill(self.body, self.nobody, self.plot, self.range, self.growth)
        shared = tr("Where it is known how many people they share")
        self.body.addWidget(label(shared, "caption", wrap=True))
        self.share = NumberField(0.1, 100.0, decimals=1, unit="%", step=5.0, show_range=True)
        self.share.set_value(50.0)
        self.share.spin.setAccessibleName(tr("Share of people in all the other classes"))
        self.of = ChoiceField(parent=self, name=tr("Table whose class the share is of"))
        self.count = button(tr("Count the ways"), self._count)
        whose = boxed(row(label(tr("of the class of"), "muted"), self.of))
        self.body.addLayout(FlowLayout(self.share, whose, self.count))
        self.ways_text = label(
            tr("Every way in which these people can have the values is then equally likely."),
            "muted",
            wrap=True,
        )
        self.body.addWidget(self.ways_text)
        self.ways = TableView(self, row_numbers=False, name=tr("Ways"))
        self.ways.setFixedHeight(scaled(WAYS_HEIGHT))
        self.ways.hide()
        self.body.addWidget(self.ways)

    # ----- what is shown

    def show_tables(self, found: Beside) -> None:
        """Offer the classes of other tables."""
        self._found = found
        while self._form.rowCount():
            self._form.removeRow(0)
        self.classes = []
        for holder in found.holders:
            field = ChoiceField(_offered(holder), self)
            field.setAccessibleName(tr("Class in the table of {holder}", holder=holder.holder))
            field.setMinimumContentsLength(20)
            field.setSizeAdjustPolicy(
                ChoiceField.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            field.chosen.connect(self._show)
            self.classes.append(field)
            self._form.addRow(holder.holder, field)
        self.of.set_choices([(n, holder.holder) for n, holder in enumerate(found.holders)])
        if found.meeting is not None and found.shared:
            self.choose(found.meeting.some_that_meet())
        else:
            self._show()

    def choose(self, classes: Sequence[int]) -> None:
        """Look at the person of a combination."""
        if self._found is None:
            return
        for holder, field, number in zip(self._found.holders, self.classes, classes, strict=True):
            if number >= MOST_OFFERED:
                field.set_choices([*_offered(holder), (number, holder.describe(number))])
            field.set_value(number)
        self._show()

    @property
    def chosen(self) -> tuple[int, ...]:
        """The class of each table."""
        return tuple(int(str(field.value)) for field in self.classes)

    def _show(self, _value: object = None) -> None:
        self._session.runner.cancel(CORRELATION_JOB)
        self.ways.hide()
        self.ways_text.setText(
            tr("Every way in which these people can have the values is then equally likely.")
        )
        if self._found is None or not self._found.holders:
            self._told = None
            self.plot.clear()
            self.growth.clear()
            return
        self._told = class_answer(self._found, self.chosen)
        reason = self._told.reason
        self.nobody.setText("" if reason is None else spoken(reason))
        self.nobody.setVisible(reason is not None)
        for part in (self.plot, self.range, self.growth):
            part.setVisible(reason is None)
        if reason is None:
            self.range.setText(typeset(self._told.ranges))
            self.growth.show_plot(partial(build_belief_growth, self._told.growth_drawn))
            self._draw(None)

    def _draw(self, correlated: ImaginaryTables | None) -> None:
        if self._told is not None and self._told.belief is not None:
            self.plot.show_plot(partial(build_beliefs, self._told.drawn(correlated)))

    # ----- a known correlation

    def _count(self) -> None:
        if self._found is None or not self._found.holders:
            return
        within = self._found.within(self.chosen)
        if within is None:
            return  # which stands above
        of = int(str(self.of.value))
        self._session.runner.run(
            tr("Counting the ways"),
            partial(
                known_correlation,
                *within,
                self.share.value / 100,
                of,
            ),
            self._show_ways,
            self._refuse,
            key=CORRELATION_JOB,
        )

    def _refuse(self, error: SfumatoError) -> None:
        self.ways_text.setText(" ".join(error_texts(error)))
        self.ways.hide()

    def _show_ways(self, found: ImaginaryTables) -> None:
        if self._found is None:
            return
        self.ways_text.setText(typeset(ways_sentence(found, self._found.values)))
        values = tuple(map(str, self._found.values))
        shown = [code for code, most in enumerate(found.most) if most > 0]
        listed = found.listed(MOST_WAYS)
        frame = pd.DataFrame(
            [[way[code] for code in shown] for way in listed],
            columns=[values[code] for code in shown],
        )
        model = FrameModel(frame)
        model.setParent(self.ways)
        self.ways.setModel(model)
        self.ways.fit_columns()
        self.ways.setVisible(bool(listed))
        self._draw(found)


def _offered(holder: HolderClasses) -> list[tuple[int, str]]:
    shown = min(holder.classes, MOST_OFFERED)
    return [(number, holder.describe(number)) for number in range(shown)]


class DiversityPage(AuditPage):
    """Which combinations of classes narrow a value too far, and whose table is the cause."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Other holders"))
    topic: ClassVar[Topic] = Topic.GROUPS
    order: ClassVar[int] = 60
    nothing: ClassVar[tuple[str, str, str]] = (
        "people",
        str(QT_TRANSLATE_NOOP("Audit", "No other holder's table yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Where others published tables about the same people, this page shows what all of"
                " them tell together. Add them under Policy, Generalized table.",
            )
        ),
    )
    listens: ClassVar[tuple[str, ...]] = ("document_changed", "table_changed")

    def build(self) -> None:
        """Put the tables, the combinations and one person's belief below one another."""
        self.found: Beside | None = None
        self._failed = False
        self._asked: tuple[object, ...] = ()
        self._stated_l: float | None = None
        self.sheet.column.setContentsMargins(0, 0, Space.INSIDE, 0)
        self.ours = ChoiceField(parent=self, name=tr("Our table"), least=230, chosen=self.ask)
        self.l = NumberField(1, 1000, decimals=0, step=1.0, show_range=True)
        self.l.set_value(USUAL_L)
        self.l.spin.setAccessibleName(tr("Values that should remain"))
        self.l.value_changed.connect(self._state_l)
        self.controls(
            (tr("Our table"), self.ours), (tr("Values that should remain, l"), self.l), None
        )
        holders = Card(tr("What each table contributes"), parent=self)
        self.holders = self._table(tr("Tables"))
        holders.body.addWidget(self.holders)
        broken = Card(
            tr("Combinations of classes that leave too few values"),
            tr(
                "Nobody can tell in general which classes belong together, so every combination"
                " counts, even one that belongs to nobody."
            ),
            self,
        )
        self.count = label("", "muted", wrap=True)
        self.breaches = self._table(tr("Combinations"))
        self.breaches.setSelectionMode(TableView.SelectionMode.SingleSelection)
        self.breaches.setSortingEnabled(True)
        broken.put(self.count, self.breaches)
        self.person = PersonCard(self.session, self)
        self.person.told.connect(self.told)
        self.cards = boxed(column(holders, broken, self.person, spacing=Space.BETWEEN), self)
        self.add(self.cards)

    def _table(self, name: str) -> TableView:
        made = TableView(self, row_numbers=False, framed=False, name=name, whole_rows=True)
        made.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        return made

    # ----- the question

    def state(self) -> PanelState:
        """Return whether the tables have been compared, and keep l."""
        if not self._has_others():
            return PanelState.EMPTY
        if self._failed or (self.found is not None and not self.found.standing.holds):
            return PanelState.ATTENTION
        return PanelState.DONE if self.found is not None else PanelState.IN_PROGRESS

    def has_material(self) -> bool:
        """Return whether other holders' tables were named."""
        return self._has_others()

    def _has_others(self) -> bool:
        decided = self.session.document.generalization
        return self.session.source is not None and decided is not None and bool(decided.others)

    def refresh(self, _changed: object = None) -> None:
        """Offer what can be compared, and compare it, now that somebody looks."""
        decided = self.session.document.generalization
        if not self._has_others() or decided is None:
            self.session.runner.cancel(JOB)
            self.found, self._asked = None, ()
            self.show_work(False)
            self.state_changed.emit()
            return
        self.show_work(True)
        names = decided.quasi_identifiers
        pinned = [
            (node, ", ".join(f"{n} {at}" for n, at in zip(names, node, strict=True)))
            for node in decided.pinned
            if len(node) == len(names)
        ]
        self.ours.set_choices(
            [
                (True, tr("as it would be published")),
                *((node, tr("pinned: {levels}", levels=words)) for node, words in pinned),
                (False, tr("left out: only the others'")),
            ]
        )
        if self._stated_l is None:
            stated = [c.numbers["l"] for c in decided.criteria if c.kind == "distinct-diversity"]
            self.l.set_value(stated[0] if stated else USUAL_L)
        self.ask()

    def _state_l(self, value: float) -> None:
        self._stated_l = value
        self.ask()

    def ask(self, _choice: object = None) -> None:
        """Start comparing; a hidden page waits."""
        document, table = self.session.document, self.session.source
        if not self.isVisible() or not self._has_others() or table is None:
            return
        ours, needed = self.ours.value, int(self.l.value)
        asked = (id(table), document.generalization, document.columns, ours, needed)
        if asked == self._asked:
            return
        self._asked, self.found, self._failed = asked, None, False
        self.say(tr("Comparing the tables…"), "", "clock", "muted")
        self.cards.hide()
        wanted = ours if isinstance(ours, bool | tuple) else True
        self.session.runner.run(
            tr("Comparing published tables"),
            lambda context: beside_others(
                document, table, wanted, needed, tr("this table"), context
            ),
            partial(self._show, asked),
            partial(self._fail, asked),
            key=JOB,
        )
        self.state_changed.emit()

    # ----- the answer

    def _show(self, asked: tuple[object, ...], found: Beside) -> None:
        if asked != self._asked:
            return
        self.found = found
        token = "good" if found.standing.holds else "danger"
        answer = answer_of(found, self.session.document)
        first, *others = map(typeset, answer.sentences)
        self.say(first, " ".join(others), token)
        [table] = answer.tables
        self._fill(
            self.holders,
            FrameModel(pd.DataFrame(table.texts, columns=[spoken(each) for each in table.columns])),
        )
        self.holders.setFixedHeight(TABLE_ROW * (len(found.holders) + 1) + 16)
        self._fill(self.breaches, FrameModel(breaches_frame(found)))
        self.breaches.setVisible(bool(found.breaches))
        needed = TABLE_ROW * (len(found.breaches) + 1) + 24
        self.breaches.setFixedHeight(min(needed, BREACHES_HEIGHT))
        self.l.set_range(1, max(len(found.values), self.l.value))
        self.count.setText(breaches_sentence(found))
        self.breaches.selectionModel().selectionChanged.connect(self._choose)
        self.person.show_tables(found)
        if found.breaches:
            self.breaches.selectRow(0)
        self.cards.show()
        self.state_changed.emit()

    def _fill(self, table: TableView, model: FrameModel) -> None:
        model.setParent(table)
        table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        table.setModel(model)
        table.fit_columns()

    def _fail(self, asked: tuple[object, ...], error: SfumatoError) -> None:
        if asked == self._asked:
            self._failed = True
            self.refuse(error)
            self.cards.hide()
            self.state_changed.emit()

    def _choose(self, _chosen: QItemSelection, _left: QItemSelection) -> None:
        rows = self.breaches.selectionModel().selectedRows()
        model = self.breaches.model()
        if rows and self.found is not None and isinstance(model, FrameModel):
            breach = self.found.breaches[model.source_row(rows[0].row())]
            self.person.choose(breach.classes)


PAGE = DiversityPage
