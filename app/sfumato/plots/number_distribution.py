"""The question: how do released numbers spread beside the true ones."""

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


@dataclass(frozen=True)
class DistributionData:
    """One attribute's distribution, as it is and as it is released.

    Parameters
    ----------
    attribute, recipient
        Of what, and for whom.
    edges
        The intervals' edges, shape (k + 1,).
    true, released
        The share of the records in each interval, shape (k,).
    true_spread, released_spread
        The standard deviations over all records.
    """

    attribute: str
    recipient: str
    edges: Floats
    true: Floats
    released: Floats
    true_spread: float
    released_spread: float


def build_number_distribution(data: DistributionData, style: PlotStyle) -> PlotFigure:
    """Draw the distribution of one attribute before and after.

    Parameters
    ----------
    data
        The shares.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, true and released.
    """
    table = pd.DataFrame(
        {
            "from": data.edges[:-1],
            "to": data.edges[1:],
            "true": data.true,
            "released": data.released,
        }
    )
    subtitle = style.say(
        "Share of the records in each interval of {attribute}. Noise widens what is released;"
        " estimates correct for it.",
        attribute=data.attribute,
    )
    figure = PlotFigure(style, headline(data, style), subtitle, table, size=(640.0, 360.0))
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    for shares, colour in ((data.true, style.original), (data.released, style.released)):
        axes.stairs(shares, data.edges, fill=True, color=colour, alpha=0.22, zorder=2)
        axes.stairs(shares, data.edges, color=colour, linewidth=points(2.0), zorder=3)
    highest = float(max(data.true.max(), data.released.max(), 1e-9))
    axes.set_ylim(0.0, highest * 1.18)
    axes.set_xlim(float(data.edges[0]), float(data.edges[-1]))
    axes.set_xlabel(data.attribute, color=style.muted, **label_font(style, style.small))  # type: ignore[arg-type]
    _ticks(axes, style)
    _names(axes, data, style)
    for place, (low, high) in enumerate(zip(data.edges[:-1], data.edges[1:], strict=True)):
        text = style.say(
            "{low} to {high}: true {true}, released {released}",
            low=amount(float(low)),
            high=amount(float(high)),
            true=percent(float(data.true[place])),
            released=percent(float(data.released[place])),
        )
        figure.hover.append(HoverRegion(axes, (float(low), 0.0, float(high), 9.0), text))
    return figure


def headline(data: DistributionData, style: PlotStyle) -> str:
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


def _ticks(axes: Axes, style: PlotStyle) -> None:
    high = axes.get_ylim()[1]
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= high]
    decimals = 0 if len(ticks) < 2 or ticks[1] - ticks[0] >= 0.00995 else 1
    axes.set_yticks(ticks, [percent(float(tick), decimals) for tick in ticks])
    shown = [t for t in axes.get_xticks() if axes.get_xlim()[0] <= t <= axes.get_xlim()[1]]
    axes.set_xticks(shown, [amount(float(tick)) for tick in shown])
    for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
        label.set_fontfamily(style.font_family)


def _names(axes: Axes, data: DistributionData, style: PlotStyle) -> None:
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
        axes.annotate(
            words,
            (middles[place], shares[place]),
            xytext=(points(4.0 if ha == "left" else -4.0), points(6.0)),
            textcoords="offset points",
            ha=ha,
            va="bottom",
            color=colour,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )
