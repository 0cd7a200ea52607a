"""What the editors are made of: cards to choose from, messages, fields with what they mean.

And where what settings follow from is taken: measured with noise, stated, or otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QRect, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QGridLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.frequency_source import (
    EPSILON,
    SHARES,
    SOURCE,
    Frequencies,
    FrequencySource,
    frequencies_in,
)
from sfumato.engine.mechanisms.retention_profiles import OBJECTIVE, objective_in
from sfumato.engine.mechanisms.retention_solver import Objective
from sfumato.engine.mechanisms.setting_specs import ChoiceSpec, NumberSpec, SettingSpec
from sfumato.engine.randomness.noisy_statistics import SENSITIVITY_OF_COUNTS, standard_deviation
from sfumato.formats.language import grouped, localized
from sfumato.ui.look.theme import Space, TextSize, font, scaled, themes
from sfumato.ui.look.wording import number, parted, spoken, whole
from sfumato.ui.panels.policy.mechanisms.effects import HEIGHT, WIDTH, Effect, draw_effect
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.fields import NumberField, Segments, SliderField, prompt, text_field
from sfumato.ui.widgets.layout import (
    ElidedLabel,
    beside,
    boxed,
    button,
    clear_layout,
    column,
    label,
    row,
    set_look,
)
from sfumato.ui.widgets.messages import announce, error_words
from sfumato.ui.widgets.painted import IconLabel, painter_on
from sfumato.ui.widgets.responsive import FlowLayout, ResponsiveGrid, ResponsiveRow
from sfumato.ui.widgets.tables import CellsModel, Heading, TableView

PADDING: Final = 10
DRAWING: Final = (round(WIDTH), round(HEIGHT))
NARROWEST: Final = 72
COMFORTABLE: Final = 150
"""From this width a card on, all stand in one line; pixels at scale 1."""
WIDE: Final = 560
WIDE_WITH_BUTTON: Final = 640
"""From these widths on, a source and ε0 stand side by side; pixels."""
TALLEST: Final = 220
"""The height of a list of values, in pixels; longer ones scroll."""


def value_list(name: str, headings: Sequence[str], parent: QWidget) -> tuple[CellsModel, TableView]:
    """Return the cells, and the view, of a list of values with figures to the right of each."""
    columns = [Heading(text, right=at > 0) for at, text in enumerate(headings)]
    cells = CellsModel(columns, parent)
    view = TableView(parent, model=cells, name=name, widest=0)
    fit_rows(view)
    return cells, view


def fit_rows(view: TableView) -> None:
    """Make a list as high as its rows, now and whenever there are others; longer ones scroll."""

    def fit() -> None:
        rows = view.horizontalHeader().height() + view.verticalHeader().length()
        view.setFixedHeight(min(scaled(TALLEST), rows + 2 * view.frameWidth()))

    view.model().modelReset.connect(fit)
    fit()


class ChoiceCard(QAbstractButton):
    """A choice with a sentence about what it means.

    Parameters
    ----------
    name
        The choice.
    effect
        Draws at the left what the choice does; None for no drawing.
    """

    def __init__(
        self, name: str, parent: QWidget | None = None, effect: Effect | None = None
    ) -> None:
        super().__init__(parent)
        self.setText(name)
        self.effect = effect
        self._sentence = ""
        self._heights: dict[object, int] = {}
        """Asked for many times while a page is laid out."""
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)  # drawn anew under the pointer
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumWidth(scaled(NARROWEST) + self._drawing_room())

        themes().changed.connect(self.update)

    @property
    def sentence(self) -> str:
        """What the choice means."""
        return whole(self._sentence)

    def show_sentence(self, sentence: str) -> None:
        """Say what the choice means."""
        self._sentence = parted(sentence)
        self.setAccessibleDescription(sentence)
        self.updateGeometry()
        self.update()

    def heightForWidth(self, width: int) -> int:
        """Return the height that the wrapped name and sentence need."""
        asked = (self.text(), self._sentence, width, Space.scale)
        if asked not in self._heights:
            room = width - 2 * PADDING - self._drawing_room()
            name = _text_height(self.text(), self._name_face(), room)
            sentence = _text_height(self._sentence, font(TextSize.SMALL), room)
            drawing = scaled(DRAWING[1]) if self.effect is not None else 0
            self._heights[asked] = max(name + 2 + sentence, drawing) + 2 * PADDING
        return self._heights[asked]

    def sizeHint(self) -> QSize:
        """Return a comfortable size."""
        return QSize(scaled(200), self.heightForWidth(scaled(200)))

    def minimumSizeHint(self) -> QSize:
        """Return the least size."""
        least = scaled(NARROWEST) + self._drawing_room()
        return QSize(least, self.heightForWidth(max(self.width(), least)))

    def _drawing_room(self) -> int:
        """Return what the drawing takes of the width, with the gap to the text."""
        return scaled(DRAWING[0]) + Space.BETWEEN if self.effect is not None else 0

    def _name_face(self) -> QFont:
        counts = any(letter.isdigit() for letter in self.text())
        return font(strong=True, tabular=counts)  # figures of one width widen hyphens too

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card."""
        del event
        theme = themes().current
        style = theme.style
        painter = painter_on(self)
        ground = theme.hover if self.underMouse() and self.isEnabled() else style.surface
        strong = self.isChecked() or self.hasFocus()
        width = 2.0 if strong else 1.0
        line = style.accent if strong else theme.field_line
        if self.isChecked() and self.hasFocus():
            line = style.text
        painter.setPen(QPen(QColor(line), width))
        painter.setBrush(QColor(theme.selected if self.isChecked() else ground))
        inset = width / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), 6, 6)
        inside = self.rect().adjusted(PADDING, PADDING, -PADDING, -PADDING)
        if self.effect is not None:
            draw_effect(
                painter, self.effect, QRectF(inside.topLeft(), QSizeF(*map(scaled, DRAWING)))
            )
            inside.adjust(self._drawing_room(), 0, 0, 0)
        face = self._name_face()
        painter.setFont(face)
        painter.setPen(QColor(style.text if self.isEnabled() else theme.disabled))
        painter.drawText(inside, int(Qt.TextFlag.TextWordWrap), self.text())
        painter.setFont(font(TextSize.SMALL))
        painter.setPen(QColor(style.muted if self.isEnabled() else theme.disabled))
        painter.drawText(
            inside.adjusted(0, _text_height(self.text(), face, inside.width()) + 2, 0, 0),
            int(Qt.TextFlag.TextWordWrap),
            self._sentence,
        )


def _text_height(text: str, face: QFont, width: int) -> int:
    """Return the height of a text whose lines are so wide."""
    area, wrapped = QRect(0, 0, max(width, 40), 1000), int(Qt.TextFlag.TextWordWrap)
    return QFontMetrics(face).boundingRect(area, wrapped, text).height()


class CardRow(ResponsiveGrid):
    """Cards side by side, two in a line where it is narrow; one of them chosen or none.

    Parameters
    ----------
    choices
        Pairs of a value and its name.
    """

    chosen = Signal(object)
    """The person chose another value."""

    def __init__(
        self, choices: Sequence[tuple[Hashable, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(COMFORTABLE * len(choices), 2, parent)
        self.cards = {value: ChoiceCard(name, self) for value, name in choices}
        self.value: Hashable = None
        for value, card in self.cards.items():
            card.clicked.connect(partial(self._choose, value))
            self.add(card)

    def set_value(self, value: Hashable) -> None:
        """Mark a value as the chosen one without telling anyone; None for no value."""
        self.value = value
        for other, card in self.cards.items():
            card.setChecked(other == value)

    def _choose(self, value: Hashable, _checked: bool = False) -> None:
        before = self.value
        self.set_value(value)
        if value != before:
            self.chosen.emit(value)


class Notice(QWidget):
    """A message with what can be done about it; out of sight while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions: tuple[QPushButton, ...] = ()
        self._icon = IconLabel("danger", "danger", 18)
        self._text = label("", wrap=True)
        self._ways = column(beside(self._icon, self._text))
        self.setLayout(self._ways)
        self.hide()

    @property
    def words(self) -> str:
        """What is said; empty where nothing is."""
        return "" if self.isHidden() else self._text.text()

    def say(self, icon: str, text: str, *actions: QPushButton) -> None:
        """Say something and offer some of the actions: a danger, or less than that."""
        look = "danger" if icon == "danger" else ""
        new = text != self.words
        self._icon.show_icon(icon, icon if icon in ("danger", "good", "caution") else "muted")
        set_look(self._text, look)
        self._text.setText(text)
        self.setAccessibleName(text)
        for each in self._actions:
            each.setVisible(each in actions)
        self.show()
        if new and self.isVisible():
            announce(self, text)

    def warn(self, text: str) -> None:
        """Say that something is a danger; an empty text takes it back."""
        if text:
            self.say("danger", text)
        else:
            self.clear()

    def add(self, text: str) -> None:
        """Say something beside what is said already, or by itself."""
        if self.isHidden():
            self.say("info", text)
        else:
            self._text.setText(f"{self._text.text()}\n{text}")

    def offer(self, *actions: QPushButton) -> None:
        """Take everything that a message may offer."""
        self._actions = actions
        self._ways.addLayout(FlowLayout(*actions))

    def clear(self) -> None:
        """Say nothing."""
        self._text.setText("")
        self.hide()


class FieldGrid(QGridLayout):
    """Fields below one another: the name and the symbol of each, and below it what it means.

    Parameters
    ----------
    elided
        Whether a name that is too long ends in an ellipsis, as a column's should; else it wraps.
    """

    def __init__(self, *, elided: bool = False) -> None:
        super().__init__()
        self._line, self._elided = 0, elided
        self.setContentsMargins(0, 0, 0, 0)
        self.setHorizontalSpacing(Space.BETWEEN)
        self.setVerticalSpacing(Space.INSIDE)
        self.setColumnStretch(0, 1)

    def add_field(
        self, name: str, field: QWidget, symbol: str = "", gloss: QLabel | str | None = None
    ) -> None:
        """Put a field at the end, and the words that say what it means."""
        if isinstance(gloss, str):
            gloss = label(gloss, "muted", wrap=True)
        title = ElidedLabel(name) if self._elided else label(name, wrap=True)
        title.setBuddy(field)
        focus = field.spin if isinstance(field, NumberField | SliderField) else field
        focus.setAccessibleName(name)
        self.addWidget(title, self._line, 0)
        self.addWidget(label(symbol, "muted"), self._line, 1)
        self.addWidget(field, self._line, 2, Qt.AlignmentFlag.AlignLeft)
        if gloss is not None:
            self.addWidget(gloss, self._line + 1, 0, 1, 3)
        self._line += 2

    def add_setting(
        self, spec: SettingSpec, field: QWidget, gloss: QLabel | str | None = None
    ) -> None:
        """Put a setting's field at the end, under the setting's own name."""
        symbol = spec.symbol if isinstance(spec, NumberSpec) else ""
        self.add_field(spoken(spec.title), field, symbol, gloss or spoken(spec.hint) or None)

    def clear(self) -> None:
        """Take every field away."""
        clear_layout(self)
        self._line = 0


SETTING: Final = "setting"
"""The property of a widget that names the settings it is for."""


def states(widget: QWidget, *specs: SettingSpec) -> None:
    """Mark a widget as what some settings are stated with."""
    widget.setProperty(SETTING, [spec.name for spec in specs])


def number_field(
    spec: NumberSpec, given: Callable[[str, float], object] | None = None, **look: Any
) -> NumberField:
    """Return the field of a setting.

    Parameters
    ----------
    spec
        The setting.
    given
        Called with its name and every number that the person gives.
    **look
        What `NumberField` takes beside.
    """
    finest = 10.0**-spec.decimals
    low, high = spec.least * spec.scale, spec.most * spec.scale
    if spec.above or 0.0 < low < finest:
        low += finest - low % finest
    field = NumberField(
        low,
        high - finest if spec.below else high,
        decimals=spec.decimals,
        unit=spec.unit,
        step=spec.step,
        name=spoken(spec.title),
        **look,
    )
    states(field, spec)
    if given is not None:
        field.value_changed.connect(lambda shown: given(spec.name, spec.of_field(shown)))
    return field


def segments(
    spec: ChoiceSpec[Any], parent: QWidget, chosen: Callable[[Any], object] | None = None
) -> Segments:
    """Return the choices of a setting side by side; `chosen` is given one of them."""
    choices = [(choice, spoken(title)) for choice, title in spec.titles.items()]
    made = Segments(choices, parent, name=spoken(spec.title))
    if chosen is not None:
        whole = {choice: choice for choice, _ in choices}  # a signal makes bare texts of choices
        made.chosen.connect(lambda value: chosen(whole[value]))
    states(made, spec)
    return made


class SourceChoice(QWidget):
    """Where a statistic of the table comes from: measured with noise, stated, or otherwise.

    Parameters
    ----------
    title
        What it is, beside the choice.
    sources
        Where it comes from: the first measures with noise, the last is stated.
    epsilon
        ε0, which is measured with.
    stated
        What a person states it with.
    again
        The name of a button that measures; without it, another ε0 measures at once.
    """

    measured = Signal(float)
    """It should be measured with this ε0."""

    def __init__(
        self,
        title: str,
        sources: ChoiceSpec[Any],
        epsilon: NumberSpec,
        *,
        stated: QWidget,
        again: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.source = segments(sources, self)
        self.epsilon = number_field(epsilon, show_range=False, parent=self)
        name = label(epsilon.symbol, "muted")
        name.setToolTip(spoken(epsilon.hint))
        self.words = label("", "muted", wrap=True)
        noise = row(name, self.epsilon)
        if again:
            self.again = button(again, lambda: self.measured.emit(self.epsilon.value))
            noise.addWidget(self.again)
        else:
            self.epsilon.value_changed.connect(self.measured)
        noise.addStretch(1)
        self._noise, self.stated_with = boxed(noise), stated
        source = boxed(FlowLayout(label(title), self.source))
        wide = WIDE_WITH_BUTTON if again else WIDE
        line = ResponsiveRow(wide, (source, 0), self._noise, parent=self)
        self.setLayout(column(line, stated, self.words))

    def arrange(self, source: Hashable) -> None:
        """Show what belongs to a source."""
        values = self.source.values
        self.source.set_value(source)
        self._noise.setVisible(source == values[0])
        self.stated_with.setVisible(source == values[-1])

    def say(self, words: str, look: str = "muted") -> None:
        """Say what a source means, or what is wrong."""
        self.words.setText(words)
        set_look(self.words, look)


@dataclass(frozen=True)
class FrequencyWords:
    """What a mechanism says of its frequencies, marked for translation and not translated yet.

    Parameters
    ----------
    noisy
        What noisy counts are and disclose; ``{spread}`` stands for their standard deviation.
    unasked
        What it means that the table is not used.
    exact
        What is wrong with exact counts; empty where there can be none.
    """

    noisy: object
    unasked: object = QT_TRANSLATE_NOOP(
        "Policy",
        "The table is not used, so the retention probabilities disclose nothing about anyone.",
    )
    exact: object = ""


class FrequencyChoice(SourceChoice):
    """Where frequencies come from, and what that costs."""

    stated = Signal(object)
    """`Frequencies`, without counts where they have to be drawn."""

    def __init__(self, words: FrequencyWords, parent: QWidget | None = None) -> None:
        self._texts = words
        shares = text_field(name=spoken(SHARES.title), given=self._state_shares)
        super().__init__(tr("Frequencies"), SOURCE, EPSILON, stated=shares, parent=parent)
        states(shares, SHARES)
        self._shown = Frequencies(FrequencySource.EQUAL)
        self._size = 0
        self.shares = shares
        prompt(shares, tr("Shares in the order of the domain, such as 50; 30; 20"))
        self.source.chosen.connect(self._choose)
        self.measured.connect(self._set_epsilon)

    def show_frequencies(self, frequencies: Frequencies, size: int) -> None:
        """Show where the frequencies of so many values come from."""
        self._shown, self._size = frequencies, size
        exact = frequencies.source is FrequencySource.EXACT
        # Solving again would take noisy counts in the place of the exact ones.
        shown = FrequencySource.NOISY if exact else frequencies.source
        self.arrange(shown)
        if shown is FrequencySource.NOISY:
            self.epsilon.set_value(frequencies.epsilon)
        if frequencies.source is FrequencySource.STATED:
            self.shares.setText("; ".join(localized(f"{share:g}") for share in frequencies.shares))
        self.say(self._words(frequencies), "danger" if exact else "muted")

    def _choose(self, source: object) -> None:
        chosen = FrequencySource(str(source))
        if chosen is FrequencySource.STATED and not self._shown.shares:
            self.arrange(chosen)
            self.say(tr("Enter shares that are known without this table."))
            self.shares.setFocus()
            return
        self.stated.emit(replace(self._shown, source=chosen))

    def _set_epsilon(self, epsilon: float) -> None:
        if epsilon != self._shown.epsilon or self._shown.source is FrequencySource.EXACT:
            self.stated.emit(Frequencies(FrequencySource.NOISY, epsilon))

    def _state_shares(self) -> None:
        if not self.shares.text().strip():
            return
        texts = self.shares.text().replace("%", " ").replace(",", ".").split(";")
        try:
            shares = [float(text) for text in texts]
            stated = frequencies_in({"frequencies": "stated", "shares": shares})
        except ValueError:
            self.say(tr("The shares must be numbers separated by semicolons."), "danger")
            return
        except SfumatoError as error:
            self.say(error_words(error), "danger")
            return
        if len(shares) != self._size:
            words = tr(
                "{given} {given:share|shares} for {size} {size:value|values}: one is needed for"
                " each.",
                given=grouped(len(shares)),
                size=grouped(self._size),
            )
            self.say(words, "danger")
        elif stated.shares != self._shown.shares:
            self.stated.emit(stated)

    def _words(self, frequencies: Frequencies) -> str:
        """Return what a source means, in plain words."""
        if frequencies.source is FrequencySource.NOISY:
            spread = standard_deviation(SENSITIVITY_OF_COUNTS, frequencies.epsilon)
            return tr(str(self._texts.noisy), spread=number(spread))
        exact = frequencies.source is FrequencySource.EXACT
        return tr(str(self._texts.exact if exact else self._texts.unasked))


class ObjectiveChoice(QWidget):
    """Shows what a profile is best at within the limits, and tells what the person wants."""

    chosen = Signal(object)
    """The person chose another `Objective`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.segments = segments(OBJECTIVE, self, self._choose)
        self.words = label("", "muted", wrap=True)
        self.setLayout(
            column(FlowLayout(label(spoken(OBJECTIVE.title)), self.segments), self.words)
        )
        self.value = Objective.COUNTS

    def show_settings(self, settings: Settings) -> None:
        """Show what settings say, or what is usual where they say nothing sound."""
        try:
            self.show_objective(objective_in(settings))
        except SfumatoError:
            self.show_objective(Objective.COUNTS)

    def show_objective(self, objective: Objective) -> None:
        """Show an objective without telling anyone."""
        self.value = objective
        self.segments.set_value(objective)
        words = tr("Within the limits, shares and counts are estimated with the least error.")
        if objective is Objective.VALUES:
            words = tr(
                "Within the limits, most records keep their value. Counts may get far worse: values"
                " with tight limits are hardly ever kept."
            )
        self.words.setText(words)

    def _choose(self, objective: object) -> None:
        self.show_objective(Objective(str(objective)))
        self.chosen.emit(self.value)
