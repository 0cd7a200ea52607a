"""The question: what does each recipient answer to one count query, and how far off is it."""

from __future__ import annotations

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
class EstimateRow:
    """One recipient's answer, with its interval."""

    recipient: str
    trust: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class EstimatesData:
    """One query.

    Parameters
    ----------
    truth
        The true answer.
    matching
        How many records meet the public conditions.
    confidence
        The intervals' level.
    rows
        The answers, the most trusted first.
    """

    truth: int
    matching: int
    confidence: float
    rows: tuple[EstimateRow, ...]


def build_query_estimates(data: EstimatesData, style: PlotStyle) -> PlotFigure:
    """Draw each recipient's estimate and interval against the true answer.

    Parameters
    ----------
    data
        The answers.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns recipient, estimate, low, high and truth.
    """
    rows = data.rows
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Points: estimates; lines: {confidence} intervals. Dashed: the true answer.",
            confidence=percent(data.confidence, 0),
        ),
        pd.DataFrame(
            {
                "recipient": [row.recipient for row in rows],
                "estimate": [row.estimate for row in rows],
                "low": [row.low for row in rows],
                "high": [row.high for row in rows],
                "truth": data.truth,
            }
        ),
        size=(640.0, 140.0 + 40.0 * max(len(rows), 2)),
    )
    if not rows:
        return figure
    _draw(figure, data, style)
    return figure


def _draw(figure: PlotFigure, data: EstimatesData, style: PlotStyle) -> None:
    rows = data.rows
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, [row.recipient for row in rows], style)
    places = np.arange(len(rows))
    axes.axvline(
        data.truth, color=style.original, linewidth=points(1.5), linestyle=(0, (4, 3)), zorder=2
    )
    for place, row in zip(places, rows, strict=True):
        colour = style.trust_colour(row.trust)
        axes.hlines(place, row.low, row.high, color=colour, linewidth=points(3.0), zorder=3)
        axes.plot(
            [row.estimate], [place], "o", color=colour, markersize=points(9.0),
            markeredgecolor=style.background, zorder=4,
        )  # fmt: skip
        axes.annotate(
            _count(row.estimate), (row.estimate, place), xytext=(0.0, points(9.0)),
            textcoords="offset points", ha="center", va="bottom", color=style.text, zorder=5,
            bbox={"boxstyle": "square,pad=0.15", "facecolor": style.background, "linewidth": 0},
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )  # fmt: skip
    low = min([data.truth, *(min(row.low, row.estimate) for row in rows)])
    high = max([data.truth, *(max(row.high, row.estimate) for row in rows)])
    room = max((high - low) * 0.08, 1.0)
    axes.set_xlim(low - room, high + room)
    axes.set_ylim(len(rows) - 0.4, -0.7)
    axes.set_xlabel(style.say("Records"), color=style.muted, **label_font(style, style.small))  # type: ignore[arg-type]
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
    for line, row in enumerate(rows):
        text = style.say(
            "{recipient}: {estimate}, from {low} to {high}; truth {truth}",
            recipient=row.recipient,
            estimate=_count(row.estimate),
            low=_count(row.low),
            high=_count(row.high),
            truth=_count(data.truth),
        )
        bounds = (low - room, line - 0.5, high + room, line + 0.5)
        figure.hover.append(HoverRegion(axes, bounds, text))


def headline(data: EstimatesData, style: PlotStyle) -> str:
    """Return the truth and the best trusted answer."""
    if not data.rows:
        return style.say(
            "{truth} of {matching} matching records have the value; nobody can estimate it",
            truth=_count(data.truth),
            matching=_count(data.matching),
        )
    best = data.rows[0]
    return style.say(
        "{recipient} counts {estimate} where the truth is {truth}",
        recipient=best.recipient,
        estimate=_count(best.estimate),
        truth=_count(data.truth),
    )


def _count(number: float) -> str:
    return f"{round(number):,}".replace(",", "\u202f").replace("-", "\u2212")
