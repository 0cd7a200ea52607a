"""The figure of an experiment's outcome."""

from __future__ import annotations

from app.engine.audit.experiments.collusion_test import RECIPIENTS
from app.plots.distribution_pair import PairData, build_distribution_pair
from app.plots.figure import PlotFigure
from app.plots.history_cost import HistoryData, build_history_cost
from app.plots.risk_growth import GrowthData, build_risk_growth
from app.plots.style import PlotStyle
from app.project.experiments import Figure, Outcome, given_of


def build_experiment(outcome: Outcome, style: PlotStyle) -> PlotFigure:
    """Draw an experiment's outcome as the paper does.

    Parameters
    ----------
    outcome
        What was found.
    style
        The look.
    """
    if outcome.growth:
        return build_risk_growth(GrowthData(style.say("value"), outcome.growth), style)
    if outcome.costs:
        return build_history_cost(HistoryData(outcome.costs), style)
    names = (style.say("together"), style.say("{name} alone", name=RECIPIENTS[-1]))
    if outcome.figure is Figure.EQUIVALENCE:
        names = (style.say("simulated"), style.say("uniform perturbation"))
    return build_distribution_pair(PairData(outcome.compared, *names, given_of(outcome)), style)
