"""Generalized tables: how much must be generalized, and how likely somebody is found in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.generalization.risk import PopulationBasis, Risk, SizeShare
from sfumato.plots.axes import (
    fit_percent_ticks,
    name_axes,
    name_rows,
    percent,
    percent_ticks,
    plot,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

MOST_NAMED = 24
"""Heights whose numbers are written beside their bars."""
_BAR = 0.34


# ----- the lattice


@dataclass(frozen=True)
class LatticeData:
    """How many combinations of levels there are at each height, and how many are safe.

    Parameters
    ----------
    nodes, safe, minimal
        By height, the sum of the levels, shape (top + 1,).
    columns
        The number of quasi-identifiers.
    chosen
        The height of the chosen node; None where there is none.
    """

    nodes: Integers = field(repr=False)
    safe: Integers = field(repr=False)
    minimal: Integers = field(repr=False)
    columns: int
    chosen: int | None = None


def build_lattice(data: LatticeData, style: PlotStyle) -> PlotFigure:
    """Draw for each height the share of its nodes that is safe, and mark the minimal ones.

    Returns
    -------
    PlotFigure
        Its data has the columns height, average_level, nodes, safe and minimal.
    """
    heights = np.arange(len(data.nodes))
    counts = {"nodes": data.nodes, "safe": data.safe, "minimal": data.minimal}
    figure, axes = plot(
        style,
        _lattice_headline(data, style),
        style.say(
            "A bar for each sum of levels, most general on top; filled: the safe share."
            " A diamond: some of them can't be made more detailed."
        ),
        pd.DataFrame({"height": heights, "average_level": heights / data.columns} | counts),
        (640.0, 130.0 + 22.0 * len(heights)),
        "x",
    )
    shares = data.safe / np.maximum(data.nodes, 1)
    axes.barh(heights, 1.0, height=0.62, color=style.blend(style.muted, 0.16), zorder=1)
    axes.barh(heights, shares, height=0.62, color=style.accent, zorder=2)
    _mark_heights(axes, data, shares, style)
    for height, (nodes, safe, least) in enumerate(
        zip(data.nodes, data.safe, data.minimal, strict=True)
    ):
        said = style.say(
            "Sum of levels {height}: {safe} of {nodes} safe, {least} minimal",
            height=height,
            safe=int(safe),
            nodes=int(nodes),
            least=int(least),
        )
        figure.tell_row(axes, height, said)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(-0.6, len(heights) - 0.4)
    percent_ticks(axes, "x")
    step = max(1, len(heights) // MOST_NAMED + (len(heights) > MOST_NAMED))
    axes.set_yticks(heights[::step], [str(height) for height in heights[::step]])
    name_axes(axes, style, style.say("Safe share"), title=style.say("Sum of the levels"))
    return figure


def _lattice_headline(data: LatticeData, style: PlotStyle) -> str:
    """Return where safety begins."""
    found = np.flatnonzero(data.safe)
    if not len(found):
        return style.say("No combination of levels is safe")
    lowest = int(found[0])
    full = np.flatnonzero((data.safe < data.nodes)[::-1])
    always = len(data.nodes) - int(full[0]) if len(full) else 0
    if always >= len(data.nodes):
        return style.say("Safe combinations begin at a sum of levels of {lowest}", lowest=lowest)
    return style.say(
        "Safe combinations begin at a sum of levels of {lowest}; from {always} on all are safe",
        lowest=lowest,
        always=always,
    )


def _mark_heights(axes: Axes, data: LatticeData, shares: Floats, style: PlotStyle) -> None:
    """Mark the heights with minimal nodes, and the chosen height."""
    places = np.flatnonzero(data.minimal)
    axes.plot(
        np.clip(shares[places], 0.012, 0.988), places, "D", color=style.text,
        markersize=points(7.0), zorder=4, linestyle="none",
    )  # fmt: skip
    if data.chosen is not None:
        ink = style.ink_on(style.accent) if shares[data.chosen] > 0.85 else style.text
        at, shift = (1.0, data.chosen), (-8.0, 0.0)
        write(axes, style.say("chosen"), at, style, shift, ink, ha="right", zorder=5)


def lattice_places(nodes: Integers, widest: int = 0) -> Floats:
    """Return where nodes are drawn: a band for each height, the most general on top.

    Parameters
    ----------
    nodes
        The levels, shape (n, columns).
    widest
        The most nodes in a line; a height with more takes several lines. By default, so many
        that the whole is about twice as wide as high.

    Returns
    -------
    numpy.ndarray
        Shape (n, 2): across in steps from the middle, and down in lines; between two heights
        there is as much room again as between two lines.
    """
    most = widest or max(40, math.ceil(math.sqrt(2.4 * len(nodes))))
    heights = nodes.sum(axis=1)
    order = np.lexsort((*nodes.T[::-1], heights))
    places = np.empty((len(nodes), 2))
    down = 0.0
    for height in range(int(heights.max(initial=0)), -1, -1):
        band = order[heights[order] == height]
        for line in np.array_split(band, max(1, math.ceil(len(band) / most))):
            places[line, 0] = np.arange(len(line)) - (len(line) - 1) / 2
            places[line, 1] = down
            down += 0.5
        down += 0.5
    return places


# ----- how likely somebody is found


@dataclass(frozen=True)
class RiskData:
    """The risk of being found, before and after.

    Parameters
    ----------
    before, after
        Of the table as it is, and as it is published.
    """

    before: Risk
    after: Risk


def build_reidentification(data: RiskData, style: PlotStyle) -> PlotFigure:
    """Draw the risk that each of three attackers poses, before and after.

    Returns
    -------
    PlotFigure
        Its data has the columns attacker, before and after.
    """
    names = (
        style.say("Prosecutor: one certain person"),
        style.say("Journalist: anybody at all"),
        style.say("Marketer: as many as possible"),
    )
    before, after = (
        [risk.prosecutor, risk.journalist, risk.marketer] for risk in (data.before, data.after)
    )
    # Whom the prosecutor looks for is in the table for certain.
    basis = {
        PopulationBasis.TABLE: style.say("The table counts as the whole population."),
        PopulationBasis.COUNTED: style.say("Journalist and marketer look in the given population."),
        PopulationBasis.SAMPLED: style.say(
            "Journalist and marketer: estimated for the population."
        ),
        PopulationBasis.WEIGHTED: style.say(
            "Journalist and marketer: estimated from the sampling weights."
        ),
    }[data.after.basis]
    bars = style.say("Upper bars: the table as it is. Lower bars: as it is published.")
    figure, axes = plot(
        style,
        style.say(
            "Who looks for one certain person finds them with a chance of at most {after},"
            " before {before}",
            after=percent(after[0]),
            before=percent(before[0]),
        ),
        f"{bars} {basis}",
        pd.DataFrame({"attacker": names, "before": before, "after": after}),
        (420.0, 270.0),
        "x",
    )
    name_rows(axes, names, style, widest=32)
    for shares, offset, colour in (
        (before, -_BAR / 2 - 0.02, style.original),
        (after, _BAR / 2 + 0.02, style.released),
    ):
        rows = np.arange(len(names)) + offset
        axes.barh(rows, shares, height=_BAR, color=colour, zorder=2)
        for row, share in zip(rows, shares, strict=True):
            write(axes, percent(share), (share, row), style, weight=400)
    axes.set_xlim(0.0, 1.18)
    percent_ticks(axes, "x", (0.0, 0.5, 1.0))
    return figure


def build_class_sizes(data: RiskData, style: PlotStyle) -> PlotFigure:
    """Draw how the records are spread over class sizes, before and after.

    Returns
    -------
    PlotFigure
        Its data has the columns least, most, records_before, records_after, classes_before and
        classes_after.
    """
    before, after = data.before.sizes, data.after.sizes
    figure, axes = plot(
        style,
        _sizes_headline(data, style),
        style.say(
            "Share of the records in classes of each size, from a number up to the next."
            " Left: before. Right: after."
        ),
        _sizes_table(before, after),
        (420.0, 270.0),
    )
    places, top = np.arange(len(before)), 0.05
    for risk, shift, colour in (
        (data.before, -0.2, style.original),
        (data.after, 0.2, style.released),
    ):
        shares = [size.records / risk.records for size in risk.sizes]
        axes.bar(places + shift, shares, width=0.36, color=colour, zorder=2)
        top = max(top, *(1.1 * share for share in shares))
    # Ranges would run into one another; the numbers that they begin with have room.
    axes.set_xticks(places, [str(size.least) for size in before])
    axes.set_ylim(0.0, top)
    fit_percent_ticks(axes, "y")
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        said = style.say(
            "Classes of size {size}: before {old} with {old_records} {old_records:record|records},"
            " after {new} with {new_records}",
            size=_size_name(old),
            old=old.classes,
            old_records=old.records,
            new=new.classes,
            new_records=new.records,
        )
        figure.tell_column(axes, place, said)
    return figure


def _sizes_table(before: Sequence[SizeShare], after: Sequence[SizeShare]) -> pd.DataFrame:
    columns = ("least", "most", "records_before", "records_after", "classes_before")
    rows = [
        (old.least, old.most, old.records, new.records, old.classes, new.classes)
        for old, new in zip(before, after, strict=True)
    ]
    return pd.DataFrame(rows, columns=[*columns, "classes_after"])


def _sizes_headline(data: RiskData, style: PlotStyle) -> str:
    if data.before.uniques == 0:
        return style.say("Nobody is unique, before or after")
    before = percent(data.before.uniques / data.before.units)
    if data.after.uniques == 0:
        return style.say(
            "{before} of the people are unique in the table as it is; as published, nobody is",
            before=before,
        )
    return style.say(
        "{before} of the people are unique in the table as it is; as published, {after}",
        before=before,
        after=percent(data.after.uniques / data.after.units),
    )


def _size_name(size: SizeShare) -> str:
    if size.most is None:
        return f"{size.least}+"
    return str(size.least) if size.most == size.least else f"{size.least}–{size.most}"
