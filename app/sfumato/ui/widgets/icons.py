"""Icons drawn in the theme's colours, sharp at every scale, following light and dark."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPaintEvent, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QWidget

from sfumato.resources import resource_path
from sfumato.ui.look.theme import current_theme, scaled

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


def icon_pixmap(name: str, token: str, size: int, ratio: float) -> QPixmap:
    """Return an icon as a pixmap of `size` logical pixels; transparent where it is absent."""
    pixmap = QPixmap(round(size * ratio), round(size * ratio))
    pixmap.setDevicePixelRatio(ratio)
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
