"""What many limits follow from at once: a tolerance, rarity, a class; and words on frequencies."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.mechanisms.controls import ChoiceCard
from sfumato.ui.panels.policy.mechanisms.frequencies import FrequencyWords
from sfumato.ui.panels.policy.mechanisms.per_value.grid import SensitivityClass, classes
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.fields import NumberField, Segments, SliderField, WrappedCheckBox
from sfumato.ui.widgets.layout import boxed, button, column, label
from sfumato.ui.widgets.responsive import FlowLayout, ResponsiveGrid, ResponsiveRow

WIDE = 600
"""From this width on, all classes of sensitivity stand in one line; pixels."""
THETA_RANGE = (1.01, 1000.0)
THETA_REACH = (1.1, 100.0)
FREQUENCY_WORDS: Final = FrequencyWords(
    cost=QT_TRANSLATE_NOOP(
        "Policy",
        "How much the noisy counts may disclose of one record. It multiplies anyone's odds by at"
        " most e^ε0 and is included in every limit; a smaller ε0 means more noise.",
    ),
    noisy=QT_TRANSLATE_NOOP(
        "Policy",
        "Counts of the table with noise of about ± {spread} {spread:record|records}, drawn once."
        " The retention probabilities, which recipients see, disclose at most ε0; every limit"
        " includes it.",
    ),
    unasked=QT_TRANSLATE_NOOP(
        "Policy",
        "The table is not used, so the retention probabilities disclose nothing about anyone.",
    ),
    exact=QT_TRANSLATE_NOOP(
        "Policy",
        "These limits were solved for the exact counts of the table: anyone who knows all other"
        " records can tell a person's value from the retention probabilities. Solve them again, or"
        " treat all values as equal.",
    ),
)


class Presets(QWidget):
    """Three ways to set many limits at once, one in sight."""

    theta_stated = Signal(object)
    """The tolerance θ, or None where values without limits of their own are to have none."""
    theta_settled = Signal()
    """The slider was let go."""
    rarity_stated = Signal(float, float)
    """Shares below which a value is rare, and uncommon."""
    class_chosen = Signal(object)
    """A `SensitivityClass` for the selected values."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.way = Segments(
            [
                ("class", tr("By sensitivity")),
                ("tolerance", tr("By tolerance")),
                ("rarity", tr("By rarity")),
            ],
            self,
        )
        self.way.setAccessibleName(tr("How limits are set"))
        pages = QStackedWidget(self)
        for page in (self._build_classes(), self._build_tolerance(), self._build_rarity()):
            pages.addWidget(page)
        ways = self.way.values
        self.way.chosen.connect(lambda way: pages.setCurrentIndex(ways.index(way)))
        lines = column()
        lines.addLayout(FlowLayout(label(tr("Set limits")), self.way))
        lines.addWidget(pages)
        self.setLayout(lines)

    def show_theta(self, theta: float | None) -> None:
        """Show the tolerance in force."""
        self.rule.setChecked(theta is not None)
        self.theta.setEnabled(theta is not None)
        if theta is not None:
            self.theta.set_value(theta)
        self._say_theta()

    # ----- the pages

    def _build_classes(self) -> QWidget:
        grid = ResponsiveGrid(WIDE, 3, self)
        self.cards: list[ChoiceCard] = []
        for each in classes():
            card = ChoiceCard(each.name, grid)
            card.setCheckable(False)
            card.show_sentence(each.sentence)
            card.clicked.connect(partial(self._choose_class, each))
            grid.add(card)
            self.cards.append(card)
        how = label(
            tr("Select values in the grid, then say how sensitive they are:"), "muted", wrap=True
        )
        return boxed(column(how, grid, None, spacing=Space.TIGHT))

    def _build_tolerance(self) -> QWidget:
        self.rule = WrappedCheckBox(tr("Values without limits of their own follow the tolerance θ"))
        # Not toggled: showing what is in force must not state it.
        self.rule.clicked.connect(self._toggle_rule)
        self.theta = SliderField(*THETA_RANGE, decimals=2, logarithmic=True, reach=THETA_REACH)
        for part in (self.theta.spin, self.theta.slider):
            part.setAccessibleName(tr("Tolerance θ"))
        self.theta.set_value(3.0)
        self.theta.value_changed.connect(self._state_theta)
        self.theta.editing_finished.connect(self.theta_settled)
        self._theta_words = label("", "muted", wrap=True)
        return boxed(column(self.rule, self.theta, self._theta_words, None, spacing=Space.TIGHT))

    def _build_rarity(self) -> QWidget:
        self.rare = NumberField(0.0, 100.0, decimals=2, unit="%", show_range=False)
        self.uncommon = NumberField(0.0, 100.0, decimals=2, unit="%", show_range=False)
        self.rare.set_value(2.0)
        self.uncommon.set_value(10.0)
        self.rare.spin.setAccessibleName(tr("Rare below"))
        self.uncommon.spin.setAccessibleName(tr("Uncommon below"))
        self.apply_rarity = button(
            tr("Set by rarity"),
            lambda: self.rarity_stated.emit(self.rare.value / 100, self.uncommon.value / 100),
        )
        line = ResponsiveRow(WIDE)
        line.add(boxed(FlowLayout(label(tr("Very sensitive below")), self.rare)), 0)
        uncommon = FlowLayout(label(tr("sensitive below")), self.uncommon, self.apply_rarity)
        line.add(boxed(uncommon))
        why = tr("A value that few records have says more about them. Others: ordinary.")
        gloss = label(why, "muted", wrap=True)
        return boxed(column(line, gloss, None, spacing=Space.TIGHT))

    # ----- what the person does

    def _choose_class(self, each: SensitivityClass, _checked: bool = False) -> None:
        self.class_chosen.emit(each)

    def _toggle_rule(self, follows: bool) -> None:
        self.theta.setEnabled(follows)
        self._say_theta()
        self.theta_stated.emit(self.theta.value if follows else None)
        self.theta_settled.emit()

    def _state_theta(self, theta: float) -> None:
        self._say_theta()
        self.theta_stated.emit(theta)

    def _say_theta(self) -> None:
        if not self.rule.isChecked():
            self._theta_words.setText(tr("Values without limits of their own have none."))
            return
        self._theta_words.setText(
            tr(
                "Whoever believes in a value as often as it occurs comes to believe in it at most"
                " {theta} times as much. Values that {share}\u202f% or more of the records have"
                " need no limit.",
                theta=number(self.theta.value),
                share=number(100 / self.theta.value),
            )
        )
