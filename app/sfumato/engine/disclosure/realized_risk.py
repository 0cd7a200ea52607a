"""How likely a coalition restores each record's true value from what its members really hold.

`sfumato.engine.disclosure.coalition_risk` weighs what releases will tell on average over their
noise. Here the noise has fallen: for every record the probability that Bayes' rule gives to its
true value is computed from the values that were released (Xiao, Tao and Chen, VLDB 2009, section
7).

On a ladder the releases are a Markov chain, so what the most trusted member holds tells all that
the coalition can know: the probability is Pr[X = x | Y_1 = y_1], a look-up for each record. That
the other members add nothing is checked beside it: Bayes' rule is applied to all that they hold,
through every member's own matrix and the channels between them, and the largest difference over
all values is told.

An earlier release that was adopted may lack records. Of each record, the coalition holds what
those of its members hold whose releases have it: on a ladder the most trusted of these decides,
and where nobody's release has it, nothing is known but what was believed before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Flags, Integers
from sfumato.engine.disclosure.best_guess import weight_of_best
from sfumato.engine.disclosure.coalition_risk import (
    BLOCK,
    chain_beliefs,
    entries_of,
    outcomes_in,
    rows_of,
)
from sfumato.engine.disclosure.record_risk import BINS, CERTAIN, RecordRisk, steps_of
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.matrices.retention_matrix import uniform_matrix

MOST_CELLS = 2**23
"""Combinations of a true value and of what is held that are counted; beyond, rows stand alone."""

WORK = 50_000_000
"""Likelihoods computed at most to compare the coalition's beliefs with its best member's."""

ROWS = 2_000_000
"""Rows that are gone through at once."""

TIED = 1e-12
"""Likelihoods that differ by a smaller share of themselves are the same."""


@dataclass(frozen=True, eq=False)
class RealizedRisk:
    """How likely the records' true values are restored from the values that were released.

    Parameters
    ----------
    risk
        What the coalition restores of all records, which is what its most trusted member
        restores alone. Nothing in it is drawn.
    together, alone
        The mean probability given to the true value of the `compared` records: by all that the
        coalition holds, and by what its most trusted member holds.
    largest_difference
        The largest difference between the two over the compared records and all values.
    compared, records
        How many records were compared, and how many there are.
    """

    risk: RecordRisk
    together: float
    alone: float
    largest_difference: float
    compared: int
    records: int

    def worst(self, count: int) -> tuple[int, ...]:
        """Return the true values whose records are restored best, by their place in the domain."""
        by_value = self.risk.by_value
        occurs = np.flatnonzero(~np.isnan(by_value))
        order = np.argsort(-by_value[occurs], kind="stable")[:count]
        return tuple(occurs[order].tolist())


@dataclass(frozen=True, eq=False)
class _HeldCells:
    """Records that share their true value and all that is held of them.

    `held` has a row for each outcome, the most trusted member first; `outcome` (ascending),
    `true` and `counts` have an entry for each cell.
    """

    held: Integers
    outcome: Integers
    true: Integers
    counts: Integers


class RealizedRisks:
    """Weighs what a coalition really holds, in whatever parts the records come.

    Parameters
    ----------
    matrices
        The members' matrices, the most trusted first; they have to be on one ladder.
    frequencies
        What is believed before: the share of each value, shape (m,), summing to 1.
    records
        How many records come, n.
    """

    def __init__(
        self, matrices: Sequence[PerturbationMatrix], frequencies: Vector, records: int
    ) -> None:
        self._matrices, self._records = tuple(matrices), records
        self._shares = np.asarray(frequencies, dtype=np.float64)
        self._patterns: dict[tuple[int, ...], _Pattern] = {}
        self._met = 0

    def add(
        self,
        true: Codes,
        held: Sequence[Codes],
        covered: Sequence[Flags | None],
        context: Context,
    ) -> None:
        """Weigh the records that come next.

        Parameters
        ----------
        true
            Their true values, codes of shape (k,).
        held
            Each member's released values, codes of shape (k,) each, in the order of the matrices.
        covered
            Which records each member's release has, shape (k,) each; None for all. What is `held`
            of others means nothing.
        context
            Progress and cancelling.

        Raises
        ------
        TableError
            If there are no members, numbers of records differ, or a code is not one of the
            domain's.
        LadderError
            If a release can't be made from the one before: then they are on no ladder.
        """
        _check(true, held, self._matrices, len(self._shares))
        everywhere, places = np.ones(len(true), dtype=bool), np.arange(len(true)) + self._met
        self._met += len(true)
        has = np.stack([everywhere if one is None else one for one in covered], axis=1)
        patterns, of_record = np.array([[True] * len(held)]), np.zeros(len(true), dtype=np.intp)
        if any(one is not None for one in covered):
            patterns, of_record = np.unique(has, axis=0, return_inverse=True)
        for place, pattern in enumerate(patterns):
            part = Part(context, place / len(patterns), (place + 1) / len(patterns))
            members = tuple(np.flatnonzero(pattern).tolist())
            rows = np.flatnonzero(of_record.ravel() == place)
            if len(patterns) == 1:
                self._of(members).add(true, [held[each] for each in members], places, part)
                continue
            seen = [held[member][rows] for member in members]
            self._of(members).add(true[rows], seen, places[rows], part)

    def _of(self, members: tuple[int, ...]) -> _Pattern:
        if members not in self._patterns:
            chosen = [self._matrices[member] for member in members]
            self._patterns[members] = _Pattern(chosen, self._shares, self._records)
        return self._patterns[members]

    def found(self, context: Context) -> RealizedRisk:
        """Return what all records came to.

        Its `alone` and `largest_difference` compare with the most trusted member that has the
        record.

        Raises
        ------
        TableError
            If there were no records.
        """
        if not self._met:
            raise _misfit(0)
        parts = [
            Part(context, place / len(self._patterns), (place + 1) / len(self._patterns))
            for place in range(len(self._patterns))
        ]
        each = [one.found(part) for one, part in zip(self._patterns.values(), parts, strict=True)]
        return each[0][0] if len(each) == 1 else _together(each)


class _Pattern:
    """Records that the same members hold something of."""

    def __init__(
        self, matrices: Sequence[PerturbationMatrix], shares: Vector, records: int
    ) -> None:
        # A release that shows nothing stands for having none.
        self._matrices = tuple(matrices) or (uniform_matrix(0.0, len(shares)),)
        self._shares, self._nobody = shares, not matrices
        pairs = itertools.pairwise(self._matrices)
        self._channels = [upper.garbling_to(lower) for upper, lower in pairs]
        self._alone = _Alone(self._matrices[0], shares)
        members = len(self._matrices)
        self._counts: Integers | None = None
        self._width = max(len(shares), outcomes_in(self._matrices))
        if _can_count(records, members, self._width):
            self._counts = np.zeros(self._width ** (members + 1), dtype=np.int64)
        most = max(WORK // (len(shares) * members), 1)
        # Spread evenly, so that no part of the table is left out.
        self._chosen = np.linspace(0, records - 1, min(most, records)).astype(np.int64)
        self._rows: list[Integers] = []

    def add(self, true: Codes, held: Sequence[Codes], places: Integers, context: Context) -> None:
        seen = [np.zeros_like(true)] if self._nobody else held
        cells = _cells(true, seen[:1], self._width, Part(context, 0.0, 0.4))
        self._alone.add(cells, Part(context, 0.4, 0.8))
        if len(self._matrices) == 1:
            return
        if self._counts is not None:
            counting = Part(context, 0.8, 1.0)
            self._counts += _counted(true, seen, self._width, counting)
            return
        at = np.minimum(np.searchsorted(self._chosen, places), len(self._chosen) - 1)
        kept = self._chosen[at] == places
        self._rows.append(np.stack([each[kept] for each in [*seen, true]]).astype(np.int64))

    def found(self, context: Context) -> tuple[RealizedRisk, Vector]:
        """Return what they came to, and how many have each value."""
        counts = self._alone.counts
        risk, records = self._alone.risk(), int(counts.sum())
        if len(self._matrices) == 1:
            average = risk.average
            return RealizedRisk(risk, average, average, 0.0, records, records), counts
        if self._counts is not None:
            cells = _cells_of(self._counts, self._width, len(self._matrices))
        else:
            *held, true = np.concatenate(self._rows, axis=1)
            cells = _HeldCells(
                np.stack(held, axis=1), np.arange(len(true)), true, np.ones_like(true)
            )
        found = _compared(cells, self._matrices, self._channels, self._shares, risk, context)
        return replace(found, records=records), counts


def _can_count(rows: int, members: int, size: int) -> bool:
    cells = float(size) ** (members + 1)
    return cells <= min(MOST_CELLS, 4 * rows)


def _check(
    true: Codes, held: Sequence[Codes], matrices: Sequence[PerturbationMatrix], size: int
) -> None:
    columns, most = [true, *held], [size, *(matrix.outcomes for matrix in matrices)]
    fits = len(held) == len(matrices) > 0 and all(m.size == size for m in matrices)
    fits = fits and all(len(column) == len(true) for column in columns)
    if not fits or any(
        int(column.min(initial=0)) < 0 or int(column.max(initial=0)) >= ends
        for column, ends in zip(columns, most, strict=True)
    ):
        raise _misfit(len(true))


def _misfit(rows: int) -> TableError:
    return TableError(
        "What the coalition holds does not fit the table's {rows} {rows:record|records}.",
        "Open the table that the releases were made from.",
        rows=rows,
    )


def _cells(true: Codes, held: Sequence[Codes], size: int, context: Context) -> _HeldCells:
    """Count equal records together where that makes fewer; else every record is its own."""
    if not _can_count(len(true), len(held), size):
        everything = np.arange(len(true))
        kept = np.stack([column.astype(np.int64) for column in held], axis=1)
        return _HeldCells(kept, everything, true.astype(np.int64), np.ones_like(everything))
    return _cells_of(_counted(true, held, size, context), size, len(held))


def _counted(true: Codes, held: Sequence[Codes], size: int, context: Context) -> Integers:
    """Return how many records have each combination of what is held and the true value."""
    columns, span = [*held, true], size ** (len(held) + 1)
    counts = np.zeros(span, dtype=np.int64)
    for part in _parts(len(true), ROWS, context, "Counting what is held of the records"):
        place = columns[0][part].astype(np.int64)
        for column in columns[1:]:
            place = place * size + column[part]
        counts += np.bincount(place, minlength=span)
    return counts


def _cells_of(counts: Integers, size: int, members: int) -> _HeldCells:
    """Return the combinations that occur."""
    occurs = np.flatnonzero(counts)
    outcomes, at = np.unique(occurs // size, return_inverse=True)
    kept = np.stack(np.unravel_index(outcomes, (size,) * members), axis=1).astype(np.int64)
    return _HeldCells(kept, at.astype(np.int64), occurs % size, counts[occurs])


class _Alone:
    """What one release restores of records, by a look-up for each cell."""

    def __init__(self, matrix: PerturbationMatrix, shares: Vector) -> None:
        self._matrix, self._shares, size = matrix, shares, len(shares)
        self._expected = matrix.apply(shares)
        self._best: tuple[Vector, Vector] | None = None
        self._sums, self._certain, self.counts = (np.zeros(size) for _ in range(3))
        self._histogram, self._guessed = np.zeros(BINS), 0.0

    def add(self, cells: _HeldCells, context: Context) -> None:
        if self._best is None:
            self._best = _likeliest(self._matrix, self._shares, Part(context, 0.0, 0.3))
        (best, ties), size, expected = self._best, len(self._shares), self._expected
        looking = Part(context, 0.3, 1.0)
        for part in _parts(len(cells.true), ROWS, looking, "Looking up each record's probability"):
            true, weight = cells.true[part], cells.counts[part].astype(np.float64)
            seen = cells.held[cells.outcome[part], 0]
            joint = entries_of(self._matrix, seen, true) * self._shares[true]
            belief = np.divide(
                joint, expected[seen], out=np.zeros_like(joint), where=expected[seen] > 0.0
            )
            right = joint >= best[seen] * (1.0 - TIED)
            self._guessed += float((np.where(right, weight, 0.0) / ties[seen]).sum())
            self.counts += np.bincount(true, weights=weight, minlength=size)
            self._sums += np.bincount(true, weights=weight * belief, minlength=size)
            sure = np.where(belief >= CERTAIN, weight, 0.0)
            self._certain += np.bincount(true, weights=sure, minlength=size)
            steps = steps_of(belief)
            self._histogram += np.bincount(steps, weights=weight, minlength=BINS)

    def risk(self) -> RecordRisk:
        records, size = float(self.counts.sum()), len(self._shares)
        nothing, occurs = np.full(size, np.nan), self.counts > 0.0
        return RecordRisk(
            average=float(self._sums.sum()) / records,
            guessed=self._guessed / records,
            by_value=np.divide(self._sums, self.counts, out=nothing.copy(), where=occurs),
            certain_by_value=np.divide(
                self._certain, self.counts, out=nothing.copy(), where=occurs
            ),
            histogram=self._histogram / records,
            draws=0,
            average_error=0.0,
            guessed_error=0.0,
            error_by_value=np.zeros(size),
        )


def _likeliest(
    matrix: PerturbationMatrix, shares: Vector, context: Context
) -> tuple[Vector, Vector]:
    """Return, for each released value, the likeliest original's likelihood and how many tie."""
    outcomes = matrix.outcomes
    best, ties = np.zeros(outcomes), np.ones(outcomes)
    step = max(BLOCK // len(shares), 1)
    for part in _parts(outcomes, step, context, "Finding the best guesses"):
        joint = rows_of(matrix, np.arange(outcomes)[part]) * shares
        best[part] = weight_of_best(joint)
        ties[part] = (joint >= best[part, None] * (1.0 - TIED)).sum(axis=1)
    return best, ties


def _compared(
    cells: _HeldCells,
    matrices: Sequence[PerturbationMatrix],
    channels: Sequence[PerturbationMatrix],
    shares: Vector,
    risk: RecordRisk,
    context: Context,
) -> RealizedRisk:
    """Compare what the coalition believes with its most trusted member's beliefs."""
    outcomes = len(cells.held)
    most = max(WORK // (len(shares) * len(matrices)), 1)
    chosen = np.arange(outcomes)
    if outcomes > most:
        chosen = np.linspace(0, outcomes - 1, most).astype(np.int64)
    place = np.full(outcomes, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    of_cell = place[cells.outcome]
    kept = of_cell >= 0
    of_cell, true, counts = of_cell[kept], cells.true[kept], cells.counts[kept]
    together, alone, largest = 0.0, 0.0, 0.0
    step = max(BLOCK // len(shares), 1)
    for part in _parts(len(chosen), step, context, "Comparing with all that is held"):
        belief, first = chain_beliefs(matrices, channels, shares, cells.held[chosen[part]])
        begin, end = np.searchsorted(of_cell, [part.start, part.stop])
        row, column = of_cell[begin:end] - part.start, true[begin:end]
        together += float(counts[begin:end] @ belief[row, column])
        alone += float(counts[begin:end] @ first[row, column])
        largest = max(largest, float(np.abs(belief - first).max()))
    compared = int(counts.sum())
    return RealizedRisk(risk, together / compared, alone / compared, largest, compared, compared)


def _parts(length: int, step: int, context: Context, text: str) -> Iterator[slice]:
    for start in range(0, length, step):
        context.report(start / length, text)
        yield slice(start, min(start + step, length))


def _together(found: Sequence[tuple[RealizedRisk, Vector]]) -> RealizedRisk:
    """Return the figures of all records from those of parts, each with its counts by value."""
    risks = [one for one, _ in found]
    records = np.array([one.records for one in risks], dtype=np.float64)
    compared = np.array([one.compared for one in risks], dtype=np.float64)
    counts = np.stack([by_value for _, by_value in found])

    def by_value(parts: Sequence[Vector]) -> Vector:
        sums = (np.nan_to_num(np.stack(parts)) * counts).sum(axis=0)
        known = counts.sum(axis=0)
        return np.divide(sums, known, out=np.full(len(known), np.nan), where=known > 0.0)

    def mean(parts: Sequence[float], weights: Vector) -> float:
        return float(np.average(parts, weights=weights))

    each = [one.risk for one in risks]
    return RealizedRisk(
        risk=RecordRisk(
            average=mean([one.average for one in each], records),
            guessed=mean([one.guessed for one in each], records),
            by_value=by_value([one.by_value for one in each]),
            certain_by_value=by_value([one.certain_by_value for one in each]),
            histogram=np.average([one.histogram for one in each], axis=0, weights=records),
            draws=0,
            average_error=0.0,
            guessed_error=0.0,
            error_by_value=np.zeros(counts.shape[1]),
        ),
        together=mean([one.together for one in risks], compared),
        alone=mean([one.alone for one in risks], compared),
        largest_difference=max(one.largest_difference for one in risks),
        compared=int(compared.sum()),
        records=int(records.sum()),
    )
