"""The figures of the experiments, drawn as the paper draws them."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes

from sfumato.plots.axes import name_axes, percent_axis, quiet_axes
from sfumato.plots.coalitions import GrowthData, build_risk_growth
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle
from tests.benchmarks.multi_level.collusion import RECIPIENTS, Pair
from tests.benchmarks.multi_level.experiments import Figure, Outcome, findings, table_of
from tests.benchmarks.multi_level.history_cost import HistoryCost

_DASHES: Final = ("-", "--", ":")


def build_experiment(outcome: Outcome, style: PlotStyle) -> PlotFigure:
    """Draw an experiment's outcome as the paper does, below what was found.

    Parameters
    ----------
    outcome
        What was found.
    style
        The look.
    """
    if outcome.growth:
        return build_risk_growth(GrowthData("value", outcome.growth), style)
    how, headline, *_ = findings(outcome)
    figure = PlotFigure(style, headline, how, table_of(outcome), size=(640.0, 340.0))
    if outcome.costs:
        _draw_costs(figure, outcome.costs)
    else:
        names = ("together", f"{RECIPIENTS[-1]} alone")
        if outcome.figure is Figure.EQUIVALENCE:
            names = ("simulated", "uniform perturbation")
        _draw_pair(figure, outcome.compared.worst, *names)
    return figure


def _draw_pair(figure: PlotFigure, worst: Pair, found_name: str, expected_name: str) -> None:
    """Draw the pair of distributions that differ most (Fig. 5 and 6)."""
    style, axes = figure.style, figure.add_subplot()
    values = np.arange(1, len(worst.found) + 1)
    quiet_axes(axes, style, grid="y")
    axes.bar(values, worst.expected, color=style.blend(style.original, 0.45), label=expected_name)
    axes.plot(values, worst.found, "o", color=style.released, label=found_name)
    axes.set_xticks(values[:: max(1, round(len(values) / 10))])
    percent_axis(axes, "y", min(1.2 * float(max(worst.expected.max(), worst.found.max())), 1.0))
    name_axes(axes, style, "Value, by its place in the domain")
    _name_lines(axes, style)


def _draw_costs(figure: PlotFigure, costs: tuple[HistoryCost, ...]) -> None:
    """Draw the mean length of history(t), and the time of a release, over the releases (Fig. 8)."""
    style, (left, right) = figure.style, figure.subplots(1, 2)
    for axes, title in (
        (left, "Mean length of a record's history"),
        (right, "Milliseconds for a release"),
    ):
        quiet_axes(axes, style, grid="y")
        name_axes(axes, style, "Releases so far", title=title)
        axes.set_xscale("log")
    bound = "1 + ln(p_max/p_min)"
    left.plot(costs[0].releases, costs[0].bound, ":", color=style.muted, label=bound)
    colours = (style.accent, style.released, style.good)
    for cost, colour, dash in zip(costs, colours, _DASHES, strict=True):
        line = {"color": colour, "linestyle": dash, "linewidth": points(2.0)}
        left.plot(cost.releases, cost.length, label=cost.order.value, **line)
        right.plot(cost.releases, 1000 * cost.seconds, **line)
    _name_lines(left, style, "lower right")
    for axes in (left, right):
        axes.set_ylim(0.0, None)


def _name_lines(axes: Axes, style: PlotStyle, where: str = "best") -> None:
    font = {"family": style.font_family, "size": points(style.small)}
    axes.legend(frameon=False, labelcolor=style.text, loc=where, prop=font)
