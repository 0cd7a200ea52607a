"""The question: what does a coalition restore, with independent noise and on the ladder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
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
from sfumato.plots.style import PlotStyle

MOST_MEMBERS = 12
"""Members drawn one by one, most trusted first; all of them are in the data."""


@dataclass(frozen=True)
class Member:
    """One recipient of the coalition.

    Parameters
    ----------
    name
        The recipient.
    trust
        From 0 (nothing) to 1 (the original).
    restored
        The share of records whose true value the recipient guesses right alone.
    """

    name: str
    trust: float
    restored: float


@dataclass(frozen=True)
class CollusionData:
    """What members restore alone and together.

    Parameters
    ----------
    attribute
        The attribute in question.
    members
        The coalition, most trusted first.
    on_ladder
        The share of records restored together when the releases sit on one ladder.
    independent
        The same if every release had noise of its own.
    uncertainty
        Half the width of the 95 % interval of `independent`; 0 where it is exact.
    without
        The share guessed right without any release: the commonest value's.
    """

    attribute: str
    members: tuple[Member, ...]
    on_ladder: float
    independent: float
    uncertainty: float
    without: float


def build_collusion_bars(data: CollusionData, style: PlotStyle) -> PlotFigure:
    """Draw what each member restores alone and what all restore together.

    Parameters
    ----------
    data
        The shares.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns who, noise and restored.
    """
    members = data.members[:MOST_MEMBERS]
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Share of records whose true value the best guess hits. Dashed: guessing without any"
            " release, {without}.",
            without=percent(data.without),
        ),
        _as_table(data),
        size=(640.0, 150.0 + 32.0 * (len(members) + 2)),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    together = (
        (style.say("Together, on the ladder"), data.on_ladder, style.accent),
        (style.say("Together, independent noise"), data.independent, style.danger),
    )
    rows = [
        *((member.name, member.restored, style.trust_colour(member.trust)) for member in members),
        *together,
    ]
    name_rows(axes, [name for name, _, _ in rows], style, widest=30)
    _draw_rows(figure, axes, rows, data, style)
    axes.axhline(len(members) - 0.5, color=style.line, linewidth=points(1.0))
    axes.axvline(
        data.without, color=style.muted, linewidth=points(1.0), linestyle=(0, (4, 3)), zorder=4
    )
    return figure


def headline(data: CollusionData, style: PlotStyle) -> str:
    """Return the sentence that the bars say."""
    if len(data.members) == 1:
        return style.say(
            "{name} alone guesses {ladder} of the values of {attribute} right",
            name=data.members[0].name,
            ladder=percent(data.on_ladder),
            attribute=data.attribute,
        )
    return style.say(
        "{count} recipients who pool independent releases restore {independent} of the"
        " values of {attribute}; on the ladder, {ladder}",
        count=_count(len(data.members), style),
        independent=percent(data.independent),
        attribute=data.attribute,
        ladder=percent(data.on_ladder),
    )


def _count(number: int, style: PlotStyle) -> str:
    """Return a small number as a word, as a sentence begins with it."""
    words = ("Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    return style.say(words[number - 2]) if 2 <= number <= 10 else str(number)


def _as_table(data: CollusionData) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "who": [*(member.name for member in data.members), "together", "together", "nobody"],
            "noise": [*("own" for _ in data.members), "ladder", "independent", "no release"],
            "restored": [
                *(member.restored for member in data.members),
                data.on_ladder,
                data.independent,
                data.without,
            ],
        }
    )


def _draw_rows(
    figure: PlotFigure,
    axes: Axes,
    rows: list[tuple[str, float, str]],
    data: CollusionData,
    style: PlotStyle,
) -> None:
    places = np.arange(len(rows))
    axes.barh(
        places,
        [share for _, share, _ in rows],
        height=0.58,
        color=[colour for _, _, colour in rows],
        zorder=2,
    )
    axes.set_xlim(0.0, 1.1)
    axes.set_xticks(
        [0.0, 0.25, 0.5, 0.75, 1.0], [percent(tick, 0) for tick in (0.0, 0.25, 0.5, 0.75, 1.0)]
    )
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
    for place, (name, share, _) in enumerate(rows):
        last = place == len(rows) - 1
        shown = percent(share)
        if last and data.uncertainty:
            shown = f"{shown} ± {percent(data.uncertainty, 1)}"
        axes.annotate(
            shown,
            (share, place),
            xytext=(points(6.0), 0),
            textcoords="offset points",
            va="center",
            color=style.text,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )
        figure.hover.append(
            HoverRegion(
                axes,
                (0.0, place - 0.5, 1.1, place + 0.5),
                style.say("{name}: {share} of records", name=name, share=percent(share, 2)),
            )
        )
