"""What the window paints itself: icons, lines of text, and what screen readers are told of them.

Icons are drawn in the theme's colours, sharp at every scale, following light and dark. No Python is
called from outside: roles are given to Qt's own interfaces, and the parts of a picture are widgets
of Qt that lie on it, draw nothing and take no clicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from PySide6.QtCore import QByteArray, QObject, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleInterface,
    QColor,
    QFont,
    QFontMetricsF,
    QIcon,
    QIconEngine,
    QPaintDevice,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QAbstractButton,
    QAccessibleWidget,
    QHeaderView,
    QStyle,
    QStyleOptionHeader,
    QStyleOptionViewItem,
    QWidget,
)

from sfumato.engine.core.frozen import dataclass
from sfumato.resources import resource_path
from sfumato.ui.look.theme import current_theme, scaled, themes

BESIDE_TEXT: Final = (21, 16)
"""The room of an icon and the gap to its text, at scale 1."""


@lru_cache(maxsize=256)
def _drawing(name: str) -> str | None:
    """Return an icon's SVG text, or None where none of that name is shipped."""
    try:
        return resource_path("icons", f"{name}.svg").read_text(encoding="utf-8")
    except LookupError:
        return None


@lru_cache(maxsize=512)
def _renderer(name: str, colour: str) -> QSvgRenderer | None:
    drawing = _drawing(name)
    if drawing is None:
        return None
    return QSvgRenderer(QByteArray(drawing.replace("currentColor", colour).encode()))


def colour_of(token: str) -> str:
    """Return the colour that a token of the theme has now (``text``, ``muted``, ``good``)."""
    theme = current_theme()
    if token in ("on_accent", "disabled"):
        return str(getattr(theme, token))
    return str(getattr(theme.style, token))


def icon_pixmap(name: str, token: str, size: int) -> QPixmap:
    """Return an icon of `size` logical pixels, drawn at 2:1; transparent where it is absent."""
    pixmap = QPixmap(2 * size, 2 * size)
    pixmap.setDevicePixelRatio(2.0)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    draw_icon(painter, name, token, QRectF(0, 0, size, size))
    painter.end()
    return pixmap


def draw_icon(painter: QPainter, name: str, token: str, area: QRectF) -> None:
    """Draw an icon in a colour of the theme; nothing where it is absent."""
    renderer = _renderer(name, colour_of(token))
    if renderer is not None:
        renderer.render(painter, area)


class _ThemedEngine(QIconEngine):
    """Draws an icon in the colours of the moment, so that a theme change needs no new icons."""

    def __init__(self, name: str, token: str) -> None:
        super().__init__()
        self._name = name
        self._token = token

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Draw; called by Qt."""
        del state
        token = "disabled" if mode == QIcon.Mode.Disabled else self._token
        side = min(rect.width(), rect.height())
        top = rect.top() + (rect.height() - side) / 2
        # At the left of a wider room: what is over separates it from a button's text.
        draw_icon(painter, self._name, token, QRectF(rect.left(), top, side, side))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """Draw into a pixmap; called by Qt."""
        pixmap = QPixmap(size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        painter.end()
        return pixmap

    def clone(self) -> QIconEngine:
        """Return another engine for the same icon; called by Qt."""
        return _ThemedEngine(self._name, self._token)


def themed_icon(name: str, token: str = "muted") -> QIcon:
    """Return an icon that follows the theme; an empty one where none of that name is shipped."""
    if _drawing(name) is None:
        return QIcon()
    return QIcon(_ThemedEngine(name, token))


def put_icon(button: QAbstractButton, name: str, token: str = "muted") -> None:
    """Put an icon on a button, a little apart from its text."""
    button.setIcon(themed_icon(name, token))
    button.setIconSize(QSize(*map(scaled, BESIDE_TEXT)))


class IconLabel(QWidget):
    """An icon standing by itself, in the theme's colours."""

    def __init__(self, name: str, token: str = "muted", size: int = 20) -> None:
        super().__init__()
        self._name = name
        self._token = token
        self.setFixedSize(scaled(size), scaled(size))

    def show_icon(self, name: str, token: str) -> None:
        """Show another icon, or the same in another colour."""
        if (name, token) != (self._name, self._token):
            self._name, self._token = name, token
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the icon in the colour that its token has now."""
        del event
        token = self._token if self.isEnabled() else "disabled"
        draw_icon(QPainter(self), self._name, token, QRectF(self.rect()))


@dataclass(frozen=True)
class PartText:
    """What is told of one part of a picture.

    Parameters
    ----------
    name
        Its name, with its value.
    area
        Where it is drawn, in pixels of the picture.
    description
        What else is known of it; may be empty.
    """

    name: str
    area: QRect
    description: str = ""


class PaintedPart(QWidget):
    """One part of a picture, for who can't see it."""

    accessible_role = QAccessible.Role.ListItem

    def __init__(self, picture: QWidget) -> None:
        super().__init__(picture)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)


def show_parts(picture: QWidget, parts: Sequence[PartText]) -> None:
    """Tell the parts of a picture, in the order given; those told before are renewed."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    made = picture.findChildren(PaintedPart, options=direct)
    for surplus in made[len(parts) :]:
        surplus.hide()
        surplus.deleteLater()
    made = [*made[: len(parts)], *(PaintedPart(picture) for _ in parts[len(made) :])]
    for part, told in zip(made, parts, strict=True):
        part.setAccessibleName(told.name)
        part.setAccessibleDescription(told.description)
        part.setGeometry(told.area)
        part.show()


@cache  # Qt asks a factory as often as it was installed
def tell_roles() -> None:
    """Give every widget that has an `accessible_role` this role, from now on."""
    QAccessible.installFactory(_interface)


def _interface(name: str, thing: QObject) -> QAccessibleInterface | None:
    """Return the interface of a widget that says what it is; None leaves it to Qt."""
    role = getattr(thing, "accessible_role", None)
    if role is None or name != thing.metaObject().className():
        return None
    assert isinstance(thing, QWidget)
    return QAccessibleWidget(thing, role)


def elided(text: str, face: QFont, width: float) -> str:
    """Return as much of a text as there is room for in a line, ending in an ellipsis."""
    return QFontMetricsF(face).elidedText(text, Qt.TextElideMode.ElideRight, width)


def lines_of(text: str, face: QFont, width: float) -> list[str]:
    """Return a text in lines, broken at blanks where there is no room for more words."""
    measure = QFontMetricsF(face).horizontalAdvance
    first, *rest = text.split(" ")
    lines = [first]
    for word in rest:
        longer = f"{lines[-1]} {word}"
        if measure(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


class PaintedText(NamedTuple):
    """A line that a widget paints itself: what would be drawn, and the room there is for it.

    A widget that paints text tells of it by a method `painted_texts`; `tip` is what the pointer
    says there.
    """

    text: str
    face: QFont
    area: QRectF
    tip: str = ""

    @property
    def shown(self) -> str:
        """What there is room for."""
        return elided(self.text, self.face, self.area.width())


LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def painter_on(ground: QPaintDevice) -> QPainter:
    """Return what paints on a widget or a picture, with smooth edges."""
    painter = QPainter(ground)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    return painter


def draw_focus(painter: QPainter, widget: QWidget) -> None:
    """Draw the ring around a widget that has the focus."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(themes().current.style.accent), 2))
    painter.drawRoundedRect(QRectF(widget.rect()).adjusted(1, 1, -1, -1), 6, 6)


def draw_row_ground(painter: QPainter, option: QStyleOptionViewItem) -> QRectF:
    """Draw what is behind a row's cell, with the rule below it; return the cell's area."""
    area, theme = QRectF(option.rect), current_theme()
    if option.state & QStyle.StateFlag.State_Selected:
        painter.fillRect(area, QColor(theme.selected))
    rule = QRectF(area.left(), area.bottom() - 1, area.width(), 1)
    painter.fillRect(rule, QColor(theme.style.line))
    return area


def draw_text(
    painter: QPainter,
    area: QRectF,
    text: str,
    face: QFont,
    colour: str,
    side: Qt.AlignmentFlag = LEFT,
) -> None:
    """Draw as much of a line of text as there is room for."""
    painter.setFont(face)
    painter.setPen(QColor(colour))
    painter.drawText(area, int(side), elided(text, face, area.width()))


class MarkedHeadings(QHeaderView):
    """The names of a table's columns; a mark stands beside its name, wherever that is."""

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, section: int) -> None:
        """Draw a name at the right before its mark; called by Qt."""
        super().initStyleOptionForIndex(option, section)
        if option.textAlignment & Qt.AlignmentFlag.AlignRight:
            option.direction = Qt.LayoutDirection.RightToLeft
