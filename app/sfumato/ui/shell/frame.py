"""What stands around the panels: menus, the rail with the steps of the work, and the job bar.

What an action of a menu does is given by whoever owns it. The rail on the left shows the project's
name and the state of each step; the bar at the bottom what is running and how far it is, else
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from PySide6.QtCore import QCoreApplication, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFrame,
    QMenu,
    QMenuBar,
    QProgressBar,
    QToolButton,
    QWidget,
)

from sfumato.formats.language import localized
from sfumato.jobs import TOLD_AFTER_SECONDS, Ending, Job, JobRunner
from sfumato.ui.look.theme import Appearance, Space, TextSize, current_theme, font, scaled
from sfumato.ui.look.wording import spoken, time_left, time_run
from sfumato.ui.panels.base import PanelKind, PanelState
from sfumato.ui.widgets.keyboard import give_letters_to_menu
from sfumato.ui.widgets.layout import ElidedLabel, column, fill, label, row, say, show_tool
from sfumato.ui.widgets.messages import announce
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.painted import (
    IconLabel,
    PaintedText,
    draw_icon,
    draw_text,
    painter_on,
    themed_icon,
)

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


WIDE = 208
NARROW = 60

_STATE_ICONS = {
    PanelState.EMPTY: ("step-empty", "muted"),
    PanelState.IN_PROGRESS: ("step-progress", "accent"),
    PanelState.DONE: ("step-done", "good"),
    PanelState.ATTENTION: ("step-attention", "caution"),
}


def state_word(state: PanelState) -> str:
    """Return a state's name in the person's language."""
    tr = QCoreApplication.translate
    return {
        PanelState.NONE: "",
        PanelState.EMPTY: tr("Rail", "Not started"),
        PanelState.IN_PROGRESS: tr("Rail", "In progress"),
        PanelState.DONE: tr("Rail", "Done"),
        PanelState.ATTENTION: tr("Rail", "Needs attention"),
    }[state]


class StepButton(QAbstractButton):
    """One step: its icon, its name, and its state as an icon and a word."""

    HEIGHT = 52

    def __init__(self, name: str, title: str, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self._icon_name = icon
        self.state = PanelState.EMPTY
        """The step's state."""
        self._reason = ""
        self.compact = False
        self.setText(title)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFixedHeight(scaled(self.HEIGHT))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)  # drawn anew under the pointer
        self._describe()

    def show_state(self, state: PanelState, reason: str = "") -> None:
        """Show another state, with the reason for it as a tip."""
        if (state, reason) != (self.state, self._reason):
            self.state, self._reason = state, reason
            self._describe()
            self.update()

    def set_compact(self, compact: bool) -> None:
        """Show the icon alone, or the name and the state with it."""
        self.compact = compact
        self._describe()
        self.update()

    def sizeHint(self) -> QSize:
        """Return the room the step needs."""
        width = scaled(NARROW if self.compact else WIDE) - 2 * Space.INSIDE
        return QSize(width, scaled(self.HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the step."""
        del event
        painter = painter_on(self)
        self._paint_back(painter)
        icon_token = "accent" if self.isChecked() else "muted"
        middle, side = self.height() / 2, scaled(20)
        if self.compact:
            left = (self.width() - side) / 2
            above = QRectF(left, middle - 0.7 * side, side, side)
            draw_icon(painter, self._icon_name, icon_token, above)
            if self.state not in (PanelState.EMPTY, PanelState.NONE):
                state_icon, token = _STATE_ICONS[self.state]
                below = QRectF(left + 0.15 * side, middle + 0.4 * side, 0.7 * side, 0.7 * side)
                draw_icon(painter, state_icon, token, below)
            return
        draw_icon(painter, self._icon_name, icon_token, QRectF(12, middle - side / 2, side, side))
        self._paint_texts(painter)

    def _paint_back(self, painter: QPainter) -> None:
        theme = current_theme()
        area = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setPen(Qt.PenStyle.NoPen)
        if self.isChecked() or self.underMouse() or self.isDown():
            painter.setBrush(QColor(theme.selected if self.isChecked() else theme.hover))
            if theme.style.strong and self.isChecked():
                painter.setPen(QPen(QColor(theme.style.text), 1))
            painter.drawRoundedRect(area, Space.RADIUS, Space.RADIUS)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.style.accent), 2))
            painter.drawRoundedRect(area, Space.RADIUS, Space.RADIUS)

    def _paint_texts(self, painter: QPainter) -> None:
        theme = current_theme()
        style = theme.style
        left, sign = 24 + scaled(20), scaled(14)
        if self.state is not PanelState.NONE:
            state_icon, token = _STATE_ICONS[self.state]
            draw_icon(painter, state_icon, token, QRectF(left, scaled(28), sign, sign))
        strong = self.state is PanelState.ATTENTION
        colours = (style.text, style.caution if strong else theme.quiet)
        for line, colour in zip(self.painted_texts(), colours, strict=False):
            draw_text(painter, line.area, line.text, line.face, colour)

    def painted_texts(self) -> list[PaintedText]:
        """Return the name and the state as they are written."""
        if self.compact:
            return []
        left, sign = 24 + scaled(20), scaled(14) + Space.TIGHT
        width = self.width() - left - Space.INSIDE
        name, state = self.text(), state_word(self.state)
        face = font(TextSize.BODY, strong=self.isChecked())
        if self.state is PanelState.NONE:
            return [PaintedText(name, face, QRectF(left, 0, width, self.height()), self.toolTip())]
        above = QRectF(left, scaled(7), width, scaled(20))
        below = QRectF(left + sign, scaled(26), width - sign, scaled(18))
        return [
            PaintedText(name, face, above, self.toolTip()),
            PaintedText(state, font(TextSize.SMALL), below, self.toolTip()),
        ]

    def _describe(self) -> None:
        word = state_word(self.state)
        words = f"{self.text()}: {word}" if word else self.text()
        self.setAccessibleName(words)
        self.setAccessibleDescription(self._reason)
        self.setToolTip("\n".join(filter(None, (words, self._reason))))


class Rail(QFrame):
    """The steps in the order of the work, free to be visited in any order.

    Parameters
    ----------
    panels
        What is known of the panels, in order.
    """

    chosen = Signal(str)
    """The person chose a step, by its panel's name."""
    collapsed = Signal(bool)

    def __init__(self, panels: Sequence[PanelKind], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "rail")
        self.setAccessibleName(self.tr("Steps of the work"))
        self.compact = False
        """Whether the icons stand alone."""
        self.project = ElidedLabel("", "strong")
        self.saved = ElidedLabel("", "small")
        self._head = QWidget(self)
        self._head.setLayout(column(None, self.project, self.saved, None, spacing=2))
        self._head.setFixedHeight(scaled(38))  # the saved line comes and goes; the steps stay
        self._mark = IconLabel("ladder", "accent", 24)
        self._toggle = QToolButton(self)
        self._toggle.clicked.connect(self.fold)
        self._steps = {
            panel.name: StepButton(panel.name, panel.translated_title(), panel.icon, self)
            for panel in panels
        }
        layout = column(
            spacing=2, margins=(Space.INSIDE, Space.BETWEEN, Space.INSIDE, Space.INSIDE)
        )
        self.setLayout(layout)
        head = row(self._mark, self._head, spacing=12, margins=(10, 0, 4, Space.BETWEEN))
        head.setStretch(1, 1)
        layout.addLayout(head)
        for step in self._steps.values():
            step.clicked.connect(lambda _checked=False, name=step.name: self.chosen.emit(name))
            layout.addWidget(step)
        fill(layout, None, self._toggle)
        self.set_compact(False)

    def fold(self) -> None:
        """Turn to icons alone, or back to names and states with them."""
        self.set_compact(not self.compact)

    def set_compact(self, compact: bool) -> None:
        """Show icons alone, or names and states with them."""
        changed = compact != self.compact
        self.compact = compact
        self.setFixedWidth(scaled(NARROW if compact else WIDE))
        self._head.setVisible(not compact)
        for step in self._steps.values():
            step.set_compact(compact)
        words = self.tr("Show the names") if compact else self.tr("Show icons only")
        show_tool(self._toggle, "chevron-right" if compact else "chevron-left", words)
        if changed:
            self.collapsed.emit(compact)

    def step(self, name: str) -> StepButton:
        """Return the step of a panel."""
        return self._steps[name]

    def show_current(self, name: str) -> None:
        """Mark a panel's step as the one in sight."""
        self._steps[name].setChecked(True)

    def show_project(self, name: str, saved: str) -> None:
        """Show the project's name, and where its contents are safe."""
        self.project.setText(name)
        say(self.saved, saved)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move between the steps with the arrow keys."""
        steps = list(self._steps.values())
        focused = next((i for i, step in enumerate(steps) if step.hasFocus()), None)
        move = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if focused is None or move is None:
            super().keyPressEvent(event)
            return
        steps[max(0, min(len(steps) - 1, focused + move))].setFocus(Qt.FocusReason.TabFocusReason)


PATIENCE_MILLISECONDS: Final = 350
"""A job that ends sooner is never shown: nobody could read it."""

SHOWN: Final = 2
ENTRY_ROOM: Final = 370
"""What a job needs at least, its name told by more than a few letters."""
HEIGHT: Final = 40
LEFT: Final = 116
"""Room for how long a job will still take."""


class JobEntry(QWidget):
    """One running job with its progress and a way to stop it."""

    def __init__(self, job: Job, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.job = job
        self.title = ElidedLabel(job.title)
        self.title.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.bar = QProgressBar(self)
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setMinimumWidth(scaled(36))  # the name needs the room more
        self.bar.setMaximumWidth(scaled(140))
        self.bar.setAccessibleName(job.title)
        self.percent = label("", "small")
        self.percent.setFont(font(TextSize.SMALL, tabular=True))
        self.percent.setFixedWidth(scaled(38))
        self.left = label("", "small")
        self.left.setFont(font(TextSize.SMALL, tabular=True))
        self.left.setFixedWidth(scaled(LEFT))
        self.cancel = QToolButton(self)
        self.cancel.setIcon(themed_icon("close"))
        self.cancel.setToolTip(self.tr("Stop this"))
        self.cancel.setAccessibleName(self.tr("Stop: {job}").format(job=job.title))
        self.cancel.clicked.connect(self._stop)
        self.setLayout(row((self.title, 1), self.bar, self.percent, self.left, self.cancel))
        job.progressed.connect(self._show)
        self._clock = QTimer(self)  # work that stands reports nothing, and time goes by
        self._clock.timeout.connect(self._tell_time)
        self._clock.start(1_000)
        self._show()

    def _tell_time(self) -> None:
        """Tell how long the job will take, or where nobody knows, how long it took so far."""
        left, run = self.job.seconds_left, self.job.seconds_run
        known = left is not None or run < TOLD_AFTER_SECONDS
        self.left.setText(time_left(left) if known else time_run(run))

    def _show(self) -> None:
        if self.job.stop_requested():
            return
        self.bar.setValue(round(1000 * self.job.fraction))
        self.percent.setText(f"{localized(f'{100 * self.job.fraction:.0f}')} %")
        self._tell_time()
        step = spoken(self.job.text)
        self.title.setText(f"{self.job.title} · {step}" if step else self.job.title)

    def _stop(self) -> None:
        self.job.cancel()
        self.cancel.setEnabled(False)
        self.title.setText(self.tr("Stopping: {job}").format(job=self.job.title))


class JobBar(QFrame):
    """Shows the running jobs; its room is always there, so that nothing jumps.

    Parameters
    ----------
    runner
        Whose jobs are shown.
    """

    def __init__(self, runner: JobRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "bar")
        self.setFixedHeight(scaled(HEIGHT))
        self.setAccessibleName(self.tr("Running work"))
        self._entries: dict[QObject, JobEntry] = {}
        self._waiting: dict[QObject, QTimer] = {}
        self._layout = row(spacing=Space.AROUND, margins=(Space.BETWEEN, 0, Space.INSIDE, 0))
        self.setLayout(self._layout)
        self.more = label("", "small")
        self.quiet = label("", "small")
        fill(self._layout, self.quiet, None, self.more)
        runner.job_started.connect(self._wait)
        runner.job_finished.connect(self._remove)

    @property
    def entries(self) -> tuple[JobEntry, ...]:
        """What is shown now, oldest first."""
        return tuple(self._entries.values())

    def say(self, text: str) -> None:
        """Leave a quiet remark for when nothing runs."""
        self.quiet.setText(text)

    def _wait(self, job: Job) -> None:
        timer = delayed(self, lambda: self._add(job))
        timer.start(PATIENCE_MILLISECONDS)
        self._waiting[job] = timer

    def _add(self, job: Job) -> None:
        timer = self._waiting.pop(job, None)
        if timer is not None:
            timer.deleteLater()
        if job.running:
            entry = JobEntry(job, self)
            self._entries[job] = entry
            self._layout.insertWidget(self._layout.count() - 1, entry, 3)
        self._arrange()

    def _remove(self, job: Job) -> None:
        timer = self._waiting.pop(job, None)
        if timer is not None:
            timer.stop()
            timer.deleteLater()
        entry = self._entries.pop(job, None)
        if entry is not None:
            self._layout.removeWidget(entry)
            entry.hide()
            entry.deleteLater()
            announce(self, self._ending(job))
        self._arrange()

    def _ending(self, job: Job) -> str:
        """Return how a job ended that was in sight, for who can't see that it went."""
        words = {
            Ending.DONE: self.tr("Finished: {job}"),
            Ending.CANCELLED: self.tr("Stopped: {job}"),
        }.get(job.ending or Ending.ERROR, self.tr("Failed: {job}"))
        return words.format(job=job.title)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as many jobs as there is room for; the bar's own size never depends on them."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        shown = max(1, min(SHOWN, self.width() // scaled(ENTRY_ROOM)))
        for place, entry in enumerate(self._entries.values()):
            entry.setVisible(place < shown)
        hidden = max(0, len(self._entries) - shown)
        self.more.setText(self.tr("and {count} more").format(count=hidden) if hidden else "")
        self.quiet.setVisible(not self._entries)
