"""What a coalition restores: its members alone and together, with one more, and by record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from sfumato.analysis.coalitions.coalitions import CoalitionAnswer
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.disclosure.coalition_risk import AddedRecipient, GrowthPoint
from sfumato.engine.disclosure.record_risk import BINS, RecordRisk
from sfumato.formats.language import localized
from sfumato.plots.axes import (
    DASHED,
    filling,
    name_axes,
    name_line,
    name_series,
    name_ticks,
    percent,
    percent_axis,
    percent_ticks,
    plot,
    probability,
    row_plot,
    shorten,
    whole,
    whole_ticks,
    write,
)
from sfumato.plots.figure import PlotFigure, points
from sfumato.plots.style import PlotStyle

MOST_MEMBERS = 12
"""Members drawn one by one, most trusted first; all of them are in the data."""
SAME = 5e-4
"""Risks that differ by less are shown as the same."""
MOST_NAMED = 5
"""Recipients whose names stand below the axis; more are numbered."""
MOST_LETTERS = 38
"""What fits below the axis beside another plot; the names share it."""


# ----- alone and together


def build_collusion_bars(answer: CoalitionAnswer, style: PlotStyle) -> PlotFigure:
    """Draw what each member restores alone and what all restore together.

    Returns
    -------
    PlotFigure
        Its data has the columns who, noise and restored.
    """
    rows = [
        (held.recipient, share, style.trust_colour(held.trust))
        for held, share in zip(answer.members, answer.alone, strict=True)
    ][:MOST_MEMBERS]
    rows += [
        (style.say("Together, on the ladder"), answer.alone[0], style.accent),
        (style.say("Together, independent noise"), answer.guessed_apart, style.hypothetical),
    ]
    figure, axes = row_plot(
        style,
        _collusion_headline(answer, style),
        style.say(
            "Share of records whose true value the best guess hits. Dashed: guessing without any"
            " release, {without}.",
            without=percent(answer.without),
        ),
        _collusion_table(answer),
        [name for name, _, _ in rows],
        (150.0, 32.0),
        30,
    )
    shares, colours = [row[1] for row in rows], [row[2] for row in rows]
    axes.barh(range(len(rows)), shares, height=0.58, color=colours, zorder=2)
    uncertainty = answer.risk.independent.guessed_error if len(answer.members) > 1 else 0.0
    axes.set_xlim(0.0, 1.1)
    percent_ticks(axes, "x")
    for place, (name, share, _) in enumerate(rows):
        exact = place < len(rows) - 1 or not uncertainty
        shown = percent(share) + ("" if exact else f" ± {percent(uncertainty, 1)}")
        write(axes, shown, (share, place), style)
        said = style.say("{name}: {share} of records", name=name, share=percent(share, 2))
        figure.tell_row(axes, place, said)
    axes.axhline(len(rows) - 2.5, color=style.line, linewidth=points(1.0))
    axes.axvline(
        answer.without, color=style.muted, linewidth=points(1.0), linestyle=DASHED, zorder=4
    )
    return figure


def _collusion_headline(answer: CoalitionAnswer, style: PlotStyle) -> str:
    """Return the sentence that the bars say."""
    if len(answer.members) == 1:
        return style.say(
            "{name} alone guesses {ladder} of the values of {attribute} right",
            name=answer.names[0],
            ladder=percent(answer.alone[0]),
            attribute=answer.entry,
        )
    return style.say(
        "{count} recipients who pool independent releases restore {independent} of the"
        " values of {attribute}; on the ladder, {ladder}",
        count=_counted(len(answer.members), style),
        independent=percent(answer.guessed_apart),
        attribute=answer.entry,
        ladder=percent(answer.alone[0]),
    )


def _counted(number: int, style: PlotStyle) -> str:
    """Return a small number as a word, as a sentence begins with it."""
    words = ("Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    return style.say(words[number - 2]) if 2 <= number <= 10 else str(number)


def _collusion_table(answer: CoalitionAnswer) -> pd.DataFrame:
    rows = [(name, "own", share) for name, share in zip(answer.names, answer.alone, strict=True)]
    rows += [
        ("together", "ladder", answer.alone[0]),
        ("together", "independent", answer.guessed_apart),
        ("nobody", "no release", answer.without),
    ]
    return pd.DataFrame(rows, columns=["who", "noise", "restored"])


# ----- one more recipient


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
        (
            style.say("Independent noise"),
            apart,
            change.independent_after.average,
            style.hypothetical,
        ),
        (style.say("The new one alone"), 0.0, change.alone.average, style.text),
    )
    figure, axes = row_plot(
        style,
        _added_headline(data, style),
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
        [row[0] for row in rows],
    )
    percent_axis(axes, "x")
    axes.set_xlim(0.0, 1.1)
    for place, (name, first, last, colour) in enumerate(rows):
        compared = place < 2 and change.before is not None
        _added_row(axes, place, first if compared else None, last, colour, style)
        said = style.say(
            "{name}: {before} before, {after} after" if compared else "{name}: {after}",
            name=name,
            before=percent(first, 2),
            after=percent(last, 2),
        )
        figure.tell_row(axes, place, said)
    return figure


def _added_row(
    axes: Axes, place: int, first: float | None, last: float, colour: str, style: PlotStyle
) -> None:
    size = points(9.0)
    if first is not None:
        axes.hlines(place, first, last, color=style.blend(colour, 0.5), linewidth=points(4.0))
        axes.plot(
            first, place, "o", markersize=size, color=style.background, markeredgecolor=colour
        )
    axes.plot(last, place, "o", markersize=size, color=colour, zorder=4)
    write(axes, percent(last), (max(last, first or 0.0), place), style, (10.0, 0.0))


def _added_headline(data: AddedData, style: PlotStyle) -> str:
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


# ----- recipient by recipient


@dataclass(frozen=True)
class GrowthData:
    """The risk after every recipient.

    Parameters
    ----------
    attribute
        What was released.
    points
        One for each recipient, in the order in which they are added; at least one.
    names
        The recipients' names in the same order; empty where they have none.
    """

    attribute: str
    points: tuple[GrowthPoint, ...]
    names: tuple[str, ...] = ()


def build_risk_growth(data: GrowthData, style: PlotStyle) -> PlotFigure:
    """Draw the average reconstruction probability over the number of recipients.

    Returns
    -------
    PlotFigure
        Its data has the columns recipients, name, trust, independent, independent_error,
        on_ladder and ladder_error.
    """
    table = pd.DataFrame([vars(point) for point in data.points])
    table.insert(1, "name", data.names or table["recipients"].astype(str))
    headline, subtitle = _growth_headline(data, style), _growth_subtitle(data, style)
    figure, axes = plot(style, headline, subtitle, table)
    count = table["recipients"].to_numpy(np.float64)
    independent, error = table["independent"].to_numpy(), table["independent_error"].to_numpy()
    ladder = table["on_ladder"].to_numpy()
    marker = "o" if len(count) <= 15 else ""
    look = {"marker": marker, "markersize": points(6.0), "linewidth": points(2.0), "zorder": 3}
    axes.fill_between(
        count, independent - error, independent + error, color=style.blend(style.hypothetical, 0.2)
    )
    axes.plot(count, independent, color=style.hypothetical, linestyle="--", **look)  # type: ignore[arg-type]
    axes.plot(count, ladder, color=style.accent, drawstyle="steps-post", **look)  # type: ignore[arg-type]
    axes.set_xlim(0.6, count[-1] + 0.4)
    if 0 < len(data.names) <= MOST_NAMED:
        widest = MOST_LETTERS // len(count)
        name_ticks(axes, "x", count, [shorten(name, widest) for name in data.names])
    else:
        axes.set_xticks(list(whole_ticks(len(count))))
    percent_axis(axes)
    name_axes(axes, style, style.say("Recipients, in the order in which they are added"))
    if len(count) > 1:
        few = len(count) <= 4
        at = -1 if few else len(count) // 2
        name = style.say("independent noise")
        name_line(axes, (count[at], independent[at]), name, style.hypothetical, style)
        beside = (count[-2] + 0.08, ladder[-2]) if few else (count[-1], ladder[-1])
        align, name = "left" if few else "right", style.say("on the ladder")
        name_line(axes, beside, name, style.accent, style, above=False, align=align)
    for place, point in enumerate(data.points):
        figure.tell_column(axes, count[place], _growth_text(data, place, point, style))
    return figure


def _growth_headline(data: GrowthData, style: PlotStyle) -> str:
    """Return the sentence that the curves say."""
    last = data.points[-1]
    if len(data.points) == 1:
        return style.say(
            "One recipient gives a record's true {attribute} a probability of {share} on average",
            attribute=data.attribute,
            share=percent(last.on_ladder),
        )
    return style.say(
        "With {count} recipients, independent noise gives a record's true {attribute} a probability"
        " of {independent} on average; the ladder, {ladder}",
        count=last.recipients,
        attribute=data.attribute,
        independent=probability(last.independent),
        ladder=probability(last.on_ladder),
    )


def _growth_subtitle(data: GrowthData, style: PlotStyle) -> str:
    """Return how to read the curves, and how exact they are."""
    words = style.say(
        "Average probability that all who hold a release give to a record's true value. The ladder"
        " rises only with somebody more trusted than all before."
    )
    error = max(point.independent_error for point in data.points)
    exact = style.say("Exact.")
    drawn = style.say("Drawn: ± {error} at most.", error=percent(error, 1))
    return f"{words} {drawn if error else exact}"


def _growth_text(data: GrowthData, place: int, point: GrowthPoint, style: PlotStyle) -> str:
    who = (
        data.names[place]
        if data.names
        else style.say("one at trust {t}", t=localized(f"{point.trust:.3f}"))
    )
    return style.say(
        "{count} {count:recipient|recipients}, the last {who}: on the ladder {ladder}, independent"
        " noise {independent}",
        count=point.recipients,
        who=who,
        ladder=percent(point.on_ladder, 1),
        independent=percent(point.independent, 1),
    )


BARS = 20
"""Bars drawn for each way of releasing."""


def _distributions(
    style: PlotStyle,
    headline: str,
    subtitle: str,
    columns: dict[str, Floats],
    drawn: Sequence[tuple[Floats, str, str]],
) -> tuple[PlotFigure, list[Floats]]:
    """Draw one or two distributions of a probability, side by side.

    Parameters
    ----------
    style, headline, subtitle
        See `PlotFigure`.
    columns
        The distributions that are exported, by name, in `BINS` steps.
    drawn
        Those that are drawn, with name and colour.

    Returns
    -------
    tuple
        The figure, and what is drawn, in `BARS` steps.
    """
    edges = np.arange(BINS + 1) / BINS
    table = pd.DataFrame({"from": edges[:-1], "to": edges[1:], **columns})
    figure, axes = plot(style, headline, subtitle, table, (640.0, 330.0))
    width = 0.8 / len(drawn) / BARS
    coarse = [histogram.reshape(BARS, BINS // BARS).sum(axis=1) for histogram, _, _ in drawn]
    for place, (shares, (_, _, colour)) in enumerate(zip(coarse, drawn, strict=True)):
        side = (place - (len(drawn) - 1) / 2) * width
        centres = (np.arange(BARS) + 0.5) / BARS + side
        axes.bar(centres, shares, width=width, zorder=2, **filling(place, colour, style))
    highest = max(0.01, *(float(shares.max()) for shares in coarse))
    percent_axis(axes, "x")
    percent_axis(axes, "y", min(highest * 1.12, 1.0))
    name_axes(axes, style, style.say("Probability given to the record's true value"))
    name_series(axes, [(name, colour) for _, name, colour in drawn], style)
    return figure, coarse


def _step(style: PlotStyle, step: int) -> str:
    return style.say(
        "Probability {low} to {high}",
        low=percent(step / BARS, 0),
        high=percent((step + 1) / BARS, 0),
    )


def _tell_steps(figure: PlotFigure, texts: Sequence[str]) -> None:
    for step, text in enumerate(texts):
        figure.tell(figure.axes[0], (step / BARS, 0.0, (step + 1) / BARS, 2.0), text)


# ----- as expected


def build_risk_distribution(answer: CoalitionAnswer, style: PlotStyle) -> PlotFigure:
    """Draw how many records are restored with which probability, on the ladder and without.

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, on_ladder, alone and independent: shares of records
        for each step of the probability.
    """
    risk, together = answer.risk, len(answer.members) > 1
    ladder = style.say("on the ladder") if together else answer.names[0]
    drawn = [(risk.on_ladder.histogram, ladder, style.accent)]
    if together:
        drawn.append(
            (risk.independent.histogram, style.say("independent noise"), style.hypothetical)
        )
    columns = {
        "on_ladder": risk.on_ladder.histogram,
        "alone": risk.alone.histogram,
        "independent": risk.independent.histogram,
    }
    figure, coarse = _distributions(
        style, _risk_headline(answer, style), _risk_subtitle(answer, style), columns, drawn
    )
    _tell_steps(figure, [_risk_text(step, coarse, style) for step in range(BARS)])
    return figure


def _risk_headline(answer: CoalitionAnswer, style: PlotStyle) -> str:
    """Return the sentence that the distribution says."""
    risk = answer.risk
    if len(answer.members) == 1:
        return style.say(
            "{name} alone gives a record's true {attribute} a probability of {share} on average",
            name=answer.names[0],
            attribute=answer.entry,
            share=percent(risk.alone.average),
        )
    return style.say(
        "Independent noise would give a record's true {attribute} a probability of {independent} on"
        " average; the ladder {ladder}, as {best} alone",
        attribute=answer.entry,
        independent=probability(risk.independent.average),
        ladder=probability(risk.on_ladder.average),
        best=answer.names[0],
    )


def _risk_subtitle(answer: CoalitionAnswer, style: PlotStyle) -> str:
    """Return how to read the bars, and how exact they are."""
    words = style.say(
        "Share of records by the probability that Bayes' rule gives to their true value."
    )
    if answer.risk.independent.exact:
        return words + " " + style.say("Exact: every outcome was gone through.")
    drawn = style.say(
        "From {draws} drawn {draws:outcome|outcomes}; the average is exact to ± {error}.",
        draws=whole(answer.risk.independent.draws),
        error=percent(answer.risk.independent.average_error, 2),
    )
    return f"{words} {drawn}"


def _risk_text(step: int, coarse: Sequence[Floats], style: PlotStyle) -> str:
    told = [
        {"share": percent(float(each[step]), 1), "more": percent(float(each[step:].sum()), 1)}
        for each in coarse
    ]
    between = _step(style, step)
    own = style.say("{share} of records; {more} with at least this", **told[0])
    if len(told) == 1:
        return f"{between}\n{own}"
    other = style.say("independent noise: {share}; {more} with at least this", **told[1])
    return f"{between}\n{style.say('on the ladder')}: {own}\n{other}"


# ----- as it fell


def build_realized_distribution(
    attribute: str, realized: RecordRisk, expected: RecordRisk, style: PlotStyle
) -> PlotFigure:
    """Draw how many records are restored with which probability, as it fell and as expected.

    Parameters
    ----------
    attribute
        The attribute in question.
    realized, expected
        What a coalition restores by the values that were released, and on average over the noise.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns from, to, realized and expected: shares of records for each
        step of the probability.
    """
    columns = {"realized": realized.histogram, "expected": expected.histogram}
    figure, (fell, wanted) = _distributions(
        style,
        style.say(
            "The files give a record's true {attribute} {share} on average; {expected} was"
            " expected",
            attribute=attribute,
            share=percent(realized.average, 1),
            expected=percent(expected.average, 1),
        ),
        style.say(
            "Share of records by the probability that Bayes' rule gives to their true value, in"
            " the files as released and on average over the noise."
        ),
        columns,
        [
            (realized.histogram, style.say("in the files"), style.accent),
            (expected.histogram, style.say("expected"), style.muted),
        ],
    )
    texts = [
        style.say(
            "Probability {low} to {high}\n{share} of records, {more} with at least this\nexpected:"
            " {other}, {others} with at least this",
            low=percent(step / BARS, 0),
            high=percent((step + 1) / BARS, 0),
            share=percent(float(fell[step]), 1),
            more=percent(float(fell[step:].sum()), 1),
            other=percent(float(wanted[step]), 1),
            others=percent(float(wanted[step:].sum()), 1),
        )
        for step in range(BARS)
    ]
    _tell_steps(figure, texts)
    return figure
