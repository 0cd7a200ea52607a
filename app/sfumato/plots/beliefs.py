"""The question: what do several published tables together tell about one person."""

from __future__ import annotations

from dataclasses import dataclass, field

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
)
from sfumato.plots.lines import house_font
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]

MOST_ROWS = 14
"""Values that are drawn, the likeliest; all of them are in the data."""


@dataclass(frozen=True)
class BeliefData:
    """Beliefs about a person whose class in each table is known.

    Parameters
    ----------
    names
        The sensitive values, shape (m,).
    prior, belief
        Belief before, and with all tables at hand, shape (m,).
    correlated
        Belief where it is known as well how many people the classes share, shape (m,); None
        where nothing is known of that.
    """

    names: tuple[str, ...]
    prior: Floats = field(repr=False)
    belief: Floats = field(repr=False)
    correlated: Floats | None = field(default=None, repr=False)


def build_beliefs(data: BeliefData, style: PlotStyle) -> PlotFigure:
    """Draw the belief in each value: before (a mark), after (a bar), with a correlation (a dot).

    Parameters
    ----------
    data
        The beliefs.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns value, before, after and, where it is known, correlated.
    """
    columns = {"value": data.names, "before": data.prior, "after": data.belief}
    words = style.say("Bar: with all tables at hand. Mark: before.")
    if data.correlated is not None:
        columns["correlated"] = data.correlated
        words = style.say("Bar: with all tables at hand. Mark: before. Dot: sharing known too.")
    strongest = np.maximum(data.belief, 0 if data.correlated is None else data.correlated)
    order = np.lexsort((-data.prior, -strongest))[:MOST_ROWS]
    figure = PlotFigure(
        style,
        headline(data, style),
        words,
        pd.DataFrame(columns),
        size=(640.0, 120.0 + 26.0 * len(order)),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, [data.names[place] for place in order], style)
    _draw(figure, axes, data, order, style)
    axes.set_xlim(0.0, 1.12)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    axes.set_xticks(ticks, [percent(tick, 0) for tick in ticks])
    house_font(axes, style)
    return figure


def headline(data: BeliefData, style: PlotStyle) -> str:
    """Return the strongest belief."""
    best = int(np.argmax(data.belief))
    possible = int((data.belief > 0).sum())
    if possible == 1:
        return style.say("Only “{name}” remains possible", name=data.names[best])
    return style.say(
        "{count} values remain possible; “{name}” is believed to {belief}, before {prior}",
        count=possible,
        name=data.names[best],
        belief=percent(float(data.belief[best])),
        prior=percent(float(data.prior[best])),
    )


def _draw(
    figure: PlotFigure,
    axes: Axes,
    data: BeliefData,
    order: npt.NDArray[np.intp],
    style: PlotStyle,
) -> None:
    rows = np.arange(len(order))
    belief, prior = data.belief[order], data.prior[order]
    axes.barh(rows, belief, height=0.56, color=style.released, zorder=2)
    axes.vlines(prior, rows - 0.4, rows + 0.4, color=style.text, linewidth=points(2.0), zorder=3)
    if data.correlated is not None:
        axes.plot(
            data.correlated[order], rows, "o", color=style.background, zorder=4,
            markeredgecolor=style.text, markersize=points(8.0), linestyle="none",
        )  # fmt: skip
    for row, place in enumerate(order):
        known = "" if data.correlated is None else percent(float(data.correlated[place]), 1)
        axes.annotate(
            percent(float(data.belief[place])),
            (1.0, row),
            xytext=(points(6.0), 0.0),
            textcoords="offset points",
            va="center",
            color=style.text,
            **label_font(style, style.small),  # type: ignore[arg-type]
        )
        text = style.say(
            "{name}: {before} before, {after} with all tables",
            name=data.names[place],
            before=percent(float(data.prior[place]), 1),
            after=percent(float(data.belief[place]), 1),
        )
        if known:
            text += "\n" + style.say("{share} where the sharing is known", share=known)
        figure.hover.append(HoverRegion(axes, (0.0, row - 0.5, 1.2, row + 0.5), text))
