"""The question: for how many records do the released files give away the true value, how surely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.disclosure.record_risk import BINS, RecordRisk
from sfumato.plots.figure import HoverRegion, PlotFigure, percent, quiet_axes
from sfumato.plots.lines import name_series, percent_axis, title_axes
from sfumato.plots.risk_distribution import BARS, coarse, draw_bars
from sfumato.plots.style import PlotStyle


@dataclass(frozen=True)
class RealizedData:
    """What a coalition restores from its files, and what was to be expected.

    Parameters
    ----------
    attribute
        The attribute in question.
    members
        The coalition's names, the most trusted first.
    realized
        By the values that were released.
    expected
        On average over the noise.
    """

    attribute: str
    members: tuple[str, ...]
    realized: RecordRisk
    expected: RecordRisk


def build_realized_distribution(data: RealizedData, style: PlotStyle) -> PlotFigure:
    """Draw how many records are restored with which probability, as it fell and as expected.

    Parameters
    ----------
    data
        The two risks.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, realized and expected: shares of records for each
        step of the probability.
    """
    words = style.say(
        "Share of records by the probability that Bayes' rule gives to their true value, in the"
        " files as released and on average over the noise."
    )
    edges = np.arange(BINS + 1) / BINS
    table = pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "realized": data.realized.histogram,
            "expected": data.expected.histogram,
        }
    )
    figure = PlotFigure(style, headline(data, style), words, table, size=(640.0, 330.0))
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    realized, expected = coarse(data.realized.histogram), coarse(data.expected.histogram)
    draw_bars(axes, realized, style.accent, -0.5, True)
    draw_bars(axes, expected, style.muted, 0.5, True)
    highest = float(max(realized.max(), expected.max(), 0.01))
    percent_axis(axes, style, "x")
    percent_axis(axes, style, "y", min(highest * 1.12, 1.0))
    title_axes(axes, "", style.say("Probability given to the record's true value"), style)
    names = [(style.say("in the files"), style.accent), (style.say("expected"), style.muted)]
    name_series(axes, names, style)
    for step in range(BARS):
        box = (step / BARS, 0.0, (step + 1) / BARS, 2.0)
        figure.hover.append(HoverRegion(axes, box, _text(step, realized, expected, style)))
    return figure


def headline(data: RealizedData, style: PlotStyle) -> str:
    """Return the sentence that the distribution says."""
    return style.say(
        "The files give a record's true {attribute} {share} on average; {expected} was expected",
        attribute=data.attribute,
        share=percent(data.realized.average, 1),
        expected=percent(data.expected.average, 1),
    )


def _text(
    step: int,
    realized: npt.NDArray[np.float64],
    expected: npt.NDArray[np.float64],
    style: PlotStyle,
) -> str:
    return style.say(
        "Probability {low} to {high}\n{share} of records, {more} with at least this\nexpected:"
        " {other}, {others} with at least this",
        low=percent(step / BARS, 0),
        high=percent((step + 1) / BARS, 0),
        share=percent(float(realized[step]), 1),
        more=percent(float(realized[step:].sum()), 1),
        other=percent(float(expected[step]), 1),
        others=percent(float(expected[step:].sum()), 1),
    )
