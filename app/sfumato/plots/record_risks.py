"""For how many records a coalition restores the true value with which probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sfumato.analysis.coalitions import CoalitionAnswer
from sfumato.engine.disclosure.record_risk import BINS, RecordRisk
from sfumato.plots.axes import (
    Floats,
    filling,
    name_axes,
    name_series,
    percent,
    percent_axis,
    plot,
    probability,
    whole,
)
from sfumato.plots.figure import PlotFigure
from sfumato.plots.style import PlotStyle

BARS = 20
"""Bars drawn for each way of releasing."""


def _distributions(
    style: PlotStyle,
    headline: str,
    subtitle: str,
    columns: dict[str, Floats],
    drawn: Sequence[tuple[Floats, str, str]],
) -> tuple[PlotFigure, list[Floats]]:
    """Draw one or two distributions of a probability, side by side.

    Parameters
    ----------
    style, headline, subtitle
        See `PlotFigure`.
    columns
        The distributions that are exported, by name, in `BINS` steps.
    drawn
        Those that are drawn, with name and colour.

    Returns
    -------
    tuple
        The figure, and what is drawn, in `BARS` steps.
    """
    edges = np.arange(BINS + 1) / BINS
    table = pd.DataFrame({"from": edges[:-1], "to": edges[1:], **columns})
    figure, axes = plot(style, headline, subtitle, table, (640.0, 330.0))
    width = 0.8 / len(drawn) / BARS
    coarse = [histogram.reshape(BARS, BINS // BARS).sum(axis=1) for histogram, _, _ in drawn]
    for place, (shares, (_, _, colour)) in enumerate(zip(coarse, drawn, strict=True)):
        side = (place - (len(drawn) - 1) / 2) * width
        centres = (np.arange(BARS) + 0.5) / BARS + side
        axes.bar(centres, shares, width=width, zorder=2, **filling(place, colour, style))
    highest = max(0.01, *(float(shares.max()) for shares in coarse))
    percent_axis(axes, "x")
    percent_axis(axes, "y", min(highest * 1.12, 1.0))
    name_axes(axes, style, style.say("Probability given to the record's true value"))
    name_series(axes, [(name, colour) for _, name, colour in drawn], style)
    return figure, coarse


def _step(style: PlotStyle, step: int) -> str:
    return style.say(
        "Probability {low} to {high}",
        low=percent(step / BARS, 0),
        high=percent((step + 1) / BARS, 0),
    )


def _tell_steps(figure: PlotFigure, texts: Sequence[str]) -> None:
    for step, text in enumerate(texts):
        figure.tell(figure.axes[0], (step / BARS, 0.0, (step + 1) / BARS, 2.0), text)


# ----- as expected


def build_risk_distribution(answer: CoalitionAnswer, style: PlotStyle) -> PlotFigure:
    """Draw how many records are restored with which probability, on the ladder and without.

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, on_ladder, alone and independent: shares of records
        for each step of the probability.
    """
    risk, together = answer.risk, len(answer.members) > 1
    ladder = style.say("on the ladder") if together else answer.names[0]
    drawn = [(risk.on_ladder.histogram, ladder, style.accent)]
    if together:
        drawn.append((risk.independent.histogram, style.say("independent noise"), style.danger))
    columns = {
        "on_ladder": risk.on_ladder.histogram,
        "alone": risk.alone.histogram,
        "independent": risk.independent.histogram,
    }
    figure, coarse = _distributions(
        style, _risk_headline(answer, style), _risk_subtitle(answer, style), columns, drawn
    )
    _tell_steps(figure, [_risk_text(step, coarse, style) for step in range(BARS)])
    return figure


def _risk_headline(answer: CoalitionAnswer, style: PlotStyle) -> str:
    """Return the sentence that the distribution says."""
    risk = answer.risk
    if len(answer.members) == 1:
        return style.say(
            "{name} alone gives a record's true {attribute} a probability of {share} on average",
            name=answer.names[0],
            attribute=answer.entry,
            share=percent(risk.alone.average),
        )
    return style.say(
        "Independent noise would give a record's true {attribute} a probability of {independent} on"
        " average; the ladder {ladder}, as {best} alone",
        attribute=answer.entry,
        independent=probability(risk.independent.average),
        ladder=probability(risk.on_ladder.average),
        best=answer.names[0],
    )


def _risk_subtitle(answer: CoalitionAnswer, style: PlotStyle) -> str:
    """Return how to read the bars, and how exact they are."""
    words = style.say(
        "Share of records by the probability that Bayes' rule gives to their true value."
    )
    if answer.risk.independent.exact:
        return words + " " + style.say("Exact: every outcome was gone through.")
    drawn = style.say(
        "From {draws} drawn {draws:outcome|outcomes}; the average is exact to ± {error}.",
        draws=whole(answer.risk.independent.draws),
        error=percent(answer.risk.independent.average_error, 2),
    )
    return f"{words} {drawn}"


def _risk_text(step: int, coarse: Sequence[Floats], style: PlotStyle) -> str:
    told = [
        {"share": percent(float(each[step]), 1), "more": percent(float(each[step:].sum()), 1)}
        for each in coarse
    ]
    between = _step(style, step)
    own = style.say("{share} of records; {more} with at least this", **told[0])
    if len(told) == 1:
        return f"{between}\n{own}"
    other = style.say("independent noise: {share}; {more} with at least this", **told[1])
    return f"{between}\n{style.say('on the ladder')}: {own}\n{other}"


# ----- as it fell


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

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, realized and expected: shares of records for each
        step of the probability.
    """
    columns = {"realized": data.realized.histogram, "expected": data.expected.histogram}
    figure, (realized, expected) = _distributions(
        style,
        style.say(
            "The files give a record's true {attribute} {share} on average; {expected} was"
            " expected",
            attribute=data.attribute,
            share=percent(data.realized.average, 1),
            expected=percent(data.expected.average, 1),
        ),
        style.say(
            "Share of records by the probability that Bayes' rule gives to their true value, in"
            " the files as released and on average over the noise."
        ),
        columns,
        [
            (data.realized.histogram, style.say("in the files"), style.accent),
            (data.expected.histogram, style.say("expected"), style.muted),
        ],
    )
    texts = [
        style.say(
            "Probability {low} to {high}\n{share} of records, {more} with at least this\nexpected:"
            " {other}, {others} with at least this",
            low=percent(step / BARS, 0),
            high=percent((step + 1) / BARS, 0),
            share=percent(float(realized[step]), 1),
            more=percent(float(realized[step:].sum()), 1),
            other=percent(float(expected[step]), 1),
            others=percent(float(expected[step:].sum()), 1),
        )
        for step in range(BARS)
    ]
    _tell_steps(figure, texts)
    return figure
