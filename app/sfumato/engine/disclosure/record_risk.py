"""What is believed of single records and of a person, and how likely true values are restored.

The *reconstruction probability* of a record is the probability that Bayes' rule gives to its
true value, once all that a coalition holds is seen (Xiao, Tao and Chen, VLDB 2009, section 7
and appendix 2). Records with the same true value and the same outcome share it, so nothing
here has a row for each record: shares of records are added up by true value and by outcome.

`Beliefs` are what somebody believes about records after each of several independent releases. The
weights Pr[X = x]·Π Pr[Y_i = y_i | X = x] of appendix 2 (Xiao, Tao and Chen, VLDB 2009) are
carried from release to release. Where every release keeps or replaces, only the values that were
seen have weights of their own: k releases cost O(k) a record and never m.

A person may be any of k records, each with a probability known before the released values are
looked at. Of everybody else the attacker believes π, of the person they may believe ρ,
something of their own. Record i shows y_i. By Bayes' rule, over all ways in which the person is a
record and the records have values,

    Pr[X = x | y] ∝ ρ(x) · Σ_i v_i · Pr[y_i | x] / m(y_i),   m(y) = Σ_z π(z)·Pr[y | z],

and record i is the person's with a probability ∝ v_i·Σ_x ρ(x)·Pr[y_i | x] / m(y_i), which is v_i
where ρ = π. The sum over records is one product with the transposed matrix, so it is exact for any
number of records and values. Several attributes that are drawn independently multiply these
weights of the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Indices, Integers
from sfumato.engine.disclosure.best_guess import weight_of_best
from sfumato.engine.disclosure.gaussian_attack import Prior
from sfumato.engine.disclosure.noise_law import NoiseLaw
from sfumato.engine.matrices.matrix import PerturbationMatrix, Square, Vector
from sfumato.engine.matrices.retention_matrix import RetentionMatrix

BINS = 200
"""Steps of the distribution over records: half a percentage point each."""

CERTAIN = 0.9
"""From this probability on, a record counts as almost certainly restored."""

LIKELY = 0.5
"""From this probability on, a record's true value is as likely as all others together."""

NORMAL_95 = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""


@dataclass(frozen=True, eq=False)
class RecordRisk:
    """How likely the records' true values are restored.

    Parameters
    ----------
    average
        The mean reconstruction probability over all records.
    guessed
        The expected share of records whose true value is the likeliest one; never below
        `average`.
    by_value
        The mean reconstruction probability of the records with each true value, shape (m,);
        not a number where a value does not occur.
    certain_by_value
        The share of each value's records with a probability of at least `CERTAIN`, shape (m,).
    histogram
        The share of records by their probability, in `BINS` equal steps from 0 to 1.
    draws
        How many outcomes were drawn; 0 where every outcome was gone through.
    average_error, guessed_error
        Half the width of the 95 % interval; 0 where exact.
    error_by_value
        The same for each value, shape (m,).
    """

    average: float
    guessed: float
    by_value: Vector
    certain_by_value: Vector
    histogram: Vector
    draws: int
    average_error: float
    guessed_error: float
    error_by_value: Vector

    @property
    def exact(self) -> bool:
        """Whether every outcome was gone through."""
        return self.draws == 0

    @property
    def likely(self) -> float:
        """The share of records whose probability is at least `LIKELY`."""
        return float(self.histogram[round(LIKELY * BINS) :].sum())

    @property
    def certain(self) -> float:
        """The share of records whose probability is at least `CERTAIN`."""
        return float(self.histogram[round(CERTAIN * BINS) :].sum())


class RiskTally:
    """Adds outcomes up to a `RecordRisk`.

    Parameters
    ----------
    frequencies
        The share of each value, shape (m,), summing to 1.
    """

    def __init__(self, frequencies: Vector) -> None:
        self._shares = frequencies
        size = len(frequencies)
        self._sums = np.zeros(size)
        self._squares = np.zeros(size)
        self._certain = np.zeros(size)
        self._histogram = np.zeros(BINS)
        self._guessed = 0.0
        self._best = np.zeros(size)
        self._best_squares = np.zeros(size)
        self._drawn: Integers = np.zeros(size, dtype=np.int64)

    def add_outcomes(self, joint: Square) -> None:
        """Add some outcomes with their probabilities.

        Parameters
        ----------
        joint
            Pr[outcome and original = x], shape (outcomes, m).
        """
        weight = joint.sum(axis=1, keepdims=True)
        belief = np.divide(joint, weight, out=np.zeros_like(joint), where=weight > 0.0)
        self._sums += np.einsum("ox,ox->x", joint, belief)
        self._certain += np.where(belief >= CERTAIN, joint, 0.0).sum(axis=0)
        self._histogram += np.bincount(
            steps_of(belief).ravel(), weights=joint.ravel(), minlength=BINS
        )
        self._guessed += float(weight_of_best(joint).sum())

    def add_draws(self, true: Integers, each: Vector, belief: Vector, best: Vector) -> None:
        """Add outcomes that were drawn for records whose true values are known.

        Parameters
        ----------
        true
            The true values, shape (draws,).
        each
            The share of the records that a draw stands for, shape (draws,).
        belief
            The probability given to the true value, shape (draws,).
        best
            The probability given to the likeliest value, shape (draws,).
        """

        def summed(weights: Vector) -> Vector:
            total = np.bincount(true, weights=weights, minlength=len(self._sums))
            return np.asarray(total, dtype=np.float64)

        self._drawn += np.bincount(true, minlength=len(self._sums))
        self._sums += summed(each * belief)
        self._squares += summed(belief * belief)
        self._certain += summed(np.where(belief >= CERTAIN, each, 0.0))
        self._best += summed(best)
        self._best_squares += summed(best * best)
        self._histogram += np.bincount(steps_of(belief), weights=each, minlength=BINS)
        self._guessed += float(each @ best)

    def result(self) -> RecordRisk:
        """Return what was added up."""
        occurs = self._shares > 0.0
        nothing = np.full(len(self._shares), np.nan)
        by_value = np.divide(self._sums, self._shares, out=nothing.copy(), where=occurs)
        certain = np.divide(self._certain, self._shares, out=nothing.copy(), where=occurs)
        error = self._standard_error(np.nan_to_num(by_value), self._squares)
        best = self._best / np.maximum(self._drawn, 1)
        best_error = self._standard_error(best, self._best_squares)
        return RecordRisk(
            average=float(self._sums.sum()),
            guessed=float(self._guessed),
            by_value=np.minimum(by_value, 1.0),
            certain_by_value=np.minimum(certain, 1.0),
            histogram=self._histogram,
            draws=int(self._drawn.sum()),
            average_error=NORMAL_95 * float(np.sqrt(((self._shares * error) ** 2).sum())),
            guessed_error=NORMAL_95 * float(np.sqrt(((self._shares * best_error) ** 2).sum())),
            error_by_value=NORMAL_95 * error,
        )

    def _standard_error(self, means: Vector, squares: Vector) -> Vector:
        """Return the standard error of each value's mean; 0 where nothing was drawn."""
        counts: Vector = np.maximum(self._drawn, 2).astype(np.float64)
        spread = np.maximum(squares / counts - means**2, 0.0)
        return np.where(self._drawn > 0, np.sqrt(spread / (counts - 1)), 0.0)


def steps_of(belief: Floats) -> Indices:
    """Return the step of the distribution that each probability lies in.

    A probability on the edge of two steps belongs to the upper one, also where rounding left
    it a hair below.
    """
    found = (belief * BINS + 1e-9).astype(np.intp)
    return np.minimum(found, BINS - 1)


LARGEST_WHOLE = 64
"""Domains up to this size carry all weights; it is quicker than finding those that differ."""


class Beliefs(Protocol):
    """Beliefs about some records, each with one true value that is known to who asks."""

    def see(self, matrix: PerturbationMatrix, seen: Integers) -> None:
        """Take one more release into account; `seen` has each record's released value."""

    def of_true(self) -> Vector:
        """Return the probability given to each record's true value, shape (records,)."""

    def of_best(self) -> Vector:
        """Return the probability given to each record's likeliest value, shape (records,)."""


def beliefs_about(
    true: Integers, frequencies: Vector, matrices: Sequence[PerturbationMatrix]
) -> Beliefs:
    """Return the beliefs of somebody who knows the frequencies and has seen nothing yet.

    Parameters
    ----------
    true
        The records' true values, shape (records,).
    frequencies
        The share of each value, shape (m,), summing to 1.
    matrices
        The releases that will be seen.
    """
    if is_sparse(frequencies, matrices):
        return SparseBeliefs(true, frequencies, len(matrices))
    return WholeBeliefs(true, frequencies)


def is_sparse(frequencies: Vector, matrices: Sequence[PerturbationMatrix]) -> bool:
    """Return whether beliefs about so many values need only carry those that were seen."""
    plain = all(isinstance(matrix, RetentionMatrix) for matrix in matrices)
    return plain and len(frequencies) > LARGEST_WHOLE


class WholeBeliefs:
    """Carries the weights of all values: any matrix, O(m) a record and release."""

    def __init__(self, true: Integers, frequencies: Vector) -> None:
        self._true = true
        self._weights: Square = np.tile(frequencies, (len(true), 1))

    def see(self, matrix: PerturbationMatrix, seen: Integers) -> None:
        """Take one more release into account."""
        kinds, which = np.unique(seen, return_inverse=True)
        self._weights *= matrix.block(kinds, np.arange(matrix.size))[which]
        self._weights /= self._weights.sum(axis=1, keepdims=True)

    def of_true(self) -> Vector:
        """Return the probability given to each record's true value."""
        return self._weights[np.arange(len(self._true)), self._true]

    def of_best(self) -> Vector:
        """Return the probability given to each record's likeliest value."""
        return weight_of_best(self._weights)


class SparseBeliefs:
    """Carries the weights of the values seen; all others share one list of weights.

    A release that keeps or replaces gives the value it shows a likelihood of its own, and any
    other value x the likelihood (1 − p_x)/m whatever is shown. Weights are kept as logarithms.
    """

    def __init__(self, true: Integers, frequencies: Vector, releases: int) -> None:
        self._true = true
        with np.errstate(divide="ignore"):
            self._common: Vector = np.log(frequencies)
        shape = (len(true), releases)
        self._seen = np.full(shape, -1, dtype=np.int64)
        self._weights = np.full(shape, -np.inf)
        self._count = 0

    def see(self, matrix: PerturbationMatrix, seen: Integers) -> None:
        """Take one more release into account; it must keep or replace."""
        assert isinstance(matrix, RetentionMatrix)
        with np.errstate(divide="ignore"):
            replaced = np.log((1.0 - matrix.retention) / matrix.size)
            shown = np.log(matrix.diagonal)
        earlier = self._seen[:, : self._count]
        again = earlier == seen[:, None]
        self._weights[:, : self._count] += np.where(again, shown[earlier], replaced[earlier])
        # A value seen twice has its weight in the place where it was seen first.
        fresh = ~again.any(axis=1)
        self._weights[:, self._count] = np.where(fresh, self._common[seen] + shown[seen], -np.inf)
        self._seen[:, self._count] = np.where(fresh, seen, -1)
        self._common = self._common + replaced
        self._count += 1

    def of_true(self) -> Vector:
        """Return the probability given to each record's true value."""
        mine = self._seen[:, : self._count] == self._true[:, None]
        weights = np.where(mine, self._weights[:, : self._count], -np.inf)
        own = np.max(weights, axis=1, initial=-np.inf)
        unseen = ~mine.any(axis=1)
        own[unseen] = self._common[self._true[unseen]]
        return np.exp(own - self._total())

    def of_best(self) -> Vector:
        """Return the probability given to each record's likeliest value."""
        # Showing a value never lowers its weight, so a value that was seen never does worse
        # than its place in the common list says.
        highest = np.max(self._weights[:, : self._count], axis=1, initial=-np.inf)
        return np.exp(np.maximum(highest, self._common.max()) - self._total())

    def _total(self) -> Vector:
        """Return the logarithm of the sum of all values' weights, shape (records,)."""
        weights, seen = self._weights[:, : self._count], self._seen[:, : self._count]
        highest = float(self._common.max())
        top = np.maximum(np.max(weights, axis=1, initial=-np.inf), highest)
        common = np.zeros(len(self._common))
        if np.isfinite(highest):
            common = np.exp(self._common - highest)
        gone = np.where(seen >= 0, np.take(common, seen, mode="clip"), 0.0).sum(axis=1)
        others = np.maximum(common.sum() - gone, 0.0) * np.exp(highest - top)
        return top + np.log(np.exp(weights - top[:, None]).sum(axis=1) + others)


_CELLS = 4_000_000
"""Likelihoods held in memory at once."""


@dataclass(frozen=True)
class TellingRelease:
    """What one release shows of an attribute in those records of which it is the most telling.

    Parameters
    ----------
    records
        The records' places among the k that the person may be, shape (r,).
    codes
        What is shown of them, shape (r,).
    matrix
        How it was made.
    """

    records: Indices = field(repr=False)
    codes: Codes = field(repr=False)
    matrix: PerturbationMatrix


def weights_of_records(
    shown: Sequence[TellingRelease], person: Vector, others: Vector, count: int
) -> Vector:
    """Return by how much what is shown makes each record likelier to be the person's, shape (k,).

    Parameters
    ----------
    shown
        What releases show of the records; those in none weigh 1.
    person, others
        What is believed of the person (ρ) and of everybody else (π), shape (m,).
    count
        The number of records, k.
    """
    weights = np.ones(count)
    for each in shown:
        ratio = _ratio(each.matrix.apply(person), each.matrix.apply(others))
        weights[each.records] = ratio[each.codes]
    return weights


def belief_about_person(
    shown: Sequence[TellingRelease], weights: Vector, person: Vector, others: Vector
) -> Vector:
    """Return what is believed of the person once the records are looked at, shape (m,).

    Parameters
    ----------
    shown, person, others
        As in `weights_of_records`.
    weights
        How likely each record is the person's by everything but this attribute, shape (k,).
    """
    size = len(others)
    unseen = weights.copy()
    evidence = np.zeros(size)
    for each in shown:
        seen = weights[each.records]
        counted = np.bincount(each.codes, seen, each.matrix.outcomes).astype(np.float64)
        expected = each.matrix.apply(others)
        evidence += each.matrix.apply_transposed(_ratio(counted, expected))
        unseen[each.records] = 0.0
    belief = person * (evidence + unseen.sum())
    total = float(belief.sum())
    return belief / total if total > 0.0 else person


def _ratio(above: Vector, below: Vector) -> Vector:
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0.0)


@dataclass(frozen=True)
class ShownNumbers:
    """What one release with noise shows of N numbers in some of the records.

    Parameters
    ----------
    records
        The records' places among the k that the person may be, shape (r,).
    numbers
        What is shown of them, shape (N, r), without gaps.
    noise
        The law of the noise.
    """

    records: Indices = field(repr=False)
    numbers: Floats = field(repr=False)
    noise: NoiseLaw


def belief_about_numbers(shown: Sequence[ShownNumbers], weights: Vector, prior: Prior) -> Vector:
    """Return how likely the person's numbers are each of the prior's, shape (A,).

    Of the person and of everybody else the same is believed before.

    Parameters
    ----------
    shown
        What releases show of the records.
    weights
        How likely each record is the person's, shape (k,).
    prior
        The numbers that occur, and how often.
    """
    unseen = weights.copy()
    found = np.zeros(len(prior.shares))
    own = np.log(prior.shares)
    step = max(1, _CELLS // len(own))
    for each in shown:
        for start in range(0, each.numbers.shape[1], step):
            block = slice(start, start + step)
            scores = each.noise.scores(each.numbers[:, block], prior.atoms) + own
            chances = np.exp(scores - scores.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            found += weights[each.records[block]] @ chances
        unseen[each.records] = 0.0
    found += unseen.sum() * prior.shares
    total = float(found.sum())
    return found / total if total > 0.0 else prior.shares
