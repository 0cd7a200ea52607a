"""For every record, how likely a coalition restores its true value: three ways of releasing.

* **independent**: every release has noise of its own at its level; the likelihoods multiply
  (Xiao, Tao and Chen, VLDB 2009, appendix 2),
* **on the ladder**: each release is made from the next more trusted one by a channel, so the
  joint law is that of a Markov chain (the same paper, Lemma 1),
* **alone**: the most trusted member has nobody else's release.

The last two coincide. They are computed by different ways here, and the largest difference is
told: on the ladder, Bayes' rule is applied release by release, the least trusted first, with
every member's own matrix and the channels between them.

Any mechanism with matrices will do. Every outcome is gone through where there are few enough;
beyond, outcomes are drawn for each true value, and the error is told.

`added_recipient` says what one more recipient would change, before anything is released.

Everyone in a coalition makes the best guess (`sfumato.engine.disclosure.best_guess`). On a ladder
the releases form a Markov chain, so a coalition knows what its most trusted member knows (Xiao, Tao
and Chen, VLDB 2009, Lemma 1). With independent noise the likelihoods multiply (same paper, Appendix
2). The paper's own measure, the average posterior of the true value, is reported beside the share
of right guesses.

`risk_growth` says how the risk grows with every recipient that is added (the same paper, Fig. 7):
the average reconstruction probability of all records, after the first release, the first two, and
so on, with noise of its own for each release and on the ladder.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Integers
from sfumato.engine.disclosure.best_guess import Restoration, restored_alone, weight_of_best
from sfumato.engine.disclosure.record_risk import (
    NORMAL_95,
    RecordRisk,
    RiskTally,
    beliefs_about,
    is_sparse,
)
from sfumato.engine.matrices.matrix import PerturbationMatrix, Square, Vector
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.randomness.keys import draw_released, uniforms

MOST_ENTRIES = 20_000_000
"""Outcomes times values gone through; beyond, outcomes are drawn."""

MOST_DRAWS = 40_000
FEWEST_DRAWS = 500
FEWEST_FOR_A_VALUE = 8
WORK = 100_000_000
"""Likelihoods computed at most when outcomes are drawn, but for the fewest draws."""

SAME = 1e-9
"""Beliefs that differ by no more are the same, but for rounding."""

BLOCK = 1_000_000
"""Likelihoods held in memory at once."""


@dataclass(frozen=True, eq=False)
class CoalitionRisk:
    """The three risks side by side.

    Parameters
    ----------
    independent, on_ladder, alone
        The risks.
    largest_difference
        The largest difference, over all outcomes gone through or drawn and over all values,
        between what is believed on the ladder and what the most trusted member believes alone.
    without
        The average probability that the frequencies alone give to the true value.
    """

    independent: RecordRisk
    on_ladder: RecordRisk
    alone: RecordRisk
    largest_difference: float
    without: float


def coalition_risk(
    matrices: Sequence[PerturbationMatrix], frequencies: Vector, context: Context
) -> CoalitionRisk:
    """Weigh a coalition.

    Parameters
    ----------
    matrices
        The members' releases, the most trusted first; at least one, over one domain.
    frequencies
        The share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.

    Raises
    ------
    LadderError
        If a release can't be made from the one before: then they are on no ladder.
    """
    shares = np.asarray(frequencies, dtype=np.float64)
    alone = risk_of_independent(matrices[:1], shares, Part(context, 0.0, 0.2))
    if len(matrices) == 1:
        return CoalitionRisk(alone, alone, alone, 0.0, float(shares @ shares))
    on_ladder, difference = risk_on_ladder(matrices, shares, alone, Part(context, 0.2, 0.6))
    independent = risk_of_independent(matrices, shares, Part(context, 0.6, 1.0))
    return CoalitionRisk(independent, on_ladder, alone, difference, float(shares @ shares))


def risk_of_independent(
    matrices: Sequence[PerturbationMatrix], frequencies: Vector, context: Context
) -> RecordRisk:
    """Return the risk if each release had noise of its own; with one release, its own risk.

    Parameters
    ----------
    matrices, frequencies, context
        As for `coalition_risk`; the order of the releases is of no account.
    """
    tally = RiskTally(frequencies)
    if can_enumerate(len(frequencies), len(matrices), outcomes=(shown := outcomes_in(matrices))):
        for outcomes in outcomes_of(shown, len(matrices), context):
            joint = frequencies
            for matrix, seen in zip(matrices, outcomes.T, strict=True):
                joint = joint * rows_of(matrix, seen)
            tally.add_outcomes(joint)
        return tally.result()
    counts = counts_of_draws(frequencies, matrices)
    for true, each, numbers in draws_for(frequencies, counts, len(matrices), context):
        beliefs = beliefs_about(true, frequencies, matrices)
        for matrix, draws in zip(matrices, numbers, strict=True):
            beliefs.see(matrix, draw_released(matrix, true, draws))
        tally.add_draws(true, each, beliefs.of_true(), beliefs.of_best())
    return tally.result()


def risk_on_ladder(
    matrices: Sequence[PerturbationMatrix],
    frequencies: Vector,
    alone: RecordRisk,
    context: Context,
) -> tuple[RecordRisk, float]:
    """Return the risk if the releases sit on one ladder, and how far it is from its best's.

    Parameters
    ----------
    matrices, frequencies, context
        As for `coalition_risk`.
    alone
        The risk of the first release alone.

    Returns
    -------
    RecordRisk, float
        The second is the largest difference to the first release alone, of any belief in any
        value.

    Raises
    ------
    LadderError
        If a release can't be made from the one before.
    """
    channels = [upper.garbling_to(lower) for upper, lower in itertools.pairwise(matrices)]
    tally, largest = RiskTally(frequencies), 0.0
    if can_enumerate(len(frequencies), len(matrices), outcomes=(shown := outcomes_in(matrices))):
        for outcomes in outcomes_of(shown, len(matrices), context):
            chance = np.ones(len(outcomes))
            for place, channel in enumerate(channels):
                chance = chance * entries_of(channel, outcomes[:, place + 1], outcomes[:, place])
            belief, first = chain_beliefs(matrices, channels, frequencies, outcomes)
            weight = (rows_of(matrices[0], outcomes[:, 0]) @ frequencies) * chance
            possible = weight > 0.0
            tally.add_outcomes(belief[possible] * weight[possible, None])
            largest = max(largest, _difference(belief[possible], first[possible]))
        return tally.result(), largest
    counts = np.ceil(frequencies * most_whole_draws(len(frequencies), len(matrices)))
    for true, each, numbers in draws_for(
        frequencies, counts.astype(np.int64), len(matrices), context
    ):
        columns = [draw_released(matrices[0], true, numbers[0])]
        for channel, draws in zip(channels, numbers[1:], strict=True):
            columns.append(draw_released(channel, columns[-1], draws))
        belief, first = chain_beliefs(matrices, channels, frequencies, np.stack(columns, axis=1))
        own = belief[np.arange(len(true)), true]
        tally.add_draws(true, each, own, weight_of_best(belief))
        largest = max(largest, _difference(belief, first))
    # Where no draw tells the two apart, what is known of the first alone says more than draws.
    return (alone if largest <= SAME else tally.result()), largest


def chain_beliefs(
    matrices: Sequence[PerturbationMatrix],
    channels: Sequence[PerturbationMatrix],
    frequencies: Vector,
    outcomes: Integers,
) -> tuple[Square, Square]:
    """Return the beliefs of a coalition on a ladder, and of its most trusted member alone.

    The least trusted release is seen first. What the next one adds is
    Pr[Y_k | X, Y_k+1] = Pr[Y_k | X]·Pr[Y_k+1 | Y_k] / Pr[Y_k+1 | X], and so on to the top.

    Parameters
    ----------
    matrices
        The members' releases, the most trusted first.
    channels
        What turns each release into the next one.
    frequencies
        The share of each value, shape (m,).
    outcomes
        What was released, shape (outcomes, members).

    Returns
    -------
    numpy.ndarray, numpy.ndarray
        Pr[original | all releases] and Pr[original | the first], shape (outcomes, m) each.
    """
    below = rows_of(matrices[-1], outcomes[:, -1])
    belief = _normal(frequencies * below)
    for place in range(len(matrices) - 2, -1, -1):
        own = rows_of(matrices[place], outcomes[:, place])
        step = entries_of(channels[place], outcomes[:, place + 1], outcomes[:, place])
        added = np.divide(own * step[:, None], below, out=np.zeros_like(own), where=below > 0.0)
        belief = _normal(belief * added)
        below = own
    return belief, _normal(frequencies * below)


def _normal(weights: Square) -> Square:
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0.0)


def _difference(belief: Square, other: Square) -> float:
    return float(np.max(np.abs(belief - other), initial=0.0))


def outcomes_in(matrices: Sequence[PerturbationMatrix]) -> int:
    """Return how many values each of some releases of one attribute can show."""
    return max(matrix.outcomes for matrix in matrices)


def can_enumerate(
    size: int, members: int, most: int | None = None, outcomes: int | None = None
) -> bool:
    """Return whether every outcome of so many releases can be gone through.

    Parameters
    ----------
    size, members
        Values and releases.
    most
        The most entries gone through, outcomes times values; `MOST_ENTRIES` where it is None.
    outcomes
        How many values a release can show; `size` where it is None.
    """
    # A decimal can't hold it for hundreds of members.
    entries = size * (size if outcomes is None else outcomes) ** members
    return entries <= (MOST_ENTRIES if most is None else most)


def outcomes_of(size: int, members: int, context: Context) -> Iterator[Integers]:
    """Yield all joint outcomes in blocks of shape (outcomes, members)."""
    total = size**members
    step = max(BLOCK // size, 1)
    for start in range(0, total, step):
        context.report(start / total, "Going through joint outcomes")
        numbers = np.arange(start, min(start + step, total))
        columns = np.unravel_index(numbers, (size,) * members)
        yield np.stack(columns, axis=1).astype(np.int64)


def draws_for(
    frequencies: Vector, counts: Integers, members: int, context: Context
) -> Iterator[tuple[Integers, Vector, list[Vector]]]:
    """Yield blocks of draws of bounded size.

    Yields
    ------
    tuple
        The true values, the share of the records that each draw stands for, and for each
        release numbers from [0, 1) to draw it with; all of shape (draws,).
    """
    true = np.repeat(np.arange(len(frequencies)), counts)
    numbers = [uniforms(len(true), 1 + member) for member in range(members)]
    shares = frequencies / np.maximum(counts, 1)
    step = max(BLOCK // (len(frequencies) + members), 1)
    for start in range(0, len(true), step):
        context.report(start / len(true), "Drawing joint outcomes")
        part = slice(start, start + step)
        yield true[part], shares[true[part]], [each[part] for each in numbers]


def counts_of_draws(frequencies: Vector, matrices: Sequence[PerturbationMatrix]) -> Integers:
    """Return how many outcomes are drawn for each true value, shape (m,).

    A value of many records gets more draws, and every value that occurs gets some.
    """
    wanted, fewest, size = MOST_DRAWS, FEWEST_FOR_A_VALUE, len(frequencies)
    if not is_sparse(frequencies, matrices):
        wanted = most_whole_draws(size, len(matrices))
        # Of thousands of values, each draw carries the weights of all.
        fewest = min(max(10 * WORK // (size * size * len(matrices)), 2), fewest)
    counts = np.maximum(np.ceil(frequencies * wanted), fewest)
    return np.where(frequencies > 0.0, counts, 0).astype(np.int64)


def most_whole_draws(size: int, members: int) -> int:
    """Return how many draws can carry the weights of all values."""
    return min(max(WORK // (size * members), FEWEST_DRAWS), MOST_DRAWS)


def rows_of(matrix: PerturbationMatrix, seen: Integers) -> Square:
    """Return Pr[released = seen | original] for each of some values, shape (outcomes, m)."""
    if isinstance(matrix, RetentionMatrix):
        return matrix.block(seen, np.arange(matrix.size))
    kinds, which = np.unique(seen, return_inverse=True)
    return matrix.block(kinds, np.arange(matrix.size))[which]


def entries_of(matrix: PerturbationMatrix, released: Integers, original: Integers) -> Vector:
    """Return single entries Pr[released | original], shape (outcomes,)."""
    if isinstance(matrix, RetentionMatrix):
        other = (1.0 - matrix.retention[original]) / matrix.size
        kept = np.where(released == original, matrix.retention[original], 0.0)
        return other + kept
    kinds, which = np.unique(released, return_inverse=True)
    columns, at = np.unique(original, return_inverse=True)
    return matrix.block(kinds, columns)[which, at]


@dataclass(frozen=True, eq=False)
class AddedRecipient:
    """A coalition's risk before and after somebody joins.

    Parameters
    ----------
    trust
        The new release's trust, from 0 to 1.
    rank
        Its place among the members, from 0 for the most trusted.
    alone
        The new recipient's own risk.
    before, after
        The coalition's risk on the ladder: its most trusted member's. `before` is None where
        nobody was in it.
    independent_before, independent_after
        The risk if every release had noise of its own.
    """

    trust: float
    rank: int
    alone: RecordRisk
    before: RecordRisk | None
    after: RecordRisk
    independent_before: RecordRisk | None
    independent_after: RecordRisk

    @property
    def raises_the_top(self) -> bool:
        """Whether the new recipient would be the most trusted one."""
        return self.rank == 0


def added_recipient(
    matrices: Sequence[PerturbationMatrix],
    trusts: Sequence[float],
    added: PerturbationMatrix,
    trust: float,
    frequencies: Vector,
    context: Context,
) -> AddedRecipient:
    """Return what a recipient more would change for a coalition.

    Parameters
    ----------
    matrices, trusts
        The members' releases and their trust from 0 to 1, the most trusted first; may be empty.
    added, trust
        The new recipient's release and its trust.
    frequencies
        The share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.

    Raises
    ------
    LadderError
        If the new release does not sit on one ladder with its neighbours.
    """
    shares = np.asarray(frequencies, dtype=np.float64)
    rank = bisect.bisect_right([-one for one in trusts], -trust)
    joined = [*matrices[:rank], added, *matrices[rank:]]
    for upper, lower in itertools.pairwise(joined):
        upper.garbling_to(lower)
    alone = risk_of_independent([added], shares, Part(context, 0.0, 0.1))
    before = independent_before = None
    if matrices:
        before = risk_of_independent(matrices[:1], shares, Part(context, 0.1, 0.2))
        independent_before = risk_of_independent(matrices, shares, Part(context, 0.2, 0.6))
    after = alone if rank == 0 or before is None else before
    independent_after = risk_of_independent(joined, shares, Part(context, 0.6, 1.0))
    return AddedRecipient(trust, rank, alone, before, after, independent_before, independent_after)


def restored_together(
    matrices: Sequence[PerturbationMatrix], frequencies: Vector, context: Context
) -> Restoration:
    """Return what a coalition restores if each release had noise of its own.

    The very figures that `sfumato.engine.disclosure.coalition_risk` finds record by record.

    Parameters
    ----------
    matrices
        The members' releases, at least one, all over the same domain.
    frequencies
        The share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.
    """
    if len(matrices) == 1:
        return restored_alone(matrices[0], frequencies, context)
    shares = np.asarray(frequencies, dtype=np.float64)
    risk = risk_of_independent(matrices, shares, context)
    return Restoration(risk.guessed, risk.average, risk.guessed_error)


DRAWS = 40_000
EXACT_ENTRIES = 2_000_000
"""Outcomes times values gone through for an exact step."""


@dataclass(frozen=True)
class GrowthPoint:
    """The risk after one more recipient.

    Parameters
    ----------
    recipients
        How many there are now.
    trust
        The newest release's trust, from 0 to 1.
    independent
        The average reconstruction probability of all who hold something, pooling releases with
        noise of their own.
    independent_error
        Half the width of its 95 % interval; 0 where it is exact.
    on_ladder
        The same on the ladder: the most trusted one's alone.
    ladder_error
        Half the width of its 95 % interval; 0 where it is exact.
    """

    recipients: int
    trust: float
    independent: float
    independent_error: float
    on_ladder: float
    ladder_error: float = 0.0


def risk_growth(
    matrices: Sequence[PerturbationMatrix],
    trusts: Sequence[float],
    frequencies: Vector,
    context: Context,
) -> tuple[GrowthPoint, ...]:
    """Return the risk after each of several releases.

    Parameters
    ----------
    matrices
        The releases in the order in which they are made, all on one ladder.
    trusts
        The trust of each, from 0 to 1: the higher of two is the more telling.
    frequencies
        The share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.
    """
    shares = np.asarray(frequencies, dtype=np.float64)
    means, errors = _independent(matrices, shares, Part(context, 0.0, 0.8))
    points: list[GrowthPoint] = []
    best = -1.0
    ladder, ladder_error = 0.0, 0.0
    for place, (matrix, trust) in enumerate(zip(matrices, trusts, strict=True)):
        context.report(0.8 + 0.2 * place / len(matrices), "Weighing the most trusted")
        if trust > best:
            best = trust
            risk = risk_of_independent([matrix], shares, Silent())
            ladder, ladder_error = risk.average, risk.average_error
        points.append(
            GrowthPoint(place + 1, trust, means[place], errors[place], ladder, ladder_error)
        )
    return tuple(points)


def _independent(
    matrices: Sequence[PerturbationMatrix], frequencies: Vector, context: Context
) -> tuple[list[float], list[float]]:
    """Return the mean after each release and half the width of its 95 % interval.

    The first means are exact where their outcomes can be gone through; the others are averages
    over records drawn once, to which release after release is added.
    """
    total, squares = _drawn_sums(matrices, frequencies, Part(context, 0.0, 0.9))
    means = np.array(total)
    spreads = np.sqrt(np.maximum(np.array(squares), 0.0))
    errors = NORMAL_95 * spreads
    for place in range(len(matrices)):
        shown = outcomes_in(matrices[: place + 1])
        if not can_enumerate(len(frequencies), place + 1, EXACT_ENTRIES, shown):
            break
        part = Part(context, 0.9, 1.0)
        means[place] = risk_of_independent(matrices[: place + 1], frequencies, part).average
        errors[place] = 0.0
    return means.tolist(), errors.tolist()


def _drawn_sums(
    matrices: Sequence[PerturbationMatrix], frequencies: Vector, context: Context
) -> tuple[list[float], list[float]]:
    """Return each step's mean and its variance, from draws stratified by the true value."""
    size, steps = len(frequencies), len(matrices)
    wanted = DRAWS if is_sparse(frequencies, matrices) else most_whole_draws(size, steps)
    counts = np.maximum(np.ceil(frequencies * wanted), 2).astype(np.int64)
    counts[frequencies == 0.0] = 0
    sums, squares = np.zeros((steps, size)), np.zeros((steps, size))
    for true, _each, numbers in draws_for(frequencies, counts, steps, context):
        beliefs = beliefs_about(true, frequencies, matrices)
        for step, (matrix, draws) in enumerate(zip(matrices, numbers, strict=True)):
            beliefs.see(matrix, draw_released(matrix, true, draws))
            found = beliefs.of_true()
            sums[step] += np.bincount(true, weights=found, minlength=size)
            squares[step] += np.bincount(true, weights=found * found, minlength=size)
    drawn = np.maximum(counts, 2)
    means = sums / drawn
    variances = np.maximum(squares / drawn - means**2, 0.0) / (drawn - 1)
    return (means @ frequencies).tolist(), (variances @ frequencies**2).tolist()
