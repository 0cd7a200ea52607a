"""The published experiments on multi-level perturbation, run and summed up beside the paper's.

Xiao, Tao and Chen, "Optimal Random Perturbation at Multiple Privacy Levels", VLDB 2009,
section 7.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.coalition_risk import GrowthPoint, risk_growth
from sfumato.engine.matrices.matrix import Vector
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from tests.benchmarks.multi_level.collusion import (
    USUAL_SIMULATIONS,
    CollusionTest,
    Comparison,
    collusion_test,
)
from tests.benchmarks.multi_level.history_cost import (
    PAPER_LEVELS,
    PAPER_RELEASES,
    HistoryCost,
    Order,
    drawn_codes,
    history_cost,
    random_levels,
)
from tests.benchmarks.multi_level.simulation import gaussian_prior, uniform_prior

USUAL_RECORDS: Final = 10_000
PAPER_RECIPIENTS: Final = 50
_AFTER: Final = 30


class Figure(StrEnum):
    """The paper's figures that can be run again."""

    COLLUSION = "fig5"
    EQUIVALENCE = "fig6"
    GROWTH = "fig7"
    COST = "fig8"


@dataclass(frozen=True, eq=False)
class Prior:
    """A distribution of true values.

    Parameters
    ----------
    name
        What it is called: a column's name, or the shape's.
    shares
        The share of each value, shape (s,), summing to 1.
    """

    name: str
    shares: Vector


EVEN: Final = Prior("50 equally frequent values", uniform_prior())
BELL: Final = Prior("50 values in a bell (Gaussian)", gaussian_prior())


@dataclass(frozen=True)
class Sizes:
    """How much is run.

    Parameters
    ----------
    simulations
        For Fig. 5 and 6; the paper runs 10¹⁰.
    recipients
        For Fig. 7; the paper has 50.
    releases, records
        For Fig. 8; the paper has 10,000 releases of 600,000 records.
    """

    simulations: int = USUAL_SIMULATIONS
    recipients: int = PAPER_RECIPIENTS
    releases: int = PAPER_RELEASES
    records: int = USUAL_RECORDS


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an experiment found; exactly one of the last three is there.

    Parameters
    ----------
    figure
        Which figure it is about.
    prior
        The true values it began with.
    seconds
        How long it took.
    test
        For Fig. 5 and 6: both come from one run.
    growth
        For Fig. 7.
    costs
        For Fig. 8, in each order.
    """

    figure: Figure
    prior: Prior
    seconds: float
    test: CollusionTest | None = None
    growth: tuple[GrowthPoint, ...] = ()
    costs: tuple[HistoryCost, ...] = ()

    @property
    def compared(self) -> Comparison:
        """The pairs that Fig. 5 or 6 is about."""
        assert self.test is not None
        same = self.figure is Figure.EQUIVALENCE
        return self.test.equivalence if same else self.test.usefulness


def run_experiment(figure: Figure, prior: Prior, sizes: Sizes) -> Outcome:
    """Run one experiment."""
    started, shares = time.perf_counter(), prior.shares
    test: CollusionTest | None = None
    growth: tuple[GrowthPoint, ...] = ()
    costs: tuple[HistoryCost, ...] = ()
    if figure is Figure.GROWTH:
        levels = random_levels(sizes.recipients)
        matrices = [uniform_matrix(level, len(shares)) for level in levels.tolist()]
        growth = risk_growth(matrices, levels.tolist(), shares, Silent())
    elif figure is Figure.COST:
        codes = drawn_codes(shares, sizes.records)
        costs = tuple(history_cost(codes, len(shares), sizes.releases, order) for order in Order)
    else:
        test = collusion_test(shares, sizes.simulations)
    return Outcome(figure, prior, time.perf_counter() - started, test, growth, costs)


def findings(outcome: Outcome) -> tuple[str, ...]:
    """Return what was found, in sentences, the paper's findings beside it."""
    if outcome.growth:
        return _growth_findings(outcome)
    if outcome.costs:
        return _cost_findings(outcome)
    return _pair_findings(outcome)


def table_of(outcome: Outcome) -> pd.DataFrame:
    """Return the numbers, a line for each point of the figure."""
    if outcome.growth:
        return pd.DataFrame(
            {
                "recipients": [point.recipients for point in outcome.growth],
                "level": [point.trust for point in outcome.growth],
                "independent": [point.independent for point in outcome.growth],
                "independent ±": [point.independent_error for point in outcome.growth],
                "ladder": [point.on_ladder for point in outcome.growth],
            }
        )
    if outcome.costs:
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        "order": cost.order.value,
                        "releases": cost.releases.astype(np.int64),
                        "history": cost.length,
                        "bound": cost.bound,
                        "milliseconds": 1000.0 * cost.seconds,
                    }
                )
                for cost in outcome.costs
            ],
            ignore_index=True,
        )
    worst = outcome.compared.worst
    return pd.DataFrame(
        {
            "value": np.arange(1, len(worst.found) + 1),
            "found": worst.found,
            "expected": worst.expected,
        }
    )


def summary_of(outcome: Outcome) -> dict[str, object]:
    """Return the key figures as plain JSON values."""
    plain: dict[str, object] = {
        "figure": outcome.figure.value,
        "prior": outcome.prior.name,
        "values": len(outcome.prior.shares),
        "seconds": round(outcome.seconds, 3),
        "findings": list(findings(outcome)),
    }
    if outcome.test is not None:
        compared = outcome.compared
        plain |= {
            "simulations": outcome.test.simulations,
            "pairs": compared.pairs,
            "largest distance": compared.worst.distance,
            "largest from noise alone": compared.largest_from_noise,
            "reference runs": compared.reference_runs,
            "mean relative square": compared.ratio,
            "mean relative square ±": compared.ratio_error,
        }
    return plain | {"points": table_of(outcome).to_dict(orient="records")}


def _pair_findings(outcome: Outcome) -> tuple[str, ...]:
    assert outcome.test is not None
    compared = outcome.compared
    sentences = [
        f"{outcome.test.simulations:,} simulations of Alice (p = 0.3), Bob (0.1) and Charlie (0.5),"
        f" who ask in this order; true values: {outcome.prior.name}. It took"
        f" {outcome.seconds:.1f} s, with {_runs(compared.reference_runs)} as long to find what"
        " noise alone gives.",
        f"Of {compared.pairs:,} pairs of distributions, the two that differ most are"
        f" {compared.worst.distance:.3g} apart (L2). Sampling noise alone makes the worst pair"
        f" {compared.largest_from_noise:.3g} apart.",
        f"Over all pairs, squared distances are {compared.ratio:.4f} ± {compared.ratio_error:.4f}"
        " times what noise gives; 1 means that there is nothing but noise.",
    ]
    if outcome.figure is Figure.EQUIVALENCE:
        sentences.append(
            "The paper, with 10,000,000,000 simulations, finds that the releases match uniform"
            " perturbation perfectly (Fig. 6)."
        )
    else:
        sentences.append(
            "The paper, with 10,000,000,000 simulations, finds that what the three believe together"
            " agrees very well with what Charlie believes alone (Fig. 5)."
        )
    return tuple(sentences)


def _growth_findings(outcome: Outcome) -> tuple[str, ...]:
    points = outcome.growth
    last = points[-1]
    told = [points[_AFTER - 1]] if len(points) >= _AFTER else []
    told += [last] if not told or told[0] is not last else []
    sentences = [
        f"{len(points)} retention probabilities, drawn evenly from {PAPER_LEVELS[0]} to"
        f" {PAPER_LEVELS[1]}; true values: {outcome.prior.name}."
    ]
    sentences += [
        f"After {point.recipients} releases, independent noise gives a record's true value a"
        f" probability of {_share(point.independent, point.independent_error)} on average; the"
        f" ladder, {_share(point.on_ladder, point.ladder_error)}."
        for point in told
    ]
    sentences.append(
        "The paper, on 50 values of salary, finds nearly 1 after 30 independent releases, and"
        " about 30 % for the ladder (Fig. 7)."
    )
    return tuple(sentences)


def _cost_findings(outcome: Outcome) -> tuple[str, ...]:
    sentences = [
        f"{int(outcome.costs[0].releases[-1]):,} releases of {outcome.costs[0].records:,} records;"
        f" true values: {outcome.prior.name}."
    ]
    sentences += [
        f"Levels {cost.order.value}: {cost.length[-1]:.2f} entries a record at the end, the"
        f" bound is {cost.bound[-1]:.2f}; {1000 * float(cost.seconds[-1]):.2g} ms a release."
        for cost in outcome.costs
    ]
    sentences.append(
        "The paper, on 600,000 records, finds about 7 entries at most for every order, and less"
        " than half a second a release (Fig. 8)."
    )
    return tuple(sentences)


def _runs(count: int) -> str:
    return "one more run" if count == 1 else f"{count} more runs"


def _share(share: float, error: float) -> str:
    exact = f"{100 * share:.1f} %"
    return exact if error == 0.0 else f"{exact} ± {100 * error:.1f}"
