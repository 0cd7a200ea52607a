"""Which small groups of people alike one recipient's release gives away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QItemSelection
from PySide6.QtWidgets import QHBoxLayout, QWidget

from sfumato.analysis.small_groups import (
    RiskAnswer,
    RiskSubject,
    answer_curves,
    answer_risk,
    estimated_sentence,
    limits_sentence,
    passed_by_published_rule,
    person_sentence,
    promised_limits,
    with_released,
    with_remedies,
)
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_risk import USUAL_DELTA, USUAL_EPSILON, CurvePoint, RiskLimits
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.plots.groups import (
    build_group_reconstruction,
    build_group_sizes,
    build_remedy_bars,
    build_risk_curves,
)
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import spoken, told, typeset
from sfumato.ui.panels.audit.pages.groups import GroupsPage, GroupsTable
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField, Segments
from sfumato.ui.widgets.layout import Card, label
from sfumato.ui.widgets.tables import FrameModel, TableView

JOB: Final = "audit small groups"
CURVES_JOB: Final = "audit small groups curves"
TABLE_HEIGHT: Final = 300


def tr(text: str, **details: object) -> str:
    """Return a text in the person's language, filled in."""
    return told(QCoreApplication.translate("Audit", text), details)


def rule_name(rule: PrivacyTest) -> str:
    """Return a test's name."""
    return {
        PrivacyTest.EXACT: tr("exact test"),
        PrivacyTest.CHERNOFF: tr("published test, full bound"),
        PrivacyTest.SIMPLIFIED: tr("published test, simplified bound"),
    }[rule]


def risk_sentence(answer: RiskAnswer) -> str:
    """Return what was found."""
    name = answer.known.attribute.name
    if answer.shown.trust >= 1.0:
        return tr("{recipient} holds the true {name}.", recipient=answer.shown.recipient, name=name)
    return typeset(estimated_sentence(answer))


def gain_sentence(answer: RiskAnswer) -> str:
    """Return what an attacker gains of one person who knows groups' shares; else nothing."""
    return "" if answer.shown.trust >= 1.0 else typeset(person_sentence(answer))


def gap_sentence(answer: RiskAnswer) -> str:
    """Return what the published definition promises, and what the true chance of an error is."""
    risk = answer.risk
    if answer.shown.trials is not None:
        return _repeated_sentence(answer)
    if risk.allowed is None:
        return ""
    passed = passed_by_published_rule(answer)
    if not passed.any():
        return tr("The published test finds every group too large.")
    worst = int((risk.tails.within * passed).argmax())
    return tr(
        "The published test asks about an upper bound of the chance of an error, which promises"
        " nothing about the chance itself. It passes {passed} of {groups} {groups:group|groups},"
        " among them one of {size} {size:record|records} whose estimate is within {epsilon} of the"
        " truth with a confidence of {within}.",
        passed=grouped(int(passed.sum())),
        groups=grouped(risk.total.all_groups),
        size=grouped(int(answer.known.grouped.sizes[worst])),
        epsilon=percent(risk.limits.epsilon),
        within=percent(float(risk.tails.within[worst])),
    )


def _repeated_sentence(answer: RiskAnswer) -> str:
    """Return what a release that repeats records rests on."""
    sizes = answer.known.grouped.sizes
    trials = answer.shown.trials
    counts = sizes if trials is None else trials.counts
    fewer = counts < sizes
    if not fewer.any():
        return tr("No group is resampled in this release.")
    return tr(
        "In {groups} {groups:group|groups} with {records} {records:record|records} this release"
        " repeats records that were drawn: estimates vary about as much as from {draws}"
        " independent {draws:record|records}. How often they are off is computed exactly, from the"
        " draws, their copies and what became of each row. By the ladder, the most trusted release"
        " decides what several recipients learn together.",
        groups=grouped(int(fewer.sum())),
        records=grouped(int(sizes[fewer].sum())),
        draws=grouped(int(counts[fewer].sum())),
    )


def whole_table_sentence(knows: tuple[str, ...]) -> str:
    """Return a warning where the attacker knows nothing; else nothing."""
    if knows:
        return ""
    return tr("The attacker knows no public column, so the whole table is one group.")


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
        self.table = GroupsTable(self)
        self.table.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(TableView.SelectionMode.SingleSelection)
        self.table.setMinimumHeight(scaled(TABLE_HEIGHT))
        card.body.addWidget(self.table)
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
        notes = (
            spoken(answer.known.looked_up),
            whole_table_sentence(answer.known.grouped.names),
            gain_sentence(answer),
            gap_sentence(answer),
        )
        self.limits_text.setText(spoken(limits_sentence(answer.risk.limits)))
        self.say(risk_sentence(answer), " ".join(note for note in notes if note))
        self.sizes.show_plot(partial(build_group_sizes, answer))
        self.remedies.show_plot(partial(build_remedy_bars, answer))
        self._fill_table(answer)
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
        self.table.setModel(None)

    def _fill_table(self, answer: RiskAnswer) -> None:
        rows = np.array(answer.listed, dtype=np.int64)
        chances = {self.tr("Within ε, %"): np.round(100.0 * answer.risk.tails.within[rows], 1)}
        if answer.risk.allowed is not None:
            chances[self.tr("Published limit")] = np.round(answer.risk.allowed[rows], 1)
        self.table.show_groups(answer.known, rows, chances, answer.risk.violating[rows])
        self.table.selectionModel().selectionChanged.connect(self._choose)
        self.table.selectRow(0)

    def _choose(self, _chosen: QItemSelection, _left: QItemSelection) -> None:
        rows = self.table.selectionModel().selectedRows()
        model = self.table.model()
        if not rows or self._answer is None or not isinstance(model, FrameModel):
            return
        group = self._answer.listed[model.source_row(rows[0].row())]
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
