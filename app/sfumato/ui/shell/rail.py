"""The rail on the left: the project's name and the steps of the work, each with its state."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QFrame, QToolButton, QWidget

from sfumato.ui.look.theme import Space, TextSize, current_theme, font, scaled
from sfumato.ui.panels.base import PanelKind, PanelState
from sfumato.ui.widgets.icons import IconLabel, draw_icon
from sfumato.ui.widgets.layout import ElidedLabel, column, fill, row, say, show_tool
from sfumato.ui.widgets.painted import PaintedText, draw_text, painter_on

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
        self._state = PanelState.EMPTY
        self._reason = ""
        self._hovered = False
        self.compact = False
        self.setText(title)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFixedHeight(scaled(self.HEIGHT))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._describe()

    @property
    def state(self) -> PanelState:
        """The step's state."""
        return self._state

    def show_state(self, state: PanelState, reason: str = "") -> None:
        """Show another state, with the reason for it as a tip."""
        if (state, reason) != (self._state, self._reason):
            self._state, self._reason = state, reason
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

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show that the step can be clicked."""
        super().enterEvent(event)
        self._hovered = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Show the step at rest."""
        super().leaveEvent(event)
        self._hovered = False
        self.update()

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
            if self._state not in (PanelState.EMPTY, PanelState.NONE):
                state_icon, token = _STATE_ICONS[self._state]
                below = QRectF(left + 0.15 * side, middle + 0.4 * side, 0.7 * side, 0.7 * side)
                draw_icon(painter, state_icon, token, below)
            return
        draw_icon(painter, self._icon_name, icon_token, QRectF(12, middle - side / 2, side, side))
        self._paint_texts(painter)

    def _paint_back(self, painter: QPainter) -> None:
        theme = current_theme()
        area = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setPen(Qt.PenStyle.NoPen)
        if self.isChecked() or self._hovered or self.isDown():
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
        if self._state is not PanelState.NONE:
            state_icon, token = _STATE_ICONS[self._state]
            draw_icon(painter, state_icon, token, QRectF(left, scaled(28), sign, sign))
        strong = self._state is PanelState.ATTENTION
        colours = (style.text, style.caution if strong else theme.quiet)
        for line, colour in zip(self.painted_texts(), colours, strict=False):
            draw_text(painter, line.area, line.text, line.face, colour)

    def painted_texts(self) -> list[PaintedText]:
        """Return the name and the state as they are written."""
        if self.compact:
            return []
        left, sign = 24 + scaled(20), scaled(14) + Space.TIGHT
        width = self.width() - left - Space.INSIDE
        name, state = self.text(), state_word(self._state)
        face = font(TextSize.BODY, strong=self.isChecked())
        if self._state is PanelState.NONE:
            return [PaintedText(name, face, QRectF(left, 0, width, self.height()), self.toolTip())]
        above = QRectF(left, scaled(7), width, scaled(20))
        below = QRectF(left + sign, scaled(26), width - sign, scaled(18))
        return [
            PaintedText(name, face, above, self.toolTip()),
            PaintedText(state, font(TextSize.SMALL), below, self.toolTip()),
        ]

    def _describe(self) -> None:
        word = state_word(self._state)
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
        self._compact = False
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

    @property
    def compact(self) -> bool:
        """Whether the icons stand alone."""
        return self._compact

    def fold(self) -> None:
        """Turn to icons alone, or back to names and states with them."""
        self.set_compact(not self._compact)

    def set_compact(self, compact: bool) -> None:
        """Show icons alone, or names and states with them."""
        changed = compact != self._compact
        self._compact = compact
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
