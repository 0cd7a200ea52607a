"""The ladder of trust: which recipient stands where, and how one record comes down it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.analysis.disclosure.record_path import RecordPath
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import number_text, plain
from sfumato.formats.language import localized
from sfumato.plots.axes import name_axes, name_rows, name_ticks, plot, shorten, write
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

LOWEST = 1e-3
"""Where a logarithmic axis ends: trust below it is drawn at its foot."""

_TICKS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True)
class LadderRung:
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
    rungs: tuple[LadderRung, ...]
    logarithmic: bool = False

    @property
    def sorted(self) -> tuple[LadderRung, ...]:
        """The rungs, most trusted first."""
        return tuple(sorted(self.rungs, key=lambda rung: -rung.trust))


def build_trust_ladder(data: LadderData, style: PlotStyle) -> PlotFigure:
    """Draw the recipients as rungs below the original.

    Returns
    -------
    PlotFigure
        Its data has the columns recipient, trust, level and in coalition.
    """
    rows = [(rung.name, rung.trust, rung.level, rung.chosen) for rung in data.sorted]
    figure, axes = plot(
        style,
        _ladder_headline(data, style),
        style.say("Each rung is the rung above, blurred once more. Height is trust."),
        pd.DataFrame(rows, columns=["recipient", "trust", "level", "in coalition"]),
        (520.0, max(320.0, 110.0 + 44.0 * len(rows))),
        grid="none",
    )
    axes.set_xlim(0.0, 10.0)
    axes.set_xticks([])
    marks = (1.0, 0.1, 0.01, 0.001) if data.logarithmic else (1.0, 0.75, 0.5, 0.25, 0.0)
    places = [height_of(mark, data.logarithmic) for mark in marks]
    axes.set_yticks(places, [localized(f"{mark:g}") for mark in marks])
    axes.set_ylim(-0.05, 1.05)
    for x in (0.6, 2.0):
        axes.plot([x, x], [0.0, 1.0], color=style.line, linewidth=points(3.0), zorder=1)
    _draw_rungs(figure, axes, data, style)
    return figure


def _ladder_headline(data: LadderData, style: PlotStyle) -> str:
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
    return style.say(
        "{best} is the only recipient on the ladder for {attribute}"
        if len(rungs) == 1
        else "All {count} recipients see the same release of {attribute}"
        if rungs[0].trust == rungs[-1].trust
        else "{best} sees {attribute} most clearly, {least} least",
        count=len(rungs),
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


def _draw_rungs(figure: PlotFigure, axes: Axes, data: LadderData, style: PlotStyle) -> None:
    original = LadderRung(style.say("Original"), 1.0, style.say("never released"))
    everyone = (original, *data.sorted)
    heights = [height_of(rung.trust, data.logarithmic) for rung in everyone]
    gap = min(40.0 / (figure.preferred_height - 90.0), 1.0 / max(len(everyone) - 1, 1))
    dimmed = any(rung.chosen for rung in data.rungs)
    for rung, height, beside in zip(everyone, heights, spread(heights, gap), strict=True):
        first = rung is original
        colour = style.original if first else style.trust_colour(rung.trust)
        faded = dimmed and not rung.chosen and not first
        axes.plot(
            [0.6, 2.0],
            [height, height],
            color=style.blend(colour, 0.35) if faded else colour,
            linewidth=points(6.0),
            solid_capstyle="round",
            zorder=3,
        )
        ends = [height, beside, beside]
        axes.plot([2.2, 2.7, 2.9], ends, color=style.line, linewidth=points(1.0), zorder=2)
        name, at = shorten(rung.name, 32), (3.0, beside)
        ink = style.muted if faded else style.text
        write(axes, name, at, style, (0.0, -1.0), ink, size=style.body, va="bottom")
        write(axes, rung.level, at, style, (0.0, -3.0), style.muted, weight=400, va="top")
        text = "\n".join(part for part in (rung.name, rung.level, rung.detail) if part)
        figure.tell(axes, (0.4, height - 0.02, 2.2, height + 0.02), text)
        figure.tell(axes, (2.9, beside - gap / 2, 10.0, beside + gap / 2), text)


# ----- one record on its way down


def build_record_ladder(path: RecordPath, style: PlotStyle) -> PlotFigure:
    """Draw the way down the ladder: trust from left to right, values from top to bottom.

    Returns
    -------
    PlotFigure
        Its data has the columns trust from, trust to and value; for numbers trust and value.
    """
    stretches = [(s.upper, s.lower, _seen(s.value, style)) for s in path.stretches]
    names = list(dict.fromkeys(name for _, _, name in stretches))
    table = pd.DataFrame(stretches, columns=["trust from", "trust to", "value"])
    if path.is_numeric:
        table = pd.DataFrame({"trust": path.trusts, "value": path.numbers})
    figure, axes = plot(
        style,
        _record_headline(path, style),
        style.say(
            "From the original at the left to the least trusted level at the right."
            " For your eyes only: the whole way gives the true value away."
        ),
        table,
        (720.0, 190.0 + 30.0 * len(names) if names else 360.0),
        grid="x",
    )
    if names:
        name_rows(axes, names, style)
        _draw_stretches(figure, axes, stretches, names, style)
    else:
        axes.plot(path.trusts, path.numbers, color=style.released, linewidth=points(1.5))
        axes.margins(y=0.08)
    _trust_axis(axes, path, style)
    _draw_stops(figure, axes, path, style)
    return figure


def _seen(value: object, style: PlotStyle) -> str:
    """Return what a release shows, as a text."""
    if pd.isna(value):  # type: ignore[call-overload]
        return style.say("missing")
    known = plain(value)
    return number_text(known) if isinstance(known, float) else str(known)


def _record_headline(path: RecordPath, style: PlotStyle) -> str:
    """Return the sentence that the way says."""
    changes = len(path.stretches) - 1
    return style.say(
        "Row {row}: the further down, the further {attribute} wanders from the true number"
        if path.is_numeric
        else "Row {row} shows its true {attribute} at every level down to {lowest:g}"
        if changes == 0
        else "Row {row} loses its true {attribute} at a trust of {level:.3g}, its only change"
        if changes == 1
        else (
            "Row {row} loses its true {attribute} at a trust of {level:.3g}, and changes {count}"
            " {count:time|times} in all"
        ),
        row=localized(f"{path.row:,}"),
        attribute=path.attribute,
        level=path.stretches[0].lower if path.stretches else 0.0,
        lowest=path.stretches[-1].lower if path.stretches else 0.0,
        count=changes,
    )


def _draw_stretches(
    figure: PlotFigure,
    axes: Axes,
    stretches: Sequence[tuple[float, float, str]],
    names: list[str],
    style: PlotStyle,
) -> None:
    before: int | None = None
    for upper, lower, name in stretches:
        row = names.index(name)
        look = {"linewidth": points(7.0), "solid_capstyle": "butt", "zorder": 3}
        colour = style.original if row == 0 else style.released
        axes.plot([upper, lower], [row, row], color=colour, **look)  # type: ignore[arg-type]
        if before is not None:
            thin = points(1.0)
            axes.plot([upper, upper], [before, row], color=style.muted, linewidth=thin, zorder=2)
        said = style.say(
            "{name}: from a trust of {upper:.4g} down to {lower:.4g}",
            name=name,
            upper=upper,
            lower=lower,
        )
        figure.tell(axes, (upper, row - 0.4, lower, row + 0.4), said)
        before = row


def _trust_axis(axes: Axes, path: RecordPath, style: PlotStyle) -> None:
    """Let trust fall from left to right, by ratios."""
    lowest = float(path.trusts[-1]) if len(path.trusts) else path.stretches[-1].lower
    axes.set_xscale("log")
    axes.set_xlim(1.0, lowest)
    ticks = [tick for tick in _TICKS if tick >= lowest * 0.999]
    name_ticks(axes, "x", ticks, [localized(f"{tick:g}") for tick in ticks])
    axes.minorticks_off()
    axes.get_xticklabels()[-1].set_horizontalalignment("right")
    name_axes(axes, style, style.say("Trust"))


def _draw_stops(figure: PlotFigure, axes: Axes, path: RecordPath, style: PlotStyle) -> None:
    """Mark the recipients, their names above the axes; names that would collide alternate."""
    last = [np.inf, np.inf, np.inf]
    lowest = axes.get_xlim()[1]
    for stop in path.stops:
        name, trust, seen = stop.recipient, stop.trust, _seen(stop.value, style)
        if not lowest <= trust <= 1.0:
            continue
        axes.axvline(trust, color=style.trust_colour(trust), linewidth=points(1.5), zorder=1)
        spot = float(np.log(trust) / np.log(lowest))
        line = next((i for i, end in enumerate(last) if end == np.inf or spot - end > 0.22), 2)
        last[line] = spot
        write(
            axes,
            shorten(name, 18),
            (trust, 1.0),
            style,
            (0.0, 6.0 + 16.0 * line),
            style.muted,
            weight=400,
            ha="left" if spot < 0.12 else "right" if spot > 0.88 else "center",
            va="baseline",
            xycoords=("data", "axes fraction"),
        )
        bottom, top = axes.get_ylim()
        said = style.say("{name} sees {seen}", name=name, seen=seen)
        figure.tell(axes, (trust * 1.015, bottom, trust / 1.015, top), said)
