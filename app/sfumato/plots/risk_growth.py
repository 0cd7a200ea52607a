"""The question: how does the risk grow with every recipient that is added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sfumato.engine.disclosure.risk_growth import GrowthPoint
from sfumato.plots.figure import HoverRegion, PlotFigure, percent, points, quiet_axes, shorten
from sfumato.plots.lines import (
    house_font,
    name_line,
    percent_axis,
    probability,
    title_axes,
    whole_ticks,
)
from sfumato.plots.style import PlotStyle

MOST_NAMED = 5
"""Recipients whose names stand below the axis; more are numbered."""
MOST_LETTERS = 38
"""What fits below the axis beside another plot; the names share it."""


@dataclass(frozen=True)
class GrowthData:
    """The risk after every recipient.

    Parameters
    ----------
    attribute
        What was released.
    points
        One for each recipient, in the order in which they are added; at least one.
    names
        The recipients' names in the same order; empty where they have none.
    """

    attribute: str
    points: tuple[GrowthPoint, ...]
    names: tuple[str, ...] = ()


def build_risk_growth(data: GrowthData, style: PlotStyle) -> PlotFigure:
    """Draw the average reconstruction probability over the number of recipients.

    Parameters
    ----------
    data
        The points.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns recipients, name, trust, independent, independent_error,
        on_ladder and ladder_error.
    """
    figure = PlotFigure(
        style, headline(data, style), subtitle(data, style), _table(data), size=(640.0, 340.0)
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    count = np.array([point.recipients for point in data.points], dtype=np.float64)
    independent = np.array([point.independent for point in data.points])
    error = np.array([point.independent_error for point in data.points])
    ladder = np.array([point.on_ladder for point in data.points])
    marker = "o" if len(count) <= 15 else ""
    look = {"marker": marker, "markersize": points(6.0), "linewidth": points(2.0), "zorder": 3}
    axes.fill_between(
        count, independent - error, independent + error, color=style.blend(style.danger, 0.2)
    )
    axes.plot(count, independent, color=style.danger, linestyle="--", **look)  # type: ignore[arg-type]
    axes.plot(count, ladder, color=style.accent, drawstyle="steps-post", **look)  # type: ignore[arg-type]
    axes.set_xlim(0.6, count[-1] + 0.4)
    if 0 < len(data.names) <= MOST_NAMED:
        axes.set_xticks(count, [shorten(name, MOST_LETTERS // len(count)) for name in data.names])
    else:
        axes.set_xticks(list(whole_ticks(len(count))))
    percent_axis(axes, style)
    house_font(axes, style)
    title_axes(axes, "", style.say("Recipients, in the order in which they are added"), style)
    if len(count) > 1:
        at = len(count) // 2 if len(count) > 4 else -1
        name = style.say("independent noise")
        name_line(axes, (count[at], independent[at]), name, style.danger, style)
        name = style.say("on the ladder")
        few = len(count) <= 4
        beside = (count[-2] + 0.08, ladder[-2]) if few else (count[-1], ladder[-1])
        align = "left" if few else "right"
        name_line(axes, beside, name, style.accent, style, above=False, align=align)
    for place, point in enumerate(data.points):
        bounds = (count[place] - 0.5, 0.0, count[place] + 0.5, 1.04)
        figure.hover.append(HoverRegion(axes, bounds, _text(data, place, point, style)))
    return figure


def headline(data: GrowthData, style: PlotStyle) -> str:
    """Return the sentence that the curves say."""
    last = data.points[-1]
    if len(data.points) == 1:
        return style.say(
            "One recipient gives a record's true {attribute} a probability of {share} on average",
            attribute=data.attribute,
            share=percent(last.on_ladder),
        )
    return style.say(
        "With {count} recipients, independent noise gives a record's true {attribute} a probability"
        " of {independent} on average; the ladder, {ladder}",
        count=last.recipients,
        attribute=data.attribute,
        independent=probability(last.independent),
        ladder=probability(last.on_ladder),
    )


def subtitle(data: GrowthData, style: PlotStyle) -> str:
    """Return how to read the curves, and how exact they are."""
    words = style.say(
        "Average probability that all who hold a release give to a record's true value. The ladder"
        " rises only with somebody more trusted than all before."
    )
    error = max(point.independent_error for point in data.points)
    if error == 0.0:
        return words + " " + style.say("Exact.")
    return words + " " + style.say("Drawn: ± {error} at most.", error=percent(error, 1))


def _table(data: GrowthData) -> pd.DataFrame:
    names = data.names or tuple(str(point.recipients) for point in data.points)
    return pd.DataFrame(
        {
            "recipients": [point.recipients for point in data.points],
            "name": names,
            "trust": [point.trust for point in data.points],
            "independent": [point.independent for point in data.points],
            "independent_error": [point.independent_error for point in data.points],
            "on_ladder": [point.on_ladder for point in data.points],
            "ladder_error": [point.ladder_error for point in data.points],
        }
    )


def _text(data: GrowthData, place: int, point: GrowthPoint, style: PlotStyle) -> str:
    who = data.names[place] if data.names else style.say("one at trust {t}", t=f"{point.trust:.3f}")
    return style.say(
        "{count} recipients, the last {who}: on the ladder {ladder}, independent noise"
        " {independent}",
        count=point.recipients,
        who=who,
        ladder=percent(point.on_ladder, 1),
        independent=percent(point.independent, 1),
    )
