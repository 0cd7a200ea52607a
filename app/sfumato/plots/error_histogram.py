"""The question: how far off are the guesses of single records, and how many come close."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
from sfumato.plots.numbers import amount
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]
INTERVALS = 30
SHOWN = 0.99
"""The share of the records whose errors the axis covers."""


@dataclass(frozen=True)
class ErrorsData:
    """How far off the guesses of single records are, on the ladder and with independent noise.

    Parameters
    ----------
    attribute
        Which attribute is guessed.
    members
        How many recipients pool their copies.
    knowledge
        What they know of the distribution, in words.
    spread
        The attribute's standard deviation.
    ladder, independent
        The distance of each record's guess from the truth, in the attribute's unit, shape (n,).
    """

    attribute: str
    members: int
    knowledge: str
    spread: float
    ladder: Floats
    independent: Floats


def build_error_histogram(data: ErrorsData, style: PlotStyle) -> PlotFigure:
    """Draw the errors as a histogram and as a cumulative one (Li et al. 2012, Fig. 3).

    Parameters
    ----------
    data
        The errors.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each interval: its ends, and both shares of the records, within
        the interval and up to its end.
    """
    both = np.concatenate([data.ladder, data.independent])
    reach = float(np.quantile(both, SHOWN)) or 1.0
    edges = np.linspace(0.0, reach, INTERVALS + 1)
    shares = [np.histogram(side, edges)[0] / len(side) for side in (data.ladder, data.independent)]
    sums = [np.cumsum(share) for share in shares]
    table = pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "ladder": shares[0],
            "independent": shares[1],
            "ladder_up_to": sums[0],
            "independent_up_to": sums[1],
        }
    )
    subtitle = style.say(
        "Share of the records whose guess is so far off; right: at most so far off. The attacker"
        " makes the best linear estimate and knows {knowledge}.",
        knowledge=data.knowledge,
    )
    figure = PlotFigure(style, headline(data, style), subtitle, table, size=(680.0, 340.0))
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        quiet_axes(axes, style, grid="y")
        axes.set_xlim(0.0, reach)
        axes.set_xlabel(
            style.say("how far off, in units of {attribute}", attribute=data.attribute),
            color=style.muted,
            **label_font(style, style.small),
        )
    for place, (colour, dash) in enumerate(((style.accent, "-"), (style.danger, "--"))):
        left.stairs(shares[place], edges, color=colour, linestyle=dash, linewidth=points(2.0))
        left.stairs(shares[place], edges, color=colour, fill=True, alpha=0.12)
        right.plot(edges, [0.0, *sums[place]], dash, color=colour, linewidth=points(2.0), zorder=3)
    _names(right, edges, sums, style)
    for axes, listed in ((left, shares), (right, sums)):
        _ticks(axes, style)
        figure.hover += _regions(axes, edges, listed, style, summed=axes is right)
    return figure


def _regions(
    axes: Axes, edges: Floats, listed: list[Floats], style: PlotStyle, *, summed: bool
) -> list[HoverRegion]:
    regions = []
    for place in range(INTERVALS):
        text = style.say(
            "{low} to {high}: ladder {ladder}, independent {independent}",
            low=amount(0.0 if summed else float(edges[place])),
            high=amount(float(edges[place + 1])),
            ladder=percent(float(listed[0][place]), 1),
            independent=percent(float(listed[1][place]), 1),
        )
        bounds = (float(edges[place]), -1.0, float(edges[place + 1]), 2.0)
        regions.append(HoverRegion(axes, bounds, text))
    return regions


def headline(data: ErrorsData, style: PlotStyle) -> str:
    """Return how close half of the guesses come."""
    details = {
        "attribute": data.attribute,
        "ladder": amount(float(np.median(data.ladder)), 2),
        "independent": amount(float(np.median(data.independent)), 2),
        "count": data.members,
    }
    if data.members == 1:
        return style.say(
            "Half of the guesses of {attribute} are off by {ladder} or more", **details
        )
    return style.say(
        "Half of the guesses of {attribute} that {count} recipients make together are off by"
        " {ladder} or more; with independent noise, by {independent}",
        **details,
    )


def _names(axes: Axes, edges: Floats, sums: list[Floats], style: PlotStyle) -> None:
    """Name both curves where they are furthest apart, and there is room left of them."""
    apart = np.abs(sums[1] - sums[0])
    apart[: INTERVALS // 3] = -1.0
    at = int(np.argmax(apart))
    for share, colour, words, side in (
        (sums[0], style.accent, style.say("on the ladder"), 1),
        (sums[1], style.danger, style.say("independent noise"), -1),
    ):
        axes.annotate(
            words,
            (edges[at + 1], share[at]),
            xytext=(points(10.0) * side, -points(6.0) * side),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="top" if side > 0 else "bottom",
            color=colour,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )


def _ticks(axes: Axes, style: PlotStyle) -> None:
    high = axes.get_ylim()[1]
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= high]
    axes.set_yticks(ticks, [percent(float(tick), 0 if high > 0.05 else 1) for tick in ticks])
    axes.xaxis.set_major_formatter(lambda value, _place: amount(value))
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)
