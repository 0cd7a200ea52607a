"""What every plot is: a figure with a headline, texts for the pointer, and its own data."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path

from sfumato.analysis.answers import AnswerFigure
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Bytes
from sfumato.plots.style import PlotStyle

DOTS_PER_INCH = 100.0
"""The resolution at a device pixel ratio of 1: one point is 100 / 72 pixels."""

USUAL_WIDTH = 640.0
MOST_LINES = 6
"""A headline longer than this runs over the edge."""

LEADING = 1.32
"""Height of a line of text as a multiple of its size."""

HINTING = 1.03
"""Letters drawn on whole pixels can be this much wider than their outlines."""

TITLE_GAP = 10.0
"""Pixels between the headline and what is below it."""


_FAR = 9e9
"""Beyond the end of every axis."""


RATIO: Final = 2.0
MARGIN: Final = 24.0

FALLBACK = "DejaVu Sans"
"""The family matplotlib brings along."""


def points(pixels: float) -> float:
    """Return a length in pixels (at a device pixel ratio of 1) in typographic points."""
    return pixels * 72.0 / DOTS_PER_INCH


@dataclass(frozen=True)
class HoverRegion:
    """A rectangle of a plot and what is said while the pointer is over it.

    Parameters
    ----------
    axes
        The axes the bounds belong to.
    bounds
        Left, bottom, right and top in data coordinates, in any order of each pair.
    text
        The values, in words.
    """

    axes: Axes
    bounds: tuple[float, float, float, float]
    text: str

    def box(self) -> tuple[float, float, float, float]:
        """Return left, bottom, right and top in display coordinates, within the axes."""
        left, bottom, right, top = self.bounds
        corners = self.axes.transData.transform([(left, bottom), (right, top)])
        frame = self.axes.get_window_extent()
        low, high = corners.min(axis=0), corners.max(axis=0)
        return (
            max(float(low[0]), frame.x0),
            max(float(low[1]), frame.y0),
            min(float(high[0]), frame.x1),
            min(float(high[1]), frame.y1),
        )

    def contains(self, x: float, y: float) -> bool:
        """Return whether the point lies in the rectangle; data coordinates."""
        left, bottom, right, top = self.bounds
        return min(left, right) <= x <= max(left, right) and min(bottom, top) <= y <= max(
            bottom, top
        )


class PlotFigure(Figure):
    """A figure that knows its headline, what to say under the pointer, and its data.

    Parameters
    ----------
    style
        The look.
    headline
        The answer the plot gives, as a sentence. It is wrapped to the figure's width.
    subtitle
        How to read the plot, in a muted line below.
    data
        The values shown, as they are exported.
    size
        Width and height in pixels at a device pixel ratio of 1.

    Attributes
    ----------
    hover : list of HoverRegion
        The regions that answer to the pointer; the last one that fits wins.
    preferred_height : float
        The height in pixels at which nothing is cramped.
    corner : float
        Pixels at the top right that the headline leaves free.
    margin : float
        Pixels left free all around; none as a part of a page.
    """

    def __init__(
        self,
        style: PlotStyle,
        headline: str,
        subtitle: str,
        data: pd.DataFrame,
        size: tuple[float, float] = (720.0, 400.0),
    ) -> None:
        super().__init__(
            figsize=(size[0] / DOTS_PER_INCH, size[1] / DOTS_PER_INCH),
            dpi=DOTS_PER_INCH,
            facecolor=style.background,
        )
        FigureCanvasAgg(self)  # texts are measured by the canvas that will draw them
        self.style = style
        self.headline = headline
        self.subtitle = subtitle
        self.data = data
        self.hover: list[HoverRegion] = []
        self.preferred_height = size[1]
        self.corner = 0.0
        self.margin = 0.0
        self.texts_above = (
            _Block(self, headline, style.title, style.text, style),
            _Block(self, subtitle, style.small, style.muted, style),
        )
        self.set_layout_engine(HeadlineLayout())

    def fit(self, size: tuple[float, float], ratio: float = 1.0) -> None:
        """Take a size and lay everything out for it; drawing then need not.

        Parameters
        ----------
        size
            Width and height in pixels at a device pixel ratio of 1.
        ratio
            The device pixel ratio.
        """
        self.set_dpi(DOTS_PER_INCH * ratio)
        self.set_size_inches(size[0] / DOTS_PER_INCH, size[1] / DOTS_PER_INCH)
        engine = self.get_layout_engine()
        if engine is not None and self.axes:
            engine.execute(self)

    def height_for(self, width: float) -> float:
        """Return the height at which nothing is cramped, in pixels like the width.

        In less than the usual width the texts above take more lines, and the axes keep their room.
        """
        above = [
            sum(block.height(each - 2 * self.margin - self.corner) for block in self.texts_above)
            for each in (width, max(width, USUAL_WIDTH))
        ]
        return self.preferred_height + above[0] - above[1]

    def pixels(self) -> Bytes:
        """Draw, and return red, green, blue and alpha of every pixel, shape (rows, columns, 4)."""
        canvas = self.canvas
        if not isinstance(canvas, FigureCanvasAgg):
            canvas = FigureCanvasAgg(self)
        canvas.draw()  # type: ignore[no-untyped-call]
        return np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]

    def tell(self, axes: Axes, bounds: tuple[float, float, float, float], text: str) -> None:
        """Say a text while the pointer is over a rectangle: left, bottom, right, top in data."""
        self.hover.append(HoverRegion(axes, bounds, text))

    def tell_row(self, axes: Axes, row: float, text: str) -> None:
        """Say a text over the whole width of a row."""
        self.tell(axes, (-_FAR, row - 0.5, _FAR, row + 0.5), text)

    def tell_column(self, axes: Axes, column: float, text: str) -> None:
        """Say a text over the whole height of a column."""
        self.tell(axes, (column - 0.5, -_FAR, column + 0.5, _FAR), text)

    def region_at(self, x: float, y: float) -> HoverRegion | None:
        """Return the region at a point in display coordinates (pixels, from below left)."""
        for axes in self.axes:
            if not axes.get_window_extent().contains(x, y):
                continue
            inside = axes.transData.inverted().transform((x, y))
            for region in reversed(self.hover):
                if region.axes is axes and region.contains(float(inside[0]), float(inside[1])):
                    return region
        return None

    def to_csv(self) -> str:
        """Return the values shown as CSV."""
        return self.data.to_csv(index=False, lineterminator="\n")


class HeadlineLayout(ConstrainedLayoutEngine):
    """Wraps the headline to the figure's width and lays the axes out below it.

    Layout takes about as long as drawing, so it is done once for each size: a figure does not
    change once it is built.
    """

    def __init__(self) -> None:
        super().__init__(w_pad=0.0, h_pad=0.0, wspace=0.04, hspace=0.04)
        self._done: tuple[object, ...] | None = None

    def execute(self, fig: Figure) -> None:
        """Place the headline and the subtitle, then the axes in the space left."""
        if not isinstance(fig, PlotFigure):
            raise TypeError("HeadlineLayout lays out a PlotFigure")
        # Each kind of canvas measures texts in its own way.
        wanted = (*fig.get_size_inches(), fig.dpi, fig.margin, fig.corner, type(fig.canvas))
        if wanted == self._done:
            return
        self._done = wanted
        width, height = fig.get_size_inches() * DOTS_PER_INCH
        edge = fig.margin
        taken = edge
        for block in fig.texts_above:
            taken += block.place(fig, edge, taken)
        side = edge + 4.0
        left, bottom = side / width, side / height
        top = 1.0 - (taken + TITLE_GAP) / height
        self.set(rect=(left, bottom, max(1.0 - 2 * left, 0.1), max(top - bottom, 0.1)))
        super().execute(fig)


class _Block:
    """A text across the top of a figure: the headline or the subtitle, line by line."""

    def __init__(
        self, fig: Figure, text: str, pixels: float, colour: str, style: PlotStyle
    ) -> None:
        self.words = [word for word in text.split(" ") if word]  # not at thin spaces
        self.pixels = pixels
        weight = 600 if pixels > style.body else 400
        self.face = FontProperties(family=style.font_family, weight=weight, size=pixels)
        # Made once: a figure's artists must not change while it is being drawn.
        self.lines = [
            fig.text(
                0.0,
                1.0,
                "",
                fontsize=points(pixels),
                fontfamily=style.font_family,
                fontweight=weight,
                color=colour,
                ha="left",
                va="baseline",
                parse_math=False,
            )
            for _ in range(MOST_LINES)
        ]
        for line in self.lines:
            line.set_in_layout(False)

    def place(self, fig: PlotFigure, left: float, top: float) -> float:
        """Wrap the text and put it at a distance from the figure's corner; all in pixels.

        Returns
        -------
        float
            The height used.
        """
        if not self.words:
            return 0.0
        width, height = fig.get_size_inches() * DOTS_PER_INCH
        room = width - 2 * left - fig.corner
        wrapped = self._wrapped(room)
        leading = self.pixels * LEADING
        for place, artist in enumerate(self.lines):
            artist.set_text(wrapped[place] if place < len(wrapped) else "")
            baseline = top + self.pixels + place * leading
            artist.set_position((left / width, 1.0 - baseline / height))
        return self.height(room)

    def height(self, width: float) -> float:
        """Return the height that the text takes in a width."""
        lines = len([text for text in self._wrapped(width) if text]) if self.words else 0
        return lines * self.pixels * LEADING + 4.0 if lines else 0.0

    def _wrapped(self, width: float) -> list[str]:
        wrapped = _wrap(self.words, self.face, width)
        wrapped[MOST_LINES - 1 :] = [" ".join(wrapped[MOST_LINES - 1 :])]
        return wrapped


def _wrap(words: list[str], face: FontProperties, width: float) -> list[str]:
    """Break words into lines that fit `width` pixels, measured by the font's outlines."""
    lines: list[str] = []
    space = _width(" ", face)
    drawn = 0.0
    for word in words:
        own = _width(word, face)
        if lines and (drawn + space + own) * HINTING <= width:
            lines[-1] = f"{lines[-1]} {word}"
            drawn += space + own
        else:
            lines.append(word)
            drawn = own
    return lines


@lru_cache(maxsize=4096)
def _width(text: str, face: FontProperties) -> float:
    """Return a word's width by its outlines; kept, because finding it takes longest of all."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, face, ismath=False)
    return float(width)


@cache
def register_fonts(folder: Path) -> str:
    """Register every TrueType file of a folder and return the family they belong to.

    Parameters
    ----------
    folder
        Where the application's fonts lie.

    Returns
    -------
    str
        The family's name, or matplotlib's own where the folder holds no font.
    """
    families = []
    for path in sorted(folder.glob("*.ttf")):
        font_manager.fontManager.addfont(path)
        families.append(font_manager.ttfFontProperty(font_manager.get_font(path)).name)
    return families[0] if families else FALLBACK


def exported(figure: PlotFigure, kind: str, size: tuple[float, float] | None = None) -> bytes:
    """Return a figure as PNG, SVG or PDF, with a margin around it.

    Parameters
    ----------
    figure
        Just built, for this alone.
    kind
        ``png``, ``svg`` or ``pdf``.
    size
        Width and height in pixels at a device pixel ratio of 1; the figure's own where None.
    """
    figure.margin = MARGIN
    if size is not None:
        figure.set_size_inches(size[0] / DOTS_PER_INCH, size[1] / DOTS_PER_INCH)
    stream = io.BytesIO()
    figure.savefig(
        stream,
        format=kind,
        dpi=DOTS_PER_INCH * RATIO,
        facecolor=figure.get_facecolor(),
        metadata={"Title": figure.headline},
    )
    return stream.getvalue()


# ----- the plots that answers ask for


def builder(figure: AnswerFigure) -> Callable[[PlotStyle], PlotFigure]:
    """Return what draws a figure in a style: its ``build_…`` with its data bound."""
    module, _, name = figure.plot.rpartition(".")
    return partial(getattr(import_module(f"sfumato.plots.{module}"), name), *figure.data)
