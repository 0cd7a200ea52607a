"""The editor of Hadamard retention: recipients' levels, and how many blocks codes are put into."""

from __future__ import annotations

import math
from typing import ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.mechanisms.hadamard import BLOCKS, MECHANISM, best_blocks
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.ui.panels.policy.beliefs import suspicion
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import FieldGrid, number_field
from sfumato.ui.panels.policy.wording import tr, usefulness
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Card, button, column, row


class HadamardSettings(SettingsEditor):
    """States the number of blocks; what the file is for and what it can't do stands below."""

    engine = MECHANISM

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._best = 1
        self.blocks = number_field(BLOCKS, self._state)
        self.use_best = button("", self._take_best)
        form = FieldGrid()
        form.add_setting(BLOCKS, self.blocks)
        card = Card(tr("How codes become symbols"), parent=self)
        card.put(form, row(self.use_best, None), self.problem, self.outcome)
        self.setLayout(column(card))

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's blocks, and which number suits the most trusted recipient."""
        self._attributes, self._in_force = tuple(attributes), settings
        self.use_best.hide()
        try:
            sets = MECHANISM.sets(attributes, settings)
            self.blocks.set_value(sets.blocks)
        except SfumatoError as error:
            self.show_nothing(error)
            return
        self.problem.clear()
        self._best = self._best_for_levels()
        self.use_best.setText(
            tr("Use {count} {count:block|blocks}, which is best", count=self._best)
        )
        self.use_best.setToolTip(tr("The errors are smallest for the most trusted recipient."))
        self.use_best.setVisible(self._best not in (0, sets.blocks))
        self.outcome.setText(
            tr(
                "{codes} codes become {symbols} symbols; each code has {own} of them, half of its"
                " block's. The file is for counting codes, and for nothing else: a symbol says of"
                " many codes that they are a little likelier. {codes} codes cost as many estimates,"
                " so that single frequent ones are known well, and rare ones hardly.",
                codes=grouped(sets.size),
                symbols=grouped(sets.symbols),
                own=grouped(sets.in_block // 2),
            )
        )

    def fitted(self, statement: Statement, settings: Settings) -> Statement:
        """Return the retention probability that keeps the odds where blocks are more."""
        if statement.keys() != {"retention_probability"}:
            return statement
        level = statement["retention_probability"]
        odds = MECHANISM.odds_factor(level, self._attributes, self._in_force)
        if not math.isfinite(odds):
            return statement
        kept = MECHANISM.level_within(odds, self._attributes, settings)
        return {"retention_probability": min(kept, level)}

    def _best_for_levels(self) -> int:
        """Return the number of blocks with the smallest errors; 0 where no level says."""
        entry = self.session.document.entry_for(self._attributes[0].name)
        odds = []
        for recipient in self.session.document.recipients:
            if entry is None or entry.key not in recipient.statements:
                continue
            try:
                stated = recipient.statements[entry.key]
                level = MECHANISM.level(stated, self._attributes, self._in_force)
                odds.append(MECHANISM.odds_factor(level, self._attributes, self._in_force))
            except SfumatoError:
                continue  # the recipient's level says what is wrong with it
        size = MECHANISM.domain_of(self._attributes).size
        return best_blocks(max(odds), size) if odds else 0

    def _state(self, name: str, given: float) -> None:
        self.try_settings({**self._in_force, name: int(given)})

    def _take_best(self) -> None:
        self._state(BLOCKS.name, self._best)


class HadamardEditor(LevelEditor):
    """States the level of a ladder of symbols."""

    mechanism: ClassVar[str] = "hadamard"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Replace by shared symbols")
    effect = effects.shared_symbols
    settings_editor = HadamardSettings

    def meaning_of(self, level: float) -> tuple[str, str]:
        """Return what a symbol tells of a person, and how well codes can be counted."""
        whole = MECHANISM.matrix(level, self._attributes, self._settings)
        each = MECHANISM.matrix(self.of_each_row(level), self._attributes, self._settings)
        chance = 1.0 / (2 * each.sets.blocks)
        own = each.retention + (1.0 - each.retention) * chance
        words = tr(
            "{share} of records show a symbol of their true code, where {chance} would by chance.",
            share=percent(own, 1),
            chance=percent(chance, 1),
        )
        return f"{words} {suspicion(whole)}", usefulness(each, self._attributes)


EDITOR = HadamardEditor
