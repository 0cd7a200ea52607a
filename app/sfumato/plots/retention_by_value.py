"""The question: who gains and who pays when each value has a limit of its own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

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

Floats = npt.NDArray[np.float64]

MOST_ROWS = 24
"""Values drawn one by one; more are gathered in as many groups, in the same order."""

SAME = 1e-9
"""Retention probabilities that differ by no more are equal."""


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

    Parameters
    ----------
    data
        The probabilities.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns value, share, retention and uniform, for the whole domain.
    """
    rows = _rows(data, style)
    figure = PlotFigure(
        style,
        headline(data, style),
        subtitle(data, style),
        pd.DataFrame(
            {
                "value": data.names,
                "share": data.frequencies,
                "retention": data.own,
                "uniform": data.uniform,
            }
        ),
        size=(640.0, 150.0 + 24.0 * len(rows)),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, [row.name for row in rows], style)
    highest = max(float(data.own.max()), data.uniform, 1e-12)
    axes.set_xlim(0.0, highest * 1.08)
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
        figure.hover.append(HoverRegion(axes, (-1.0, place - 0.5, 9.0, place + 0.5), row.text))
    _percent_ticks(axes, style)
    return figure


def headline(data: RetentionData, style: PlotStyle) -> str:
    """Return who gains and who pays, in a sentence."""
    gain = int((data.own > data.uniform + SAME).sum())
    pay = int((data.own < data.uniform - SAME).sum())
    count = len(data.names)
    if gain == 0 and pay == 0:
        return style.say("Every value is kept as often as with one limit for all")
    if pay == 0:
        return style.say(
            "{gain} of {count} values are kept more often than with one limit for all, and none"
            " less often",
            gain=gain,
            count=count,
        )
    return style.say(
        "{gain} of {count} values are kept more often than with one limit for all; {pay} pay for"
        " it",
        gain=gain,
        count=count,
        pay=pay,
    )


def subtitle(data: RetentionData, style: PlotStyle) -> str:
    """Return how to read the marks."""
    words = style.say(
        "Dot: retention probability of a value. Stroke: {uniform} for every value, if all had the"
        " tightest limit.",
        uniform=percent(data.uniform, 1),
    )
    if len(data.names) > MOST_ROWS:
        words += " " + style.say(
            "{count} values in {groups} groups; a thin line spans a group.",
            count=f"{len(data.names):,}".replace(",", "\u202f"),
            groups=MOST_ROWS,
        )
    return words


def _rows(data: RetentionData, style: PlotStyle) -> list[_Row]:
    """Return the rows to draw, those that gain most on top."""
    order = np.lexsort((-data.frequencies, -data.own))
    if len(order) <= MOST_ROWS:
        return [_single(data, int(place), style) for place in order]
    edges = [round(place * len(order) / MOST_ROWS) for place in range(MOST_ROWS + 1)]
    return [_group(data, order[start:end], style) for start, end in itertools.pairwise(edges)]


def _single(data: RetentionData, place: int, style: PlotStyle) -> _Row:
    kept = float(data.own[place])
    text = style.say(
        "{name} ({share} of records): kept with probability {own}, {uniform} with one limit for"
        " all",
        name=data.names[place],
        share=percent(float(data.frequencies[place]), 1),
        own=percent(kept, 2),
        uniform=percent(data.uniform, 2),
    )
    return _Row(data.names[place], kept, kept, kept, text)


def _group(data: RetentionData, places: npt.NDArray[np.intp], style: PlotStyle) -> _Row:
    own = data.own[places]
    name = style.say("{count} values", count=len(places))
    if len(places) == 1:
        return _single(data, int(places[0]), style)
    listed = ", ".join(data.names[place] for place in places[:5])
    text = style.say(
        "{listed}{more} ({share} of records): kept with probability {low} to {high}",
        listed=listed,
        more=" …" if len(places) > 5 else "",
        share=percent(float(data.frequencies[places].sum()), 1),
        low=percent(float(own.min()), 2),
        high=percent(float(own.max()), 2),
    )
    return _Row(name, float(own.mean()), float(own.min()), float(own.max()), text)


def _colour(own: float, uniform: float, style: PlotStyle) -> str:
    if own > uniform + SAME:
        return style.good
    return style.caution if own < uniform - SAME else style.muted


def _write_change(axes: Axes, place: int, change: float, style: PlotStyle) -> None:
    """Write the change in percentage points at the right of a row."""
    equal = abs(change) <= SAME
    decimals = 2 if abs(change) < 0.00995 else 1
    axes.annotate(
        "=" if equal else f"{'+' if change > 0 else '−'}{abs(change) * 100:.{decimals}f}",
        (1.0, place),
        xycoords=("axes fraction", "data"),
        xytext=(points(52.0), 0),
        textcoords="offset points",
        ha="right",
        va="center",
        color=style.muted if equal else style.text,
        **label_font(style, style.small, 400),  # type: ignore[arg-type]
    )


def _percent_ticks(axes: Axes, style: PlotStyle) -> None:
    low, high = axes.get_xlim()
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= min(high, 1.0)]
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    decimals = 0 if step >= 0.00995 else 1 if step >= 0.000995 else 2
    axes.set_xticks(ticks, [percent(float(tick), decimals) for tick in ticks])
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
