"""Widgets that paint themselves: how they draw lines of text, and what screen readers are told.

No Python is called from outside: roles are given to Qt's own interfaces, and the parts of a picture
are widgets of Qt that lie on it, draw nothing and take no clicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, QRect, QRectF, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleInterface,
    QColor,
    QFont,
    QFontMetricsF,
    QPaintDevice,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from sfumato.ui.look.theme import themes


@dataclass(frozen=True)
class Told:
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


class Part(QWidget):
    """One part of a picture, for who can't see it."""

    accessible_role = QAccessible.Role.ListItem

    def __init__(self, picture: QWidget) -> None:
        super().__init__(picture)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)


def show_parts(picture: QWidget, parts: Sequence[Told]) -> None:
    """Tell the parts of a picture, in the order given; those told before are renewed."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    made = picture.findChildren(Part, options=direct)
    for surplus in made[len(parts) :]:
        surplus.hide()
        surplus.deleteLater()
    made = [*made[: len(parts)], *(Part(picture) for _ in parts[len(made) :])]
    for part, told in zip(made, parts, strict=True):
        part.setAccessibleName(told.name)
        part.setAccessibleDescription(told.description)
        part.setGeometry(told.area)
        part.show()


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
