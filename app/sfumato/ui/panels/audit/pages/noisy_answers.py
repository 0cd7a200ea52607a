"""What a system that answers counts with noise gives away about small groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import numpy as np
import pandas as pd
from PySide6.QtCore import QT_TRANSLATE_NOOP, Qt

from sfumato.analysis.attacker import Attacked
from sfumato.analysis.small_groups import Subject
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.group_risk import USUAL_DELTA, USUAL_EPSILON
from sfumato.engine.disclosure.grouped_values import Floats, Integers
from sfumato.engine.disclosure.noisy_answers import (
    RatioTails,
    ratio_tails,
    riskiest_groups,
    shares_in_table,
)
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.plots.groups import RatioData, RatioRow, build_ratio_tails
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import number
from sfumato.ui.panels.audit.groups import GroupsPage
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.layout import Card, boxed, label, row
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import FrameModel, TableView

JOB: Final = "audit noisy answers"
USUAL_LOSS: Final = 0.1
USUAL_SIZE: Final = 70
USUAL_COUNT: Final = 7


@dataclass(frozen=True)
class NoisyQuestion:
    """What is asked of a system that answers counts with noise.

    Parameters
    ----------
    privacy_loss
        λ of one answer.
    epsilon, delta
        The relative error, and how often it should be exceeded on either side.
    smallest
        Groups have more records than this.
    count
        How many groups are examined.
    """

    privacy_loss: float
    epsilon: float
    delta: float
    smallest: int
    count: int


@dataclass(frozen=True)
class NoisyAnswer:
    """The riskiest groups and how often two answers estimate them well.

    Parameters
    ----------
    known
        The attribute as the attacker sees it.
    question
        What was asked.
    groups
        The riskiest groups, shape (k,).
    tails
        How often the ratio misses, for each.
    table_shares
        The share of each group's most frequent value in the whole table, shape (k,).
    """

    known: Attacked
    question: NoisyQuestion
    groups: Integers
    tails: RatioTails
    table_shares: Floats

    @property
    def violating(self) -> int:
        """How many of the groups are given away."""
        return int(self.tails.violates(self.question.delta).sum())

    def data(self) -> RatioData:
        """Return the groups as they are drawn."""
        grouped = self.known.grouped
        rows = tuple(
            RatioRow(
                int(grouped.sizes[group]),
                float(grouped.shares[group]),
                float(self.table_shares[place]),
                float(self.tails.high[place]),
                float(self.tails.low[place]),
            )
            for place, group in enumerate(self.groups)
        )
        asked = self.question
        name = self.known.attribute.name
        return RatioData(name, asked.privacy_loss, asked.epsilon, asked.delta, rows)

    def frame(self, names: dict[str, str]) -> pd.DataFrame:
        """Return the groups as a table. For the custodian's eyes only."""
        grouped, rows = self.known.grouped, self.groups
        domain = self.known.attribute.domain
        labels = domain.names if domain is not None else ()
        broken = self.tails.violates(self.question.delta)
        columns: dict[str, object] = {
            names["size"]: grouped.sizes[rows],
            names["value"]: [labels[int(code)] for code in grouped.commonest[rows]],
            names["share"]: np.round(100.0 * grouped.shares[rows], 1),
            names["within"]: np.round(100.0 * self.tails.within, 1),
            names["violates"]: np.where(broken, names["yes"], names["no"]),
        }
        for attribute in grouped.attributes:
            heading = attribute.name if attribute.name not in columns else f"{attribute.name} "
            shown = [attribute.value(int(code)) for code in attribute.codes[rows]]
            columns[heading] = pd.Series(shown, dtype=object)
        return pd.DataFrame(columns)


def answer_noisy(subject: Subject, question: NoisyQuestion, context: Context) -> NoisyAnswer:
    """Find the riskiest groups and how often two noisy counts estimate them well.

    Raises
    ------
    SfumatoError
        If the groups can't be formed, or λ or ε is out of range.
    """
    known = subject.known(Part(context, 0.0, 0.9))
    grouped = known.grouped
    groups = riskiest_groups(grouped.sizes, grouped.largest, question.smallest, question.count)
    tails = ratio_tails(
        grouped.sizes[groups], grouped.largest[groups], question.privacy_loss, question.epsilon
    )
    shares = shares_in_table(known.codes, grouped.commonest[groups], grouped.values)
    context.report(1.0, "Noisy counts are examined")
    return NoisyAnswer(known, question, groups, tails, shares)


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
        column = self.sheet.column
        self.loss = NumberField(0.001, 10.0, decimals=3, step=0.05, show_range=False, parent=self)
        self.epsilon = NumberField(0.01, 1.0, decimals=3, show_range=False, parent=self)
        self.delta = NumberField(0.01, 0.5, decimals=3, show_range=False, parent=self)
        self.smallest = NumberField(0, 1e6, decimals=0, step=10, show_range=False, parent=self)
        self.count = NumberField(1, 100, decimals=0, step=1, show_range=False, parent=self)
        column.insertLayout(0, self._line())
        self.plot = PlotView(self.session.chooser, self)
        self.plot.failed.connect(self.told)
        card = Card(self.tr("Groups"), parent=self)
        self.table = TableView(self, row_numbers=False)
        self.table.setProperty("framed", False)
        self.table.setAccessibleName(self.tr("Groups"))
        self.table.setSortingEnabled(True)
        card.body.addWidget(self.table)
        column.addWidget(self.plot)
        column.addWidget(card)

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
        self.plot.show_plot(partial(build_ratio_tails, answer.data()))
        model = FrameModel(answer.frame(self._headings()))
        model.setParent(self.table)
        self.table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.table.setModel(model)
        self.table.fit_columns()
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

    def _headings(self) -> dict[str, str]:
        return {
            "size": self.tr("Records"),
            "value": self.tr("Most frequent"),
            "share": self.tr("Share, %"),
            "within": self.tr("Within ε, %"),
            "violates": self.tr("Given away"),
            "yes": self.tr("yes"),
            "no": self.tr("no"),
        }


PAGE = NoisyAnswersPage
