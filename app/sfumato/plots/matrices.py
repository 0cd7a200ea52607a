"""What becomes of a true value: a perturbation matrix, and two of them side by side."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from sfumato.engine.core.values import Floats
from sfumato.formats.language import localized
from sfumato.plots.axes import label_font, name_ticks, percent, plot, quiet_axes, shorten, whole
from sfumato.plots.figure import PlotFigure, PlotStyle, points

MOST_CELLS = 48
"""Rows and columns that can be told apart on a page; more values are shown in groups."""

MOST_NUMBERS = 10
"""Rows and columns up to which every cell shows its number; beyond, only the diagonal does."""

MOST_NAMES = 32
"""Rows and columns up to which each is named."""

MOST_PAIR_CELLS = 24
"""Rows and columns of two matrices; more values are gathered in groups of neighbours."""

MOST_PAIR_NUMBERS = 6
"""Rows and columns of two matrices up to which every cell shows its number."""


def _draw_cells(axes: Axes, shares: Floats, top: float, style: PlotStyle) -> None:
    axes.imshow(
        shares, cmap=style.share_map(), vmin=0.0, vmax=top, aspect="auto", interpolation="none"
    )


def _separate_cells(axes: Axes, count: int, width: float, style: PlotStyle) -> None:
    for edge in np.arange(count + 1) - 0.5:
        axes.axhline(edge, color=style.background, linewidth=points(width))
        axes.axvline(edge, color=style.background, linewidth=points(width))


def _write_number(
    axes: Axes, row: int, column: int, share: float, text: str, top: float, style: PlotStyle
) -> None:
    """Write a number into its cell, in ink that can be read there."""
    number = axes.text(
        column,
        row,
        text,
        ha="center",
        va="center",
        color=style.ink_on(to_hex(style.share_map()(share / top))),
        **label_font(style, style.small, 600 if row == column else 400),  # type: ignore[arg-type]
    )
    number.set_in_layout(False)


def _cell(row: int, column: int) -> tuple[float, float, float, float]:
    return (column - 0.5, row - 0.5, column + 0.5, row + 0.5)


def _table(names: tuple[str, ...], **columns: Floats) -> pd.DataFrame:
    """Return a row for each cell."""
    names_of = np.array(names, dtype=object)
    sides = {"original": np.tile(names_of, len(names)), "released": np.repeat(names_of, len(names))}
    return pd.DataFrame(sides | {name: shares.ravel() for name, shares in columns.items()})


# ----- one matrix


@dataclass(frozen=True)
class MatrixData:
    """A perturbation matrix, or a coarser picture of one.

    Parameters
    ----------
    names
        A name for each row and column, shape (k,).
    shares
        Probability that an original of the column is released in the row, shape (k, k);
        where rows and columns stand for groups of values, the average over a column's values
        of the sum over a row's.
    size
        The number of values of the domain, m.
    shown
        How many values the k rows stand for.
    keeps
        Least and greatest probability that a single value is released as itself.
    moves
        Least and greatest probability that a value is released as a certain other one.
    recipient
        Who gets the release.
    """

    names: tuple[str, ...]
    shares: Floats
    size: int
    shown: int
    keeps: tuple[float, float]
    moves: tuple[float, float]
    recipient: str = ""

    @property
    def grouped(self) -> bool:
        """Whether a row stands for several values."""
        return self.shown > len(self.names)


def build_matrix_heatmap(data: MatrixData, style: PlotStyle) -> PlotFigure:
    """Draw the matrix: a column for each original value, a row for each released one.

    Returns
    -------
    PlotFigure
        Its data has a row for each cell: original, released, probability.
    """
    count = len(data.names)
    figure, axes = plot(
        style,
        style.say(
            "A true value shows itself with probability {keep}, any other value with {move} each",
            keep=_range(*data.keeps),
            move=_range(*data.moves),
        ),
        _matrix_subtitle(data, style),
        _table(data.names, probability=data.shares),
        (640.0, min(max(30.0 * count + 150.0, 320.0), 620.0)),
        grid="none",
    )
    top = float(data.shares.max()) or 1.0
    _draw_cells(axes, data.shares, top, style)
    _name_sides(axes, data, style)
    if count <= MOST_NAMES:
        _separate_cells(axes, count, 2.0, style)
    for row, column in itertools.product(range(count), repeat=2):
        share = float(data.shares[row, column])
        if count <= MOST_NUMBERS or (row == column and count <= MOST_NAMES):
            text = (
                localized(f"{share * 100:.0f}")
                if share >= 0.0995 or share == 0
                else localized(f"{share * 100:.1f}")
            )
            _write_number(axes, row, column, share, text, top, style)
        figure.tell(axes, _cell(row, column), _cell_text(data, style, row, column))
    return figure


def _matrix_subtitle(data: MatrixData, style: PlotStyle) -> str:
    """Return how to read the matrix."""
    recipient = data.recipient or style.say("the recipient")
    if data.grouped:
        return style.say(
            "Column: true value. Row: what {recipient} sees. {shown} {shown:value|values} in"
            " {groups} {groups:group|groups} of neighbours; a cell is the probability to move from"
            " group to group.",
            recipient=recipient,
            shown=whole(data.shown),
            groups=len(data.names),
        )
    return style.say(
        "Column: true value. Row: what {recipient} sees. Each column sums to 100\u202f%{part}.",
        recipient=recipient,
        part="" if data.shown == data.size else style.say(" over the whole domain"),
    )


def _range(low: float, high: float) -> str:
    if percent(low) == percent(high):
        return percent(low)
    return f"{percent(low)} – {percent(high)}"


def _name_sides(axes: Axes, data: MatrixData, style: PlotStyle) -> None:
    count = len(data.names)
    places = list(range(0, count, -(-count // MOST_NAMES)))
    names = [shorten(data.names[place], 18) for place in places]
    axes.xaxis.tick_top()
    name_ticks(axes, "y", places, names)
    name_ticks(axes, "x", places, names)
    tilt, align = (45, "left") if count > 6 else (0, "center")
    for label in axes.get_xticklabels():
        label.set(ha=align, rotation=tilt, rotation_mode="anchor", color=style.original)
    for label in axes.get_yticklabels():
        label.set(color=style.released)
    axes.tick_params(axis="x", top=False, pad=4)


def _cell_text(data: MatrixData, style: PlotStyle, row: int, column: int) -> str:
    template = (
        "A true value of “{original}” is released as one of “{released}” with probability {share}"
        if data.grouped
        else "True “{original}” is released as “{released}” with probability {share}"
    )
    return style.say(
        template,
        original=data.names[column],
        released=data.names[row],
        share=percent(float(data.shares[row, column]), 2),
    )


# ----- limits of their own, and one limit for all


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

    Returns
    -------
    PlotFigure
        Its data has a row for each cell: original, released, own, uniform.
    """
    names, edges = _gathered_names(data)
    own = _gathered_shares(data.own, edges)
    uniform = _gathered_shares(np.full(len(data.own), data.uniform), edges)
    figure = PlotFigure(
        style,
        style.say(
            "Limits of their own keep {own} of the records true; one limit for all keeps {uniform}",
            own=percent(data.kept_own, 1),
            uniform=percent(data.kept_uniform, 1),
        ),
        _pair_subtitle(data, len(names), style),
        _table(names, own=own, uniform=uniform),
        size=(640.0, min(max(24.0 * len(names) + 190.0, 300.0), 480.0)),
    )
    sides = figure.subplots(1, 2, sharey=True)
    top = max(float(own.max()), float(uniform.max())) or 1.0
    words = (style.say("Limits of their own"), style.say("One limit for all"))
    for axes, shares, word in zip(sides, (own, uniform), words, strict=True):
        _draw_side(axes, shares, names, top, style)
        axes.set_xlabel(word, color=style.text, labelpad=8, **label_font(style, weight=600))
        for row, column in itertools.product(range(len(names)), repeat=2):
            said = style.say(
                "{side}: true “{original}” is released as “{released}” with probability {share}",
                side=word,
                original=names[column],
                released=names[row],
                share=percent(float(shares[row, column]), 2),
            )
            figure.tell(axes, _cell(row, column), said)
    return figure


def _pair_subtitle(data: PairData, count: int, style: PlotStyle) -> str:
    words = style.say("Column: true value. Row: released value. Both on one scale of colour.")
    if count < len(data.names):
        words += " " + style.say(
            "{values} {values:value|values} in {groups} {groups:group|groups} of neighbours.",
            values=whole(len(data.names)),
            groups=count,
        )
    return words


def _gathered_names(data: PairData) -> tuple[tuple[str, ...], list[int]]:
    """Return what rows are called, and where in the domain each begins and ends."""
    size = len(data.names)
    count = min(size, MOST_PAIR_CELLS)
    edges = [round(place * size / count) for place in range(count + 1)]
    if count == size:
        return data.names, edges
    return tuple(f"{a + 1}–{b}" for a, b in itertools.pairwise(edges)), edges


def _gathered_shares(retention: Floats, edges: list[int]) -> Floats:
    """Return the chances to move from group to group, averaged over a column's values."""
    sizes = np.diff(edges)
    means = np.add.reduceat(retention, edges[:-1]) / sizes
    shares: Floats = np.outer(sizes, 1.0 - means) / len(retention) + np.diag(means)
    return shares


def _draw_side(
    axes: Axes, shares: Floats, names: tuple[str, ...], top: float, style: PlotStyle
) -> None:
    quiet_axes(axes, style, grid="none")
    _draw_cells(axes, shares, top, style)
    few = len(names) <= MOST_PAIR_NUMBERS
    name_ticks(axes, "y", range(len(names)), [shorten(name, 16) for name in names])
    columns = [shorten(name, 9) for name in names] if few else []
    name_ticks(axes, "x", range(len(columns)), columns)
    axes.tick_params(axis="x", top=False, pad=4)
    _separate_cells(axes, len(names), 1.5, style)
    for row, column in itertools.product(range(len(columns)), repeat=2):
        share = float(shares[row, column])
        _write_number(axes, row, column, share, localized(f"{share * 100:.1f}"), top, style)
