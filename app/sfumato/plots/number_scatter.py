"""The question: what stays of the dependence between two attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, points, quiet_axes
from sfumato.plots.numbers import amount
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScatterData:
    """Two attributes of some records, as they are and as they are released.

    Parameters
    ----------
    attributes
        Their names, the horizontal one first.
    recipient
        For whom.
    true, released
        The numbers, shape (rows, 2).
    true_correlation, released_correlation
        Over all records.
    """

    attributes: tuple[str, str]
    recipient: str
    true: Floats
    released: Floats
    true_correlation: float
    released_correlation: float


def build_number_scatter(data: ScatterData, style: PlotStyle) -> PlotFigure:
    """Draw two attributes against each other, the true and the released side by side.

    Parameters
    ----------
    data
        The records.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has a row for each record: both attributes, true and released.
    """
    first, second = data.attributes
    table = pd.DataFrame(
        {
            f"true {first}": data.true[:, 0],
            f"true {second}": data.true[:, 1],
            f"released {first}": data.released[:, 0],
            f"released {second}": data.released[:, 1],
        }
    )
    subtitle = style.say(
        "{rows} records; both pictures have the same scales.", rows=amount(len(data.true), 9)
    )
    figure = PlotFigure(style, headline(data, style), subtitle, table, size=(680.0, 380.0))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, numbers, colour, words in (
        (left, data.true, style.original, style.say("true")),
        (right, data.released, style.released, style.say("released")),
    ):
        quiet_axes(axes, style, grid="both")
        axes.plot(
            numbers[:, 0],
            numbers[:, 1],
            "o",
            color=colour,
            alpha=_faintness(len(numbers)),
            markersize=points(5.0),
            markeredgewidth=0,
            zorder=2,
        )
        axes.set_title(words, loc="left", color=colour, pad=8, **label_font(style, weight=600))
        axes.set_xlabel(first, color=style.muted, **label_font(style, style.small))
    left.set_ylabel(second, color=style.muted, **label_font(style, style.small))
    _scale(left, right, data, style)
    for axes, words, value in (
        (left, style.say("true"), data.true_correlation),
        (right, style.say("released"), data.released_correlation),
    ):
        (low, high), (foot, top) = axes.get_xlim(), axes.get_ylim()
        text = style.say(
            "{words}: correlation {value}", words=words, value=f"{value:.3f}".replace("-", "\u2212")
        )
        figure.hover.append(HoverRegion(axes, (low, foot, high, top), text))
    return figure


def headline(data: ScatterData, style: PlotStyle) -> str:
    """Return what becomes of the correlation."""
    first, second = data.attributes
    details = {
        "first": first,
        "second": second,
        "before": f"{data.true_correlation:.2f}".replace("-", "\u2212"),
        "after": f"{data.released_correlation:.2f}".replace("-", "\u2212"),
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


def _faintness(rows: int) -> float:
    return float(np.clip(60.0 / np.sqrt(max(rows, 1)) / 4, 0.25, 0.8))


def _scale(left: Axes, right: Axes, data: ScatterData, style: PlotStyle) -> None:
    """Fit both pictures to all but the last few of the released points."""
    both = np.concatenate([data.true, data.released])
    low, high = np.quantile(both, [0.002, 0.998], axis=0)
    low, high = np.minimum(low, data.true.min(axis=0)), np.maximum(high, data.true.max(axis=0))
    room = np.maximum(high - low, 1e-12) * 0.04
    left.set_xlim(low[0] - room[0], high[0] + room[0])
    left.set_ylim(low[1] - room[1], high[1] + room[1])
    left.locator_params(axis="x", nbins=5)
    for axes in (left, right):
        axes.xaxis.set_major_formatter(lambda value, _place: amount(value))
        axes.yaxis.set_major_formatter(lambda value, _place: amount(value))
        for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
            label.set_fontfamily(style.font_family)
