"""The question: how well can shares be estimated from a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import (
    HoverRegion,
    PlotFigure,
    label_font,
    name_rows,
    percent,
    points,
    quiet_axes,
)
from sfumato.plots.style import PlotStyle

MOST_ROWS = 24
"""The most frequent values are drawn; all of them are in the data."""


@dataclass(frozen=True)
class UtilityData:
    """True shares and what a recipient estimates from a release.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    true, estimated
        Shares, shape (m,).
    low, high
        The ends of the estimates' intervals, shape (m,).
    confidence
        The intervals' confidence, e.g. 0.95.
    recipient
        Who gets the release.
    """

    names: tuple[str, ...]
    true: npt.NDArray[np.float64]
    estimated: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    confidence: float
    recipient: str


def build_utility_frequencies(data: UtilityData, style: PlotStyle) -> PlotFigure:
    """Draw each value's true share, its estimate and the estimate's interval.

    Parameters
    ----------
    data
        The shares.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns value, true, estimated, low and high, for the whole domain.
    """
    order = np.argsort(-data.true, kind="stable")[:MOST_ROWS]
    figure = PlotFigure(
        style,
        headline(data, style),
        subtitle(data, style),
        pd.DataFrame(
            {
                "value": data.names,
                "true": data.true,
                "estimated": data.estimated,
                "low": data.low,
                "high": data.high,
            }
        ),
        size=(640.0, 140.0 + 26.0 * len(order)),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, [data.names[i] for i in order], style)
    _draw_marks(axes, data, order, style)
    _scale(axes, data, order, style)
    _name_marks(axes, data, order, style)
    for row, i in enumerate(order):
        figure.hover.append(
            HoverRegion(axes, (-9.0, row - 0.5, 9.0, row + 0.5), _row_text(data, style, int(i)))
        )
    return figure


def _draw_marks(
    axes: Axes, data: UtilityData, order: npt.NDArray[np.intp], style: PlotStyle
) -> None:
    """Draw each value's interval, estimate and true share."""
    rows = np.arange(len(order))
    axes.hlines(
        rows,
        data.low[order],
        data.high[order],
        color=style.blend(style.released, 0.45),
        linewidth=points(6.0),
        zorder=2,
    )
    axes.plot(
        data.estimated[order],
        rows,
        "o",
        color=style.released,
        markersize=points(8.0),
        zorder=3,
        label="estimated",
    )
    axes.plot(
        data.true[order],
        rows,
        "|",
        color=style.original,
        markersize=points(17.0),
        markeredgewidth=points(2.5),
        zorder=4,
        label="true",
    )


def headline(data: UtilityData, style: PlotStyle) -> str:
    """Return the sentence that the shares say."""
    worst = float(np.max(np.abs(data.estimated - data.true)))
    return style.say(
        "{recipient} can estimate every share to within {worst} percentage points",
        recipient=data.recipient,
        worst=f"{max(worst * 100, 0.01):.{1 if worst >= 0.00995 else 2}f}",
    )


def subtitle(data: UtilityData, style: PlotStyle) -> str:
    """Return how to read the marks, and how many intervals hold the true share."""
    inside = int(np.sum((data.low <= data.true) & (data.true <= data.high)))
    words = style.say(
        "Stroke: true share. Dot: estimate from the release, with its {confidence} interval;"
        " {inside} of {count} intervals hold the true share.",
        confidence=percent(data.confidence, 0),
        inside=inside,
        count=len(data.names),
    )
    if len(data.names) > MOST_ROWS:
        words += " " + style.say("The {count} most frequent values are shown.", count=MOST_ROWS)
    return words


def _scale(axes: Axes, data: UtilityData, order: npt.NDArray[np.intp], style: PlotStyle) -> None:
    """Fit the horizontal axis to what is drawn, with ticks in percent."""
    low = min(float(data.low[order].min()), 0.0)
    high = max(float(data.high[order].max()), float(data.true[order].max()))
    room = (high - low) * 0.06
    axes.set_xlim(low - (room if low < 0 else 0.0), high + room)
    ticks = [t for t in axes.get_xticks() if axes.get_xlim()[0] <= t <= axes.get_xlim()[1]]
    decimals = 0 if len(ticks) < 2 or ticks[1] - ticks[0] >= 0.00995 else 1
    axes.set_xticks(ticks, [percent(float(tick), decimals) for tick in ticks])
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)


def _name_marks(
    axes: Axes, data: UtilityData, order: npt.NDArray[np.intp], style: PlotStyle
) -> None:
    """Name both marks beside the first row, in their own colours."""
    end = max(float(data.high[order[0]]), float(data.true[order[0]]))
    left_of = axes.get_xlim()[1] - end < 0.3 * (axes.get_xlim()[1] - axes.get_xlim()[0])
    start = min(float(data.low[order[0]]), float(data.true[order[0]]))
    for offset, words, colour in (
        (0.0, style.say("true"), style.original),
        (36.0, style.say("estimated"), style.released),
    ):
        shift = -offset if left_of else offset
        if left_of:
            shift = -(80.0 - 2 * offset) if offset == 0 else -12.0
        axes.annotate(
            words,
            (start if left_of else end, 0),
            xytext=(points(shift if left_of else shift + 12.0), 0),
            textcoords="offset points",
            ha="right" if left_of else "left",
            va="center",
            color=colour,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )


def _row_text(data: UtilityData, style: PlotStyle, i: int) -> str:
    return style.say(
        "{name}: true {true}, estimated {estimated} ({low} to {high})",
        name=data.names[i],
        true=percent(float(data.true[i]), 2),
        estimated=percent(float(data.estimated[i]), 2),
        low=percent(float(data.low[i]), 2),
        high=percent(float(data.high[i]), 2),
    )
