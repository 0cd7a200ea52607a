"""The question: which groups are too large for the share of their most frequent value."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from sfumato.plots.figure import HoverRegion, PlotFigure, label_font, percent, points, quiet_axes
from sfumato.plots.style import PlotStyle

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

MOST_DOTS = 4_000
"""Dots that are drawn; all of them are in the data."""

MOST_NAMED = 300
"""Dots that answer to the pointer."""


@dataclass(frozen=True)
class SizesData:
    """Groups by their size and their largest share.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    recipient
        Who is given the release.
    sizes, shares
        Each group's size and the share of its most frequent value, shape (G,).
    violating
        Which groups violate, shape (G,).
    curve_shares, curve_sizes
        The largest size that the simplified published test allows at some shares, shape (k,);
        empty where there is no such test.
    epsilon, delta
        What was asked for.
    """

    attribute: str
    recipient: str
    sizes: Whole = field(repr=False)
    shares: Floats = field(repr=False)
    violating: npt.NDArray[np.bool_] = field(repr=False)
    curve_shares: Floats = field(repr=False)
    curve_sizes: Floats = field(repr=False)
    epsilon: float
    delta: float


def build_group_sizes(data: SizesData, style: PlotStyle) -> PlotFigure:
    """Draw a dot for each group, and the size above which the published test finds it too large.

    Parameters
    ----------
    data
        The groups.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns records, share, violates and groups.
    """
    table = _table(data)
    figure = PlotFigure(
        style,
        headline(data, style),
        style.say(
            "A dot is a group of people alike; its area tells how many groups it stands for."
        ),
        table,
        size=(640.0, 380.0),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="both")
    _dots(figure, axes, table, style)
    if len(data.curve_sizes):
        _curve(axes, data, style)
    _axes_of(axes, data, style)
    return figure


def headline(data: SizesData, style: PlotStyle) -> str:
    """Return what the dots show."""
    count = int(data.violating.sum())
    if count == 0:
        return style.say(
            "No group gives its {attribute} away to {recipient}",
            attribute=data.attribute,
            recipient=data.recipient,
        )
    least = int(data.sizes[data.violating].min())
    return style.say(
        "{share} of the groups give their {attribute} away, the smallest with {least} records",
        share=percent(count / len(data.sizes)),
        attribute=data.attribute,
        least=least,
    )


def _table(data: SizesData) -> pd.DataFrame:
    frame = pd.DataFrame({"records": data.sizes, "share": data.shares, "violates": data.violating})
    counted = frame.value_counts(["records", "share", "violates"], sort=False)
    return counted.rename("groups").reset_index()


def _dots(figure: PlotFigure, axes: Axes, table: pd.DataFrame, style: PlotStyle) -> None:
    drawn = table if len(table) <= MOST_DOTS else table.nlargest(MOST_DOTS, "records")
    area = 6.0 + 10.0 * np.log2(drawn["groups"].to_numpy() + 1.0)
    for violates, colour, words, marker in (
        (False, style.accent, style.say("private"), "o"),
        (True, style.danger, style.say("given away"), "D"),
    ):
        here = (drawn["violates"] == violates).to_numpy()
        if not here.any():
            continue
        axes.scatter(
            drawn["records"][here], drawn["share"][here], s=area[here] * points(1.0),
            color=colour, marker=marker, alpha=0.55, linewidths=0, zorder=3, label=words,
        )  # fmt: skip
    legend = axes.legend(
        loc="upper right", frameon=False, labelcolor=style.text,
        prop={"family": style.font_family, "size": points(style.small)}, handletextpad=0.3,
    )  # fmt: skip
    legend.set_zorder(6)
    named = drawn.nlargest(MOST_NAMED, "records")
    for size, share, groups in zip(named["records"], named["share"], named["groups"], strict=True):
        figure.hover.append(
            HoverRegion(
                axes,
                (size / 1.04, share - 0.012, size * 1.04, share + 0.012),
                style.say(
                    "{groups} groups of {records} records, most frequent value {share}",
                    groups=groups,
                    records=size,
                    share=percent(share, 1),
                ),
            )
        )


def _curve(axes: Axes, data: SizesData, style: PlotStyle) -> None:
    axes.plot(
        data.curve_sizes, data.curve_shares, color=style.text, linewidth=points(1.5), zorder=4
    )
    at = int(len(data.curve_shares) * 0.8)
    axes.annotate(
        style.say("published limit"),
        (data.curve_sizes[at], data.curve_shares[at]),
        xytext=(points(-8.0), 0.0),
        textcoords="offset points",
        ha="right",
        va="center",
        color=style.text,
        zorder=5,
        **label_font(style, style.small, 600),  # type: ignore[arg-type]
    )


def _axes_of(axes: Axes, data: SizesData, style: PlotStyle) -> None:
    axes.set_xscale("log")
    highest = max(float(data.sizes.max()) * 1.6, 10.0)
    axes.set_xlim(0.8, highest)
    ticks = [10.0**power for power in range(7) if 10.0**power <= highest]
    axes.set_xticks(ticks, [f"{int(tick):,}".replace(",", "\u202f") for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.04)
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    axes.set_yticks(shares, [percent(share, 0) for share in shares])
    look = label_font(style, style.small)
    axes.set_xlabel(style.say("Records in the group"), color=style.muted, **look)  # type: ignore[arg-type]
    axes.set_ylabel(style.say("Share of its most frequent value"), color=style.muted, **look)  # type: ignore[arg-type]
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontfamily(style.font_family)
