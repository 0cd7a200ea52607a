"""The question: how closely can a record be told, by one recipient and by several together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
from sfumato.plots.numbers import amount
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.9
RADIUS_2 = math.sqrt(-2.0 * math.log(1.0 - CONFIDENCE))
"""Half an axis of the 90 % ellipse in standard deviations, two attributes."""


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

    Parameters
    ----------
    data
        The record, with two attributes.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each belief: its centre and the spread of its error.
    """
    figure = PlotFigure(
        style, headline(data, style), subtitle(data, style), table_of(data), size=(640.0, 420.0)
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="both")
    drawn = (
        (data.without, style.muted, 0.0, (0, (4, 3))),
        (data.members[0], style.trust_colour(data.members[0].trust or 0.0), 0.16, "-"),
        (data.together, style.text, 0.0, (0, (2, 3))),
        (data.independent, style.danger, 0.0, "-"),
    )
    for belief, colour, fill, dashes in drawn[: 4 if len(data.members) > 1 else 2]:
        _ellipse(axes, belief, colour, fill, dashes)
    axes.plot(*data.true, "x", color=style.text, markersize=points(9.0), markeredgewidth=2)
    _frame(axes, data)
    for axis, name in (("x", data.attributes[0]), ("y", data.attributes[1])):
        axes.set(**{f"{axis}label": name})
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(color=style.muted, fontsize=points(style.small), fontfamily=style.font_family)
    for formatter in (axes.xaxis, axes.yaxis):
        formatter.set_major_formatter(lambda value, _place: amount(value))
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)
    _names(figure, axes, data, style)
    return figure


def headline(data: RecordData, style: PlotStyle) -> str:
    """Return what pooling tells about the record."""
    best = data.members[0].who
    if len(data.members) == 1:
        return style.say(
            "{best} narrows row {row} down to {share} of what is known without a release",
            best=best,
            row=data.row,
            share=_share(data.members[0], data.without),
        )
    return style.say(
        "Together, {count} recipients know row {row} no better than {best} alone; independent"
        " noise would let them narrow it down to {share} of that",
        count=len(data.members),
        row=data.row,
        best=best,
        share=_share(data.independent, data.members[0]),
    )


def subtitle(data: RecordData, style: PlotStyle) -> str:
    """Return how to read the regions."""
    if len(data.attributes) == 2:
        return style.say(
            "Ellipse: the best linear estimate and its error, as wide as holds 90\u202f% where"
            " numbers are normally distributed. Cross: the truth."
        )
    return style.say(
        "Bar: the best linear estimate and its error, as wide as holds 90\u202f% where numbers are"
        " normally distributed. Line: the truth."
    )


def _share(part: Belief, whole: Belief) -> str:
    return percent(part.area / whole.area if whole.area > 0 else 1.0)


def table_of(data: RecordData) -> pd.DataFrame:
    """Return the beliefs as a table: the guess and the spread of its error, by attribute."""
    rows = [data.without, *data.members]
    names = [data.without.who, *(member.who for member in data.members)]
    if len(data.members) > 1:
        rows += [data.together, data.independent]
        names += [data.together.who, data.independent.who]
    columns: dict[str, list[object]] = {"who": list(names)}
    for place, attribute in enumerate(data.attributes):
        columns[f"{attribute} estimate"] = [float(row.centre[place]) for row in rows]
        columns[f"{attribute} spread of error"] = [
            math.sqrt(max(float(row.covariance[place, place]), 0.0)) for row in rows
        ]
    return pd.DataFrame(columns)


def _ellipse(axes: Axes, belief: Belief, colour: str, fill: float, dashes: object) -> None:
    values, vectors = np.linalg.eigh(belief.covariance)
    halves = RADIUS_2 * np.sqrt(np.clip(values, 0.0, None))
    angle = math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))
    centre = (float(belief.centre[0]), float(belief.centre[1]))
    if fill:
        axes.add_patch(
            Ellipse(centre, 2 * halves[1], 2 * halves[0], angle=angle, color=colour, alpha=fill)
        )
    axes.add_patch(
        Ellipse(
            centre,
            2 * halves[1],
            2 * halves[0],
            angle=angle,
            fill=False,
            edgecolor=colour,
            linewidth=points(2.0),
            linestyle=dashes,
        )
    )


def _frame(axes: Axes, data: RecordData) -> None:
    """Fit the axes to the recipients' ellipses, and to the truth."""
    lows, highs = [data.true], [data.true]
    for belief in (data.members[0], data.independent, data.without):
        reach = RADIUS_2 * np.sqrt(np.clip(np.diag(belief.covariance), 0.0, None))
        lows.append(belief.centre - reach)
        highs.append(belief.centre + reach)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    room = np.maximum(high - low, 1e-12) * 0.08
    axes.set_xlim(low[0] - room[0], high[0] + room[0])
    axes.set_ylim(low[1] - room[1], high[1] + room[1])


def _names(figure: PlotFigure, axes: Axes, data: RecordData, style: PlotStyle) -> None:
    """Name the ellipses in a column at the side, each in its colour."""
    best = data.members[0]
    lines = [
        (data.without.who, style.muted),
        (best.who, style.trust_colour(best.trust or 0.0)),
    ]
    if len(data.members) > 1:
        lines += [(data.together.who, style.text), (data.independent.who, style.danger)]
    for place, (words, colour) in enumerate(lines):
        axes.annotate(
            words,
            (1.02, 0.98),
            xytext=(0, -points(20.0) * place),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            color=colour,
            annotation_clip=False,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )
    reach_x, reach_y = axes.get_xlim(), axes.get_ylim()
    details = ", ".join(
        f"{name} {amount(float(value))}"
        for name, value in zip(data.attributes, data.true, strict=True)
    )
    figure.hover.append(
        HoverRegion(
            axes,
            (reach_x[0], reach_y[0], reach_x[1], reach_y[1]),
            style.say("Row {row}, the truth: {details}", row=data.row, details=details),
        )
    )
