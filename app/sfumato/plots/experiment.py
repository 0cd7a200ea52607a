"""The figure of an experiment's outcome."""

from __future__ import annotations

from sfumato.analysis.experiments import Figure, Outcome, given_of
from sfumato.engine.disclosure.experiments.collusion_test import RECIPIENTS
from sfumato.plots.distribution_pair import PairData, build_distribution_pair
from sfumato.plots.figure import PlotFigure
from sfumato.plots.history_cost import HistoryData, build_history_cost
from sfumato.plots.risk_growth import GrowthData, build_risk_growth
from sfumato.plots.style import PlotStyle


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
