"""The question: how closely can one number of a record be told, alone and together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, name_rows, points, quiet_axes
from sfumato.plots.number_ellipse import Belief, RecordData, headline, subtitle, table_of
from sfumato.plots.numbers import amount
from sfumato.plots.style import PlotStyle

QUANTILE_90 = 1.6448536269514722
"""Half of the interval that holds 90 % of normal errors, in standard deviations."""
MOST_MEMBERS = 12


def build_number_intervals(data: RecordData, style: PlotStyle) -> PlotFigure:
    """Draw the linear estimates of one record in one attribute, with their normal 90 % intervals.

    Parameters
    ----------
    data
        The record, with one attribute.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each belief: its centre and the spread of its error.
    """
    members = data.members[:MOST_MEMBERS]
    rows: list[tuple[Belief, str]] = [(data.without, style.muted)]
    rows += [(member, style.trust_colour(member.trust or 0.0)) for member in members]
    if len(data.members) > 1:
        rows += [(data.together, style.accent), (data.independent, style.danger)]
    figure = PlotFigure(
        style, headline(data, style), subtitle(data, style), table_of(data),
        size=(640.0, 150.0 + 32.0 * len(rows)),
    )  # fmt: skip
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, [belief.who for belief, _ in rows], style, widest=30)
    _draw(figure, axes, rows, style)
    axes.axvline(float(data.true[0]), color=style.text, linewidth=points(1.5), zorder=1)
    axes.annotate(
        style.say("true: {value}", value=amount(float(data.true[0]))),
        (float(data.true[0]), 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, points(4.0)),
        textcoords="offset points",
        ha="center",
        color=style.text,
        **label_font(style, style.small, 600),  # type: ignore[arg-type]
    )
    axes.set_xlabel(data.attributes[0], color=style.muted, **label_font(style, style.small))  # type: ignore[arg-type]
    axes.xaxis.set_major_formatter(lambda value, _place: amount(value))
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
    return figure


def _draw(
    figure: PlotFigure, axes: Axes, rows: Sequence[tuple[Belief, str]], style: PlotStyle
) -> None:
    for place, (belief, colour) in enumerate(rows):
        centre = float(belief.centre[0])
        half = QUANTILE_90 * math.sqrt(max(float(belief.covariance[0, 0]), 0.0))
        axes.hlines(
            place,
            centre - half,
            centre + half,
            color=style.blend(colour, 0.5),
            linewidth=points(8.0),
            zorder=2,
        )
        axes.plot(centre, place, "o", color=colour, markersize=points(8.0), zorder=3)
        words = style.say(
            "{who}: {centre} ± {half}", who=belief.who, centre=amount(centre), half=amount(half)
        )
        reach = float(np.finfo(np.float32).max)
        figure.hover.append(HoverRegion(axes, (-reach, place - 0.5, reach, place + 0.5), words))
