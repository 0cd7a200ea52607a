"""What every plot is and how it looks: a headline, texts for the pointer, its own data, its style.

The window makes a `PlotStyle` from its theme, without Qt; tests and the command line may use
`light_style` and `dark_style`, which hold the same colours.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path

from sfumato.engine.core.values import Bytes
from sfumato.engine.core.wording import filled
from sfumato.formats.language import localized

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap


@dataclass(frozen=True)
class PlotStyle:
    """Colours, font and sizes of a plot.

    Parameters
    ----------
    dark
        Whether the page is dark.
    background
        The page behind the plot.
    surface
        Cards and cells on the page.
    text, muted, line
        Texts, secondary texts, and rules and grids.
    accent
        The one accent colour.
    good, caution, danger
        States; always beside an icon or a word.
    original, released
        The two colours that true and released values have wherever they appear.
    trust
        The stops of the sequential scale of trust, least trusted first.
    font_family
        A font that matplotlib knows; see `sfumato.plots.figure`.
    small, body, title
        Font sizes in pixels at a device pixel ratio of 1.
    translate
        Turns a template in English into the person's language.
    strong
        Whether contrast is high: 7 : 1 for text, and lines that weak eyes can see.
    """

    dark: bool
    background: str
    surface: str
    text: str
    muted: str
    line: str
    accent: str
    good: str
    caution: str
    danger: str
    original: str
    released: str
    trust: tuple[str, ...]
    font_family: str = "DejaVu Sans"
    small: float = 12.0
    body: float = 13.0
    title: float = 16.0
    translate: Callable[[str], str] = str
    strong: bool = False

    def say(self, template: str, **details: object) -> str:
        """Return a template in the person's language, filled in."""
        return filled(self.translate(template), details, localized)

    def trust_colour(self, trust: float) -> str:
        """Return the colour of a trust between 0 (nothing) and 1 (the original)."""
        red, green, blue, _ = _colour_map("trust", self.trust)(min(max(trust, 0.0), 1.0))
        return _hex((red, green, blue))

    def share_map(self) -> LinearSegmentedColormap:
        """Return the colour map for shares, from a breath of the accent to all of it."""
        return _colour_map("share", (self.blend(self.accent, 0.06), self.accent))

    def blend(self, colour: str, share: float) -> str:
        """Return `colour` mixed into the background, `share` of it (0 to 1)."""
        over, under = _channels(colour), _channels(self.background)
        return _hex([share * o + (1 - share) * u for o, u in zip(over, under, strict=True)])

    def ink_on(self, colour: str) -> str:
        """Return whichever of text and background can be read better on `colour`."""
        return max((self.text, self.background), key=lambda ink: contrast(ink, colour))


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.1), from 0 to 1."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _colour_map(name: str, colours: Sequence[str]) -> LinearSegmentedColormap:
    # The window asks for its colours before its first picture; matplotlib can wait until plots.
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415

    return LinearSegmentedColormap.from_list(name, list(colours))


def _channels(colour: str) -> tuple[float, float, float]:
    """Return red, green and blue of ``#RRGGBB``, from 0 to 1."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red / 255, green / 255, blue / 255


def _hex(channels: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.1), from 1 to 21."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def light_style(font_family: str = "DejaVu Sans") -> PlotStyle:
    """Return the light look."""
    return PlotStyle(
        dark=False,
        background="#FAFAF8",
        surface="#FFFFFF",
        text="#1E2328",
        muted="#6B7280",
        line="#E4E4E0",
        accent="#2F5D8A",
        good="#2E7D5B",
        caution="#8A5A0B",
        danger="#B23A48",
        original="#2F5D8A",
        released="#AE5A1C",
        trust=("#74939A", "#4B86A6", "#2F5D8A", "#15304F"),
        font_family=font_family,
    )


def dark_style(font_family: str = "DejaVu Sans") -> PlotStyle:
    """Return the dark look."""
    return PlotStyle(
        dark=True,
        background="#16191D",
        surface="#1F2429",
        text="#E8EAED",
        muted="#9AA3AE",
        line="#2E343B",
        accent="#7FB2E5",
        good="#5FBF93",
        caution="#E0B04A",
        danger="#F08A95",
        original="#7FB2E5",
        released="#E8A35C",
        trust=("#5F7A84", "#5C93B8", "#7FB2E5", "#DCEBFA"),
        font_family=font_family,
    )


def strong_light_style(font_family: str = "DejaVu Sans") -> PlotStyle:
    """Return the light look of high contrast."""
    return PlotStyle(
        dark=False,
        background="#FFFFFF",
        surface="#FFFFFF",
        text="#000000",
        muted="#3B4048",
        line="#767B84",
        accent="#003C78",
        good="#004D2E",
        caution="#5C3800",
        danger="#8C0016",
        original="#003C78",
        released="#7A2E00",
        trust=("#4E6166", "#2D5F7E", "#003C78", "#00162E"),
        font_family=font_family,
        strong=True,
    )


def strong_dark_style(font_family: str = "DejaVu Sans") -> PlotStyle:
    """Return the dark look of high contrast."""
    return PlotStyle(
        dark=True,
        background="#000000",
        surface="#000000",
        text="#FFFFFF",
        muted="#C9CED6",
        line="#7F868F",
        accent="#8CC8FF",
        good="#7FE3B3",
        caution="#FFD166",
        danger="#FFA9B4",
        original="#8CC8FF",
        released="#FFB870",
        trust=("#8FA6AE", "#79B4DC", "#8CC8FF", "#EAF5FF"),
        font_family=font_family,
        strong=True,
    )


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

    def text_at(self, x: float, y: float) -> str:
        """Return what to say at a point in display coordinates; empty where there is nothing."""
        region = self.region_at(x, y)
        return region.text if region is not None else ""

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
