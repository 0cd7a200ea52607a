"""Fields for numbers and choices, each showing its unit and range."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import (
    QHelpEvent,
    QHideEvent,
    QKeyEvent,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QToolTip,
    QWidget,
)

from sfumato.formats.language import localized
from sfumato.ui.look.theme import Space, font, scaled
from sfumato.ui.look.wording import parted, parts
from sfumato.ui.widgets.layout import button, label, row, set_look
from sfumato.ui.widgets.painted import elided
from sfumato.ui.widgets.responsive import FlowLayout

SLIDER_STEPS: Final = 1000
MOST_PIXELS: Final = 16_777_215
LEAST_SEGMENTS: Final = 200
"""Segments that need more than this may stand in several lines; pixels at scale 1."""
LONG_LIST: Final = 5
"""More boxes than these can be ticked all at once."""
LEAST_CHOICE: Final = 96
WIDEST_CHOICE: Final = 320
"""How wide a combo box is at least and at most where its choices are long; pixels at scale 1."""


class _Spin(QDoubleSpinBox):
    """A spin box that shows no superfluous zeros and leaves the wheel to the page."""

    def textFromValue(self, value: float) -> str:
        text = super().textFromValue(value)
        point = self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text

    def read_out(self, value: float) -> str:
        """Return a number as texts have it: its thousands apart, which hinder where one types."""
        text = f"{value:,.{self.decimals()}f}"
        return localized(text.rstrip("0").rstrip(".") if "." in text else text)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def hideEvent(self, event: QHideEvent) -> None:
        """Drop what is half typed where the field is taken away, with its table or its edit."""
        if not event.spontaneous():
            self.setValue(self.value())
        super().hideEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(scaled(120), super().sizeHint().height())


class _Slider(QSlider):
    """A slider that leaves the wheel to the page: scrolling past it must not move a level."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def prompt(field: QLineEdit, text: str) -> None:
    """Say in an empty field what goes there, and under the pointer, where more fits."""
    field.setPlaceholderText(text)
    field.setToolTip(text)


def when_given(field: QLineEdit, tell: Callable[[], object]) -> None:
    """Tell when a text is given by Enter or on leaving the field.

    A field that is taken away is out of sight by then: what is half typed was about another table.
    """
    field.editingFinished.connect(lambda: field.isVisible() and tell())


def text_field(
    name: str = "", hint: str = "", given: Callable[[], object] | None = None
) -> QLineEdit:
    """Return a field for a text.

    Parameters
    ----------
    name
        What it is called.
    hint
        What stands in it while it is empty.
    given
        Called when a text is given, see `when_given`.
    """
    made = QLineEdit()
    made.setAccessibleName(name)
    prompt(made, hint)
    if given is not None:
        when_given(made, given)
    return made


class WrappedCheckBox(QCheckBox):
    """A box to tick whose words take several lines where one is too short for them."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        clicked: Callable[[bool], object] | None = None,
    ) -> None:
        super().__init__(text, parent)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        if clicked is not None:
            self.clicked.connect(clicked)

    def sizeHint(self) -> QSize:
        """Ask for one line, and for what is lost where widths are rounded."""
        return super().sizeHint() + QSize(2, 0)

    def minimumSizeHint(self) -> QSize:
        """Ask for the longest word beside the box."""
        hint, metrics = self.sizeHint(), self.fontMetrics()
        words = max(map(metrics.horizontalAdvance, parts(self.text())), default=0)
        return QSize(self._before() + words, hint.height())

    def heightForWidth(self, width: int) -> int:
        """Return the height of as many lines as the words need."""
        room = QRect(0, 0, max(width - self._before(), 1), MOST_PIXELS)
        lines = self.fontMetrics().boundingRect(room, self._FLAGS, parted(self.text())).height()
        return max(lines + self._above() * 2, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the box beside the first line."""
        del event
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = ""
        option.rect = QRect(0, 0, self.width(), self.sizeHint().height())
        painter = QStylePainter(self)
        painter.drawControl(QStyle.ControlElement.CE_CheckBox, option)
        words = self.rect().adjusted(self._before(), self._above(), 0, 0)
        role = self.foregroundRole()
        painter.drawItemText(
            words, self._FLAGS, self.palette(), self.isEnabled(), parted(self.text()), role
        )

    def hitButton(self, pos: QPoint) -> bool:
        """Take a click on any of the words."""
        return self.rect().contains(pos)

    _FLAGS: Final = Qt.TextFlag.TextWordWrap | Qt.TextFlag.TextShowMnemonic

    def _before(self) -> int:
        """Return the room of the box and of the gap behind it."""
        return super().sizeHint().width() - self._one_line().width()

    def _above(self) -> int:
        """Return how far below the top the first line begins."""
        return max((self.sizeHint().height() - self.fontMetrics().height()) // 2, 0)

    def _one_line(self) -> QSize:
        return self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, self.text())


class TickAll(QWidget):
    """Two buttons under a long list of boxes: one ticks all of them, one none.

    Parameters
    ----------
    choose
        Told True to tick all, and False to untick them.
    none
        Whether none may be ticked at all.
    """

    def __init__(
        self, choose: Callable[[bool], object], parent: QWidget | None = None, none: bool = True
    ) -> None:
        super().__init__(parent)
        self.all = button(self.tr("Tick all"), lambda: choose(True), "quiet")
        self.none = button(self.tr("Untick all"), lambda: choose(False), "quiet")
        self.setLayout(row(self.all, self.none, None))
        self.none.setVisible(none)
        self.hide()

    def offer(self, boxes: int) -> None:
        """Show the buttons where there are many boxes."""
        self.setVisible(boxes > LONG_LIST)


class NumberField(QWidget):
    """A number with its unit, and its range beside it.

    Parameters
    ----------
    minimum, maximum
        The range, both ends allowed.
    decimals
        How many decimals can be given.
    unit
        Shown after the number; may be empty.
    step
        What an arrow key adds.
    show_range
        Whether the range stands beside the field (else it is its tip).
    name
        What it is called.
    given
        Called with every number that the person gives.
    width
        How wide what is typed into is, where that does not follow from it; pixels at scale 1.
    """

    value_changed = Signal(float)
    """The person gave a number (by Enter, by leaving the field or by a step)."""

    def __init__(
        self,
        minimum: float,
        maximum: float,
        *,
        decimals: int = 3,
        unit: str = "",
        step: float | None = None,
        show_range: bool = True,
        name: str = "",
        given: Callable[[float], object] | None = None,
        width: int = 0,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.spin = _Spin(self)
        self.spin.setAccessibleName(name)
        if width:
            self.spin.setFixedWidth(scaled(width))
        if given is not None:
            self.value_changed.connect(given)
        self.spin.setDecimals(decimals)
        self.spin.setRange(minimum, maximum)
        self.spin.setSingleStep(step if step is not None else 10.0 ** -min(decimals, 2))
        self.spin.setSuffix(f" {unit}" if unit else "")
        self.spin.setKeyboardTracking(False)
        self.spin.setFont(font(tabular=True))
        self.spin.lineEdit().setTextMargins(6, 0, 0, 0)
        self.spin.setFixedHeight(Space.FIELD)
        self.spin.valueChanged.connect(self.value_changed)
        self._range = label("", "small")
        self._range.setParent(self)  # without one, showing it would open a window
        self._range.setVisible(show_range)
        self.setLayout(row(self.spin, self._range))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusProxy(self.spin)
        self._show_range()

    @property
    def value(self) -> float:
        """The number."""
        return float(self.spin.value())

    def set_value(self, value: float) -> None:
        """Show a number without telling anyone."""
        with QSignalBlocker(self.spin):
            self.spin.setValue(value)

    def set_range(self, minimum: float, maximum: float) -> None:
        """Change the range, without telling anyone."""
        with QSignalBlocker(self.spin):
            self.spin.setRange(minimum, maximum)
        self._show_range()

    def _show_range(self) -> None:
        low, high = map(self.spin.read_out, (self.spin.minimum(), self.spin.maximum()))
        text = self.tr("{low} to {high}").format(low=low, high=high)
        self._range.setText(text)
        self.spin.setToolTip(text)

    def setAccessibleName(self, name: str) -> None:
        """Name the field for screen readers: what is typed into bears the name."""
        super().setAccessibleName(name)
        self.spin.setAccessibleName(name)

    def showEvent(self, event: QShowEvent) -> None:
        """Take the name of the label that belongs to it, where it has none of its own."""
        super().showEvent(event)
        parent = self.parentWidget()
        if parent is not None and not self.spin.accessibleName():
            named = (each for each in parent.findChildren(QLabel) if each.buddy() is self)
            self.setAccessibleName(next((each.text().replace("&", "") for each in named), ""))


class SliderField(QWidget):
    """A slider with a field beside it; both show the same number.

    Parameters
    ----------
    minimum, maximum, decimals, unit
        As for `NumberField`.
    logarithmic
        Whether equal ways on the slider are equal factors; needs a positive minimum.
    reach
        The part of the range that the slider covers, where the whole would be of little use;
        the field takes all of it.
    """

    value_changed = Signal(float)
    """The number changed by the person's hand, also while the slider is dragged."""
    editing_finished = Signal()
    """The slider was let go, or a number was given in the field."""

    def __init__(
        self,
        minimum: float,
        maximum: float,
        *,
        decimals: int = 3,
        unit: str = "",
        logarithmic: bool = False,
        reach: tuple[float, float] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._low, self._high = reach if reach is not None else (minimum, maximum)
        self._decimals = decimals
        self._logarithmic = logarithmic
        self.field = NumberField(
            minimum, maximum, decimals=decimals, unit=unit, show_range=False, parent=self
        )
        self.slider = _Slider(Qt.Orientation.Horizontal, self)
        self.slider.setRange(0, SLIDER_STEPS)
        self.slider.setPageStep(SLIDER_STEPS // 20)
        self.slider.setMinimumWidth(scaled(120))
        self.setLayout(row((self.slider, 1), self.field, spacing=Space.BETWEEN))
        self.setFocusProxy(self.slider)
        self.field.value_changed.connect(self._take_from_field)
        self.slider.valueChanged.connect(self._take_from_slider)
        self.slider.sliderReleased.connect(self.editing_finished)

    @property
    def spin(self) -> QDoubleSpinBox:
        """What the number is typed into."""
        return self.field.spin

    @property
    def value(self) -> float:
        """The number."""
        return self.field.value

    def set_value(self, value: float) -> None:
        """Show a number without telling anyone."""
        self.field.set_value(value)
        self._place_slider(value)

    def setAccessibleName(self, name: str) -> None:
        """Name the slider and the field for screen readers."""
        super().setAccessibleName(name)
        self.slider.setAccessibleName(name)
        self.field.setAccessibleName(name)

    def set_reach(self, low: float, high: float) -> None:
        """Let the slider cover another part of the range, without telling anyone."""
        self._low, self._high = low, high
        self._place_slider(self.field.value)

    def _place_slider(self, value: float) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(SLIDER_STEPS * self._share(value)))

    def _share(self, value: float) -> float:
        value = min(max(value, self._low), self._high)
        if self._logarithmic:
            return math.log(value / self._low) / math.log(self._high / self._low)
        return (value - self._low) / (self._high - self._low)

    def _take_from_slider(self, position: int) -> None:
        share = position / SLIDER_STEPS
        if self._logarithmic:
            value = self._low * (self._high / self._low) ** share
        else:
            value = self._low + share * (self._high - self._low)
        self.field.set_value(round(value, self._decimals))
        self.value_changed.emit(self.field.value)
        if not self.slider.isSliderDown():
            self.editing_finished.emit()

    def _take_from_field(self, value: float) -> None:
        self._place_slider(value)
        self.value_changed.emit(value)
        self.editing_finished.emit()


class ChoiceField(QComboBox):
    """A combo box over values that leaves the wheel to the page.

    Parameters
    ----------
    choices
        Pairs of a value and its name.
    name
        What it is called.
    chosen
        Called with every value that the person chooses.
    least
        How wide it is at least; pixels at scale 1.
    shrinks
        Whether it takes the room that there is, however long its choices are.
    """

    chosen = Signal(object)
    """The person chose another value."""

    def __init__(
        self,
        choices: Sequence[tuple[Hashable, str]] = (),
        parent: QWidget | None = None,
        *,
        name: str = "",
        chosen: Callable[[Any], object] | None = None,
        least: int = 0,
        shrinks: bool = False,
    ) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._values: list[Hashable] = []
        self.set_choices(choices)
        if name:
            self.setAccessibleName(name)
        if chosen is not None:
            self.chosen.connect(chosen)
        if least:
            self.setMinimumWidth(scaled(least))
        if shrinks:
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.activated.connect(lambda index: self.chosen.emit(self._values[index]))

    def set_choices(self, choices: Sequence[tuple[Hashable, str]]) -> None:
        """Offer other values; the present one stays where it is among them."""
        before = self.value
        with QSignalBlocker(self):
            self.clear()
            self._values = [value for value, _ in choices]
            self.addItems([name for _, name in choices])
        self.set_value(before)

    @property
    def values(self) -> tuple[Hashable, ...]:
        """What can be chosen."""
        return tuple(self._values)

    @property
    def value(self) -> Hashable:
        """The present value; None where there is nothing to choose."""
        index = self.currentIndex()
        return self._values[index] if 0 <= index < len(self._values) else None

    def set_value(self, value: Hashable) -> None:
        """Show a value without telling anyone."""
        if value in self._values:
            with QSignalBlocker(self):
                self.setCurrentIndex(self._values.index(value))

    def setAccessibleName(self, name: str) -> None:
        """Name the field for screen readers; on Linux Qt tells the choice alone as its name."""
        super().setAccessibleName(name)
        if sys.platform == "linux":
            self.setAccessibleDescription(name)

    def minimumSizeHint(self) -> QSize:
        """Ask for the longest choice, or for a few letters where there are long ones."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), scaled(LEAST_CHOICE)), hint.height())

    def sizeHint(self) -> QSize:
        """Ask for the longest choice, within bounds; Qt asks for a little less in a large font."""
        hint = super().sizeHint() + QSize(scaled(4), 0)
        return QSize(min(hint.width(), scaled(WIDEST_CHOICE)), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw as much of the choice as there is room for; the pointer tells it whole."""
        del event
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        control, part = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(control, option, part, self).width()
        option.currentText = elided(option.currentText, self.font(), room)
        painter = QStylePainter(self)
        painter.drawComplexControl(control, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def event(self, event: QEvent) -> bool:
        """Tell the choice whole, before what else there is to tell."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            tip = "\n".join(filter(None, (self.currentText(), self.toolTip())))
            QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the page: scrolling past must not choose."""
        event.ignore()


class CatalogueChoice(QCheckBox):
    """Whether a bundle is described for data catalogues, beside its description for archives."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(self.tr("Describe it for data catalogues too"))
        self.setToolTip(
            self.tr(
                "Adds dcat.jsonld, which open-data portals read (DCAT as JSON-LD). Every bundle"
                " has ddi.xml, which data archives read (DDI-Codebook 2.5)."
            )
        )


class Segments(QWidget):
    """A few choices side by side, one of them chosen; the arrow keys move.

    Parameters
    ----------
    choices
        Pairs of a value and its name.
    name
        What it is called.
    chosen
        Called with every value that the person chooses.
    """

    chosen = Signal(object)
    """The person chose another value."""

    def __init__(
        self,
        choices: Sequence[tuple[Hashable, str]],
        parent: QWidget | None = None,
        *,
        name: str = "",
        chosen: Callable[[Any], object] | None = None,
    ) -> None:
        super().__init__(parent)
        if name:
            self.setAccessibleName(name)
        if chosen is not None:
            self.chosen.connect(chosen)
        self._lines = FlowLayout(spacing=0)
        self.setLayout(self._lines)
        self._group = QButtonGroup(self)
        self._buttons: dict[Hashable, QToolButton] = {}
        for position, (value, words) in enumerate(choices):
            made = QToolButton(self)
            made.setText(words)
            made.setCheckable(True)
            made.setProperty("look", "segment")
            made.setProperty("place", _place(position, len(choices)))
            made.clicked.connect(partial(self._choose, value))
            made.installEventFilter(self)
            self._group.addButton(made)
            self._buttons[value] = made
            self._lines.addWidget(made)
        self.set_value(choices[0][0])
        policy = QSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        """Ask for one line, as high as the lines are that there are now."""
        line = super().sizeHint()
        return line.expandedTo(QSize(0, self._lines.heightForWidth(self.width())))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Be as high as its lines; where there are several, each button has its own edge."""
        super().resizeEvent(event)
        broken = self.width() < self._lines.sizeHint().width()
        for position, made in enumerate(self._buttons.values()):
            set_look(made, "only" if broken else _place(position, len(self._buttons)), "place")
        self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        """Ask for one line, or for some room where that is long: then it breaks."""
        least, line = super().minimumSizeHint(), self.sizeHint().width()
        return least.expandedTo(QSize(min(line, scaled(LEAST_SEGMENTS)), 0))

    @property
    def value(self) -> Hashable:
        """The chosen value."""
        return next(value for value, made in self._buttons.items() if made.isChecked())

    @property
    def values(self) -> tuple[Hashable, ...]:
        """Everything that can be chosen."""
        return tuple(self._buttons)

    def set_value(self, value: Hashable) -> None:
        """Show a value as chosen without telling anyone."""
        for other, made in self._buttons.items():
            made.setChecked(other == value)
            made.setFocusPolicy(
                Qt.FocusPolicy.StrongFocus if other == value else Qt.FocusPolicy.NoFocus
            )
        self.setFocusProxy(self._buttons[value])

    def button_for(self, value: Hashable) -> QToolButton:
        """Return the button of a value."""
        return self._buttons[value]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move the choice with the arrow keys, which a button would keep to itself."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None:
            return super().eventFilter(watched, event)
        values = list(self._buttons)
        place = values.index(self.value) + step
        if 0 <= place < len(values):
            self.set_value(values[place])
            self._buttons[values[place]].setFocus()
            self.chosen.emit(values[place])
        return True

    def _choose(self, value: Hashable, _checked: bool = False) -> None:
        self.set_value(value)
        self.chosen.emit(value)


def _place(position: int, count: int) -> str:
    """Name a segment's place, which decides the corners that are round."""
    if count == 1:
        return "only"
    return {0: "first", count - 1: "last"}.get(position, "middle")
