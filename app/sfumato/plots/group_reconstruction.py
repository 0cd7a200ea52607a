"""The question: how near does the reconstruction of one small group come to the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sfumato.engine.disclosure.group_view import GroupView
from sfumato.engine.disclosure.grouped_values import Floats
from sfumato.plots.figure import (
    HoverRegion,
    PlotFigure,
    name_rows,
    percent,
    points,
    quiet_axes,
)
from sfumato.plots.style import PlotStyle

MOST_VALUES = 10
"""Values drawn, the most frequent first; all of them are in the data."""


@dataclass(frozen=True)
class ReconstructionData:
    """One group. For the custodian only.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    recipient
        Who is given the release.
    names
        The names of the values, by code.
    view
        The group.
    within
        The attacker's confidence in the most frequent value's estimate.
    epsilon
        The relative error the confidence is about.
    """

    attribute: str
    recipient: str
    names: Sequence[str]
    view: GroupView
    within: float
    epsilon: float


def build_group_reconstruction(data: ReconstructionData, style: PlotStyle) -> PlotFigure:
    """Draw true shares as bars, and what the release lets the recipient reconstruct.

    Parameters
    ----------
    data
        The group.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns value, true, reconstructed and spread.
    """
    view = data.view
    names = [data.names[int(code)] for code in view.values]
    shown = min(MOST_VALUES, max(int((view.true > 0).sum()), 2), len(names))
    estimated = view.estimated if view.estimated is not None else np.full(len(names), np.nan)
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Bars: true shares. Points: as reconstructed from this release; the lines hold 95 %"
            " of all reconstructions."
        ),
        pd.DataFrame(
            {
                "value": names,
                "true": view.true,
                "reconstructed": estimated,
                "spread": view.spread,
            }
        ),
        size=(640.0, 140.0 + 28.0 * shown),
    )
    _draw(figure, view, names[:shown], estimated, style)
    return figure


def _draw(
    figure: PlotFigure, view: GroupView, names: list[str], estimated: Floats, style: PlotStyle
) -> None:
    shown = len(names)
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, names, style)
    places = np.arange(shown)
    axes.barh(places, view.true[:shown], height=0.58, color=style.original, zorder=2)
    low, high = view.true[:shown] - view.spread[:shown], view.true[:shown] + view.spread[:shown]
    # A halo keeps the interval in sight on the bar.
    for colour, width in ((style.background, 5.0), (style.released, 2.0)):
        axes.hlines(places, low, high, color=colour, linewidth=points(width), zorder=3)
    axes.plot(
        estimated[:shown], places, "o", color=style.released, markersize=points(8.0),
        markeredgecolor=style.background, zorder=4,
    )  # fmt: skip
    left, right = _reach(view, estimated, shown)
    axes.set_xlim(left, right)
    ticks = [tick for tick in axes.get_xticks() if left <= tick <= right]
    axes.set_xticks(ticks, [percent(float(tick), 0) for tick in ticks])
    for label in axes.get_xticklabels():
        label.set(fontfamily=style.font_family)
    for place in places:
        text = style.say(
            "{name}: true {true}, reconstructed {estimated} (± {spread} in 95 % of releases)",
            name=names[place],
            true=percent(float(view.true[place]), 1),
            estimated="–" if np.isnan(estimated[place]) else percent(float(estimated[place]), 1),
            spread=percent(float(view.spread[place]), 1),
        )
        figure.hover.append(HoverRegion(axes, (left, place - 0.5, right, place + 0.5), text))


def _reach(view: GroupView, estimated: Floats, shown: int) -> tuple[float, float]:
    """Return the axis' ends: all that is drawn, and 0."""
    ends = np.concatenate(
        [
            view.true[:shown] - view.spread[:shown],
            view.true[:shown] + view.spread[:shown],
            estimated[:shown][~np.isnan(estimated[:shown])],
        ]
    )
    low, high = min(float(ends.min()), 0.0), max(float(ends.max()), 0.05)
    room = 0.04 * (high - low)
    return (low - room if low < 0.0 else 0.0), high + room


def headline(data: ReconstructionData, style: PlotStyle) -> str:
    """Return how sure the recipient can be."""
    return style.say(
        "{recipient} estimates this group of {size} within {epsilon} of the truth with a"
        " confidence of {within}",
        recipient=data.recipient,
        size=data.view.size,
        epsilon=percent(data.epsilon, 0),
        within=percent(data.within),
    )
