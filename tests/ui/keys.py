"""Somebody who works without a mouse: every key goes to whatever has the focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

Key = Qt.Key
MOST_TABS = 150


class Keys:
    """Presses keys, and notices where the focus would be lost.

    Attributes
    ----------
    pressed
        How many keys were pressed; a text typed counts one for each letter.
    """

    def __init__(self, window: Any, qtbot: Any) -> None:
        self.window, self._qtbot = window, qtbot
        self.pressed = 0

    @property
    def focus(self) -> QWidget:
        """What has the focus; it is in sight and can be used."""
        QCoreApplication.processEvents()
        self._qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
        focused = QApplication.focusWidget()
        assert focused is not None
        assert focused.isVisible(), focused
        assert focused.isEnabled(), focused
        return focused

    def press(self, *keys: Qt.Key, ctrl: bool = False, shift: bool = False) -> None:
        held = Qt.KeyboardModifier.ControlModifier if ctrl else Qt.KeyboardModifier.NoModifier
        held |= Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
        for key in keys:
            QTest.keyClick(self.focus, key, held)
            self.pressed += 1
        QCoreApplication.processEvents()

    def type(self, text: str) -> None:
        """Replace what the field with the focus has."""
        self.press(Key.Key_A, ctrl=True)
        QTest.keyClicks(self.focus, text)
        self.pressed += len(text)
        QCoreApplication.processEvents()

    def tab_to(self, wanted: QWidget | Callable[[QWidget], bool]) -> QWidget:
        """Press Tab until something has the focus."""
        for _ in range(MOST_TABS):
            now = self.focus
            if now is wanted if isinstance(wanted, QWidget) else wanted(now):
                return now
            self.press(Key.Key_Tab)
        raise AssertionError(f"Tab does not lead to {wanted}")

    def tab_to_button(self, words: str) -> QWidget:
        """Press Tab until a button whose text begins so has the focus."""

        def is_it(widget: QWidget) -> bool:
            text = widget.text() if isinstance(widget, QAbstractButton) else ""
            return text.replace("&", "").startswith(words)

        return self.tab_to(is_it)

    def down_to(self, row: int, column: int) -> None:
        """Go to a cell of the table that has the focus."""
        table: Any = self.focus
        while table.currentIndex().row() != row:
            down = table.currentIndex().row() < row
            self.press(Key.Key_Down if down else Key.Key_Up)
        while table.currentIndex().column() != column:
            right = table.currentIndex().column() < column
            self.press(Key.Key_Right if right else Key.Key_Left)

    def choose(self, value: object) -> None:
        """Choose a value in the combo box that has the focus."""
        combo: Any = self.focus
        target = combo._values.index(value)
        while combo.currentIndex() != target:
            self.press(Key.Key_Down if combo.currentIndex() < target else Key.Key_Up)

    def waits_until(self, condition: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(condition, timeout=200_000)

    def waits(self) -> None:
        """Wait until no job runs; the focus is somewhere then."""
        runner = self.window.session.runner
        self._qtbot.waitUntil(lambda: not runner.jobs, timeout=200_000)
        assert self.focus
