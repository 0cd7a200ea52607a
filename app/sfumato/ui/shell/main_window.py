"""The window: the rail, the panels, the guarantee and the job bar, put together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import (
    QByteArray,
    QCoreApplication,
    QEvent,
    QMargins,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMainWindow, QMenu, QPushButton, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.databases import Place
from sfumato.formats.language import languages
from sfumato.jobs import BugReport
from sfumato.project import SUFFIX as PROJECT_SUFFIX
from sfumato.resources import resource_path
from sfumato.ui.dialogs.about import AboutDialog, BugDialog
from sfumato.ui.dialogs.databases import DatabaseDialog
from sfumato.ui.dialogs.help import HelpDialog
from sfumato.ui.look.theme import Appearance, scaled, themes
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels import Panels, all_panels
from sfumato.ui.panels.base import Panel
from sfumato.ui.shell.files import RULES_SUFFIX, FoundFiles, RulesFiles
from sfumato.ui.shell.frame import JobBar, Menus, Rail, copy_from_focus, fill_recent
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from sfumato.ui.shell.next_edition import NextEdition
from sfumato.ui.state.projects import UNSAVED_TOPIC, Projects, Unsaved
from sfumato.ui.state.recovering import ask_for_sheet
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import (
    AS_THE_SYSTEM,
    MemoryLimit,
    TextScale,
    choose,
    chosen,
    is_on,
    name_of,
)
from sfumato.ui.widgets.files import DropHint, dropped_file, table_filters
from sfumato.ui.widgets.keyboard import (
    FocusKeeper,
    give_letters,
    give_letters_to_menu,
    go_to,
    heir,
    letter_of,
    next_stop,
    reading_order,
)
from sfumato.ui.widgets.layout import column, press_by_enter, row
from sfumato.ui.widgets.messages import Message, MessageKind, announce
from sfumato.ui.widgets.paint_queue import delayed

SMALLEST: Final = (1100, 700)
USUAL: Final = (1366, 768)
ROOMY: Final = 1240
"""Below this width the rail shows icons only, so that the work keeps its room."""

CROWDED: Final = 1000
"""Below this width the guarantee is folded to its edge as well; pixels at scale 1, as above."""

UNKNOWN_FRAME: Final = QMargins(4, 40, 4, 4)
"""What a desktop may draw around a window, before it has done so."""
FRAMED_AFTER_MILLISECONDS: Final = 100
NO_SCREEN: Final = ("offscreen", "minimal")
"""Platforms of Qt that draw windows without a screen."""

_GEOMETRY: Final = "window/geometry"
_APPEARANCE: Final = "window/appearance"
_STILL: Final = "window/still"
_RAIL: Final = "window/rail-folded"
_CARD: Final = "window/guarantee-folded"


Keys = QKeySequence.StandardKey


class MainWindow(QMainWindow):
    """Puts the panels, the rail, the guarantee card and the menus together.

    Parameters
    ----------
    session
        What is open.
    """

    language_chosen = Signal()
    """The person wants the window in another language, which is remembered."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        session.setParent(self)
        self.projects = Projects(session, self)
        self.rules = RulesFiles(session, self)
        self.unsaved = Unsaved(session, self.projects, self)
        # Parents first: a style sheet looks at a whole subtree anew wherever it is moved.
        self._page = QWidget(self)
        self.setCentralWidget(self._page)
        self.panels = Panels(session, self._page)
        self.rail = Rail(all_panels(), self._page)
        self.guarantee = GuaranteeCard(session, self._page)
        self.jobs = JobBar(session.runner, self._page)
        self._assemble()
        self.found = FoundFiles(session, self.projects.choose_and_open, self)
        self.menus = WindowMenus(self)
        self._hint = DropHint(self)
        self._help: HelpDialog | None = None
        self._leaving = False
        self._framed = delayed(self, self._fit_with_frame, FRAMED_AFTER_MILLISECONDS)
        self._narrow = self._crowded = False
        self._focus = FocusKeeper(self, session.runner, self._focus_work)
        self._connect()
        self._restore()
        self.show_panel(next(iter(self.panels)))
        self._show_status()
        self._show_states()

    # ----- assembly

    def _assemble(self) -> None:
        self.setMinimumSize(*SMALLEST)
        self.setAcceptDrops(True)
        centre = row(self.rail, (self.panels.stack, 1), self.guarantee, spacing=0)
        self._page.setLayout(column((centre, 1), self.jobs, spacing=0))

    def _connect(self) -> None:
        session, runner = self.session, self.session.runner
        self.rail.chosen.connect(partial(self.show_panel, by_step=True))
        self.rail.collapsed.connect(self._remember_rail)
        self.guarantee.collapsed.connect(self._remember_card)
        self.panels.state_changed.connect(self._show_state)
        session.steps.changed.connect(self._show_states)
        runner.bug_occurred.connect(self.show_bug)
        runner.error_occurred.connect(self._show_error)
        session.message.connect(self._show_message)
        session.panel_requested.connect(self.show_panel)
        session.place_requested.connect(self._go_to)
        session.returned.connect(self._return_to)
        session.file_brought.connect(self._bring)
        self.unsaved.settled.connect(self._clear_offer)
        session.save_requested.connect(self.projects.save)
        session.table_requested.connect(self._show_first)
        session.reading_requested.connect(self._show_first)
        session.database_requested.connect(self.choose_database)
        session.project_requested.connect(self.projects.open)
        session.locate_requested.connect(self.projects.sources.locate)
        session.whole_requested.connect(self.projects.sources.read_whole)
        session.edition_requested.connect(NextEdition(session, self.projects.sources, self).choose)
        for signal in (
            session.document_changed,
            session.project_changed,
            session.history_changed,
            session.saved,
        ):
            signal.connect(self._show_status)

    def _restore(self) -> None:
        store = self.session.store
        self.resize(*USUAL)
        geometry = store.value(_GEOMETRY)
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if (room := _room_on_screen(self)) is not None:
            self.fit_into(room, UNKNOWN_FRAME)
        self.rail.set_compact(is_on(store, _RAIL))
        self.guarantee.set_compact(is_on(store, _CARD))
        themes().set_appearance(self.appearance)
        themes().still = self.still

    def fit_into(self, room: QRect, frame: QMargins) -> None:
        """Be no larger than a screen has room for, with the frame around the window."""
        if self.isMaximized() or self.isFullScreen():
            return
        inside = room.marginsRemoved(frame)
        self.setMinimumSize(QSize(*SMALLEST).boundedTo(inside.size()))
        self.resize(self.size().boundedTo(inside.size()))
        lowest = inside.bottomRight() - QPoint(self.width() - 1, self.height() - 1)
        at = self.geometry().topLeft()
        left = max(inside.left(), min(at.x(), lowest.x()))
        top = max(inside.top(), min(at.y(), lowest.y()))
        self.setGeometry(QRect(QPoint(left, top), self.size()))

    def _fit_with_frame(self) -> None:
        """Fit the screen anew, now that the desktop has drawn its frame around the window."""
        handle, room = self.windowHandle(), _room_on_screen(self)
        if handle is not None and room is not None:
            self.fit_into(room, handle.frameMargins())

    @property
    def appearance(self) -> Appearance:
        """What the person chose in the View menu."""
        stored = str(self.session.store.value(_APPEARANCE, Appearance.SYSTEM.value))
        return Appearance(stored) if stored in set(Appearance) else Appearance.SYSTEM

    @property
    def still(self) -> bool:
        """Whether the person wants nothing to move by itself."""
        return is_on(self.session.store, _STILL)

    # ----- what the menus do

    @property
    def current(self) -> Panel:
        """The panel in sight."""
        panel = self.panels.stack.currentWidget()
        assert isinstance(panel, Panel)
        return panel

    def show_panel(self, name: str, *, by_step: bool = False) -> None:
        """Bring a panel into sight."""
        if name not in self.panels:
            return
        panel = self.panels[name]
        left = self.focusWidget()
        had_focus = self.current.isAncestorOf(left)
        # Asked for by its keys while another step has the keyboard, which Enter would go back to.
        astray = not by_step and self.rail.isAncestorOf(left)
        if had_focus and panel is not self.current:
            left.clearFocus()  # what is half typed is given before it is out of sight
            left.setFocus()  # and the panel remembers where one was
        if self.session.panel == "policy" != name:
            self.session.steps.check_policy()  # whoever leaves the policy has finished it for now
        self.session.panel = name
        if panel is not self.current:
            announce(self, panel.kind.translated_title())
        self.panels.stack.setCurrentWidget(panel)
        self.rail.show_current(name)
        panel.activate()
        taken = [letter_of(menu.text()) for menu in self.menuBar().actions()]
        give_letters(panel, taken, wished=True)
        if had_focus or astray:
            self._focus_work()

    def _go_to(self, name: str, what: str, recipient: str) -> None:
        """Bring a panel into sight where it shows a column or attribute, and a recipient."""
        self.show_panel(name)
        self.current.go_to(what, recipient)

    def _return_to(self, name: str, what: str, recipient: str) -> None:
        """Turn to where an edit was made that was undone or done again."""
        self.show_panel(name)
        self.current.show_changed(what, recipient)

    def _focus_work(self) -> bool:
        """Let the keyboard act on the panel in sight: where it did last, or where it begins."""
        stops = reading_order(self.current)
        preferred = (self.current.focusWidget(), self.current.primary, *stops[:1])
        for begin in preferred:
            if begin in stops:
                begin.setFocus(Qt.FocusReason.OtherFocusReason)
                return True
        return False

    def main_button(self) -> QPushButton | None:
        """Return the primary button of the page in sight."""
        buttons = self.current.findChildren(QPushButton)
        primary = (each for each in buttons if each.property("look") == "primary")
        return next((each for each in primary if each.isVisible()), None)

    def go_on(self) -> None:
        """Press the primary button of the page in sight, where it can be pressed."""
        button = self.main_button()
        if button is not None:
            button.click()

    def choose_table(self) -> None:
        """Ask which table to open."""
        path = self.session.chooser.open_file(self.tr("Open table"), table_filters())
        if path is not None:
            self.session.table_requested.emit(path)

    def choose_database(
        self, place: Place | None = None, take: Callable[[Place], object] | None = None
    ) -> None:
        """Ask for a database or a folder, and open a table of it unless something else takes it."""
        dialog = DatabaseDialog(self.session.runner, self.session.chooser, place, self)
        dialog.found.connect(take or self.session.table_requested.emit)
        dialog.present()

    def open_sample(self) -> None:
        """Open the table that comes with Sfumato."""
        self.session.table_requested.emit(resource_path("samples", "clinic.csv"))

    def open_file(self, path: Path) -> None:
        """Open a project, apply rules, open a table, or ask what a file that turned up is for."""
        suffix = path.suffix.lower()
        if suffix == PROJECT_SUFFIX:
            self.projects.open(path)
        elif suffix == RULES_SUFFIX:
            self.rules.apply(path)
        else:
            self.found.open(path)

    def _clear_offer(self) -> None:
        """Take the offer of unsaved work away, wherever it still stands."""
        for name in self.panels.built:
            self.panels[name].messages.clear(UNSAVED_TOPIC)

    def _bring(self, name: str, path: Path) -> None:
        """Let a panel work on a file, in sight."""
        self.show_panel(name)
        self.panels[name].take_file(path)

    def set_appearance(self, appearance: Appearance) -> None:
        """Switch to the system's look or another, and remember it."""
        self.session.store.setValue(_APPEARANCE, appearance.value)
        themes().set_appearance(appearance)

    def keep_still(self, still: bool) -> None:
        """Let nothing move by itself, or let it again; and remember it."""
        self.session.store.setValue(_STILL, int(still))
        themes().still = still

    def show_help(self) -> None:
        """Open the help at the page of the panel in sight."""
        if self._help is None:
            self._help = HelpDialog(self)
        self._help.show_page(self.current.kind.name)
        self._help.show()
        self._help.raise_()

    def show_about(self) -> None:
        """Open the About box."""
        AboutDialog(self).present()

    def show_bug(self, report: BugReport) -> None:
        """Say that Sfumato failed, with details to copy."""
        BugDialog(report, self).present()

    def _remember_rail(self, folded: bool) -> None:
        if not self._narrow:
            self.session.store.setValue(_RAIL, int(folded))

    def _remember_card(self, folded: bool) -> None:
        if not self._crowded:
            self.session.store.setValue(_CARD, int(folded))

    def toggle_full_screen(self) -> None:
        """Use the whole screen, or go back to a window."""
        if self.isFullScreen():
            self.showNormal()
        else:
            self.showFullScreen()

    # ----- what the session says

    def _show_first(self, _path: Path) -> None:
        self.show_panel(next(iter(self.panels)))

    def _show_message(self, message: Message) -> None:
        self.current.messages.show_message(message)

    def _show_error(self, error: SfumatoError) -> None:
        self._show_message(Message.of_error(error))

    def _show_state(self, name: str) -> None:
        step = self.panels.step(name)
        self.rail.step(name).show_state(step.state, spoken(step.words))

    def _show_states(self) -> None:
        for name in self.panels:
            self._show_state(name)

    def _show_status(self) -> None:
        session = self.session
        path, title = session.project_path, session.document.title
        name = path.stem if path is not None else title or self.tr("Untitled")
        self.setWindowTitle(f"{name}[*] – Sfumato")
        self.setWindowModified(session.unsaved)
        self.rail.show_project(name, self._saved_words())
        self.menus.refresh()

    def _saved_words(self) -> str:
        session = self.session
        if session.project is None:
            return self.tr("Not in a project yet") if session.unsaved else ""
        if session.project.read_only:
            return self.tr("Open read-only")
        return self.tr("Saving…") if session.unsaved else self.tr("Saved")

    # ----- Qt's events

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Say what letting go would do."""
        path = dropped_file(event.mimeData())
        if path is None:
            return
        texts = {
            PROJECT_SUFFIX: self.tr("Let go to open the project {name}"),
            RULES_SUFFIX: self.tr("Let go to apply the rules {name}"),
        }
        usual = self.tr("Let go to open the table {name}")
        if not self.found.is_plain(path):
            usual = self.tr("Let go to choose what to do with {name}")
        text = texts.get(path.suffix.lower(), usual)
        self._hint.show_text(text.format(name=path.name))
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Take the hint away."""
        super().dragLeaveEvent(event)
        self._hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped."""
        self._hint.hide()
        path = dropped_file(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            self.open_file(path)

    def changeEvent(self, event: QEvent) -> None:
        """Save at once when the window loses the focus: the person may be off to a copy of it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            session = getattr(self, "session", None)
            if session is not None and session.project is not None and session.unsaved:
                session.save()
            elif session is not None:
                self.unsaved.keep()

    def showEvent(self, event: QShowEvent) -> None:
        """Begin with the work: the space bar opens a table."""
        super().showEvent(event)
        if not event.spontaneous():
            self._framed.start()
        if self.focusWidget() is None:
            self._focus_work()

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Go by Tab as the window is read, not as its parts were made."""
        present = self.focusWidget()
        stop = next_stop(self._page, present, forward=forward) or heir(present)
        if stop is None:  # what had the focus is gone, with the page that it was on
            return self._focus_work() or super().focusNextPrevChild(forward)
        reasons = Qt.FocusReason
        reason = reasons.TabFocusReason if forward else reasons.BacktabFocusReason
        if present is None or (present.isEnabled() and present.isVisible()):
            go_to(stop, reason)
        else:  # Qt moves the focus of what goes, and nobody asked to be led away
            stop.setFocus(reason)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the button that has the focus on Enter, as on the space bar."""
        if not press_by_enter(self.focusWidget(), event):
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fold the rail, then the guarantee, while the window is too narrow for the work."""
        super().resizeEvent(event)
        crowded = self.width() < scaled(CROWDED)
        if crowded != self._crowded:
            self._crowded = crowded
            self.guarantee.set_compact(crowded or is_on(self.session.store, _CARD))
        narrow = self.width() < scaled(ROOMY)
        if narrow != self._narrow:
            self._narrow = narrow
            self.rail.set_compact(narrow or is_on(self.session.store, _RAIL))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Leave once nothing can be lost."""
        if not self._leaving:
            self.projects.leave(self._leave)
        if not self._leaving:
            event.ignore()
            return
        self.session.store.setValue(_GEOMETRY, self.saveGeometry())
        self.session.close()
        self.unsaved.close()
        event.accept()

    def take_place_of(self, before: MainWindow) -> None:
        """Be shown where another window with the same session was, which goes."""
        self.restoreGeometry(before.saveGeometry())
        self.show_panel(before.current.name)
        self.unsaved.take_over(before.unsaved)
        self.show()
        before.hide()
        before.deleteLater()

    def _leave(self) -> None:
        self._leaving = True
        if self.isVisible():
            self.close()


def _room_on_screen(window: QMainWindow) -> QRect | None:
    """Return what the desktop leaves free of a window's screen; None where there is no screen."""
    if QGuiApplication.platformName() in NO_SCREEN:
        return None
    return window.screen().availableGeometry()


def _tr(text: str) -> str:
    return QCoreApplication.translate("MainWindow", text)


class WindowMenus(Menus):
    """File, Edit, View and Help, by the platform's conventions.

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
        self.add(menu, "open-database", _tr("Open from a &database…"), window.choose_database)
        self.add(menu, "open-sample", _tr("Open the sa&mple"), window.open_sample, None, "sample")
        menu.addSeparator()
        words, ask = _tr("&Open project…"), projects.choose_and_open
        self.add(menu, "open-project", words, ask, Keys.Open, "open")
        self.recent = menu.addMenu(_tr("Open &recent"))
        menu.aboutToShow.connect(self.fill_recent)
        menu.addSeparator()
        self.add(menu, "save", _tr("&Save"), projects.save, Keys.Save, "save")
        self.add(menu, "save-as", _tr("Save &as…"), projects.save_as, "Ctrl+Shift+S")
        sheet = partial(ask_for_sheet, window.session, window)
        self.add(menu, "recovery-sheet", _tr("Recovery s&heet…"), sheet, None, "key")
        menu.addSeparator()
        self.add(menu, "find-file", _tr("&Verify or trace a file…"), window.found.choose)
        menu.addSeparator()
        self.add(menu, "save-rules", _tr("Save r&ules…"), rules.choose_and_save)
        self.add(menu, "apply-rules", _tr("A&pply rules…"), rules.choose_and_apply)
        menu.addSeparator()
        role = QAction.MenuRole.QuitRole
        self.add(menu, "quit", _tr("&Quit"), window.close, Keys.Quit, role=role)

    def _fill_edit(self) -> None:
        session = self._main.session
        menu = self.menu(_tr("&Edit"))
        menu.setToolTipsVisible(True)
        self.add(menu, "undo", _tr("&Undo"), session.undo, Keys.Undo, "undo")
        redo = self.add(menu, "redo", _tr("&Redo"), session.redo, Keys.Redo, "redo")
        # Both are usual, whatever the desktop's own is.
        keys = [*redo.shortcuts(), QKeySequence("Ctrl+Y"), QKeySequence("Ctrl+Shift+Z")]
        redo.setShortcuts(list(dict.fromkeys(keys)))
        menu.addSeparator()
        self.add(menu, "copy", _tr("&Copy"), copy_from_focus, Keys.Copy, "copy")
        menu.addSeparator()
        go_on = self.add(menu, "go-on", _tr("&Main button of the page"), self._main.go_on)
        go_on.setShortcuts([QKeySequence("Ctrl+Return"), QKeySequence("Ctrl+Enter")])
        menu.aboutToShow.connect(partial(self._name_next, menu))
        menu.aboutToHide.connect(lambda: go_on.setEnabled(True))  # a page may allow it meanwhile

    def _name_next(self, menu: QMenu) -> None:
        """Call the action by which the work goes on what the button is called."""
        action, button = self.actions["go-on"], self._main.main_button()
        words = "" if button is None else button.text().replace("&", "").strip("… ")
        action.setText(words.replace("&", "&&") or _tr("&Main button of the page"))
        action.setEnabled(button is not None and button.isEnabled())
        give_letters_to_menu(menu)

    def _fill_view(self) -> None:
        window = self._main
        menu = self.menu(_tr("&View"))
        for number, panel in enumerate(all_panels(), start=1):
            title, show = panel.translated_title(), partial(window.show_panel, panel.name)
            self.add(menu, f"panel-{panel.name}", title, show, f"Ctrl+{number}", panel.icon)
        menu.addSeparator()
        self.add_appearance(menu, window.appearance, window.set_appearance)
        still = self.add(menu, "still", _tr("&Reduce motion"), lambda: None)
        still.setCheckable(True)
        still.setChecked(window.still)
        still.toggled.connect(window.keep_still)
        self._add_text_sizes(menu)
        self._add_memory(menu)
        self._add_languages(menu)
        words, run = _tr("Fold the &steps"), window.rail.fold
        self.add(menu, "fold-rail", words, run, "Ctrl+Shift+L", "panel-left")
        words, run = _tr("Fold the &guarantee"), window.guarantee.fold
        self.add(menu, "fold-guarantee", words, run, "Ctrl+Shift+G", "panel-right")
        words, run = _tr("&Full screen"), window.toggle_full_screen
        self.add(menu, "full-screen", words, run, Keys.FullScreen)

    def _add_text_sizes(self, menu: QMenu) -> None:
        """Add the choice of how large text is."""
        percent = _tr("{percent} %")
        marked = ("&90", "1&00", "&115", "1&25", "1&50")  # a digit of its own for each
        offered = zip(TextScale.OFFERED, marked, strict=True)
        names = {str(one): percent.format(percent=text) for one, text in offered}
        now = str(TextScale(self._main.session.store).percent)
        self.add_choice(menu.addMenu(_tr("Te&xt size")), "text", names, now, self._size)

    def _size(self, percent: str) -> None:
        TextScale(self._main.session.store).choose(int(percent))
        self._tell_to_restart()

    def _add_memory(self, menu: QMenu) -> None:
        """Add the choice of how much memory a table may take before it is read in parts."""
        limit = MemoryLimit(self._main.session.store)
        half = _tr("Half of this machine's: {amount} GB").format(amount=round(limit.usual / 1e9))
        names = {str(MemoryLimit.USUAL): half}
        amount = _tr("{amount} GB")
        names |= {str(one): amount.format(amount=one // 1000) for one in MemoryLimit.OFFERED}
        inside = menu.addMenu(_tr("Memory for ta&bles"))
        self.add_choice(inside, "memory", names, str(limit.megabytes), self._limit)

    def _limit(self, megabytes: str) -> None:
        self._main.session.limit_memory(int(megabytes))
        words = _tr(
            "This holds for tables that are opened from now on. Longer ones are read in parts."
        )
        self._main.session.message.emit(Message(MessageKind.INFO, words, topic="memory"))

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
        if self._main.session.runner.jobs:
            words = _tr("The language changes once the running work has ended.")
            self._main.session.message.emit(Message(MessageKind.INFO, words, topic="language"))
        self._main.language_chosen.emit()

    def _tell_to_restart(self) -> None:
        words = _tr("Restart Sfumato to apply the change.")
        self._main.session.message.emit(Message(MessageKind.INFO, words, topic="restart"))

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
        titles = {panel.name: panel.translated_title() for panel in all_panels()}
        for key, words, text, panel in (
            ("undo", _tr("&Undo"), session.undo_text, session.undo_panel),
            ("redo", _tr("&Redo"), session.redo_text, session.redo_panel),
        ):
            action, named = self.actions[key], (text or "").replace("&", "&&")
            action.setText(f"{words}: {named}" if text else words)
            told = f"{words}: {text}" if text else words
            where = f" ({titles[panel]})" if text and panel in titles else ""
            action.setToolTip(told.replace("&", "", 1) + where)
            action.setEnabled(text is not None)
        copying = session.project is not None
        self.actions["save-as"].setText(_tr("Save a c&opy…") if copying else _tr("Save &as…"))
        self.actions["apply-rules"].setEnabled(session.at_hand is not None)
        self.actions["save-rules"].setEnabled(bool(session.document.columns))
