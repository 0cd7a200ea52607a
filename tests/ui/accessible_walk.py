"""What a screen reader would find wrong in a window: a walk through all that is exposed to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QWidget,
)

from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.keyboard import letter_of

Role = QAccessible.Role

NAMELESS = {Role.Client, Role.NoRole, Role.Grouping, Role.Pane, Role.LayeredPane, Role.Border}
"""Roles that say nothing of what can be done; nothing that takes the keyboard may have one."""
INTERACTIVE = {
    Role.Button,
    Role.ButtonMenu,
    Role.ButtonDropDown,
    Role.CheckBox,
    Role.RadioButton,
    Role.ComboBox,
    Role.EditableText,
    Role.SpinBox,
    Role.Slider,
    Role.List,
    Role.Table,
    Role.Tree,
    Role.PageTab,
    Role.MenuItem,
    Role.ProgressBar,
    Role.Chart,
    Role.Graphic,
    Role.Link,
}
VALUED = {Role.SpinBox, Role.Slider, Role.ComboBox, Role.ProgressBar}
OF_ITEMS = {Role.List, Role.Table, Role.Tree}


@dataclass(frozen=True)
class Found:
    """Something that is exposed: where it stands, and what is said of it."""

    path: str
    role: Role
    name: str
    interface: QAccessibleInterface


def exposed(top: QWidget) -> Iterator[Found]:
    """Go through everything visible below a widget, without the items of lists and tables."""
    waiting = [("", QAccessible.queryAccessibleInterface(top))]
    while waiting:
        path, interface = waiting.pop()
        if interface is None or not interface.isValid() or interface.state().invisible:
            continue
        thing = interface.object()
        here = f"{path}/{type(thing).__name__ if thing is not None else interface.role().name}"
        yield Found(here, interface.role(), _name(interface), interface)
        if interface.role() in OF_ITEMS and isinstance(thing, QAbstractItemView):
            continue
        waiting += [(here, interface.child(place)) for place in range(interface.childCount())]


def tops(window: QWidget) -> list[QWidget]:
    """Return a window and the dialogs that are open in front of it."""
    return [window, *(each for each in window.findChildren(QDialog) if each.isVisible())]


def faults(top: QWidget) -> list[str]:
    """Return what is wrong, one sentence a thing; none where everything can be told."""
    said: list[str] = []
    siblings: Counter[tuple[int, Role, str]] = Counter()
    for found in exposed(top):
        interface, thing = found.interface, found.interface.object()
        state = interface.state()
        takes_keys = bool(state.focusable) and not _passes_on(thing)
        if not takes_keys and found.role not in INTERACTIVE:
            continue
        where = f"{found.path} ({found.role.name}) {found.name!r}"
        if not found.name.strip():
            said.append(f"{where} has no name")
        if found.role in NAMELESS:
            said.append(f"{where} has a role that says nothing")
        if found.role in VALUED and not interface.text(QAccessible.Text.Value).strip():
            said.append(f"{where} has no value")
        if isinstance(thing, QWidget) and bool(state.disabled) == thing.isEnabled():
            said.append(f"{where} is told as disabled, or isn't though it is")
        if isinstance(thing, QAbstractButton) and bool(state.checked) != thing.isChecked():
            said.append(f"{where} is told as checked, or isn't though it is")
        parent = thing.parent() if isinstance(thing, QObject) else None
        key = (id(parent), found.role, found.name)
        siblings[key] += found.role != Role.StaticText and _in_sight(thing)
        if siblings[key] == 2 and parent is not None:
            said.append(f"{where} has the name of a control beside it")
    return said + [
        f"the label {name.text()!r} belongs to no field" for name in _labels_without_fields(top)
    ]


def _labels_without_fields(top: QWidget) -> list[QLabel]:
    """Return the labels in sight that look as if a letter or a click on them led to a field."""
    seen = [each for each in top.findChildren(QLabel) if each.isVisibleTo(top)]
    lost = [each for each in seen if letter_of(each.text()) and each.buddy() is None]
    for lines in top.findChildren(QFormLayout):
        for at in range(lines.rowCount()):
            name = lines.itemAt(at, QFormLayout.ItemRole.LabelRole)
            field = lines.itemAt(at, QFormLayout.ItemRole.FieldRole)
            words = name.widget() if name is not None else None
            typed = field.widget() if field is not None else None
            typing = isinstance(typed, QLineEdit | QComboBox | NumberField)
            if words in seen and typing and not words.buddy() and not typed.accessibleName():
                lost.append(words)
    return lost


def _passes_on(thing: QObject | None) -> bool:
    """Whether it takes the keyboard only to be scrolled, or to hand it on to a part of it."""
    return isinstance(thing, QWidget) and (
        isinstance(thing, QScrollArea) or thing.focusProxy() is not None
    )


def _in_sight(thing: QObject | None) -> bool:
    """Whether a part of it can be seen: a plot that is scrolled away is not drawn, so not told."""
    return not isinstance(thing, QWidget) or not thing.visibleRegion().isEmpty()


def _name(interface: QAccessibleInterface) -> str:
    """Return what something is called; Qt calls combo boxes on Linux by what is chosen."""
    thing = interface.object()
    if interface.role() != Role.ComboBox or not isinstance(thing, QComboBox):
        return str(interface.text(QAccessible.Text.Name))
    labels = thing.parentWidget().findChildren(QLabel)
    buddies = (each.text().replace("&", "") for each in labels if each.buddy() is thing)
    return next(buddies, interface.text(QAccessible.Text.Description) or thing.accessibleName())
