"""What somebody believes of a true value, before and after seeing what was released."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sfumato.analysis.disclosure.person_found import PersonBelief
from sfumato.analysis.other_holders.class_beliefs import BeliefData, BeliefGrowth
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.plots.axes import (
    fit_percent_ticks,
    name_axes,
    percent,
    percent_ticks,
    plot,
    row_plot,
    shorten,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

MOST_ROWS = 14
"""Values drawn one by one, the likeliest first; all of them are in the data."""


def _draw_beliefs(
    axes: Axes, prior: Floats, belief: Floats, colours: str | list[str], style: PlotStyle
) -> None:
    """Draw a bar for each belief, and a mark where it was before."""
    rows = np.arange(len(belief))
    axes.barh(rows, belief, height=0.56, color=colours, zorder=2)
    axes.vlines(prior, rows - 0.4, rows + 0.4, color=style.text, linewidth=points(2.0), zorder=3)


def _with_beliefs(
    figure: PlotFigure,
    axes: Axes,
    names: list[str],
    prior: Floats,
    posterior: Floats,
    colours: str | list[str],
) -> PlotFigure:
    """Draw both beliefs in each value, and tell how they differ."""
    style = figure.style
    axes.set_xlim(0.0, max(float(prior.max()), float(posterior.max())) * 1.04)
    fit_percent_ticks(axes, "x")
    _draw_beliefs(axes, prior, posterior, colours, style)
    for row, (name, before, after) in enumerate(zip(names, prior, posterior, strict=True)):
        _write_change(axes, row, float(before), float(after), style)
        said = style.say(
            "{name}: {before} before, {after} after",
            name=name,
            before=percent(float(before), 2),
            after=percent(float(after), 2),
        )
        figure.tell_row(axes, row, said)
    return figure


# ----- one released value


@dataclass(frozen=True)
class PosteriorData:
    """What an attacker believes before and after seeing one released value.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    prior
        Belief before, shape (m,), summing to 1: the values' shares in the table.
    posterior
        Belief after, shape (m,), summing to 1.
    seen
        The position of the released value.
    """

    names: tuple[str, ...]
    prior: Floats
    posterior: Floats
    seen: int


def build_posterior_bars(data: PosteriorData, style: PlotStyle) -> PlotFigure:
    """Draw, for each possible true value, the belief before (a mark) and after (a bar).

    Returns
    -------
    PlotFigure
        Its data has the columns value, before and after, for the whole domain.
    """
    names, prior, posterior = _rows(data, style)
    figure, axes = row_plot(
        style,
        _posterior_headline(data, style),
        style.say(
            "Bar: belief in each true value after seeing “{seen}”. Mark: belief before.",
            seen=data.names[data.seen],
        ),
        pd.DataFrame({"value": data.names, "before": data.prior, "after": data.posterior}),
        names,
        (130.0, 28.0),
    )
    seen = shorten(data.names[data.seen], 28)
    others = style.blend(style.muted, 0.55)
    colours = [style.released if shorten(name, 28) == seen else others for name in names]
    return _with_beliefs(figure, axes, names, prior, posterior, colours)


def _posterior_headline(data: PosteriorData, style: PlotStyle) -> str:
    """Return the sentence that the beliefs say."""
    before, after = float(data.prior[data.seen]), float(data.posterior[data.seen])
    name = data.names[data.seen]
    if before == 0:
        return style.say(
            "“{name}” does not occur in the table, so seeing it tells nothing about it", name=name
        )
    if abs(after - before) < 5e-4:
        return style.say("Seeing “{name}” tells nothing: the belief in it stays", name=name)
    return style.say(
        "Seeing “{name}” raises the belief in it from {before} to {after}",
        name=name,
        before=percent(before),
        after=percent(after),
    )


def _rows(data: PosteriorData, style: PlotStyle) -> tuple[list[str], Floats, Floats]:
    """Return the rows to draw: the likeliest values first, the rest in one."""
    order = np.lexsort((-data.prior, -data.posterior))
    if len(order) <= MOST_ROWS:
        return [data.names[i] for i in order], data.prior[order], data.posterior[order]
    kept = order[: MOST_ROWS - 1]
    if data.seen not in kept:
        kept = np.append(kept[:-1], data.seen)
    rest = np.setdiff1d(order, kept)
    return (
        [
            *(data.names[i] for i in kept),
            style.say("{count} other {count:value|values}", count=len(rest)),
        ],
        np.append(data.prior[kept], data.prior[rest].sum()),
        np.append(data.posterior[kept], data.posterior[rest].sum()),
    )


def _write_change(axes: Axes, row: int, before: float, after: float, style: PlotStyle) -> None:
    """Write both beliefs right of a row, one column for all rows."""
    for offset, words, colour, weight in (
        (68.0, percent(before), style.muted, 400),
        (82.0, "→", style.muted, 400),
        (134.0, percent(after), style.text, 600),
    ):
        beside = ("axes fraction", "data")
        at, shift = (1.0, row), (offset, 0.0)
        write(axes, words, at, style, shift, colour, weight=weight, ha="right", xycoords=beside)


# ----- several published tables


def build_beliefs(data: BeliefData, style: PlotStyle) -> PlotFigure:
    """Draw the belief in each value: before (a mark), after (a bar), with a correlation (a dot).

    Returns
    -------
    PlotFigure
        Its data has the columns value, before, after and, where it is known, correlated.
    """
    columns = {"value": data.names, "before": data.prior, "after": data.belief}
    words = style.say("Bar: with all tables at hand. Mark: before.")
    if data.correlated is not None:
        columns["correlated"] = data.correlated
        words = style.say("Bar: with all tables at hand. Mark: before. Dot: sharing known too.")
    strongest = np.maximum(data.belief, 0 if data.correlated is None else data.correlated)
    order = np.lexsort((-data.prior, -strongest))[:MOST_ROWS]
    figure, axes = row_plot(
        style,
        _beliefs_headline(data, style),
        words,
        pd.DataFrame(columns),
        [data.names[place] for place in order],
        (120.0, 26.0),
    )
    _draw_beliefs(axes, data.prior[order], data.belief[order], style.released, style)
    if data.correlated is not None:
        axes.plot(
            data.correlated[order], np.arange(len(order)), "o", color=style.background, zorder=4,
            markeredgecolor=style.text, markersize=points(8.0), linestyle="none",
        )  # fmt: skip
    for row, place in enumerate(order):
        write(axes, percent(float(data.belief[place])), (1.0, row), style, weight=400)
        figure.tell_row(axes, row, _belief_text(data, int(place), style))
    axes.set_xlim(0.0, 1.12)
    percent_ticks(axes, "x")
    return figure


def _beliefs_headline(data: BeliefData, style: PlotStyle) -> str:
    """Return the strongest belief."""
    best = int(np.argmax(data.belief))
    possible = int((data.belief > 0).sum())
    if possible == 1:
        return style.say("Only “{name}” remains possible", name=data.names[best])
    return style.say(
        "{count} {count:value|values} remain possible; “{name}” is believed to {belief}, before"
        " {prior}",
        count=possible,
        name=data.names[best],
        belief=percent(float(data.belief[best])),
        prior=percent(float(data.prior[best])),
    )


def _belief_text(data: BeliefData, place: int, style: PlotStyle) -> str:
    text = style.say(
        "{name}: {before} before, {after} with all tables",
        name=data.names[place],
        before=percent(float(data.prior[place]), 1),
        after=percent(float(data.belief[place]), 1),
    )
    if data.correlated is None:
        return text
    share = percent(float(data.correlated[place]), 1)
    return text + "\n" + style.say("{share} where the sharing is known", share=share)


def build_belief_growth(data: BeliefGrowth, style: PlotStyle) -> PlotFigure:
    """Draw the belief in the likeliest value over the number of tables put together.

    Returns
    -------
    PlotFigure
        Its data has a row for each number of tables: whose comes last, the belief in the likeliest
        value if the tables are independent, and the greatest that any way allows.
    """
    size = len(data.holders)
    tables = np.arange(1, size + 1)
    frame = {"tables": tables, "joined": data.holders, "belief": data.belief, "most": data.most}
    subtitle = style.say(
        "Belief in the likeliest value of a person whose class in each table is known. Lower is"
        " safer."
    )
    headline = style.say(
        "{count} {count:table|tables} together let the likeliest value be believed to {belief}, and"
        " to {most} where it is known how many people share classes",
        count=size,
        belief=percent(float(data.belief[-1])),
        most=percent(float(data.most[-1])),
    )
    figure, axes = plot(style, headline, subtitle, pd.DataFrame(frame))
    look = {"linewidth": points(2.0), "marker": "o", "markersize": points(6.0), "zorder": 3}
    axes.plot(tables, data.most, "--", color=style.muted, **look)  # type: ignore[arg-type]
    axes.plot(tables, data.belief, "-", color=style.released, **look)  # type: ignore[arg-type]
    last = float(data.belief[-1])
    ends = (
        (style.say("at most"), style.muted, max(float(data.most[-1]), last + 0.09)),
        (style.say("if independent"), style.released, last),
    )
    for words, colour, height in ends:
        end = (float(size), height)
        write(axes, words, end, style, (10.0, 0.0), colour, annotation_clip=False)
    axes.set_ylim(0.0, 1.12)
    axes.set_xlim(0.7, size + 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    name_axes(axes, style, style.say("tables put together"))
    percent_ticks(axes, "y")
    for place, name in enumerate(data.holders):
        text = style.say(
            "{count} {count:table|tables}, that of {name} last: {belief}, at most {most}",
            count=place + 1,
            name=name,
            belief=percent(float(data.belief[place]), 1),
            most=percent(float(data.most[place]), 1),
        )
        figure.tell_column(axes, place + 1, text)
    return figure


# ----- one person in the released files


def build_person_beliefs(belief: PersonBelief, style: PlotStyle) -> PlotFigure:
    """Draw the belief in each value without the files (a mark) and with them (a bar).

    Returns
    -------
    PlotFigure
        Its data has the columns value, before and after, for the whole domain.
    """
    likeliest = belief.likeliest
    rows = PosteriorData(belief.names, belief.before, belief.after, likeliest)
    names, before, after = _rows(rows, style)
    headline = style.say(
        "{attribute}: “{name}” is likeliest, with {after}; without the files, {before}",
        attribute=belief.attribute,
        name=belief.names[likeliest],
        after=percent(float(belief.after[likeliest])),
        before=percent(float(belief.before[likeliest])),
    )
    figure, axes = row_plot(
        style,
        headline,
        style.say("Bar: what the attacker believes with the files. Mark: without them."),
        pd.DataFrame({"value": belief.names, "before": belief.before, "after": belief.after}),
        names,
        (130.0, 28.0),
    )
    return _with_beliefs(figure, axes, names, before, after, style.released)
