"""The pieces a page is laid out with: cards, rules, scrolling pages, empty states, badges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from sfumato.ui.look.theme import Space
from sfumato.ui.widgets.icons import IconLabel, put_icon

_Box = TypeVar("_Box", bound=QBoxLayout)


def label(text: str, look: str = "", *, wrap: bool = False) -> QLabel:
    """Return a label with one of the style sheet's looks (``heading``, ``muted``, ``small``)."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setProperty("look", look)
    made.setWordWrap(wrap)
    return made


def set_look(widget: QWidget, look: str) -> None:
    """Give a widget another look of the style sheet while it is in sight."""
    if widget.property("look") != look:
        widget.setProperty("look", look)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def button(
    text: str, run: Callable[[], object], look: str = "", icon: str = "", tip: str = ""
) -> QPushButton:
    """Return a push button: ``primary``, ``quiet`` or plain."""
    made = QPushButton(text)
    made.setProperty("look", look)
    made.setToolTip(tip)
    if icon:
        tokens = {"primary": "on_accent", "quiet": "accent"}
        put_icon(made, icon, tokens.get(look, "muted"))
    made.clicked.connect(partial(_click, run))
    return made


def _click(run: Callable[[], object], _checked: bool = False) -> None:
    """Call what a button is for, without the state that Qt sends along."""
    run()


class Rule(QFrame):
    """A hairline between two things."""

    def __init__(self, *, vertical: bool = False) -> None:
        super().__init__()
        self.setProperty("look", "rule")
        if vertical:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)


class Card(QFrame):
    """A surface that holds what belongs together.

    Parameters
    ----------
    heading
        Its title; may be empty.
    note
        One muted sentence below the title; may be empty.
    """

    def __init__(self, heading: str = "", note: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(Space.BETWEEN, Space.BETWEEN, Space.BETWEEN, Space.BETWEEN)
        self.body.setSpacing(Space.INSIDE)
        if heading:
            self.heading = label(heading, "heading")
            self.body.addWidget(self.heading)
        if note:
            self.note = label(note, "muted", wrap=True)
            self.body.addWidget(self.note)


class ScrollPage(QScrollArea):
    """A page that scrolls up and down when it is higher than its room.

    Add widgets to `column`.
    """

    def __init__(self, parent: QWidget | None = None, margin: int = 0) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        page = QWidget()
        page.setProperty("look", "scrolled")
        self.column = QVBoxLayout(page)
        self.column.setContentsMargins(margin, margin, margin, margin)
        self.column.setSpacing(Space.BETWEEN)
        self.setWidget(page)

    def bring(self, widget: QWidget) -> None:
        """Bring a part of the page into sight, also one that has only just got its place."""
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        self.ensureWidgetVisible(widget)


class EmptyState(QWidget):
    """Says what will be here, and offers the one thing to do first.

    Parameters
    ----------
    icon
        The name of a drawing.
    heading
        What is missing.
    text
        What goes here, in a sentence or two.
    """

    WIDTH = 420
    NARROWEST = 220

    def __init__(self, icon: str, heading: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = QVBoxLayout(self)
        self._column.setSpacing(Space.INSIDE)
        centre = Qt.AlignmentFlag.AlignHCenter
        self._column.addStretch(2)
        self._column.addWidget(IconLabel(icon, "muted", 36), 0, centre)
        self._column.addSpacing(Space.INSIDE)
        self.heading = label(heading, "heading", wrap=True)
        self.text = label(text, "muted", wrap=True)
        for words in (self.heading, self.text):
            words.setAlignment(centre)
            words.setMinimumWidth(self.NARROWEST)
            words.setMaximumWidth(self.WIDTH)
            # A row of its own, so that its height is reckoned from its own width.
            line = row(None, words, None)
            line.setStretch(1, 1000)
            self._column.addLayout(line)
        self._column.addSpacing(Space.INSIDE)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(Space.INSIDE)
        self._column.addLayout(self._buttons)
        self._buttons.addStretch(1)
        self._buttons.addStretch(1)
        self._column.addStretch(3)

    def add_button(self, made: QPushButton) -> QPushButton:
        """Put a button below the text; the first should be the primary one."""
        self._buttons.insertWidget(self._buttons.count() - 1, made)
        return made

    def add_note(self, text: str) -> None:
        """Put a small remark below the buttons."""
        note = label(text, "small")
        note.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._column.insertWidget(self._column.count() - 1, note)


class Badge(QWidget):
    """An icon and a word: a state that colour alone does not tell.

    Parameters
    ----------
    icon, token
        The drawing and its colour.
    word
        The state's name.
    """

    def __init__(
        self,
        icon: str,
        token: str,
        word: str,
        *,
        look: str = "small",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.TIGHT)
        self._icon = IconLabel(icon, token, 16)
        self.word = label(word, look)
        row.addWidget(self._icon)
        row.addWidget(self.word)
        row.addStretch(1)

    def show_state(self, icon: str, token: str, word: str) -> None:
        """Show another state."""
        self._icon.show_icon(icon, token)
        self.word.setText(word)


class ElidedLabel(QLabel):
    """A label of one line that ends in an ellipsis where it has too little room."""

    def __init__(
        self,
        text: str = "",
        look: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("look", look)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:
        """Ask for no more than a few letters."""
        return QSize(24, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Offer the whole text as a tip where it does not fit."""
        super().resizeEvent(event)
        self.setToolTip(self.text() if self._shown() != self.text() else "")

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw as much as there is room for."""
        del event
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), int(self.alignment()), self._shown())

    def _shown(self) -> str:
        metrics = QFontMetrics(self.font())
        return metrics.elidedText(self.text(), self._mode, self.contentsRect().width())


def row(*widgets: QWidget | None, spacing: int = Space.INSIDE) -> QHBoxLayout:
    """Return widgets side by side; None stands for the room that is left."""
    return _line(QHBoxLayout(), widgets, spacing)


def column(*widgets: QWidget | None, spacing: int = Space.INSIDE) -> QVBoxLayout:
    """Return widgets below one another; None stands for the room that is left."""
    return _line(QVBoxLayout(), widgets, spacing)


def boxed(layout: QBoxLayout) -> QWidget:
    """Return a widget that holds a layout, to be put where only widgets go."""
    box = QWidget()
    box.setLayout(layout)
    return box


def _line(layout: _Box, widgets: tuple[QWidget | None, ...], spacing: int) -> _Box:
    layout.setSpacing(spacing)
    layout.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        if widget is None:
            layout.addStretch(1)
        else:
            layout.addWidget(widget)
    return layout
