"""What pooling the rows of a person or household restores, beside what one row alone does."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sfumato.analysis.pooled_rows import PooledRows
from sfumato.plots.axes import (
    amount,
    amount_ticks,
    filling,
    name_series,
    percent,
    percent_ticks,
    row_plot,
    write,
)
from sfumato.plots.figure import PlotFigure
from sfumato.plots.style import PlotStyle

MOST_RECIPIENTS = 12
_HEIGHT = 0.32


def build_pooled_rows(found: Sequence[PooledRows], style: PlotStyle) -> PlotFigure:
    """Draw for each recipient what one row alone tells, and what all rows of a unit do.

    Parameters
    ----------
    found
        Of one attribute and one column, at least one; all for categories, or all for numbers.
    style
        The look.

    Returns
    -------
    PlotFigure
        Its data has the columns recipient, one_row, pooled and error: shares of rows, or half
        widths of intervals.
    """
    figures = [_figures(one) for one in found]
    names = [one.recipient for one in found]
    table = pd.DataFrame(figures, columns=["one_row", "pooled", "error"])
    table.insert(0, "recipient", names)
    shares = found[0].restored is not None
    figure, axes = row_plot(
        style,
        _headline(found[0], style),
        style.say("Share of rows whose true value the best guess hits.")
        if shares
        else style.say("Half the width of the interval that holds 95 % of the true numbers."),
        table,
        names[:MOST_RECIPIENTS],
        (150.0, 44.0),
    )
    colours = (style.blend(style.muted, 0.6), style.danger)
    for place, (name, (alone, pooled, error)) in enumerate(
        zip(names[:MOST_RECIPIENTS], figures, strict=False)
    ):
        for which, (side, value) in enumerate(((-0.5, alone), (0.5, pooled))):
            row = place + side * (_HEIGHT + 0.04)
            look = filling(which, colours[which], style)
            axes.barh(row, value, height=_HEIGHT, zorder=2, **look)
            shown = percent(value) if shares else amount(value)
            doubt = f" ± {percent(error, 1)}" if error and side > 0 else ""
            write(axes, shown + doubt, (value, row), style, colour=style.text)
        said = style.say(
            "{name}: {alone} from one row, {pooled} from all rows of a unit",
            name=name,
            alone=percent(alone, 2) if shares else amount(alone),
            pooled=percent(pooled, 2) if shares else amount(pooled),
        )
        figure.tell_row(axes, place, said)
    if shares:
        axes.set_xlim(0.0, 1.1)
        percent_ticks(axes, "x")
    else:
        axes.set_xlim(0.0, max(max(pair[:2]) for pair in figures) * 1.15)
        amount_ticks(axes, "x")
    series = (style.say("one row alone"), colours[0]), (style.say("rows pooled"), colours[1])
    name_series(axes, series, style)
    return figure


def _figures(one: PooledRows) -> tuple[float, float, float]:
    """Return what one row tells, what all of a unit do, and the error of the latter."""
    if one.restored is not None:
        return one.restored.one_row, one.restored.rows, one.restored.error
    assert one.spread is not None
    return (*one.spread, 0.0)


def _headline(one: PooledRows, style: PlotStyle) -> str:
    alone, pooled, _ = _figures(one)
    details = {"column": one.column, "recipient": one.recipient, "attribute": one.attribute}
    if one.restored is not None:
        return style.say(
            "Pooling rows with the same {column} restores the {attribute} of {pooled} of the rows"
            " in {recipient}'s release; one row alone, of {alone}",
            pooled=percent(pooled),
            alone=percent(alone),
            **details,
        )
    return style.say(
        "Pooling rows with the same {column} tells {attribute} within ± {pooled} from"
        " {recipient}'s release; one row alone, within ± {alone}",
        pooled=amount(pooled),
        alone=amount(alone),
        **details,
    )
