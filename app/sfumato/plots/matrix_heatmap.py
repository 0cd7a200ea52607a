"""The question: what becomes of a true value. The perturbation matrix as a heat map."""

from __future__ import annotations

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

MOST_CELLS = 48
"""Rows and columns that can be told apart on a page; more values are shown in groups."""

MOST_NUMBERS = 10
"""Rows and columns up to which every cell shows its number; beyond, only the diagonal does."""

MOST_NAMES = 32
"""Rows and columns up to which each is named."""


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
    shares: npt.NDArray[np.float64]
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

    Parameters
    ----------
    data
        The matrix.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each cell: original, released, probability.
    """
    count = len(data.names)
    figure = PlotFigure(
        style,
        headline(data, style),
        subtitle(data, style),
        _as_table(data),
        size=(640.0, min(max(30.0 * count + 150.0, 320.0), 620.0)),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="none")
    top = float(data.shares.max()) or 1.0
    axes.imshow(
        data.shares, cmap=style.share_map(), vmin=0.0, vmax=top, aspect="auto", interpolation="none"
    )
    _name_sides(axes, data, style)
    _separate_cells(axes, count, style)
    if count <= MOST_NAMES:
        _write_numbers(axes, data, style, top)
    for row in range(count):
        for column in range(count):
            figure.hover.append(
                HoverRegion(
                    axes,
                    (column - 0.5, row - 0.5, column + 0.5, row + 0.5),
                    _cell_text(data, style, row, column),
                )
            )
    return figure


def headline(data: MatrixData, style: PlotStyle) -> str:
    """Return the sentence that the matrix says."""
    keep = _range(*data.keeps)
    move = _range(*data.moves)
    return style.say(
        "A true value shows itself with probability {keep}, any other value with {move} each",
        keep=keep,
        move=move,
    )


def subtitle(data: MatrixData, style: PlotStyle) -> str:
    """Return how to read the matrix."""
    if data.grouped:
        return style.say(
            "Column: true value. Row: what {recipient} sees. {shown} values in {groups} groups of"
            " neighbours; a cell is the probability to move from group to group.",
            recipient=data.recipient or style.say("the recipient"),
            shown=f"{data.shown:,}".replace(",", "\u202f"),
            groups=len(data.names),
        )
    return style.say(
        "Column: true value. Row: what {recipient} sees. Each column sums to 100\u202f%{part}.",
        recipient=data.recipient or style.say("the recipient"),
        part="" if data.shown == data.size else style.say(" over the whole domain"),
    )


def _range(low: float, high: float) -> str:
    if percent(low) == percent(high):
        return percent(low)
    return f"{percent(low)} – {percent(high)}"


def _as_table(data: MatrixData) -> pd.DataFrame:
    count = len(data.names)
    return pd.DataFrame(
        {
            "original": np.tile(np.array(data.names, dtype=object), count),
            "released": np.repeat(np.array(data.names, dtype=object), count),
            "probability": data.shares.ravel(),
        }
    )


def _name_sides(axes: Axes, data: MatrixData, style: PlotStyle) -> None:
    count = len(data.names)
    step = -(-count // MOST_NAMES)
    places = list(range(0, count, step))
    names = [shorten(data.names[place], 18) for place in places]
    axes.set_yticks(places, names)
    axes.set_xticks(places, names, rotation=45 if count > 6 else 0)
    axes.xaxis.tick_top()
    for label in axes.get_xticklabels():
        label.set(
            ha="left" if count > 6 else "center",
            rotation_mode="anchor",
            color=style.original,
            fontfamily=style.font_family,
        )
        label.set_parse_math(False)
    for label in axes.get_yticklabels():
        label.set(color=style.released, fontfamily=style.font_family)
        label.set_parse_math(False)
    axes.tick_params(axis="x", top=False, pad=4)


def _separate_cells(axes: Axes, count: int, style: PlotStyle) -> None:
    if count > MOST_NAMES:
        return
    edges = np.arange(count + 1) - 0.5
    for draw in (axes.axhline, axes.axvline):
        for edge in edges:
            draw(edge, color=style.background, linewidth=points(2.0))


def _write_numbers(axes: Axes, data: MatrixData, style: PlotStyle, top: float) -> None:
    colours = style.share_map()
    for row, shares in enumerate(data.shares):
        for column, share in enumerate(shares):
            if row != column and len(data.names) > MOST_NUMBERS:
                continue
            from_map = colours(share / top)
            number = axes.text(
                column,
                row,
                f"{share * 100:.0f}" if share >= 0.0995 or share == 0 else f"{share * 100:.1f}",
                ha="center",
                va="center",
                color=style.ink_on(_hex(from_map)),
                **label_font(style, style.small, 600 if row == column else 400),  # type: ignore[arg-type]
            )
            number.set_in_layout(False)


def _hex(colour: tuple[float, float, float, float]) -> str:
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in colour[:3])


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
