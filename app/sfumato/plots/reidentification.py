"""The question: how likely is somebody found in a table, before and after it is generalized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.engine.generalization.risk import Basis, Risk, SizeShare
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

_BAR = 0.34

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RiskData:
    """The risk of being found, before and after.

    Parameters
    ----------
    before, after
        Of the table as it is, and as it is published.
    """

    before: Risk
    after: Risk


def build_reidentification(data: RiskData, style: PlotStyle) -> PlotFigure:
    """Draw the risk that each of three attackers poses, before and after.

    Parameters
    ----------
    data
        The risks.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns attacker, before and after.
    """
    names = (
        style.say("Prosecutor: one certain person"),
        style.say("Journalist: anybody at all"),
        style.say("Marketer: as many as possible"),
    )
    before = np.array([data.before.prosecutor, data.before.journalist, data.before.marketer])
    after = np.array([data.after.prosecutor, data.after.journalist, data.after.marketer])
    figure = PlotFigure(
        style,
        style.say(
            "Who looks for one certain person finds them with a chance of at most {after},"
            " before {before}",
            after=percent(after[0]),
            before=percent(before[0]),
        ),
        " ".join(
            [
                style.say("Upper bars: the table as it is. Lower bars: as it is published."),
                _basis(data.after.basis, style),
            ]
        ),
        pd.DataFrame({"attacker": names, "before": before, "after": after}),
        size=(420.0, 270.0),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style)
    name_rows(axes, names, style, widest=32)
    _risk_bars(axes, before, after, style)
    axes.set_xlim(0.0, 1.18)
    ticks = (0.0, 0.5, 1.0)
    axes.set_xticks(ticks, [percent(tick, 0) for tick in ticks])
    house_font(axes, style)
    return figure


def _basis(basis: Basis, style: PlotStyle) -> str:
    """Say what the population is, which the prosecutor does not need."""
    return {
        Basis.TABLE: style.say("The table counts as the whole population."),
        Basis.COUNTED: style.say("Journalist and marketer look in the given population."),
        Basis.SAMPLED: style.say("Journalist and marketer: estimated for the population."),
    }[basis]


def _risk_bars(axes: Axes, before: Floats, after: Floats, style: PlotStyle) -> None:
    """Draw two bars for each attacker, with their numbers."""
    rows = np.arange(len(before))
    for shares, offset, colour in (
        (before, -_BAR / 2 - 0.02, style.original),
        (after, _BAR / 2 + 0.02, style.released),
    ):
        axes.barh(rows + offset, shares, height=_BAR, color=colour, zorder=2)
        for row, share in zip(rows, shares, strict=True):
            axes.annotate(
                percent(float(share)),
                (float(share), row + offset),
                xytext=(points(6.0), 0.0),
                textcoords="offset points",
                va="center",
                color=style.text,
                **label_font(style, style.small),  # type: ignore[arg-type]
            )


def build_class_sizes(data: RiskData, style: PlotStyle) -> PlotFigure:
    """Draw how the records are spread over class sizes, before and after.

    Parameters
    ----------
    data
        The risks, which know the class sizes.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns least, most, records_before, records_after, classes_before and
        classes_after.
    """
    before, after = data.before.sizes, data.after.sizes
    shares = np.array(
        [
            [size.records / risk.records for size in sizes]
            for risk, sizes in ((data.before, before), (data.after, after))
        ]
    )
    figure = PlotFigure(
        style,
        _sizes_headline(data, style),
        style.say(
            "Share of the records in classes of each size, from a number up to the next."
            " Left: before. Right: after."
        ),
        _sizes_table(data),
        size=(420.0, 270.0),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    places = np.arange(len(before))
    axes.bar(places - 0.2, shares[0], width=0.36, color=style.original, zorder=2)
    axes.bar(places + 0.2, shares[1], width=0.36, color=style.released, zorder=2)
    # Ranges would run into one another; the numbers that they begin with have room.
    axes.set_xticks(places, [str(size.least) for size in before])
    top = max(float(shares.max()) * 1.1, 0.05)
    axes.set_ylim(0.0, top)
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= min(top, 1.0)]
    axes.set_yticks(ticks, [percent(float(tick), 0) for tick in ticks])
    _size_hover(figure, axes, data, top)
    house_font(axes, style)
    return figure


def _size_hover(figure: PlotFigure, axes: Axes, data: RiskData, top: float) -> None:
    """Say the numbers of each class size."""
    style, before, after = figure.style, data.before.sizes, data.after.sizes
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        figure.hover.append(
            HoverRegion(
                axes,
                (place - 0.5, 0.0, place + 0.5, top),
                style.say(
                    "Classes of {size} records: before {old} with {old_records} records,"
                    " after {new} with {new_records}",
                    size=_size_name(old),
                    old=old.classes,
                    old_records=old.records,
                    new=new.classes,
                    new_records=new.records,
                ),
            )
        )


def _sizes_table(data: RiskData) -> pd.DataFrame:
    before, after = data.before.sizes, data.after.sizes
    return pd.DataFrame(
        {
            "least": [size.least for size in before],
            "most": [size.most for size in before],
            "records_before": [size.records for size in before],
            "records_after": [size.records for size in after],
            "classes_before": [size.classes for size in before],
            "classes_after": [size.classes for size in after],
        }
    )


def _sizes_headline(data: RiskData, style: PlotStyle) -> str:
    if data.before.uniques == 0:
        return style.say("Nobody is unique, before or after")
    if data.after.uniques == 0:
        return style.say(
            "{before} of the people are unique in the table as it is; as published, nobody is",
            before=percent(data.before.uniques / data.before.records),
        )
    return style.say(
        "{before} of the people are unique in the table as it is; as published, {after}",
        before=percent(data.before.uniques / data.before.records),
        after=percent(data.after.uniques / data.after.records),
    )


def _size_name(size: SizeShare) -> str:
    if size.most is None:
        return f"{size.least}+"
    if size.most == size.least:
        return str(size.least)
    return f"{size.least}–{size.most}"
