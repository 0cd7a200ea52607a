"""The question: which recipient stands where between the original and nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, points, quiet_axes, shorten
from sfumato.plots.style import PlotStyle

LOWEST = 1e-3
"""Where a logarithmic axis ends: trust below it is drawn at its foot."""


@dataclass(frozen=True)
class Rung:
    """One recipient's place on a ladder.

    Parameters
    ----------
    name
        The recipient.
    trust
        From 0 (nothing) to 1 (the original).
    level
        The level in its usual notation, e.g. ``p = 0.6``.
    detail
        What it means, for the pointer.
    chosen
        Whether the recipient belongs to the coalition in question.
    """

    name: str
    trust: float
    level: str
    detail: str = ""
    chosen: bool = False


@dataclass(frozen=True)
class LadderData:
    """The ladder of one policy entry.

    Parameters
    ----------
    attribute
        The entry's attribute or attributes.
    rungs
        The recipients, in any order.
    logarithmic
        Whether equal distances are equal ratios of trust.
    """

    attribute: str
    rungs: tuple[Rung, ...]
    logarithmic: bool = False

    @property
    def sorted(self) -> tuple[Rung, ...]:
        """The rungs, most trusted first."""
        return tuple(sorted(self.rungs, key=lambda rung: -rung.trust))


def build_trust_ladder(data: LadderData, style: PlotStyle) -> PlotFigure:
    """Draw the recipients as rungs below the original.

    Parameters
    ----------
    data
        The ladder.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns recipient, trust, level and in coalition.
    """
    rungs = data.sorted
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say("Each rung is the rung above, blurred once more. Height is trust."),
        pd.DataFrame(
            {
                "recipient": [rung.name for rung in rungs],
                "trust": [rung.trust for rung in rungs],
                "level": [rung.level for rung in rungs],
                "in coalition": [rung.chosen for rung in rungs],
            }
        ),
        size=(520.0, max(320.0, 110.0 + 44.0 * len(rungs))),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="none")
    axes.set_xlim(0.0, 10.0)
    axes.set_xticks([])
    _draw_scale(axes, data, style)
    for x in (0.6, 2.0):
        axes.plot([x, x], [0.0, 1.0], color=style.line, linewidth=points(3.0), zorder=1)
    _draw_rungs(figure, axes, data, style)
    return figure


def headline(data: LadderData, style: PlotStyle) -> str:
    """Return the sentence that the ladder says."""
    rungs = data.sorted
    chosen = [rung for rung in rungs if rung.chosen]
    if not rungs:
        return style.say("Nobody is on the ladder for {attribute} yet", attribute=data.attribute)
    if len(chosen) > 1:
        return style.say(
            "Together, these {count} recipients learn what {best} learns alone",
            count=len(chosen),
            best=chosen[0].name,
        )
    if len(rungs) == 1:
        return style.say(
            "{name} is the only recipient on the ladder for {attribute}",
            name=rungs[0].name,
            attribute=data.attribute,
        )
    if rungs[0].trust == rungs[-1].trust:
        return style.say(
            "All {count} recipients see the same release of {attribute}",
            count=len(rungs),
            attribute=data.attribute,
        )
    return style.say(
        "{best} sees {attribute} most clearly, {least} least",
        best=rungs[0].name,
        least=rungs[-1].name,
        attribute=data.attribute,
    )


def height_of(trust: float, logarithmic: bool) -> float:
    """Return where a trust stands between the foot (0) and the top (1) of the ladder."""
    if not logarithmic:
        return min(max(trust, 0.0), 1.0)
    return float(np.log(max(trust, LOWEST) / LOWEST) / np.log(1.0 / LOWEST))


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move descending heights apart until neighbours are `gap` apart, as little as possible.

    Parameters
    ----------
    heights
        Where the labels would like to be, highest first, within 0 to 1.
    gap
        The least distance.

    Returns
    -------
    list of float
        Where they are, highest first. They stay within 0 to 1 where there is room.
    """
    groups: list[list[float]] = []  # [sum of wishes + offsets, count]
    for height in heights:
        groups.append([height, 1.0])
        while len(groups) > 1:
            above, below = groups[-2], groups[-1]
            foot = above[0] / above[1] - gap * (above[1] - 1) / 2
            top = below[0] / below[1] + gap * (below[1] - 1) / 2
            if foot - top >= gap - 1e-12:
                break
            groups[-2:] = [[above[0] + below[0], above[1] + below[1]]]
    placed: list[float] = []
    for total, count in groups:
        reach = gap * (count - 1) / 2
        centre = min(max(total / count, reach), max(1.0 - reach, 0.5))
        placed += [centre + reach - gap * i for i in range(int(count))]
    return placed


def _draw_scale(axes: Axes, data: LadderData, style: PlotStyle) -> None:
    marks = (1.0, 0.1, 0.01, 0.001) if data.logarithmic else (1.0, 0.75, 0.5, 0.25, 0.0)
    axes.set_yticks(
        [height_of(mark, data.logarithmic) for mark in marks], [f"{m:g}" for m in marks]
    )
    axes.set_ylim(-0.05, 1.05)
    for label in axes.get_yticklabels():
        label.set_fontfamily(style.font_family)


def _draw_rungs(figure: PlotFigure, axes: Axes, data: LadderData, style: PlotStyle) -> None:
    original = Rung(style.say("Original"), 1.0, style.say("never released"))
    everyone = (original, *data.sorted)
    heights = [height_of(rung.trust, data.logarithmic) for rung in everyone]
    gap = min(40.0 / (figure.preferred_height - 90.0), 1.0 / max(len(everyone) - 1, 1))
    dimmed = any(rung.chosen for rung in data.rungs)
    for rung, height, label_height in zip(everyone, heights, spread(heights, gap), strict=True):
        first = rung is original
        colour = style.original if first else style.trust_colour(rung.trust)
        faded = dimmed and not rung.chosen and not first
        ink = style.muted if faded else style.text
        axes.plot(
            [0.6, 2.0],
            [height, height],
            color=style.blend(colour, 0.35) if faded else colour,
            linewidth=points(6.0),
            solid_capstyle="round",
            zorder=3,
        )
        axes.plot(
            [2.2, 2.7, 2.9],
            [height, label_height, label_height],
            color=style.line,
            linewidth=points(1.0),
            zorder=2,
        )
        axes.annotate(
            shorten(rung.name, 32),
            (3.0, label_height),
            va="bottom",
            xytext=(0, points(-1.0)),
            textcoords="offset points",
            color=ink,
            **label_font(style, weight=600),  # type: ignore[arg-type]
        )
        axes.annotate(
            rung.level,
            (3.0, label_height),
            va="top",
            xytext=(0, points(-3.0)),
            textcoords="offset points",
            color=style.muted,
            **label_font(style, style.small),  # type: ignore[arg-type]
        )
        text = "\n".join(part for part in (rung.name, rung.level, rung.detail) if part)
        figure.hover += [
            HoverRegion(axes, (0.4, height - 0.02, 2.2, height + 0.02), text),
            HoverRegion(axes, (2.9, label_height - gap / 2, 10.0, label_height + gap / 2), text),
        ]
