"""The question: what do thousands of releases cost by multi-pert."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from sfumato.engine.disclosure.experiments.history_cost import HistoryCost
from sfumato.plots.figure import HoverRegion, PlotFigure, points, quiet_axes
from sfumato.plots.lines import house_font, title_axes
from sfumato.plots.style import PlotStyle

_DASHES = ("-", "--", ":")


@dataclass(frozen=True)
class HistoryData:
    """The costs in each order of the requests; at least one."""

    costs: tuple[HistoryCost, ...]


def build_history_cost(data: HistoryData, style: PlotStyle) -> PlotFigure:
    """Draw the mean length of history(t), and the time of a release, over the releases.

    Parameters
    ----------
    data
        The costs.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns order, releases, length, bound and seconds.
    """
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "{records} records. Dotted grey: the bound 1 + ln(p_max/p_min) of the random order.",
            records=f"{data.costs[0].records:,}".replace(",", "\u202f"),
        ),
        _table(data),
        size=(640.0, 340.0),
    )
    left, right = figure.subplots(1, 2)
    colours = (style.accent, style.released, style.good)
    for axes, title in (
        (left, style.say("Mean length of a record's history")),
        (right, style.say("Milliseconds for a release")),
    ):
        quiet_axes(axes, style, grid="y")
        title_axes(axes, title, style.say("Releases so far"), style)
        axes.set_xscale("log")
    left.plot(data.costs[0].releases, data.costs[0].bound, ":", color=style.muted)
    for cost, colour, dash in zip(data.costs, colours, _DASHES, strict=False):
        line = {"color": colour, "linestyle": dash, "linewidth": points(2.0)}
        left.plot(cost.releases, cost.length, label=style.say(cost.order.value), **line)
        right.plot(cost.releases, 1000 * cost.seconds, **line)
        _say_values(figure, cost, style)
    legend = left.legend(
        frameon=False,
        labelcolor=style.text,
        loc="upper left",
        prop={"family": style.font_family, "size": points(style.small)},
    )
    legend.set_in_layout(False)
    left.set_ylim(0.0, None)
    right.set_ylim(0.0, None)
    for axes in (left, right):
        last = float(data.costs[0].releases[-1])
        ticks = [tick for tick in (1, 10, 100, 1000, 10_000, 100_000) if tick <= last]
        axes.set_xticks(ticks, [f"{tick:,}".replace(",", "\u202f") for tick in ticks])
        axes.minorticks_off()
        house_font(axes, style)
    return figure


def _table(data: HistoryData) -> pd.DataFrame:
    tables = [
        pd.DataFrame(
            {
                "order": cost.order.value,
                "releases": cost.releases.astype(int),
                "length": cost.length,
                "bound": cost.bound,
                "seconds": cost.seconds,
            }
        )
        for cost in data.costs
    ]
    return pd.concat(tables, ignore_index=True)


def headline(data: HistoryData, style: PlotStyle) -> str:
    """Return what is kept at the end, and the bound."""
    longest = max(float(cost.length[-1]) for cost in data.costs)
    return style.say(
        "After {count} releases a record's history has {length} entries on average; the bound is"
        " {bound}",
        count=f"{int(data.costs[0].releases[-1]):,}".replace(",", "\u202f"),
        length=f"{longest:.2f}",
        bound=f"{float(data.costs[0].bound[-1]):.2f}",
    )


def _say_values(figure: PlotFigure, cost: HistoryCost, style: PlotStyle) -> None:
    """Let each point tell its values; a later order is told where two lie over one another."""
    left, right = figure.axes[:2]
    for place, count in enumerate(cost.releases.tolist()):
        length, spent = float(cost.length[place]), 1000 * float(cost.seconds[place])
        text = style.say(
            "{count} releases, {order}: {length} entries a record, {time} ms a release",
            count=f"{int(count):,}".replace(",", "\u202f"),
            order=style.say(cost.order.value),
            length=f"{length:.2f}",
            time=f"{spent:.2g}",
        )
        sides = (count / 1.08, count * 1.08)
        reach = 0.04 * float(cost.bound.max())
        figure.hover.append(
            HoverRegion(left, (sides[0], length - reach, sides[1], length + reach), text)
        )
        reach = 40.0 * float(cost.seconds.max())
        figure.hover.append(
            HoverRegion(right, (sides[0], spent - reach, sides[1], spent + reach), text)
        )
