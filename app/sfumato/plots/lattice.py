"""The question: how much must be generalized before a table is safe."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
from sfumato.plots.lines import house_font, title_axes
from sfumato.plots.style import PlotStyle

MOST_NAMED = 24
"""Heights whose numbers are written beside their bars."""


@dataclass(frozen=True)
class LatticeData:
    """How many combinations of levels there are at each height, and how many are safe.

    Parameters
    ----------
    nodes, safe, minimal
        By height, the sum of the levels, shape (top + 1,).
    columns
        The number of quasi-identifiers.
    chosen
        The height of the chosen node; None where there is none.
    """

    nodes: npt.NDArray[np.int64] = field(repr=False)
    safe: npt.NDArray[np.int64] = field(repr=False)
    minimal: npt.NDArray[np.int64] = field(repr=False)
    columns: int
    chosen: int | None = None


def build_lattice(data: LatticeData, style: PlotStyle) -> PlotFigure:
    """Draw for each height the share of its nodes that is safe, and mark the minimal ones.

    Parameters
    ----------
    data
        The numbers by height.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns height, average_level, nodes, safe and minimal.
    """
    heights = np.arange(len(data.nodes))
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "A bar for each sum of levels, most general on top; filled: the safe share."
            " A diamond: some of them can't be made more detailed."
        ),
        pd.DataFrame(
            {
                "height": heights,
                "average_level": heights / data.columns,
                "nodes": data.nodes,
                "safe": data.safe,
                "minimal": data.minimal,
            }
        ),
        size=(640.0, 130.0 + 22.0 * len(heights)),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="x")
    shares = data.safe / np.maximum(data.nodes, 1)
    axes.barh(heights, 1.0, height=0.62, color=style.blend(style.muted, 0.16), zorder=1)
    axes.barh(heights, shares, height=0.62, color=style.accent, zorder=2)
    _marks(axes, data, shares, style)
    _hover(figure, axes, data, style)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(-0.6, len(heights) - 0.4)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    axes.set_xticks(ticks, [percent(tick, 0) for tick in ticks])
    step = max(1, len(heights) // MOST_NAMED + (len(heights) > MOST_NAMED))
    axes.set_yticks(heights[::step], [str(height) for height in heights[::step]])
    house_font(axes, style)
    title_axes(axes, style.say("Sum of the levels"), style.say("Safe share"), style)
    return figure


def headline(data: LatticeData, style: PlotStyle) -> str:
    """Return where safety begins."""
    found = np.flatnonzero(data.safe)
    if not len(found):
        return style.say("No combination of levels is safe")
    lowest = int(found[0])
    full = np.flatnonzero((data.safe < data.nodes)[::-1])
    always = len(data.nodes) - int(full[0]) if len(full) else 0
    if always >= len(data.nodes):
        return style.say("Safe combinations begin at a sum of levels of {lowest}", lowest=lowest)
    return style.say(
        "Safe combinations begin at a sum of levels of {lowest}; from {always} on all are safe",
        lowest=lowest,
        always=always,
    )


def _marks(
    axes: Axes, data: LatticeData, shares: npt.NDArray[np.float64], style: PlotStyle
) -> None:
    """Mark the heights with minimal nodes, and the chosen height."""
    places = np.flatnonzero(data.minimal)
    axes.plot(
        np.clip(shares[places], 0.012, 0.988), places, "D", color=style.text,
        markersize=points(7.0), zorder=4, linestyle="none",
    )  # fmt: skip
    if data.chosen is not None:
        axes.annotate(
            style.say("chosen"),
            (1.0, data.chosen),
            xytext=(points(-8.0), 0.0),
            textcoords="offset points",
            ha="right",
            va="center",
            color=style.ink_on(style.accent) if shares[data.chosen] > 0.85 else style.text,
            zorder=5,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )


def _hover(figure: PlotFigure, axes: Axes, data: LatticeData, style: PlotStyle) -> None:
    for height, (nodes, safe, least) in enumerate(
        zip(data.nodes, data.safe, data.minimal, strict=True)
    ):
        figure.hover.append(
            HoverRegion(
                axes,
                (0.0, height - 0.5, 1.0, height + 0.5),
                style.say(
                    "Sum of levels {height}: {safe} of {nodes} safe, {least} minimal",
                    height=height,
                    safe=int(safe),
                    nodes=int(nodes),
                    least=int(least),
                ),
            )
        )


def lattice_places(nodes: npt.NDArray[np.int64], widest: int = 0) -> npt.NDArray[np.float64]:
    """Return where nodes are drawn: a band for each height, the most general on top.

    Parameters
    ----------
    nodes
        The levels, shape (n, columns).
    widest
        The most nodes in a line; a height with more takes several lines. By default, so many
        that the whole is about twice as wide as high.

    Returns
    -------
    numpy.ndarray
        Shape (n, 2): across in steps from the middle, and down in lines; between two heights
        there is as much room again as between two lines.
    """
    most = widest or max(40, math.ceil(math.sqrt(2.4 * len(nodes))))
    heights = nodes.sum(axis=1)
    order = np.lexsort((*nodes.T[::-1], heights))
    places = np.empty((len(nodes), 2))
    down = 0.0
    for height in range(int(heights.max(initial=0)), -1, -1):
        band = order[heights[order] == height]
        for line in np.array_split(band, max(1, math.ceil(len(band) / most))):
            places[line, 0] = np.arange(len(line)) - (len(line) - 1) / 2
            places[line, 1] = down
            down += 0.5
        down += 0.5
    return places
