"""The custodian plays recipient: what each release answers to count queries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from sfumato.analysis.disclosure.attacker import Attacked
from sfumato.analysis.disclosure.small_groups import RiskSubject, grouped_entries
from sfumato.analysis.previews.count_answers import (
    PoolResult,
    QueryDesk,
    answer_of_pool,
    answer_of_query,
    answer_pool,
    open_desk,
)
from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.columns import MISSING_LABEL
from sfumato.engine.core.errors import EstimationError, SfumatoError
from sfumato.engine.core.values import Value, sort_key
from sfumato.engine.disclosure.group_risk import (
    QueryPoint,
    RiskLimits,
    RiskSetting,
)
from sfumato.engine.mechanisms import all_mechanisms
from sfumato.engine.mechanisms.base import GroupProtection
from sfumato.engine.table.micro_groups import PublicAttribute
from sfumato.plots.figure import builder
from sfumato.plots.groups import build_query_error_curves
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import typeset, value_name
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.audit.pages.groups import NO_GROUPS, QuestionBar
from sfumato.ui.panels.base import PanelState
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import Card, button, column, label, row
from sfumato.ui.widgets.messages import Message, error_texts
from sfumato.ui.widgets.tables import show_value

JOB: Final = "audit count queries"
POOL_JOB: Final = "audit query pool"
CURVES_JOB: Final = "audit query curves"
START_RETENTION: Final = 0.5


ANY = ("any",)
"""What stands for no condition; no value of a column is a tuple."""
MOST_VALUES = 2_000
"""Values offered of one column."""
FIELD_WIDTH = 190


class QueryForm(QWidget):
    """Fields that a person fills in to ask how many records are like this."""

    changed = Signal()
    """The person asked something else."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(Space.INSIDE)
        self.value = ChoiceField(parent=self, chosen=self._tell)
        self.conditions: dict[str, ChoiceField] = {}
        self._cells: list[QWidget] = []

    def offer(self, known: Attacked) -> None:
        """Offer the values that occur; choices stay where they can."""
        before = {name: field.value for name, field in self.conditions.items()}
        value = self.value.value
        for cell in self._cells:
            self._grid.removeWidget(cell)
            self.value.setParent(self)
            cell.deleteLater()
        self._cells, self.conditions = [], {}
        for attribute in known.grouped.attributes:
            field = ChoiceField(_choices(attribute, self.tr("any")), self)
            field.set_value(before.get(attribute.name, ANY))
            field.chosen.connect(self._tell)
            self.conditions[attribute.name] = field
            self._cells.append(_named(attribute.name, field))
        domain = known.attribute.domain
        names = domain.names if domain is not None else ()
        self.value.set_choices(list(enumerate(map(value_name, names))))
        self.value.set_value(value)
        self._cells.append(_named(known.attribute.name, self.value))
        self._arrange()

    @property
    def asked(self) -> dict[str, Value]:
        """The conditions on public columns."""
        return {
            name: field.value  # type: ignore[misc]
            for name, field in self.conditions.items()
            if field.value != ANY
        }

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put as many fields side by side as there is room for."""
        super().resizeEvent(event)
        self._arrange()

    def minimumSizeHint(self) -> QSize:
        """Ask for no more width than one field: then there are several lines."""
        widths = [cell.minimumSizeHint().width() for cell in self._cells]
        return QSize(max(widths, default=0), super().minimumSizeHint().height())

    def _arrange(self) -> None:
        across = max(self.width() // (scaled(FIELD_WIDTH) + Space.INSIDE), 1)
        for place, cell in enumerate(self._cells):
            self._grid.addWidget(cell, place // across, place % across)
        for place in range(self._grid.columnCount()):
            self._grid.setColumnStretch(place, 1 if place < across else 0)

    def _tell(self, _chosen: object) -> None:
        self.changed.emit()


def _named(name: str, field: ChoiceField) -> QWidget:
    cell = QWidget()
    title = label(name, "muted", wrap=True)
    title.setBuddy(field)
    field.setAccessibleName(name)
    field.setMinimumWidth(scaled(120))
    cell.setLayout(column(title, field, spacing=Space.TIGHT))
    return cell


def _choices(attribute: PublicAttribute, any_word: str) -> list[tuple[Value | tuple[str], str]]:
    present = sorted(set(attribute.codes.tolist()))[: MOST_VALUES + 1]
    values = [attribute.value(code) for code in present]
    known = sorted((value for value in values if value is not None), key=sort_key)
    choices: list[tuple[Value | tuple[str], str]] = [(ANY, any_word)]
    choices += [(value, show_value(value)) for value in known]
    if None in values:
        choices.append((None, value_name(MISSING_LABEL)))
    return choices


class CountQueriesPage(AuditPage):
    """Asks each release how many records are like this, and tells the truth beside it."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Count queries"))
    topic: ClassVar[Topic] = Topic.GROUPS
    order: ClassVar[int] = 21
    job: ClassVar[str] = JOB
    nothing: ClassVar[tuple[str, str, str]] = NO_GROUPS
    working: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Counting released values"))

    def build(self) -> None:
        """Put the form, the answers and the pool below one another."""
        self.desk: QueryDesk | None = None
        self.bar = QuestionBar(with_recipient=False)
        self.bar.changed.connect(self.ask)
        self._above.insertWidget(0, self.bar)
        self.form = QueryForm(self)
        card = Card(
            self.tr("Ask"),
            self.tr("How many records have these public values and this sensitive value?"),
            parent=self,
        )
        card.body.addWidget(self.form)
        self.estimates, self.errors = self.new_plot(), self.new_plot()
        self.sheet.column.insertWidget(0, card)
        self.add(self.estimates, self.errors)
        self.protection = next(
            (each for each in all_mechanisms().values() if isinstance(each, GroupProtection)), None
        )
        self.cost = self._cost_card()
        self.cost.setVisible(self.protection is not None)
        self.add(self.cost, self.curves)
        self.form.changed.connect(self._answer)

    def _cost_card(self) -> Card:
        card = Card(
            self.tr("What protecting small groups costs"),
            self.tr(
                "Makes plain and protected releases of this attribute over p, ε, δ and the table's"
                " size, and asks each of them 5,000 random queries. Nothing is released."
            ),
            parent=self,
        )
        self.curves = self.new_plot()
        self.compare = button(self.tr("Compare"), self._compare)
        card.body.addLayout(row(self.compare, None))
        return card

    # ----- what there is

    def state(self) -> PanelState:
        """Return whether queries can be answered."""
        if self.subject() is None:
            return PanelState.EMPTY
        return PanelState.IN_PROGRESS if self.desk is None else PanelState.DONE

    def subject(self) -> RiskSubject | None:
        """Return what is asked about; None where there is nothing yet."""
        session, name = self.session, self.bar.attribute.value
        rows = session.all_rows()
        if rows is None or not isinstance(name, str) or not session.document.recipients:
            return None
        entry = session.document.entry_for(name)
        if entry is None or session.attribute(name) is None:
            return None
        return RiskSubject(rows, entry, self.bar.knowledge.names)

    def refresh(self, _changed: object = None) -> None:
        """Offer what can be asked about, and ask."""
        document = self.session.document
        names = [name for entry in document.policy for name in entry.attributes]
        encoded = {name: self.session.attribute(name) for name in names}
        known = {name: one.attribute for name, one in encoded.items() if one is not None}
        self.bar.offer(document, grouped_entries(document, known))
        self.show_work(self.subject() is not None)
        self.ask()

    def ask(self) -> None:
        """Count the released values anew; a hidden page waits."""
        for job in (CURVES_JOB, POOL_JOB, self.job):
            self.session.runner.cancel(job)
        self.curves.clear()
        self.desk, subject = None, self.subject()
        if subject is not None and self.isVisible():
            words, work = self.translated(self.working), partial(open_desk, subject)
            self.say(words + "…")
            self.session.runner.run(words, work, self.show_answer, self._fail, key=self.job)
        self.state_changed.emit()

    # ----- the answers

    def show_answer(self, answer: QueryDesk) -> None:
        """Offer queries, answer the present one, and start on the pool."""
        self.desk = answer
        self.state_changed.emit()
        self.form.offer(answer.known)
        self._answer()
        if answer.known.grouped.attributes and answer.held:
            self.session.runner.run(
                self.tr("Answering 5,000 random queries"),
                partial(answer_pool, answer),
                self._show_pool,
                self._no_pool,
                key=POOL_JOB,
            )
        else:
            self.errors.clear()

    def clear_answer(self) -> None:
        """Show no answers."""
        self.desk = None
        self.estimates.clear()
        self.errors.clear()

    def _fail(self, error: SfumatoError) -> None:
        self.clear_answer()
        self.refuse(error)

    def _answer(self) -> None:
        value = self.form.value.value
        if self.desk is None or not isinstance(value, int):
            return
        try:
            result = self.desk.ask(self.form.asked, value)
        except EstimationError as error:
            self.say(*error_texts(error))
            self.estimates.clear()
            return
        answer = answer_of_query(result)
        self.say(*map(typeset, (*answer.sentences, *answer.notes)))
        self.estimates.show_plot(builder(answer.figures[0]))

    def _show_pool(self, result: PoolResult) -> None:
        subject = self.bar.attribute.value
        self.errors.show_plot(builder(answer_of_pool(str(subject), result).figures[0]))

    def _compare(self) -> None:
        """Start on the releases that show what protection costs."""
        if self.desk is None or self.protection is None:
            return
        known = self.desk.known
        start = RiskSetting(START_RETENTION, RiskLimits(), known.grouped.records)
        self.session.runner.run(
            self.tr("Comparing plain with protected releases"),
            partial(self.protection.count_errors, known.grouped, start),
            partial(self._show_curves, known.attribute.name, start),
            self._no_curves,
            key=CURVES_JOB,
        )

    def _show_curves(self, name: str, start: RiskSetting, found: Sequence[QueryPoint]) -> None:
        self.curves.show_plot(partial(build_query_error_curves, name, start, found))

    def _no_curves(self, error: SfumatoError) -> None:
        self.tell(Message.of_error(error, topic=CURVES_JOB))

    def _no_pool(self, error: Exception) -> None:
        del error  # a table this small has no query that enough records answer
        self.errors.clear()


PAGE = CountQueriesPage
