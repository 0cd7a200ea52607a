"""How groups that are given away, and the errors of counts, move with p, ε, δ and the size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.engine.disclosure.group_risk import CurvePoint, Parameter, QueryPoint, Setting
from sfumato.formats.language import localized
from sfumato.plots.axes import (
    Floats,
    name_axes,
    name_ticks,
    percent,
    percent_ticks,
    quiet_axes,
    whole,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

Point = TypeVar("Point", CurvePoint, QueryPoint)
Curve = tuple[str, str, str]
"""Which column of the table is drawn, its stroke and its colour."""


def _draw_panels(
    figure: PlotFigure,
    settings: Sequence[Point],
    curves: Sequence[Curve],
    tell: Callable[[Point, dict[str, str]], str],
    scale: str = "linear",
) -> Sequence[Axes]:
    """Draw a panel for each parameter that was moved.

    Parameters
    ----------
    figure
        Without axes so far; its data has a row for each setting.
    settings
        The settings, parameter by parameter.
    curves
        What is drawn.
    tell
        What is said over a point, given how its setting is called.
    scale
        That of the vertical axis, which the panels share.
    """
    style = figure.style
    table = figure.data
    parameters = list(dict.fromkeys(point.parameter for point in settings))
    panels: Sequence[Axes] = figure.subplots(1, len(parameters), sharey=True, squeeze=False)[0]
    for axes, parameter in zip(panels, parameters, strict=True):
        chosen = [point for point in settings if point.parameter == parameter]
        quiet_axes(axes, style, grid="y")
        axes.set_yscale(scale)
        places = np.arange(len(chosen), dtype=np.float64)
        for field, dash, colour in curves:
            axes.plot(
                places, table[field][table["parameter"] == parameter], dash, color=colour,
                linewidth=points(2.0), marker="o", markersize=points(5.0), zorder=3,
            )  # fmt: skip
        name = style.say("records") if parameter is Parameter.RECORDS else str(parameter)
        ticks = [_tick(parameter, point.value) for point in chosen]
        axes.set_xticks(places, ticks)
        axes.set_xlim(-0.4, len(chosen) - 0.6)
        name_axes(axes, style, name)
        for place, (point, tick) in enumerate(zip(chosen, ticks, strict=True)):
            bounds = (place - 0.5, 1e-9 if scale == "log" else -1.0, place + 0.5, 1e9)
            figure.tell(axes, bounds, tell(point, {"name": name, "value": tick}))
    return panels


def _tick(parameter: Parameter, value: float) -> str:
    if parameter is not Parameter.RECORDS:
        return localized(f"{value:g}")
    return f"{localized(f'{value / 1000:.3g}')}k" if value >= 1_000 else whole(int(value))


def _table(settings: Sequence[Point]) -> pd.DataFrame:
    """Return which parameter each setting moves, and to where."""
    return pd.DataFrame(
        {
            "parameter": [str(point.parameter) for point in settings],
            "value": [point.value for point in settings],
        }
    )


def _start(start: Setting) -> dict[str, str]:
    """Return how the setting is written that all questions start from."""
    return {
        "p": localized(f"{start.retention:.3g}"),
        "epsilon": localized(f"{start.limits.epsilon:g}"),
        "delta": localized(f"{start.limits.delta:g}"),
        "records": whole(start.records),
    }


# ----- groups that are given away


def build_risk_curves(
    attribute: str, test: str, settings: Sequence[CurvePoint], style: PlotStyle
) -> PlotFigure:
    """Draw the violating shares over p, ε, δ and size (Wang, Han and Fu 2012, Figs. 2 and 4).

    Parameters
    ----------
    attribute
        The sensitive attribute.
    test
        What the test is called that is asked for.
    settings
        The settings, parameter by parameter, in ascending order; the last is what all start from.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns parameter, value, groups and records.
    """
    start = settings[-1].setting
    found = [point.found[start.limits.rule] for point in settings]
    table = _table(settings)
    table["groups"] = [each.group_share for each in found]
    table["records"] = [each.record_share for each in found]
    figure = PlotFigure(
        style,
        _risk_headline(attribute, table, style),
        style.say(
            "Around p = {p}, ε = {epsilon}, δ = {delta}, {records} {records:record|records};"
            " {test}. Solid: share of records in groups that can be estimated closely. Dashed:"
            " share of groups.",
            **_start(start),
            test=test,
        ),
        table,
        size=(900.0, 300.0),
    )
    curves = (("records", "-", style.danger), ("groups", "--", style.accent))
    panels = _draw_panels(
        figure,
        settings,
        curves,
        lambda point, setting: style.say(
            "{name} = {value}: {groups} of the groups, {records} of the records",
            **setting,
            groups=percent(point.found[start.limits.rule].group_share, 2),
            records=percent(point.found[start.limits.rule].record_share, 2),
        ),
    )
    panels[0].set_ylim(-0.03, 1.03)
    percent_ticks(panels[0], "y")
    return figure


def _risk_headline(attribute: str, table: pd.DataFrame, style: PlotStyle) -> str:
    """Return what the table's size does, or that nothing violates."""
    if not table["records"].any():
        return style.say(
            "Nowhere near this setting can the shares of {name} be estimated closely",
            name=attribute,
        )
    sizes = table[table["parameter"] == Parameter.RECORDS]
    small, large = (whole(int(sizes["value"].iloc[place])) for place in (0, -1))
    few, many = (float(sizes["records"].iloc[place]) for place in (0, -1))
    return style.say(
        "In a larger table more groups' shares of {attribute} can be estimated closely: {few} of"
        " the records at {small}, {many} at {large}"
        if many > few
        else (
            "{attribute}: {few} of the records are in groups that can be estimated closely at"
            " {small} {small:record|records}, {many} at {large}"
        ),
        attribute=attribute,
        few=percent(few),
        small=small,
        many=percent(many),
        large=large,
    )


# ----- the errors of counts


def build_query_error_curves(
    attribute: str, start: Setting, settings: Sequence[QueryPoint], style: PlotStyle
) -> PlotFigure:
    """Draw mean relative errors over p, ε, δ and size (Wang, Han and Fu 2012, Figs. 3 and 5).

    Parameters
    ----------
    attribute
        The sensitive attribute.
    start
        What all settings start from.
    settings
        The settings, parameter by parameter, in ascending order.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns parameter, value, plain, published and exact.
    """
    table = _table(settings)
    for name in ("plain", "published", "exact"):
        table[name] = np.array([getattr(point, name) for point in settings], dtype=np.float64)
    figure = PlotFigure(
        style,
        _error_headline(attribute, settings[-1], style),
        style.say(
            "Around p = {p}, ε = {epsilon}, δ = {delta}, {records} {records:record|records}."
            " Solid: plain release; dashed: groups protected by the published algorithm; dotted:"
            " by the exact test.",
            **_start(start),
        ),
        table,
        size=(900.0, 310.0),
    )
    curves = (
        ("plain", "-", style.accent),
        ("published", "--", style.released),
        ("exact", ":", style.good),
    )
    panels = _draw_panels(
        figure,
        settings,
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
    _mark_factors(panels[0], table[[name for name, _, _ in curves]].to_numpy())
    return figure


def _error_headline(attribute: str, start: QueryPoint, style: PlotStyle) -> str:
    """Return what protection costs at the setting all questions start from."""
    return style.say(
        "Counts of {attribute} are off by {plain} on average; with groups protected as"
        " published, by {published}"
        if start.exact is None
        else "Counts of {attribute} are off by {plain} on average; with groups protected as"
        " published, by {published}, by the exact test, {exact}",
        attribute=attribute,
        plain=percent(start.plain),
        published=_share(start.published, None),
        exact=_share(start.exact, None),
    )


def _mark_factors(axes: Axes, errors: Floats) -> None:
    """Mark the error in percent, on a scale of factors."""
    low, high = max(float(np.nanmin(errors)), 1e-4) / 1.3, float(np.nanmax(errors)) * 1.3
    marks = [factor * 10.0**power for power in range(-4, 4) for factor in (1.0, 3.0)]
    ticks = [mark for mark in marks if low <= mark <= high]
    axes.set_ylim(low, high)
    axes.minorticks_off()
    name_ticks(axes, "y", ticks, [percent(tick) for tick in ticks])


def _share(value: float | None, decimals: int | None = 1) -> str:
    return "–" if value is None else percent(value, decimals)
