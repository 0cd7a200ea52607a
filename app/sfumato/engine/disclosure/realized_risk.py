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
from dataclasses import dataclass, replace

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.values import Flags, Indices, Integers
from sfumato.engine.disclosure.coalition_risk import BLOCK, chain_beliefs, entries_of, rows_of
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
class _Cells:
    """Records that share their true value and all that is held of them.

    `held` has a row for each outcome, the most trusted member first; `outcome` (ascending),
    `true` and `counts` have an entry for each cell.
    """

    held: Integers
    outcome: Integers
    true: Integers
    counts: Integers


def realized_risk(
    true: Codes,
    held: Sequence[Codes],
    matrices: Sequence[PerturbationMatrix],
    frequencies: Vector,
    context: Context,
) -> RealizedRisk:
    """Weigh what a coalition really holds, record by record.

    Parameters
    ----------
    true
        The records' true values, codes of shape (n,).
    held
        Each member's released values, codes of shape (n,) each, the most trusted first.
    matrices
        The members' matrices in the same order; they have to be on one ladder.
    frequencies
        What is believed before: the share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.

    Raises
    ------
    TableError
        If there are no records or no members, numbers of rows differ, or a code is not one of
        the domain's.
    LadderError
        If a release can't be made from the one before: then they are on no ladder.
    """
    shares = np.asarray(frequencies, dtype=np.float64)
    _check(true, held, matrices, len(shares))
    channels = [upper.garbling_to(lower) for upper, lower in itertools.pairwise(matrices)]
    cells = _cells(true, held[:1], len(shares), Part(context, 0.0, 0.2))
    risk = _risk_alone(cells, matrices[0], shares, Part(context, 0.2, 0.5))
    if len(matrices) == 1:
        return RealizedRisk(risk, risk.average, risk.average, 0.0, len(true), len(true))
    some, chosen = _fewer(true, held, len(shares))
    cells = _cells(some, chosen, len(shares), Part(context, 0.5, 0.7))
    found = _compared(cells, matrices, channels, shares, risk, Part(context, 0.7, 1.0))
    return replace(found, records=len(true))


def _fewer(true: Codes, held: Sequence[Codes], size: int) -> tuple[Codes, Sequence[Codes]]:
    """Return the records to compare: all that can be counted together, else some of them."""
    most = max(WORK // (size * len(held)), 1)
    if _can_count(len(true), len(held), size) or len(true) <= most:
        return true, held
    # Spread evenly, so that no part of the table is left out.
    rows = np.linspace(0, len(true) - 1, most).astype(np.intp)
    return true[rows], [column[rows] for column in held]


def _can_count(rows: int, members: int, size: int) -> bool:
    cells = float(size) ** (members + 1)
    return cells <= min(MOST_CELLS, 4 * rows)


def _check(
    true: Codes, held: Sequence[Codes], matrices: Sequence[PerturbationMatrix], size: int
) -> None:
    columns = [true, *held]
    fits = len(held) == len(matrices) > 0 and all(m.size == size for m in matrices)
    fits = fits and len(true) > 0 and all(len(column) == len(true) for column in columns)
    if not fits or any(int(c.min()) < 0 or int(c.max()) >= size for c in columns):
        raise TableError(
            "What the coalition holds does not fit the table's {rows} {rows:record|records}.",
            "Open the table that the releases were made from.",
            rows=len(true),
        )


def _cells(true: Codes, held: Sequence[Codes], size: int, context: Context) -> _Cells:
    """Count equal records together where that makes fewer; else every record is its own."""
    rows, columns = len(true), [*held, true]
    span = size ** len(columns)
    if not _can_count(rows, len(held), size):
        everything = np.arange(rows)
        kept = np.stack([column.astype(np.int64) for column in held], axis=1)
        return _Cells(kept, everything, true.astype(np.int64), np.ones(rows, dtype=np.int64))
    counts = np.zeros(span, dtype=np.int64)
    for part in _parts(rows, ROWS, context, "Counting what is held of the records"):
        place = columns[0][part].astype(np.int64)
        for column in columns[1:]:
            place = place * size + column[part]
        counts += np.bincount(place, minlength=span)
    occurs = np.flatnonzero(counts)
    outcomes, at = np.unique(occurs // size, return_inverse=True)
    kept = np.stack(np.unravel_index(outcomes, (size,) * len(held)), axis=1).astype(np.int64)
    return _Cells(kept, at.astype(np.int64), occurs % size, counts[occurs])


def _risk_alone(
    cells: _Cells, matrix: PerturbationMatrix, shares: Vector, context: Context
) -> RecordRisk:
    """Return what one release restores of the records, by a look-up for each cell."""
    size = len(shares)
    expected = matrix.apply(shares)
    best, ties = _likeliest(matrix, shares, Part(context, 0.0, 0.3))
    sums, certain, counts, histogram = (np.zeros(length) for length in (size, size, size, BINS))
    guessed = 0.0
    looking = Part(context, 0.3, 1.0)
    for part in _parts(len(cells.true), ROWS, looking, "Looking up each record's probability"):
        true, weight = cells.true[part], cells.counts[part].astype(np.float64)
        seen = cells.held[cells.outcome[part], 0]
        joint = entries_of(matrix, seen, true) * shares[true]
        belief = np.divide(
            joint, expected[seen], out=np.zeros_like(joint), where=expected[seen] > 0.0
        )
        right = joint >= best[seen] * (1.0 - TIED)
        guessed += float((np.where(right, weight, 0.0) / ties[seen]).sum())
        counts += np.bincount(true, weights=weight, minlength=size)
        sums += np.bincount(true, weights=weight * belief, minlength=size)
        sure = np.where(belief >= CERTAIN, weight, 0.0)
        certain += np.bincount(true, weights=sure, minlength=size)
        histogram += np.bincount(steps_of(belief), weights=weight, minlength=BINS)
    records, nothing = float(counts.sum()), np.full(size, np.nan)
    occurs = counts > 0.0
    return RecordRisk(
        average=float(sums.sum()) / records,
        guessed=guessed / records,
        by_value=np.divide(sums, counts, out=nothing.copy(), where=occurs),
        certain_by_value=np.divide(certain, counts, out=nothing.copy(), where=occurs),
        histogram=histogram / records,
        draws=0,
        average_error=0.0,
        guessed_error=0.0,
        error_by_value=np.zeros(size),
    )


def _likeliest(
    matrix: PerturbationMatrix, shares: Vector, context: Context
) -> tuple[Vector, Vector]:
    """Return, for each released value, the likeliest original's likelihood and how many tie."""
    size = len(shares)
    best, ties = np.zeros(size), np.ones(size)
    step = max(BLOCK // size, 1)
    for part in _parts(size, step, context, "Finding the best guesses"):
        joint = rows_of(matrix, np.arange(size)[part]) * shares
        best[part] = joint.max(axis=1)
        ties[part] = (joint >= best[part, None] * (1.0 - TIED)).sum(axis=1)
    return best, ties


def _compared(
    cells: _Cells,
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


def realized_by_coverage(
    true: Codes,
    held: Sequence[Codes],
    covered: Sequence[Flags | None],
    matrices: Sequence[PerturbationMatrix],
    frequencies: Vector,
    context: Context,
) -> RealizedRisk:
    """Weigh what a coalition really holds, record by record.

    Parameters
    ----------
    true, held, matrices, frequencies, context
        As in `realized_risk`.
    covered
        Which records each member's release has, shape (n,) each; None for all. What is `held` of
        others means nothing.

    Returns
    -------
    RealizedRisk
        Its `alone` and `largest_difference` compare with the most trusted member that has the
        record.

    Raises
    ------
    SfumatoError
        As `realized_risk`.
    """
    if all(one is None for one in covered):
        return realized_risk(true, held, matrices, frequencies, context)
    everywhere = np.ones(len(true), dtype=bool)
    has = np.stack([everywhere if one is None else one for one in covered], axis=1)
    patterns, of_record = np.unique(has, axis=0, return_inverse=True)
    found = []
    for place, (pattern, part) in enumerate(one_by_one(context, list(patterns))):
        rows = np.flatnonzero(of_record == place)
        members = np.flatnonzero(pattern).tolist()
        seen = [held[member][rows] for member in members]
        channels = [matrices[member] for member in members]
        if not seen:  # a release that shows nothing stands for having none
            seen = [np.zeros_like(true[rows])]
            channels = [uniform_matrix(0.0, len(frequencies))]
        risk = realized_risk(true[rows], seen, channels, frequencies, part)
        found.append((risk, np.bincount(true[rows], minlength=len(frequencies))))
    return _together(found)


def _together(found: Sequence[tuple[RealizedRisk, Indices]]) -> RealizedRisk:
    """Return the figures of all records from those of parts, each with its counts by value."""
    risks = [one for one, _ in found]
    records = np.array([one.records for one in risks], dtype=np.float64)
    compared = np.array([one.compared for one in risks], dtype=np.float64)
    counts = np.stack([by_value for _, by_value in found]).astype(np.float64)

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
