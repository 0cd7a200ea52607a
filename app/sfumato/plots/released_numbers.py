"""Released numbers beside the true ones: how they spread, and how two of them are correlated."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.analysis.previewed_numbers import DistributionData, ScatterData
from sfumato.formats.language import shown
from sfumato.plots.axes import (
    amount,
    amount_ticks,
    fit_percent_ticks,
    label_font,
    name_axes,
    percent,
    plot,
    quiet_axes,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

# ----- one attribute


def build_number_distribution(data: DistributionData, style: PlotStyle) -> PlotFigure:
    """Draw the distribution of one attribute before and after.

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, true and released.
    """
    ends = {"from": data.edges[:-1], "to": data.edges[1:]}
    table = pd.DataFrame(ends | {"true": data.true, "released": data.released})
    subtitle = style.say(
        "Share of the records in each interval of {attribute}. Noise widens what is released;"
        " estimates correct for it.",
        attribute=data.attribute,
    )
    figure, axes = plot(style, _spread_headline(data, style), subtitle, table, (640.0, 360.0))
    for shares, colour, dash in (
        (data.true, style.original, "-"),
        (data.released, style.released, "--"),
    ):
        axes.stairs(shares, data.edges, fill=True, color=colour, alpha=0.22, zorder=2)
        width = points(2.0)
        axes.stairs(shares, data.edges, color=colour, linestyle=dash, linewidth=width, zorder=3)
    highest = float(max(data.true.max(), data.released.max(), 1e-9))
    axes.set_ylim(0.0, highest * 1.18)
    axes.set_xlim(float(data.edges[0]), float(data.edges[-1]))
    name_axes(axes, style, data.attribute)
    fit_percent_ticks(axes, "y")
    amount_ticks(axes, "x")
    _name_outlines(axes, data, style)
    for place, (low, high) in enumerate(zip(data.edges[:-1], data.edges[1:], strict=True)):
        said = style.say(
            "{low} to {high}: true {true}, released {released}",
            low=amount(float(low)),
            high=amount(float(high)),
            true=percent(float(data.true[place])),
            released=percent(float(data.released[place])),
        )
        figure.tell(axes, (float(low), 0.0, float(high), 9.0), said)
    return figure


def _spread_headline(data: DistributionData, style: PlotStyle) -> str:
    """Return how much wider the released numbers spread."""
    details = {
        "recipient": data.recipient,
        "attribute": data.attribute,
        "before": amount(data.true_spread),
        "after": amount(data.released_spread),
    }
    factor = data.released_spread / data.true_spread if data.true_spread > 0 else 1.0
    if factor < 1.005:
        return style.say(
            "{recipient} sees {attribute} spread as it is: the standard deviation stays {before}",
            **details,
        )
    return style.say(
        "{recipient} sees {attribute} spread {factor} times as wide: the standard deviation of"
        " {before} becomes {after}",
        factor=amount(factor),
        **details,
    )


def _name_outlines(axes: Axes, data: DistributionData, style: PlotStyle) -> None:
    """Name both outlines: the true one at its peak, the released one in its tail."""
    middles = (data.edges[:-1] + data.edges[1:]) / 2
    peak = int(np.argmax(data.true))
    lead = data.released - data.true
    tail = np.flatnonzero(middles > middles[peak])
    at = int(tail[np.argmax(lead[tail])]) if len(tail) else int(np.argmax(lead))
    left = middles[peak] <= (data.edges[0] + data.edges[-1]) / 2
    for place, shares, words, colour, ha in (
        (peak, data.true, style.say("true"), style.original, "left" if left else "right"),
        (at, data.released, style.say("released"), style.released, "left"),
    ):
        beside, shift = (middles[place], shares[place]), (4.0 if ha == "left" else -4.0, 6.0)
        write(axes, words, beside, style, shift, colour, ha=ha, va="bottom")


# ----- two attributes


def build_number_scatter(data: ScatterData, style: PlotStyle) -> PlotFigure:
    """Draw two attributes against each other, the true and the released side by side.

    Returns
    -------
    PlotFigure
        Its data has a row for each record: both attributes, true and released.
    """
    names = [f"{side} {name}" for side in ("true", "released") for name in data.attributes]
    table = pd.DataFrame(np.hstack([data.true, data.released]), columns=names)
    subtitle = style.say(
        "{rows} {rows:record|records}; both pictures have the same scales.",
        rows=amount(len(data.true), 9),
    )
    figure = PlotFigure(style, _scatter_headline(data, style), subtitle, table, size=(680.0, 380.0))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    faint = float(np.clip(15.0 / np.sqrt(max(len(data.true), 1)), 0.25, 0.8))
    sides = (
        (left, data.true, style.original, style.say("true"), data.true_correlation),
        (right, data.released, style.released, style.say("released"), data.released_correlation),
    )
    for axes, numbers, colour, words, _ in sides:
        quiet_axes(axes, style, grid="both")
        axes.plot(
            numbers[:, 0], numbers[:, 1], "o", color=colour, alpha=faint, markersize=points(5.0),
            markeredgewidth=0, zorder=2,
        )  # fmt: skip
        axes.set_title(words, loc="left", color=colour, pad=8, **label_font(style, weight=600))
        name_axes(axes, style, data.attributes[0])
        amount_ticks(axes)
    name_axes(left, style, y=data.attributes[1])
    _fit_scatter(left, data)
    for axes, _, _, words, value in sides:
        (low, high), (foot, top) = axes.get_xlim(), axes.get_ylim()
        said = style.say("{words}: correlation {value}", words=words, value=_signed(value, 3))
        figure.tell(axes, (low, foot, high, top), said)
    return figure


def _scatter_headline(data: ScatterData, style: PlotStyle) -> str:
    """Return what becomes of the correlation."""
    details = {
        "first": data.attributes[0],
        "second": data.attributes[1],
        "before": _signed(data.true_correlation, 2),
        "after": _signed(data.released_correlation, 2),
        "recipient": data.recipient,
    }
    if abs(data.true_correlation - data.released_correlation) < 0.02:
        return style.say(
            "In the release, {first} and {second} depend on each other as they do in truth:"
            " correlation {before}, released {after}",
            **details,
        )
    return style.say(
        "Their correlation of {before} shows as {after} to {recipient} until it is corrected"
        " for the noise",
        **details,
    )


def _signed(value: float, decimals: int) -> str:
    return shown(f"{value:.{decimals}f}")


def _fit_scatter(axes: Axes, data: ScatterData) -> None:
    """Fit both pictures to all but the last few of the released points."""
    both = np.concatenate([data.true, data.released])
    low, high = np.quantile(both, [0.002, 0.998], axis=0)
    low, high = np.minimum(low, data.true.min(axis=0)), np.maximum(high, data.true.max(axis=0))
    room = np.maximum(high - low, 1e-12) * 0.04
    axes.set_xlim(low[0] - room[0], high[0] + room[0])
    axes.set_ylim(low[1] - room[1], high[1] + room[1])
    axes.locator_params(axis="x", nbins=5)
