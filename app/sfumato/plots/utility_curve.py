"""The question: what does a looser tolerance buy, per value and for one limit for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.engine.mechanisms.per_value.utility_curve import Utility, UtilityPoint
from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]
Reading = Callable[[Utility], float]


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

    Parameters
    ----------
    data
        The points.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each θ: record and aggregate utility of both, by the inverse
        matrix and by iterative Bayesian reconstruction, and the errors in theory and observed.
    """
    figure = PlotFigure(
        style, headline(data, style), subtitle(data, style), _table(data), size=(640.0, 330.0)
    )
    left, right = figure.subplots(1, 2)
    _panel(figure, left, data, style, style.say("Records that keep their value"), _record)
    _panel(figure, right, data, style, style.say("Aggregate utility"), _aggregate)
    return figure


def headline(data: CurveData, style: PlotStyle) -> str:
    """Return where limits of their own gain most."""
    gains = [p.fine_grain.record - p.uniform.record for p in data.points]
    best = data.points[int(np.argmax(gains))]
    return style.say(
        "{about}: at θ = {theta}, limits of their own keep {own} of the records, one limit for all"
        " {uniform}",
        about=data.about,
        theta=f"{best.theta:g}",
        own=percent(best.fine_grain.record, 1),
        uniform=percent(best.uniform.record, 1),
    )


def subtitle(data: CurveData, style: PlotStyle) -> str:
    """Return what was done, and what aggregate utility is."""
    return style.say(
        "θ: how many times as likely a value may become. Aggregate utility: 1 − mean error of the"
        " estimated shares, iterative Bayesian, mean of {draws} releases of {records} records.",
        draws=data.draws,
        records=f"{data.records:,}".replace(",", "\u202f"),
    )


def _record(utility: Utility) -> float:
    return utility.record


def _aggregate(utility: Utility) -> float:
    return utility.aggregate_bayes


def _table(data: CurveData) -> pd.DataFrame:
    columns: dict[str, list[float]] = {"theta": [p.theta for p in data.points]}
    for side in ("fine_grain", "uniform"):
        for name in (
            "record",
            "aggregate_inverse",
            "aggregate_bayes",
            "spread_bayes",
            "error_expected",
            "error_observed",
        ):
            columns[f"{side}_{name}"] = [getattr(getattr(p, side), name) for p in data.points]
    return pd.DataFrame(columns)


def _panel(
    figure: PlotFigure, axes: Axes, data: CurveData, style: PlotStyle, title: str, read: Reading
) -> None:
    quiet_axes(axes, style, grid="y")
    thetas = np.array([p.theta for p in data.points])
    own = np.array([read(p.fine_grain) for p in data.points])
    uniform = np.array([read(p.uniform) for p in data.points])
    places = np.arange(len(thetas), dtype=np.float64)
    # The two are told apart by stroke as well as by colour.
    for values, colour, dash in ((own, style.accent, "-"), (uniform, style.released, "--")):
        axes.plot(
            places, values, dash, color=colour, linewidth=points(2.0), marker="o",
            markersize=points(6.0), zorder=3,
        )  # fmt: skip
    axes.set_title(title, loc="left", color=style.text, pad=8, **label_font(style, weight=600))  # type: ignore[arg-type]
    axes.set_xticks(places, [f"{theta:g}" for theta in thetas])
    axes.set_xlabel("θ", color=style.muted, **label_font(style, style.small))  # type: ignore[arg-type]
    axes.set_xlim(-0.4, len(thetas) - 0.6)
    low, high = min(own.min(), uniform.min()), max(own.max(), uniform.max())
    room = max((high - low) * 0.2, 0.0005)
    axes.set_ylim(max(low - room, -1.0), high + room)
    _name_curves(axes, places, own, uniform, style)
    _percent_ticks(axes, style)
    for place, theta in enumerate(thetas):
        text = style.say(
            "θ = {theta}: limits of their own {own}, one limit for all {uniform}",
            theta=f"{theta:g}",
            own=percent(float(own[place]), 2),
            uniform=percent(float(uniform[place]), 2),
        )
        figure.hover.append(HoverRegion(axes, (place - 0.5, -9.0, place + 0.5, 9.0), text))


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
        axes.annotate(
            words,
            (places[at], values[at]),
            xytext=(0, points(10.0 if up else -10.0)),
            textcoords="offset points",
            ha=ends.get(at, "right" if up else "left"),
            va="bottom" if up else "top",
            color=colour,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )


def _percent_ticks(axes: Axes, style: PlotStyle) -> None:
    low, high = axes.get_ylim()
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= min(high, 1.0 + 1e-9)]
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    decimals = 0 if step >= 0.00995 else 1 if step >= 0.000995 else 2
    axes.set_yticks(ticks, [percent(float(tick), decimals) for tick in ticks])
    for label in axes.get_yticklabels():
        label.set_fontfamily(style.font_family)
