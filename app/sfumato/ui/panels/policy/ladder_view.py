"""The trust ladder as a control: recipients are rungs that can be dragged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from sfumato.engine.core.frozen import dataclass
from sfumato.formats.language import localized
from sfumato.plots.ladders import LOWEST, LadderRung, height_of, spread
from sfumato.ui.look.theme import TextSize, font, scaled, themes
from sfumato.ui.widgets.messages import announce
from sfumato.ui.widgets.painted import (
    PaintedText,
    PartText,
    draw_focus,
    draw_text,
    painter_on,
    show_parts,
)

EDGE: Final = 20.0
"""Above the topmost rung and below the foot; at scale 1, as what follows."""
LABEL_HEIGHT: Final = 38.0
REACH: Final = 8.0
"""How close to a rung the pointer takes hold of it."""
THICK: Final = 6.0
"""How thick a rung is drawn; rungs that are closer lie on each other."""


MOVES: Final = {
    Qt.Key.Key_Plus: -2.0,
    Qt.Key.Key_Minus: 2.0,
    Qt.Key.Key_PageUp: -20.0,
    Qt.Key.Key_PageDown: 20.0,
}
"""How far each key moves the chosen rung down, in pixels."""


@dataclass(frozen=True)
class _RungPlace:
    """Where a rung is drawn: its own height and its label's, in pixels from the top.

    It is the person's own, somebody else's that is fixed, or the original.
    """

    rung: LadderRung
    y: float
    label_y: float
    own: bool
    fixed: bool


class LadderView(QWidget):
    """The original on top, nothing at the foot, and a rung for each recipient.

    Rungs are dragged with the pointer, or moved with the plus and minus keys, farther with Page Up
    and Page Down; the arrow keys, Home and End choose one, and Enter asks to type its level.

    Parameters
    ----------
    parent
        The owner.
    """

    accessible_role = QAccessible.Role.List

    chosen = Signal(str)
    """A recipient was chosen, by name."""
    dragged = Signal(str, float)
    """A recipient's rung is being moved to this trust."""
    drag_finished = Signal()
    """The rung was let go."""
    asked = Signal()
    """The person wants to type the chosen rung's level."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rungs: tuple[LadderRung, ...] = ()
        self._fixed: tuple[LadderRung, ...] = ()
        self._selected = ""
        self._logarithmic = False
        self._held = ""
        self._held_at = 0.0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(scaled(240), scaled(200))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Trust ladder"))
        themes().changed.connect(self.update)

    @property
    def _rails(self) -> tuple[float, float]:
        """Where the rails stand: to the left of them are the numbers of the scale."""
        return scaled(38), scaled(78)

    @property
    def _labels(self) -> float:
        """Where the labels begin."""
        return scaled(102)

    def sizeHint(self) -> QSize:
        """Return a height at which the labels do not touch."""
        rungs = len(self._rungs) + len(self._fixed) + 1
        needed = 2 * scaled(EDGE) + scaled(LABEL_HEIGHT) * rungs
        return QSize(scaled(300), max(scaled(220), round(needed)))

    def show_rungs(
        self, rungs: Sequence[LadderRung], selected: str, fixed: Sequence[LadderRung] = ()
    ) -> None:
        """Show recipients and which of them is chosen.

        Rungs that are fixed belong to others: they can't be chosen or moved.
        """
        self._rungs = tuple(sorted(rungs, key=lambda rung: -rung.trust))
        self._fixed = tuple(fixed)
        self._selected = selected
        self.setMinimumHeight(self.sizeHint().height())
        described = (f"{rung.name}: {rung.level}" for rung in (*self._rungs, *self._fixed))
        self.setAccessibleDescription("; ".join(described))
        self._tell_parts()
        self.update()

    def _tell_parts(self) -> None:
        """Tell each rung, from the top, and what is known of it."""
        parts = []
        for place in self._places():
            rung = place.rung
            here = rung.name == self._selected and place.own
            known = (self.tr("chosen") if here else "", rung.detail)
            area = QRect(0, round(place.label_y - 18), self.width(), 36)
            parts.append(
                PartText(f"{rung.name}: {rung.level}", area, "; ".join(filter(None, known)))
            )
        show_parts(self, parts)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell where the rungs are now."""
        super().resizeEvent(event)
        self._tell_parts()

    def set_logarithmic(self, logarithmic: bool) -> None:
        """Change the scale."""
        self._logarithmic = logarithmic
        self.update()

    # ----- where things are

    def y_of(self, trust: float) -> float:
        """Return how far below the widget's top a trust stands, in pixels."""
        span = self.height() - 2 * scaled(EDGE)
        return scaled(EDGE) + span * (1.0 - height_of(trust, self._logarithmic))

    def trust_at(self, y: float) -> float:
        """Return the trust at a distance from the widget's top."""
        share = 1.0 - (y - scaled(EDGE)) / max(self.height() - 2 * scaled(EDGE), 1.0)
        share = min(max(share, 0.0), 1.0)
        return float(LOWEST ** (1.0 - share)) if self._logarithmic else share

    def _places(self) -> list[_RungPlace]:
        """Return everything on the ladder, the original first."""
        everyone = [
            (LadderRung(self.tr("Original"), 1.0, self.tr("not released")), False, False),
            *((rung, True, False) for rung in self._rungs),
            *((rung, False, True) for rung in self._fixed),
        ]
        everyone[1:] = sorted(everyone[1:], key=lambda each: -each[0].trust)
        span = self.height() - 2 * scaled(EDGE)
        heights = [height_of(rung.trust, self._logarithmic) for rung, _, _ in everyone]
        gap = min(scaled(LABEL_HEIGHT) / span, 1.0 / max(len(everyone) - 1, 1))
        above = scaled(EDGE)
        return [
            _RungPlace(rung, above + span * (1.0 - height), above + span * (1.0 - label), *whose)
            for (rung, *whose), height, label in zip(
                everyone, heights, spread(heights, gap), strict=True
            )
        ]

    def _rung_at(self, position: QPointF) -> str:
        """Return the recipient at a point: the rung itself first, then its label."""
        near = self._near(position, [p for p in self._places() if p.own])
        return near.name if near is not None else ""

    def _near(self, position: QPointF, places: Sequence[_RungPlace]) -> LadderRung | None:
        """Return the rung at a point, by itself or by its label; of several the chosen one."""
        if position.x() < self._labels - 8:
            near = min(places, key=lambda p: abs(p.y - position.y()), default=None)
            if near is None or abs(near.y - position.y()) > REACH:
                return None
            there = [place.rung for place in places if abs(place.y - near.y) < THICK]
            chosen = (rung for rung in there if rung.name == self._selected)
            return next(chosen, near.rung)
        near = min(places, key=lambda p: abs(p.label_y - position.y()), default=None)
        return near.rung if near and abs(near.label_y - position.y()) <= scaled(18) else None

    # ----- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw what is in sight of the ladder."""
        seen, painter = event.rect(), painter_on(self)
        half = scaled(LABEL_HEIGHT) + REACH
        self._paint_scale(painter)
        for place in self._places():
            top, foot = sorted((place.y, place.label_y))
            if top - half <= seen.bottom() and foot + half >= seen.top():
                self._paint_rung(painter, place)
        if self.hasFocus():
            draw_focus(painter, self)

    def _paint_scale(self, painter: QPainter) -> None:
        style = themes().current.style
        painter.setFont(font(TextSize.SMALL, tabular=True))
        marks = (1.0, 0.1, 0.01, 0.001) if self._logarithmic else (1.0, 0.75, 0.5, 0.25, 0.0)
        for mark in marks:
            y = self.y_of(mark)
            painter.setPen(QPen(QColor(style.line), 1))
            painter.drawLine(QPointF(self._rails[0] - 6, y), QPointF(self._rails[0], y))
            painter.setPen(QColor(style.muted))
            painter.drawText(
                QRectF(0, y - scaled(9), self._rails[0] - 10, scaled(18)),
                Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
                localized(f"{mark:g}"),
            )
        painter.setPen(QPen(QColor(style.line), 3, c=Qt.PenCapStyle.RoundCap))
        for x in self._rails:
            painter.drawLine(QPointF(x, self.y_of(1.0)), QPointF(x, self.height() - scaled(EDGE)))

    def _paint_rung(self, painter: QPainter, place: _RungPlace) -> None:
        style = themes().current.style
        rung = place.rung
        fixed, first = place.fixed, not place.own and not place.fixed
        selected = place.own and rung.name == self._selected
        colour = QColor(style.original if first else style.trust_colour(rung.trust))
        if selected:
            halo = QColor(style.accent)
            halo.setAlphaF(0.28)
            painter.setPen(QPen(halo, 14, c=Qt.PenCapStyle.RoundCap))
            painter.drawLine(QPointF(self._rails[0], place.y), QPointF(self._rails[1], place.y))
        pen = QPen(colour, THICK, c=Qt.PenCapStyle.RoundCap)
        if fixed:
            # Somebody else's rung: in pieces, so that colour alone does not tell.
            pen = QPen(colour, 5, c=Qt.PenCapStyle.FlatCap)
            pen.setDashPattern([1.6, 0.9])
        painter.setPen(pen)
        painter.drawLine(QPointF(self._rails[0], place.y), QPointF(self._rails[1], place.y))
        painter.setPen(QPen(QColor(style.line), 1))
        painter.drawPolyline(
            QPolygonF(
                [
                    QPointF(self._rails[1] + 8, place.y),
                    QPointF(self._rails[1] + 20, place.label_y),
                    QPointF(self._labels - 4, place.label_y),
                ]
            )
        )
        self._paint_label(painter, place, selected)

    def _label_area(self, place: _RungPlace) -> QRectF:
        half = scaled(18)
        width = self.width() - self._labels - 4
        return QRectF(self._labels, place.label_y - half, width, 2 * half)

    def _lines(self, place: _RungPlace) -> tuple[PaintedText, PaintedText]:
        """Return a rung's name and level as they are written; the pointer tells them whole."""
        inside = self._label_area(place).adjusted(8, 1, -8, -1)
        name = font(TextSize.BODY, strong=True, tabular=True)
        below = inside.adjusted(0, inside.height() / 2 + 1, 0, 0)
        above = inside.adjusted(0, 0, 0, -inside.height() / 2 + 1)
        tip = f"{place.rung.name}\n{place.rung.level}"
        return (
            PaintedText(place.rung.name, name, above, tip),
            PaintedText(place.rung.level, font(TextSize.SMALL, tabular=True), below, tip),
        )

    def painted_texts(self) -> list[PaintedText]:
        """Return the labels of the rungs."""
        return [line for place in self._places() for line in self._lines(place)]

    def _paint_label(self, painter: QPainter, place: _RungPlace, selected: bool) -> None:
        theme = themes().current
        if selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.selected))
            painter.drawRoundedRect(self._label_area(place), 6, 6)
            painter.setBrush(Qt.BrushStyle.NoBrush)
        colours = (theme.style.text, theme.style.muted)
        for line, colour in zip(self._lines(place), colours, strict=True):
            draw_text(painter, line.area, line.text, line.face, colour)

    # ----- hands

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose a rung, and take hold of it."""
        name = self._rung_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or not name:
            super().mousePressEvent(event)
            return
        if name != self._selected:
            self.chosen.emit(name)
        if event.position().x() < self._labels - 8:
            self._held = name
            rung = next(rung for rung in self._rungs if rung.name == name)
            self._held_at = event.position().y() - self.y_of(rung.trust)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the rung that is held; show which ones can be."""
        if self._held:
            self.dragged.emit(self._held, self.trust_at(event.position().y() - self._held_at))
            return
        name = self._rung_at(event.position())
        on_rung = bool(name) and event.position().x() < self._labels - 8
        shapes = Qt.CursorShape
        self.setCursor(
            shapes.SizeVerCursor
            if on_rung
            else shapes.PointingHandCursor
            if name
            else shapes.ArrowCursor
        )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let the rung go."""
        super().mouseReleaseEvent(event)
        if self._held:
            self._held = ""
            self.drag_finished.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose by arrow keys, move by plus and minus or by pages, ask to type by Enter."""
        names = [rung.name for rung in self._rungs]
        key = event.key()
        if not names or self._selected not in names:
            super().keyPressEvent(event)
            return
        place = names.index(self._selected)
        chosen = {
            Qt.Key.Key_Up: place - 1,
            Qt.Key.Key_Down: place + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(names) - 1,
        }
        if key in chosen:
            place = chosen[Qt.Key(key)]
            if 0 <= place < len(names):
                self.chosen.emit(names[place])
                announce(self, f"{names[place]}: {self._rungs[place].level}")
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.asked.emit()
        elif key in MOVES:
            y = self.y_of(self._rungs[place].trust) + MOVES[Qt.Key(key)]
            self.dragged.emit(self._selected, self.trust_at(y))
            self.drag_finished.emit()
            moved = next((rung for rung in self._rungs if rung.name == self._selected), None)
            if moved is not None:
                announce(self, f"{moved.name}: {moved.level}")
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Tell what a rung means, under the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            rung = self._near(QPointF(event.pos()), self._places())
            if rung is not None and not self._held:
                text = "\n".join(part for part in (rung.name, rung.level, rung.detail) if part)
                QToolTip.showText(event.globalPos(), text, self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)
