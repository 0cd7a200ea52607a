"""The question: how do the groups that are given away move with p, ε, δ and the table's size."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
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


def build_risk_curves(data: RiskCurveData, style: PlotStyle) -> PlotFigure:
    """Draw the violating shares over p, ε, δ and size (Wang, Han and Fu 2012, Figs. 2 and 4).

    Parameters
    ----------
    data
        The shares.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns parameter, value, groups and records.
    """
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Around p = {p}, ε = {epsilon}, δ = {delta}, {records} records; {test}."
            " Solid: share of records in groups that are given away. Dashed: share of groups.",
            p=f"{data.retention:.3g}",
            epsilon=f"{data.epsilon:g}",
            delta=f"{data.delta:g}",
            records=f"{data.records:,}".replace(",", "\u202f"),
            test=data.test,
        ),
        pd.DataFrame([vars(point) for point in data.points]),
        size=(900.0, 300.0),
    )
    parameters = list(dict.fromkeys(point.parameter for point in data.points))
    panels = figure.subplots(1, len(parameters), sharey=True, squeeze=False)[0]
    for axes, parameter in zip(panels, parameters, strict=True):
        chosen = [point for point in data.points if point.parameter == parameter]
        _panel(figure, axes, parameter, chosen, style)
    return figure


def headline(data: RiskCurveData, style: PlotStyle) -> str:
    """Return what the table's size does, or that nothing violates."""
    sizes = [point for point in data.points if point.parameter == "records"]
    if not any(point.records for point in data.points):
        return style.say("Nowhere near this setting is {name} given away", name=data.attribute)
    first, last = sizes[0], sizes[-1]
    return style.say(
        "A larger table gives more of its {attribute} away: {few} of the records at {small},"
        " {many} at {large}"
        if last.records > first.records
        else "{attribute}: {few} of the records are given away at {small} records, {many} at"
        " {large}",
        attribute=data.attribute,
        few=percent(first.records),
        small=f"{int(first.value):,}".replace(",", "\u202f"),
        many=percent(last.records),
        large=f"{int(last.value):,}".replace(",", "\u202f"),
    )


def _panel(
    figure: PlotFigure, axes: Axes, parameter: str, chosen: list[RiskPoint], style: PlotStyle
) -> None:
    quiet_axes(axes, style, grid="y")
    places = list(range(len(chosen)))
    for values, dash, colour in (
        ([point.records for point in chosen], "-", style.danger),
        ([point.groups for point in chosen], "--", style.accent),
    ):
        axes.plot(
            places, values, dash, color=colour, linewidth=points(2.0), marker="o",
            markersize=points(5.0), zorder=3,
        )  # fmt: skip
    axes.set_xticks(places, [_tick(parameter, point.value) for point in chosen])
    axes.set_xlim(-0.4, len(chosen) - 0.6)
    axes.set_ylim(-0.03, 1.03)
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    axes.set_yticks(shares, [percent(share, 0) for share in shares])
    name = style.say("records") if parameter == "records" else parameter
    axes.set_xlabel(name, color=style.muted, **label_font(style, style.small))  # type: ignore[arg-type]
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)
    for place, point in enumerate(chosen):
        text = style.say(
            "{name} = {value}: {groups} of the groups, {records} of the records",
            name=name,
            value=_tick(parameter, point.value),
            groups=percent(point.groups, 2),
            records=percent(point.records, 2),
        )
        figure.hover.append(HoverRegion(axes, (place - 0.5, -1.0, place + 0.5, 2.0), text))


def _tick(parameter: str, value: float) -> str:
    if parameter != "records":
        return f"{value:g}"
    if value >= 1_000:
        return f"{value / 1000:.3g}k"
    return f"{int(value):,}".replace(",", "\u202f")
