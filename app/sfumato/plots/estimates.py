"""How well recipients can estimate: shares, means, spreads, quantiles, slopes and counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.analysis.previews.count_answers import CONFIDENCE, PoolResult, QueryResult
from sfumato.analysis.previews.number_estimates import (
    CONFIDENCE_95,
    POPULATION,
    EstimatesData,
    Figure,
    FigureEstimate,
)
from sfumato.analysis.previews.previewed_values import UtilityData
from sfumato.engine.core.values import Floats, Integers
from sfumato.formats.language import localized
from sfumato.plots.axes import (
    DASHED,
    amount,
    fit_percent_ticks,
    label_font,
    name_axes,
    percent,
    row_plot,
    whole,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

MOST_ROWS = 24
"""The most frequent values are drawn; all of them are in the data."""
_NAMED = 0.45
"""Both marks are named in so large a part of the axis, which long names of rows leave narrow."""


# ----- shares of values


def build_utility_frequencies(data: UtilityData, style: PlotStyle) -> PlotFigure:
    """Draw each value's true share, its estimate and the estimate's interval.

    Returns
    -------
    PlotFigure
        Its data has the columns value, true, estimated, low and high, for the whole domain.
    """
    order = np.argsort(-data.true, kind="stable")[:MOST_ROWS]
    # Of the intervals, not of this release: how far this one is off would be its luck.
    worst = float(np.max(np.maximum(data.high - data.estimated, data.estimated - data.low)))
    columns = {"value": data.names, "true": data.true, "estimated": data.estimated}
    figure, axes = row_plot(
        style,
        style.say(
            "{recipient} can estimate every share to within ± {worst} percentage"
            " {worst:point|points} ({confidence})",
            recipient=data.recipient,
            confidence=percent(data.confidence, 0),
            worst=localized(f"{max(worst * 100, 0.01):.{1 if worst >= 0.00995 else 2}f}"),
        ),
        _utility_subtitle(data, style),
        pd.DataFrame(columns | {"low": data.low, "high": data.high}),
        [data.names[i] for i in order],
        (140.0, 26.0),
    )
    rows = np.arange(len(order))
    pale = style.blend(style.released, 0.45)
    axes.hlines(
        rows, data.low[order], data.high[order], color=pale, linewidth=points(6.0), zorder=2
    )
    axes.plot(
        data.estimated[order], rows, "o", color=style.released, markersize=points(8.0), zorder=3
    )
    axes.plot(
        data.true[order], rows, "|", color=style.original, markersize=points(17.0),
        markeredgewidth=points(2.5), zorder=4,
    )  # fmt: skip
    low = min(float(data.low[order].min()), 0.0)
    high = max(float(data.high[order].max()), float(data.true[order].max()))
    room = (high - low) * 0.06
    axes.set_xlim(low - (room if low < 0 else 0.0), high + room)
    _name_marks(axes, data, order, style)
    fit_percent_ticks(axes, "x")
    for row, i in enumerate(order):
        said = style.say(
            "{name}: true {true}, estimated {estimated} ({low} to {high})",
            name=data.names[i],
            true=percent(float(data.true[i]), 2),
            estimated=percent(float(data.estimated[i]), 2),
            low=percent(float(data.low[i]), 2),
            high=percent(float(data.high[i]), 2),
        )
        figure.tell_row(axes, row, said)
    return figure


def _utility_subtitle(data: UtilityData, style: PlotStyle) -> str:
    """Return how to read the marks, and how many intervals hold the true share."""
    words = style.say(
        "Stroke: true share. Dot: estimate from the release, with its {confidence} interval;"
        " {inside} of {count} intervals hold the true share.",
        confidence=percent(data.confidence, 0),
        inside=int(np.sum((data.low <= data.true) & (data.true <= data.high))),
        count=len(data.names),
    )
    if data.weight:
        words += " " + style.say("Shares of the population, by {column}.", column=data.weight)
    if len(data.names) > MOST_ROWS:
        words += " " + style.say(
            "The {count} most frequent {count:value is|values are} shown.", count=MOST_ROWS
        )
    return words


def _name_marks(axes: Axes, data: UtilityData, order: Integers, style: PlotStyle) -> None:
    """Name both marks in their own colours, to the right of the first row with room for it."""
    left, right = axes.get_xlim()
    ends = np.maximum(data.high[order], data.true[order])
    row = int(np.argmax(ends <= right - _NAMED * (right - left)))
    end = float(ends[row])
    axes.set_xlim(left, max(right, (end - _NAMED * left) / (1.0 - _NAMED)))
    names = ((style.say("true"), style.original), (style.say("estimated"), style.released))
    for shift, (words, colour) in zip((12.0, 48.0), names, strict=True):
        write(axes, words, (end, row), style, (shift, 0.0), colour, ha="left")


# ----- statistics of numbers


def build_number_estimates(data: EstimatesData, style: PlotStyle) -> PlotFigure:
    """Draw how far each estimate is off, with its interval.

    Returns
    -------
    PlotFigure
        Its data has the columns figure, about, at, true, estimated and standard_error.
    """
    rows = data.estimates
    columns = ["figure", "about", "at", "true", "estimated", "standard_error"]
    listed = [(r.figure.value, r.about, r.at, r.true, r.estimated, r.error) for r in rows]
    figure, axes = row_plot(
        style,
        _estimates_headline(data, style),
        _estimates_subtitle(data, style),
        pd.DataFrame(listed, columns=columns),
        [_name(row, style) for row in rows],
        (180.0, 32.0),
        44,
        680.0,
    )
    places = np.arange(len(rows))
    off = np.array([row.deviation for row in rows])
    low, high = (np.array([(r.interval[end] - r.true) / r.scale for r in rows]) for end in (0, 1))
    axes.axvline(0.0, color=style.original, linewidth=points(2.0), zorder=2)
    pale = style.blend(style.released, 0.45)
    axes.hlines(places, low, high, color=pale, linewidth=points(6.0), zorder=3)
    axes.plot(off, places, "o", color=style.released, markersize=points(8.0), zorder=4)
    _write_estimates(figure, axes, rows, _scaled(axes, low, high, style))
    return figure


def _estimates_headline(data: EstimatesData, style: PlotStyle) -> str:
    """Return how well the worst mean, the median or the worst slope can be estimated."""
    row = _headlined(data.estimates)
    what = style.say(
        "what half of {about} lie below"
        if row.figure is Figure.QUANTILE
        else "how {about} changes with {at}"
        if row.figure is Figure.SLOPE
        else "the mean of {about}",
        about=row.about,
        at=row.at,
    )
    return style.say(
        "From {records} {records:record|records}, {recipient} can estimate {what} to within ±"
        " {units} (95\u202f%)",
        records=amount(data.records, 9),
        recipient=data.recipient,
        what=what,
        units=amount(row.within, 2),
    )


def _headlined(rows: Sequence[FigureEstimate]) -> FigureEstimate:
    """Return the estimate that the headline is about."""
    for figure in (Figure.MEAN, Figure.SLOPE):
        chosen = [row for row in rows if row.figure is figure]
        if chosen:
            return max(chosen, key=lambda row: row.within / row.scale)
    return rows[len(rows) // 2]


def _estimates_subtitle(data: EstimatesData, style: PlotStyle) -> str:
    """Return how to read the marks, and how many intervals hold the true figure."""
    sampled = bool(data.weight) or any(row.figure in POPULATION for row in data.estimates)
    words = style.say(
        "Stroke: the truth. Dot: the estimate, corrected for the noise, with its 95\u202f%"
        " interval for the population behind the records; {inside} of {count} intervals hold the"
        " truth of this table."
        if sampled
        else "Stroke: the truth. Dot: the estimate, corrected for the noise, with its 95\u202f%"
        " interval; {inside} of {count} intervals hold the truth.",
        inside=sum(row.holds for row in data.estimates),
        count=len(data.estimates),
    )
    for row in data.estimates:
        if abs(row.shift) > row.error / 4:
            words += " " + style.say(
                "Numbers beyond the bounds are cut off there, which moves the mean of {about} by"
                " {shift}: no interval tells that.",
                about=row.about,
                shift=amount(row.shift, 2),
            )
    if data.weight:
        words += " " + style.say("Figures of the population, by {column}.", column=data.weight)
    return words


def _name(row: FigureEstimate, style: PlotStyle) -> str:
    return style.say(
        {
            Figure.MEAN: "mean of {about}",
            Figure.SPREAD: "spread of {about}",
            Figure.CORRELATION: "correlation of {about}",
            Figure.QUANTILE: "{at} of {about} are below",
            Figure.INTERCEPT: "{about} with {at} at 0",
            Figure.SLOPE: "{about} for each unit of {at}",
        }[row.figure],
        about=row.about,
        at=row.at,
    )


def _scaled(axes: Axes, low: Floats, high: Floats, style: PlotStyle) -> float:
    """Leave room for the numbers at the right; return how far the marks reach."""
    reach = float(np.max(np.abs([low, high]), initial=0.0)) * 1.08
    reach = reach if np.isfinite(reach) and reach > 0 else 1.0
    axes.set_xlim(-reach, reach * 2.1)
    ticks = [float(tick) for tick in axes.get_xticks() if -reach <= tick <= reach]
    axes.set_xticks(ticks, [amount(tick, 2) for tick in ticks])
    words = style.say("how far off, in standard deviations of the attribute")
    look = label_font(style, style.small)
    axes.set_xlabel(words, color=style.muted, loc="left", **look)  # type: ignore[arg-type]
    return reach


def _write_estimates(
    figure: PlotFigure, axes: Axes, rows: Sequence[FigureEstimate], reach: float
) -> None:
    style = figure.style
    for place, row in enumerate(rows):
        details = {
            "true": amount(row.true),
            "estimated": amount(row.estimated),
            "error": amount(CONFIDENCE_95 * row.error, 2),
        }
        if row.figure is Figure.SPREAD:  # more is left open above than below
            details |= {"low": amount(row.interval[0]), "high": amount(row.interval[1])}
            words = style.say("{estimated} ({low} to {high}), true {true}", **details)
        else:
            words = style.say("{estimated} ± {error}, true {true}", **details)
        write(axes, words, (reach * 1.12, place), style, (0.0, 0.0), weight=400)
        figure.tell_row(axes, place, f"{_name(row, style)}: {words}")


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
        _answers_headline(result, style),
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


def _answers_headline(result: QueryResult, style: PlotStyle) -> str:
    """Return the truth, and the 95 % interval of the best trusted answer."""
    if not result.answers:
        return style.say(
            "{truth} of {matching} matching {matching:record|records} {truth:has|have} the value;"
            " nobody can estimate it",
            truth=whole(result.truth),
            matching=whole(result.matching),
        )
    best = result.answers[0]
    return style.say(
        "{recipient} counts {low} to {high} ({confidence}) where the truth is {truth}",
        recipient=best.recipient,
        low=whole(best.answer.low),
        high=whole(best.answer.high),
        confidence=percent(CONFIDENCE, 0),
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
