"""The plots that answers ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from sfumato.analysis.answers import AnswerFigure
from sfumato.plots.figure import PlotFigure
from sfumato.plots.style import PlotStyle


def builder(figure: AnswerFigure) -> Callable[[PlotStyle], PlotFigure]:
    """Return what draws a figure in a style: its ``build_…`` with its data bound."""
    module, _, name = figure.plot.rpartition(".")
    return partial(getattr(import_module(f"sfumato.plots.{module}"), name), *figure.data)
