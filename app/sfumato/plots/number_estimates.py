"""The question: how well can a recipient estimate means, spreads and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, name_rows, points, quiet_axes
from sfumato.plots.numbers import amount
from sfumato.plots.style import PlotStyle

CONFIDENCE_95 = 1.96


class Figure(StrEnum):
    """What is estimated."""

    MEAN = "mean"
    SPREAD = "standard deviation"
    CORRELATION = "correlation"
    QUANTILE = "quantile"
    INTERCEPT = "intercept"
    SLOPE = "slope"


POPULATION = (Figure.QUANTILE, Figure.INTERCEPT, Figure.SLOPE)
"""Figures whose standard errors take the records for a sample."""


@dataclass(frozen=True)
class Estimate:
    """One figure, as it is and as a recipient estimates it.

    Parameters
    ----------
    figure
        What is estimated.
    about
        Of which attribute or attributes.
    true, estimated
        The figure.
    error
        The standard error that the recipient is told.
    scale
        What a deviation is measured in: the attribute's standard deviation, or 1; of a slope,
        standard deviations for one of the predictor.
    at
        Of a quantile, the share below it; of a slope, its predictor; of an intercept, all.
    """

    figure: Figure
    about: str
    true: float
    estimated: float
    error: float
    scale: float
    at: str = ""

    @property
    def deviation(self) -> float:
        """How far the estimate is off, in its scale."""
        return (self.estimated - self.true) / self.scale

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval, in its scale."""
        return CONFIDENCE_95 * self.error / self.scale

    @property
    def holds(self) -> bool:
        """Whether the 95 % interval holds the true figure."""
        return abs(self.deviation) <= self.half_width


@dataclass(frozen=True)
class EstimatesData:
    """What a recipient can estimate.

    Parameters
    ----------
    recipient
        Who.
    records
        From how many records.
    estimates
        The figures.
    """

    recipient: str
    records: int
    estimates: tuple[Estimate, ...]


def build_number_estimates(data: EstimatesData, style: PlotStyle) -> PlotFigure:
    """Draw how far each estimate is off, with its interval.

    Parameters
    ----------
    data
        The estimates.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns figure, about, at, true, estimated and standard_error.
    """
    rows = data.estimates
    table = pd.DataFrame(
        {
            "figure": [row.figure.value for row in rows],
            "about": [row.about for row in rows],
            "at": [row.at for row in rows],
            "true": [row.true for row in rows],
            "estimated": [row.estimated for row in rows],
            "standard_error": [row.error for row in rows],
        }
    )
    figure = PlotFigure(
        style, headline(data, style), subtitle(data, style), table,
        size=(680.0, 180.0 + 32.0 * len(rows)),
    )  # fmt: skip
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, [_name(row, style) for row in rows], style, widest=44)
    places = np.arange(len(rows))
    off = np.array([row.deviation for row in rows])
    half = np.array([row.half_width for row in rows])
    axes.axvline(0.0, color=style.original, linewidth=points(2.0), zorder=2)
    axes.hlines(
        places,
        off - half,
        off + half,
        color=style.blend(style.released, 0.45),
        linewidth=points(6.0),
        zorder=3,
    )
    axes.plot(off, places, "o", color=style.released, markersize=points(8.0), zorder=4)
    _write(figure, axes, data, style)
    return figure


def headline(data: EstimatesData, style: PlotStyle) -> str:
    """Return how well the worst mean, the median or the worst slope can be estimated."""
    row = _headlined(data.estimates)
    if row.figure is Figure.QUANTILE:
        what = style.say("what half of {about} lie below", about=row.about)
    elif row.figure is Figure.SLOPE:
        what = style.say("how {about} changes with {at}", about=row.about, at=row.at)
    else:
        what = style.say("the mean of {about}", about=row.about)
    return style.say(
        "From {records} records, {recipient} can estimate {what} to within ± {units} (95\u202f%)",
        records=amount(data.records, 9),
        recipient=data.recipient,
        what=what,
        units=amount(CONFIDENCE_95 * row.error, 2),
    )


def _headlined(rows: Sequence[Estimate]) -> Estimate:
    """Return the estimate that the headline is about."""
    for figure in (Figure.MEAN, Figure.SLOPE):
        chosen = [row for row in rows if row.figure is figure]
        if chosen:
            return max(chosen, key=lambda row: row.half_width)
    return rows[len(rows) // 2]


def subtitle(data: EstimatesData, style: PlotStyle) -> str:
    """Return how to read the marks, and how many intervals hold the true figure."""
    sampled = any(row.figure in POPULATION for row in data.estimates)
    words = (
        "Stroke: the truth. Dot: the estimate, corrected for the noise, with its 95\u202f%"
        " interval for the population behind the records; {inside} of {count} intervals hold the"
        " truth of this table."
        if sampled
        else "Stroke: the truth. Dot: the estimate, corrected for the noise, with its 95\u202f%"
        " interval; {inside} of {count} intervals hold the truth."
    )
    return style.say(
        words,
        inside=sum(row.holds for row in data.estimates),
        count=len(data.estimates),
    )


def _name(row: Estimate, style: PlotStyle) -> str:
    words = {
        Figure.MEAN: style.say("mean of {about}", about=row.about),
        Figure.SPREAD: style.say("spread of {about}", about=row.about),
        Figure.CORRELATION: style.say("correlation of {about}", about=row.about),
        Figure.QUANTILE: style.say("{at} of {about} are below", about=row.about, at=row.at),
        Figure.INTERCEPT: style.say("{about} with {at} at 0", about=row.about, at=row.at),
        Figure.SLOPE: style.say("{about} for each unit of {at}", about=row.about, at=row.at),
    }
    return words[row.figure]


def _write(figure: PlotFigure, axes: Axes, data: EstimatesData, style: PlotStyle) -> None:
    """Scale the axis, and write the numbers at the right."""
    rows = data.estimates
    reach = max((abs(row.deviation) + row.half_width for row in rows), default=1.0) * 1.08
    reach = reach if np.isfinite(reach) and reach > 0 else 1.0
    axes.set_xlim(-reach, reach * 2.1)
    ticks = [t for t in axes.get_xticks() if -reach <= t <= reach]
    axes.set_xticks(ticks, [amount(float(tick), 2) for tick in ticks])
    axes.set_xlabel(
        style.say("how far off, in standard deviations of the attribute"),
        color=style.muted,
        loc="left",
        **label_font(style, style.small),  # type: ignore[arg-type]
    )
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
    for place, row in enumerate(rows):
        details = {
            "true": amount(row.true),
            "estimated": amount(row.estimated),
            "error": amount(CONFIDENCE_95 * row.error, 2),
        }
        axes.text(
            reach * 1.12,
            place,
            style.say("{estimated} ± {error}, true {true}", **details),
            va="center",
            color=style.text,
            **label_font(style, style.small),  # type: ignore[arg-type]
        )
        words = style.say(
            "{name}: {estimated} ± {error}, true {true}", name=_name(row, style), **details
        )
        figure.hover.append(HoverRegion(axes, (-9e9, place - 0.5, 9e9, place + 0.5), words))
