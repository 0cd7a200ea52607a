"""Estimating the true frequencies of a perturbed attribute, and how well that can be done.

The observed frequencies O of a release have the expectation P·F, so F' = P⁻¹·O estimates the
true frequencies F without bias (Chaytor et al. 2010, section III; Wang, Han and Fu 2012,
section 3.1). Its covariance is P⁻¹·Cov(O)·P⁻ᵀ; what Cov(O) is depends on whose frequencies
are meant, see `Target`. All of it costs O(m) for
matrices that keep or replace. To answer a count query with conditions on other columns, estimate
in the records that match them and multiply by their number.

Confidence intervals have one construction for every mechanism. An interval holds the shares t that
the estimate does not contradict: those with (|F' - t| - c)² <= z²·V(t), where V(t) is the variance
that the estimate has if t is the share (Wilson 1927), and c is half of what one record can move
the estimate by (a correction for continuity; Newcombe 1998, method 4). An interval from the
estimate's own standard error, F' ± z·√V(F'), covers too rarely where few records are released,
above all where a value is rare. V is quadratic in t, so the ends are roots of a quadratic
equation: recipients can compute them with nothing but arithmetic, and do
(resources/recipient).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import EstimationError, LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector

VarianceLaw = Callable[[Vector], Vector]
"""The variances that estimated shares have, shape (m,), if these are the shares; quadratic in
each of them and independent of the others."""


class Quadratic(NamedTuple):
    """Variances V(t) = constant + linear·t + square·t² of m estimates, each shape (m,)."""

    constant: Vector
    linear: Vector
    square: Vector

    @classmethod
    def through(cls, law: VarianceLaw, size: int) -> Quadratic:
        """Return the quadratics that a law is, from its values at 0, 1/2 and 1."""
        none, half, all_of_it = (law(np.full(size, share)) for share in (0.0, 0.5, 1.0))
        square = 2.0 * (none + all_of_it - 2.0 * half)
        return cls(none, all_of_it - none - square, square)

    def at(self, shares: Vector) -> Vector:
        """Return V(t), shape (m,)."""
        return self.constant + shares * (self.linear + shares * self.square)


def score_interval(
    estimates: Vector, variances: Quadratic, correction: Vector, factor: float
) -> tuple[Vector, Vector]:
    """Return the ends of the intervals, clipped to [0, 1].

    Parameters
    ----------
    estimates
        F', shape (m,).
    variances
        V(t).
    correction
        c, shape (m,); it is left out where V is 0, so that nothing is random.
    factor
        The normal quantile z.
    """
    square = factor * factor
    random = variances.at(np.full_like(estimates, 0.5)) > 1e-9 * correction**2
    reach = np.where(random, correction, 0.0)
    ends = []
    for side in (-1.0, 1.0):
        # (x - t)² = z²·V(t), with x the estimate moved by the correction.
        moved = estimates + side * reach
        scale = 1.0 - square * variances.square
        middle = moved + square * variances.linear / 2.0
        rest = moved * moved - square * variances.constant
        root = (middle + side * np.sqrt(np.maximum(middle * middle - scale * rest, 0.0))) / scale
        ends.append(np.minimum(root, moved) if side < 0 else np.maximum(root, moved))
    return np.clip(ends[0], 0.0, 1.0), np.clip(ends[1], 0.0, 1.0)


Counts = npt.NDArray[np.integer] | Floats
"""How often each value of the domain was released, shape (m,)."""


class Target(StrEnum):
    """Whose frequencies are estimated: this decides how large the error is."""

    TABLE = "table"
    """Of the table's own records: only the perturbation is random. Without perturbation the
    error is 0."""
    POPULATION = "population"
    """Of a population that the records are a sample of: released counts are multinomial, and
    the error of sampling comes on top."""


@dataclass(frozen=True)
class FrequencyEstimate:
    """Estimated frequencies of the original values, with their errors.

    Parameters
    ----------
    frequencies
        F' = P⁻¹·O, shape (m,). They sum to 1, but where symbols were released; single ones may be
        negative or above 1.
    standard_errors
        Their standard errors, shape (m,).
    low, high
        The confidence intervals, shape (m,), clipped to [0, 1].
    confidence
        The intervals' level, each on its own.
    records
        The number of records, n.
    target
        What the errors refer to.
    """

    frequencies: Vector
    standard_errors: Vector
    low: Vector
    high: Vector
    confidence: float
    records: int
    target: Target


@dataclass(frozen=True)
class Reconstruction:
    """Frequencies reconstructed by the iterative Bayesian method.

    Parameters
    ----------
    frequencies
        The frequencies, shape (m,): not negative, summing to 1.
    steps
        How many steps were needed.
    gap
        How far the mean log-likelihood of a record is at most below the best possible one.
    converged
        Whether `gap` got below the tolerance.
    """

    frequencies: Vector
    steps: int
    gap: float
    converged: bool


def estimate_frequencies(
    counts: Counts,
    matrix: PerturbationMatrix,
    confidence: float = 0.95,
    target: Target = Target.TABLE,
    law: VarianceLaw | None = None,
) -> FrequencyEstimate:
    """Estimate the original frequencies by inverting the matrix.

    Parameters
    ----------
    counts
        How often each value was released, shape (m,), or each symbol.
    matrix
        The release's perturbation matrix.
    confidence
        The level of the intervals, between 0 and 1 (`sfumato.engine.matrices.estimate`).
    target
        Whether the errors refer to the population or to the table's own records.
    law
        The variances of the estimates where records were not perturbed independently; None
        where they were.

    Returns
    -------
    FrequencyEstimate
        Unbiased frequencies with errors and intervals.

    Raises
    ------
    EstimationError
        If the counts don't fit the matrix, there are no records, or the matrix is singular.
    LevelError
        If the confidence is not between 0 and 1.
    """
    observed, records = _shares(counts, matrix.outcomes)
    factor = _normal_factor(confidence)
    frequencies = matrix.solve(observed)
    variances = _variances_by_share(frequencies, observed, records, matrix, target)
    # An estimate can lie where no truth does, and there the variance is another one.
    errors = np.sqrt(np.maximum(variances.at(np.clip(frequencies, 0.0, 1.0)), 0.0))
    correction = matrix.inverse_ranges() / (2.0 * records)
    if law is not None:
        errors = np.sqrt(law(np.clip(frequencies, 0.0, 1.0)))
        alone, half = variances, np.full(matrix.size, 0.5)
        variances = Quadratic.through(law, matrix.size)
        # One draw counts as often as it is copied.
        correction *= np.maximum(variances.at(half) / np.maximum(alone.at(half), 1e-300), 1.0)
    low, high = score_interval(frequencies, variances, correction, factor)
    return FrequencyEstimate(
        frequencies=frequencies,
        standard_errors=errors,
        low=low,
        high=high,
        confidence=confidence,
        records=records,
        target=target,
    )


def expected_standard_errors(
    frequencies: Vector,
    matrix: PerturbationMatrix,
    records: int,
    target: Target = Target.TABLE,
) -> Vector:
    """Return the standard errors to expect of a release that is not made yet, shape (m,).

    Parameters
    ----------
    frequencies
        The true frequencies, shape (m,), summing to 1.
    matrix
        The planned perturbation matrix.
    records
        The number of records, n.
    target
        Whether the errors refer to the population or to the table's own records.

    Raises
    ------
    EstimationError
        If the frequencies don't fit the matrix, there are no records, or it is singular.
    """
    true, _ = _shares(frequencies, matrix.size)
    if records < 1:
        raise EstimationError("There are no records to estimate from.", "Give at least one.")
    variances = _variances(matrix.apply(true), true, matrix, target)
    return np.sqrt(variances / records)


def reconstruct(
    counts: Counts,
    matrix: PerturbationMatrix,
    tolerance: float = 1e-9,
    most_steps: int = 20_000,
) -> Reconstruction:
    """Reconstruct the frequencies by the iterative Bayesian method (EM).

    A step replaces f by f·Pᵀ(O/(P·f)), the mean posterior of the released values (Agrawal,
    Srikant and Thomas 2005). It climbs to the most likely frequencies, never leaves the simplex,
    and works where P is singular. Two steps show where a slow climb leads; a jump there is taken
    when it is at least as likely (Varadhan and Roland 2008), which spares most of the steps.

    Parameters
    ----------
    counts
        How often each value was released, shape (m,).
    matrix
        The release's perturbation matrix.
    tolerance
        Stop when the mean log-likelihood of a record can grow by no more than this.
    most_steps
        Stop after as many steps.

    Raises
    ------
    EstimationError
        If the counts don't fit the matrix, there are no records, or a value was released that
        the matrix never releases.
    """
    observed, _ = _shares(counts, matrix.outcomes)
    frequencies = _start(observed, matrix)
    steps = 0
    while True:
        first, gap = _step(observed, frequencies, matrix)
        steps += 1
        if gap <= tolerance or steps >= most_steps:
            return Reconstruction(frequencies, steps, gap, gap <= tolerance)
        second, _ = _step(observed, first, matrix)
        steps += 1
        jump = _jump(frequencies, first, second)
        better = _likelihood(observed, jump, matrix) >= _likelihood(observed, second, matrix)
        frequencies = jump if better else second


def record_utility(frequencies: Vector, matrix: PerturbationMatrix) -> float:
    """Return Σ f_i·P_ii, the expected share of records whose value is released unchanged.

    Chaytor et al. 2010, definition 3.
    """
    true, _ = _shares(frequencies, matrix.size)
    return float(true @ matrix.diagonal)


def aggregate_utility(frequencies: Vector, estimated: Vector) -> float:
    """Return 1 − (1/m)·Σ|f_i − f'_i| (Chaytor et al. 2010, definition 2).

    Raises
    ------
    EstimationError
        If there are not as many estimates as frequencies.
    """
    true, guess = np.asarray(frequencies), np.asarray(estimated)
    if true.shape != guess.shape or true.ndim != 1 or true.size == 0:
        raise EstimationError(
            "{true} frequencies can't be compared with {guess} estimates.",
            "Give one of each for every value of the domain.",
            true=true.size,
            guess=guess.size,
        )
    return 1.0 - float(np.abs(true - guess).mean())


def _shares(counts: Counts, size: int) -> tuple[Vector, int]:
    given = np.asarray(counts, dtype=np.float64)
    if given.shape != (size,):
        raise EstimationError(
            "There are counts for {given} {given:value|values}, and the matrix has {size}.",
            "Give a count for each value of the domain.",
            given=given.size,
            size=size,
        )
    if not np.isfinite(given).all() or (given < 0.0).any():
        raise EstimationError("A count is not a number of at least 0.", "Count the records.")
    total = float(given.sum())
    if total <= 0.0:
        raise EstimationError(
            "There are no records to estimate from.", "Choose conditions that some records meet."
        )
    return given / total, round(total)


def _variances(
    observed: Vector, frequencies: Vector, matrix: PerturbationMatrix, target: Target
) -> Vector:
    """Return the variances for one record, shape (m,)."""
    second_moments = matrix.apply_squared_inverse(observed)
    lost = frequencies**2 if target is Target.POPULATION else frequencies
    return np.maximum(second_moments - lost, 0.0)


def _variances_by_share(
    frequencies: Vector,
    observed: Vector,
    records: int,
    matrix: PerturbationMatrix,
    target: Target,
) -> Quadratic:
    """Return the variance of each value's estimate as a function of its true share.

    The other values are taken to share the rest as they are estimated to, one further record
    spread evenly. Where all have the same retention, that makes no difference.
    """
    shares = np.maximum(frequencies, 0.0)
    if matrix.shows_symbols:  # estimates of thousands of codes sum to anything; symbols to 1
        shown = (records * observed + 1.0 / matrix.outcomes) / (records + 1.0)
        shares = np.minimum((records * shares + 1.0 / matrix.size) / (records + 1.0), 1.0 - 1e-9)
    else:
        shares = (records * shares / shares.sum() + 1.0 / matrix.size) / (records + 1.0)
        shown = matrix.apply(shares)
    of_own = matrix.own_second_moments()
    of_all = matrix.apply_squared_inverse(shown)
    of_others = (of_all - shares * of_own) / (1.0 - shares)
    slope = of_own - of_others - (1.0 if target is Target.TABLE else 0.0)
    square = np.full(matrix.size, 0.0 if target is Target.TABLE else -1.0)
    return Quadratic(of_others / records, slope / records, square / records)


def _normal_factor(confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise LevelError(
            "A confidence of {value} is not between 0 and 1.",
            "Give a level such as 0.95.",
            value=confidence,
        )
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)


def _start(observed: Vector, matrix: PerturbationMatrix) -> Vector:
    even = np.full(matrix.size, 1.0 / matrix.size)
    try:
        guess = np.maximum(matrix.solve(observed), 0.0)
    except EstimationError:
        return even
    # Where a frequency starts at 0 it stays there.
    return 0.99 * guess / guess.sum() + 0.01 * even


def _step(
    observed: Vector, frequencies: Vector, matrix: PerturbationMatrix
) -> tuple[Vector, float]:
    """Return the next frequencies, and how much likelier any could be than these.

    The likelihood is concave, so the mean log-likelihood of a record can't grow by more than
    the logarithm of the largest factor.
    """
    expected = matrix.apply(frequencies)
    seen = observed > 0.0
    if (expected[seen] <= 0.0).any():
        raise EstimationError(
            "A value was released that the perturbation matrix never releases.",
            "Check that the file and the matrix belong together.",
        )
    weights = np.divide(observed, expected, out=np.zeros_like(observed), where=seen)
    factors = matrix.apply_transposed(weights)
    following = frequencies * factors
    return following / following.sum(), max(0.0, float(np.log(factors.max())))


def _jump(start: Vector, first: Vector, second: Vector) -> Vector:
    """Return where the steps from `start` to `first` to `second` lead, inside the simplex."""
    velocity = first - start
    bend = second - first - velocity
    length = float(np.linalg.norm(bend))
    if length == 0.0:
        return second
    stretch = max(1.0, float(np.linalg.norm(velocity)) / length)
    landing = start + 2.0 * stretch * velocity + stretch * stretch * bend
    inside: Vector = np.where(landing > 0.0, landing, 0.1 * second)
    inside /= inside.sum()
    return inside


def _likelihood(observed: Vector, frequencies: Vector, matrix: PerturbationMatrix) -> float:
    """Return the mean log-likelihood of a record."""
    seen = observed > 0.0
    return float(observed[seen] @ np.log(matrix.apply(frequencies)[seen]))


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


_UTILITY_STEPS: Final = 2_000


def utility_of(
    frequencies: Vector, matrix: PerturbationMatrix, drawn: Sequence[Integers]
) -> Utility:
    """Return what a matrix keeps of a table's frequencies, shape (m,).

    Parameters
    ----------
    frequencies
        The share of each value, shape (m,).
    matrix
        How the table was perturbed.
    drawn
        How often each value was released, each of shape (m,); at least two draws.
    """
    bayes = np.array(
        [
            aggregate_utility(
                frequencies,
                reconstruct(counts, matrix, most_steps=_UTILITY_STEPS).frequencies,
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
