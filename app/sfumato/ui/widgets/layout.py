"""The pieces a page is laid out with: cards, rules, scrolling pages, empty states, badges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeVar

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import (
    QAccessible,
    QFocusEvent,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QBoxLayout,
    QCheckBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import has_names, parted, rich_text, unmarked, whole
from sfumato.ui.widgets.painted import IconLabel, draw_focus, painter_on, put_icon, themed_icon
from sfumato.ui.widgets.responsive import keep_bar

_Box = TypeVar("_Box", bound=QBoxLayout)
Part = QWidget | QLayout
Piece = Part | tuple[Part, int] | int | None
"""What is put into a line: a part, alone or with its stretch; so many pixels that stay free; None
for the room that is left."""
Margins = tuple[int, int, int, int]
"""The pixels left free around a line: left, top, right, bottom."""


def label(text: str, look: str = "", *, wrap: bool = False) -> QLabel:
    """Return a label with one of the style sheet's looks (``heading``, ``muted``, ``small``)."""
    made = HeadingLabel() if look in HEADINGS else WrappedLabel() if wrap else QLabel()
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setProperty("look", look)
    made.setWordWrap(wrap)
    made.setText(text)
    return made


HEADINGS: Final = ("title", "heading")
"""The looks of headings."""


class WrappedLabel(QLabel):
    """A label of several lines that also parts words too long for one, as names of columns are.

    Names of columns that `apart` has marked are shown in another weight.
    """

    _told = ""

    def setText(self, text: str) -> None:
        """Show a text."""
        self._told, shown = whole(unmarked(text)), parted(text)
        rich = has_names(text)
        self.setTextFormat(Qt.TextFormat.RichText if rich else Qt.TextFormat.PlainText)
        super().setText(rich_text(shown) if rich else shown)

    def text(self) -> str:
        """Return the text without marks, and the places where it may be parted."""
        return self._told


class HeadingLabel(WrappedLabel):
    """A heading, and for screen readers one too: they go from heading to heading by a key."""

    accessible_role = QAccessible.Role.Heading

    def setText(self, text: str) -> None:
        """Show a text and tell it."""
        super().setText(text)
        self.setAccessibleName(self.text())


def set_look(widget: QWidget, look: object, aspect: str = "look") -> None:
    """Give a widget another look of the style sheet while it is in sight."""
    if widget.property(aspect) != look:
        widget.setProperty(aspect, look)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def button(
    text: str, run: Callable[[], object] | None, look: str = "", icon: str = "", tip: str = ""
) -> QPushButton:
    """Return a push button: ``primary``, ``quiet`` or plain; None leaves it to its `clicked`."""
    made = QPushButton(text)
    made.setProperty("look", look)
    made.setToolTip(tip)
    if icon:
        tokens = {"primary": "on_accent", "quiet": "accent"}
        put_icon(made, icon, tokens.get(look, "muted"))
    if run is not None:
        made.clicked.connect(partial(_click, run))
    return made


def tool(icon: str, words: str, run: Callable[[], object] | None) -> QToolButton:
    """Return a button that is a drawing, and says in a tip what it is for; see `button`."""
    made = QToolButton()
    if run is not None:
        made.clicked.connect(partial(_click, run))
    show_tool(made, icon, words)
    return made


def show_tool(shown: QToolButton, icon: str, words: str) -> None:
    """Let such a button be for something else from now on."""
    shown.setIcon(themed_icon(icon))
    shown.setToolTip(words)
    shown.setAccessibleName(words)


def _click(run: Callable[[], object], _checked: bool = False) -> None:
    """Call what a button is for, without the state that Qt sends along."""
    run()


def press_by_enter(focused: QWidget | None, event: QKeyEvent) -> bool:
    """Press the button that has the focus where Enter was; return whether there was one.

    Boxes that are ticked are left to the space bar: Enter goes on from them, as from a field.
    """
    if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        return False
    ticked = isinstance(focused, QCheckBox | QRadioButton)
    if not isinstance(focused, QAbstractButton) or ticked or not focused.isEnabled():
        return False
    focused.click()
    return True


def say(shown: QLabel, text: str) -> None:
    """Show a text; an empty one takes the label away."""
    shown.setText(text)
    shown.setVisible(bool(text))


class Hairline(QFrame):
    """A hairline between two things."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("look", "rule")
        self.setFixedHeight(1)


class Card(QFrame):
    """A surface that holds what belongs together.

    Parameters
    ----------
    heading
        Its title; may be empty.
    note
        One muted sentence below the title; may be empty.
    flat
        Whether little is left free above and below: for a single line.
    """

    def __init__(
        self,
        heading: str = "",
        note: str = "",
        parent: QWidget | None = None,
        *,
        flat: bool = False,
    ) -> None:
        super().__init__(parent)
        self.setProperty("look", "card")
        high = Space.INSIDE + 4 if flat else Space.BETWEEN
        self.body = column(margins=(Space.BETWEEN, high, Space.BETWEEN, high))
        self.setLayout(self.body)
        if heading:
            self.heading = label(heading, "heading", wrap=True)
            self.put(self.heading)
        if note:
            self.note = label(note, "muted", wrap=True)
            self.put(self.note)

    def put(self, *pieces: Piece) -> None:
        """Put something below what there is already."""
        fill(self.body, *pieces)


class ScrollPage(QScrollArea):
    """A page that scrolls when it is higher than its room, or cannot be made as narrow.

    Add widgets to `column`.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        page = QWidget()
        page.setProperty("look", "scrolled")
        self.column = column(spacing=Space.BETWEEN)
        page.setLayout(self.column)
        self.setWidget(page)
        self._on_top: QWidget | None = None
        keep_bar(self)
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self._let_go)
        bar.rangeChanged.connect(self._keep_on_top)

    def put(self, *pieces: Piece) -> None:
        """Put something below what there is already."""
        fill(self.column, *pieces)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Show the focus ring behind the page."""
        super().paintEvent(event)
        if self.hasFocus():
            draw_focus(painter_on(self.viewport()), self.viewport())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus ring."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the focus ring away."""
        super().focusOutEvent(event)
        self.viewport().update()

    def bring(self, widget: QWidget) -> None:
        """Bring a part of the page into sight, also one that has only just got its place."""
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        self.ensureWidgetVisible(widget)

    def bring_top(self, widget: QWidget) -> None:
        """Bring a part of the page to the top of what is in sight, as far as the page goes.

        It stays there while what lies above it gets longer or shorter, until somebody scrolls.
        """
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        self._on_top = widget
        self._keep_on_top()

    def _keep_on_top(self, *_range: int) -> None:
        widget, page = self._on_top, self.widget()
        if widget is not None and page is not None and isValid(widget):
            self.verticalScrollBar().setValue(widget.mapTo(page, QPoint()).y())
            self._on_top = widget

    def _let_go(self, _value: int) -> None:
        self._on_top = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Stay where the page is scrolled to while a part of it is built anew."""
        page, before = self.widget(), self.verticalScrollBar().value()
        focused = self.focusWidget()
        if page is not None and focused is not None and page.isAncestorOf(focused):
            page.setFocus()  # else Qt looks for another place to type in, and scrolls there
        yield
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        if self._on_top is None:
            self.verticalScrollBar().setValue(before)
        else:
            self._keep_on_top()


class ElidedButton(QPushButton):
    """A quiet button whose words end in an ellipsis, and stand in its tip, where it is narrow."""

    def __init__(self, text: str, run: Callable[[], object] | None, tip: str = "") -> None:
        super().__init__(text)
        self.setProperty("look", "quiet")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.say(text, tip)
        if run is not None:
            self.clicked.connect(partial(_click, run))

    def say(self, text: str, tip: str = "") -> None:
        """Show other words, as many as there is room for."""
        self._whole, self._tip = text, tip
        self.setText(text)
        self.setAccessibleName(text)
        self.updateGeometry()
        self._elide()

    def sizeHint(self) -> QSize:
        """Ask for room for all words."""
        metrics, hint = self.fontMetrics(), super().sizeHint()
        missing = metrics.horizontalAdvance(self._whole) - metrics.horizontalAdvance(self.text())
        return QSize(hint.width() + missing, hint.height())

    def minimumSizeHint(self) -> QSize:
        """Do with the room of an icon and a few letters."""
        return QSize(scaled(80), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as many words as there is room for."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        metrics, wanted = self.fontMetrics(), self.sizeHint().width()
        room = metrics.horizontalAdvance(self._whole) + self.width() - wanted
        narrow = room < metrics.horizontalAdvance(self._whole)
        elide = Qt.TextElideMode.ElideMiddle
        self.setText(metrics.elidedText(self._whole, elide, room) if narrow else self._whole)
        self.setToolTip(self._whole if narrow else self._tip)


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
    offer
        The button below the text, if there is one; others follow by `add_button`.
    """

    WIDTH = 420
    NARROWEST = 220

    def __init__(
        self,
        icon: str,
        heading: str = "",
        text: str = "",
        parent: QWidget | None = None,
        offer: QPushButton | None = None,
    ) -> None:
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
            words.setMinimumWidth(scaled(self.NARROWEST))
            words.setMaximumWidth(scaled(self.WIDTH))
            # A row of its own, so that its height is reckoned from its own width.
            self._column.addLayout(row(None, (words, 1000), None))
        self._buttons = row(None, None)
        fill(self._column, Space.INSIDE, self._buttons)
        self._column.addStretch(3)
        if offer is not None:
            self.add_button(offer)

    def add_button(self, made: QPushButton) -> QPushButton:
        """Put a button below the text; the first should be the primary one."""
        self._buttons.insertWidget(self._buttons.count() - 1, made)
        return made

    def add_line(self, *made: QPushButton) -> None:
        """Put buttons on a line of their own below the others."""
        place = self._column.count() - 1
        self._column.insertLayout(place, row(None, *made, None))

    def add_note(self, text: str) -> None:
        """Put a small remark below the buttons."""
        note = label(text, "small", wrap=True)
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
    wrap
        Whether it may take several lines.
    """

    def __init__(
        self,
        icon: str,
        token: str,
        word: str,
        *,
        look: str = "small",
        wrap: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._icon = IconLabel(icon, token, 16)
        self.word = label(word, look, wrap=wrap)
        if wrap:
            self.word.setAlignment(Qt.AlignmentFlag.AlignTop)
            self.setLayout(beside(self._icon, self.word))
        else:
            self.setLayout(row(self._icon, self.word, None, spacing=Space.TIGHT))

    def show_state(self, icon: str, token: str, word: str) -> None:
        """Show another state."""
        self._icon.show_icon(icon, token)
        self.word.setText(word)


class ElidedLabel(QLabel):
    """A label of one line that ends in an ellipsis where it has too little room."""

    def __init__(
        self, text: str = "", look: str = "", mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        super().__init__(text)
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("look", look)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:
        """Ask for no more than a few letters."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), scaled(64)), hint.height())

    def setText(self, text: str) -> None:
        """Show another text."""
        super().setText(text)
        self._offer_tip()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Offer the whole text as a tip where it does not fit."""
        super().resizeEvent(event)
        self._offer_tip()

    def _offer_tip(self) -> None:
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


def row(
    *pieces: Piece,
    spacing: int = Space.INSIDE,
    wide: int | None = None,
    margins: Margins = (0, 0, 0, 0),
) -> QHBoxLayout:
    """Return widgets and layouts side by side.

    Parameters
    ----------
    pieces
        What stands there.
    spacing
        Pixels between them.
    wide
        The place of the piece that takes the room left.
    margins
        Pixels around them.
    """
    line = _line(QHBoxLayout(), pieces, spacing, margins)
    if wide is not None:
        line.setStretch(wide, 1)
    return line


def column(
    *pieces: Piece, spacing: int = Space.INSIDE, margins: Margins = (0, 0, 0, 0)
) -> QVBoxLayout:
    """Return widgets and layouts below one another."""
    return _line(QVBoxLayout(), pieces, spacing, margins)


def beside(icon: QWidget, words: Part, spacing: int = Space.INSIDE) -> QHBoxLayout:
    """Return words that take the room left, and an icon at the height of their first line."""
    line = row(icon, (words, 1), spacing=spacing)
    line.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
    return line


def signed(icon: str, token: str, text: str, look: str = "", size: int = 16) -> QHBoxLayout:
    """Return a text that wraps, with an icon before it."""
    return beside(IconLabel(icon, token, size), label(text, look, wrap=True))


class _Form(QFormLayout):
    """A form whose rows are measured anew each time that it is placed.

    Qt's keeps a row's height from when it was asked for its size at another width, and lays what
    needs two lines into one.
    """

    def setGeometry(self, rect: QRect) -> None:
        """Place the rows; called by Qt."""
        if self.hasHeightForWidth():
            for width in (rect.width() + 1, rect.width()):  # what is asked twice is not measured
                self.heightForWidth(width)
        super().setGeometry(rect)


def form(*lines: tuple[str, QWidget | QLayout], above: bool = False) -> QFormLayout:
    """Return fields below one another, each with its name.

    Parameters
    ----------
    lines
        Pairs of a name and its field, or a row of fields.
    above
        Whether names stand above their fields, as captions, rather than beside them.
    """
    made = _Form()
    made.setContentsMargins(0, 0, 0, 0)
    made.setHorizontalSpacing(Space.BETWEEN)
    made.setVerticalSpacing(Space.TIGHT if above else Space.INSIDE)
    made.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    made.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    if above:
        made.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapAllRows)
    for name, field in lines:
        words = label(name, "caption" if above else "")
        # Qt's two ways to say the same are told apart by the field's type.
        if isinstance(field, QWidget):
            made.addRow(words, field)
        else:
            made.addRow(words, field)
    return made


def captioned(words: str, field: QWidget, look: str = "small", *, wrap: bool = False) -> QWidget:
    """Return a field below the words that say what it is."""
    caption = label(words, look, wrap=wrap)
    caption.setBuddy(field)
    return boxed(column(caption, field, spacing=Space.TIGHT))


def refill(layout: QLayout, widgets: Iterable[QWidget]) -> None:
    """Put widgets in the place of those in a layout, which are deleted."""
    clear_layout(layout)
    for widget in widgets:
        layout.addWidget(widget)


def boxed(layout: QLayout, parent: QWidget | None = None) -> QWidget:
    """Return a widget that holds a layout, to be put where only widgets go."""
    box = QWidget(parent)
    box.setLayout(layout)
    return box


def clear_layout(layout: QLayout) -> None:
    """Delete the widgets in a layout."""
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()


def _line(layout: _Box, pieces: tuple[Piece, ...], spacing: int, margins: Margins) -> _Box:
    layout.setSpacing(spacing)
    layout.setContentsMargins(*margins)
    return fill(layout, *pieces)


def fill(layout: _Box, *pieces: Piece) -> _Box:
    """Put pieces at the end of a line, and return it."""
    for piece in pieces:
        part, stretch = piece if isinstance(piece, tuple) else (piece, 0)
        if part is None:
            layout.addStretch(1)
        elif isinstance(part, int):
            layout.addSpacing(part)
        elif isinstance(part, QLayout):
            layout.addLayout(part, stretch)
        else:
            layout.addWidget(part, stretch)
    return layout
