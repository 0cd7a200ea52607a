"""What the editors are made of: cards to choose from, messages, fields with what they mean.

And where what settings follow from is taken: measured with noise, stated, or otherwise.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFont, QFontMetrics, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QGridLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.frequency_source import Frequencies, FrequencySource, frequencies_in
from sfumato.engine.randomness.noisy_statistics import SENSITIVITY_OF_COUNTS, standard_deviation
from sfumato.formats.language import grouped, localized
from sfumato.ui.look.theme import Space, TextSize, font, scaled, themes
from sfumato.ui.look.wording import number, parted, whole
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
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(name)
        self._sentence = ""
        self._heights: dict[object, int] = {}
        """Asked for many times while a page is laid out."""
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumWidth(scaled(NARROWEST))
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
            room = width - 2 * PADDING
            name = _text_height(self.text(), self._name_face(), room)
            sentence = _text_height(self._sentence, font(TextSize.SMALL), room)
            self._heights[asked] = name + 2 + sentence + 2 * PADDING
        return self._heights[asked]

    def sizeHint(self) -> QSize:
        """Return a comfortable size."""
        return QSize(scaled(200), self.heightForWidth(scaled(200)))

    def minimumSizeHint(self) -> QSize:
        """Return the least size."""
        least = scaled(NARROWEST)
        return QSize(least, self.heightForWidth(max(self.width(), least)))

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

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show that the pointer is over the card."""
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Show that it has left."""
        super().leaveEvent(event)
        self.update()


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


class Form(QGridLayout):
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

    def clear(self) -> None:
        """Take every field away."""
        clear_layout(self)
        self._line = 0


class SourceChoice(QWidget):
    """Where a statistic of the table comes from: measured with noise, stated, or otherwise.

    Parameters
    ----------
    title, about
        What it is, beside the choice and for those who listen.
    sources
        Pairs of a source and its name: the first measures with noise, the last is stated.
    epsilon
        The range, the name and the meaning of ε0, which is measured with.
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
        about: str,
        sources: Sequence[tuple[Hashable, str]],
        epsilon: tuple[tuple[float, float], str, str],
        *,
        stated: QWidget,
        again: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.source = Segments(sources, self, name=about)
        self.epsilon = NumberField(*epsilon[0], decimals=3, show_range=False, parent=self)
        self.epsilon.spin.setAccessibleName(epsilon[1])
        name = label("ε0", "muted")
        name.setToolTip(epsilon[2])
        self.words = label("", "muted", wrap=True)
        noise = row(name, self.epsilon)
        if again:
            self.again = button(again, lambda: self.measured.emit(self.epsilon.value))
            noise.addWidget(self.again)
        else:
            self.epsilon.value_changed.connect(self.measured)
        noise.addStretch(1)
        self._noise, self._stated = boxed(noise), stated
        source = boxed(FlowLayout(label(title), self.source))
        wide = WIDE_WITH_BUTTON if again else WIDE
        line = ResponsiveRow(wide, (source, 0), self._noise, parent=self)
        self.setLayout(column(line, stated, self.words))

    def arrange(self, source: Hashable) -> None:
        """Show what belongs to a source."""
        values = self.source.values
        self.source.set_value(source)
        self._noise.setVisible(source == values[0])
        self._stated.setVisible(source == values[-1])

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
    cost
        What ε0 of noisy counts means.
    exact
        What is wrong with exact counts; empty where there can be none.
    """

    noisy: object
    unasked: object = QT_TRANSLATE_NOOP(
        "Policy",
        "The table is not used, so the retention probabilities disclose nothing about anyone.",
    )
    cost: object = QT_TRANSLATE_NOOP(
        "Policy",
        "How much the noisy counts may disclose of one record. It multiplies anyone's odds by at"
        " most e^ε0 and is included in every figure; a smaller ε0 means more noise.",
    )
    exact: object = ""


class FrequencyChoice(SourceChoice):
    """Where frequencies come from, and what that costs."""

    stated = Signal(object)
    """`Frequencies`, without counts where they have to be drawn."""

    def __init__(self, words: FrequencyWords, parent: QWidget | None = None) -> None:
        self._texts = words
        shares = text_field(name=tr("Shares in the order of the domain"), given=self._state_shares)
        super().__init__(
            tr("Frequencies"),
            tr("Where frequencies come from"),
            [
                (FrequencySource.NOISY, tr("Noisy counts")),
                (FrequencySource.EQUAL, tr("All values equal")),
                (FrequencySource.STATED, tr("Stated")),
            ],
            ((0.001, 5.0), tr("ε0 of the noisy counts"), tr(str(words.cost))),
            stated=shares,
            parent=parent,
        )
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
