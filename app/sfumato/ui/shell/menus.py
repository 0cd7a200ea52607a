"""The window's menus: File, Edit, View and Help, by the platform's conventions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu

from sfumato.ui.panels import all_panels
from sfumato.ui.shell.actions import Menus, fill_recent
from sfumato.ui.state.languages import AS_THE_SYSTEM, choose, chosen, languages, name_of
from sfumato.ui.widgets.messages import Message, MessageKind

if TYPE_CHECKING:
    from sfumato.ui.shell.main_window import MainWindow

Keys = QKeySequence.StandardKey


def _tr(text: str) -> str:
    return QCoreApplication.translate("MainWindow", text)


class WindowMenus(Menus):
    """Fills the window's menu bar.

    Parameters
    ----------
    window
        What the actions are done to.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window.menuBar(), window)
        self._main = window
        self.recent = QMenu(window)
        self._fill_file()
        self._fill_edit()
        self._fill_view()
        self._fill_help()

    def _fill_file(self) -> None:
        window, projects, rules = self._main, self._main.projects, self._main.rules
        menu = self.menu(_tr("&File"))
        self.add(menu, "new", _tr("&New"), projects.new, Keys.New)
        self.add(menu, "open-table", _tr("Open &table…"), window.choose_table, "Ctrl+T", "table")
        self.add(menu, "open-sample", _tr("Open the sa&mple"), window.open_sample, None, "sample")
        menu.addSeparator()
        self.add(
            menu,
            "open-project",
            _tr("&Open project…"),
            projects.choose_and_open,
            Keys.Open,
            "open",
        )
        self.recent = menu.addMenu(_tr("Open &recent"))
        menu.aboutToShow.connect(self.fill_recent)
        menu.addSeparator()
        self.add(menu, "save", _tr("&Save"), projects.save, Keys.Save, "save")
        self.add(menu, "save-as", _tr("Save &as…"), projects.save_as, "Ctrl+Shift+S")
        menu.addSeparator()
        self.add(menu, "save-rules", _tr("Save r&ules…"), rules.choose_and_save)
        self.add(menu, "apply-rules", _tr("A&pply rules…"), rules.choose_and_apply)
        menu.addSeparator()
        role = QAction.MenuRole.QuitRole
        self.add(menu, "quit", _tr("&Quit"), window.close, Keys.Quit, role=role)

    def _fill_edit(self) -> None:
        session = self._main.session
        menu = self.menu(_tr("&Edit"))
        self.add(menu, "undo", _tr("&Undo"), session.undo, Keys.Undo, "undo")
        self.add(menu, "redo", _tr("&Redo"), session.redo, Keys.Redo, "redo")
        menu.addSeparator()
        self.add(menu, "copy", _tr("&Copy"), copy_from_focus, Keys.Copy, "copy")

    def _fill_view(self) -> None:
        window = self._main
        menu = self.menu(_tr("&View"))
        for number, panel in enumerate(all_panels(), start=1):
            title, show = panel.translated_title(), partial(window.show_panel, panel.name)
            self.add(menu, f"panel-{panel.name}", title, show, f"Ctrl+{number}", panel.icon)
        menu.addSeparator()
        self.add_appearance(menu, window.appearance, window.set_appearance)
        self._add_languages(menu)
        rail, card = window.rail, window.guarantee
        self.add(
            menu,
            "fold-rail",
            _tr("Fold the &steps"),
            lambda: rail.set_compact(not rail.compact),
            "Ctrl+Shift+L",
            "panel-left",
        )
        self.add(
            menu,
            "fold-guarantee",
            _tr("Fold the &guarantee"),
            lambda: card.set_compact(not card.compact),
            "Ctrl+Shift+G",
            "panel-right",
        )
        self.add(
            menu, "full-screen", _tr("&Full screen"), window.toggle_full_screen, Keys.FullScreen
        )

    def _add_languages(self, menu: QMenu) -> None:
        """Add the choice of a language, where there is one."""
        known = languages()
        if len(known) > 1:
            names = {AS_THE_SYSTEM: _tr("As the &system")}
            names |= {language: name_of(language) for language in known}
            now = chosen(self._main.session.store)
            self.add_choice(menu.addMenu(_tr("&Language")), "language", names, now, self._speak)

    def _speak(self, language: str) -> None:
        choose(self._main.session.store, language)
        self._main.session.message.emit(
            Message(
                MessageKind.INFO,
                _tr("Restart Sfumato to apply the change."),
                topic="language",
            )
        )

    def _fill_help(self) -> None:
        window = self._main
        menu = self.menu(_tr("&Help"))
        self.add(menu, "help", _tr("Sfumato &Help"), window.show_help, Keys.HelpContents, "help")
        role = QAction.MenuRole.AboutRole
        self.add(menu, "about", _tr("&About Sfumato"), window.show_about, role=role)

    def fill_recent(self) -> None:
        """List the recent projects that are still there."""
        recent = self._main.session.recent
        fill_recent(self.recent, recent.paths, self._main.projects.open, recent.clear)

    def refresh(self) -> None:
        """Name what undo and redo would do, and allow what can be done now."""
        session = self._main.session
        for key, words, text in (
            ("undo", _tr("&Undo"), session.undo_text),
            ("redo", _tr("&Redo"), session.redo_text),
        ):
            self.actions[key].setText(f"{words}: {text}" if text else words)
            self.actions[key].setEnabled(text is not None)
        copying = session.project is not None
        self.actions["save-as"].setText(_tr("Save a c&opy…") if copying else _tr("Save &as…"))
        self.actions["apply-rules"].setEnabled(session.table is not None)
        self.actions["save-rules"].setEnabled(bool(session.document.columns))


def copy_from_focus() -> None:
    """Copy what is selected in the widget that has the focus."""
    focused = QApplication.focusWidget()
    copy = getattr(focused, "copy", None)
    if callable(copy):
        copy()
    elif focused is not None and hasattr(focused, "selectedText"):
        QGuiApplication.clipboard().setText(focused.selectedText())
