"""Small groups: which a release gives away, what helps, and what noisy counts tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.engine.disclosure.grouped_values import GroupView
from sfumato.formats.language import localized
from sfumato.plots.axes import (
    DASHED,
    QUARTERS,
    Flags,
    Floats,
    Whole,
    fit_percent_ticks,
    name_axes,
    name_ticks,
    percent,
    percent_ticks,
    plot,
    row_plot,
    whole,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

MOST_DOTS = 4_000
"""Dots that are drawn; all of them are in the data."""

MOST_NAMED = 300
"""Dots that answer to the pointer."""

MOST_VALUES = 10
"""Values drawn, the most frequent first; all of them are in the data."""


# ----- sizes and shares


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
    violating: Flags = field(repr=False)
    curve_shares: Floats = field(repr=False)
    curve_sizes: Floats = field(repr=False)
    epsilon: float
    delta: float


def build_group_sizes(data: SizesData, style: PlotStyle) -> PlotFigure:
    """Draw a dot for each group, and the size above which the published test finds it too large.

    Returns
    -------
    PlotFigure
        Its data has the columns records, share, violates and groups.
    """
    columns = {"records": data.sizes, "share": data.shares, "violates": data.violating}
    counted = pd.DataFrame(columns).value_counts(list(columns), sort=False)
    table = counted.rename("groups").reset_index()
    figure, axes = plot(
        style,
        _sizes_headline(data, style),
        style.say(
            "A dot is a group of people alike; its area tells how many groups it stands for."
        ),
        table,
        (640.0, 380.0),
        "both",
    )
    _dots(figure, axes, table, style)
    if len(data.curve_sizes):
        axes.plot(
            data.curve_sizes, data.curve_shares, color=style.text, linewidth=points(1.5), zorder=4
        )
        at = int(len(data.curve_shares) * 0.8)
        end = (data.curve_sizes[at], data.curve_shares[at])
        write(axes, style.say("published limit"), end, style, (-8.0, 0.0), ha="right", zorder=5)
    axes.set_xscale("log")
    highest = max(float(data.sizes.max()) * 1.6, 10.0)
    axes.set_xlim(0.8, highest)
    ticks = [10.0**power for power in range(7) if 10.0**power <= highest]
    name_ticks(axes, "x", ticks, [whole(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.04)
    percent_ticks(axes, "y", QUARTERS)
    share = style.say("Share of its most frequent value")
    name_axes(axes, style, style.say("Records in the group"), share)
    return figure


def _sizes_headline(data: SizesData, style: PlotStyle) -> str:
    """Return what the dots show."""
    count = int(data.violating.sum())
    if count == 0:
        return style.say(
            "{recipient} can estimate the shares of {attribute} closely in no group",
            attribute=data.attribute,
            recipient=data.recipient,
        )
    return style.say(
        "In {share} of the groups, the smallest with {least} {least:record|records}, the shares of"
        " {attribute} can be estimated closely",
        share=percent(count / len(data.sizes)),
        attribute=data.attribute,
        least=int(data.sizes[data.violating].min()),
    )


def _dots(figure: PlotFigure, axes: Axes, table: pd.DataFrame, style: PlotStyle) -> None:
    drawn = table if len(table) <= MOST_DOTS else table.nlargest(MOST_DOTS, "records")
    area = 6.0 + 10.0 * np.log2(drawn["groups"].to_numpy() + 1.0)
    for violates, colour, words, marker in (
        (False, style.accent, style.say("private"), "o"),
        (True, style.danger, style.say("estimated closely"), "D"),
    ):
        here = (drawn["violates"] == violates).to_numpy()
        if here.any():
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
        said = style.say(
            "{groups} {groups:group|groups} of {records} {records:record|records}, most frequent"
            " value {share}",
            groups=groups,
            records=size,
            share=percent(share, 1),
        )
        figure.tell(axes, (size / 1.04, share - 0.012, size * 1.04, share + 0.012), said)


# ----- one group


@dataclass(frozen=True)
class ReconstructionData:
    """One group. For the custodian only.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    recipient
        Who is given the release.
    names
        The names of the values, by code.
    view
        The group.
    within
        The attacker's confidence in the most frequent value's estimate.
    epsilon
        The relative error the confidence is about.
    """

    attribute: str
    recipient: str
    names: Sequence[str]
    view: GroupView
    within: float
    epsilon: float


def build_group_reconstruction(data: ReconstructionData, style: PlotStyle) -> PlotFigure:
    """Draw true shares as bars, and what the release lets the recipient reconstruct.

    Returns
    -------
    PlotFigure
        Its data has the columns value, true, reconstructed and spread.
    """
    view = data.view
    names = [data.names[int(code)] for code in view.values]
    shown = min(MOST_VALUES, max(int((view.true > 0).sum()), 2), len(names))
    estimated = view.estimated if view.estimated is not None else np.full(len(names), np.nan)
    columns = {"value": names, "true": view.true, "reconstructed": estimated}
    figure, axes = row_plot(
        style,
        style.say(
            "{recipient} estimates this group of {size} within {epsilon} of the truth with a"
            " confidence of {within}",
            recipient=data.recipient,
            size=view.size,
            epsilon=percent(data.epsilon, 0),
            within=percent(data.within),
        ),
        style.say(
            "Bars: true shares. Points: as reconstructed from this release; the lines hold 95 %"
            " of all reconstructions."
        ),
        pd.DataFrame(columns | {"spread": view.spread}),
        names[:shown],
        (140.0, 28.0),
    )
    true, spread, estimated = view.true[:shown], view.spread[:shown], estimated[:shown]
    places = np.arange(shown)
    axes.barh(places, true, height=0.58, color=style.original, zorder=2)
    # A halo keeps the interval in sight on the bar.
    for colour, width in ((style.background, 5.0), (style.released, 2.0)):
        look = {"color": colour, "linewidth": points(width), "zorder": 3}
        axes.hlines(places, true - spread, true + spread, **look)  # type: ignore[arg-type]
    axes.plot(
        estimated, places, "o", color=style.released, markersize=points(8.0),
        markeredgecolor=style.background, zorder=4,
    )  # fmt: skip
    ends = np.concatenate([true - spread, true + spread, estimated[~np.isnan(estimated)]])
    low, high = min(float(ends.min()), 0.0), max(float(ends.max()), 0.05)
    room = 0.04 * (high - low)
    axes.set_xlim(low - room if low < 0.0 else 0.0, high + room)
    fit_percent_ticks(axes, "x", high + room)
    for place in range(shown):
        said = style.say(
            "{name}: true {true}, reconstructed {estimated} (± {spread} in 95 % of releases)",
            name=names[place],
            true=percent(float(true[place]), 1),
            estimated="–" if np.isnan(estimated[place]) else percent(float(estimated[place]), 1),
            spread=percent(float(spread[place]), 1),
        )
        figure.tell_row(axes, place, said)
    return figure


# ----- what releasing less would save


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

    Returns
    -------
    PlotFigure
        Its data has the columns change, groups, violating_groups and record_share.
    """
    rows = sorted(data.rows, key=lambda row: row.records)
    names = [_change(row, style) for row in rows]
    listed = [
        (name, row.groups, row.violating, row.records)
        for name, row in zip(names, rows, strict=True)
    ]
    columns = ["change", "groups", "violating_groups", "record_share"]
    figure, axes = row_plot(
        style,
        _remedy_headline(data, style),
        style.say(
            "Share of records in groups that can be estimated closely. Dashed: as things are,"
            " {now}.",
            now=percent(data.now),
        ),
        pd.DataFrame(listed, columns=columns),
        names,
        widest=30,
    )
    if not rows:
        return figure
    shares = [row.records for row in rows]
    colours = [style.good if share < data.now else style.danger for share in shares]
    axes.barh(np.arange(len(rows)), shares, height=0.58, color=colours, zorder=2)
    axes.axvline(data.now, color=style.muted, linewidth=points(1.0), linestyle=DASHED)
    axes.set_xlim(0.0, 1.12)
    percent_ticks(axes, "x")
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        write(axes, percent(row.records), (row.records, place), style)
        said = style.say(
            "{name}: {violating} of {groups} {groups:group|groups}, {records} of the records",
            name=name,
            violating=row.violating,
            groups=row.groups,
            records=percent(row.records, 2),
        )
        figure.tell_row(axes, place, said)
    return figure


def _remedy_headline(data: RemedyData, style: PlotStyle) -> str:
    """Return what helps most, or that nothing does."""
    if not data.rows:
        return style.say("The attacker knows no public column that could be released less of")
    best = min(data.rows, key=lambda row: row.records)
    if data.now == 0.0:
        worst = max(data.rows, key=lambda row: row.records)
        change = _change(worst, style)
        return style.say(
            "The shares of {attribute} can be estimated closely in no group now; releasing less"
            " merges groups: {change}, {share}",
            attribute=data.attribute,
            change=change[:1].lower() + change[1:],
            share=percent(worst.records),
        )
    if best.records >= data.now:
        return style.say(
            "Releasing less of one public column protects no record of {attribute}: groups grow"
            " as they merge",
            attribute=data.attribute,
        )
    return style.say(
        "{change}: {best} instead of {now} of the records would be in groups that can be estimated"
        " closely",
        change=_change(best, style),
        best=percent(best.records),
        now=percent(data.now),
    )


def _change(row: RemedyRow, style: PlotStyle) -> str:
    if row.level is not None:
        return style.say(
            "With {column} at level {level}, {classes} {classes:class|classes}",
            column=row.column,
            level=row.level,
            classes=row.classes,
        )
    if row.bins is None:
        return style.say("Without {column}", column=row.column)
    return style.say("With {column} in {bins} {bins:bin|bins}", column=row.column, bins=row.bins)


# ----- noisy counts


@dataclass(frozen=True)
class RatioRow:
    """One group.

    Parameters
    ----------
    records
        Its size.
    share, table_share
        The share of its most frequent value in the group and in the whole table.
    high, low
        How often the ratio is too high or too low by more than ε.
    """

    records: int
    share: float
    table_share: float
    high: float
    low: float

    @property
    def within(self) -> float:
        """How often it is neither."""
        return 1.0 - self.low - self.high


@dataclass(frozen=True)
class RatioData:
    """The riskiest groups.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    privacy_loss, epsilon, delta
        λ of one answer, the relative error, and how often it should be exceeded on each side.
    rows
        The groups, the most skewed first.
    """

    attribute: str
    privacy_loss: float
    epsilon: float
    delta: float
    rows: tuple[RatioRow, ...]


def _ratio_name(records: int, share: float, style: PlotStyle) -> str:
    return style.say(
        "{records} {records:record|records}, {share}", records=records, share=percent(share)
    )


def build_ratio_tails(data: RatioData, style: PlotStyle) -> PlotFigure:
    """Draw, for each group, how often two noisy answers miss low, hit, and miss high.

    Returns
    -------
    PlotFigure
        Its data has the columns records, share, table_share, low, within and high.
    """
    rows = data.rows
    columns = ["records", "share", "table_share", "low", "within", "high"]
    table = pd.DataFrame(
        [[getattr(row, name) for name in columns] for row in rows], columns=columns
    )
    figure, axes = row_plot(
        style,
        _ratio_headline(data, style),
        style.say(
            "How often the ratio of two counts with Laplace noise (λ = {loss}) is too low, within"
            " {epsilon} of the truth, or too high. Dashed: {delta} on either side.",
            loss=localized(f"{data.privacy_loss:g}"),
            epsilon=percent(data.epsilon, 0),
            delta=percent(data.delta, 0),
        ),
        table,
        [_ratio_name(row.records, row.share, style) for row in rows],
        (150.0, 32.0),
        36,
    )
    if not rows:
        return figure
    axes.grid(False)
    pale, places = style.blend(style.accent, 0.35), np.arange(len(rows))
    start = np.zeros(len(rows))
    for part, colour in (("low", pale), ("within", style.danger), ("high", pale)):
        width = table[part].to_numpy()
        axes.barh(places, width, left=start, height=0.62, color=colour, zorder=2)
        start = start + width
    for limit in (data.delta, 1.0 - data.delta):
        axes.axvline(limit, color=style.text, linewidth=points(1.0), linestyle=DASHED, zorder=4)
    axes.set_xlim(0.0, 1.0)
    percent_ticks(axes, "x")
    for place, row in enumerate(rows):
        at, ink = (row.low + row.within / 2.0, place), style.ink_on(style.danger)
        write(axes, percent(row.within), at, style, (0.0, 0.0), ink, ha="center", zorder=5)
        said = style.say(
            "{records} {records:record|records}, share {share} (in the table {table}): too low"
            " {low}, within {within}, too high {high}",
            records=row.records,
            share=percent(row.share, 1),
            table=percent(row.table_share, 1),
            low=percent(row.low, 1),
            within=percent(row.within, 1),
            high=percent(row.high, 1),
        )
        figure.tell_row(axes, place, said)
    return figure


def _ratio_headline(data: RatioData, style: PlotStyle) -> str:
    """Return how sure two noisy answers make anyone, at worst."""
    if not data.rows:
        return style.say("No group is as large as that")
    worst = max(data.rows, key=lambda row: row.within)
    return style.say(
        "Two noisy answers estimate the {attribute} of {records} {records:person|people} within"
        " {epsilon} with a confidence of {within}",
        attribute=data.attribute,
        records=worst.records,
        epsilon=percent(data.epsilon, 0),
        within=percent(worst.within),
    )
