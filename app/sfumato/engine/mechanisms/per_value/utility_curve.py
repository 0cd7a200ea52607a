"""How much of the data fine-grain and uniform perturbation keep, over the tolerance θ.

The experiment of Chaytor, Wang and Brantingham 2010, section V (Fig. 5): limits by the
tolerance rule, record utility of the optimal fine-grain profile and of the uniform matrix for
the tightest limit, and aggregate utility of frequencies estimated from repeated draws, by the
inverse matrix and by iterative Bayesian reconstruction.

The draws come from the ladders themselves under a key that everyone knows: nothing here is
released, and the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.values import count_codes, smallest_unsigned
from sfumato.engine.core.wording import Sentence
from sfumato.engine.ladders.base_mechanism import ProfileTop, release_below
from sfumato.engine.matrices.estimate import (
    Target,
    aggregate_utility,
    estimate_frequencies,
    expected_standard_errors,
    reconstruct,
    record_utility,
)
from sfumato.engine.matrices.privacy import retention_for_gamma
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.mechanisms.per_value.solver import BreachMode, gammas_by_tolerance, solve
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing, record_ids_by_position

Floats = npt.NDArray[np.float64]

_OPEN_KEYS = KeyRing(bytes(SECRET_BYTES))
_RECONSTRUCTION_STEPS = 2_000


@dataclass(frozen=True)
class Utility:
    """What one matrix keeps.

    Parameters
    ----------
    record
        The expected share of records that show their true value.
    aggregate_inverse
        The mean aggregate utility over the draws, frequencies estimated by the inverse matrix;
        NaN where the matrix is singular.
    aggregate_bayes
        The same by iterative Bayesian reconstruction.
    spread_bayes
        The standard deviation of the latter over the draws.
    error_expected, error_observed
        The root mean square error of a frequency: from theory, and over the draws (inverse).
    """

    record: float
    aggregate_inverse: float
    aggregate_bayes: float
    spread_bayes: float
    error_expected: float
    error_observed: float


@dataclass(frozen=True)
class UtilityPoint:
    """Both mechanisms at one tolerance."""

    theta: float
    fine_grain: Utility
    uniform: Utility


def utility_curve(
    counts: npt.NDArray[np.int64],
    thetas: Sequence[float],
    mode: BreachMode,
    draws: int,
    context: Context,
) -> tuple[UtilityPoint, ...]:
    """Return what both mechanisms keep at each tolerance.

    Parameters
    ----------
    counts
        How often each value occurs, shape (m,), m >= 2.
    thetas
        The tolerances, each above 1.
    mode
        Which breaches the limits rule out.
    draws
        How many releases are drawn at each tolerance, at least 2.
    context
        Told of the progress; may stop the work.

    Raises
    ------
    LevelError
        If a tolerance is not above 1, or there are fewer than two values.
    """
    if draws < 2:
        raise ValueError("a spread needs two draws")
    frequencies = counts / counts.sum()
    draw = _drawer(counts)
    points = []
    for place, theta in enumerate(thetas):
        context.report(
            place / len(thetas), Sentence("Drawing releases for θ = {theta:g}", theta=theta)
        )
        gammas = gammas_by_tolerance(frequencies, theta)
        fine = RetentionMatrix(solve(frequencies, gammas, mode).retention)
        uniform = RetentionMatrix(np.full(len(counts), uniform_retention(gammas)))
        points.append(
            UtilityPoint(
                theta,
                _utility(frequencies, fine, [draw(fine, number) for number in range(draws)]),
                _utility(frequencies, uniform, [draw(uniform, number) for number in range(draws)]),
            )
        )
    context.report(1.0, "Drawing releases")
    return tuple(points)


def uniform_retention(gammas: Floats) -> float:
    """Return the uniform retention probability for the tightest of the limits (equation 2)."""
    tightest = float(gammas.min())
    return 1.0 if np.isinf(tightest) else retention_for_gamma(tightest, len(gammas))


def _drawer(
    counts: npt.NDArray[np.int64],
) -> Callable[[RetentionMatrix, int], npt.NDArray[np.int64]]:
    """Return a function that draws the released counts of the table once."""
    size = len(counts)
    codes = np.repeat(np.arange(size, dtype=smallest_unsigned(size)), counts)
    ids = record_ids_by_position(len(codes))

    def draw(matrix: RetentionMatrix, number: int) -> npt.NDArray[np.int64]:
        kept = matrix.retention
        highest = float(kept.max())
        key = _OPEN_KEYS.for_attribute("utility", str(size), f"draw {number}")
        top = ProfileTop(kept / highest if highest > 0 else kept)
        released = release_below(top, highest, codes, ids, key, Silent())
        return count_codes(released, size)

    return draw


def _utility(
    frequencies: Floats, matrix: RetentionMatrix, drawn: Sequence[npt.NDArray[np.int64]]
) -> Utility:
    bayes = np.array(
        [
            aggregate_utility(
                frequencies,
                reconstruct(counts, matrix, most_steps=_RECONSTRUCTION_STEPS).frequencies,
            )
            for counts in drawn
        ]
    )
    try:
        estimated = np.array([estimate_frequencies(c, matrix).frequencies for c in drawn])
        inverse = float(np.mean([aggregate_utility(frequencies, e) for e in estimated]))
        observed = float(np.sqrt(np.mean((estimated - frequencies) ** 2)))
        theory = expected_standard_errors(frequencies, matrix, int(drawn[0].sum()), Target.TABLE)
        expected = float(np.sqrt(np.mean(theory**2)))
    except EstimationError:
        inverse = observed = expected = float("nan")
    return Utility(
        record=record_utility(frequencies, matrix),
        aggregate_inverse=inverse,
        aggregate_bayes=float(bayes.mean()),
        spread_bayes=float(bayes.std(ddof=1)),
        error_expected=expected,
        error_observed=observed,
    )
