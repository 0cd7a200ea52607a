"""Small groups: which a release gives away, what helps, and what noisy counts tell of them.

Curves show how groups that are given away, and the errors of counts, move with p, ε, δ and the
size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.analysis.disclosure.small_groups import RiskAnswer, change_sentence
from sfumato.analysis.tables.noisy_counts import NoisyAnswer
from sfumato.engine.core.values import Floats
from sfumato.engine.disclosure.estimate_tails import retention_of
from sfumato.engine.disclosure.group_privacy import PrivacyTest, allowed_size
from sfumato.engine.disclosure.group_risk import (
    Change,
    CurvePoint,
    Parameter,
    QueryPoint,
    RiskChange,
    RiskSetting,
)
from sfumato.formats.language import localized
from sfumato.plots.axes import (
    DASHED,
    QUARTERS,
    fit_percent_ticks,
    name_axes,
    name_ticks,
    percent,
    percent_ticks,
    plot,
    quiet_axes,
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


def build_group_sizes(answer: RiskAnswer, style: PlotStyle) -> PlotFigure:
    """Draw a dot for each group, and the size above which the published test finds it too large.

    Returns
    -------
    PlotFigure
        Its data has the columns records, share, violates and groups.
    """
    groups, risk = answer.known.grouped, answer.risk
    columns = {"records": groups.sizes, "share": groups.shares, "violates": risk.violating}
    counted = pd.DataFrame(columns).value_counts(list(columns), sort=False)
    table = counted.rename("groups").reset_index()
    figure, axes = plot(
        style,
        _sizes_headline(answer, style),
        style.say(
            "A dot is a group of people alike; its area tells how many groups it stands for."
        ),
        table,
        (640.0, 380.0),
        "both",
    )
    _dots(figure, axes, table, style)
    retention = retention_of(answer.shown.matrix)
    if risk.allowed is not None and retention is not None:
        shares, limits = np.linspace(0.02, 1.0, 100), (risk.limits.epsilon, risk.limits.delta)
        allowed = allowed_size(PrivacyTest.SIMPLIFIED, retention, groups.values, shares, *limits)
        axes.plot(allowed, shares, color=style.text, linewidth=points(1.5), zorder=4)
        end = (allowed[80], shares[80])
        write(axes, style.say("published limit"), end, style, (-8.0, 0.0), ha="right", zorder=5)
    axes.set_xscale("log")
    highest = max(float(groups.sizes.max()) * 1.6, 10.0)
    axes.set_xlim(0.8, highest)
    ticks = [10.0**power for power in range(7) if 10.0**power <= highest]
    name_ticks(axes, "x", ticks, [whole(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.04)
    percent_ticks(axes, "y", QUARTERS)
    share = style.say("Share of its most frequent value")
    name_axes(axes, style, style.say("Records in the group"), share)
    return figure


def _sizes_headline(answer: RiskAnswer, style: PlotStyle) -> str:
    """Return what the dots show."""
    violating, sizes = answer.risk.violating, answer.known.grouped.sizes
    attribute, count = answer.known.attribute.name, int(violating.sum())
    if count == 0:
        return style.say(
            "{recipient} can estimate the shares of {attribute} closely in no group",
            attribute=attribute,
            recipient=answer.shown.recipient,
        )
    return style.say(
        "In {share} of the groups, the smallest with {least} {least:record|records}, the shares of"
        " {attribute} can be estimated closely",
        share=percent(count / len(sizes)),
        attribute=attribute,
        least=int(sizes[violating].min()),
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


def build_group_reconstruction(answer: RiskAnswer, group: int, style: PlotStyle) -> PlotFigure:
    """Draw true shares as bars, and what the release lets the recipient reconstruct.

    Parameters
    ----------
    answer
        What the release gives away. For the custodian only.
    group
        Which group is drawn.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns value, true, reconstructed and spread.
    """
    view, domain = answer.view(group), answer.known.attribute.domain
    names = [domain.names[int(code)] if domain is not None else "" for code in view.values]
    shown = min(MOST_VALUES, max(int((view.true > 0).sum()), 2), len(names))
    estimated = view.estimated if view.estimated is not None else np.full(len(names), np.nan)
    columns = {"value": names, "true": view.true, "reconstructed": estimated}
    figure, axes = row_plot(
        style,
        _reconstruction_headline(answer, group, style),
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


def _reconstruction_headline(answer: RiskAnswer, group: int, style: PlotStyle) -> str:
    return style.say(
        "{recipient} estimates this group of {size} within {epsilon} of the truth with a"
        " confidence of {within}",
        recipient=answer.shown.recipient,
        size=int(answer.known.grouped.sizes[group]),
        epsilon=percent(answer.risk.limits.epsilon, 0),
        within=percent(float(answer.risk.tails.within[group])),
    )


# ----- what releasing less would save


def build_remedy_bars(answer: RiskAnswer, style: PlotStyle) -> PlotFigure:
    """Draw the share of records in violating groups after each change, the best first.

    Returns
    -------
    PlotFigure
        Its data has the columns change, groups, violating_groups and record_share.
    """
    now = answer.risk.total.record_share
    remedies = sorted(answer.remedies, key=_share)
    names = [_change(remedy.change, style) for remedy in remedies]
    totals, shares = [remedy.total for remedy in remedies], [_share(each) for each in remedies]
    listed = [
        (name, total.all_groups, total.groups, total.record_share)
        for name, total in zip(names, totals, strict=True)
    ]
    columns = ["change", "groups", "violating_groups", "record_share"]
    figure, axes = row_plot(
        style,
        _remedy_headline(answer.known.attribute.name, now, remedies, style),
        style.say(
            "Share of records in groups that can be estimated closely. Dashed: as things are,"
            " {now}.",
            now=percent(now),
        ),
        pd.DataFrame(listed, columns=columns),
        names,
        widest=30,
    )
    if not remedies:
        return figure
    colours = [style.good if share < now else style.hypothetical for share in shares]
    axes.barh(np.arange(len(shares)), shares, height=0.58, color=colours, zorder=2)
    axes.axvline(now, color=style.muted, linewidth=points(1.0), linestyle=DASHED)
    axes.set_xlim(0.0, 1.12)
    percent_ticks(axes, "x")
    for place, (name, total) in enumerate(zip(names, totals, strict=True)):
        write(axes, percent(total.record_share), (total.record_share, place), style)
        said = style.say(
            "{name}: {violating} of {groups} {groups:group|groups}, {records} of the records",
            name=name,
            violating=total.groups,
            groups=total.all_groups,
            records=percent(total.record_share, 2),
        )
        figure.tell_row(axes, place, said)
    return figure


def _share(remedy: RiskChange) -> float:
    return remedy.total.record_share


def _remedy_headline(
    attribute: str, now: float, remedies: Sequence[RiskChange], style: PlotStyle
) -> str:
    """Return what the first remedy, the best, does, or that none helps."""
    if not remedies:
        return style.say("The attacker knows no public column that could be released less of")
    best = remedies[0]
    if now == 0.0:
        worst = max(remedies, key=_share)
        change = _change(worst.change, style)
        return style.say(
            "The shares of {attribute} can be estimated closely in no group now; releasing less"
            " merges groups: {change}, {share}",
            attribute=attribute,
            change=change[:1].lower() + change[1:],
            share=percent(_share(worst)),
        )
    if _share(best) >= now:
        return style.say(
            "Releasing less of one public column protects no record of {attribute}: groups grow"
            " as they merge",
            attribute=attribute,
        )
    return style.say(
        "{change}: {best} instead of {now} of the records would be in groups that can be estimated"
        " closely",
        change=_change(best.change, style),
        best=percent(_share(best)),
        now=percent(now),
    )


def _change(change: Change, style: PlotStyle) -> str:
    sentence = change_sentence(change)
    return style.say(sentence.template, **sentence.details)


# ----- noisy counts


def _ratio_name(records: int, share: float, style: PlotStyle) -> str:
    return style.say(
        "{records} {records:record|records}, {share}", records=records, share=percent(share)
    )


def build_ratio_tails(answer: NoisyAnswer, style: PlotStyle) -> PlotFigure:
    """Draw, for each group, how often two noisy answers miss low, hit, and miss high.

    Returns
    -------
    PlotFigure
        Its data has the columns records, share, table_share, low, within and high.
    """
    asked, table = answer.question, _ratio_table(answer)
    rows: list[Any] = list(table.itertuples())
    figure, axes = row_plot(
        style,
        _ratio_headline(answer, table, style),
        style.say(
            "How often the ratio of two counts with Laplace noise (λ = {loss}) is too low, within"
            " {epsilon} of the truth, or too high. Dashed: {delta} on either side.",
            loss=localized(f"{asked.privacy_loss:g}"),
            epsilon=percent(asked.epsilon, 0),
            delta=percent(asked.delta, 0),
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
    for part, colour in (("low", pale), ("within", style.hypothetical), ("high", pale)):
        width = table[part].to_numpy()
        axes.barh(places, width, left=start, height=0.62, color=colour, zorder=2)
        start = start + width
    for limit in (asked.delta, 1.0 - asked.delta):
        axes.axvline(limit, color=style.text, linewidth=points(1.0), linestyle=DASHED, zorder=4)
    axes.set_xlim(0.0, 1.0)
    percent_ticks(axes, "x")
    for place, row in enumerate(rows):
        at, ink = (row.low + row.within / 2.0, place), style.ink_on(style.hypothetical)
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


def _ratio_table(answer: NoisyAnswer) -> pd.DataFrame:
    tails, groups = answer.tails, answer.known.grouped
    return pd.DataFrame(
        {
            "records": groups.sizes[answer.groups],
            "share": groups.shares[answer.groups],
            "table_share": answer.table_shares,
            "low": tails.low,
            "within": tails.within,
            "high": tails.high,
        }
    )


def _ratio_headline(answer: NoisyAnswer, table: pd.DataFrame, style: PlotStyle) -> str:
    """Return how sure two noisy answers make anyone, at worst."""
    if table.empty:
        return style.say("No group is as large as that")
    worst = table.iloc[int(table["within"].argmax())]
    return style.say(
        "Two noisy answers estimate the {attribute} of {records} {records:person|people} within"
        " {epsilon} with a confidence of {within}",
        attribute=answer.known.attribute.name,
        records=int(worst["records"]),
        epsilon=percent(answer.question.epsilon, 0),
        within=percent(float(worst["within"])),
    )


Point = TypeVar("Point", CurvePoint, QueryPoint)
Curve = tuple[str, str, str]
"""Which column of the table is drawn, its stroke and its colour."""


def _draw_panels(
    figure: PlotFigure,
    settings: Sequence[Point],
    curves: Sequence[Curve],
    tell: Callable[[Point, dict[str, str]], str],
    scale: str = "linear",
) -> Sequence[Axes]:
    """Draw a panel for each parameter that was moved.

    Parameters
    ----------
    figure
        Without axes so far; its data has a row for each setting.
    settings
        The settings, parameter by parameter.
    curves
        What is drawn.
    tell
        What is said over a point, given how its setting is called.
    scale
        That of the vertical axis, which the panels share.
    """
    style = figure.style
    table = figure.data
    parameters = list(dict.fromkeys(point.parameter for point in settings))
    panels: Sequence[Axes] = figure.subplots(1, len(parameters), sharey=True, squeeze=False)[0]
    for axes, parameter in zip(panels, parameters, strict=True):
        chosen = [point for point in settings if point.parameter == parameter]
        quiet_axes(axes, style, grid="y")
        axes.set_yscale(scale)
        places = np.arange(len(chosen), dtype=np.float64)
        for field, dash, colour in curves:
            axes.plot(
                places, table[field][table["parameter"] == parameter], dash, color=colour,
                linewidth=points(2.0), marker="o", markersize=points(5.0), zorder=3,
            )  # fmt: skip
        name = style.say("records") if parameter is Parameter.RECORDS else str(parameter)
        ticks = [_tick(parameter, point.value) for point in chosen]
        axes.set_xticks(places, ticks)
        axes.set_xlim(-0.4, len(chosen) - 0.6)
        name_axes(axes, style, name)
        for place, (point, tick) in enumerate(zip(chosen, ticks, strict=True)):
            bounds = (place - 0.5, 1e-9 if scale == "log" else -1.0, place + 0.5, 1e9)
            figure.tell(axes, bounds, tell(point, {"name": name, "value": tick}))
    return panels


def _tick(parameter: Parameter, value: float) -> str:
    if parameter is not Parameter.RECORDS:
        return localized(f"{value:g}")
    return f"{localized(f'{value / 1000:.3g}')}k" if value >= 1_000 else whole(int(value))


def _table(settings: Sequence[Point]) -> pd.DataFrame:
    """Return which parameter each setting moves, and to where."""
    return pd.DataFrame(
        {
            "parameter": [str(point.parameter) for point in settings],
            "value": [point.value for point in settings],
        }
    )


def _start(start: RiskSetting) -> dict[str, str]:
    """Return how the setting is written that all questions start from."""
    return {
        "p": localized(f"{start.retention:.3g}"),
        "epsilon": localized(f"{start.limits.epsilon:g}"),
        "delta": localized(f"{start.limits.delta:g}"),
        "records": whole(start.records),
    }


# ----- groups that are given away


def build_risk_curves(
    attribute: str, test: str, settings: Sequence[CurvePoint], style: PlotStyle
) -> PlotFigure:
    """Draw the violating shares over p, ε, δ and size (Wang, Han and Fu 2012, Figs. 2 and 4).

    Parameters
    ----------
    attribute
        The sensitive attribute.
    test
        What the test is called that is asked for.
    settings
        The settings, parameter by parameter, in ascending order; the last is what all start from.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns parameter, value, groups and records.
    """
    start = settings[-1].setting
    found = [point.found[start.limits.rule] for point in settings]
    table = _table(settings)
    table["groups"] = [each.group_share for each in found]
    table["records"] = [each.record_share for each in found]
    figure = PlotFigure(
        style,
        _risk_headline(attribute, table, style),
        style.say(
            "Around p = {p}, ε = {epsilon}, δ = {delta}, {records} {records:record|records};"
            " {test}. Solid: share of records in groups that can be estimated closely. Dashed:"
            " share of groups.",
            **_start(start),
            test=test,
        ),
        table,
        size=(900.0, 300.0),
    )
    curves = (("records", "-", style.released), ("groups", "--", style.accent))
    panels = _draw_panels(
        figure,
        settings,
        curves,
        lambda point, setting: style.say(
            "{name} = {value}: {groups} of the groups, {records} of the records",
            **setting,
            groups=percent(point.found[start.limits.rule].group_share, 2),
            records=percent(point.found[start.limits.rule].record_share, 2),
        ),
    )
    panels[0].set_ylim(-0.03, 1.03)
    percent_ticks(panels[0], "y")
    return figure


def _risk_headline(attribute: str, table: pd.DataFrame, style: PlotStyle) -> str:
    """Return what the table's size does, or that nothing violates."""
    if not table["records"].any():
        return style.say(
            "Nowhere near this setting can the shares of {name} be estimated closely",
            name=attribute,
        )
    sizes = table[table["parameter"] == Parameter.RECORDS]
    small, large = (whole(int(sizes["value"].iloc[place])) for place in (0, -1))
    few, many = (float(sizes["records"].iloc[place]) for place in (0, -1))
    return style.say(
        "In a larger table more groups' shares of {attribute} can be estimated closely: {few} of"
        " the records at {small}, {many} at {large}"
        if many > few
        else (
            "{attribute}: {few} of the records are in groups that can be estimated closely at"
            " {small} {small:record|records}, {many} at {large}"
        ),
        attribute=attribute,
        few=percent(few),
        small=small,
        many=percent(many),
        large=large,
    )


# ----- the errors of counts


def build_query_error_curves(
    attribute: str, start: RiskSetting, settings: Sequence[QueryPoint], style: PlotStyle
) -> PlotFigure:
    """Draw mean relative errors over p, ε, δ and size (Wang, Han and Fu 2012, Figs. 3 and 5).

    Parameters
    ----------
    attribute
        The sensitive attribute.
    start
        What all settings start from.
    settings
        The settings, parameter by parameter, in ascending order.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns parameter, value, plain, published and exact.
    """
    table = _table(settings)
    for name in ("plain", "published", "exact"):
        table[name] = np.array([getattr(point, name) for point in settings], dtype=np.float64)
    figure = PlotFigure(
        style,
        _error_headline(attribute, settings[-1], style),
        style.say(
            "Around p = {p}, ε = {epsilon}, δ = {delta}, {records} {records:record|records}."
            " Solid: plain release; dashed: groups protected by the published algorithm; dotted:"
            " by the exact test.",
            **_start(start),
        ),
        table,
        size=(900.0, 310.0),
    )
    curves = (
        ("plain", "-", style.accent),
        ("published", "--", style.released),
        ("exact", ":", style.good),
    )
    panels = _draw_panels(
        figure,
        settings,
        curves,
        lambda point, setting: style.say(
            "{name} = {value}: plain {plain}, as published {published}, exact {exact}",
            **setting,
            plain=percent(point.plain, 1),
            published=_share_or_none(point.published),
            exact=_share_or_none(point.exact),
        ),
        "log",
    )
    _mark_factors(panels[0], table[[name for name, _, _ in curves]].to_numpy())
    return figure


def _error_headline(attribute: str, start: QueryPoint, style: PlotStyle) -> str:
    """Return what protection costs at the setting all questions start from."""
    return style.say(
        "Counts of {attribute} are off by {plain} on average; with groups protected as"
        " published, by {published}"
        if start.exact is None
        else "Counts of {attribute} are off by {plain} on average; with groups protected as"
        " published, by {published}, by the exact test, {exact}",
        attribute=attribute,
        plain=percent(start.plain),
        published=_share_or_none(start.published, None),
        exact=_share_or_none(start.exact, None),
    )


def _mark_factors(axes: Axes, errors: Floats) -> None:
    """Mark the error in percent, on a scale of factors."""
    low, high = max(float(np.nanmin(errors)), 1e-4) / 1.3, float(np.nanmax(errors)) * 1.3
    marks = [factor * 10.0**power for power in range(-4, 4) for factor in (1.0, 3.0)]
    ticks = [mark for mark in marks if low <= mark <= high]
    axes.set_ylim(low, high)
    axes.minorticks_off()
    name_ticks(axes, "y", ticks, [percent(tick) for tick in ticks])


def _share_or_none(value: float | None, decimals: int | None = 1) -> str:
    return "–" if value is None else percent(value, decimals)
