"""How closely pooled copies, or pooled rows, tell true values: the error or doubt that is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sfumato.analysis.coalitions.pooled_numbers import NumbersCoalition
from sfumato.analysis.disclosure.pooled_rows import PooledRows
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.plots.axes import (
    amount,
    amount_ticks,
    filling,
    fit_percent_ticks,
    name_axes,
    name_series,
    percent,
    percent_ticks,
    plot,
    quiet_axes,
    row_plot,
    whole,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

INTERVALS = 30
SHOWN = 0.99
"""The share of the records whose errors the axis covers."""

Curve = tuple[str, str, str, str]
"""Which errors by the number of copies it shows, their colour, stroke and name."""


MOST_RECIPIENTS = 12
_HEIGHT = 0.32


def _by_copies(
    style: PlotStyle,
    headline: str,
    subtitle: str,
    joined: tuple[Sequence[str], Callable[..., str]],
    errors: Mapping[str, Floats],
    curves: Sequence[Curve],
) -> PlotFigure:
    """Draw errors over the number of copies, each named at its end; no two names collide.

    Parameters
    ----------
    style, headline, subtitle
        See `PlotFigure`.
    joined
        Who joins, in this order, and how a number of copies is told with its errors.
    errors
        By their columns in the figure's data, shape (M,) each.
    curves
        What is drawn of them.
    """
    names, told = joined
    copies = np.arange(1, len(names) + 1)
    table = pd.DataFrame({"copies": copies, "joined": names, **errors})
    figure, axes = plot(style, headline, subtitle, table)
    highest = float(max(1e-6, *(each.max() for each in errors.values())))
    lowest_named = -np.inf
    for which, colour, dash, words in sorted(curves, key=lambda one: float(errors[one[0]][-1])):
        look = {"linewidth": points(2.0), "marker": "o", "markersize": points(6.0), "zorder": 3}
        axes.plot(copies, errors[which], dash, color=colour, **look)  # type: ignore[arg-type]
        lowest_named = max(float(errors[which][-1]), lowest_named + 0.075 * highest)
        end = (float(copies[-1]), lowest_named)
        write(axes, words, end, style, (10.0, 0.0), colour, annotation_clip=False)
    axes.set_ylim(-highest * 0.06, highest * 1.2)
    axes.set_xlim(0.7, len(copies) + 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    name_axes(axes, style, style.say("copies pooled"))
    fit_percent_ticks(axes, "y", highest * 1.2)
    for place, name in enumerate(names):
        left = {which: percent(float(each[place]), 1) for which, each in errors.items()}
        figure.tell_column(axes, place + 1, told(count=place + 1, name=name, **left))
    return figure


# ----- the best linear estimate


def build_error_by_copies(
    coalition: NumbersCoalition, errors: Mapping[Dependence, Floats], style: PlotStyle
) -> PlotFigure:
    """Draw the error over the number of copies (Li et al. 2012, Fig. 2).

    Parameters
    ----------
    coalition
        Who pools what; they join in this order.
    errors
        As `sfumato.analysis.coalitions.pooled_numbers.linear_errors` returns them, shape (M,) each.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each number of copies: who joined, and the three errors.
    """
    subtitle = style.say(
        "Share of the variance that the best linear estimate leaves unexplained, the most trusted"
        " recipient first. Higher is safer."
    )

    def told(linearly_dependent: str, **details: object) -> str:
        return style.say(
            "{count} {count:copy|copies}, {name} joined last: ladder {ladder}, independent"
            " {independent}, differing by a factor {linear}",
            linear=linearly_dependent,
            **details,
        )

    shown = {
        "ladder": errors[Dependence.LADDER],
        "independent": errors[Dependence.INDEPENDENT],
        "linearly_dependent": errors[Dependence.LINEAR],
    }
    curves = (
        ("ladder", style.accent, "-", style.say("on the ladder")),
        ("independent", style.hypothetical, "--", style.say("independent noise")),
        ("linearly_dependent", style.muted, ":", style.say("noise that differs by a factor")),
    )
    headline = _copies_headline(coalition, shown, style)
    return _by_copies(style, headline, subtitle, (coalition.names, told), shown, curves)


def _copies_headline(
    coalition: NumbersCoalition, errors: Mapping[str, Floats], style: PlotStyle
) -> str:
    """Return what all of them together leave open."""
    last = {which: float(each[-1]) for which, each in errors.items()}
    if len(coalition.names) == 1:
        return style.say(
            "{name} alone leaves {ladder} of the variance of {attribute} open",
            name=coalition.names[0],
            ladder=percent(last["ladder"]),
            attribute=coalition.entry.key,
        )
    return style.say(
        "With independent noise, {count} recipients together leave {independent} of the variance"
        " of {attribute} open; on the ladder, {ladder}",
        count=len(coalition.names),
        independent=percent(last["independent"]),
        attribute=coalition.entry.key,
        ladder=percent(last["ladder"]),
    )


# ----- somebody who knows the distribution


@dataclass(frozen=True)
class BayesData:
    """What the Bayes estimate leaves open of an attribute, by the number of copies pooled.

    Parameters
    ----------
    attribute
        The attribute.
    names
        Who joins, in this order, shape (M,).
    ladder, independent
        The estimate's normalized error once so many have joined, shape (M,): measured on
        releases of one ladder, and on copies with noise of their own.
    linear
        The same for the best linear estimate on the ladder, shape (M,).
    apart
        The largest difference, in spreads, between the coalition's estimate of a record and
        its first member's own, on the ladder.
    records
        How many records were estimated.
    """

    attribute: str
    names: tuple[str, ...]
    ladder: Floats
    independent: Floats
    linear: Floats
    apart: float
    records: int


def build_bayes_by_copies(data: BayesData, style: PlotStyle) -> PlotFigure:
    """Draw the error of the Bayes estimate over the number of copies.

    Returns
    -------
    PlotFigure
        Its data has a row for each number of copies: who joined, and the three errors.
    """
    subtitle = style.say(
        "Share of the variance that the mean given the distribution and the releases leaves"
        " unexplained, measured on {records} {records:record|records}. Higher is safer.",
        records=whole(data.records),
    )

    def told(linear_on_ladder: str, **details: object) -> str:
        return style.say(
            "{count} {count:copy|copies}, {name} joined last: ladder {ladder}, independent"
            " {independent}; best linear estimate on the ladder {linear}",
            linear=linear_on_ladder,
            **details,
        )

    errors = {
        "ladder": data.ladder,
        "independent": data.independent,
        "linear_on_ladder": data.linear,
    }
    curves = (
        ("linear_on_ladder", style.muted, ":", style.say("best linear estimate, on the ladder")),
        ("independent", style.hypothetical, "--", style.say("independent noise")),
        ("ladder", style.accent, "-", style.say("on the ladder")),
    )
    headline = _bayes_headline(data, style)
    return _by_copies(style, headline, subtitle, (data.names, told), errors, curves)


def _bayes_headline(data: BayesData, style: PlotStyle) -> str:
    """Return what somebody who knows the distribution gains by pooling."""
    details = {
        "attribute": data.attribute,
        "name": data.names[0],
        "count": len(data.names),
        "alone": percent(float(data.ladder[0]), 1),
        "ladder": percent(float(data.ladder[-1]), 1),
        "independent": percent(float(data.independent[-1]), 1),
    }
    if len(data.names) == 1:
        return style.say(
            "To somebody who knows the distribution of {attribute}, {name}'s release leaves"
            " {alone} of its variance open",
            **details,
        )
    return style.say(
        "Knowing the distribution of {attribute}, {count} recipients together leave {ladder} of"
        " its variance open on the ladder, {name} alone {alone}; with independent noise,"
        " {independent}",
        **details,
    )


# ----- somebody who learns the distribution


@dataclass(frozen=True)
class LearnedData:
    """What linear estimates of one attribute leave open, by the number of copies pooled.

    Parameters
    ----------
    attribute
        The attribute.
    names
        Who joins, in this order, shape (M,).
    knowledge
        What they know of the distribution, in words.
    ladder, independent
        The share of the variance left open once so many have joined, shape (M,): measured on
        releases of one ladder, and on copies with noise of their own.
    """

    attribute: str
    names: tuple[str, ...]
    knowledge: str
    ladder: Floats
    independent: Floats


def build_learned_by_copies(data: LearnedData, style: PlotStyle) -> PlotFigure:
    """Draw the measured error of linear estimates over the number of copies.

    Returns
    -------
    PlotFigure
        Its data has a row for each number of copies: who joined, and both errors.
    """
    subtitle = style.say(
        "Share of the variance that linear estimates leave unexplained, measured on released"
        " records, for somebody who knows {knowledge}. Higher is safer.",
        knowledge=data.knowledge,
    )
    headline = style.say(
        "{count} {count:recipient|recipients} together leave {ladder} of the variance of"
        " {attribute} open on the ladder, {name} alone {alone}; with independent noise,"
        " {independent}",
        count=len(data.names),
        ladder=percent(float(data.ladder[-1]), 1),
        attribute=data.attribute,
        name=data.names[0],
        alone=percent(float(data.ladder[0]), 1),
        independent=percent(float(data.independent[-1]), 1),
    )

    def told(**details: object) -> str:
        return style.say(
            "{count} {count:copy|copies}, {name} joined last: ladder {ladder}, independent"
            " {independent}",
            **details,
        )

    errors = {"ladder": data.ladder, "independent": data.independent}
    curves = (
        ("independent", style.muted, "--", style.say("independent noise")),
        ("ladder", style.accent, "-", style.say("on the ladder")),
    )
    return _by_copies(style, headline, subtitle, (data.names, told), errors, curves)


# ----- single records


@dataclass(frozen=True)
class ErrorsData:
    """How far off the guesses of single records are, on the ladder and with independent noise.

    Parameters
    ----------
    attribute
        Which attribute is guessed.
    members
        How many recipients pool their copies.
    knowledge
        What they know of the distribution, in words.
    spread
        The attribute's standard deviation.
    ladder, independent
        The distance of each record's guess from the truth, in the attribute's unit, shape (n,).
    """

    attribute: str
    members: int
    knowledge: str
    spread: float
    ladder: Floats
    independent: Floats


def build_error_histogram(data: ErrorsData, style: PlotStyle) -> PlotFigure:
    """Draw the errors as a histogram and as a cumulative one (Li et al. 2012, Fig. 3).

    Returns
    -------
    PlotFigure
        Its data has a row for each interval: its ends, and both shares of the records, within
        the interval and up to its end.
    """
    both = np.concatenate([data.ladder, data.independent])
    reach = float(np.quantile(both, SHOWN)) or 1.0
    edges = np.linspace(0.0, reach, INTERVALS + 1)
    shares = [np.histogram(side, edges)[0] / len(side) for side in (data.ladder, data.independent)]
    sums = [np.cumsum(share) for share in shares]
    table = pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "ladder": shares[0],
            "independent": shares[1],
            "ladder_up_to": sums[0],
            "independent_up_to": sums[1],
        }
    )
    subtitle = style.say(
        "Share of the records whose guess is so far off; right: at most so far off. The attacker"
        " makes the best linear estimate and knows {knowledge}.",
        knowledge=data.knowledge,
    )
    figure = PlotFigure(style, _errors_headline(data, style), subtitle, table, size=(680.0, 340.0))
    left, right = figure.subplots(1, 2)
    below = style.say("how far off, in units of {attribute}", attribute=data.attribute)
    for axes in (left, right):
        quiet_axes(axes, style, grid="y")
        axes.set_xlim(0.0, reach)
        name_axes(axes, style, below)
    for place, (colour, dash) in enumerate(((style.accent, "-"), (style.hypothetical, "--"))):
        left.stairs(shares[place], edges, color=colour, linestyle=dash, linewidth=points(2.0))
        left.stairs(shares[place], edges, color=colour, fill=True, alpha=0.12)
        right.plot(edges, [0.0, *sums[place]], dash, color=colour, linewidth=points(2.0), zorder=3)
    _name_sums(right, edges, sums, style)
    for axes, listed in ((left, shares), (right, sums)):
        fit_percent_ticks(axes, "y")
        amount_ticks(axes, "x")
        _tell_errors(figure, axes, edges, listed)
    return figure


def _tell_errors(figure: PlotFigure, axes: Axes, edges: Floats, listed: list[Floats]) -> None:
    summed = axes is figure.axes[1]
    for place in range(INTERVALS):
        text = figure.style.say(
            "{low} to {high}: ladder {ladder}, independent {independent}",
            low=amount(0.0 if summed else float(edges[place])),
            high=amount(float(edges[place + 1])),
            ladder=percent(float(listed[0][place]), 1),
            independent=percent(float(listed[1][place]), 1),
        )
        figure.tell(axes, (float(edges[place]), -1.0, float(edges[place + 1]), 2.0), text)


def _errors_headline(data: ErrorsData, style: PlotStyle) -> str:
    """Return how close half of the guesses come."""
    details = {
        "attribute": data.attribute,
        "ladder": amount(float(np.median(data.ladder)), 2),
        "independent": amount(float(np.median(data.independent)), 2),
        "count": data.members,
    }
    if data.members == 1:
        return style.say(
            "Half of the guesses of {attribute} are off by {ladder} or more", **details
        )
    return style.say(
        "Half of the guesses of {attribute} that {count} recipients make together are off by"
        " {ladder} or more; with independent noise, by {independent}",
        **details,
    )


def _name_sums(axes: Axes, edges: Floats, sums: list[Floats], style: PlotStyle) -> None:
    """Name both curves where they are furthest apart, and there is room left of them."""
    apart = np.abs(sums[1] - sums[0])
    apart[: INTERVALS // 3] = -1.0
    at = int(np.argmax(apart))
    for share, colour, words, side, ha, va in (
        (sums[0], style.accent, style.say("on the ladder"), 1, "left", "top"),
        (sums[1], style.hypothetical, style.say("independent noise"), -1, "right", "bottom"),
    ):
        shift = (10.0 * side, -6.0 * side)
        write(axes, words, (edges[at + 1], share[at]), style, shift, colour, ha=ha, va=va)


def build_pooled_rows(found: Sequence[PooledRows], style: PlotStyle) -> PlotFigure:
    """Draw for each recipient what one row alone tells, and what all rows of a unit do.

    Parameters
    ----------
    found
        Of one attribute and one column, at least one; all for categories, or all for numbers.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns recipient, one_row, pooled and error: shares of rows, or half
        widths of intervals.
    """
    figures = [_figures(one) for one in found]
    names = [one.recipient for one in found]
    table = pd.DataFrame(figures, columns=["one_row", "pooled", "error"])
    table.insert(0, "recipient", names)
    shares = found[0].restored is not None
    figure, axes = row_plot(
        style,
        _headline(found[0], style),
        style.say("Share of rows whose true value the best guess hits.")
        if shares
        else style.say("Half the width of the interval that holds 95 % of the true numbers."),
        table,
        names[:MOST_RECIPIENTS],
        (150.0, 44.0),
    )
    colours = (style.blend(style.muted, 0.6), style.danger)
    for place, (name, (alone, pooled, error)) in enumerate(
        zip(names[:MOST_RECIPIENTS], figures, strict=False)
    ):
        for which, (side, value) in enumerate(((-0.5, alone), (0.5, pooled))):
            row = place + side * (_HEIGHT + 0.04)
            look = filling(which, colours[which], style)
            axes.barh(row, value, height=_HEIGHT, zorder=2, **look)
            shown = percent(value) if shares else amount(value)
            doubt = f" ± {percent(error, 1)}" if error and side > 0 else ""
            write(axes, shown + doubt, (value, row), style, colour=style.text)
        said = style.say(
            "{name}: {alone} from one row, {pooled} from all rows of a unit",
            name=name,
            alone=percent(alone, 2) if shares else amount(alone),
            pooled=percent(pooled, 2) if shares else amount(pooled),
        )
        figure.tell_row(axes, place, said)
    if shares:
        axes.set_xlim(0.0, 1.1)
        percent_ticks(axes, "x")
    else:
        axes.set_xlim(0.0, max(max(pair[:2]) for pair in figures) * 1.15)
        amount_ticks(axes, "x")
    series = (style.say("one row alone"), colours[0]), (style.say("rows pooled"), colours[1])
    name_series(axes, series, style)
    return figure


def _figures(one: PooledRows) -> tuple[float, float, float]:
    """Return what one row tells, what all of a unit do, and the error of the latter."""
    if one.restored is not None:
        return one.restored.one_row, one.restored.rows, one.restored.error
    assert one.spread is not None
    return (*one.spread, 0.0)


def _headline(one: PooledRows, style: PlotStyle) -> str:
    alone, pooled, _ = _figures(one)
    details = {"column": one.column, "recipient": one.recipient, "attribute": one.attribute}
    if one.restored is not None:
        return style.say(
            "Pooling rows with the same {column} restores the {attribute} of {pooled} of the rows"
            " in {recipient}'s release; one row alone, of {alone}",
            pooled=percent(pooled),
            alone=percent(alone),
            **details,
        )
    return style.say(
        "Pooling rows with the same {column} tells {attribute} within ± {pooled} from"
        " {recipient}'s release; one row alone, within ± {alone}",
        pooled=amount(pooled),
        alone=amount(alone),
        **details,
    )
