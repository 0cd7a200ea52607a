"""Ways to set many limits at once: by tolerance, by rarity, by a class that is painted on."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.mechanisms.cards import ChoiceCard
from sfumato.ui.panels.policy.mechanisms.per_value.classes import (
    SensitivityClass,
    classes,
    unlimited,
)
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.fields import NumberField, Segments, SliderField
from sfumato.ui.widgets.layout import boxed, button, label, row
from sfumato.ui.widgets.responsive import ResponsiveGrid, ResponsiveRow

WIDE = 600
"""From this width on, all classes of sensitivity stand in one line; pixels."""
THETA_RANGE = (1.01, 1000.0)
THETA_REACH = (1.1, 100.0)


class Presets(QWidget):
    """Three ways, one in sight."""

    theta_stated = Signal(object)
    """The tolerance θ, or None where values without limits of their own are to have none."""
    theta_settled = Signal()
    """The slider was let go."""
    rarity_stated = Signal(float, float)
    """Shares below which a value is rare, and uncommon."""
    painted = Signal(object)
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
        self.pages = QStackedWidget(self)
        self._pages = {
            "class": self._build_classes(),
            "tolerance": self._build_tolerance(),
            "rarity": self._build_rarity(),
        }
        for page in self._pages.values():
            self.pages.addWidget(page)
        self.way.chosen.connect(self.show_way)
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        line.addWidget(label(tr("Set limits"), "muted"))
        line.addWidget(self.way)
        line.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.INSIDE)
        column.addLayout(line)
        column.addWidget(self.pages)

    def show_way(self, way: object) -> None:
        """Bring one of the ways into sight."""
        self.way.set_value(str(way))
        self.pages.setCurrentWidget(self._pages[str(way)])

    def show_theta(self, theta: float | None) -> None:
        """Show the tolerance in force."""
        self.rule.setChecked(theta is not None)
        self.theta.setEnabled(theta is not None)
        if theta is not None:
            self.theta.set_value(theta)
        self._say_theta()

    # ----- the pages

    def _build_classes(self) -> QWidget:
        page, column = _page()
        cards = ResponsiveGrid(WIDE, 3, page)
        self.cards: list[ChoiceCard] = []
        for each in (*classes(), unlimited()):
            card = ChoiceCard(each.name, page)
            card.setCheckable(False)
            card.show_sentence(each.sentence)
            card.clicked.connect(partial(self._paint, each))
            cards.add(card)
            self.cards.append(card)
        column.addWidget(
            label(tr("Select values in the grid, then say how sensitive they are:"), "small")
        )
        column.addWidget(cards)
        column.addStretch(1)
        return page

    def _build_tolerance(self) -> QWidget:
        page, column = _page()
        self.rule = QCheckBox(tr("Values without limits of their own follow the tolerance θ"), page)
        # Not toggled: showing what is in force must not state it.
        self.rule.clicked.connect(self._toggle_rule)
        self.theta = SliderField(
            *THETA_RANGE, decimals=2, logarithmic=True, reach=THETA_REACH, parent=page
        )
        self.theta.field.spin.setAccessibleName(tr("Tolerance θ"))
        self.theta.slider.setAccessibleName(tr("Tolerance θ"))
        self.theta.set_value(3.0)
        self.theta.value_changed.connect(self._state_theta)
        self.theta.editing_finished.connect(self.theta_settled)
        self._theta_words = label("", "small", wrap=True)
        column.addWidget(self.rule)
        column.addWidget(self.theta)
        column.addWidget(self._theta_words)
        column.addStretch(1)
        return page

    def _build_rarity(self) -> QWidget:
        page, column = _page()
        self.rare = NumberField(0.0, 100.0, decimals=2, unit="%", show_range=False, parent=page)
        self.uncommon = NumberField(0.0, 100.0, decimals=2, unit="%", show_range=False, parent=page)
        self.rare.set_value(2.0)
        self.uncommon.set_value(10.0)
        self.rare.spin.setAccessibleName(tr("Rare below"))
        self.uncommon.spin.setAccessibleName(tr("Uncommon below"))
        self.apply_rarity = button(tr("Set by rarity"), self._state_rarity)
        line = ResponsiveRow(WIDE, parent=page)
        line.add(boxed(row(label(tr("Very sensitive below"), "muted"), self.rare, None)), 0)
        line.add(
            boxed(
                row(label(tr("sensitive below"), "muted"), self.uncommon, self.apply_rarity, None)
            )
        )
        column.addWidget(line)
        column.addWidget(
            label(tr("A value that few records have says more about them. Others: ordinary."),
                  "small", wrap=True)
        )  # fmt: skip
        column.addStretch(1)
        return page

    # ----- what the person does

    def _paint(self, each: SensitivityClass, _checked: bool = False) -> None:
        self.painted.emit(each)

    def _toggle_rule(self, follows: bool) -> None:
        self.theta.setEnabled(follows)
        self._say_theta()
        self.theta_stated.emit(self.theta.value if follows else None)
        self.theta_settled.emit()

    def _state_theta(self, theta: float) -> None:
        self._say_theta()
        self.theta_stated.emit(theta)

    def _state_rarity(self) -> None:
        self.rarity_stated.emit(self.rare.value / 100, self.uncommon.value / 100)

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


def _page() -> tuple[QWidget, QVBoxLayout]:
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(Space.TIGHT)
    return page, column
