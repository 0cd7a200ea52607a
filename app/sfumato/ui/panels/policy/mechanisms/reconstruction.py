"""Reconstruction privacy: what is asked, of which groups, what follows, and recipients' levels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP, Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.disclosure.small_groups import RiskSubject
from sfumato.analysis.utility.mode_costs import costs_of_modes, sentence_of_costs
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import EstimationError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.group_privacy import PrivacyTest as Test
from sfumato.engine.disclosure.group_risk import ModeCost
from sfumato.engine.matrices.estimate import Target, expected_standard_errors
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.mechanisms.reconstruction.limits import (
    DELTA,
    EPSILON,
    PUBLIC,
    RETENTION,
    RULE,
    SAMPLING,
    GroupLimits,
    GroupSampling,
    default_limits,
    uses_bounds,
)
from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM
from sfumato.engine.mechanisms.reconstruction.promise import on_each_side, times
from sfumato.engine.mechanisms.reconstruction.release import (
    Gap,
    GroupFigures,
    gap_of,
    group_figures,
)
from sfumato.engine.mechanisms.reconstruction.share_bounds import (
    LARGEST_SHARE,
    LEAST_RECORDS,
    SHARES,
    SHARES_EPSILON,
    ShareSource,
)
from sfumato.engine.table.micro_groups import GroupCounts
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.project.release.groups import usual_knowledge
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import number, spoken, typeset
from sfumato.ui.panels.policy.beliefs import suspicion
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, Reach, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import (
    FieldGrid,
    SourceChoice,
    number_field,
    segments,
    states,
)
from sfumato.ui.panels.policy.wording import NORMAL_95, tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Card, Hairline, boxed, button, column, label, set_look
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.sheets import TickGrid

JOB: Final = "groups"
"""The job that works out what the limits mean for the table's groups."""
COSTS_JOB: Final = "mode costs"
MEASURING: Final = "measure shares"
ABREAST: Final = 3
"""How many public columns stand side by side."""


@dataclass(frozen=True)
class GroupLimitsOutcome:
    """What limits come to, in words.

    Parameters
    ----------
    about_rule
        The gap between what the test lets pass and what is true there.
    figures
        What happens to the table's groups, and how well a recipient can estimate.
    """

    about_rule: str
    figures: str


def outcome_of(
    groups: GroupCounts,
    limits: GroupLimits,
    attributes: Attributes,
    settings: Settings,
    context: Context,
) -> GroupLimitsOutcome:
    """Work out what limits come to (for a job)."""
    figures = group_figures(groups, limits, context)
    lines = (
        _groups_line(figures),
        _change_line(figures, limits),
        _draws_line(figures),
        _single_line(figures),
        usefulness_of(limits.retention, attributes, settings, wait=True),
    )
    return GroupLimitsOutcome(
        _about_rule(gap_of(limits), limits), "\n\n".join(line for line in lines if line)
    )


def _about_rule(gap: Gap, limits: GroupLimits) -> str:
    """Return the gap between what a test lets pass and what is true there."""
    if limits.rule is Test.EXACT and limits.sampling is GroupSampling.BLIND:
        return tr(
            "Computes how often an estimate is truly off, for whatever a group of this size could"
            " hold."
        )
    if limits.rule is Test.EXACT:
        return tr(
            "Computes how often an estimate is truly off. Where half of a group share a value, up"
            " to {exact} of its records may be drawn.",
            exact=grouped(gap.exact),
        )
    return tr(
        "This test asks that an upper bound on the error's probability is at least {delta}, which"
        " promises nothing about the probability. Where half of a group share a value, it lets"
        " {allowed} {allowed:record|records} pass, whose estimate is truly off by more than"
        " {error} in {missed} of cases. The exact test lets {exact} pass.",
        delta=percent(limits.delta, 0),
        allowed=grouped(gap.allowed),
        error=percent(limits.epsilon, 0),
        missed=percent(gap.missed),
        exact=grouped(gap.exact),
    )


def _groups_line(figures: GroupFigures) -> str:
    """Return how many groups could be estimated too well."""
    return tr(
        "{groups} of {all_groups} {all_groups:group|groups}, with {records} of {all_records}"
        " {all_records:record|records}, could be estimated too well if each record were simply"
        " perturbed.",
        groups=grouped(figures.violating_groups),
        all_groups=grouped(figures.groups),
        records=grouped(figures.violating_records),
        all_records=grouped(figures.records),
    )


def _change_line(figures: GroupFigures, limits: GroupLimits) -> str:
    """Return what changes for how many records."""
    if not figures.resampled_groups:
        return tr("No group has to be resampled: every record is simply perturbed.")
    text = tr(
        "{records} {records:record|records} in {groups} {groups:group|groups} are resampled:"
        " {drawn} of them {drawn:is|are} drawn, and"
        " {drawn:its perturbed value|their perturbed values} copied to the others.",
        records=grouped(figures.resampled_records),
        groups=grouped(figures.resampled_groups),
        drawn=grouped(figures.drawn_records),
    )
    blind = limits.sampling is GroupSampling.BLIND
    if blind and figures.resampled_groups > figures.violating_groups:
        text += " " + tr(
            "Blindly, groups that happen to be safe are resampled with those of their size that are"
            " not."
        )
    return text


def _draws_line(figures: GroupFigures) -> str:
    """Return how many records are drawn of groups."""
    if figures.examples:
        return tr(
            "Draws by a group's size: {examples}.",
            examples=", ".join(
                tr("{drawn} of {size}", drawn=grouped(drawn), size=grouped(size))
                for size, drawn in figures.examples
            ),
        )
    if not figures.resampled_groups:
        return ""
    return tr(
        "Between {fewest} and {most} {most:record|records} of a resampled group are drawn.",
        fewest=grouped(figures.fewest),
        most=grouped(figures.most),
    )


def _single_line(figures: GroupFigures) -> str:
    """Return what is to be said of groups of one."""
    if not figures.single_groups:
        return ""
    return tr(
        "{count}"
        " {count:record is alone in its group. It has|records are alone in their group. They have}"
        " no distribution to hide:"
        " {count:its own perturbation protects it|their own perturbation protects them}.",
        count=grouped(figures.single_groups),
    )


def usefulness_of(level: float, attributes: Attributes, settings: Settings, *, wait: bool) -> str:
    """Return how well a recipient can estimate shares, the copies counted in.

    Parameters
    ----------
    level, attributes, settings
        The release's.
    wait
        Whether to work out how many records are drawn, which takes a moment in large tables.
    """
    attribute, groups = attributes[0], attributes[0].groups
    if groups is None or level == 0.0:
        return tr("Nothing can be estimated from it.") if level == 0.0 else ""
    if not wait and MECHANISM.limits(attributes, settings) not in groups.kept:
        return tr("How well shares can be estimated from it is being worked out above.")
    matrix = MECHANISM.matrix(level, attributes, settings)
    law = MECHANISM.estimate_law(level, attributes, settings)
    try:
        alone = expected_standard_errors(
            attribute.frequencies, matrix, groups.records, Target.TABLE
        )
    except EstimationError:
        return tr("Nothing can be estimated from it.")
    errors = np.sqrt(law(attribute.frequencies)) if law is not None else alone
    worst = NORMAL_95 * float(errors.max())
    if worst >= 0.5:
        return tr("Shares can hardly be estimated from it.")
    return tr(
        "From {rows} {rows:record|records}, each value's share can be estimated to within"
        " ±\u202f{points} percentage {points:point|points} (95\u202f%); without resampling it"
        " would be ±\u202f{alone}.",
        rows=grouped(groups.records),
        points=number(worst * 100, 2),
        alone=number(NORMAL_95 * float(alone.max()) * 100, 2),
    )


class ReconstructionSettings(SettingsEditor):
    """States ε, δ and how groups are tested and drawn from; what is not right yet stays here."""

    engine = MECHANISM

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._draft: dict[str, Any] = {}
        self._shown: tuple[object, GroupLimits] | None = None
        numbers = (EPSILON, DELTA, RETENTION)
        self.epsilon, self.delta, self.retention = (
            number_field(spec, lambda name, value: self._state({name: value})) for spec in numbers
        )
        self.rule = segments(RULE, self, lambda rule: self._state({RULE.name: rule.value}))
        self.sampling = segments(
            SAMPLING, self, lambda way: self._state({SAMPLING.name: way.value})
        )
        known = FieldGrid()
        self.share, self.least = (
            number_field(spec, self._state_share) for spec in (LARGEST_SHARE, LEAST_RECORDS)
        )
        known.add_setting(LARGEST_SHARE, self.share)
        known.add_setting(LEAST_RECORDS, self.least)
        self.shares = SourceChoice(
            tr("Largest share of a value"),
            SHARES,
            SHARES_EPSILON,
            stated=boxed(known),
            again=tr("Measure again"),
        )
        self.shares.source.chosen.connect(self._choose_shares)
        self.shares.measured.connect(self._measure_shares)
        self.public = PublicColumns(self)
        self.meaning = label("", "", wrap=True)
        self.about_rule = label("", "muted", wrap=True)
        self.about_sampling = label("", "muted", wrap=True)
        self.costs = label("", "", wrap=True)
        self.figures = label("", "", wrap=True)
        self.problem.offer(self.take_back)
        self._lay_out()
        self.public.chosen.connect(self._choose_public)

    def _lay_out(self) -> None:
        numbers, choices = FieldGrid(), FieldGrid()
        numbers.add_setting(EPSILON, self.epsilon)
        numbers.add_setting(DELTA, self.delta)
        numbers.add_setting(RETENTION, self.retention)
        choices.add_setting(RULE, self.rule, self.about_rule)
        choices.add_setting(SAMPLING, self.sampling, self.about_sampling)
        asked = Card(tr("What a group must keep to itself"), parent=self)
        asked.put(self.meaning, numbers, self.problem, Hairline(), choices, self.shares, self.costs)
        asked.put(Hairline(), self.public)
        outcome = Card(tr("What changes in this table"), parent=self)
        outcome.body.addWidget(self.figures)
        self.setLayout(column(asked, outcome, spacing=Space.BETWEEN))

    # ----- what is shown

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's settings; what is not right yet stays as it was typed."""
        draft = self.come_to(attributes, {**default_limits(), **settings})
        self._draft = dict(self._in_force) if draft is None else draft
        self._show()

    def fitted(self, statement: Statement, settings: Settings) -> Statement:
        """Return the statement, or that of the most trusted release where it is above that."""
        top = MECHANISM.limits(self._attributes, settings).retention
        if statement.keys() == {"retention_probability"}:
            return {"retention_probability": min(statement["retention_probability"], top)}
        return statement

    def leave(self) -> None:
        """Stop working groups out."""
        self.session.runner.cancel(JOB)
        self.session.runner.cancel(COSTS_JOB)
        self.session.runner.cancel(MEASURING)
        self._shown = None

    def _show(self) -> None:
        draft = self._draft
        self.epsilon.set_value(100 * float(draft["epsilon"]))
        self.delta.set_value(100 * float(draft["delta"]))
        self.retention.set_value(float(draft["retention_probability"]))
        self.rule.set_value(draft["rule"])
        self.sampling.set_value(draft["sampling"])
        self._show_shares(draft)
        self.public.show_columns(self._released(), MECHANISM.public_columns(draft))
        try:
            limits = MECHANISM.limits(self._attributes, draft)
            MECHANISM.check_settings(self._attributes, draft)
        except SfumatoError as error:
            self.refuse(error)
            return
        self.problem.clear()
        self.meaning.setText(_meaning(limits))
        self.about_sampling.setText(_about_sampling(limits.sampling))
        if draft == self._in_force:
            self._work_out(limits)

    def _show_shares(self, draft: dict[str, Any]) -> None:
        """Show what is known of the largest share of a value in a group, where that matters."""
        self.shares.setVisible(uses_bounds(draft["rule"], draft["sampling"]))
        source = SHARES.stated(draft)
        self.shares.arrange(source)
        self.shares.epsilon.set_value(float(SHARES_EPSILON.stated(draft)))
        self.share.set_value(100 * float(LARGEST_SHARE.stated(draft)))
        self.least.set_value(float(LEAST_RECORDS.stated(draft)))
        words = {
            ShareSource.ANY: tr(
                "Groups are prepared for any share, so few of their records are drawn."
            ),
            ShareSource.STATED: tr(
                "State only what is known without this table; a table that breaks it is not"
                " released."
            ),
        }
        told = MECHANISM.byproducts(self._attributes, draft)
        if source is not ShareSource.NOISY:
            self.shares.say(words[source])
        elif MECHANISM.outdated(self._attributes, draft):
            self.shares.say(
                tr("Not measured in these groups yet: until then they are prepared for any share."),
                "danger",
            )
        else:
            self.shares.say(typeset(told[0].sentence) if told else "")

    def _work_out(self, limits: GroupLimits) -> None:
        """Work out what the limits mean for the groups, unless that is in sight already."""
        groups = self._attributes[0].groups
        if groups is None or self._shown == (groups, limits):
            return
        self._shown = (groups, limits)
        self.about_rule.setText(tr("Weighing this test…"))
        self._say_figures(tr("Working out which groups have to be resampled…"), "muted")
        title = tr("Looking at the groups of {name}", name=self._attributes[0].name)
        work = partial(outcome_of, groups, limits, self._attributes, dict(self._in_force))
        self.session.runner.run(title, work, self._show_outcome, self._say_failed, key=JOB)
        self._weigh_modes()

    def _weigh_modes(self) -> None:
        """Say what each mode costs those who count; of long tables the command does."""
        session, name = self.session, self._attributes[0].name
        rows, entry = session.all_rows(), session.document.entry_for(name)
        self.costs.setText("")
        if rows is None or entry is None or not rows.fits:
            return
        subject = RiskSubject(rows, entry, usual_knowledge(session.document))
        title = tr("Asking count queries about {name}", name=name)
        work, failed = partial(costs_of_modes, subject), lambda _error: self.costs.setText("")
        session.runner.run(title, work, self._show_costs, failed, key=COSTS_JOB)

    def _show_costs(self, costs: Sequence[ModeCost]) -> None:
        self.costs.setText(typeset(sentence_of_costs(costs)))

    def _show_outcome(self, outcome: GroupLimitsOutcome) -> None:
        self.about_rule.setText(outcome.about_rule)
        self._say_figures(outcome.figures)

    def _say_failed(self, error: SfumatoError) -> None:
        self._shown = None
        self._say_figures(error_words(error), "danger")

    def _say_figures(self, text: str, look: str = "") -> None:
        set_look(self.figures, look)
        self.figures.setText(text)

    def _released(self) -> tuple[str, ...]:
        return tuple(
            column.name
            for column in self.session.document.columns
            if column.role not in {Role.SENSITIVE, Role.IDENTIFYING}
        )

    # ----- what the person does

    def _state(self, change: dict[str, Any]) -> None:
        """Take a change over; what holds comes into force, as one edit."""
        self._draft = MECHANISM.changed_settings(self._draft, change)
        self.hold(None if self._draft == self._in_force else self._draft)
        self._show()
        if self._draft != self._in_force and not self.problem.words:
            self.state(dict(self._draft))

    def _choose_public(self, names: tuple[str, ...] | None) -> None:
        self._draft = MECHANISM.changed_settings(self._draft, {PUBLIC.name: None})
        del self._draft[PUBLIC.name]
        self._state({} if names is None else {PUBLIC.name: list(names)})

    def _choose_shares(self, source: object) -> None:
        """Measure shares with noise at once, or take over what is known of them."""
        if source == ShareSource.NOISY:
            self._measure_shares(self.shares.epsilon.value)
        elif source == ShareSource.STATED:
            self._state_share(LARGEST_SHARE.name, float(LARGEST_SHARE.stated(self._draft)))
        else:
            self._state({SHARES.name: ShareSource.ANY.value})

    def _state_share(self, name: str, value: float) -> None:
        given = {name: int(value) if name == LEAST_RECORDS.name else value}
        self._state({SHARES.name: ShareSource.STATED.value, **given})

    def _measure_shares(self, epsilon: float) -> None:
        """Measure the groups' largest shares in a job."""
        wanted = {SHARES.name: ShareSource.NOISY.value, SHARES_EPSILON.name: epsilon}
        stated = MECHANISM.changed_settings(self._draft, wanted)
        title = tr("Measuring the largest shares")
        doing = Sentence("Measuring the largest shares")
        self.complete_later(title, doing, stated, key=MEASURING)

    def show_in_force(self) -> None:
        """Show the settings in force in the place of what was stated."""
        self._draft = dict(self._in_force)
        self._show()


class PublicColumns(QWidget):
    """A tick for each released column: whoever knows a person knows those that are public.

    All are public until somebody says otherwise.
    """

    chosen = Signal(object)
    """The names ticked, as a tuple; None where all that are released count."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = TickGrid(ABREAST, Space.INSIDE, all_at_once=False, parent=self)
        self._grid.chosen.connect(self._tell)
        self.boxes = self._grid.boxes
        self.words = label("", "muted", wrap=True)
        self.everything = button(
            tr("All that are released"), lambda: self.chosen.emit(None), "quiet"
        )
        words = spoken(PUBLIC.title)
        states(self, PUBLIC)
        self.setAccessibleName(words)
        self.setLayout(
            column(FlowLayout(label(words), self.everything, apart=1), self.words, self._grid)
        )

    def show_columns(self, released: Sequence[str], named: Sequence[str] | None) -> None:
        """Show which of the released columns make groups; all of them where `named` is None."""
        self.everything.setVisible(named is not None)
        self.words.setText(
            tr(
                "A group is the records alike in all of these. Take out only what nobody knows of"
                " a person: it makes groups larger, and more of them are resampled."
            )
            if released
            else tr(
                "No other column is released, so there is nothing by which records would be alike."
            )
        )
        self._grid.show_names(released, released if named is None else named)

    def _tell(self, names: tuple[str, ...]) -> None:
        self.chosen.emit(None if len(names) == len(self.boxes) else names)


def _meaning(limits: GroupLimits) -> str:
    """Return what ε and δ mean."""
    error = percent(limits.epsilon, 0)
    if limits.rule is not Test.EXACT:
        return tr(
            "Nobody can prove by Chernoff's bound that an attacker's estimate for a group is off"
            " by more than {error} less often than {times}.",
            error=error,
            times=times(limits.delta),
        )
    return tr(
        "An attacker's estimate for any group is off by more than {error} at least {times}:"
        " {sides}.",
        error=error,
        times=times(limits.least_missed),
        sides=on_each_side(limits.delta),
    )


def _about_sampling(sampling: GroupSampling) -> str:
    """Return what decides who is drawn, and what that gives away."""
    if sampling is GroupSampling.BLIND:
        return tr(
            "How many records of a group are drawn follows from its size alone, and which ones"
            " from chance: nothing about the group shows but the draws."
        )
    return tr(
        "How many records are drawn follows from the group's largest share. The number of copies"
        " shows it: whoever counts them learns how much of the group shares one value."
    )


class ReconstructionEditor(LevelEditor):
    """States a recipient's retention probability, at most that of the most trusted release."""

    mechanism: ClassVar[str] = "reconstruction"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Protect small groups")
    effect = effects.few_of_a_group
    settings_editor = ReconstructionSettings

    def reach_now(self) -> Reach:
        """Let the slider end at the most trusted release."""
        return {"retention_probability": (0.0, self._top())}

    def level_at(self, trust: float) -> float:
        """Return the level for a place on the ladder; the top is as high as it goes."""
        return min(super().level_at(trust), self._top())

    def meaning_of(self, level: float) -> tuple[str, str]:
        """Return what a level means to a person in the table, and to the recipient."""
        matrix = MECHANISM.matrix(self._top(), self._attributes, self._settings)
        return (
            tr(
                "{suspicion} A row of a resampled group says nothing about its own person.",
                suspicion=suspicion(matrix),
            ),
            usefulness_of(level, self._attributes, self._settings, wait=False),
        )

    def _top(self) -> float:
        return MECHANISM.limits(self._attributes, self._settings).retention


EDITOR = ReconstructionEditor
