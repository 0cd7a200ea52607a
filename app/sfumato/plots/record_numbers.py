"""How closely one record's numbers can be told, by one recipient and by several together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from sfumato.plots.axes import (
    DASHED,
    Floats,
    amount,
    amount_ticks,
    name_axes,
    percent,
    plot,
    row_plot,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

CONFIDENCE = 0.9
RADIUS_2 = math.sqrt(-2.0 * math.log(1.0 - CONFIDENCE))
"""Half an axis of the 90 % ellipse in standard deviations, two attributes."""
QUANTILE_90 = 1.6448536269514722
"""Half of the interval that holds 90 % of normal errors, in standard deviations."""
MOST_MEMBERS = 12


@dataclass(frozen=True)
class Belief:
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
    without: Belief
    members: tuple[Belief, ...]
    together: Belief
    independent: Belief


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
    drawn: list[tuple[Belief, str, float, object]] = [
        (data.without, style.muted, 0.0, DASHED),
        (best, best.colour(style), 0.16, "-"),
    ]
    if len(data.members) > 1:
        drawn += [
            (data.together, style.text, 0.0, (0, (2, 3))),
            (data.independent, style.danger, 0.0, "-"),
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
        rows += [(data.together, style.accent), (data.independent, style.danger)]
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
    return figure


def _draw_intervals(figure: PlotFigure, axes: Axes, rows: Sequence[tuple[Belief, str]]) -> None:
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


def _share(part: Belief, whole: Belief) -> str:
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


def _ellipse(axes: Axes, belief: Belief, colour: str, fill: float, dashes: object) -> None:
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
