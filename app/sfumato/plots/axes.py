"""The scaffold of every plot: its axes, ticks, direct labels, and how numbers are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.offsetbox import AnnotationBbox, DrawingArea
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text
from matplotlib.ticker import MaxNLocator

from sfumato.engine.core.wording import Count
from sfumato.formats.language import grouped, localized, shown, value_name
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

DASHED = (0, (4, 3))
MOST_ABOVE: Final = 10
"""Of more rows the ticks stand below them, too."""
HATCHES = ("", "////", "....")
"""What series of bars are filled with, in their order."""
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


# ----- a figure with its axes


def plot(
    style: PlotStyle,
    headline: str,
    subtitle: str,
    table: pd.DataFrame,
    size: tuple[float, float] = (640.0, 340.0),
    grid: str = "y",
) -> tuple[PlotFigure, Axes]:
    """Return a figure with one pair of axes in the house look; see `PlotFigure`."""
    figure = PlotFigure(style, headline, subtitle, table, size)
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid)
    return figure, axes


def row_plot(
    style: PlotStyle,
    headline: str,
    subtitle: str,
    table: pd.DataFrame,
    names: Sequence[str],
    heights: tuple[float, float] = (130.0, 30.0),
    widest: int = 28,
    width: float = 640.0,
) -> tuple[PlotFigure, Axes]:
    """Return a figure with a named row for each of some things, the first on top.

    The axis stands above them.

    Parameters
    ----------
    style, headline, subtitle, table
        See `PlotFigure`.
    names
        What the rows are called.
    heights
        Pixels around the rows, and of each.
    widest
        Longer names are cut with an ellipsis.
    width
        Of the figure in pixels.
    """
    height = heights[0] + heights[1] * max(len(names), 2)
    figure, axes = plot(style, headline, subtitle, table, (width, height), "x")
    if names:
        name_rows(axes, names, style, widest)
        # Where a page shows the headline it shows the axis below it; the foot may be out of sight.
        axes.tick_params(axis="x", labeltop=True, labelbottom=len(names) > MOST_ABOVE)
        axes.xaxis.set_label_position("top")
    else:
        axes.remove()  # the headline says that there is nothing
    return figure, axes


def quiet_axes(axes: Axes, style: PlotStyle, grid: str = "x") -> None:
    """Give axes the house look: no frame, a light grid along `grid`, small muted ticks."""
    axes.set_facecolor("none")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(
        length=0,
        colors=style.muted,
        labelsize=points(style.small),
        labelfontfamily=style.font_family,
        pad=6,
    )
    axes.set_axisbelow(True)
    if grid in ("x", "y", "both"):
        axes.grid(axis=grid, color=style.line, linewidth=points(1.0))  # type: ignore[arg-type]


TITLE_LETTERS: Final = 34
"""How many letters stand in a line of a title, which may have half of a figure's width."""

LINE_LETTERS: Final = 22
"""How many stand in a line of the name of a curve, which has less."""


def name_axes(axes: Axes, style: PlotStyle, x: str = "", y: str = "", title: str = "") -> None:
    """Name what the axes are, and what they show."""
    look = label_font(style, style.small)
    if x:
        axes.set_xlabel(x, color=style.muted, labelpad=6, **look)  # type: ignore[arg-type]
    if y:
        axes.set_ylabel(y, color=style.muted, **look)  # type: ignore[arg-type]
    if title:
        title = fill(title, TITLE_LETTERS, break_long_words=False)
        axes.set_title(title, loc="left", color=style.text, pad=8, **label_font(style, weight=600))  # type: ignore[arg-type]


# ----- ticks


def name_rows(axes: Axes, names: Iterable[str], style: PlotStyle, widest: int = 28) -> None:
    """Write the names of horizontal rows at the left, the first row on top."""
    shown = [shorten(name, widest) for name in names]
    name_ticks(axes, "y", range(len(shown)), shown)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    for label in axes.get_yticklabels():
        label.set(fontsize=points(style.body), color=style.text)


def name_ticks(axes: Axes, along: str, places: Iterable[float], names: Iterable[str]) -> None:
    """Name places of an axis; a dollar sign in a name stays one."""
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_ticks(list(places), list(names))
    for label in axis.get_ticklabels():
        label.set_parse_math(False)


def percent_ticks(axes: Axes, along: str, ticks: Iterable[float] = QUARTERS) -> None:
    """Mark shares in percent."""
    shares = [float(tick) for tick in ticks]
    name_ticks(axes, along, shares, [percent(share, 0) for share in shares])


def fit_percent_ticks(axes: Axes, along: str, most: float = 1.0) -> None:
    """Write the ticks that an axis has by itself in percent, none of them above `most`."""
    axis = axes.xaxis if along == "x" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    ticks = [float(tick) for tick in axis.get_ticklocs() if low <= tick <= min(high, most + 1e-9)]
    exact = (d for d in (0, 1) if np.allclose(np.round(ticks, d + 2), ticks, atol=1e-9))
    decimals = next(exact, 2)
    name_ticks(axes, along, ticks, [percent(tick, decimals) for tick in ticks])


def percent_axis(axes: Axes, along: str = "y", top: float = 1.0) -> None:
    """Give an axis of shares from 0 to `top` ticks in percent."""
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if top / s <= 5.0), 0.25)
    if along == "y":
        axes.set_ylim(0.0, top * 1.04)
    else:
        axes.set_xlim(0.0, top)
    percent_ticks(axes, along, np.arange(0.0, top + 1e-9, step))


_SHORT: Final = 7
_FEW: Final = 4
"""Numbers of more signs than that are written at no more than so many places and one."""


def amount_ticks(axes: Axes, along: str = "xy") -> None:
    """Write the ticks of an axis, or of both, as numbers of any size."""
    for axis in [axes.xaxis] * ("x" in along) + [axes.yaxis] * ("y" in along):
        axis.set_major_formatter(lambda value, _place: amount(value))
    if "x" in along and isinstance(axes.xaxis.get_major_locator(), MaxNLocator):
        low, high = axes.get_xlim()
        ticks = [float(tick) for tick in axes.get_xticks() if low <= tick <= high]
        if max((len(amount(tick)) for tick in ticks), default=0) > _SHORT:
            axes.locator_params(axis="x", nbins=_FEW)  # as many as stand beside each other


def whole_ticks(count: int) -> Sequence[int]:
    """Return whole numbers from 1 to `count`, at most ten, the last among them."""
    if count <= 10:
        return range(1, count + 1)
    step = next(s for s in (5, 10, 20, 50, 100, 1000, count) if count / s <= 10)
    ticks = list(range(step, count + 1, step))
    return ticks if ticks[-1] == count else [*ticks[:-1], count]


# ----- words beside what they name


def label_font(
    style: PlotStyle, pixels: float | None = None, weight: int = 400
) -> dict[str, object]:
    """Return the text properties of a label; `pixels` defaults to the body size.

    A dollar sign stays a dollar sign.
    """
    return {
        "fontsize": points(style.body if pixels is None else pixels),
        "fontfamily": style.font_family,
        "fontweight": weight,
        "parse_math": False,
    }


def write(
    axes: Axes,
    words: str,
    at: tuple[float, float],
    style: PlotStyle,
    shift: tuple[float, float] = (6.0, 0.0),
    colour: str = "",
    *,
    weight: int = 600,
    size: float | None = None,
    ha: str = "left",
    va: str = "center",
    **more: object,
) -> Annotation:
    """Write words beside a place.

    Parameters
    ----------
    axes, words, style
        Where and what.
    at
        In data coordinates, unless `more` names others by ``xycoords``.
    shift
        From there, in pixels.
    colour
        That of the text where it is left out.
    weight, size, ha, va, more
        The text's properties.
    """
    return axes.annotate(
        words,
        at,
        xytext=(points(shift[0]), points(shift[1])),
        textcoords="offset points",
        ha=ha,
        va=va,
        color=colour or style.text,
        **label_font(style, size or style.small, weight),  # type: ignore[arg-type]
        **more,  # type: ignore[arg-type]
    )


def name_line(
    axes: Axes,
    at: tuple[float, float],
    words: str,
    colour: str,
    style: PlotStyle,
    *,
    above: bool = True,
    align: str = "right",
    letters: int = LINE_LETTERS,
) -> None:
    """Write a line's name beside one of its points, in its colour, a long one on several lines."""
    words = fill(words, letters, break_long_words=False)
    shift, va = (9.0, "bottom") if above else (-9.0, "top")
    write(axes, words, at, style, (0.0, shift), colour, ha=align, va=va)


def filling(place: int, colour: str, style: PlotStyle) -> dict[str, Any]:
    """Return how the bars of the series at a place are filled: told apart by more than colour."""
    look = {"facecolor": colour, "edgecolor": style.background, "linewidth": 0.0}
    return look | {"hatch": HATCHES[place % len(HATCHES)]}


def name_series(axes: Axes, names: Sequence[tuple[str, str]], style: PlotStyle) -> None:
    """Write the names of series of bars above the axes, side by side, each with its filling."""
    left: Text | Axes = axes
    high, wide = 0.8 * style.small, 1.6 * style.small
    over_ticks = 2.0 * style.small if axes.xaxis.get_tick_params()["labeltop"] else 0.0
    for place, (words, colour) in enumerate(names):
        first = place == 0
        at, shift = ((0.0, 1.0), (0.0, 6.0 + over_ticks)) if first else ((1.0, 0.0), (16.0, 0.0))
        beside = "axes fraction" if first else left
        swatch = DrawingArea(points(wide), points(high))
        drawn = Rectangle((0, 0), points(wide), points(high), **filling(place, colour, style))
        swatch.add_artist(drawn)
        middle = points(shift[0] + wide / 2), points(shift[1] + high / 2)
        axes.add_artist(
            AnnotationBbox(
                swatch, at, middle, xycoords=beside, boxcoords="offset points", frameon=False, pad=0
            )
        )
        after = (shift[0] + wide + 5.0, shift[1])
        left = write(axes, words, at, style, after, va="bottom", xycoords=beside)


# ----- how numbers and names are written


def shorten(name: str, widest: int) -> str:
    """Return the name of a value, cut to `widest` characters with an ellipsis."""
    name = value_name(name)
    return name if len(name) <= widest else name[: widest - 1].rstrip() + "…"


def percent(share: float, decimals: int | None = None) -> str:
    """Return a share as a percentage with a thin space, e.g. ``31 %``.

    Without `decimals`, shares below 10 % have one, and tiny ones are ``< 0.1 %``.
    """
    if decimals is None and 0 < abs(share) < 0.0005:
        return f"< {localized('0.1')}\u202f%"
    if decimals is None:
        decimals = 1 if 0 < abs(share) < 0.0995 else 0
    return localized(f"{share * 100:.{decimals}f}") + "\u202f%"


def probability(share: float) -> str:
    """Return a share in percent that says 100 % only where it is."""
    if 0.995 <= share < 1.0:
        return f"> {localized('99.9')}\u202f%" if share > 0.9995 else percent(share, 1)
    return percent(share)


def whole(number: float) -> Count:
    """Return a whole number, as the language writes it."""
    return grouped(round(number))


def amount(value: float, digits: int = 3) -> Count:
    """Return a number with about so many significant digits."""
    if not math.isfinite(value):
        return Count("∞")
    if value == 0:
        return Count("0")
    size = math.floor(math.log10(abs(value)))
    if not -4 <= size < 12:
        return shown(f"{value:.{digits - 1}e}")
    decimals = max(digits - 1 - size, 0)
    text = f"{value:,.{decimals}f}"
    return shown(text.rstrip("0").rstrip(".") if "." in text else text)
