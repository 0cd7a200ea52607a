"""The question: where, on the way down the ladder, does one record's value change."""

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
    points,
    quiet_axes,
    shorten,
)
from sfumato.plots.style import PlotStyle

Vector = npt.NDArray[np.float64]

_TICKS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True)
class RecordLadderData:
    """What levels of trust show of one record.

    Parameters
    ----------
    attribute
        The attribute.
    row
        The record's row, from 1.
    stretches
        For values: (upper trust, lower trust, value's name), from the top down; else empty.
    trusts, numbers
        For numbers: what each trust shows; else empty.
    stops
        The recipients: (name, trust, what they see).
    """

    attribute: str
    row: int
    stretches: tuple[tuple[float, float, str], ...]
    trusts: Vector
    numbers: Vector
    stops: tuple[tuple[str, float, str], ...]


def build_record_ladder(data: RecordLadderData, style: PlotStyle) -> PlotFigure:
    """Draw the way down the ladder: trust from left to right, values from top to bottom.

    Parameters
    ----------
    data
        The way and the recipients on it.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns trust from, trust to and value; for numbers trust and value.
    """
    names = list(dict.fromkeys(name for _, _, name in data.stretches))
    height = 190.0 + 30.0 * len(names) if names else 360.0
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "From the original at the left to the least trusted level at the right."
            " For your eyes only: the whole way gives the true value away."
        ),
        _exported(data),
        size=(720.0, height),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    if names:
        name_rows(axes, names, style)
        _draw_stretches(figure, axes, data, names, style)
    else:
        axes.plot(data.trusts, data.numbers, color=style.released, linewidth=points(1.5))
        axes.margins(y=0.08)
    _trust_axis(axes, data, style)
    _draw_stops(figure, axes, data, style)
    return figure


def headline(data: RecordLadderData, style: PlotStyle) -> str:
    """Return the sentence that the way says."""
    if len(data.numbers):
        return style.say(
            "Row {row}: the further down, the further {attribute} wanders from the true number",
            row=f"{data.row:,}",
            attribute=data.attribute,
        )
    changes = len(data.stretches) - 1
    if changes == 0:
        return style.say(
            "Row {row} shows its true {attribute} at every level down to {lowest:g}",
            row=f"{data.row:,}",
            attribute=data.attribute,
            lowest=data.stretches[-1][1],
        )
    words = (
        "Row {row} loses its true {attribute} at a trust of {level:.3g}, its only change"
        if changes == 1
        else "Row {row} loses its true {attribute} at a trust of {level:.3g}, and changes {count}"
        " times in all"
    )
    return style.say(
        words,
        row=f"{data.row:,}",
        attribute=data.attribute,
        level=data.stretches[0][1],
        count=changes,
    )


def _exported(data: RecordLadderData) -> pd.DataFrame:
    if len(data.numbers):
        return pd.DataFrame({"trust": data.trusts, "value": data.numbers})
    return pd.DataFrame(list(data.stretches), columns=["trust from", "trust to", "value"])


def _draw_stretches(
    figure: PlotFigure,
    axes: Axes,
    data: RecordLadderData,
    names: list[str],
    style: PlotStyle,
) -> None:
    before: int | None = None
    for upper, lower, name in data.stretches:
        row = names.index(name)
        colour = style.original if row == 0 else style.released
        axes.plot([upper, lower], [row, row], color=colour, linewidth=points(7.0),
                  solid_capstyle="butt", zorder=3)  # fmt: skip
        if before is not None:
            axes.plot([upper, upper], [before, row], color=style.muted, linewidth=points(1.0),
                      zorder=2)  # fmt: skip
        figure.hover.append(
            HoverRegion(
                axes,
                (upper, row - 0.4, lower, row + 0.4),
                style.say(
                    "{name}: from a trust of {upper:.4g} down to {lower:.4g}",
                    name=name,
                    upper=upper,
                    lower=lower,
                ),
            )
        )
        before = row


def _trust_axis(axes: Axes, data: RecordLadderData, style: PlotStyle) -> None:
    """Let trust fall from left to right, by ratios."""
    lowest = float(data.trusts[-1]) if len(data.trusts) else data.stretches[-1][1]
    axes.set_xscale("log")
    axes.set_xlim(1.0, lowest)
    ticks = [tick for tick in _TICKS if tick >= lowest * 0.999]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)
    axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.set_xlabel(
        style.say("Trust"),
        color=style.muted,
        **label_font(style, style.small),  # type: ignore[arg-type]
    )


def _draw_stops(figure: PlotFigure, axes: Axes, data: RecordLadderData, style: PlotStyle) -> None:
    """Mark the recipients, their names above the axes; names that would collide alternate."""
    last = [np.inf, np.inf, np.inf]
    for name, trust, seen in data.stops:
        if not axes.get_xlim()[1] <= trust <= 1.0:
            continue
        axes.axvline(trust, color=style.trust_colour(trust), linewidth=points(1.5), zorder=1)
        spot = -np.log(trust) / -np.log(axes.get_xlim()[1])
        line = next((i for i, end in enumerate(last) if end == np.inf or spot - end > 0.22), 2)
        last[line] = spot
        axes.annotate(
            shorten(name, 18),
            (trust, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, points(6.0 + 16.0 * line)),
            textcoords="offset points",
            ha="left" if spot < 0.12 else "right" if spot > 0.88 else "center",
            color=style.muted,
            **label_font(style, style.small),  # type: ignore[arg-type]
        )
        bottom, top = axes.get_ylim()
        figure.hover.append(
            HoverRegion(
                axes,
                (trust * 1.015, bottom, trust / 1.015, top),
                style.say("{name} sees {seen}", name=name, seen=seen),
            )
        )
