"""A plot as a part of the page: same ground, same font, values under the pointer."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QPoint,
    QPointF,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QToolTip, QWidget

from app.plots.export import exported
from app.plots.figure import DOTS_PER_INCH, HoverRegion, PlotFigure
from app.plots.fonts import register_fonts
from app.plots.style import PlotStyle
from app.ui.choosers import FileChooser, PlatformChooser
from app.ui.messages import Message
from app.ui.theme import themes
from app.ui.widgets.icons import themed_icon
from resources import resource_path

Build = Callable[[PlotStyle], PlotFigure]
"""Makes the figure in a style: a plot's ``build_…`` with its data bound."""

REDRAW_MILLISECONDS: Final = 40
BREATH_SECONDS: Final = 0.012
"""Between the drawing of two plots the window answers whatever else has come up."""
CORNER: Final = 36


class PlotView(QWidget):
    """Shows one plot, drawn anew whenever size, theme or data change.

    The plot can be saved as PNG, SVG or CSV and copied, from its menu. Arrow keys step through
    its values.

    Parameters
    ----------
    chooser
        Asks where to save; the platform's dialogs when absent.
    parent
        The owner.
    """

    failed = Signal(object)
    """A `Message`: the plot could not be saved."""

    _next_turn: ClassVar[float] = 0.0

    def __init__(self, chooser: FileChooser | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chooser: FileChooser = chooser if chooser is not None else PlatformChooser()
        register_fonts(resource_path("fonts"))
        self._build: Build | None = None
        self._stale = False
        self._figure: PlotFigure | None = None
        self._drawn: PlotFigure | None = None
        self._image: QImage | None = None
        self._region: HoverRegion | None = None
        self._preferred_height = 0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(280)
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.timeout.connect(self._draw_in_turn)
        # Each plot takes a turn of its own, however many change at once and how often.
        self._catch_up = QTimer(self)
        self._catch_up.setSingleShot(True)
        self._catch_up.timeout.connect(self._rebuild_in_turn)
        self._more = QToolButton(self)
        self._more.setIcon(themed_icon("more"))
        self._more.setToolTip(self.tr("Save or copy this plot"))
        self._more.setAccessibleName(self.tr("Save or copy this plot"))
        self._more.clicked.connect(self._open_menu)
        self._more.hide()
        themes().changed.connect(self._refresh)

    # ----- what is shown

    def show_plot(self, build: Build) -> None:
        """Show the figure that `build` makes, now and after every change of theme.

        A plot that is out of sight is built when it comes into sight: drawing takes a while, and
        the window has to go on answering.
        """
        self._build = build
        self._refresh()

    def clear(self) -> None:
        """Show nothing."""
        self._build = self._figure = self._drawn = self._image = self._region = None
        self._stale = False
        self._more.hide()
        self.setAccessibleName("")
        self.update()

    @property
    def figure(self) -> PlotFigure | None:
        """The figure to be seen, as it is now."""
        if self._stale:
            self._rebuild()
        if self._drawn is not self._figure:
            self._render()
        return self._figure

    @property
    def settled(self) -> bool:
        """Whether it is drawn as it is now."""
        return not (self._stale or self._catch_up.isActive() or self._redraw.isActive())

    def draw_now(self) -> None:
        """Draw at once what is in sight, at the present size: for a picture of the window."""
        if self._in_sight() and not self.settled:
            if self._stale:
                self._rebuild()
            self._render()

    def _refresh(self) -> None:
        self._stale = True
        if self._in_sight():
            self._catch_up.start(0)

    def _in_sight(self) -> bool:
        """Whether a part of it can be seen: a plot further down a page can wait."""
        return self.isVisible() and not self.visibleRegion().isEmpty()

    def _rebuild_in_turn(self) -> None:
        if self._has_turn(self._catch_up):
            self._rebuild()
            if self._figure is not None:
                self._redraw.start(0)  # once the layout has given it its height
            self._end_turn()

    def _draw_in_turn(self) -> None:
        if self._has_turn(self._redraw):
            self._render()
            self._end_turn()

    def _has_turn(self, timer: QTimer) -> bool:  # otherwise it asks again after a breath
        wait = PlotView._next_turn - time.monotonic()
        if wait > 0.0:
            timer.start(math.ceil(1000 * wait))
        return wait <= 0.0

    def _end_turn(self) -> None:
        PlotView._next_turn = time.monotonic() + BREATH_SECONDS

    def _rebuild(self) -> None:
        self._stale = False
        self._catch_up.stop()
        if self._build is None:
            return
        figure = self._build(_style())
        figure.corner = CORNER
        self._figure, self._region = figure, None
        FigureCanvasAgg(figure)
        self.setAccessibleName(figure.headline)
        self.setAccessibleDescription(figure.subtitle)
        self._preferred_height = round(figure.preferred_height)
        self.setMinimumHeight(round(0.85 * self._preferred_height))
        self.setMaximumHeight(round(1.25 * self._preferred_height))
        self.updateGeometry()
        self._more.show()

    def sizeHint(self) -> QSize:
        """Return the size at which nothing is cramped."""
        return QSize(640, self._preferred_height or 320)

    # ----- drawing

    def _render(self) -> None:
        """Draw the figure into an image of the widget's size, at the screen's resolution."""
        self._redraw.stop()
        figure = self._figure
        if figure is None or self.width() < 40 or self.height() < 40:
            return
        ratio = self.devicePixelRatioF()
        canvas = figure.canvas
        if not isinstance(canvas, FigureCanvasAgg):
            canvas = FigureCanvasAgg(figure)
        figure.set_dpi(DOTS_PER_INCH * ratio)
        figure.set_size_inches(self.width() / DOTS_PER_INCH, self.height() / DOTS_PER_INCH)
        canvas.draw()  # type: ignore[no-untyped-call]
        pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
        height, width = pixels.shape[:2]
        image = QImage(pixels, width, height, QImage.Format.Format_RGBA8888).copy()
        image.setDevicePixelRatio(ratio)
        self._image, self._drawn = image, figure
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Show the drawn image, the value under the pointer and the focus ring."""
        del event
        if self._stale and self._build is not None:
            self._catch_up.start(0)  # it has just come into sight
        if self._image is None or self._figure is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.drawImage(QPointF(0, 0), self._image)
        style = themes().current.style
        if self._region is not None:
            ink = QColor(style.text)
            ink.setAlphaF(0.07)
            painter.fillRect(self._area_of(self._region), ink)
        if self.hasFocus():
            painter.setPen(QPen(QColor(style.accent), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)

    def _area_of(self, region: HoverRegion) -> QRectF:
        ratio = self._image.devicePixelRatio() if self._image is not None else 1.0
        left, bottom, right, top = (edge / ratio for edge in region.box())
        drawn = self._image.height() / ratio if self._image is not None else self.height()
        return QRectF(QPointF(left, drawn - top), QPointF(right, drawn - bottom))

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed while nobody saw the plot."""
        super().showEvent(event)
        if self._stale:
            self._image = None  # what it showed before is not true any more
            if self._in_sight():
                self._catch_up.start(0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Draw again once the size has settled."""
        super().resizeEvent(event)
        self._more.move(self.width() - self._more.sizeHint().width(), 0)
        fresh = self._drawn is not self._figure
        self._redraw.start(0 if fresh else REDRAW_MILLISECONDS)

    def changeEvent(self, event: QEvent) -> None:
        """Draw again on a screen of another resolution."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._redraw.start(REDRAW_MILLISECONDS)

    # ----- values

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell the value under the pointer."""
        region = self._region_at(event.position())
        if region is not self._region:
            self._point_out(region, event.globalPosition().toPoint())

    def leaveEvent(self, event: QEvent) -> None:
        """Take the value back."""
        super().leaveEvent(event)
        self._point_out(None, QPoint())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step through the values by arrow keys."""
        steps = {
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_Left: -1,
        }
        step = steps.get(Qt.Key(event.key()))
        if step is None or self._figure is None or not self._figure.hover:
            super().keyPressEvent(event)
            return
        regions = self._figure.hover
        start = regions.index(self._region) if self._region in regions else -1 if step > 0 else 0
        region = regions[(start + step) % len(regions)]
        place = self.mapToGlobal(self._area_of(region).center().toPoint())
        self._point_out(region, place)

    def text_at(self, position: QPointF) -> str:
        """Return what is said at a point of the widget."""
        region = self._region_at(position)
        return region.text if region is not None else ""

    def _region_at(self, position: QPointF) -> HoverRegion | None:
        if self._figure is None or self._image is None:
            return None
        ratio = self._image.devicePixelRatio()
        return self._figure.region_at(
            position.x() * ratio, self._image.height() - position.y() * ratio
        )

    def _point_out(self, region: HoverRegion | None, place: QPoint) -> None:
        self._region = region
        self.update()
        if region is None:
            QToolTip.hideText()
        else:
            QToolTip.showText(place + QPoint(0, 8), region.text, self)

    # ----- saving

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to save and copy."""
        if self._figure is not None:
            self.menu().popup(event.globalPos())

    def menu(self) -> QMenu:
        """Return the plot's menu."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(themed_icon("copy"), self.tr("Copy picture"), self.copy_picture)
        menu.addAction(themed_icon("table"), self.tr("Copy values"), self.copy_values)
        menu.addSeparator()
        menu.addAction(
            themed_icon("image"), self.tr("Save as PNG…"), lambda: self._ask("png", "PNG (*.png)")
        )
        menu.addAction(
            themed_icon("image"), self.tr("Save as SVG…"), lambda: self._ask("svg", "SVG (*.svg)")
        )
        menu.addAction(
            themed_icon("export"),
            self.tr("Save values as CSV…"),
            lambda: self._ask("csv", "CSV (*.csv)"),
        )
        return menu

    def copy_picture(self) -> None:
        """Put the plot on the clipboard as a picture."""
        if self.figure is not None and self._image is not None:
            QGuiApplication.clipboard().setImage(self._image)

    def copy_values(self) -> None:
        """Put the plot's values on the clipboard, separated by tabs."""
        if self.figure is not None:
            QGuiApplication.clipboard().setText(self.figure.data.to_csv(index=False, sep="\t"))

    def save_as(self, path: Path) -> None:
        """Write the plot as PNG, SVG or CSV, as the file's ending says.

        Raises
        ------
        OSError
            If the file can't be written; nothing is left behind then.
        """
        if self._build is None or self.figure is None:
            return
        content = self._exported(path.suffix.lower().lstrip("."))
        unfinished = path.with_name(f".{path.name}.part")
        try:
            unfinished.write_bytes(content)
            os.replace(unfinished, path)  # noqa: PTH105 - the atomic one
        finally:
            unfinished.unlink(missing_ok=True)

    def _exported(self, kind: str) -> bytes:
        if self._build is None or self._figure is None:
            return b""
        if kind == "csv":
            return self._figure.to_csv().encode()
        size = max(self.width(), 480), max(self.height(), self._preferred_height)
        return exported(self._build(_style()), kind, size)

    def _ask(self, kind: str, pattern: str) -> None:
        """Ask where to save, and save there."""
        proposal = Path.home() / f"{self.tr('plot')}.{kind}"
        path = self._chooser.save_file(self.tr("Save the plot"), pattern, proposal)
        if path is None:
            return
        try:
            self.save_as(path if path.suffix else path.with_suffix(f".{kind}"))
        except OSError as error:
            self.failed.emit(Message.of_error(error))

    def _open_menu(self) -> None:
        self.menu().popup(self._more.mapToGlobal(QPoint(0, self._more.height())))


def _style() -> PlotStyle:
    """Return the theme's style, with its words in the person's language."""
    return replace(themes().current.style, translate=partial(QCoreApplication.translate, "Plots"))
