"""What a system that answers counts with noise gives away about small groups."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.analysis.small_groups import NoisyAnswer, NoisyQuestion, Subject, answer_noisy
from sfumato.engine.core.progress import Context
from sfumato.engine.disclosure.group_risk import USUAL_DELTA, USUAL_EPSILON
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.plots.groups import build_ratio_tails
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import number
from sfumato.ui.panels.audit.groups import GroupsPage, GroupsTable
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.layout import Card, boxed, label, row
from sfumato.ui.widgets.responsive import FlowLayout

JOB: Final = "audit noisy answers"
USUAL_LOSS: Final = 0.1
USUAL_SIZE: Final = 70
USUAL_COUNT: Final = 7


class NoisyAnswersPage(GroupsPage):
    """Examines two counts with Laplace noise (Wang, Han and Fu 2012, section 6.3)."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Noisy answers"))
    order: ClassVar[int] = 22
    job: ClassVar[str] = JOB
    working: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Examining noisy answers"))
    with_recipient: ClassVar[bool] = False
    needs_recipients: ClassVar[bool] = False

    def build(self) -> None:
        """Put the noise, the plot and the groups below one another."""
        self.loss = NumberField(0.001, 10.0, decimals=3, step=0.05, show_range=False, parent=self)
        self.epsilon = NumberField(0.01, 1.0, decimals=3, show_range=False, parent=self)
        self.delta = NumberField(0.01, 0.5, decimals=3, show_range=False, parent=self)
        self.smallest = NumberField(0, 1e6, decimals=0, step=10, show_range=False, parent=self)
        self.count = NumberField(1, 100, decimals=0, step=1, show_range=False, parent=self)
        self.sheet.column.insertLayout(0, self._line())
        self.plot = self.new_plot()
        card = Card(self.tr("Groups"), parent=self)
        self.table = GroupsTable(self)
        card.body.addWidget(self.table)
        self.add(self.plot, card)

    def _line(self) -> FlowLayout:
        line = FlowLayout()
        for text, tip, field, value in (
            ("&λ", self.tr("The privacy loss of one answer"), self.loss, USUAL_LOSS),
            ("&ε", self.tr("The relative error in question"), self.epsilon, USUAL_EPSILON),
            ("&δ", self.tr("How often it should be exceeded"), self.delta, USUAL_DELTA),
            (self.tr("&More than"), self.tr("Records in a group"), self.smallest, USUAL_SIZE),
            (self.tr("&Groups"), self.tr("The most skewed ones"), self.count, USUAL_COUNT),
        ):
            field.set_value(value)
            field.setToolTip(tip)
            field.spin.setFixedWidth(scaled(88))
            field.value_changed.connect(self._changed)
            name = label(text, "muted")
            name.setToolTip(tip)
            name.setBuddy(field)
            line.addWidget(boxed(row(name, field)))
        return line

    def _changed(self, _value: float) -> None:
        self.ask()

    def question(self, subject: Subject) -> Callable[[Context], NoisyAnswer]:
        """Return the work that examines the riskiest groups."""
        asked = NoisyQuestion(
            self.loss.value,
            self.epsilon.value,
            self.delta.value,
            round(self.smallest.value),
            round(self.count.value),
        )
        return partial(answer_noisy, subject, asked)

    def show_answer(self, answer: NoisyAnswer) -> None:
        """Show how often two answers estimate the groups well."""
        asked = answer.question
        if not len(answer.groups):
            self.clear_answer()
            self.say(
                self.tr("No group has more than {size} {size:record|records}.").format(
                    size=grouped(asked.smallest)
                ),
                self.tr("Ask about smaller groups, or let the attacker know fewer columns."),
            )
            return
        self.say(self._finding(answer), self._explanation(answer))
        self.plot.show_plot(partial(build_ratio_tails, answer))
        chances = {self.tr("Within ε, %"): np.round(100.0 * answer.tails.within, 1)}
        violating = answer.tails.violates(asked.delta)
        self.table.show_groups(answer.known, answer.groups, chances, violating)
        lines = min(len(answer.groups), 12)
        self.table.setMinimumHeight(Space.FIELD * (lines + 1) + Space.AROUND)

    def clear_answer(self) -> None:
        """Show no groups."""
        self.plot.clear()
        self.table.setModel(None)

    def _finding(self, answer: NoisyAnswer) -> str:
        return self.tr(
            "{violating} of the {count} most skewed {count:group|groups} {violating:is|are} given"
            " away by two noisy counts at λ = {loss}."
        ).format(
            violating=grouped(answer.violating),
            count=grouped(len(answer.groups)),
            loss=number(answer.question.privacy_loss),
        )

    def _explanation(self, answer: NoisyAnswer) -> str:
        return self.tr(
            "Each answer is {loss}-differentially private: it hides whether one person is in the"
            " table. The ratio of two answers, the size of a group and how many of it have a value,"
            " still estimates their share. A group is given away where that is too high or too low"
            " by more than {epsilon} less than {delta} of the time. The chances are exact."
        ).format(
            loss=number(answer.question.privacy_loss),
            epsilon=percent(answer.question.epsilon),
            delta=percent(answer.question.delta),
        )


PAGE = NoisyAnswersPage
