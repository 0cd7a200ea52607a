"""What screen readers are told of widgets that paint themselves: their roles and their parts.

No Python is called from outside: roles are given to Qt's own interfaces, and the parts of a picture
are widgets of Qt that lie on it, draw nothing and take no clicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget


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
