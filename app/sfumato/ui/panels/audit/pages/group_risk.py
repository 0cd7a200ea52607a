"""Which small groups of people alike one recipient's release gives away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtWidgets import QHBoxLayout, QWidget

from sfumato.analysis.answers import Answer
from sfumato.analysis.audit_answers import answer_of_groups
from sfumato.analysis.disclosure.small_groups import (
    RiskAnswer,
    RiskSubject,
    answer_curves,
    answer_risk,
    limits_sentence,
    promised_limits,
    with_released,
    with_remedies,
)
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_risk import USUAL_DELTA, USUAL_EPSILON, CurvePoint, RiskLimits
from sfumato.plots.figure import builder
from sfumato.plots.groups import (
    build_group_reconstruction,
    build_risk_curves,
)
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.audit.holders import tr
from sfumato.ui.panels.audit.pages.answer import AnswerView
from sfumato.ui.panels.audit.pages.groups import GroupsPage
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField, Segments
from sfumato.ui.widgets.layout import Card, label

JOB: Final = "audit small groups"
CURVES_JOB: Final = "audit small groups curves"


def rule_name(rule: PrivacyTest) -> str:
    """Return a test's name."""
    return {
        PrivacyTest.EXACT: tr("exact test"),
        PrivacyTest.CHERNOFF: tr("published test, full bound"),
        PrivacyTest.SIMPLIFIED: tr("published test, simplified bound"),
    }[rule]


class GroupRiskPage(GroupsPage):
    """Examines every group of people alike, and what gives it away."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Small groups"))
    order: ClassVar[int] = 20
    job: ClassVar[str] = JOB
    working: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Examining small groups"))

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        self._answer: RiskAnswer | None = None
        self._started_from: PolicyEntry | None = None
        super().__init__(session, parent)

    def build(self) -> None:
        """Put the limits, the plots and the table of groups below one another."""
        changed = self._limits_changed
        self.epsilon, self.delta = (
            NumberField(0.01, most, decimals=3, show_range=False, given=changed, parent=self)
            for most in (1.0, 0.5)
        )
        self.epsilon.set_value(USUAL_EPSILON)
        self.delta.set_value(USUAL_DELTA)
        rules = [
            (PrivacyTest.EXACT, self.tr("Exact")),
            (PrivacyTest.CHERNOFF, self.tr("Chernoff")),
            (PrivacyTest.SIMPLIFIED, self.tr("Simplified")),
        ]
        self.rule = Segments(rules, self, name=self.tr("Test"), chosen=changed)
        self.limits_text = label("", "small", wrap=True)
        self.sheet.column.insertLayout(0, self._limits_line())
        self.sheet.column.insertWidget(1, self.limits_text)
        self.sizes, self.remedies, self.curves, self.group = (self.new_plot() for _ in range(4))
        above = self.side_by_side(self.sizes, self.remedies)
        self.add(above, self.curves, self._groups_card(), self.group)

    def _limits_line(self) -> QHBoxLayout:
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        for text, tip, field in (
            ("&ε", self.tr("The relative error that an estimate should exceed"), self.epsilon),
            ("&δ", self.tr("How often it should, on either side"), self.delta),
            (self.tr("&Test"), self.tr("How a group is examined"), self.rule),
        ):
            name = label(text, "muted")
            name.setBuddy(field)
            name.setToolTip(tip)
            field.setToolTip(tip)
            line.addWidget(name)
            line.addWidget(field)
            line.addSpacing(Space.INSIDE)
        line.addStretch(1)
        return line

    def _groups_card(self) -> Card:
        card = Card(
            self.tr("Groups"),
            self.tr("Choose a group to see its true distribution beside the reconstructed one."),
            parent=self,
        )
        self.groups = AnswerView(self.session.chooser, self.tr("Groups"), self, picks=True)
        self.groups.picked.connect(self._choose)
        card.body.addWidget(self.groups)
        return card

    # ----- the question

    @property
    def limits(self) -> RiskLimits:
        """What is asked for."""
        return RiskLimits(self.epsilon.value, self.delta.value, PrivacyTest(str(self.rule.value)))

    def _limits_changed(self, _value: object) -> None:
        exact = PrivacyTest(str(self.rule.value)) is PrivacyTest.EXACT
        self.delta.set_range(0.01, 0.5 if exact else 0.99)
        self.ask()

    def ask(self) -> None:
        """Say what is asked for, and examine the groups anew."""
        self._start_from_the_entry()
        self.limits_text.setText(spoken(limits_sentence(self.limits)))
        self.session.runner.cancel(CURVES_JOB)
        super().ask()

    def _start_from_the_entry(self) -> None:
        """Ask for what the policy promises groups, until the person asks for something else."""
        subject = self.subject()
        if subject is None or subject.entry == self._started_from:
            return
        self._started_from = subject.entry
        promised = promised_limits(subject.entry)
        if promised != RiskLimits():
            self.epsilon.set_value(promised.epsilon)
            self.delta.set_value(promised.delta)
            self.rule.set_value(promised.rule)

    def question(self, subject: RiskSubject) -> Callable[[Context], RiskAnswer]:
        """Return the work that examines the groups."""
        recipient = str(self.bar.recipient.value or "")
        return partial(_examined, subject, recipient, self.limits)

    # ----- the answer

    def show_answer(self, answer: RiskAnswer) -> None:
        """Show what was found, and start on the curves."""
        self._answer = answer
        told = answer_of_groups(answer)
        self.limits_text.setText(spoken(limits_sentence(answer.risk.limits)))
        self.say(typeset(told.sentences[0]), " ".join(map(typeset, told.notes)))
        for plot, figure in zip((self.sizes, self.remedies), told.figures, strict=True):
            plot.show_plot(builder(figure))
        self.groups.show_answer(replace(told, figures=()))
        self.session.runner.run(
            self.tr("Moving p, ε, δ and size"),
            partial(answer_curves, answer),
            self._show_curves,
            self._fail,
            key=CURVES_JOB,
        )

    def clear_answer(self) -> None:
        """Show no plots and no groups."""
        self._answer = None
        for plot in (self.sizes, self.remedies, self.curves, self.group):
            plot.clear()
        self.groups.show_answer(Answer(()))

    def _choose(self, line: int) -> None:
        if self._answer is not None:
            group = self._answer.listed[line]
            self.group.show_plot(partial(build_group_reconstruction, self._answer, group))

    def _show_curves(self, points: tuple[CurvePoint, ...]) -> None:
        if self._answer is None:
            return
        test = rule_name(self._answer.risk.limits.rule)
        if self._answer.shown.trials is not None:
            test = tr("{test}, were no record repeated", test=test)
        name = self._answer.known.attribute.name
        self.curves.show_plot(partial(build_risk_curves, name, test, points))


def _examined(
    subject: RiskSubject, recipient: str, limits: RiskLimits, context: Context
) -> RiskAnswer:
    """Examine the groups of one recipient's release, what would help, and what it shows of them."""
    known = subject.known(Part(context, 0.0, 0.2), (recipient,))
    chosen = subject.document.recipient(recipient)
    answer = answer_risk(subject, known, chosen, limits, Part(context, 0.2, 0.4))
    answer = with_remedies(subject, answer, Part(context, 0.4, 0.8))
    return with_released(subject, answer, Part(context, 0.8, 1.0))


PAGE = GroupRiskPage
