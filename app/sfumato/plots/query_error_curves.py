"""The question: what does protecting small groups cost those who count."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
from sfumato.plots.style import PlotStyle


@dataclass(frozen=True)
class ErrorPoint:
    """One setting.

    Parameters
    ----------
    parameter
        What was moved: ``p``, ``ε``, ``δ`` or ``records``.
    value
        To where.
    plain, published, exact
        The mean relative error from a plain release, from one protected by the published
        algorithm and from one protected by the exact test; NaN where limits can't be kept.
    """

    parameter: str
    value: float
    plain: float
    published: float
    exact: float


@dataclass(frozen=True)
class ErrorCurveData:
    """Four questions around one setting.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    retention, epsilon, delta, records
        What the questions start from.
    points
        The settings, parameter by parameter, in ascending order.
    """

    attribute: str
    retention: float
    epsilon: float
    delta: float
    records: int
    points: tuple[ErrorPoint, ...]


def build_query_error_curves(data: ErrorCurveData, style: PlotStyle) -> PlotFigure:
    """Draw mean relative errors over p, ε, δ and size (Wang, Han and Fu 2012, Figs. 3 and 5).

    Parameters
    ----------
    data
        The errors.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns parameter, value, plain, published and exact.
    """
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Around p = {p}, ε = {epsilon}, δ = {delta}, {records} records. Solid: plain release;"
            " dashed: groups protected by the published algorithm; dotted: by the exact test.",
            p=f"{data.retention:.3g}",
            epsilon=f"{data.epsilon:g}",
            delta=f"{data.delta:g}",
            records=f"{data.records:,}".replace(",", "\u202f"),
        ),
        pd.DataFrame([vars(point) for point in data.points]),
        size=(900.0, 310.0),
    )
    parameters = list(dict.fromkeys(point.parameter for point in data.points))
    panels = figure.subplots(1, len(parameters), sharey=True, squeeze=False)[0]
    for axes, parameter in zip(panels, parameters, strict=True):
        chosen = [point for point in data.points if point.parameter == parameter]
        _panel(figure, axes, parameter, chosen, style)
    _share_axis(panels[0], data, style)
    return figure


def headline(data: ErrorCurveData, style: PlotStyle) -> str:
    """Return what protection costs at the setting all questions start from."""
    start = data.points[-1]
    if math.isnan(start.exact):
        return style.say(
            "Counts of {attribute} are off by {plain} on average; with groups protected as"
            " published, by {published}",
            attribute=data.attribute,
            plain=percent(start.plain),
            published=percent(start.published),
        )
    return style.say(
        "Counts of {attribute} are off by {plain} on average; with groups protected as published,"
        " by {published}, by the exact test, {exact}",
        attribute=data.attribute,
        plain=percent(start.plain),
        published=percent(start.published),
        exact=percent(start.exact),
    )


def _panel(
    figure: PlotFigure, axes: Axes, parameter: str, chosen: list[ErrorPoint], style: PlotStyle
) -> None:
    quiet_axes(axes, style, grid="y")
    axes.set_yscale("log")
    places = np.arange(len(chosen), dtype=np.float64)
    for values, dash, colour in (
        ([point.plain for point in chosen], "-", style.accent),
        ([point.published for point in chosen], "--", style.released),
        ([point.exact for point in chosen], ":", style.good),
    ):
        axes.plot(
            places, values, dash, color=colour, linewidth=points(2.0), marker="o",
            markersize=points(5.0), zorder=3,
        )  # fmt: skip
    name = style.say("records") if parameter == "records" else parameter
    axes.set_xticks(places, [_tick(parameter, point.value) for point in chosen])
    axes.set_xlim(-0.4, len(chosen) - 0.6)
    axes.set_xlabel(name, color=style.muted, **label_font(style, style.small))  # type: ignore[arg-type]
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
    for place, point in enumerate(chosen):
        text = style.say(
            "{name} = {value}: plain {plain}, as published {published}, exact {exact}",
            name=name,
            value=_tick(parameter, point.value),
            plain=percent(point.plain, 1),
            published=_share(point.published),
            exact=_share(point.exact),
        )
        figure.hover.append(HoverRegion(axes, (place - 0.5, 1e-9, place + 0.5, 1e9), text))


def _share_axis(axes: Axes, data: ErrorCurveData, style: PlotStyle) -> None:
    """Mark the error in percent, on a scale of factors."""
    errors = np.array([[point.plain, point.published, point.exact] for point in data.points])
    low, high = float(np.nanmin(errors)), float(np.nanmax(errors))
    low, high = max(low, 1e-4) / 1.3, high * 1.3
    ticks = [
        factor * 10.0**power
        for power in range(-4, 4)
        for factor in (1.0, 3.0)
        if low <= factor * 10.0**power <= high
    ]
    axes.set_ylim(low, high)
    axes.minorticks_off()
    axes.set_yticks(ticks, [percent(tick) for tick in ticks])
    for label in axes.get_yticklabels():
        label.set_fontfamily(style.font_family)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else percent(value, 1)


def _tick(parameter: str, value: float) -> str:
    if parameter != "records":
        return f"{value:g}"
    if value >= 1_000:
        return f"{value / 1000:.3g}k"
    return f"{int(value):,}".replace(",", "\u202f")
