"""How groups that are given away, and the errors of counts, move with p, ε, δ and the size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.formats.language import localized
from sfumato.plots.axes import name_axes, name_ticks, percent, percent_ticks, quiet_axes, whole
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle


@dataclass(frozen=True)
class RiskPoint:
    """One setting.

    Parameters
    ----------
    parameter
        What was moved: ``p``, ``ε``, ``δ`` or ``records``.
    value
        To where.
    groups, records
        The shares of groups, and of records in them, that violate.
    """

    parameter: str
    value: float
    groups: float
    records: float


@dataclass(frozen=True)
class RiskCurveData:
    """Four questions around one setting.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    retention, epsilon, delta, records
        What the questions start from.
    test
        The test's name.
    points
        The settings, parameter by parameter, in ascending order.
    """

    attribute: str
    retention: float
    epsilon: float
    delta: float
    records: int
    test: str
    points: tuple[RiskPoint, ...]


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


Point = TypeVar("Point", RiskPoint, ErrorPoint)


def _draw_panels(
    figure: PlotFigure,
    settings: Sequence[Point],
    curves: Sequence[tuple[str, str, str]],
    tell: Callable[[Point, dict[str, str]], str],
    scale: str = "linear",
) -> Sequence[Axes]:
    """Draw a panel for each parameter that was moved.

    Parameters
    ----------
    figure
        Without axes so far.
    settings
        The points, parameter by parameter.
    curves
        Which field of a point is drawn, its stroke and its colour.
    tell
        What is said over a point, given how its setting is called.
    scale
        That of the vertical axis, which the panels share.
    """
    style = figure.style
    parameters = list(dict.fromkeys(point.parameter for point in settings))
    panels: Sequence[Axes] = figure.subplots(1, len(parameters), sharey=True, squeeze=False)[0]
    for axes, parameter in zip(panels, parameters, strict=True):
        chosen = [point for point in settings if point.parameter == parameter]
        quiet_axes(axes, style, grid="y")
        axes.set_yscale(scale)
        places = np.arange(len(chosen), dtype=np.float64)
        for field, dash, colour in curves:
            axes.plot(
                places, [getattr(point, field) for point in chosen], dash, color=colour,
                linewidth=points(2.0), marker="o", markersize=points(5.0), zorder=3,
            )  # fmt: skip
        name = style.say("records") if parameter == "records" else parameter
        ticks = [_tick(parameter, point.value) for point in chosen]
        axes.set_xticks(places, ticks)
        axes.set_xlim(-0.4, len(chosen) - 0.6)
        name_axes(axes, style, name)
        for place, (point, tick) in enumerate(zip(chosen, ticks, strict=True)):
            bounds = (place - 0.5, 1e-9 if scale == "log" else -1.0, place + 0.5, 1e9)
            figure.tell(axes, bounds, tell(point, {"name": name, "value": tick}))
    return panels


def _tick(parameter: str, value: float) -> str:
    if parameter != "records":
        return localized(f"{value:g}")
    return f"{localized(f'{value / 1000:.3g}')}k" if value >= 1_000 else whole(int(value))


def _start(data: RiskCurveData | ErrorCurveData) -> dict[str, str]:
    """Return how the setting is written that all questions start from."""
    return {
        "p": localized(f"{data.retention:.3g}"),
        "epsilon": localized(f"{data.epsilon:g}"),
        "delta": localized(f"{data.delta:g}"),
        "records": whole(data.records),
    }


# ----- groups that are given away


def build_risk_curves(data: RiskCurveData, style: PlotStyle) -> PlotFigure:
    """Draw the violating shares over p, ε, δ and size (Wang, Han and Fu 2012, Figs. 2 and 4).

    Returns
    -------
    PlotFigure
        Its data has the columns parameter, value, groups and records.
    """
    figure = PlotFigure(
        style,
        _risk_headline(data, style),
        style.say(
            "Around p = {p}, ε = {epsilon}, δ = {delta}, {records} {records:record|records};"
            " {test}. Solid: share of records in groups that can be estimated closely. Dashed:"
            " share of groups.",
            **_start(data),
            test=data.test,
        ),
        pd.DataFrame([vars(point) for point in data.points]),
        size=(900.0, 300.0),
    )
    curves = (("records", "-", style.danger), ("groups", "--", style.accent))
    panels = _draw_panels(
        figure,
        data.points,
        curves,
        lambda point, setting: style.say(
            "{name} = {value}: {groups} of the groups, {records} of the records",
            **setting,
            groups=percent(point.groups, 2),
            records=percent(point.records, 2),
        ),
    )
    panels[0].set_ylim(-0.03, 1.03)
    percent_ticks(panels[0], "y")
    return figure


def _risk_headline(data: RiskCurveData, style: PlotStyle) -> str:
    """Return what the table's size does, or that nothing violates."""
    sizes = [point for point in data.points if point.parameter == "records"]
    if not any(point.records for point in data.points):
        return style.say(
            "Nowhere near this setting can the shares of {name} be estimated closely",
            name=data.attribute,
        )
    first, last = sizes[0], sizes[-1]
    return style.say(
        "In a larger table more groups' shares of {attribute} can be estimated closely: {few} of"
        " the records at {small}, {many} at {large}"
        if last.records > first.records
        else (
            "{attribute}: {few} of the records are in groups that can be estimated closely at"
            " {small} {small:record|records}, {many} at {large}"
        ),
        attribute=data.attribute,
        few=percent(first.records),
        small=whole(int(first.value)),
        many=percent(last.records),
        large=whole(int(last.value)),
    )


# ----- the errors of counts


def build_query_error_curves(data: ErrorCurveData, style: PlotStyle) -> PlotFigure:
    """Draw mean relative errors over p, ε, δ and size (Wang, Han and Fu 2012, Figs. 3 and 5).

    Returns
    -------
    PlotFigure
        Its data has the columns parameter, value, plain, published and exact.
    """
    figure = PlotFigure(
        style,
        _error_headline(data, style),
        style.say(
            "Around p = {p}, ε = {epsilon}, δ = {delta}, {records} {records:record|records}."
            " Solid: plain release; dashed: groups protected by the published algorithm; dotted:"
            " by the exact test.",
            **_start(data),
        ),
        pd.DataFrame([vars(point) for point in data.points]),
        size=(900.0, 310.0),
    )
    curves = (
        ("plain", "-", style.accent),
        ("published", "--", style.released),
        ("exact", ":", style.good),
    )
    panels = _draw_panels(
        figure,
        data.points,
        curves,
        lambda point, setting: style.say(
            "{name} = {value}: plain {plain}, as published {published}, exact {exact}",
            **setting,
            plain=percent(point.plain, 1),
            published=_share(point.published),
            exact=_share(point.exact),
        ),
        "log",
    )
    _mark_factors(panels[0], data)
    return figure


def _error_headline(data: ErrorCurveData, style: PlotStyle) -> str:
    """Return what protection costs at the setting all questions start from."""
    start = data.points[-1]
    return style.say(
        "Counts of {attribute} are off by {plain} on average; with groups protected as"
        " published, by {published}"
        if math.isnan(start.exact)
        else "Counts of {attribute} are off by {plain} on average; with groups protected as"
        " published, by {published}, by the exact test, {exact}",
        attribute=data.attribute,
        plain=percent(start.plain),
        published=percent(start.published),
        exact=_share(start.exact, None),
    )


def _mark_factors(axes: Axes, data: ErrorCurveData) -> None:
    """Mark the error in percent, on a scale of factors."""
    errors = np.array([[point.plain, point.published, point.exact] for point in data.points])
    low, high = max(float(np.nanmin(errors)), 1e-4) / 1.3, float(np.nanmax(errors)) * 1.3
    marks = [factor * 10.0**power for power in range(-4, 4) for factor in (1.0, 3.0)]
    ticks = [mark for mark in marks if low <= mark <= high]
    axes.set_ylim(low, high)
    axes.minorticks_off()
    name_ticks(axes, "y", ticks, [percent(tick) for tick in ticks])


def _share(value: float, decimals: int | None = 1) -> str:
    return "–" if math.isnan(value) else percent(value, decimals)
