"""What becomes of a true value: perturbation matrices, and limits of their own for each value.

A matrix is shown alone or beside another; limits by who gains and who pays, and by what a looser
limit buys.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.matrices.estimate import Utility, UtilityPoint
from sfumato.formats.language import localized
from sfumato.plots.axes import (
    fit_percent_ticks,
    label_font,
    name_axes,
    name_line,
    name_ticks,
    percent,
    plot,
    quiet_axes,
    row_plot,
    shorten,
    whole,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

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


MOST_ROWS = 24
"""Values drawn one by one; more are gathered in as many groups, in the same order."""

SAME = 1e-9
"""Retention probabilities that differ by no more are equal."""

BESIDE = 14
"""Letters in a line of a curve's name, where two plots stand side by side."""


@dataclass(frozen=True)
class RetentionData:
    """How often each value is kept, with limits of its own and with one limit for all.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    frequencies
        Their shares, shape (m,).
    own
        Retention probabilities under per-value limits, shape (m,).
    uniform
        The retention probability if all values had the tightest limit.
    """

    names: tuple[str, ...]
    frequencies: Floats
    own: Floats
    uniform: float


@dataclass(frozen=True)
class _Row:
    name: str
    mean: float
    low: float
    high: float
    text: str


def build_retention_by_value(data: RetentionData, style: PlotStyle) -> PlotFigure:
    """Draw each value's retention probability beside that of one limit for all.

    Returns
    -------
    PlotFigure
        Its data has the columns value, share, retention and uniform, for the whole domain.
    """
    rows = _rows(data, style)
    columns = {"value": data.names, "share": data.frequencies, "retention": data.own}
    figure, axes = row_plot(
        style,
        _retention_headline(data, style),
        _retention_subtitle(data, style),
        pd.DataFrame(columns | {"uniform": data.uniform}),
        [row.name for row in rows],
        (150.0, 24.0),
    )
    axes.set_xlim(0.0, max(float(data.own.max()), data.uniform, 1e-12) * 1.08)
    axes.axvline(data.uniform, color=style.text, linewidth=points(1.5), zorder=2)
    for place, row in enumerate(rows):
        colour = _colour(row.mean, data.uniform, style)
        low, high = sorted((data.uniform, row.mean))
        pale = style.blend(colour, 0.5)
        axes.hlines(place, low, high, color=pale, linewidth=points(5.0), zorder=3)
        if row.high - row.low > SAME:
            axes.hlines(place, row.low, row.high, color=colour, linewidth=points(1.5), zorder=3)
        axes.plot(row.mean, place, "o", color=colour, markersize=points(8.0), zorder=4)
        _write_change(axes, place, row.mean - data.uniform, style)
        figure.tell_row(axes, place, row.text)
    fit_percent_ticks(axes, "x")
    return figure


def _retention_headline(data: RetentionData, style: PlotStyle) -> str:
    """Return who gains and who pays, in a sentence."""
    gain = int((data.own > data.uniform + SAME).sum())
    pay = int((data.own < data.uniform - SAME).sum())
    return style.say(
        "{gain} of {count} {count:value|values} {gain:is|are} kept more often than with one limit"
        " for all; {pay} {pay:pays|pay} for it"
        if pay
        else (
            "{gain} of {count} {count:value|values} {gain:is|are} kept more often than with one"
            " limit for all, and none less often"
        )
        if gain
        else "Every value is kept as often as with one limit for all",
        gain=gain,
        count=len(data.names),
        pay=pay,
    )


def _retention_subtitle(data: RetentionData, style: PlotStyle) -> str:
    """Return how to read the marks."""
    words = style.say(
        "Dot: retention probability of a value. Stroke: {uniform} for every value, if all had the"
        " tightest limit.",
        uniform=percent(data.uniform, 1),
    )
    if len(data.names) > MOST_ROWS:
        words += " " + style.say(
            "{count} {count:value|values} in {groups} {groups:group|groups}; a thin line spans a"
            " group.",
            count=whole(len(data.names)),
            groups=MOST_ROWS,
        )
    return words


def _rows(data: RetentionData, style: PlotStyle) -> list[_Row]:
    """Return the rows to draw, those that gain most on top."""
    order = [int(place) for place in np.lexsort((-data.frequencies, -data.own))]
    count = min(len(order), MOST_ROWS)
    edges = [round(place * len(order) / count) for place in range(count + 1)]
    return [_row(data, order[start:end], style) for start, end in itertools.pairwise(edges)]


def _row(data: RetentionData, places: Sequence[int], style: PlotStyle) -> _Row:
    """Return the row of one value, or of several together."""
    own = data.own[list(places)]
    low, high = float(own.min()), float(own.max())
    share = percent(float(data.frequencies[list(places)].sum()), 1)
    if len(places) == 1:
        name = data.names[places[0]]
        text = style.say(
            "{name} ({share} of records): kept with probability {own}, {uniform} with one limit"
            " for all",
            name=name,
            share=share,
            own=percent(low, 2),
            uniform=percent(data.uniform, 2),
        )
        return _Row(name, low, low, low, text)
    text = style.say(
        "{listed}{more} ({share} of records): kept with probability {low} to {high}",
        listed=", ".join(data.names[place] for place in places[:5]),
        more=" …" if len(places) > 5 else "",
        share=share,
        low=percent(low, 2),
        high=percent(high, 2),
    )
    name = style.say("{count} {count:value|values}", count=len(places))
    return _Row(name, float(own.mean()), low, high, text)


def _colour(own: float, uniform: float, style: PlotStyle) -> str:
    if own > uniform + SAME:
        return style.good
    return style.caution if own < uniform - SAME else style.muted


def _write_change(axes: Axes, place: int, change: float, style: PlotStyle) -> None:
    """Write the change in percentage points at the right of a row."""
    equal = abs(change) <= SAME
    decimals = 2 if abs(change) < 0.00995 else 1
    words = (
        "="
        if equal
        else f"{'+' if change > 0 else '−'}{localized(f'{abs(change) * 100:.{decimals}f}')}"
    )
    colour, beside = style.muted if equal else style.text, ("axes fraction", "data")
    at, shift = (1.0, place), (52.0, 0.0)
    write(axes, words, at, style, shift, colour, weight=400, ha="right", xycoords=beside)


# ----- utility over the tolerance


@dataclass(frozen=True)
class CurveData:
    """Both mechanisms over a range of tolerances.

    Parameters
    ----------
    about
        What was released: an attribute's name, or the example's.
    points
        One for each θ, in ascending order.
    draws
        How many releases were drawn for each.
    records
        The number of records, n.
    """

    about: str
    points: tuple[UtilityPoint, ...]
    draws: int
    records: int


def build_utility_curve(data: CurveData, style: PlotStyle) -> PlotFigure:
    """Draw record utility and aggregate utility over θ (Chaytor et al. 2010, Fig. 5).

    Returns
    -------
    PlotFigure
        Its data has a row for each θ: record and aggregate utility of both, by the inverse
        matrix and by iterative Bayesian reconstruction, and the errors in theory and observed.
    """
    gains = [point.fine_grain.record - point.uniform.record for point in data.points]
    best = data.points[int(np.argmax(gains))]
    figure = PlotFigure(
        style,
        style.say(
            "{about}: at θ = {theta}, limits of their own keep {own} of the records, one limit for"
            " all {uniform}",
            about=data.about,
            theta=localized(f"{best.theta:g}"),
            own=percent(best.fine_grain.record, 1),
            uniform=percent(best.uniform.record, 1),
        ),
        style.say(
            "θ: how many times as likely a value may become. Aggregate utility: 1 − mean error of"
            " the estimated shares, iterative Bayesian, mean of {draws} {draws:release|releases}"
            " of {records} {records:record|records}.",
            draws=data.draws,
            records=whole(data.records),
        ),
        _curve_table(data),
        size=(640.0, 330.0),
    )
    left, right = figure.subplots(1, 2)
    record, aggregate = style.say("Records that keep their value"), style.say("Aggregate utility")
    _panel(figure, left, data, record, lambda utility: utility.record)
    _panel(figure, right, data, aggregate, lambda utility: utility.aggregate_bayes)
    return figure


def _curve_table(data: CurveData) -> pd.DataFrame:
    columns: dict[str, list[float]] = {"theta": [point.theta for point in data.points]}
    read = ("record", "aggregate_inverse", "aggregate_bayes", "spread_bayes")
    for side in ("fine_grain", "uniform"):
        for name in (*read, "error_expected", "error_observed"):
            columns[f"{side}_{name}"] = [getattr(getattr(p, side), name) for p in data.points]
    return pd.DataFrame(columns)


def _panel(
    figure: PlotFigure, axes: Axes, data: CurveData, title: str, read: Callable[[Utility], float]
) -> None:
    style = figure.style
    quiet_axes(axes, style, grid="y")
    thetas = [localized(f"{point.theta:g}") for point in data.points]
    own = np.array([read(point.fine_grain) for point in data.points])
    uniform = np.array([read(point.uniform) for point in data.points])
    places = np.arange(len(thetas), dtype=np.float64)
    # The two are told apart by stroke as well as by colour.
    for values, colour, dash in ((own, style.accent, "-"), (uniform, style.released, "--")):
        axes.plot(
            places, values, dash, color=colour, linewidth=points(2.0), marker="o",
            markersize=points(6.0), zorder=3,
        )  # fmt: skip
    axes.set_xticks(places, thetas)
    name_axes(axes, style, "θ", title=title)
    axes.set_xlim(-0.4, len(thetas) - 0.6)
    low, high = min(own.min(), uniform.min()), max(own.max(), uniform.max())
    room = max((high - low) * 0.2, 0.0005)
    axes.set_ylim(max(low - room, -1.0), high + room)
    _name_curves(axes, places, own, uniform, style)
    fit_percent_ticks(axes, "y")
    for place, theta in enumerate(thetas):
        said = style.say(
            "θ = {theta}: limits of their own {own}, one limit for all {uniform}",
            theta=theta,
            own=percent(float(own[place]), 2),
            uniform=percent(float(uniform[place]), 2),
        )
        figure.tell_column(axes, place, said)


def _name_curves(
    axes: Axes, places: Floats, own: Floats, uniform: Floats, style: PlotStyle
) -> None:
    """Name each curve where they are furthest apart: the upper to the left, for both rise."""
    at = int(np.argmax(np.abs(own - uniform)))
    above = own[at] >= uniform[at]
    ends = {0: "left", len(places) - 1: "right"}
    for values, colour, words, up in (
        (own, style.accent, style.say("limits of their own"), above),
        (uniform, style.released, style.say("one limit for all"), not above),
    ):
        align = ends.get(at, "right" if up else "left")
        point = places[at], values[at]
        name_line(axes, point, words, colour, style, above=up, align=align, letters=BESIDE)
