"""The question: which public column gives groups away, and what would releasing less save."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
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


@dataclass(frozen=True)
class RemedyRow:
    """One change to a public column.

    Parameters
    ----------
    column
        The column.
    bins
        In how many bins it would be released; None where in none.
    groups, violating
        How many groups there would be, and how many of them would violate.
    records
        The share of records in violating groups.
    level, classes
        At which level of its hierarchy it would be released, and in how many classes; None where
        at none. Without bins and a level it would be dropped.
    """

    column: str
    bins: int | None
    groups: int
    violating: int
    records: float
    level: int | None = None
    classes: int | None = None


@dataclass(frozen=True)
class RemedyData:
    """What changes to public columns would do.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    now
        The share of records in violating groups as things are.
    rows
        The changes.
    """

    attribute: str
    now: float
    rows: tuple[RemedyRow, ...]


def build_remedy_bars(data: RemedyData, style: PlotStyle) -> PlotFigure:
    """Draw the share of records in violating groups after each change, the best first.

    Parameters
    ----------
    data
        The changes.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns change, groups, violating_groups and record_share.
    """
    rows = sorted(data.rows, key=lambda row: row.records)
    names = [_name(row, style) for row in rows]
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "Share of records in groups that are given away. Dashed: as things are, {now}.",
            now=percent(data.now),
        ),
        pd.DataFrame(
            {
                "change": names,
                "groups": [row.groups for row in rows],
                "violating_groups": [row.violating for row in rows],
                "record_share": [row.records for row in rows],
            }
        ),
        size=(640.0, 130.0 + 30.0 * max(len(rows), 2)),
    )
    if not rows:
        return figure
    _draw(figure, data.now, names, rows, style)
    return figure


def _draw(
    figure: PlotFigure, now: float, names: list[str], rows: list[RemedyRow], style: PlotStyle
) -> None:
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, names, style, widest=30)
    shares = [row.records for row in rows]
    colours = [style.good if share < now else style.danger for share in shares]
    axes.barh(np.arange(len(rows)), shares, height=0.58, color=colours, zorder=2)
    axes.axvline(now, color=style.muted, linewidth=points(1.0), linestyle=(0, (4, 3)))
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    axes.set_xlim(0.0, 1.12)
    axes.set_xticks(ticks, [percent(tick, 0) for tick in ticks])
    for label in axes.get_xticklabels():
        label.set_fontfamily(style.font_family)
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        axes.annotate(
            percent(row.records), (row.records, place), xytext=(points(6.0), 0),
            textcoords="offset points", va="center", color=style.text,
            **label_font(style, style.small, 600),  # type: ignore[arg-type]
        )  # fmt: skip
        text = style.say(
            "{name}: {violating} of {groups} groups, {records} of the records",
            name=name,
            violating=row.violating,
            groups=row.groups,
            records=percent(row.records, 2),
        )
        figure.hover.append(HoverRegion(axes, (0.0, place - 0.5, 1.12, place + 0.5), text))


def headline(data: RemedyData, style: PlotStyle) -> str:
    """Return what helps most, or that nothing does."""
    best = min(data.rows, key=lambda row: row.records, default=None)
    if best is None:
        return style.say("The attacker knows no public column that could be released less of")
    if data.now == 0.0:
        worst = max(data.rows, key=lambda row: row.records)
        return style.say(
            "No record of {attribute} is given away now; releasing less merges groups: {change},"
            " {share}",
            attribute=data.attribute,
            change=_name(worst, style)[:1].lower() + _name(worst, style)[1:],
            share=percent(worst.records),
        )
    if best.records >= data.now:
        return style.say(
            "Releasing less of one public column protects no record of {attribute}: groups grow"
            " as they merge",
            attribute=data.attribute,
        )
    return style.say(
        "{change}: {best} instead of {now} of the records would be in groups that are given away",
        change=_name(best, style),
        best=percent(best.records),
        now=percent(data.now),
    )


def _name(row: RemedyRow, style: PlotStyle) -> str:
    if row.level is not None:
        return style.say(
            "With {column} at level {level}, {classes} classes",
            column=row.column,
            level=row.level,
            classes=row.classes,
        )
    if row.bins is None:
        return style.say("Without {column}", column=row.column)
    return style.say("With {column} in {bins} bins", column=row.column, bins=row.bins)
