"""Hands that do anything a person could do in the window, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDropEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QHeaderView,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)
from shiboken6 import isValid

from sfumato.ui.dialogs.base import NewPassphraseDialog
from sfumato.ui.panels.policy.generalized.lattice_view import LatticeView
from sfumato.ui.panels.policy.ladder_view import LadderView
from sfumato.ui.panels.releases.panel import ReleasesPanel
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.widgets.plot_view import PlotView
from tests.ui.fixtures import Answers

HANDLED = (
    QAbstractButton,
    QLineEdit,
    QComboBox,
    QAbstractSpinBox,
    QAbstractItemView,
    QHeaderView,
    QAbstractSlider,
    QTabBar,
    QPlainTextEdit,
    QTextEdit,
    PlotView,
    LadderView,
    LatticeView,
)
PICTURES = (PlotView, LadderView, LatticeView)
"""Widgets that draw what can be pointed at themselves."""

TEXTS = (
    *("0.5", "0", "-3", "1e9", "0,25", "7", "age", "Ünal ß", "=1+1", "a; b", "flu", ""),
    "x" * 40,
    "four random words",
)
KEYS = (
    *(Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Space, Qt.Key.Key_Return),
    *(Qt.Key.Key_Escape, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right),
    *(Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Delete),
    *(Qt.Key.Key_F1, Qt.Key.Key_F2, Qt.Key.Key_F11, Qt.Key.Key_Menu),
)
LETTERS = "1234567cvxazstnolg"
"""Pressed with Ctrl; closing the window is left out."""
SIZES = ((1100, 720), (1366, 768), (1100, 900), (1920, 1080), (1240, 740), (2560, 1400))
LEFT_OUT = ("quit", "language")
LOG = "walk.log"
PASSPHRASE = "four random words"


class Gone(Exception):
    """The widget that was drawn went away with its page before it was reached."""


def called(widget: QWidget) -> str:
    """Return what a person would call a widget."""
    text = getattr(widget, "text", None)
    words = (text() if callable(text) else "") or widget.accessibleName() or widget.objectName()
    return f"{type(widget).__name__} {str(words)[:40]!r}"


class Hands:
    """Draws one deed after another and does it.

    Parameters
    ----------
    window
        Where.
    answers
        What is answered where a file is asked for.
    folder
        Has tables to open; projects and releases go there.
    seed
        Which deeds.
    """

    def __init__(self, window: MainWindow, answers: Answers, folder: Path, seed: str) -> None:
        self.window, self._answers, self._folder = window, answers, folder
        self._draw = random.Random(seed)
        self.log: list[str] = []
        self._file = (folder / LOG).open("w", encoding="utf-8", buffering=1)
        self._deeds: dict[Callable[[], None], int] = {
            self._click: 42,
            self._type: 11,
            self._press_key: 10,
            self._press_shortcut: 4,
            self._trigger: 6,
            self._drag: 6,
            self._turn_wheel: 3,
            self._right_click: 3,
            self._switch_panel: 7,
            self._resize: 2,
            self._open_table: 2,
            self._drop: 1,
            self._switch_look: 2,
            self._stop_a_job: 1,
            self._plan_work: 2,
        }
        self._plan: list[Callable[[], object]] = []
        self._acting = False
        # A button's menu waits for its answer inside the click.
        self._rescue = QTimer()
        self._rescue.timeout.connect(self._answer_menu)
        self._rescue.start(20)

    def act(self) -> None:
        """Do something."""
        self._choose_answers()
        self._acting = True
        if self._plan:
            step = self._plan.pop(0)
            self._note(f"as planned: {step.__name__.strip('_')}")
            step()
        else:
            deeds, weights = zip(*self._deeds.items(), strict=True)
            [deed] = self._draw.choices(deeds, weights)
            try:
                deed()
            except Gone:
                self._note("nothing: what was to be touched has gone")
        self._acting = False

    def _answer_menu(self) -> None:
        menu = QApplication.activePopupWidget()
        if self._acting and isinstance(menu, QMenu):
            self._choose_in(menu)

    def _note(self, what: str) -> None:
        """Note what is about to be done, in the file too: it may end in a crash."""
        self.log.append(what)
        self._file.write(f"{len(self.log) - 1} {what}\n")

    def tell(self, found: Iterable[str]) -> None:
        """Note in the file what came of it."""
        self._file.writelines(f"{told}\n" for told in found)

    # ----- plans: what chance alone seldom comes to

    def _plan_work(self) -> None:
        """Begin to work as a person does: a table with rules, perhaps a project and releases."""
        self._plan = [self._escape, self._escape, self._open_sample, self._load, self._decide]
        if self._draw.random() < 0.6:
            self._plan += [self._save_as, self._submit, self._release]
        self._note(f"plan {len(self._plan)} steps")

    def _escape(self) -> None:
        QTest.keyClick(self._in_front(), Qt.Key.Key_Escape)

    def _open_sample(self) -> None:
        self.window.open_file(self._folder / "tables" / "clinic.csv")

    def _load(self) -> None:
        self.window.panels["data"].load_button.click()

    def _decide(self) -> None:
        if self.window.session.table is not None:
            self.window.rules.apply(self._folder / "tables" / "clinic.toml")

    def _save_as(self) -> None:
        if self.window.session.project is None and QApplication.activeModalWidget() is None:
            self._answers.saved = self._folder / f"work {self._draw.randrange(100)}"
            self.window.projects.save()

    def _submit(self) -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, NewPassphraseDialog):
            dialog.first.setText(PASSPHRASE)
            dialog.second.setText(PASSPHRASE)
            dialog.submit.click()

    def _release(self) -> None:
        if QApplication.activeModalWidget() is None:
            self.window.show_panel("releases")
            panel = self.window.panels["releases"]
            assert isinstance(panel, ReleasesPanel)
            panel.form.folder.setText(str(self._folder / "out"))
            if panel.primary is not None:
                panel.primary.click()

    # ----- where

    def close(self) -> None:
        """End the log."""
        self._rescue.stop()
        self._file.close()

    def _choose_answers(self) -> None:
        """Decide which file would be chosen if one is asked for."""
        tables = sorted(self._folder.glob("tables/*"))
        projects = sorted(self._folder.glob("*.sfumato"))
        number = self._draw.randrange(4)
        self._answers.file = self._draw.choice([*tables, *projects, None, self._folder / "gone"])
        self._answers.saved = self._draw.choice(
            [self._folder / f"work {number}", self._folder / f"picture {number}.png", None]
        )
        self._answers.chosen_folder = self._draw.choice([self._folder / "out", None])

    def _in_front(self) -> QWidget:
        """Return the window that takes the input now."""
        front = QApplication.activePopupWidget() or QApplication.activeModalWidget()
        if front is not None:
            return front
        others = [
            each
            for each in QApplication.topLevelWidgets()
            if isinstance(each, QDialog) and each.isVisible()
        ]
        return self._draw.choice([self.window, self.window, *others])

    def _drawn(self, kinds: tuple[type[QWidget], ...] = HANDLED) -> QWidget | None:
        """Return some widget that is in sight and takes input."""
        front = self._in_front()
        within = (
            self.window.current if front is self.window and self._draw.random() < 0.8 else front
        )
        found = [
            each
            for each in within.findChildren(QWidget)
            if isinstance(each, kinds)
            and each.isVisible()
            and each.isEnabled()
            and each.window() is front.window()
            and not each.visibleRegion().isEmpty()
        ]
        return self._draw.choice(found) if found else None

    def _spot(self, widget: QWidget) -> QPoint:
        """Return a place of a widget that is in sight; a button is hit in its middle."""
        if not isValid(widget):
            raise Gone
        area = widget.visibleRegion().boundingRect()
        if isinstance(widget, QAbstractButton | QLineEdit | QComboBox):
            return area.center()
        return QPoint(
            self._draw.randint(area.left(), area.right()),
            self._draw.randint(area.top(), area.bottom()),
        )

    # ----- what

    def _click(self) -> None:
        menu = QApplication.activePopupWidget()
        if isinstance(menu, QMenu):
            self._choose_in(menu)
            return
        widget = self._drawn()
        if widget is None:
            self._note("Escape, for nothing can be clicked")
            self._escape()
            return
        spot, double = self._spot(widget), self._draw.random() < 0.08
        target, place = _under(widget, spot)
        times = "twice " if double else ""
        self._note(f"click {times}{called(widget)} at {spot.x()}, {spot.y()}")
        click = QTest.mouseDClick if double else QTest.mouseClick
        click(target, Qt.MouseButton.LeftButton, pos=place)

    def _choose_in(self, menu: QMenu) -> None:
        left_out = self.window.menus.actions["quit"]
        found = [
            each
            for each in menu.actions()
            if each.isEnabled() and each is not left_out and not each.isSeparator()
        ]
        found = [each for each in found if each.menu() is None]
        if not found or self._draw.random() < 0.2:
            self._note("close the menu")
            menu.close()
            return
        action = self._draw.choice(found)
        self._note(f"choose {action.text()!r} in a menu")
        QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())

    def _type(self) -> None:
        widget = self._drawn((QLineEdit, QAbstractSpinBox, QPlainTextEdit))
        if widget is None:
            return self._click()
        secret = isinstance(widget, QLineEdit) and widget.echoMode() == QLineEdit.EchoMode.Password
        text = PASSPHRASE if secret else self._draw.choice(TEXTS)
        self._note(f"type {text[:20]!r} into {called(widget)}")
        widget.setFocus()
        QTest.keyClick(widget, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClick(widget, Qt.Key.Key_Delete)
        QTest.keyClicks(widget, text)
        if self._draw.random() < 0.5:
            QTest.keyClick(widget, Qt.Key.Key_Return)
        return None

    def _press_key(self) -> None:
        target = QApplication.focusWidget() or self._in_front()
        key = self._draw.choice(KEYS)
        self._note(f"press {key.name} on {called(target)}")
        QTest.keyClick(target, key)

    def _press_shortcut(self) -> None:
        target = QApplication.focusWidget() or self._in_front()
        letter = self._draw.choice(LETTERS)
        modifiers = Qt.KeyboardModifier.ControlModifier
        if self._draw.random() < 0.3:
            modifiers |= Qt.KeyboardModifier.ShiftModifier
        self._note(f"press {letter} with {modifiers}")
        QTest.keyClick(target, letter, modifiers)

    def _trigger(self) -> None:
        if QApplication.activeModalWidget() is not None:
            return self._click()
        found = sorted(
            name
            for name, action in self.window.menus.actions.items()
            if action.isEnabled() and not name.startswith(LEFT_OUT)
        )
        name = self._draw.choice(found)
        self._note(f"trigger {name}")
        self.window.menus.actions[name].trigger()
        return None

    def _drag(self) -> None:
        widget = self._drawn(PICTURES) or self._drawn()
        if widget is None:
            return self._click()
        here, there = self._spot(widget), self._spot(widget)
        button = Qt.MouseButton.LeftButton
        self._note(f"drag {called(widget)} from {here.toTuple()} to {there.toTuple()}")
        QTest.mousePress(widget, button, pos=here)
        for part in (0.3, 0.7, 1.0):
            if isValid(widget):
                QTest.mouseMove(widget, here + (there - here) * part)
        if isValid(widget):
            QTest.mouseRelease(widget, button, pos=there)
        return None

    def _turn_wheel(self) -> None:
        widget = self._drawn()
        if widget is None:
            return self._click()
        spot, up = QPointF(self._spot(widget)), self._draw.choice((-240, 240))
        self._note(f"turn the wheel over {called(widget)}")
        event = QWheelEvent(
            spot,
            QPointF(widget.mapToGlobal(spot.toPoint())),
            QPoint(),
            QPoint(0, up),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(widget, event)
        return None

    def _right_click(self) -> None:
        widget = self._drawn()
        if widget is None:
            return self._click()
        spot = self._spot(widget)
        self._note(f"click right on {called(widget)}")
        QTest.mouseClick(widget, Qt.MouseButton.RightButton, pos=spot)
        return None

    def _switch_panel(self) -> None:
        if QApplication.activeModalWidget() is not None:
            return self._click()
        name = self._draw.choice(list(self.window.panels))
        self._note(f"go to {name}")
        QTest.mouseClick(self.window.rail.step(name), Qt.MouseButton.LeftButton)
        return None

    def _switch_look(self) -> None:
        name = self._draw.choice(("appearance-dark", "appearance-light"))
        self._note(f"trigger {name}")
        self.window.menus.actions[name].trigger()

    def _resize(self) -> None:
        width, height = self._draw.choice(SIZES)
        self._note(f"resize to {width} × {height}")
        self.window.resize(width, height)

    def _table(self) -> Path:
        return self._draw.choice(sorted(self._folder.glob("tables/*")))

    def _open_table(self) -> None:
        if QApplication.activeModalWidget() is not None:
            return self._click()
        table = self._table()
        self._note(f"open {table.name}")
        self.window.open_file(table)
        return None

    def _drop(self) -> None:
        table = self._table()
        self._note(f"drop {table.name}")
        mime = QMimeData()
        mime.setUrls([QUrl.fromLocalFile(str(table))])
        event = QDropEvent(
            QPointF(400, 300),
            Qt.DropAction.CopyAction,
            mime,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(self.window, event)

    def _stop_a_job(self) -> None:
        entries = self.window.jobs.entries
        if not entries:
            return self._click()
        entry = self._draw.choice(entries)
        self._note(f"stop {entry.job.title}")
        QTest.mouseClick(entry.cancel, Qt.MouseButton.LeftButton)
        return None


def _under(widget: QWidget, spot: QPoint) -> tuple[QWidget, QPoint]:
    """Return what the pointer would hit there: a child, such as a table's viewport."""
    child = widget.childAt(spot)
    return (widget, spot) if child is None else (child, child.mapFrom(widget, spot))
