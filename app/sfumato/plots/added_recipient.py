"""The question: what would one more recipient change."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from sfumato.engine.disclosure.added_recipient import AddedRecipient
from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
from sfumato.plots.lines import percent_axis
from sfumato.plots.style import PlotStyle

SAME = 5e-4
"""Risks that differ by less are shown as the same."""


@dataclass(frozen=True)
class AddedData:
    """What one more recipient would change.

    Parameters
    ----------
    attribute
        The attribute in question.
    level
        The new recipient's level, as it is stated.
    best
        The most trusted member so far; empty where there is none.
    change
        The risk before and after.
    """

    attribute: str
    level: str
    best: str
    change: AddedRecipient


def build_added_recipient(data: AddedData, style: PlotStyle) -> PlotFigure:
    """Draw the coalition's average risk before and after somebody joins.

    Parameters
    ----------
    data
        The change.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns noise, before and after.
    """
    change = data.change
    before = change.before.average if change.before is not None else 0.0
    apart = change.independent_before.average if change.independent_before is not None else 0.0
    rows = (
        (style.say("On the ladder"), before, change.after.average, style.accent),
        (style.say("Independent noise"), apart, change.independent_after.average, style.danger),
        (style.say("The new one alone"), 0.0, change.alone.average, style.muted),
    )
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Average probability given to a record's true value. Hollow: before. Full: after."
        ),
        pd.DataFrame(
            {
                "noise": ["ladder", "independent", "new recipient alone"],
                "before": [row[1] for row in rows],
                "after": [row[2] for row in rows],
            }
        ),
        size=(640.0, 220.0),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    percent_axis(axes, style, "x")
    axes.set_xlim(0.0, 1.1)
    for label in axes.get_yticklabels():
        label.set(fontfamily=style.font_family, fontsize=points(style.body), color=style.text)
    for place, (name, first, last, colour) in enumerate(rows):
        compared = place < 2 and change.before is not None
        _row(axes, place, first if compared else None, last, colour, style)
        text = style.say("{name}: {after}", name=name, after=percent(last, 2))
        if compared:
            text = style.say(
                "{name}: {before} before, {after} after",
                name=name,
                before=percent(first, 2),
                after=percent(last, 2),
            )
        figure.hover.append(HoverRegion(axes, (0.0, place - 0.5, 1.1, place + 0.5), text))
    return figure


def _row(
    axes: Axes, place: int, first: float | None, last: float, colour: str, style: PlotStyle
) -> None:
    size = points(9.0)
    if first is not None:
        axes.hlines(place, first, last, color=style.blend(colour, 0.5), linewidth=points(4.0))
        axes.plot(
            first, place, "o", markersize=size, color=style.background, markeredgecolor=colour
        )
    axes.plot(last, place, "o", markersize=size, color=colour, zorder=4)
    axes.annotate(
        percent(last),
        (max(last, first or 0.0), place),
        xytext=(points(10.0), 0),
        textcoords="offset points",
        va="center",
        color=style.text,
        **label_font(style, style.small, 600),  # type: ignore[arg-type]
    )


def headline(data: AddedData, style: PlotStyle) -> str:
    """Return what would change, in a sentence."""
    change = data.change
    after = percent(change.after.average)
    if change.before is None:
        return style.say(
            "The first recipient, at {level}, gives the true {attribute} a probability of {after}"
            " on average",
            level=data.level,
            attribute=data.attribute,
            after=after,
        )
    rise = change.after.average - change.before.average
    if not change.raises_the_top or rise < SAME:
        return style.say(
            "A recipient at {level} would teach the coalition nothing: {best} tells all they know",
            level=data.level,
            best=data.best,
        )
    return style.say(
        "A recipient at {level} would raise what the coalition knows from {before} to {after}",
        level=data.level,
        before=percent(change.before.average),
        after=after,
    )
