"""What a coalition that knows the numbers' distribution learns, computed in a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from app.engine.audit.gaussian_attack import Dependence, expected_errors
from app.engine.audit.gaussian_bayes import BayesGrowth, bayes_by_copies
from app.engine.covariance import factor_of
from app.engine.progress import Context, Part
from app.plots.bayes_by_copies import BayesData
from app.ui.panels.audit.wording import ROUNDING, listed, tiny, tr

Floats = npt.NDArray[np.float64]

RECORDS: Final = 1_500
"""Records that are estimated; every one is compared with every other."""


def weigh_bayes(
    names: Sequence[str],
    attributes: Sequence[str],
    levels: Sequence[float],
    true: Floats,
    copies: Mapping[Dependence, Floats],
    noise: Floats,
    context: Context,
) -> tuple[BayesData, ...]:
    """Return for each attribute what the Bayes estimate leaves open as members join.

    Parameters
    ----------
    names
        The members, the most trusted first.
    attributes
        The N attributes' names.
    levels
        The members' σ².
    true
        The true numbers, nothing missing, shape (N, n).
    copies
        What the members hold, on the ladder and with noise of their own, each (M, N, n).
    noise
        The covariance of the noise at σ² = 1, shape (N, N).
    context
        Progress and cancelling.
    """
    chosen = np.unique(np.linspace(0, true.shape[1] - 1, RECORDS).astype(np.intp))
    true = true[:, chosen]
    factor = factor_of(noise)

    def grown(dependence: Dependence, part: Part) -> BayesGrowth:
        held = copies[dependence][:, :, chosen]
        return bayes_by_copies(true, held, levels, dependence, factor, part)

    ladder = grown(Dependence.LADDER, Part(context, 0.0, 0.5))
    independent = grown(Dependence.INDEPENDENT, Part(context, 0.5, 1.0))
    covariance = np.atleast_2d(np.cov(true))
    linear = np.array(
        [
            expected_errors(levels[: count + 1], Dependence.LADDER, covariance, noise).normalized
            for count in range(len(levels))
        ]
    )
    return tuple(
        BayesData(
            attribute,
            tuple(names),
            ladder.errors[:, place],
            independent.errors[:, place],
            linear[:, place],
            ladder.apart,
            true.shape[1],
        )
        for place, attribute in enumerate(attributes)
    )


def bayes_sentence(data: BayesData) -> str:
    """Return that pooling changes no guess on the ladder, and by how much it was checked."""
    known = tr(
        "This attacker knows which numbers occur and how often, and guesses the mean of what is"
        " possible: no estimate is better."
    )
    if len(data.names) == 1:
        return known
    details = {"known": known, "names": listed(data.names), "best": data.names[0]}
    if data.apart == 0.0:
        return tr(
            "{known} On the ladder, {names} together guess exactly what {best} guesses alone.",
            **details,
        )
    told = tr(
        "{known} On the ladder, the largest difference between a guess of {names} together and"
        " {best}'s own is {apart} of the spread",
        apart=tiny(data.apart),
        **details,
    )
    if data.apart <= ROUNDING_OF_GUESSES:
        told += " " + tr("(rounding): they are the same")
    return told + "."


ROUNDING_OF_GUESSES: Final = 1e6 * ROUNDING
"""A guess is a sum over thousands of records, of exponentials of large numbers."""
