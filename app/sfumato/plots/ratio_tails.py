"""The question: how often does the ratio of two noisy counts hit a small group's share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.plots.figure import (
    HoverRegion,
    PlotFigure,
    label_font,
    name_rows,
    percent,
    points,
    quiet_axes,
)
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RatioRow:
    """One group.

    Parameters
    ----------
    records
        Its size.
    share, table_share
        The share of its most frequent value in the group and in the whole table.
    high, low
        How often the ratio is too high or too low by more than ε.
    """

    records: int
    share: float
    table_share: float
    high: float
    low: float


@dataclass(frozen=True)
class RatioData:
    """The riskiest groups.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    privacy_loss, epsilon, delta
        λ of one answer, the relative error, and how often it should be exceeded on each side.
    rows
        The groups, the most skewed first.
    """

    attribute: str
    privacy_loss: float
    epsilon: float
    delta: float
    rows: tuple[RatioRow, ...]


def build_ratio_tails(data: RatioData, style: PlotStyle) -> PlotFigure:
    """Draw, for each group, how often two noisy answers miss low, hit, and miss high.

    Parameters
    ----------
    data
        The groups.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns records, share, table_share, low, within and high.
    """
    rows = data.rows
    low = np.array([row.low for row in rows])
    high = np.array([row.high for row in rows])
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "How often the ratio of two counts with Laplace noise (λ = {loss}) is too low, within"
            " {epsilon} of the truth, or too high. Dashed: {delta} on either side.",
            loss=f"{data.privacy_loss:g}",
            epsilon=percent(data.epsilon, 0),
            delta=percent(data.delta, 0),
        ),
        _table(rows, low, 1.0 - low - high, high),
        size=(640.0, 150.0 + 32.0 * max(len(rows), 2)),
    )
    if not rows:
        return figure
    _draw(figure, data, low, high, style)
    return figure


def _draw(figure: PlotFigure, data: RatioData, low: Floats, high: Floats, style: PlotStyle) -> None:
    rows, within = data.rows, 1.0 - low - high
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="none")
    name_rows(axes, _names(rows, style), style, widest=36)
    places = np.arange(len(rows))
    for start, width, colour in (
        (np.zeros(len(rows)), low, style.blend(style.accent, 0.35)),
        (low, within, style.danger),
        (low + within, high, style.blend(style.accent, 0.35)),
    ):
        axes.barh(places, width, left=start, height=0.62, color=colour, zorder=2)
    for limit in (data.delta, 1.0 - data.delta):
        axes.axvline(
            limit, color=style.text, linewidth=points(1.0), linestyle=(0, (4, 3)), zorder=4
        )
    for place, share in zip(places, within, strict=True):
        axes.annotate(
            percent(float(share)), (low[place] + share / 2.0, place), ha="center", va="center",
            color=style.ink_on(style.danger), zorder=5,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )  # fmt: skip
    axes.set_xlim(0.0, 1.0)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    axes.set_xticks(ticks, [percent(tick, 0) for tick in ticks])
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
    for line, row in enumerate(rows):
        text = style.say(
            "{records} records, share {share} (in the table {table}): too low {low}, within"
            " {within}, too high {high}",
            records=row.records,
            share=percent(row.share, 1),
            table=percent(row.table_share, 1),
            low=percent(row.low, 1),
            within=percent(float(within[line]), 1),
            high=percent(row.high, 1),
        )
        figure.hover.append(HoverRegion(axes, (0.0, line - 0.5, 1.0, line + 0.5), text))


def headline(data: RatioData, style: PlotStyle) -> str:
    """Return how sure two noisy answers make anyone, at worst."""
    if not data.rows:
        return style.say("No group is as large as that")
    worst = min(data.rows, key=lambda row: row.high + row.low)
    return style.say(
        "Two noisy answers estimate the {attribute} of {records} people within {epsilon} with a"
        " confidence of {within}",
        attribute=data.attribute,
        records=worst.records,
        epsilon=percent(data.epsilon, 0),
        within=percent(1.0 - worst.high - worst.low),
    )


def _names(rows: Sequence[RatioRow], style: PlotStyle) -> list[str]:
    return [
        style.say("{records} records, {share}", records=row.records, share=percent(row.share))
        for row in rows
    ]


def _table(rows: Sequence[RatioRow], low: Floats, within: Floats, high: Floats) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "records": [row.records for row in rows],
            "share": [row.share for row in rows],
            "table_share": [row.table_share for row in rows],
            "low": low,
            "within": within,
            "high": high,
        }
    )
