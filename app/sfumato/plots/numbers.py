"""Released numbers beside the true ones, and how closely one record's numbers can be told."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from sfumato.analysis.previews.previewed_numbers import DistributionData, ScatterData
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.formats.language import shown
from sfumato.plots.axes import (
    DASHED,
    amount,
    amount_ticks,
    fit_percent_ticks,
    label_font,
    name_axes,
    percent,
    plot,
    quiet_axes,
    row_plot,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

# ----- one attribute


CONFIDENCE = 0.9
RADIUS_2 = math.sqrt(-2.0 * math.log(1.0 - CONFIDENCE))
"""Half an axis of the 90 % ellipse in standard deviations, two attributes."""
QUANTILE_90 = 1.6448536269514722
"""Half of the interval that holds 90 % of normal errors, in standard deviations."""
MOST_MEMBERS = 12


def build_number_distribution(data: DistributionData, style: PlotStyle) -> PlotFigure:
    """Draw the distribution of one attribute before and after.

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, true and released.
    """
    ends = {"from": data.edges[:-1], "to": data.edges[1:]}
    table = pd.DataFrame(ends | {"true": data.true, "released": data.released})
    subtitle = style.say(
        "Share of the records in each interval of {attribute}. Noise widens what is released;"
        " estimates correct for it.",
        attribute=data.attribute,
    )
    figure, axes = plot(style, _spread_headline(data, style), subtitle, table, (640.0, 360.0))
    for shares, colour, dash in (
        (data.true, style.original, "-"),
        (data.released, style.released, "--"),
    ):
        axes.stairs(shares, data.edges, fill=True, color=colour, alpha=0.22, zorder=2)
        width = points(2.0)
        axes.stairs(shares, data.edges, color=colour, linestyle=dash, linewidth=width, zorder=3)
    highest = float(max(data.true.max(), data.released.max(), 1e-9))
    axes.set_ylim(0.0, highest * 1.18)
    axes.set_xlim(float(data.edges[0]), float(data.edges[-1]))
    name_axes(axes, style, data.attribute)
    fit_percent_ticks(axes, "y")
    amount_ticks(axes, "x")
    _name_outlines(axes, data, style)
    for place, (low, high) in enumerate(zip(data.edges[:-1], data.edges[1:], strict=True)):
        said = style.say(
            "{low} to {high}: true {true}, released {released}",
            low=amount(float(low)),
            high=amount(float(high)),
            true=percent(float(data.true[place])),
            released=percent(float(data.released[place])),
        )
        figure.tell(axes, (float(low), 0.0, float(high), 9.0), said)
    return figure


def _spread_headline(data: DistributionData, style: PlotStyle) -> str:
    """Return how much wider the released numbers spread."""
    details = {
        "recipient": data.recipient,
        "attribute": data.attribute,
        "before": amount(data.true_spread),
        "after": amount(data.released_spread),
    }
    factor = data.released_spread / data.true_spread if data.true_spread > 0 else 1.0
    if factor < 1.005:
        return style.say(
            "{recipient} sees {attribute} spread as it is: the standard deviation stays {before}",
            **details,
        )
    return style.say(
        "{recipient} sees {attribute} spread {factor} times as wide: the standard deviation of"
        " {before} becomes {after}",
        factor=amount(factor),
        **details,
    )


def _name_outlines(axes: Axes, data: DistributionData, style: PlotStyle) -> None:
    """Name both outlines: the true one at its peak, the released one in its tail."""
    middles = (data.edges[:-1] + data.edges[1:]) / 2
    peak = int(np.argmax(data.true))
    lead = data.released - data.true
    tail = np.flatnonzero(middles > middles[peak])
    at = int(tail[np.argmax(lead[tail])]) if len(tail) else int(np.argmax(lead))
    left = middles[peak] <= (data.edges[0] + data.edges[-1]) / 2
    for place, shares, words, colour, ha in (
        (peak, data.true, style.say("true"), style.original, "left" if left else "right"),
        (at, data.released, style.say("released"), style.released, "left"),
    ):
        beside, shift = (middles[place], shares[place]), (4.0 if ha == "left" else -4.0, 6.0)
        write(axes, words, beside, style, shift, colour, ha=ha, va="bottom")


# ----- two attributes


def build_number_scatter(data: ScatterData, style: PlotStyle) -> PlotFigure:
    """Draw two attributes against each other, the true and the released side by side.

    Returns
    -------
    PlotFigure
        Its data has a row for each record: both attributes, true and released.
    """
    names = [f"{side} {name}" for side in ("true", "released") for name in data.attributes]
    table = pd.DataFrame(np.hstack([data.true, data.released]), columns=names)
    subtitle = style.say(
        "{rows} {rows:record|records}; both pictures have the same scales.",
        rows=amount(len(data.true), 9),
    )
    figure = PlotFigure(style, _scatter_headline(data, style), subtitle, table, size=(680.0, 380.0))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    faint = float(np.clip(15.0 / np.sqrt(max(len(data.true), 1)), 0.25, 0.8))
    sides = (
        (left, data.true, style.original, style.say("true"), data.true_correlation),
        (right, data.released, style.released, style.say("released"), data.released_correlation),
    )
    for axes, numbers, colour, words, _ in sides:
        quiet_axes(axes, style, grid="both")
        axes.plot(
            numbers[:, 0], numbers[:, 1], "o", color=colour, alpha=faint, markersize=points(5.0),
            markeredgewidth=0, zorder=2,
        )  # fmt: skip
        axes.set_title(words, loc="left", color=colour, pad=8, **label_font(style, weight=600))
        name_axes(axes, style, data.attributes[0])
        amount_ticks(axes)
    name_axes(left, style, y=data.attributes[1])
    _fit_scatter(left, data)
    for axes, _, _, words, value in sides:
        (low, high), (foot, top) = axes.get_xlim(), axes.get_ylim()
        said = style.say("{words}: correlation {value}", words=words, value=_signed(value, 3))
        figure.tell(axes, (low, foot, high, top), said)
    return figure


def _scatter_headline(data: ScatterData, style: PlotStyle) -> str:
    """Return what becomes of the correlation."""
    details = {
        "first": data.attributes[0],
        "second": data.attributes[1],
        "before": _signed(data.true_correlation, 2),
        "after": _signed(data.released_correlation, 2),
        "recipient": data.recipient,
    }
    if abs(data.true_correlation - data.released_correlation) < 0.02:
        return style.say(
            "In the release, {first} and {second} depend on each other as they do in truth:"
            " correlation {before}, released {after}",
            **details,
        )
    return style.say(
        "Their correlation of {before} shows as {after} to {recipient} until it is corrected"
        " for the noise",
        **details,
    )


def _signed(value: float, decimals: int) -> str:
    return shown(f"{value:.{decimals}f}")


def _fit_scatter(axes: Axes, data: ScatterData) -> None:
    """Fit both pictures to all but the last few of the released points."""
    both = np.concatenate([data.true, data.released])
    low, high = np.quantile(both, [0.002, 0.998], axis=0)
    low, high = np.minimum(low, data.true.min(axis=0)), np.maximum(high, data.true.max(axis=0))
    room = np.maximum(high - low, 1e-12) * 0.04
    axes.set_xlim(low[0] - room[0], high[0] + room[0])
    axes.set_ylim(low[1] - room[1], high[1] + room[1])
    axes.locator_params(axis="x", nbins=5)


@dataclass(frozen=True)
class RecordBelief:
    """What somebody believes of a record: a best guess and the covariance of its error.

    Parameters
    ----------
    who
        Whose belief.
    centre
        The best guess, shape (N,).
    covariance
        Of its error, shape (N, N).
    trust
        From 0 to 1, for the colour; None for a belief that is no recipient's.
    """

    who: str
    centre: Floats
    covariance: Floats
    trust: float | None = None

    @property
    def area(self) -> float:
        """The area (or length, or volume) of the region, up to a factor that all share."""
        return math.sqrt(max(float(np.linalg.det(self.covariance)), 0.0))

    @property
    def spreads(self) -> Floats:
        """The standard deviations of the error, shape (N,)."""
        spreads: Floats = np.sqrt(np.clip(np.diag(self.covariance), 0.0, None))
        return spreads

    def colour(self, style: PlotStyle) -> str:
        """Return the colour of a recipient's trust."""
        return style.trust_colour(self.trust or 0.0)


@dataclass(frozen=True)
class RecordData:
    """One record, and what is believed of it.

    Parameters
    ----------
    attributes
        One or two attributes.
    row
        The record's number, from 1.
    true
        Its true values, shape (N,).
    without
        The belief without any release.
    members
        Each recipient's belief, the most trusted first.
    together
        What all of them believe, pooling releases of one ladder.
    independent
        The same if every release had noise of its own.
    """

    attributes: tuple[str, ...]
    row: int
    true: Floats
    without: RecordBelief
    members: tuple[RecordBelief, ...]
    together: RecordBelief
    independent: RecordBelief


def build_number_ellipse(data: RecordData, style: PlotStyle) -> PlotFigure:
    """Draw the 90 % ellipses of one record in two attributes.

    Returns
    -------
    PlotFigure
        Its data has a row for each belief: its centre and the spread of its error.
    """
    subtitle = style.say(
        "Ellipse: the best linear estimate and its error, as wide as holds 90\u202f% where"
        " numbers are normally distributed. Cross: the truth."
    )
    size = (640.0, 420.0)
    figure, axes = plot(style, _headline(data, style), subtitle, _table(data), size, "both")
    best = data.members[0]
    drawn: list[tuple[RecordBelief, str, float, object]] = [
        (data.without, style.muted, 0.0, DASHED),
        (best, best.colour(style), 0.16, "-"),
    ]
    if len(data.members) > 1:
        drawn += [
            (data.together, style.text, 0.0, (0, (2, 3))),
            (data.independent, style.hypothetical, 0.0, (0, (6, 2))),
        ]
    for place, (belief, colour, fill, dashes) in enumerate(drawn):
        _ellipse(axes, belief, colour, fill, dashes)
        beside, shift = (1.02, 0.98), (0.0, -20.0 * place)
        where = {"xycoords": "axes fraction", "annotation_clip": False, "va": "top"}
        write(axes, belief.who, beside, style, shift, colour, **where)  # type: ignore[arg-type]
    axes.plot(*data.true, "x", color=style.text, markersize=points(9.0), markeredgewidth=2)
    _frame(axes, data)
    name_axes(axes, style, data.attributes[0], data.attributes[1])
    amount_ticks(axes)
    numbers = zip(data.attributes, data.true, strict=True)
    details = ", ".join(f"{name} {amount(float(value))}" for name, value in numbers)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    said = style.say("Row {row}, the truth: {details}", row=data.row, details=details)
    figure.tell(axes, (left, bottom, right, top), said)
    return figure


def build_number_intervals(data: RecordData, style: PlotStyle) -> PlotFigure:
    """Draw the linear estimates of one record in one attribute, with their normal 90 % intervals.

    Returns
    -------
    PlotFigure
        Its data has a row for each belief: its centre and the spread of its error.
    """
    rows = [(data.without, style.muted)]
    rows += [(member, member.colour(style)) for member in data.members[:MOST_MEMBERS]]
    if len(data.members) > 1:
        rows += [(data.together, style.accent), (data.independent, style.hypothetical)]
    figure, axes = row_plot(
        style,
        _headline(data, style),
        style.say(
            "Bar: the best linear estimate and its error, as wide as holds 90\u202f% where numbers"
            " are normally distributed. Line: the truth."
        ),
        _table(data),
        [belief.who for belief, _ in rows],
        (150.0, 32.0),
        30,
    )
    _draw_intervals(figure, axes, rows)
    true = float(data.true[0])
    axes.axvline(true, color=style.text, linewidth=points(1.5), zorder=1)
    words, above = style.say("true: {value}", value=amount(true)), ("data", "axes fraction")
    at, shift = (true, 1.0), (0.0, 4.0)
    write(axes, words, at, style, shift, ha="center", va="baseline", xycoords=above)
    name_axes(axes, style, data.attributes[0])
    amount_ticks(axes, "x")
    axes.tick_params(axis="x", pad=points(style.small) + 10)  # above what names the truth
    return figure


def _draw_intervals(
    figure: PlotFigure, axes: Axes, rows: Sequence[tuple[RecordBelief, str]]
) -> None:
    style = figure.style
    for place, (belief, colour) in enumerate(rows):
        centre, half = float(belief.centre[0]), QUANTILE_90 * float(belief.spreads[0])
        pale = style.blend(colour, 0.5)
        axes.hlines(
            place, centre - half, centre + half, color=pale, linewidth=points(8.0), zorder=2
        )
        axes.plot(centre, place, "o", color=colour, markersize=points(8.0), zorder=3)
        said = style.say(
            "{who}: {centre} ± {half}", who=belief.who, centre=amount(centre), half=amount(half)
        )
        figure.tell_row(axes, place, said)


def _headline(data: RecordData, style: PlotStyle) -> str:
    """Return what pooling tells about the record."""
    best = data.members[0]
    if len(data.members) == 1:
        return style.say(
            "{best} narrows row {row} down to {share} of what is known without a release",
            best=best.who,
            row=data.row,
            share=_share(best, data.without),
        )
    return style.say(
        "Together, {count} recipients know row {row} no better than {best} alone; independent"
        " noise would let them narrow it down to {share} of that",
        count=len(data.members),
        row=data.row,
        best=best.who,
        share=_share(data.independent, best),
    )


def _share(part: RecordBelief, whole: RecordBelief) -> str:
    return percent(part.area / whole.area if whole.area > 0 else 1.0)


def _table(data: RecordData) -> pd.DataFrame:
    """Return the beliefs as a table: the guess and the spread of its error, by attribute."""
    rows = [data.without, *data.members]
    if len(data.members) > 1:
        rows += [data.together, data.independent]
    columns: dict[str, list[object]] = {"who": [row.who for row in rows]}
    for place, attribute in enumerate(data.attributes):
        columns[f"{attribute} estimate"] = [float(row.centre[place]) for row in rows]
        columns[f"{attribute} spread of error"] = [float(row.spreads[place]) for row in rows]
    return pd.DataFrame(columns)


def _ellipse(axes: Axes, belief: RecordBelief, colour: str, fill: float, dashes: object) -> None:
    values, vectors = np.linalg.eigh(belief.covariance)
    halves = RADIUS_2 * np.sqrt(np.clip(values, 0.0, None))
    angle = math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))
    centre = (float(belief.centre[0]), float(belief.centre[1]))
    size = (float(2 * halves[1]), float(2 * halves[0]))
    if fill:
        axes.add_patch(Ellipse(centre, *size, angle=angle, color=colour, alpha=fill))
    axes.add_patch(
        Ellipse(
            centre, *size, angle=angle, fill=False, edgecolor=colour, linewidth=points(2.0),
            linestyle=dashes,
        )
    )  # fmt: skip


def _frame(axes: Axes, data: RecordData) -> None:
    """Fit the axes to the recipients' ellipses, and to the truth."""
    lows, highs = [data.true], [data.true]
    for belief in (data.members[0], data.independent, data.without):
        lows.append(belief.centre - RADIUS_2 * belief.spreads)
        highs.append(belief.centre + RADIUS_2 * belief.spreads)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    room = np.maximum(high - low, 1e-12) * 0.08
    axes.set_xlim(low[0] - room[0], high[0] + room[0])
    axes.set_ylim(low[1] - room[1], high[1] + room[1])
