"""Cards of which one is chosen: levels in plain words, and terms with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QWidget

from sfumato.engine.mechanisms.base import LevelTerm, Statement
from sfumato.ui.look.theme import Space, TextSize, font, themes
from sfumato.ui.look.wording import spoken, term_text

PADDING: Final = 10
NARROWEST: Final = 72


@dataclass(frozen=True)
class Preset:
    """A level for a kind of recipient, stated so that it means the same in every domain.

    Parameters
    ----------
    name
        Whom it is for, in plain words.
    statement
        The level.
    """

    name: str
    statement: Statement


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
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumWidth(NARROWEST)
        themes().changed.connect(self.update)

    @property
    def sentence(self) -> str:
        """What the choice means."""
        return self._sentence

    def show_sentence(self, sentence: str) -> None:
        """Say what the choice means."""
        self._sentence = sentence
        self.setAccessibleDescription(sentence)
        self.updateGeometry()
        self.update()

    def heightForWidth(self, width: int) -> int:
        """Return the height that the wrapped sentence needs."""
        name = QFontMetrics(font(strong=True)).height()
        return name + 2 + self._sentence_height(width - 2 * PADDING) + 2 * PADDING

    def sizeHint(self) -> QSize:
        """Return a comfortable size."""
        return QSize(200, self.heightForWidth(200))

    def minimumSizeHint(self) -> QSize:
        """Return the least size."""
        return QSize(NARROWEST, self.heightForWidth(max(self.width(), NARROWEST)))

    def _sentence_height(self, width: int) -> int:
        metrics = QFontMetrics(font(TextSize.SMALL))
        area = QRect(0, 0, max(width, 40), 1000)
        return metrics.boundingRect(area, int(Qt.TextFlag.TextWordWrap), self._sentence).height()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card."""
        del event
        theme = themes().current
        style = theme.style
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
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
        counts = any(letter.isdigit() for letter in self.text())
        face = font(strong=True, tabular=counts)  # figures of one width widen hyphens too
        painter.setFont(face)
        painter.setPen(QColor(style.text if self.isEnabled() else theme.disabled))
        metrics = QFontMetrics(face)
        name = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, inside.width())
        painter.drawText(inside, int(Qt.AlignmentFlag.AlignTop), name)
        painter.setFont(font(TextSize.SMALL))
        painter.setPen(QColor(style.muted if self.isEnabled() else theme.disabled))
        painter.drawText(
            inside.adjusted(0, metrics.height() + 2, 0, 0),
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


class PresetRow(QWidget):
    """Presets side by side; the one that the present statement equals is marked.

    Parameters
    ----------
    presets
        The choices, most trusted first.
    """

    chosen = Signal(object)
    """The person chose a preset: its `Statement`."""

    def __init__(self, presets: Sequence[Preset], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cards = [(preset, ChoiceCard(preset.name, self)) for preset in presets]
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Space.INSIDE)
        for preset, card in self._cards:
            card.clicked.connect(partial(self._choose, preset))
            line.addWidget(card)

    @property
    def cards(self) -> tuple[ChoiceCard, ...]:
        """The cards, in the order of the presets."""
        return tuple(card for _, card in self._cards)

    def show_consequences(
        self, consequence: Callable[[Statement], str], present: Statement
    ) -> None:
        """Say below each preset what it means, and mark the present one."""
        for preset, card in self._cards:
            card.show_sentence(consequence(preset.statement))
            card.setChecked(dict(present) == dict(preset.statement))

    def _choose(self, preset: Preset, _checked: bool = False) -> None:
        for other, card in self._cards:
            card.setChecked(other is preset)
        self.chosen.emit(preset.statement)


class TermTiles(QWidget):
    """The same level in each of a mechanism's terms; the chosen one is how it is stated.

    Parameters
    ----------
    terms
        The mechanism's terms.
    """

    chosen = Signal(str)
    """The person wants to state the level in another term, by its name."""

    def __init__(self, terms: Sequence[LevelTerm], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._terms = terms
        self._tiles: dict[str, ChoiceCard] = {}
        self._value = ""
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Space.INSIDE)
        for term in terms:
            tile = ChoiceCard("–", self)
            tile.show_sentence(spoken(term.title))
            tile.setToolTip(spoken(term.explanation))
            tile.clicked.connect(partial(self._choose, term.name))
            self._tiles[term.name] = tile
            line.addWidget(tile)
        self.set_value(terms[0].name)

    @property
    def value(self) -> str:
        """The name of the chosen term."""
        return self._value

    def set_value(self, name: str) -> None:
        """Mark a term as the chosen one without telling anyone."""
        self._value = name
        for other, tile in self._tiles.items():
            tile.setChecked(other == name)

    def tile(self, name: str) -> ChoiceCard:
        """Return a term's tile."""
        return self._tiles[name]

    def show_statements(self, statements: Mapping[str, Statement]) -> None:
        """Show the numbers of each term."""
        for term in self._terms:
            stated = statements.get(term.name)
            self._show(term, term_text(term, stated) if stated else "–")

    def clear(self) -> None:
        """Show no numbers: the level is not sound."""
        for term in self._terms:
            self._show(term, "–")

    def _show(self, term: LevelTerm, text: str) -> None:
        tile = self._tiles[term.name]
        tile.setText(text)
        tile.setAccessibleName(f"{spoken(term.title)}: {text}")

    def _choose(self, name: str, _checked: bool = False) -> None:
        before = self._value
        self.set_value(name)
        if name != before:
            self.chosen.emit(name)
