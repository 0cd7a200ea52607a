"""The question: does pooling help somebody who knows how the numbers are distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BayesData:
    """What the Bayes estimate leaves open of an attribute, by the number of copies pooled.

    Parameters
    ----------
    attribute
        The attribute.
    names
        Who joins, in this order, shape (M,).
    ladder, independent
        The estimate's normalized error once so many have joined, shape (M,): measured on
        releases of one ladder, and on copies with noise of their own.
    linear
        The same for the best linear estimate on the ladder, shape (M,).
    apart
        The largest difference, in spreads, between the coalition's estimate of a record and
        its first member's own, on the ladder.
    records
        How many records were estimated.
    """

    attribute: str
    names: tuple[str, ...]
    ladder: Floats
    independent: Floats
    linear: Floats
    apart: float
    records: int


def build_bayes_by_copies(data: BayesData, style: PlotStyle) -> PlotFigure:
    """Draw the error of the Bayes estimate over the number of copies.

    Parameters
    ----------
    data
        The errors.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each number of copies: who joined, and the three errors.
    """
    table = pd.DataFrame(
        {
            "copies": np.arange(1, len(data.names) + 1),
            "joined": data.names,
            "ladder": data.ladder,
            "independent": data.independent,
            "linear_on_ladder": data.linear,
        }
    )
    subtitle = style.say(
        "Share of the variance that the mean given the distribution and the releases leaves open,"
        " measured on {records} records. Higher is safer.",
        records=f"{data.records:,}".replace(",", "\u202f"),
    )
    figure = PlotFigure(style, headline(data, style), subtitle, table, size=(640.0, 340.0))
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    highest = float(max(data.ladder.max(), data.independent.max(), data.linear.max(), 1e-6))
    _draw(axes, data, highest, style)
    _scale(axes, highest, len(data.names), style)
    figure.hover += [_region(axes, data, place, style) for place in range(len(data.names))]
    return figure


def _draw(axes: Axes, data: BayesData, highest: float, style: PlotStyle) -> None:
    """Draw the curves, each named at its end; names of ends that meet stand apart."""
    copies = np.arange(1, len(data.names) + 1)
    curves = (
        (data.linear, style.muted, ":", style.say("best linear estimate, on the ladder")),
        (data.independent, style.danger, "--", style.say("independent noise")),
        (data.ladder, style.accent, "-", style.say("on the ladder")),
    )
    lowest_named = -np.inf
    for errors, colour, dash, words in sorted(curves, key=lambda curve: float(curve[0][-1])):
        axes.plot(
            copies, errors, dash, color=colour, linewidth=points(2.0), marker="o",
            markersize=points(6.0), zorder=3,
        )  # fmt: skip
        height = max(float(errors[-1]), lowest_named + 0.075 * highest)
        lowest_named = height
        axes.annotate(
            words,
            (copies[-1], height),
            xytext=(points(10.0), 0),
            textcoords="offset points",
            va="center",
            color=colour,
            annotation_clip=False,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )


def _scale(axes: Axes, highest: float, count: int, style: PlotStyle) -> None:
    axes.set_ylim(-highest * 0.06, highest * 1.2)
    axes.set_xlim(0.7, count + 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    words = style.say("copies pooled")
    axes.set_xlabel(words, color=style.muted, **label_font(style, style.small))  # type: ignore[arg-type]
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= highest * 1.2]
    axes.set_yticks(ticks, [percent(float(tick), 0 if highest > 0.05 else 1) for tick in ticks])
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)


def _region(axes: Axes, data: BayesData, place: int, style: PlotStyle) -> HoverRegion:
    text = style.say(
        "{count} copies, {name} joined last: ladder {ladder}, independent {independent}; best"
        " linear estimate on the ladder {linear}",
        count=place + 1,
        name=data.names[place],
        ladder=percent(float(data.ladder[place]), 1),
        independent=percent(float(data.independent[place]), 1),
        linear=percent(float(data.linear[place]), 1),
    )
    return HoverRegion(axes, (place + 0.5, -1.0, place + 1.5, 2.0), text)


def headline(data: BayesData, style: PlotStyle) -> str:
    """Return what somebody who knows the distribution gains by pooling."""
    details = {
        "attribute": data.attribute,
        "name": data.names[0],
        "count": len(data.names),
        "alone": percent(float(data.ladder[0]), 1),
        "ladder": percent(float(data.ladder[-1]), 1),
        "independent": percent(float(data.independent[-1]), 1),
    }
    if len(data.names) == 1:
        return style.say(
            "To somebody who knows the distribution of {attribute}, {name}'s release leaves"
            " {alone} of its variance open",
            **details,
        )
    return style.say(
        "Knowing the distribution of {attribute}, {count} recipients together leave {ladder} of"
        " its variance open on the ladder, {name} alone {alone}; with independent noise,"
        " {independent}",
        **details,
    )
