"""The question: are two distributions further apart than sampling noise puts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sfumato.engine.disclosure.experiments.collusion_test import Comparison
from sfumato.plots.figure import HoverRegion, PlotFigure, percent, points, quiet_axes
from sfumato.plots.lines import house_font, name_line, percent_axis, title_axes
from sfumato.plots.style import PlotStyle


@dataclass(frozen=True)
class PairData:
    """The worst of all pairs of distributions.

    Parameters
    ----------
    compared
        All pairs, and the worst.
    found_name, expected_name
        What the two distributions are.
    given
        What they are conditional on, in words.
    """

    compared: Comparison
    found_name: str
    expected_name: str
    given: str


def build_distribution_pair(data: PairData, style: PlotStyle) -> PlotFigure:
    """Draw the pair of distributions that differ most.

    Parameters
    ----------
    data
        The pair.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns value, found and expected.
    """
    worst = data.compared.worst
    size = len(worst.found)
    values = np.arange(1, size + 1)
    figure = PlotFigure(
        style,
        headline(data, style),
        subtitle(data, style),
        pd.DataFrame({"value": values, "found": worst.found, "expected": worst.expected}),
        size=(640.0, 340.0),
    )
    axes = figure.add_subplot()
    quiet_axes(axes, style, grid="y")
    axes.bar(values, worst.expected, width=0.72, color=style.blend(style.original, 0.45), zorder=2)
    axes.plot(
        values, worst.found, "o", color=style.released, markersize=points(6.0 if size > 20 else 8.0)
    )
    axes.set_xlim(0.4, size + 0.6)
    step = max(1, round(size / 10))
    axes.set_xticks(range(1, size + 1, step))
    highest = float(max(worst.expected.max(), worst.found.max()))
    percent_axis(axes, style, "y", min(highest * 1.2, 1.0))
    house_font(axes, style)
    title_axes(axes, "", style.say("Value, by its place in the domain"), style)
    at = int(np.argmax(worst.expected))
    left = at < size / 2
    align = "left" if left else "right"
    beside = values[at] + (0.9 if left else -0.9)
    name_line(axes, (beside, highest * 0.98), data.found_name, style.released, style, align=align)
    name_line(
        axes, (beside, highest * 0.88), data.expected_name, style.original, style, align=align
    )
    for place, value in enumerate(values):
        text = style.say(
            "Value {value}: {found_name} {found}, {expected_name} {expected}",
            value=value,
            found_name=data.found_name,
            found=percent(float(worst.found[place]), 2),
            expected_name=data.expected_name,
            expected=percent(float(worst.expected[place]), 2),
        )
        figure.hover.append(HoverRegion(axes, (value - 0.5, 0.0, value + 0.5, 2.0), text))
    return figure


def headline(data: PairData, style: PlotStyle) -> str:
    """Return how far the two are apart, and how far noise would put them."""
    worst = data.compared.worst.distance
    noise = data.compared.largest_from_noise
    return style.say(
        "Of {count} pairs, the most dissimilar are {distance} apart; sampling noise alone puts them"
        " {noise} apart",
        count=f"{data.compared.pairs:,}".replace(",", "\u202f"),
        distance=f"{worst:.2g}",
        noise=f"{noise:.2g}",
    )


def subtitle(data: PairData, style: PlotStyle) -> str:
    """Return which pair it is, and what all pairs say."""
    return style.say(
        "{given}. L2 distance. Over all pairs, squared distances are {ratio} ± {error} times what"
        " noise gives; 1 means that nothing else is there.",
        given=data.given,
        ratio=f"{data.compared.ratio:.3f}",
        error=f"{data.compared.ratio_error:.3f}",
    )
