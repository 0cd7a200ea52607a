"""The editor of a published distribution: recipients' levels, and where replacements come from."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.distribution import CELLS, EVEN_SHARE, MECHANISM, even_share_in
from sfumato.engine.mechanisms.frequency_source import Frequencies, frequencies_in
from sfumato.formats.language import shown
from sfumato.plots.axes import percent
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import (
    FieldGrid,
    FrequencyChoice,
    FrequencyWords,
    number_field,
    value_list,
)
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Card, column

WORDS: Final = FrequencyWords(
    noisy=QT_TRANSLATE_NOOP(
        "Policy",
        "Counts of the table with noise of about ± {spread} {spread:record|records}, drawn once."
        " The distribution that follows from them, which recipients see, discloses at most ε0;"
        " every figure includes it.",
    ),
    unasked=QT_TRANSLATE_NOOP(
        "Policy", "The table is not used, so the distribution discloses nothing about anyone."
    ),
)


class DistributionSettings(SettingsEditor):
    """States what replaced values are drawn from; what follows for each value stands below."""

    engine = MECHANISM

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.frequencies = FrequencyChoice(WORDS, self)
        self.even = number_field(EVEN_SHARE, self._state)
        headings = (tr("Value"), tr("In the table"), tr("As a replacement"))
        name = tr("What each value is replaced by, and how often")
        self.values, self.list = value_list(name, headings, self)
        # By the rows in sight: others are no wider.
        self.list.horizontalHeader().setResizeContentsPrecision(0)
        form = FieldGrid()
        form.add_setting(EVEN_SHARE, self.even)
        card = Card(tr("What replaced values are drawn from"), parent=self)
        card.put(self.frequencies, form, self.problem, self.outcome, self.list)
        self.setLayout(column(card))
        self.frequencies.stated.connect(self._state_frequencies)

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's distribution."""
        self._attributes, self._in_force = tuple(attributes), settings
        try:
            size = MECHANISM.domain_of(attributes).size
            self.frequencies.show_frequencies(frequencies_in(settings), size)
            self.even.set_value(100 * even_share_in(settings))
            cells = np.array(MECHANISM.cells(attributes, settings))
        except SfumatoError as error:
            self.show_nothing(error)
            self.values.lay_out(0)
            return
        self.problem.clear()
        true, drawn = attributes[0].frequencies, cells / CELLS
        names = MECHANISM.domain_of(attributes).names
        self.values.show_cells(
            len(names),
            lambda row, column: (
                percent((true, drawn)[column - 1][row], 2) if column else names[row]
            ),
        )
        words = tr(
            "The rarest replacement is {value}: {share}. Shares counted in a release without"
            " correction are off by at most {most} {most:point|points}, apart from chance"
            " variation.",
            value=names[int(drawn.argmin())],
            share=percent(float(drawn.min()), 2),
            most=shown(f"{100 * float(np.abs(true - drawn).max()):.1f}"),
        )
        self.outcome.setText(words)

    def _state_frequencies(self, chosen: Frequencies) -> None:
        others = {"even_share": even_share_in(self._in_force)}
        self.complete({**others, **chosen.to_dict()})

    def _state(self, name: str, share: float) -> None:
        self.complete({**self._in_force, name: share})


class DistributionEditor(LevelEditor):
    """States the level of a ladder with a published distribution."""

    mechanism: ClassVar[str] = "distribution"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Replace by frequent values")
    effect = effects.frequent_values
    settings_editor = DistributionSettings


EDITOR = DistributionEditor
