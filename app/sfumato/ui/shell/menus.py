"""The menus and their shortcuts; what an action does is given by whoever owns it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu, QMenuBar, QWidget

from sfumato.ui.look.theme import Appearance
from sfumato.ui.widgets.icons import themed_icon
from sfumato.ui.widgets.keyboard import give_letters_to_menu

Value = TypeVar("Value", bound=str)
Run = Callable[[], object]
Keys = QKeySequence | QKeySequence.StandardKey | str


class Menus(QObject):
    """Builds menus on a menu bar and remembers their actions by name.

    Parameters
    ----------
    bar
        Where the menus go.
    window
        What the actions belong to.
    """

    def __init__(self, bar: QMenuBar, window: QWidget) -> None:
        super().__init__(window)
        self._bar = bar
        self._window = window
        self.actions: dict[str, QAction] = {}

    def menu(self, text: str) -> QMenu:
        """Add a menu."""
        made = self._bar.addMenu(text)
        made.aboutToShow.connect(partial(give_letters_to_menu, made))
        return made

    def add(
        self,
        menu: QMenu,
        name: str,
        text: str,
        run: Run,
        keys: Keys | None = None,
        icon: str = "",
        role: QAction.MenuRole = QAction.MenuRole.NoRole,
    ) -> QAction:
        """Add an action that is found again as `actions[name]`."""
        action = QAction(text, self._window)
        action.setMenuRole(role)
        if icon:
            action.setIcon(themed_icon(icon))
        if isinstance(keys, QKeySequence.StandardKey):
            action.setShortcuts(keys)  # every binding that the platform knows for it
        elif keys is not None:
            action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda _checked=False: run())
        menu.addAction(action)
        self.actions[name] = action
        return action

    def add_appearance(
        self, menu: QMenu, now: Appearance, choose: Callable[[Appearance], object]
    ) -> None:
        """Add the choice between the system's look, light, dark and high contrast."""
        names = {
            Appearance.SYSTEM: self.tr("As the &system"),
            Appearance.LIGHT: self.tr("&Light"),
            Appearance.DARK: self.tr("&Dark"),
            Appearance.CONTRAST: self.tr("&High contrast"),
        }
        self.add_choice(menu.addMenu(self.tr("&Appearance")), "appearance", names, now, choose)

    def add_choice(
        self,
        menu: QMenu,
        name: str,
        texts: Mapping[Value, str],
        now: Value,
        choose: Callable[[Value], object],
    ) -> None:
        """Add one action for each value, of which one is chosen: ``actions["name-value"]``."""
        group = QActionGroup(self)
        menu.aboutToShow.connect(partial(give_letters_to_menu, menu))
        for value, text in texts.items():
            action = self.add(menu, f"{name}-{value}", text, partial(choose, value))
            action.setCheckable(True)
            action.setChecked(value == now)
            group.addAction(action)


def fill_recent(
    menu: QMenu, paths: tuple[Path, ...], open_project: Callable[[Path], object], clear: Run
) -> None:
    """Fill a menu with recent projects, each with its place as a tip."""
    menu.clear()
    menu.setToolTipsVisible(True)
    for number, path in enumerate(paths, start=1):
        text = path.stem.replace("&", "&&")
        action = menu.addAction(f"&{number}  {text}" if number < 10 else text)
        action.setToolTip(str(path))
        action.triggered.connect(lambda _checked=False, path=path: open_project(path))
    menu.addSeparator()
    forget = menu.addAction(QCoreApplication.translate("Menus", "Clear list"))
    forget.triggered.connect(lambda _checked=False: clear())
    menu.setEnabled(bool(paths))
    give_letters_to_menu(menu)


def copy_from_focus() -> None:
    """Copy what is selected in the widget that has the focus."""
    focused = QApplication.focusWidget()
    copy = getattr(focused, "copy", None)
    if callable(copy):
        copy()
    elif focused is not None and hasattr(focused, "selectedText"):
        QGuiApplication.clipboard().setText(focused.selectedText())
