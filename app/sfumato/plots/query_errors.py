"""The question: how far off are the answers to many random count queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

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


@dataclass(frozen=True)
class ErrorRow:
    """One recipient's relative errors: their mean and quartiles."""

    recipient: str
    trust: float
    mean: float
    quartiles: tuple[float, float, float]


@dataclass(frozen=True)
class ErrorsData:
    """The relative errors of a pool of queries.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    queries
        How many queries were asked.
    rows
        The recipients, the most trusted first.
    """

    attribute: str
    queries: int
    rows: tuple[ErrorRow, ...]


def build_query_errors(data: ErrorsData, style: PlotStyle) -> PlotFigure:
    """Draw each recipient's mean relative error, with the middle half of all errors.

    Parameters
    ----------
    data
        The errors.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns recipient, mean, lower_quartile, median and upper_quartile.
    """
    rows = data.rows
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Relative error of {queries} random counts by one to three public columns, each"
            " answered by 0.1 % of the records or more. Bars: mean; lines: the middle half.",
            queries=f"{data.queries:,}".replace(",", "\u202f"),
        ),
        pd.DataFrame(
            {
                "recipient": [row.recipient for row in rows],
                "mean": [row.mean for row in rows],
                "lower_quartile": [row.quartiles[0] for row in rows],
                "median": [row.quartiles[1] for row in rows],
                "upper_quartile": [row.quartiles[2] for row in rows],
            }
        ),
        size=(640.0, 150.0 + 34.0 * max(len(rows), 2)),
    )
    if not rows:
        return figure
    _draw(figure, rows, style)
    return figure


def _draw(figure: PlotFigure, rows: Sequence[ErrorRow], style: PlotStyle) -> None:
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, [row.recipient for row in rows], style)
    places = np.arange(len(rows))
    axes.barh(
        places, [row.mean for row in rows], height=0.58,
        color=[style.trust_colour(row.trust) for row in rows], zorder=2,
    )  # fmt: skip
    axes.hlines(
        places,
        [row.quartiles[0] for row in rows],
        [row.quartiles[2] for row in rows],
        color=style.text,
        linewidth=points(1.5),
        zorder=3,
    )
    highest = max([0.01, *(max(row.mean, row.quartiles[2]) for row in rows)])
    axes.set_xlim(0.0, highest * 1.22)
    ticks = [tick for tick in axes.get_xticks() if tick <= highest * 1.22]
    axes.set_xticks(ticks, [percent(float(tick), 0 if highest > 0.05 else 1) for tick in ticks])
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
    for place, row in enumerate(rows):
        axes.annotate(
            percent(row.mean), (max(row.mean, row.quartiles[2]), place),
            xytext=(points(6.0), 0.0), textcoords="offset points", va="center",
            color=style.text,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )  # fmt: skip
        text = style.say(
            "{recipient}: mean {mean}, median {median}, middle half {low} to {high}",
            recipient=row.recipient,
            mean=percent(row.mean, 1),
            median=percent(row.quartiles[1], 1),
            low=percent(row.quartiles[0], 1),
            high=percent(row.quartiles[2], 1),
        )
        figure.hover.append(HoverRegion(axes, (0.0, place - 0.5, 1e9, place + 0.5), text))


def headline(data: ErrorsData, style: PlotStyle) -> str:
    """Return the best and the worst mean error."""
    if not data.rows:
        return style.say("Nobody can count anything about {name}", name=data.attribute)
    best = min(data.rows, key=lambda row: row.mean)
    worst = max(data.rows, key=lambda row: row.mean)
    if best is worst:
        return style.say(
            "{recipient} is off by {mean} on average when counting {attribute}",
            recipient=best.recipient,
            mean=percent(best.mean),
            attribute=data.attribute,
        )
    return style.say(
        "When counting {attribute}, {best} is off by {low} on average, {worst} by {high}",
        attribute=data.attribute,
        best=best.recipient,
        low=percent(best.mean),
        worst=worst.recipient,
        high=percent(worst.mean),
    )
