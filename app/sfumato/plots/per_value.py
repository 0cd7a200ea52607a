"""Limits of their own for each value: who gains and who pays, and what a looser limit buys."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.engine.core.values import Floats
from sfumato.engine.matrices.estimate import Utility, UtilityPoint
from sfumato.formats.language import localized
from sfumato.plots.axes import (
    fit_percent_ticks,
    name_axes,
    name_line,
    percent,
    quiet_axes,
    row_plot,
    whole,
    write,
)
from sfumato.plots.figure import PlotFigure, PlotStyle, points

MOST_ROWS = 24
"""Values drawn one by one; more are gathered in as many groups, in the same order."""

SAME = 1e-9
"""Retention probabilities that differ by no more are equal."""

BESIDE = 14
"""Letters in a line of a curve's name, where two plots stand side by side."""


@dataclass(frozen=True)
class RetentionData:
    """How often each value is kept, with limits of its own and with one limit for all.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    frequencies
        Their shares, shape (m,).
    own
        Retention probabilities under per-value limits, shape (m,).
    uniform
        The retention probability if all values had the tightest limit.
    """

    names: tuple[str, ...]
    frequencies: Floats
    own: Floats
    uniform: float


@dataclass(frozen=True)
class _Row:
    name: str
    mean: float
    low: float
    high: float
    text: str


def build_retention_by_value(data: RetentionData, style: PlotStyle) -> PlotFigure:
    """Draw each value's retention probability beside that of one limit for all.

    Returns
    -------
    PlotFigure
        Its data has the columns value, share, retention and uniform, for the whole domain.
    """
    rows = _rows(data, style)
    columns = {"value": data.names, "share": data.frequencies, "retention": data.own}
    figure, axes = row_plot(
        style,
        _retention_headline(data, style),
        _retention_subtitle(data, style),
        pd.DataFrame(columns | {"uniform": data.uniform}),
        [row.name for row in rows],
        (150.0, 24.0),
    )
    axes.set_xlim(0.0, max(float(data.own.max()), data.uniform, 1e-12) * 1.08)
    axes.axvline(data.uniform, color=style.text, linewidth=points(1.5), zorder=2)
    for place, row in enumerate(rows):
        colour = _colour(row.mean, data.uniform, style)
        low, high = sorted((data.uniform, row.mean))
        pale = style.blend(colour, 0.5)
        axes.hlines(place, low, high, color=pale, linewidth=points(5.0), zorder=3)
        if row.high - row.low > SAME:
            axes.hlines(place, row.low, row.high, color=colour, linewidth=points(1.5), zorder=3)
        axes.plot(row.mean, place, "o", color=colour, markersize=points(8.0), zorder=4)
        _write_change(axes, place, row.mean - data.uniform, style)
        figure.tell_row(axes, place, row.text)
    fit_percent_ticks(axes, "x")
    return figure


def _retention_headline(data: RetentionData, style: PlotStyle) -> str:
    """Return who gains and who pays, in a sentence."""
    gain = int((data.own > data.uniform + SAME).sum())
    pay = int((data.own < data.uniform - SAME).sum())
    return style.say(
        "{gain} of {count} {count:value|values} {gain:is|are} kept more often than with one limit"
        " for all; {pay} {pay:pays|pay} for it"
        if pay
        else (
            "{gain} of {count} {count:value|values} {gain:is|are} kept more often than with one"
            " limit for all, and none less often"
        )
        if gain
        else "Every value is kept as often as with one limit for all",
        gain=gain,
        count=len(data.names),
        pay=pay,
    )


def _retention_subtitle(data: RetentionData, style: PlotStyle) -> str:
    """Return how to read the marks."""
    words = style.say(
        "Dot: retention probability of a value. Stroke: {uniform} for every value, if all had the"
        " tightest limit.",
        uniform=percent(data.uniform, 1),
    )
    if len(data.names) > MOST_ROWS:
        words += " " + style.say(
            "{count} {count:value|values} in {groups} {groups:group|groups}; a thin line spans a"
            " group.",
            count=whole(len(data.names)),
            groups=MOST_ROWS,
        )
    return words


def _rows(data: RetentionData, style: PlotStyle) -> list[_Row]:
    """Return the rows to draw, those that gain most on top."""
    order = [int(place) for place in np.lexsort((-data.frequencies, -data.own))]
    count = min(len(order), MOST_ROWS)
    edges = [round(place * len(order) / count) for place in range(count + 1)]
    return [_row(data, order[start:end], style) for start, end in itertools.pairwise(edges)]


def _row(data: RetentionData, places: Sequence[int], style: PlotStyle) -> _Row:
    """Return the row of one value, or of several together."""
    own = data.own[list(places)]
    low, high = float(own.min()), float(own.max())
    share = percent(float(data.frequencies[list(places)].sum()), 1)
    if len(places) == 1:
        name = data.names[places[0]]
        text = style.say(
            "{name} ({share} of records): kept with probability {own}, {uniform} with one limit"
            " for all",
            name=name,
            share=share,
            own=percent(low, 2),
            uniform=percent(data.uniform, 2),
        )
        return _Row(name, low, low, low, text)
    text = style.say(
        "{listed}{more} ({share} of records): kept with probability {low} to {high}",
        listed=", ".join(data.names[place] for place in places[:5]),
        more=" …" if len(places) > 5 else "",
        share=share,
        low=percent(low, 2),
        high=percent(high, 2),
    )
    name = style.say("{count} {count:value|values}", count=len(places))
    return _Row(name, float(own.mean()), low, high, text)


def _colour(own: float, uniform: float, style: PlotStyle) -> str:
    if own > uniform + SAME:
        return style.good
    return style.caution if own < uniform - SAME else style.muted


def _write_change(axes: Axes, place: int, change: float, style: PlotStyle) -> None:
    """Write the change in percentage points at the right of a row."""
    equal = abs(change) <= SAME
    decimals = 2 if abs(change) < 0.00995 else 1
    words = (
        "="
        if equal
        else f"{'+' if change > 0 else '−'}{localized(f'{abs(change) * 100:.{decimals}f}')}"
    )
    colour, beside = style.muted if equal else style.text, ("axes fraction", "data")
    at, shift = (1.0, place), (52.0, 0.0)
    write(axes, words, at, style, shift, colour, weight=400, ha="right", xycoords=beside)


# ----- utility over the tolerance


@dataclass(frozen=True)
class CurveData:
    """Both mechanisms over a range of tolerances.

    Parameters
    ----------
    about
        What was released: an attribute's name, or the example's.
    points
        One for each θ, in ascending order.
    draws
        How many releases were drawn for each.
    records
        The number of records, n.
    """

    about: str
    points: tuple[UtilityPoint, ...]
    draws: int
    records: int


def build_utility_curve(data: CurveData, style: PlotStyle) -> PlotFigure:
    """Draw record utility and aggregate utility over θ (Chaytor et al. 2010, Fig. 5).

    Returns
    -------
    PlotFigure
        Its data has a row for each θ: record and aggregate utility of both, by the inverse
        matrix and by iterative Bayesian reconstruction, and the errors in theory and observed.
    """
    gains = [point.fine_grain.record - point.uniform.record for point in data.points]
    best = data.points[int(np.argmax(gains))]
    figure = PlotFigure(
        style,
        style.say(
            "{about}: at θ = {theta}, limits of their own keep {own} of the records, one limit for"
            " all {uniform}",
            about=data.about,
            theta=localized(f"{best.theta:g}"),
            own=percent(best.fine_grain.record, 1),
            uniform=percent(best.uniform.record, 1),
        ),
        style.say(
            "θ: how many times as likely a value may become. Aggregate utility: 1 − mean error of"
            " the estimated shares, iterative Bayesian, mean of {draws} {draws:release|releases}"
            " of {records} {records:record|records}.",
            draws=data.draws,
            records=whole(data.records),
        ),
        _curve_table(data),
        size=(640.0, 330.0),
    )
    left, right = figure.subplots(1, 2)
    record, aggregate = style.say("Records that keep their value"), style.say("Aggregate utility")
    _panel(figure, left, data, record, lambda utility: utility.record)
    _panel(figure, right, data, aggregate, lambda utility: utility.aggregate_bayes)
    return figure


def _curve_table(data: CurveData) -> pd.DataFrame:
    columns: dict[str, list[float]] = {"theta": [point.theta for point in data.points]}
    read = ("record", "aggregate_inverse", "aggregate_bayes", "spread_bayes")
    for side in ("fine_grain", "uniform"):
        for name in (*read, "error_expected", "error_observed"):
            columns[f"{side}_{name}"] = [getattr(getattr(p, side), name) for p in data.points]
    return pd.DataFrame(columns)


def _panel(
    figure: PlotFigure, axes: Axes, data: CurveData, title: str, read: Callable[[Utility], float]
) -> None:
    style = figure.style
    quiet_axes(axes, style, grid="y")
    thetas = [localized(f"{point.theta:g}") for point in data.points]
    own = np.array([read(point.fine_grain) for point in data.points])
    uniform = np.array([read(point.uniform) for point in data.points])
    places = np.arange(len(thetas), dtype=np.float64)
    # The two are told apart by stroke as well as by colour.
    for values, colour, dash in ((own, style.accent, "-"), (uniform, style.released, "--")):
        axes.plot(
            places, values, dash, color=colour, linewidth=points(2.0), marker="o",
            markersize=points(6.0), zorder=3,
        )  # fmt: skip
    axes.set_xticks(places, thetas)
    name_axes(axes, style, "θ", title=title)
    axes.set_xlim(-0.4, len(thetas) - 0.6)
    low, high = min(own.min(), uniform.min()), max(own.max(), uniform.max())
    room = max((high - low) * 0.2, 0.0005)
    axes.set_ylim(max(low - room, -1.0), high + room)
    _name_curves(axes, places, own, uniform, style)
    fit_percent_ticks(axes, "y")
    for place, theta in enumerate(thetas):
        said = style.say(
            "θ = {theta}: limits of their own {own}, one limit for all {uniform}",
            theta=theta,
            own=percent(float(own[place]), 2),
            uniform=percent(float(uniform[place]), 2),
        )
        figure.tell_column(axes, place, said)


def _name_curves(
    axes: Axes, places: Floats, own: Floats, uniform: Floats, style: PlotStyle
) -> None:
    """Name each curve where they are furthest apart: the upper to the left, for both rise."""
    at = int(np.argmax(np.abs(own - uniform)))
    above = own[at] >= uniform[at]
    ends = {0: "left", len(places) - 1: "right"}
    for values, colour, words, up in (
        (own, style.accent, style.say("limits of their own"), above),
        (uniform, style.released, style.say("one limit for all"), not above),
    ):
        align = ends.get(at, "right" if up else "left")
        point = places[at], values[at]
        name_line(axes, point, words, colour, style, above=up, align=align, letters=BESIDE)
