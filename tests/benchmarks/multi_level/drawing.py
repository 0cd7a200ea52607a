"""The figures of the experiments, drawn as the paper draws them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sfumato.plots.axes import name_axes, name_line, percent, percent_axis, quiet_axes
from sfumato.plots.coalitions import GrowthData, build_risk_growth
from sfumato.plots.figure import HoverRegion, PlotFigure, points
from sfumato.plots.style import PlotStyle
from tests.benchmarks.multi_level.collusion import RECIPIENTS, Comparison
from tests.benchmarks.multi_level.experiments import Figure, Outcome, given_of
from tests.benchmarks.multi_level.history_cost import HistoryCost


def build_experiment(outcome: Outcome, style: PlotStyle) -> PlotFigure:
    """Draw an experiment's outcome as the paper does.

    Parameters
    ----------
    outcome
        What was found.
    style
        The look.
    """
    if outcome.growth:
        return build_risk_growth(GrowthData(style.say("value"), outcome.growth), style)
    if outcome.costs:
        return build_history_cost(HistoryData(outcome.costs), style)
    names = (style.say("together"), style.say("{name} alone", name=RECIPIENTS[-1]))
    if outcome.figure is Figure.EQUIVALENCE:
        names = (style.say("simulated"), style.say("uniform perturbation"))
    return build_distribution_pair(PairData(outcome.compared, *names, given_of(outcome)), style)


# ----- Fig. 5 and 6


@dataclass(frozen=True)
class PairData:
    """The worst of all pairs of distributions.

    Parameters
    ----------
    compared
        All pairs, and the worst.
    found_name, expected_name
        What the two distributions are.
    given
        What they are conditional on, in words.
    """

    compared: Comparison
    found_name: str
    expected_name: str
    given: str


def build_distribution_pair(data: PairData, style: PlotStyle) -> PlotFigure:
    """Draw the pair of distributions that differ most.

    Parameters
    ----------
    data
        The pair.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns value, found and expected.
    """
    worst = data.compared.worst
    size = len(worst.found)
    values = np.arange(1, size + 1)
    figure = PlotFigure(
        style,
        _pair_headline(data, style),
        _pair_subtitle(data, style),
        pd.DataFrame({"value": values, "found": worst.found, "expected": worst.expected}),
        size=(640.0, 340.0),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    axes.bar(values, worst.expected, width=0.72, color=style.blend(style.original, 0.45), zorder=2)
    axes.plot(
        values, worst.found, "o", color=style.released, markersize=points(6.0 if size > 20 else 8.0)
    )
    axes.set_xlim(0.4, size + 0.6)
    step = max(1, round(size / 10))
    axes.set_xticks(range(1, size + 1, step))
    highest = float(max(worst.expected.max(), worst.found.max()))
    percent_axis(axes, "y", min(highest * 1.2, 1.0))
    name_axes(axes, style, style.say("Value, by its place in the domain"))
    at = int(np.argmax(worst.expected))
    left = at < size / 2
    align = "left" if left else "right"
    beside = values[at] + (0.9 if left else -0.9)
    name_line(axes, (beside, highest * 0.98), data.found_name, style.released, style, align=align)
    name_line(
        axes, (beside, highest * 0.88), data.expected_name, style.original, style, align=align
    )
    for place, value in enumerate(values):
        text = style.say(
            "Value {value}: {found_name} {found}, {expected_name} {expected}",
            value=value,
            found_name=data.found_name,
            found=percent(float(worst.found[place]), 2),
            expected_name=data.expected_name,
            expected=percent(float(worst.expected[place]), 2),
        )
        figure.hover.append(HoverRegion(axes, (value - 0.5, 0.0, value + 0.5, 2.0), text))
    return figure


def _pair_headline(data: PairData, style: PlotStyle) -> str:
    """Return how far the two are apart, and how far noise would put them."""
    worst = data.compared.worst.distance
    noise = data.compared.largest_from_noise
    return style.say(
        "Of {count} pairs, the most dissimilar are {distance} apart; sampling noise alone puts them"
        " {noise} apart",
        count=f"{data.compared.pairs:,}".replace(",", "\u202f"),
        distance=f"{worst:.2g}",
        noise=f"{noise:.2g}",
    )


def _pair_subtitle(data: PairData, style: PlotStyle) -> str:
    """Return which pair it is, and what all pairs say."""
    return style.say(
        "{given}. L2 distance. Over all pairs, squared distances are {ratio} ± {error} times what"
        " noise gives; 1 means that nothing else is there.",
        given=data.given,
        ratio=f"{data.compared.ratio:.3f}",
        error=f"{data.compared.ratio_error:.3f}",
    )


# ----- Fig. 8


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
        _cost_headline(data, style),
        style.say(
            "{records} records. Dotted grey: the bound 1 + ln(p_max/p_min) of the random order.",
            records=f"{data.costs[0].records:,}".replace(",", "\u202f"),
        ),
        _cost_table(data),
        size=(640.0, 340.0),
    )
    left, right = figure.subplots(1, 2)
    colours = (style.accent, style.released, style.good)
    for axes, title in (
        (left, style.say("Mean length of a record's history")),
        (right, style.say("Milliseconds for a release")),
    ):
        quiet_axes(axes, style, grid="y")
        name_axes(axes, style, style.say("Releases so far"), title=title)
        axes.set_xscale("log")
    left.plot(data.costs[0].releases, data.costs[0].bound, ":", color=style.muted)
    for cost, colour, dash in zip(data.costs, colours, _DASHES, strict=False):
        line = {"color": colour, "linestyle": dash, "linewidth": points(2.0)}
        left.plot(cost.releases, cost.length, label=style.say(cost.order.value), **line)
        right.plot(cost.releases, 1000 * cost.seconds, **line)
        _say_costs(figure, cost, style)
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
    return figure


def _cost_table(data: HistoryData) -> pd.DataFrame:
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


def _cost_headline(data: HistoryData, style: PlotStyle) -> str:
    """Return what is kept at the end, and the bound."""
    longest = max(float(cost.length[-1]) for cost in data.costs)
    return style.say(
        "After {count} releases a record's history has {length} entries on average; the bound is"
        " {bound}",
        count=f"{int(data.costs[0].releases[-1]):,}".replace(",", "\u202f"),
        length=f"{longest:.2f}",
        bound=f"{float(data.costs[0].bound[-1]):.2f}",
    )


def _say_costs(figure: PlotFigure, cost: HistoryCost, style: PlotStyle) -> None:
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
