"""What a person's hands do in tests: wait for the window, click, type, answer dialogs."""

from __future__ import annotations

from typing import Any, TypeVar

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from sfumato.ui.panels.policy.board.page import DRAWER
from sfumato.ui.state.settings import MemoryStore
from sfumato.ui.widgets.messages import MessageBar, MessageView

Dialog = TypeVar("Dialog", bound=QWidget)
Shown = TypeVar("Shown", bound=QWidget)


def at_settings() -> MemoryStore:
    """Return the settings of a person whose drawer below the board is open."""
    store = MemoryStore()
    store.setValue(DRAWER, 1)
    return store


def on_screen(qtbot: Any, widget: Shown, *size: int) -> Shown:
    """Show a widget, of a width and height in pixels where they are named, until the test ends."""
    qtbot.addWidget(widget)
    if size:
        widget.resize(*size)
    widget.show()
    return widget


def settle(qtbot: Any, session: Any) -> None:
    """Wait until no job runs and what it told is shown."""
    qtbot.waitUntil(lambda: not session.runner.jobs)


def at(lattice: Any, node: Any) -> QPoint:
    """Return where a node of a lattice's picture is in its view."""
    x, y = lattice._drawing.places[lattice._place[node]]
    return lattice.mapFromScene(QPointF(x, y))


def tab_of(questions: Any, page: Any) -> QToolButton:
    """Return the tab of a page of the audit's questions."""
    return questions._tabs[page]


def click(widget: QWidget) -> None:
    """Click a button that can be clicked."""
    assert widget.isEnabled(), "the button can't be clicked"
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def type_into(field: QWidget, text: str) -> None:
    """Replace a field's text by typing."""
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)


def enter(field: QWidget, text: str) -> None:
    """Replace a field's text by typing, and give it."""
    type_into(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)
    QCoreApplication.processEvents()


def choose(combo: Any, value: object) -> None:
    """Choose a value of a combo box by the keyboard."""
    combo.setFocus()
    target = combo._values.index(value)
    while combo.currentIndex() != target:
        down = combo.currentIndex() < target
        QTest.keyClick(combo, Qt.Key.Key_Down if down else Qt.Key.Key_Up)


def dialog_of(window: QWidget, kind: type[Dialog]) -> Dialog:
    """Return the one dialog of a kind that is open."""
    [found] = [dialog for dialog in window.findChildren(kind) if dialog.isVisible()]
    return found


def press(parent: QWidget, text: str) -> None:
    """Press the visible push button with this text."""
    buttons = [
        button
        for button in parent.findChildren(QPushButton)
        if button.text().replace("&", "") == text and button.isVisible()
    ]
    assert buttons, f"there is no button {text!r}"
    click(buttons[0])


def messages(bar: MessageBar) -> list[str]:
    """Return the texts of the messages in sight."""
    return [message.text for message in bar.messages]


def message_button(bar: MessageBar, text: str) -> QPushButton:
    """Return a message's button by its text."""
    for view in bar.findChildren(MessageView):
        for button in view.findChildren(QPushButton):
            if button.text().replace("&", "") == text and not view.isHidden():
                return button
    raise AssertionError(f"no message offers {text!r}")


def load_table(window: Any, qtbot: Any, path: Any) -> None:
    """Open a table in the window and load it as it is previewed."""
    window.session.table_requested.emit(path)
    settle(qtbot, window.session)
    click(window.panels["data"].load_button)
    settle(qtbot, window.session)
    assert window.session.table is not None


def explain_first(qtbot, card):
    """Press "Why?" of the first recipient on the guarantee card, once there is one."""
    card.refresh()  # what it shows may be of an earlier document
    qtbot.waitUntil(lambda: bool(card._summaries))
    next(iter(card._summaries.values())).why.click()
