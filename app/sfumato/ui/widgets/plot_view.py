"""A plot as a part of the page: same ground, same font, values under the pointer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.files import write_whole
from sfumato.formats.language import value_name
from sfumato.plots.figure import HoverRegion, PlotFigure, exported, register_fonts
from sfumato.plots.style import PlotStyle
from sfumato.resources import resource_path
from sfumato.ui.look.theme import Space, scaled, themes
from sfumato.ui.look.wording import marked, spoken
from sfumato.ui.widgets.files import FileChooser, PlatformChooser
from sfumato.ui.widgets.layout import column, label, say, tool
from sfumato.ui.widgets.messages import Message, announce
from sfumato.ui.widgets.paint_queue import Steps, delayed, turns
from sfumato.ui.widgets.painted import draw_focus, painter_on, themed_icon
from sfumato.ui.widgets.tables import TableView

Build = Callable[[PlotStyle], PlotFigure]
"""Makes the figure in a style: a plot's ``build_…`` with its data bound."""

PAUSE_MILLISECONDS: Final = 40
"""A window that is being resized is drawn once it has kept its size for so long."""
SMALLEST: Final = 40
"""Pixels; there is no plot in less."""
CORNER: Final = 36


DIGITS: Final = 5
"""A figure is read as well as it can be drawn; the file of values has all digits."""

HEADINGS: Final = marked(
    "Plots",
    "about|after|at|attacker|average level|before|change|classes after|classes before|"
    "copies|correlated|error|estimate|estimated|expected|figure|from|groups|height|high|"
    "in coalition|independent|independent up to|joined|ladder|ladder up to|least|level|"
    "linearly dependent|low|lower quartile|mean|median|most|noise|one row|pooled|realized|"
    "recipient|reconstructed|record share|records|records after|records before|released|"
    "restored|retention|share|spread|standard error|table share|to|true|trust|trust from|"
    "trust to|truth|upper quartile|value|violates|violating groups|who|within",
)
"""How plots call their columns; what else heads one is a name of the table or of a recipient."""


def heading(column: str) -> str:
    """Return the heading of a plot's column, in the person's language."""
    words = str(column).replace("_", " ")
    if words not in HEADINGS:
        return str(column)
    said = QCoreApplication.translate("Plots", words)
    return said[:1].upper() + said[1:]


def readable(values: pd.DataFrame) -> pd.DataFrame:
    """Return a plot's values as they are read: with headings, and no more digits than count."""
    shown = values.copy()
    for name in shown.columns[[kind.kind == "f" for kind in shown.dtypes]]:
        shown[name] = [float(f"{value:.{DIGITS}g}") for value in shown[name]]
    for name in shown.columns[[kind.kind == "O" for kind in shown.dtypes]]:
        shown[name] = [value_name(v) if isinstance(v, str) else v for v in shown[name]]
    return shown.set_axis([heading(name) for name in shown.columns], axis=1)


class PlotTable(QWidget):
    """A plot's sentence, and below it the values that it shows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._headline = label("", "strong", wrap=True)
        self._subtitle = label("", "small", wrap=True)
        self.table = TableView(self, row_numbers=False)
        # The corner with the plot's menu stays free.
        texts = (self._headline, self._subtitle)
        head = column(*texts, spacing=Space.TIGHT, margins=(0, 0, 40, 0))
        self.setLayout(column(head, (self.table, 1), margins=(2, 2, 2, 2)))
        self.setFocusProxy(self.table)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_figure(self, figure: PlotFigure) -> None:
        """Show what a figure shows."""
        self._headline.setText(figure.headline)
        say(self._subtitle, figure.subtitle)
        self.table.setAccessibleName(figure.headline)
        self.table.setAccessibleDescription(figure.subtitle)
        self.table.show_frame(readable(figure.data))


class PlotView(QWidget):
    """Shows one plot, drawn anew whenever size, theme or data change.

    The plot can be saved as PNG, SVG or CSV, copied, and turned into a table, from its menu. Arrow
    keys step through its values, which are announced.

    Parameters
    ----------
    chooser
        Asks where to save; the platform's dialogs when absent.
    parent
        The owner.
    tell
        Called with a `Message` where the plot could not be saved, as `failed` is emitted.
    """

    accessible_role = QAccessible.Role.Chart

    failed = Signal(object)
    """A `Message`: the plot could not be saved."""

    def __init__(
        self,
        chooser: FileChooser | None = None,
        parent: QWidget | None = None,
        tell: Callable[[Message], object] | None = None,
    ) -> None:
        super().__init__(parent)
        if tell is not None:
            self.failed.connect(tell)
        self._chooser: FileChooser = chooser if chooser is not None else PlatformChooser()
        register_fonts(resource_path("fonts"))
        self._build: Build | None = None
        self._stale = False
        self._figure: PlotFigure | None = None
        self._drawn: PlotFigure | None = None
        self._drawn_for: tuple[int, int, float] | None = None
        self._image: QImage | None = None
        self._region: HoverRegion | None = None
        self._preferred_height = 0
        self.table: PlotTable | None = None
        """Its values instead of its picture, where the person wants them."""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(scaled(280))
        self._pause = delayed(self, self._ask_for_turns, PAUSE_MILLISECONDS)
        self._more = tool("more", self.tr("Save or copy this plot"), self._open_menu)
        self._more.setParent(self)
        self._more.hide()
        self.setAccessibleName(self.tr("plot"))
        themes().changed.connect(self._refresh)

    # ----- what is shown

    def show_plot(self, build: Build) -> None:
        """Show the figure that `build` makes, now and after every change of theme.

        A plot that is out of sight is built when it comes into sight: drawing takes a while, and
        the window has to go on answering.
        """
        self._build = build
        if self._figure is None:
            self.setAccessibleName(self.tr("Plot, drawn when it comes into sight"))
        self._refresh()

    def clear(self) -> None:
        """Show nothing."""
        self._build = self._figure = self._drawn = self._image = self._region = None
        self._stale = False
        turns().leave(self)
        self._more.hide()
        self.show_table(False)
        self.setAccessibleName(self.tr("plot"))
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
        return self._is_fresh() and not self._pause.isActive()

    def draw_now(self) -> None:
        """Draw at once what is in sight, at the present size: for a picture of the window."""
        for _ in self._drawing():
            pass

    def _refresh(self) -> None:
        self._stale = True
        self._ask_for_turns()

    def _ask_for_turns(self) -> None:
        """Ask for turns to draw in, where there is something to draw and somebody to see it."""
        if self._in_sight() and not self._is_fresh():
            turns().ask(self, self._drawing())

    def _drawing(self) -> Steps:
        """Build, lay out and draw: steps of about the same length."""
        if self._stale and self._in_sight():
            self._rebuild()
            yield  # now the page's layout gives it its height
        if not self._is_fresh() and self._in_sight():
            self._lay_out()
            yield
        if not self._is_fresh() and self._in_sight():
            self._render()

    def _in_sight(self) -> bool:
        """Whether a part of it can be seen: a plot further down a page can wait."""
        return self.isVisible() and not self.visibleRegion().isEmpty()

    def _is_fresh(self) -> bool:
        """Whether it is drawn from what it shows now, for the place it has now."""
        if self._stale or self._figure is None or min(self.width(), self.height()) < SMALLEST:
            return not self._stale
        return self._drawn is self._figure and self._drawn_for == self._room()

    def _room(self) -> tuple[int, int, float]:
        return self.width(), self.height(), self.devicePixelRatioF()

    def _rebuild(self) -> None:
        self._stale = False
        if self._build is None:
            return
        figure = self._build(_style())
        figure.corner = CORNER / Space.scale
        self._figure = figure
        self.setAccessibleName(figure.headline)
        self.setAccessibleDescription(figure.subtitle)
        if self.table is not None:
            self.table.show_figure(figure)
        self._take_height()
        self._more.show()

    def _take_height(self) -> None:
        """Ask for the height that the figure takes in this width."""
        if self._figure is None:
            return
        height = scaled(self._figure.height_for(self.width() / Space.scale))
        if height != self._preferred_height:
            self._preferred_height = height
            self.setMinimumHeight(round(0.85 * height))
            self.setMaximumHeight(round(1.25 * height))
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Return the size at which nothing is cramped."""
        return QSize(scaled(640), self._preferred_height or scaled(320))

    # ----- drawing

    def _lay_out(self) -> None:
        width, height, ratio = self._room()
        if self._figure is not None and min(width, height) >= SMALLEST:
            # Laid out as at scale 1, and drawn larger: text, marks and gaps alike.
            scale = Space.scale
            self._figure.fit((width / scale, height / scale), ratio * scale)

    def _render(self) -> None:
        """Draw the figure into an image of the widget's size, at the screen's resolution."""
        figure = self._figure
        width, height, ratio = self._room()
        if figure is None or min(width, height) < SMALLEST:
            return
        # What fails to be drawn is not tried again before something changes.
        self._drawn, self._drawn_for, self._region = figure, (width, height, ratio), None
        self._lay_out()
        pixels = figure.pixels()
        rows, columns = pixels.shape[:2]
        image = QImage(pixels.data, columns, rows, QImage.Format.Format_RGBA8888).copy()
        image.setDevicePixelRatio(ratio)
        self._image = image
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Show the drawn image, the value under the pointer and the focus ring."""
        del event
        if not self._pause.isActive() and not turns().waits(self):
            self._ask_for_turns()  # it has just come into sight
        if self._image is None or self.table is not None:
            return
        painter = painter_on(self)
        painter.drawImage(QPointF(0, 0), self._image)
        if self._region is not None:
            ink = QColor(themes().current.style.text)
            ink.setAlphaF(0.07)
            painter.fillRect(self._area_of(self._region), ink)
        if self.hasFocus():
            draw_focus(painter, self)

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
            self._ask_for_turns()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Draw again once the size has settled."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._take_height()
        self._more.move(self.width() - self._more.sizeHint().width(), 0)
        if self.table is not None:
            self.table.setGeometry(self.rect())
        if self._drawn is self._figure:
            self._pause.start()  # else it takes the size that it has by its turn

    def changeEvent(self, event: QEvent) -> None:
        """Draw again on a screen of another resolution."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._pause.start()

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
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_Left: -1}
        step = steps.get(Qt.Key(event.key()))
        if step is None or self._drawn is None or not self._drawn.hover:
            super().keyPressEvent(event)
            return
        regions = self._drawn.hover
        start = regions.index(self._region) if self._region in regions else -1 if step > 0 else 0
        region = regions[(start + step) % len(regions)]
        place = self.mapToGlobal(self._area_of(region).center().toPoint())
        self._point_out(region, place)
        announce(self, region.text)

    def _region_at(self, position: QPointF) -> HoverRegion | None:
        if self._drawn is None or self._image is None:
            return None
        ratio = self._image.devicePixelRatio()
        return self._drawn.region_at(
            position.x() * ratio, self._image.height() - position.y() * ratio
        )

    def _point_out(self, region: HoverRegion | None, place: QPoint) -> None:
        self._region = region
        self.update()
        if region is None:
            QToolTip.hideText()
        else:
            QToolTip.showText(place + QPoint(0, 8), region.text, self)

    # ----- as a table

    def show_table(self, wanted: bool) -> None:
        """Show the plot's values instead of its picture, or the picture again."""
        if wanted == (self.table is not None):
            return
        held = self.hasFocus() or self._more.hasFocus()
        if self.table is not None:
            self.table.hide()
            self.table.deleteLater()
            self.table = None
            self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        elif (figure := self.figure) is not None:
            self.table = PlotTable(self)
            self.table.show_figure(figure)
            self.table.setGeometry(self.rect())
            self.table.show()
            self._more.raise_()
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        if held:
            (self.table or self).setFocus()
        self.update()

    # ----- saving

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to save and copy."""
        if self._figure is not None:
            self.menu().popup(event.globalPos())

    def menu(self) -> QMenu:
        """Return the plot's menu."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        as_table = menu.addAction(themed_icon("table"), self.tr("Show as table"))
        as_table.setCheckable(True)
        as_table.setChecked(self.table is not None)
        as_table.triggered.connect(self.show_table)
        menu.addSeparator()
        menu.addAction(themed_icon("copy"), self.tr("Copy picture"), self.copy_picture)
        menu.addAction(themed_icon("table"), self.tr("Copy values"), self.copy_values)
        menu.addSeparator()
        for icon, kind, words in (
            ("image", "png", self.tr("Save as PNG…")),
            ("image", "svg", self.tr("Save as SVG…")),
            ("export", "csv", self.tr("Save values as CSV…")),
        ):
            menu.addAction(themed_icon(icon), words, partial(self._ask, kind))
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
        CannotWrite, DiskFull
            If the file can't be written; nothing is left behind then.
        """
        for _ in self._saving(path):
            pass

    def _saving(self, path: Path) -> Steps:
        """Build the plot at the size of a file, lay it out, and write it: in steps."""
        build, shown, kind = self._build, self.figure, path.suffix.lower().lstrip(".")
        if build is None or shown is None:
            return
        if kind == "csv":
            write_whole(path, shown.to_csv().encode())
            return
        size = max(self.width(), 480), max(self.height(), self._preferred_height)
        yield
        figure = build(_style())
        yield
        write_whole(path, exported(figure, kind, size))

    def _ask(self, kind: str) -> None:
        """Ask where to save, and save there while the window goes on answering."""
        proposal, pattern = Path.home() / f"{self.tr('plot')}.{kind}", f"{kind.upper()} (*.{kind})"
        path = self._chooser.save_file(self.tr("Save the plot"), pattern, proposal)
        if path is not None:
            chosen = path if path.suffix else path.with_suffix(f".{kind}")
            turns().ask(self._more, self._saving_or_telling(chosen))

    def _saving_or_telling(self, path: Path) -> Steps:
        try:
            yield from self._saving(path)
        except SfumatoError as error:
            self.failed.emit(Message.of_error(error))

    def _open_menu(self) -> None:
        self.menu().popup(self._more.mapToGlobal(QPoint(0, self._more.height())))


def _said(text: str) -> str:
    """Return a plot's text, or a sentence of the analysis, in the person's language."""
    found = QCoreApplication.translate("Plots", text)
    return spoken(text) if found == text else found


def _style() -> PlotStyle:
    """Return the theme's style, with its words in the person's language."""
    return replace(themes().current.style, translate=_said)
