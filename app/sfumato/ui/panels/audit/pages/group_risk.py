"""Which small groups of people alike one recipient's release gives away."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Answer
from sfumato.analysis.audit_inputs import AuditInputs
from sfumato.analysis.disclosure.small_groups import (
    RiskAnswer,
    answer_curves,
    promised_limits,
    subject_of,
    with_released,
)
from sfumato.analysis.questions import question_called
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.group_privacy import MOST_DELTA, PrivacyTest
from sfumato.engine.disclosure.group_risk import CurvePoint, RiskLimits
from sfumato.plots.figure import builder
from sfumato.plots.groups import build_group_reconstruction, build_risk_curves
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.panels.audit.holders import tr
from sfumato.ui.panels.audit.pages.answer import AnswerPage
from sfumato.ui.panels.audit.pages.groups import NO_GROUPS
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import Card

CURVES_JOB: Final = "audit small groups curves"


def rule_name(rule: PrivacyTest) -> str:
    """Return a test's name."""
    return {
        PrivacyTest.EXACT: tr("exact test"),
        PrivacyTest.CHERNOFF: tr("published test, full bound"),
        PrivacyTest.SIMPLIFIED: tr("published test, simplified bound"),
    }[rule]


class GroupRiskPage(AnswerPage):
    """Asks about one recipient's release; a group that is chosen is drawn, and what moves it all.

    These take longer, so they follow by a job of their own.
    """

    question: ClassVar[AuditQuestion] = question_called("risk")
    topic: ClassVar[Topic] = question.topic
    order: ClassVar[int] = question.order
    job: ClassVar[str] = "audit small groups"
    nothing: ClassVar[tuple[str, str, str]] = NO_GROUPS
    picks: ClassVar[bool] = True

    def build(self) -> None:
        """Make the choice of the test before what is asked beside it."""
        self._found: RiskAnswer | None = None
        self._group = 0
        self._started_from: PolicyEntry | None = None
        rules = [
            (PrivacyTest.EXACT, self.tr("Exact")),
            (PrivacyTest.CHERNOFF, self.tr("Chernoff")),
            (PrivacyTest.SIMPLIFIED, self.tr("Simplified")),
        ]
        self.rule = Segments(rules, self, name=self.tr("Test"), chosen=self.refresh)
        self.rule.setToolTip(self.tr("How a group is examined"))
        super().build()
        self._limit_delta()

    def asked_beside(self) -> tuple[tuple[str, QWidget], ...]:
        """Return the test by which a group is examined."""
        return ((self.tr("&Test"), self.rule),)

    def lay_out(self) -> None:
        """Put the plots and the table of groups below one another."""
        self.sizes, self.remedies, self.curves, self.group = (self.new_plot() for _ in range(4))
        card = Card(
            self.tr("Groups"),
            self.tr("Choose a group to see its true distribution beside the reconstructed one."),
            parent=self,
        )
        card.body.addWidget(self.shown)
        self.shown.picked.connect(self._choose)
        above = self.side_by_side(self.sizes, self.remedies)
        self.add(above, self.curves, card, self.group)

    def prepare(self, inputs: AuditInputs) -> AuditInputs:
        """Ask for what the policy promises groups, until the person asks for something else."""
        entry = inputs.document.entry_for(inputs.attribute)
        if entry is not None and entry != self._started_from:
            self._started_from = entry
            promised = promised_limits(entry)
            if promised != RiskLimits():
                self.fields["epsilon"].set_value(promised.epsilon)
                self.fields["delta"].set_value(promised.delta)
                self.rule.set_value(promised.rule)
        return replace(inputs, rule=self._limit_delta().value, remedies=True)

    def _limit_delta(self) -> PrivacyTest:
        """Let as large a δ be stated as the test has a meaning for; return the test."""
        rule = PrivacyTest(str(self.rule.value))
        self.fields["delta"].set_range(0.01, MOST_DELTA if rule is PrivacyTest.EXACT else 0.99)
        return rule

    # ----- the answer

    def show_answer(self, answer: Answer) -> None:
        """Show what was found, and start on what takes longer."""
        self.session.runner.cancel(CURVES_JOB)
        plots = (self.sizes, self.remedies)
        self._found, self._group = None, 0
        for plot in (*plots, self.curves, self.group):
            plot.clear()
        for plot, figure in zip(plots, answer.figures, strict=False):
            plot.show_plot(builder(figure))
            [found] = figure.data
            self._found = found if isinstance(found, RiskAnswer) else None
        self.shown.show_answer(replace(answer, figures=(), tables=answer.tables[-1:]))
        if self._found is not None and self.inputs is not None:
            words, work = (
                self.tr("Moving p, ε, δ and size"),
                partial(_more, self.inputs, self._found),
            )
            self.session.runner.run(words, work, self._show_more, self._fail, key=CURVES_JOB)

    def _choose(self, line: int) -> None:
        self._group = line
        if self._found is not None:
            group = self._found.listed[line]
            self.group.show_plot(partial(build_group_reconstruction, self._found, group))

    def _show_more(self, more: tuple[RiskAnswer, tuple[CurvePoint, ...]]) -> None:
        self._found, points = more
        self._choose(self._group)
        test = rule_name(self._found.risk.limits.rule)
        if self._found.shown.trials is not None:
            test = tr("{test}, were no record repeated", test=test)
        name = self._found.known.attribute.name
        self.curves.show_plot(partial(build_risk_curves, name, test, points))


def _more(
    inputs: AuditInputs, found: RiskAnswer, context: Context
) -> tuple[RiskAnswer, tuple[CurvePoint, ...]]:
    """Return an answer with what the release shows of groups, and how shares move around it."""
    subject = subject_of(inputs.rows, inputs.attributes, inputs.attribute, inputs.knows)
    found = with_released(subject, found, Part(context, 0.0, 0.5))
    return found, answer_curves(found, Part(context, 0.5, 1.0))


PAGE = GroupRiskPage
