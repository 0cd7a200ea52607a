"""The question: how far does the error of an estimate fall as copies are pooled."""

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
class CopiesData:
    """The normalized error of the best linear estimate, by the number of copies pooled.

    Parameters
    ----------
    attribute
        The policy entry's attributes.
    names
        Who joins, in this order, shape (M,).
    ladder, independent, linear
        The error once so many have joined, shape (M,): with noise on the ladder, with noise of
        its own for every copy, and with noise that differs by a factor only.
    """

    attribute: str
    names: tuple[str, ...]
    ladder: Floats
    independent: Floats
    linear: Floats


def build_error_by_copies(data: CopiesData, style: PlotStyle) -> PlotFigure:
    """Draw the error over the number of copies (Li et al. 2012, Fig. 2).

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
    copies = np.arange(1, len(data.names) + 1)
    table = pd.DataFrame(
        {
            "copies": copies,
            "joined": data.names,
            "ladder": data.ladder,
            "independent": data.independent,
            "linearly_dependent": data.linear,
        }
    )
    subtitle = style.say(
        "Share of the variance that the best linear estimate leaves open, the most trusted"
        " recipient first. Higher is safer."
    )
    figure = PlotFigure(style, headline(data, style), subtitle, table, size=(640.0, 340.0))
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    _draw(axes, data, copies, style)
    _scale(axes, data, style)
    for place, name in enumerate(data.names):
        text = style.say(
            "{count} copies, {name} joined last: ladder {ladder}, independent {independent},"
            " differing by a factor {linear}",
            count=place + 1,
            name=name,
            ladder=percent(float(data.ladder[place]), 1),
            independent=percent(float(data.independent[place]), 1),
            linear=percent(float(data.linear[place]), 1),
        )
        figure.hover.append(HoverRegion(axes, (place + 0.5, -1.0, place + 1.5, 2.0), text))
    return figure


def _draw(axes: Axes, data: CopiesData, copies: npt.NDArray[np.int_], style: PlotStyle) -> None:
    """Draw the three curves, each named at its end."""
    curves = (
        (data.ladder, style.accent, "-", style.say("on the ladder")),
        (data.independent, style.danger, "--", style.say("independent noise")),
        (data.linear, style.muted, ":", style.say("noise that differs by a factor")),
    )
    for errors, colour, dash, words in curves:
        axes.plot(
            copies, errors, dash, color=colour, linewidth=points(2.0), marker="o",
            markersize=points(6.0), zorder=3,
        )  # fmt: skip
        axes.annotate(
            words,
            (copies[-1], errors[-1]),
            xytext=(points(10.0), 0),
            textcoords="offset points",
            va="center",
            color=colour,
            annotation_clip=False,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )


def headline(data: CopiesData, style: PlotStyle) -> str:
    """Return what all of them together leave open."""
    if len(data.names) == 1:
        return style.say(
            "{name} alone leaves {ladder} of the variance of {attribute} open",
            name=data.names[0],
            ladder=percent(float(data.ladder[-1])),
            attribute=data.attribute,
        )
    return style.say(
        "With independent noise, {count} recipients together leave {independent} of the variance"
        " of {attribute} open; on the ladder, {ladder}",
        count=len(data.names),
        independent=percent(float(data.independent[-1])),
        attribute=data.attribute,
        ladder=percent(float(data.ladder[-1])),
    )


def _scale(axes: Axes, data: CopiesData, style: PlotStyle) -> None:
    highest = float(max(data.ladder.max(), data.independent.max(), 1e-6))
    axes.set_ylim(-highest * 0.06, highest * 1.2)
    axes.set_xlim(0.7, len(data.names) + 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(
        style.say("copies pooled"),
        color=style.muted,
        **label_font(style, style.small),  # type: ignore[arg-type]
    )
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= highest * 1.2]
    axes.set_yticks(ticks, [percent(float(tick), 0 if highest > 0.05 else 1) for tick in ticks])
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)
