"""The settings of reconstruction privacy: what is asked, of which groups, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.mechanisms.reconstruction.figures import (
    Gap,
    GroupFigures,
    gap_of,
    group_figures,
)
from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM
from sfumato.engine.mechanisms.reconstruction.settings import default_limits
from sfumato.engine.mechanisms.reconstruction.sizes import Limits
from sfumato.engine.table.table import Attribute
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.mechanisms.reconstruction import wording
from sfumato.ui.panels.policy.mechanisms.reconstruction.public import PublicColumns
from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField, Segments
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import Card, Rule, button, label, row, set_look

JOB: Final = "groups"
"""The job that works out what the limits mean for the table's groups."""


@dataclass(frozen=True)
class _Found:
    gap: Gap
    figures: GroupFigures
    usefulness: str


class ReconstructionSettings(SettingsEditor):
    """States ε, δ and how groups are tested and drawn from; what is not right yet stays here."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._attributes: tuple[Attribute, ...] = ()
        self._in_force: Settings = {}
        self._draft: dict[str, Any] = {}
        self._kept: dict[str, tuple[Settings, dict[str, Any]]] = {}
        self._shown: tuple[object, Limits] | None = None
        self.epsilon = _percentage(tr("Relative error"), 100.0)
        self.delta = _percentage(tr("Probability on each side"), 99.9)
        self.retention = NumberField(0.001, 0.999, decimals=3, step=0.05)
        self.retention.spin.setAccessibleName(tr("Retention probability of the top"))
        self.rule = Segments([(value, tr(str(name))) for value, name in wording.RULES], self)
        self.rule.setAccessibleName(tr("Test"))
        self.sampling = Segments(
            [(value, tr(str(name))) for value, name in wording.SAMPLINGS], self
        )
        self.sampling.setAccessibleName(tr("How records are drawn"))
        self.public = PublicColumns(self)
        self.meaning = label("", "", wrap=True)
        self.about_rule = label("", "muted", wrap=True)
        self.about_sampling = label("", "muted", wrap=True)
        self.figures = label("", "", wrap=True)
        self.status = label("", "danger", wrap=True)
        self._icon = IconLabel("danger", "danger", 18)
        self.take_back = button(tr("Back to what is in force"), self._take_back)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        asked = Card(tr("What a group must keep to itself"), parent=self)
        asked.body.addWidget(self.meaning)
        asked.body.addLayout(self._fields())
        trouble = row(self._icon, self.status)
        trouble.setStretch(1, 1)
        asked.body.addLayout(trouble)
        asked.body.addLayout(row(self.take_back, None))
        asked.body.addWidget(Rule())
        for name, field, about in (
            (tr("Test"), self.rule, self.about_rule),
            (tr("Draw records"), self.sampling, self.about_sampling),
        ):
            asked.body.addLayout(row(label(name), field, None))
            asked.body.addWidget(about)
        asked.body.addWidget(Rule())
        asked.body.addWidget(self.public)
        outcome = Card(tr("What changes in this table"), parent=self)
        outcome.body.addWidget(self.figures)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(Space.BETWEEN)
        lines.addWidget(asked)
        lines.addWidget(outcome)

    def _fields(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.BETWEEN)
        grid.setVerticalSpacing(Space.INSIDE)
        fields = (
            (tr("An estimate is wrong when it is off by more than"), "ε", self.epsilon),
            (tr("How likely it has to be wrong, on each side"), "δ", self.delta),
            (tr("Retention probability of the most trusted release"), "p", self.retention),
        )
        for line, (words, symbol, field) in enumerate(fields):
            name = label(words, wrap=True)
            name.setBuddy(field)
            grid.addWidget(name, line, 0)
            grid.addWidget(label(symbol, "muted"), line, 1)
            grid.addWidget(field, line, 2)
        grid.setColumnStretch(0, 1)
        return grid

    def _connect(self) -> None:
        self.epsilon.value_changed.connect(
            lambda value: self._state({"epsilon": round(value / 100, 6)})
        )
        self.delta.value_changed.connect(
            lambda value: self._state({"delta": round(value / 100, 6)})
        )
        self.retention.value_changed.connect(
            lambda value: self._state({"retention_probability": round(value, 6)})
        )
        self.rule.chosen.connect(lambda value: self._state({"rule": str(value)}))
        self.sampling.chosen.connect(lambda value: self._state({"sampling": str(value)}))
        self.public.chosen.connect(self._choose_public)

    # ----- what is shown

    def show_settings(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        """Show an entry's settings; what is not right yet stays as it was typed."""
        name = attributes[0].name
        before = self._attributes[0].name if self._attributes else ""
        if self._draft != dict(self._in_force) and before:
            self._kept[before] = (self._in_force, self._draft)
        self._attributes, self._in_force = tuple(attributes), settings
        kept = self._kept.pop(name, None)
        in_force = {**default_limits(), **settings}
        self._draft = kept[1] if kept is not None and kept[0] == settings else in_force
        self._in_force = in_force
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
        self._shown = None

    def _show(self) -> None:
        draft = self._draft
        self.epsilon.set_value(100 * float(draft["epsilon"]))
        self.delta.set_value(100 * float(draft["delta"]))
        self.retention.set_value(float(draft["retention_probability"]))
        self.rule.set_value(str(draft["rule"]))
        self.sampling.set_value(str(draft["sampling"]))
        self.public.show_columns(self._released(), MECHANISM.public_columns(draft))
        try:
            limits = MECHANISM.limits(self._attributes, draft)
            MECHANISM.check_settings(self._attributes, draft)
        except SfumatoError as error:
            self._refuse(error)
            return
        self._say_sound(limits)
        if draft == self._in_force:
            self._work_out(limits)

    def _refuse(self, error: SfumatoError) -> None:
        """Say what is wrong; what was in force stays."""
        what, remedy = error_texts(error)
        lines = [f"{what} {remedy}".strip()]
        if self._draft != self._in_force:
            lines.append(tr("Until this is right, what was asked before stays in force."))
        self.status.setText("\n".join(lines))
        self._icon.show()
        self.status.show()
        self.take_back.setVisible(self._draft != self._in_force)

    def _say_sound(self, limits: Limits) -> None:
        for widget in (self._icon, self.status, self.take_back):
            widget.hide()
        self.status.setText("")
        self.meaning.setText(wording.meaning(limits))
        self.about_sampling.setText(wording.about_sampling(limits.sampling))

    def _work_out(self, limits: Limits) -> None:
        """Work out what the limits mean for the groups, unless that is in sight already."""
        groups = self._attributes[0].groups
        if groups is None or self._shown == (groups, limits):
            return
        self._shown = (groups, limits)
        set_look(self.figures, "muted")
        self.about_rule.setText(tr("Weighing this test…"))
        self.figures.setText(tr("Working out which groups have to be resampled…"))
        attributes, settings = self._attributes, dict(self._in_force)

        def work(context: Context) -> _Found:
            figures = group_figures(groups, limits, context)
            useful = wording.usefulness_of(limits.retention, attributes, settings, wait=True)
            return _Found(gap_of(limits), figures, useful)

        self.session.runner.run(
            tr("Looking at the groups of {name}", name=attributes[0].name),
            work,
            partial(self._say_figures, limits),
            self._say_failed,
            key=JOB,
        )

    def _say_figures(self, limits: Limits, found: _Found) -> None:
        figures = found.figures
        self.about_rule.setText(wording.about_rule(found.gap, limits))
        lines = (
            wording.groups_line(figures),
            wording.change_line(figures, limits),
            wording.draws_line(figures),
            wording.single_line(figures),
            found.usefulness,
        )
        set_look(self.figures, "")
        self.figures.setText("\n\n".join(line for line in lines if line))

    def _say_failed(self, error: SfumatoError) -> None:
        self._shown = None
        set_look(self.figures, "danger")
        self.figures.setText(" ".join(error_texts(error)))

    def _released(self) -> tuple[str, ...]:
        return tuple(
            column.name
            for column in self.session.document.columns
            if column.role not in {Role.SENSITIVE, Role.IDENTIFYING}
        )

    # ----- what the person does

    def _state(self, change: dict[str, Any]) -> None:
        """Take a change over; what holds comes into force, as one edit."""
        self._draft = {**self._draft, **change}
        self._show()
        try:
            MECHANISM.check_settings(self._attributes, self._draft)
        except SfumatoError:
            return
        if self._draft != self._in_force:
            self.settings_stated.emit(dict(self._draft))
            self.finished.emit()

    def _choose_public(self, names: object) -> None:
        change = dict(self._draft)
        change.pop("public", None)
        if isinstance(names, tuple):
            change["public"] = list(names)
        self._draft = change
        self._state({})

    def _take_back(self) -> None:
        self._draft = dict(self._in_force)
        self._show()


def _percentage(name: str, most: float) -> NumberField:
    field = NumberField(0.1, most, decimals=1, unit="%", step=1.0)
    field.spin.setAccessibleName(name)
    return field
