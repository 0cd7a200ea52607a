"""The question: for how many records is the true value restored with which probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.engine.disclosure.coalition_risk import CoalitionRisk
from sfumato.engine.disclosure.record_risk import BINS
from sfumato.plots.figure import HoverRegion, PlotFigure, percent, points, quiet_axes
from sfumato.plots.lines import name_series, percent_axis, probability, title_axes
from sfumato.plots.style import PlotStyle

BARS = 20
"""Bars drawn for each way of releasing."""


@dataclass(frozen=True)
class RiskData:
    """A coalition's risk, record by record.

    Parameters
    ----------
    attribute
        The attribute in question.
    members
        The coalition's names, the most trusted first.
    risk
        Its risk.
    """

    attribute: str
    members: tuple[str, ...]
    risk: CoalitionRisk


def build_risk_distribution(data: RiskData, style: PlotStyle) -> PlotFigure:
    """Draw how many records are restored with which probability, on the ladder and without.

    Parameters
    ----------
    data
        The risk.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, on_ladder, alone and independent: shares of records
        for each step of the probability.
    """
    figure = PlotFigure(
        style, headline(data, style), subtitle(data, style), _table(data), size=(640.0, 330.0)
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    ladder = coarse(data.risk.on_ladder.histogram)
    independent = coarse(data.risk.independent.histogram)
    together = len(data.members) > 1
    highest = float(max(ladder.max(), independent.max() if together else 0.0, 0.01))
    draw_bars(axes, ladder, style.accent, -0.5 if together else 0.0, together)
    names = [(style.say("on the ladder") if together else data.members[0], style.accent)]
    if together:
        draw_bars(axes, independent, style.danger, 0.5, together)
        names.append((style.say("independent noise"), style.danger))
    percent_axis(axes, style, "x")
    percent_axis(axes, style, "y", min(highest * 1.12, 1.0))
    title_axes(axes, "", style.say("Probability given to the record's true value"), style)
    name_series(axes, names, style)
    for step in range(BARS):
        figure.hover.append(
            HoverRegion(
                axes,
                (step / BARS, 0.0, (step + 1) / BARS, 2.0),
                _text(step, ladder, independent if together else None, style),
            )
        )
    return figure


def headline(data: RiskData, style: PlotStyle) -> str:
    """Return the sentence that the distribution says."""
    risk = data.risk
    if len(data.members) == 1:
        return style.say(
            "{name} alone gives a record's true {attribute} a probability of {share} on average",
            name=data.members[0],
            attribute=data.attribute,
            share=percent(risk.alone.average),
        )
    return style.say(
        "Independent noise would give a record's true {attribute} a probability of {independent} on"
        " average; the ladder {ladder}, as {best} alone",
        attribute=data.attribute,
        independent=probability(risk.independent.average),
        ladder=probability(risk.on_ladder.average),
        best=data.members[0],
    )


def subtitle(data: RiskData, style: PlotStyle) -> str:
    """Return how to read the bars, and how exact they are."""
    words = style.say(
        "Share of records by the probability that Bayes' rule gives to their true value."
    )
    if data.risk.independent.exact:
        return words + " " + style.say("Exact: every outcome was gone through.")
    return (
        words
        + " "
        + style.say(
            "From {draws} drawn outcomes; the average is exact to ± {error}.",
            draws=f"{data.risk.independent.draws:,}".replace(",", "\u202f"),
            error=percent(data.risk.independent.average_error, 2),
        )
    )


def coarse(histogram: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the distribution in `BARS` steps."""
    summed: npt.NDArray[np.float64] = histogram.reshape(BARS, BINS // BARS).sum(axis=1)
    return summed


def _table(data: RiskData) -> pd.DataFrame:
    edges = np.arange(BINS + 1) / BINS
    return pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "on_ladder": data.risk.on_ladder.histogram,
            "alone": data.risk.alone.histogram,
            "independent": data.risk.independent.histogram,
        }
    )


def draw_bars(
    axes: Axes, shares: npt.NDArray[np.float64], colour: str, side: float, narrow: bool
) -> None:
    """Draw one way of releasing: bars of full width, or half bars on one `side` (±0.5)."""
    width = (0.40 if narrow else 0.8) / BARS
    centres = (np.arange(BARS) + 0.5) / BARS + side * width
    axes.bar(centres, shares, width=width, color=colour, zorder=2, linewidth=points(0.0))


def _text(
    step: int,
    ladder: npt.NDArray[np.float64],
    independent: npt.NDArray[np.float64] | None,
    style: PlotStyle,
) -> str:
    between = style.say(
        "Probability {low} to {high}",
        low=percent(step / BARS, 0),
        high=percent((step + 1) / BARS, 0),
    )
    own = style.say(
        "{share} of records; {more} with at least this",
        share=percent(float(ladder[step]), 1),
        more=percent(float(ladder[step:].sum()), 1),
    )
    if independent is None:
        return f"{between}\n{own}"
    other = style.say(
        "independent noise: {share}; {more} with at least this",
        share=percent(float(independent[step]), 1),
        more=percent(float(independent[step:].sum()), 1),
    )
    return f"{between}\n{style.say('on the ladder')}: {own}\n{other}"
