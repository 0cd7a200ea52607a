"""The settings of per-value limits: the grid, its presets, and solving them as they change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtWidgets import QCheckBox, QLineEdit, QVBoxLayout, QWidget

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.per_value.frequency_source import (
    Frequencies,
    FrequencySource,
    frequencies_in,
    usual_frequencies,
)
from sfumato.engine.mechanisms.per_value.limits import PrivacyLimits
from sfumato.engine.mechanisms.per_value.mechanism import MECHANISM
from sfumato.engine.mechanisms.per_value.solver import BreachMode
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import grouped
from sfumato.ui.panels.policy.mechanisms.per_value.classes import SensitivityClass, by_rarity
from sfumato.ui.panels.policy.mechanisms.per_value.draft import LimitsDraft
from sfumato.ui.panels.policy.mechanisms.per_value.frequencies import FrequencyChoice
from sfumato.ui.panels.policy.mechanisms.per_value.grid import LimitsGrid
from sfumato.ui.panels.policy.mechanisms.per_value.model import LOW, LimitsModel, Solved
from sfumato.ui.panels.policy.mechanisms.per_value.outcome import Outcome, solved_of
from sfumato.ui.panels.policy.mechanisms.per_value.pasting import (
    Pasted,
    is_list,
    paste_block,
    paste_list,
    rows_of,
)
from sfumato.ui.panels.policy.mechanisms.per_value.presets import Presets
from sfumato.ui.panels.policy.mechanisms.per_value.status import Status
from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import Card, button, label, row

Floats = npt.NDArray[np.float64]
AT_ONCE: Final = 200
"""Domains up to this size are solved while the person looks; larger ones in a job."""

JOB: Final = "solve limits"


class FineGrainSettings(SettingsEditor):
    """States the limits of every value; what they lead to stands below."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._attribute: Attribute | None = None
        self._in_force: Settings = {}
        self._draft: LimitsDraft | None = None
        self._kept: dict[str, tuple[Settings, LimitsDraft]] = {}
        self.mode = Segments(
            [(BreachMode.STRICT, tr("Strict")), (BreachMode.PUBLISHED, tr("As published"))], self
        )
        self.mode.setAccessibleName(tr("What the limits rule out"))
        self.mode_words = label("", "small", wrap=True)
        self.frequencies = FrequencyChoice(self)
        self._chosen = Frequencies(FrequencySource.EQUAL)
        self.presets = Presets(self)
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(tr("Find a value"))
        self.search.setAccessibleName(tr("Find a value"))
        self.search.setClearButtonEnabled(True)
        self.only_own = QCheckBox(tr("Only with limits of their own"), self)
        self.model = LimitsModel(self)
        self.grid = LimitsGrid(self.model, self)
        self.status = Status(self)
        self.outcome = Outcome(session, self)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        self.paste = button(
            tr("Paste"),
            self.grid.paste,
            "quiet",
            tip=tr("A list (value, ρ1, ρ2) or a block of cells from a spreadsheet"),
        )
        self.fill = button(
            tr("Fill down"), self.grid.fill_down, "quiet", tip=tr("The top cell, to all below it")
        )
        self.clear = button(
            tr("Clear"), self.grid.clear_cells, "quiet", tip=tr("Back to the tolerance rule")
        )
        card = Card(parent=self)
        card.body.addLayout(row(label(tr("Limits of the values"), "heading"), None, self.mode))
        card.body.addWidget(self.mode_words)
        card.body.addWidget(self.frequencies)
        card.body.addWidget(self.presets)
        card.body.addLayout(
            row(self.search, self.only_own, None, self.paste, self.fill, self.clear)
        )
        card.body.addWidget(self.grid)
        card.body.addWidget(self.status)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.BETWEEN)
        column.addWidget(card)
        column.addWidget(self.outcome)

    def _connect(self) -> None:
        self.mode.chosen.connect(self._set_mode)
        self.frequencies.stated.connect(self._set_frequencies)
        self.presets.theta_stated.connect(self._set_theta)
        self.presets.theta_settled.connect(self.finished)
        self.presets.rarity_stated.connect(self._set_by_rarity)
        self.presets.painted.connect(self._paint)
        self.search.textChanged.connect(self._narrow)
        self.only_own.toggled.connect(self._narrow)
        self.model.written.connect(self._write)
        self.grid.pasted.connect(self._paste)
        self.status.place_asked.connect(self._go_to)
        self.status.strays_removed.connect(self._remove_strays)
        self.status.taken_back.connect(self._take_back)
        self.status.solve_asked.connect(self._solve)

    # ----- what is shown

    def show_settings(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        """Show an entry's limits; a draft that is not in force yet stays as it is."""
        attribute = attributes[0]
        if attribute.domain is None:
            return
        before = self._attribute
        if before is not None and settings == self._in_force and _same(before, attribute):
            self._attribute = attribute
            return
        self.leave()
        if before is not None and self._draft is not None and not self._settled():
            self._kept[before.name] = (self._in_force, self._draft)
        self._attribute, self._in_force = attribute, settings
        self._chosen = self._frequencies_in(settings, attribute)
        kept = self._kept.pop(attribute.name, None)
        if kept is not None and kept[0] == settings and kept[1].names == attribute.domain.names:
            draft = replace(kept[1], frequencies=self._shares(attribute))
        else:
            draft = self._draft_of(settings, attribute, attribute.domain)
        self._show_in_force()
        self._show_draft(draft)
        if not self._settled() and draft.sound and "profile" in settings:
            self._solve()

    def leave(self) -> None:
        """Stop solving and comparing."""
        self.session.runner.cancel(JOB)
        self.outcome.curve.leave()

    def _draft_of(self, settings: Settings, attribute: Attribute, domain: Domain) -> LimitsDraft:
        try:
            limits = PrivacyLimits.from_dict(settings)
        except SfumatoError:
            limits = PrivacyLimits()
        return LimitsDraft.of(limits, domain, self._shares(attribute))

    def _frequencies_in(self, settings: Settings, attribute: Attribute) -> Frequencies:
        """Return where the frequencies of settings come from, with counts drawn."""
        records = 0 if attribute.counts is None else int(attribute.counts.sum())
        try:
            chosen = frequencies_in(settings, records).drawn(attribute, self.session.noise)
            chosen.of(attribute)
        except SfumatoError:
            return usual_frequencies(records).drawn(attribute, self.session.noise)
        return chosen

    def _to_solve_for(self, attribute: Attribute) -> Frequencies:
        """Return what limits would be solved for now: the exact counts never again."""
        if self._chosen.source is not FrequencySource.EXACT:
            return self._chosen
        return self._frequencies_in({}, attribute)

    def _shares(self, attribute: Attribute) -> Floats:
        """Return the shares by which values are frequent or rare, shape (m,)."""
        return self._to_solve_for(attribute).of(attribute)

    def _settled(self) -> bool:
        """Whether the grid shows just what is in force."""
        if self._attribute is None or self._draft is None:
            return True
        try:
            in_force = PrivacyLimits.from_dict(self._in_force)
            if frequencies_in(self._in_force) != self._chosen:
                return False
        except SfumatoError:
            return False
        domain = self._attribute.domain
        if domain is None or domain.names != self._draft.names:
            return False
        stated = LimitsDraft.of(in_force, domain, self._draft.frequencies)
        mine = self._draft
        return (stated.mode, stated.theta, stated.own, stated.strays) == (
            mine.mode,
            mine.theta,
            mine.own,
            mine.strays,
        )

    def _show_in_force(self) -> None:
        """Show what the settings in force make of every value."""
        attribute = self._attribute
        if attribute is None:
            return
        try:
            profile = MECHANISM.solved((attribute,), self._in_force)
        except SfumatoError:
            self.model.show_solved(None)
            self.outcome.hide()
            return
        self.model.show_solved(solved_of(profile.retention, self._spent()))
        self.outcome.show()
        self.outcome.show_profile(profile, attribute)

    def _show_draft(self, draft: LimitsDraft) -> None:
        self._draft = draft
        attribute = self._attribute
        if attribute is None or attribute.domain is None:
            return
        problems = draft.problems()
        solved = self._solved_in_force()
        self.model.show_draft(draft, draft.gammas(attribute.domain), problems)
        self.model.show_solved(solved)
        self.mode.set_value(draft.mode)
        self.mode_words.setText(_promise(draft.mode))
        self.presets.show_theta(draft.theta)
        self.frequencies.show_frequencies(self._chosen, len(draft.names))
        if problems or draft.strays:
            self.status.show_problems(draft, problems)
        elif solved is None:
            self.status.show_unsolved()
        elif self._chosen.source is FrequencySource.EXACT:
            self.status.show_exact()
        else:
            self.status.clear()

    def _solved_in_force(self) -> Solved | None:
        attribute = self._attribute
        if attribute is None:
            return None
        try:
            return solved_of(MECHANISM.profile((attribute,), self._in_force), self._spent())
        except SfumatoError:
            return None

    def _spent(self) -> float:
        """Return ε0 of the profile in force."""
        try:
            return MECHANISM.byproduct_epsilon(self._in_force)
        except SfumatoError:
            return 0.0

    # ----- what the person does

    def _take(self, draft: LimitsDraft, *, merge: bool = False) -> None:
        """Take a change over: solve it where it is sound, else say what is wrong."""
        self._show_draft(draft)
        self.session.runner.cancel(JOB)
        if not draft.sound or self._settled():
            return
        self._solve()
        if not merge:
            self.finished.emit()

    def _solve(self) -> None:
        """Solve the draft: at once where that takes no time, else in a job."""
        attribute, draft = self._attribute, self._draft
        if attribute is None or draft is None:
            return
        self._chosen = self._to_solve_for(attribute)
        stated = {**draft.limits().to_dict(), **self._chosen.to_dict()}
        work = partial(_solved_settings, attribute, stated, self.session.noise)
        if len(draft.names) <= AT_ONCE:
            try:
                self._adopt(draft, work(None))
            except SfumatoError as error:
                self.status.show_refusal(*error_texts(error))
            return
        self.status.show_working(
            tr("Solving the limits of {count} values…", count=grouped(len(draft.names)))
        )
        self.session.runner.run(
            tr("Solving the limits of {name}", name=attribute.name),
            work,
            partial(self._adopt_later, draft),
            lambda error: self.status.show_refusal(*error_texts(error)),
            key=JOB,
        )

    def _adopt_later(self, draft: LimitsDraft, settings: Settings) -> None:
        if draft is self._draft:
            self._adopt(draft, settings)
            if not self.presets.theta.slider.isSliderDown():
                self.finished.emit()

    def _adopt(self, draft: LimitsDraft, settings: Settings) -> None:
        """Put solved limits in force."""
        self._in_force = settings
        self._chosen = frequencies_in(settings)
        self._show_in_force()
        self._show_draft(draft)
        self.settings_stated.emit(settings)

    def _set_mode(self, mode: object) -> None:
        if self._draft is not None:
            self._take(replace(self._draft, mode=BreachMode(str(mode))))

    def _set_frequencies(self, chosen: Frequencies) -> None:
        attribute, draft = self._attribute, self._draft
        if attribute is None or draft is None:
            return
        self._chosen = chosen.drawn(attribute, self.session.noise)
        self._take(replace(draft, frequencies=self._shares(attribute)))

    def _set_theta(self, theta: float | None) -> None:
        if self._draft is not None and self._draft.theta != theta:
            self._take(replace(self._draft, theta=theta), merge=True)

    def _set_by_rarity(self, rare: float, uncommon: float) -> None:
        if self._draft is not None:
            pairs = by_rarity(self._draft.frequencies, rare, uncommon)
            self._take(replace(self._draft, own=pairs))

    def _paint(self, each: SensitivityClass) -> None:
        places = self.grid.selected_places()
        if self._draft is None:
            return
        if not places:
            self.status.show_hint(tr("Select values in the grid first."))
            return
        self._take(self._draft.with_limits(places, each.pair))

    def _write(self, texts: dict[tuple[int, int], str]) -> None:
        if self._draft is not None:
            self._take(self._draft.with_texts(texts))

    def _paste(self, text: str) -> None:
        rows = rows_of(text)
        if self._draft is None or not rows:
            self.status.show_hint(tr("There is no text on the clipboard."))
            return
        if is_list(rows, self._draft.names):
            pasted = paste_list(self._draft, rows)
        else:
            current = self.grid.currentIndex()
            first = max(current.column(), LOW) - LOW if current.isValid() else 0
            start = current.row() if current.isValid() else 0
            pasted = paste_block(self._draft, rows, self.model.places_from(start), first)
        self._take(pasted.draft)
        self.status.add_hint(_pasted_words(pasted))

    def _remove_strays(self) -> None:
        if self._draft is not None:
            self._take(replace(self._draft, strays=()))

    def _take_back(self) -> None:
        if self._attribute is not None and self._attribute.domain is not None:
            self._chosen = self._frequencies_in(self._in_force, self._attribute)
            draft = self._draft_of(self._in_force, self._attribute, self._attribute.domain)
            self._take(replace(draft, strays=()))

    def _narrow(self, _changed: object = None) -> None:
        self.model.narrow(self.search.text(), only_own=self.only_own.isChecked())

    def _go_to(self, place: int, column: int) -> None:
        self.search.clear()
        self.grid.show_place(place, LOW + column)
        self.grid.setFocus()


def _solved_settings(
    attribute: Attribute, stated: Settings, noise: KeyedNoise, context: Context | None
) -> Settings:
    if context is not None:
        context.report(0.1, "Finding what keeps most")
    return MECHANISM.complete_settings((attribute,), stated, noise)


def _same(first: Attribute, second: Attribute) -> bool:
    """Whether two states of an attribute have the same values, equally often."""
    return (
        first.name == second.name
        and first.domain is not None
        and second.domain is not None
        and first.domain.names == second.domain.names
        and np.array_equal(first.frequencies, second.frequencies)
    )


def _promise(mode: BreachMode) -> str:
    if mode is BreachMode.STRICT:
        return tr(
            "Nothing released makes a value more likely than its limit allows, nor less likely by"
            " the same factor."
        )
    return tr(
        "Nothing released makes a value more likely than its limit allows. It may become less"
        " likely by more: the paper says this can't happen, but that half of its theorem fails."
    )


def _pasted_words(pasted: Pasted) -> str:
    words = tr("{count} values were pasted.", count=grouped(pasted.taken))
    if pasted.missing:
        words += " " + tr(
            "{count} values of the domain are not in the list; theirs stay as they were.",
            count=grouped(pasted.missing),
        )
    if pasted.left_over:
        words += " " + tr("{count} cells did not fit and were left out.", count=pasted.left_over)
    return words
