"""What plots with lines over numbers share: ticks in percent and names at the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from sfumato.plots.figure import label_font, percent, points
from sfumato.plots.style import PlotStyle


def percent_axis(axes: Axes, style: PlotStyle, along: str = "y", top: float = 1.0) -> None:
    """Give an axis of shares from 0 to `top` ticks in percent."""
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if top / s <= 5.0), 0.25)
    ticks = np.arange(0.0, top + 1e-9, step)
    if along == "y":
        axes.set_ylim(0.0, top * 1.04)
        axes.set_yticks(ticks, [percent(float(tick), 0) for tick in ticks])
    else:
        axes.set_xlim(0.0, top)
        axes.set_xticks(ticks, [percent(float(tick), 0) for tick in ticks])
    house_font(axes, style)


def house_font(axes: Axes, style: PlotStyle) -> None:
    """Give the ticks the house's font."""
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)
        label.set_parse_math(False)


def name_line(
    axes: Axes,
    at: tuple[float, float],
    words: str,
    colour: str,
    style: PlotStyle,
    *,
    above: bool = True,
    align: str = "right",
) -> None:
    """Write a line's name beside one of its points, in its colour."""
    axes.annotate(
        words,
        at,
        xytext=(0.0, points(9.0 if above else -9.0)),
        textcoords="offset points",
        ha=align,
        va="bottom" if above else "top",
        color=colour,
        **label_font(style, style.small, 600),  # type: ignore[arg-type]
    )


def name_series(axes: Axes, names: Sequence[tuple[str, str]], style: PlotStyle) -> None:
    """Write the names of what is drawn above the axes, side by side, each in its colour."""
    left: Text | Axes = axes
    for place, (words, colour) in enumerate(names):
        first = place == 0
        left = axes.annotate(
            words,
            (0.0, 1.0) if first else (1.0, 0.0),
            xycoords="axes fraction" if first else left,
            xytext=(0.0, points(6.0)) if first else (points(16.0), 0.0),
            textcoords="offset points",
            va="bottom",
            color=colour,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )


def probability(share: float) -> str:
    """Return a share in percent that says 100 % only where it is."""
    if 0.995 <= share < 1.0:
        return "> 99.9\u202f%" if share > 0.9995 else percent(share, 1)
    return percent(share)


def title_axes(axes: Axes, title: str, below: str, style: PlotStyle) -> None:
    """Name what a panel shows, and what its horizontal axis is."""
    if title:
        axes.set_title(title, loc="left", color=style.text, pad=8, **label_font(style, weight=600))  # type: ignore[arg-type]
    if below:
        axes.set_xlabel(below, color=style.muted, labelpad=6, **label_font(style, style.small))  # type: ignore[arg-type]


def whole_ticks(count: int, most: int = 10) -> Sequence[int]:
    """Return whole numbers from 1 to `count`, at most so many, the last among them."""
    if count <= most:
        return range(1, count + 1)
    step = next(s for s in (5, 10, 20, 50, 100, 1000, count) if count / s <= most)
    ticks = list(range(step, count + 1, step))
    return ticks if ticks[-1] == count else [*ticks[:-1], count]
