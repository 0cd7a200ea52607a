"""What recipients answer to count queries: to one, and to many random ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sfumato.analysis.query_desk import CONFIDENCE, PoolResult, QueryResult
from sfumato.plots.axes import (
    DASHED,
    fit_percent_ticks,
    name_axes,
    percent,
    row_plot,
    whole,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

# ----- one query


def build_query_estimates(result: QueryResult, style: PlotStyle) -> PlotFigure:
    """Draw each recipient's estimate and interval against the true answer.

    Returns
    -------
    PlotFigure
        Its data has the columns recipient, estimate, low, high and truth.
    """
    rows = [(each.recipient, each.trust, each.answer) for each in result.answers]
    listed = [(name, it.estimate, it.low, it.high, result.truth) for name, _, it in rows]
    figure, axes = row_plot(
        style,
        _estimates_headline(result, style),
        style.say(
            "Points: estimates; lines: {confidence} intervals. Dashed: the true answer.",
            confidence=percent(CONFIDENCE, 0),
        ),
        pd.DataFrame(listed, columns=["recipient", "estimate", "low", "high", "truth"]),
        [name for name, _, _ in rows],
        (140.0, 40.0),
    )
    if not rows:
        return figure
    axes.axvline(
        result.truth, color=style.original, linewidth=points(1.5), linestyle=DASHED, zorder=2
    )
    ground = {"boxstyle": "square,pad=0.15", "facecolor": style.background, "linewidth": 0}
    for place, (name, trust, it) in enumerate(rows):
        colour = style.trust_colour(trust)
        axes.hlines(place, it.low, it.high, color=colour, linewidth=points(3.0), zorder=3)
        axes.plot(
            [it.estimate], [place], "o", color=colour, markersize=points(9.0),
            markeredgecolor=style.background, zorder=4,
        )  # fmt: skip
        words, at = whole(it.estimate), (it.estimate, place)
        write(axes, words, at, style, (0.0, 9.0), ha="center", va="bottom", zorder=5, bbox=ground)
        said = style.say(
            "{recipient}: {estimate}, from {low} to {high}; truth {truth}",
            recipient=name,
            estimate=whole(it.estimate),
            low=whole(it.low),
            high=whole(it.high),
            truth=whole(result.truth),
        )
        figure.tell_row(axes, place, said)
    low = min([result.truth, *(min(it.low, it.estimate) for _, _, it in rows)])
    high = max([result.truth, *(max(it.high, it.estimate) for _, _, it in rows)])
    room = max((high - low) * 0.08, 1.0)
    axes.set_xlim(low - room, high + room)
    axes.set_ylim(len(rows) - 0.4, -0.7)
    name_axes(axes, style, style.say("Records"))
    return figure


def _estimates_headline(result: QueryResult, style: PlotStyle) -> str:
    """Return the truth and the best trusted answer."""
    if not result.answers:
        return style.say(
            "{truth} of {matching} matching {matching:record|records} {truth:has|have} the value;"
            " nobody can estimate it",
            truth=whole(result.truth),
            matching=whole(result.matching),
        )
    best = result.answers[0]
    return style.say(
        "{recipient} counts {estimate} where the truth is {truth}",
        recipient=best.recipient,
        estimate=whole(best.answer.estimate),
        truth=whole(result.truth),
    )


# ----- many random queries


def build_query_errors(attribute: str, result: PoolResult, style: PlotStyle) -> PlotFigure:
    """Draw each recipient's mean relative error, with the middle half of all errors.

    Returns
    -------
    PlotFigure
        Its data has the columns recipient, mean, lower_quartile, median and upper_quartile.
    """
    rows = result.recipients
    columns = ["recipient", "mean", "lower_quartile", "median", "upper_quartile"]
    figure, axes = row_plot(
        style,
        _errors_headline(attribute, result, style),
        style.say(
            "Relative error of {queries} random {queries:count|counts} by one to three public"
            " columns, each answered by 0.1 % of the records or more. Bars: mean; lines: the"
            " middle half.",
            queries=whole(result.queries),
        ),
        pd.DataFrame([(row.recipient, row.mean, *row.quartiles) for row in rows], columns=columns),
        [row.recipient for row in rows],
        (150.0, 34.0),
    )
    if not rows:
        return figure
    places, colours = np.arange(len(rows)), [style.trust_colour(row.trust) for row in rows]
    axes.barh(places, [row.mean for row in rows], height=0.58, color=colours, zorder=2)
    low, high = [row.quartiles[0] for row in rows], [row.quartiles[2] for row in rows]
    axes.hlines(places, low, high, color=style.text, linewidth=points(1.5), zorder=3)
    highest = max([0.01, *high, *(row.mean for row in rows)])
    axes.set_xlim(0.0, highest * 1.22)
    fit_percent_ticks(axes, "x", highest * 1.22)
    for place, row in enumerate(rows):
        write(axes, percent(row.mean), (max(row.mean, row.quartiles[2]), place), style)
        said = style.say(
            "{recipient}: mean {mean}, median {median}, middle half {low} to {high}",
            recipient=row.recipient,
            mean=percent(row.mean, 1),
            median=percent(row.quartiles[1], 1),
            low=percent(row.quartiles[0], 1),
            high=percent(row.quartiles[2], 1),
        )
        figure.tell_row(axes, place, said)
    return figure


def _errors_headline(attribute: str, result: PoolResult, style: PlotStyle) -> str:
    """Return the best and the worst mean error."""
    if not result.recipients:
        return style.say("Nobody can count anything about {name}", name=attribute)
    best = min(result.recipients, key=lambda row: row.mean)
    worst = max(result.recipients, key=lambda row: row.mean)
    return style.say(
        "{best} is off by {low} on average when counting {attribute}"
        if best is worst
        else "When counting {attribute}, {best} is off by {low} on average, {worst} by {high}",
        attribute=attribute,
        best=best.recipient,
        low=percent(best.mean),
        worst=worst.recipient,
        high=percent(worst.mean),
    )
