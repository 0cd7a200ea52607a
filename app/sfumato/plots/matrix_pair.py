"""The question: what do limits of their own change. Two matrices side by side, on one scale."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import (
    HoverRegion,
    PlotFigure,
    label_font,
    percent,
    points,
    quiet_axes,
    shorten,
)
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]

MOST_CELLS = 24
"""Rows and columns drawn one by one; more values are gathered in groups of neighbours."""

MOST_NUMBERS = 6
"""Rows and columns up to which every cell shows its number."""


@dataclass(frozen=True)
class PairData:
    """Two matrices that keep or replace, for the same limits.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    own
        Retention probabilities under per-value limits, shape (m,).
    uniform
        The retention probability if all values had the tightest limit.
    kept_own, kept_uniform
        The share of records that show their true value under each.
    """

    names: tuple[str, ...]
    own: Floats
    uniform: float
    kept_own: float
    kept_uniform: float


def build_matrix_pair(data: PairData, style: PlotStyle) -> PlotFigure:
    """Draw both matrices: a column for each original value, a row for each released one.

    Parameters
    ----------
    data
        The retention probabilities.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each cell: original, released, own, uniform.
    """
    names, edges = _names(data)
    own = _shares(data.own, edges)
    uniform = _shares(np.full(len(data.own), data.uniform), edges)
    count = len(names)
    figure = PlotFigure(
        style,
        headline(data, style),
        _subtitle(data, count, style),
        pd.DataFrame(
            {
                "original": np.tile(np.array(names, dtype=object), count),
                "released": np.repeat(np.array(names, dtype=object), count),
                "own": own.ravel(),
                "uniform": uniform.ravel(),
            }
        ),
        size=(640.0, min(max(24.0 * count + 190.0, 300.0), 480.0)),
    )
    sides = figure.subplots(1, 2, sharey=True)
    top = max(float(own.max()), float(uniform.max())) or 1.0
    words = (style.say("Limits of their own"), style.say("One limit for all"))
    for axes, shares, word in zip(sides, (own, uniform), words, strict=True):
        _draw(axes, shares, names, top, style)
        axes.set_xlabel(word, color=style.text, labelpad=8, **label_font(style, weight=600))
        for row, column in itertools.product(range(count), repeat=2):
            figure.hover.append(
                HoverRegion(
                    axes,
                    (column - 0.5, row - 0.5, column + 0.5, row + 0.5),
                    style.say(
                        "{side}: true “{original}” is released as “{released}” with probability"
                        " {share}",
                        side=word,
                        original=names[column],
                        released=names[row],
                        share=percent(float(shares[row, column]), 2),
                    ),
                )
            )
    return figure


def headline(data: PairData, style: PlotStyle) -> str:
    """Return what the two matrices say."""
    return style.say(
        "Limits of their own keep {own} of the records true; one limit for all keeps {uniform}",
        own=percent(data.kept_own, 1),
        uniform=percent(data.kept_uniform, 1),
    )


def _subtitle(data: PairData, count: int, style: PlotStyle) -> str:
    words = style.say("Column: true value. Row: released value. Both on one scale of colour.")
    if count < len(data.names):
        words += " " + style.say(
            "{values} values in {groups} groups of neighbours.",
            values=f"{len(data.names):,}".replace(",", "\u202f"),
            groups=count,
        )
    return words


def _names(data: PairData) -> tuple[tuple[str, ...], list[int]]:
    """Return what rows are called, and where in the domain each begins and ends."""
    size = len(data.names)
    count = min(size, MOST_CELLS)
    edges = [round(place * size / count) for place in range(count + 1)]
    if count == size:
        return data.names, edges
    return tuple(f"{a + 1}–{b}" for a, b in itertools.pairwise(edges)), edges


def _shares(retention: Floats, edges: list[int]) -> Floats:
    """Return the chances to move from group to group, averaged over a column's values."""
    sizes = np.diff(edges)
    means = np.add.reduceat(retention, edges[:-1]) / sizes
    shares: Floats = np.outer(sizes, 1.0 - means) / len(retention) + np.diag(means)
    return shares


def _draw(axes: Axes, shares: Floats, names: tuple[str, ...], top: float, style: PlotStyle) -> None:
    quiet_axes(axes, style, grid="none")
    colours = style.share_map()
    axes.imshow(shares, cmap=colours, vmin=0.0, vmax=top, aspect="auto", interpolation="none")
    places = range(len(names))
    axes.set_yticks(places, [shorten(name, 16) for name in names])
    few = len(names) <= MOST_NUMBERS
    axes.set_xticks(places if few else [], [shorten(name, 9) for name in names] if few else [])
    axes.tick_params(axis="x", top=False, pad=4)
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)
        label.set_parse_math(False)
    for edge in np.arange(len(names) + 1) - 0.5:
        axes.axhline(edge, color=style.background, linewidth=points(1.5))
        axes.axvline(edge, color=style.background, linewidth=points(1.5))
    if not few:
        return
    for row, column in itertools.product(places, repeat=2):
        share = float(shares[row, column])
        ground = colours(share / top)
        number = axes.text(
            column,
            row,
            f"{share * 100:.1f}",
            ha="center",
            va="center",
            color=style.ink_on("#" + "".join(f"{round(c * 255):02x}" for c in ground[:3])),
            **label_font(style, style.small, 600 if row == column else 400),  # type: ignore[arg-type]
        )
        number.set_in_layout(False)
