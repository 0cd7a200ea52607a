"""The question: what does a released value tell about the true one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import (
    HoverRegion,
    PlotFigure,
    label_font,
    name_rows,
    percent,
    points,
    quiet_axes,
    shorten,
)
from sfumato.plots.style import PlotStyle

MOST_ROWS = 14
"""Values drawn one by one; the others are summed up in a last row."""


@dataclass(frozen=True)
class PosteriorData:
    """What an attacker believes before and after seeing one released value.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    prior
        Belief before, shape (m,), summing to 1: the values' shares in the table.
    posterior
        Belief after, shape (m,), summing to 1.
    seen
        The position of the released value.
    """

    names: tuple[str, ...]
    prior: npt.NDArray[np.float64]
    posterior: npt.NDArray[np.float64]
    seen: int


def build_posterior_bars(data: PosteriorData, style: PlotStyle) -> PlotFigure:
    """Draw, for each possible true value, the belief before (a mark) and after (a bar).

    Parameters
    ----------
    data
        The beliefs.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns value, before and after, for the whole domain.
    """
    names, prior, posterior = _rows(data, style)
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Bar: belief in each true value after seeing “{seen}”. Mark: belief before.",
            seen=data.names[data.seen],
        ),
        pd.DataFrame({"value": data.names, "before": data.prior, "after": data.posterior}),
        size=(640.0, 130.0 + 28.0 * len(names)),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, names, style)
    axes.set_xlim(0.0, max(float(prior.max()), float(posterior.max())) * 1.04)
    _percent_ticks(axes, style)
    rows = np.arange(len(names))
    seen_name = shorten(data.names[data.seen], 28)
    colours = [
        style.released if shorten(name, 28) == seen_name else style.blend(style.muted, 0.55)
        for name in names
    ]
    axes.barh(rows, posterior, height=0.56, color=colours, zorder=2)
    axes.vlines(prior, rows - 0.4, rows + 0.4, color=style.text, linewidth=points(2.0), zorder=3)
    for row, (name, before, after) in enumerate(zip(names, prior, posterior, strict=True)):
        _write_change(axes, row, float(before), float(after), style)
        figure.hover.append(
            HoverRegion(
                axes,
                (0.0, row - 0.5, 2.0, row + 0.5),
                style.say(
                    "{name}: {before} before, {after} after",
                    name=name,
                    before=percent(float(before), 2),
                    after=percent(float(after), 2),
                ),
            )
        )
    return figure


def headline(data: PosteriorData, style: PlotStyle) -> str:
    """Return the sentence that the beliefs say."""
    before, after = float(data.prior[data.seen]), float(data.posterior[data.seen])
    name = data.names[data.seen]
    if before == 0:
        return style.say(
            "“{name}” does not occur in the table, so seeing it tells nothing about it", name=name
        )
    if abs(after - before) < 5e-4:
        return style.say("Seeing “{name}” tells nothing: the belief in it stays", name=name)
    return style.say(
        "Seeing “{name}” raises the belief in it from {before} to {after}",
        name=name,
        before=percent(before),
        after=percent(after),
    )


def _rows(
    data: PosteriorData, style: PlotStyle
) -> tuple[tuple[str, ...], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the rows to draw: the likeliest values first, the rest in one."""
    order = np.lexsort((-data.prior, -data.posterior))
    if len(order) > MOST_ROWS:
        kept = order[: MOST_ROWS - 1]
        if data.seen not in kept:
            kept = np.append(kept[:-1], data.seen)
        rest = np.setdiff1d(order, kept)
        names = (
            *(data.names[i] for i in kept),
            style.say("{count} other values", count=len(rest)),
        )
        return (
            names,
            np.append(data.prior[kept], data.prior[rest].sum()),
            np.append(data.posterior[kept], data.posterior[rest].sum()),
        )
    return tuple(data.names[i] for i in order), data.prior[order], data.posterior[order]


def _write_change(axes: Axes, row: int, before: float, after: float, style: PlotStyle) -> None:
    """Write both beliefs right of a row, one column for all rows."""
    for offset, words, colour, weight in (
        (68.0, percent(before), style.muted, 400),
        (82.0, "→", style.muted, 400),
        (134.0, percent(after), style.text, 600),
    ):
        axes.annotate(
            words,
            (1.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(points(offset), 0),
            textcoords="offset points",
            ha="right",
            va="center",
            color=colour,
            **label_font(style, style.small, weight),  # type: ignore[arg-type]
        )


def _percent_ticks(axes: Axes, style: PlotStyle) -> None:
    """Write the ticks of the horizontal axis as percentages, within 0 to 100."""
    low, high = axes.get_xlim()
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= min(high, 1.0)]
    axes.set_xticks(ticks, [percent(float(tick), 0) for tick in ticks])
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
