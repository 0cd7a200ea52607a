"""Whether released codes are what keeping or replacing would make of the true ones.

Two tests that need no keys. The number of records that show their true value is a sum of
binomials, one for each value; the binomial of the same mean has heavier tails (Hoeffding 1956),
so its chance errs on the side of believing. Given the true values, every group of equal records
is multinomial over the released values, so Pearson's statistic is nearly chi-square; values that
are too rare to fill a cell are pooled with their neighbours inside the same group, so that
nothing about the law changes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Codes, Floats, Integers, count_codes
from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.hadamard_matrix import HadamardMatrix

Retention = Floats
"""The probability with which each value of the domain is kept on purpose, shape (m,)."""

FALSE_ALARM = 1e-6
"""How often, at most, a test refuses codes that are right."""

ALARM: Final = Sentence(
    "A sound release fails this less than once in {times:,.0f} times.", times=1 / FALSE_ALARM
)

_SPREAD_LIMIT = 1e-9
"""The smallest believable chance of a spread. Far out, cells that expect ten records have a
heavier tail than chi-square: here the true chance is 3e-7 at worst (summed Poisson cells,
computed exactly), so that `FALSE_ALARM` holds."""

_LEAST_EXPECTED = 10.0
"""Cells are pooled until they expect at least as many records."""

_BLOCK = 1 << 20
"""Rows that are counted at once."""


@dataclass(frozen=True)
class KeptTest:
    """The test of how many records show their true value.

    Parameters
    ----------
    kept, records
        How many do, and of how many.
    expected_share
        The share to expect.
    chance
        The probability of a number at least as far off, if the release is right.
    """

    kept: int
    records: int
    expected_share: float
    chance: float

    @property
    def holds(self) -> bool:
        """Whether the number is believable."""
        return self.chance >= FALSE_ALARM


@dataclass(frozen=True)
class SpreadTest:
    """The test of how released values spread over the domain, given the true ones.

    Parameters
    ----------
    statistic
        Pearson's statistic.
    freedom
        Its expectation, the degrees of freedom; 0 where there are too few records for a test.
    chance
        The probability of a statistic at least as large, if the release is right.
    """

    statistic: float
    freedom: int
    chance: float

    @property
    def holds(self) -> bool:
        """Whether the statistic is believable."""
        return self.chance >= _SPREAD_LIMIT


def examine_kept(true: Codes, released: Codes, retention: Retention) -> KeptTest:
    """Test the number of records that show their true value.

    Parameters
    ----------
    true, released
        The codes, both of shape (n,).
    retention
        Each value's retention probability, shape (m,).
    """
    records, kept = len(true), int(np.count_nonzero(true == released))
    own = retention + (1.0 - retention) / len(retention)
    share = float(count_codes(true, len(retention)) @ own) / max(records, 1)
    below = float(scipy.special.bdtr(kept, records, share))
    above = float(scipy.special.bdtrc(kept - 1, records, share)) if kept else 1.0
    return KeptTest(kept, records, share, min(1.0, 2.0 * min(below, above)))


def examine_spread(true: Codes, released: Codes, retention: Retention) -> SpreadTest:
    """Test how released values spread over the domain within each group of equal true values.

    The statistic's exact mean and variance (Haldane 1937) fit a gamma distribution, whose tail
    gives the chance. That is the chi-square test, mended for cells that expect few records.

    Parameters
    ----------
    true, released
        The codes, both of shape (n,).
    retention
        Each value's retention probability, shape (m,), m >= 2.
    """
    cells = _Cells(count_codes(true, len(retention)), retention)
    freedom = cells.freedom
    if freedom == 0:
        return SpreadTest(0.0, 0, 1.0)
    observed = cells.count(true, released)
    statistic = float(((observed - cells.expected) ** 2 / cells.expected).sum())
    return SpreadTest(statistic, freedom, _chance(statistic, freedom, cells.variance))


@dataclass(frozen=True)
class MatrixTest:
    """The test of released values against any perturbation matrix.

    Parameters
    ----------
    impossible
        How many records show a value that the matrix never releases for their true one.
    spread
        The test of how the possible ones spread.
    """

    impossible: int
    spread: SpreadTest


def examine_matrix(true: Codes, released: Codes, entries: Floats) -> MatrixTest:
    """Test released values against a matrix, within each group of equal true values.

    Parameters
    ----------
    true, released
        The codes, both of shape (n,).
    entries
        Pr[released | original], shape (m, m).
    """
    size = len(entries)
    joint = np.zeros((size, size), dtype=np.int64)
    for start in range(0, len(true), _BLOCK):
        block = slice(start, start + _BLOCK)
        pairs = true[block].astype(np.int64) * size + released[block]
        joint += np.bincount(pairs, minlength=size * size).reshape(size, size)
    impossible = int(joint[entries.T == 0].sum())
    cells = [
        _pooled(joint[original], entries[:, original])
        for original in np.flatnonzero(joint.sum(axis=1))
    ]
    used = [(seen, expected) for seen, expected in cells if len(seen) > 1]
    if not used:
        return MatrixTest(impossible, SpreadTest(0.0, 0, 1.0))
    observed = np.concatenate([seen for seen, _ in used])
    expected = np.concatenate([mean for _, mean in used])
    groups = np.array([len(seen) for seen, _ in used], dtype=np.float64)
    records = np.array([mean.sum() for _, mean in used])
    freedom = int((groups - 1).sum())
    statistic = float(((observed - expected) ** 2 / expected).sum())
    chance = _chance(statistic, freedom, _variance(groups, records, expected))
    return MatrixTest(impossible, SpreadTest(statistic, freedom, chance))


@dataclass(frozen=True)
class SymbolTest:
    """The test of released symbols: how many are of the true code, and how all of them spread."""

    own: KeptTest
    spread: SpreadTest


def examine_symbols(true: Codes, released: Codes, matrix: HadamardMatrix) -> SymbolTest:
    """Test released symbols: one is of its code's set with a chance that all codes share.

    Parameters
    ----------
    true
        The codes, shape (n,).
    released
        The symbols, shape (n,).
    matrix
        What the release was made by.
    """
    sets, records, kept = matrix.sets, len(true), 0
    for start in range(0, records, _BLOCK):
        block = slice(start, start + _BLOCK)
        kept += int(np.count_nonzero(sets.holds(released[block], true[block])))
    share = matrix.retention + (1.0 - matrix.retention) / (2 * sets.blocks)
    below = float(scipy.special.bdtr(kept, records, share))
    above = float(scipy.special.bdtrc(kept - 1, records, share)) if kept else 1.0
    own = KeptTest(kept, records, share, min(1.0, 2.0 * min(below, above)))
    counts = count_codes(true, sets.size).astype(np.float64)
    symbols = count_codes(released, sets.symbols)
    seen, expected = _pooled(symbols, matrix.apply(counts / max(records, 1)))
    if len(seen) < 2:
        return SymbolTest(own, SpreadTest(0.0, 0, 1.0))
    # Of given codes, counts spread less than those of independent draws: the chance is no smaller.
    statistic, freedom = float(((seen - expected) ** 2 / expected).sum()), len(seen) - 1
    cells, rows = np.array([len(seen)], dtype=np.float64), np.array([float(records)])
    chance = _chance(statistic, freedom, _variance(cells, rows, expected))
    return SymbolTest(own, SpreadTest(statistic, freedom, chance))


def _pooled(counts: Integers, shares: Floats) -> tuple[Floats, Floats]:
    """Return counts and expectations in cells that expect enough records each."""
    order = np.argsort(-shares, kind="stable")
    order = order[shares[order] > 0]
    expected = counts.sum() * shares[order]
    filled = np.floor(np.cumsum(expected) / _LEAST_EXPECTED)
    # A cell ends where another multiple of the least expectation is reached; what is left over
    # at the end joins the last cell.
    ends = np.flatnonzero(np.diff(filled, prepend=0.0) > 0)
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else np.zeros(1, dtype=np.int64)
    seen = np.add.reduceat(counts[order].astype(np.float64), starts)
    means = np.add.reduceat(expected, starts)
    while len(means) > 1 and means.min() < _LEAST_EXPECTED:
        least = int(means.argmin())
        into = least - 1 if least else 1
        seen[into] += seen[least]
        means[into] += means[least]
        seen, means = np.delete(seen, least), np.delete(means, least)
    return seen, means


def _variance(cells: Floats, records: Floats | Integers, expected: Floats) -> float:
    """Return the exact variance of Pearson's statistic summed over groups (Haldane 1937)."""
    by_group = 2.0 * (cells - 1.0) - (cells * cells + 2.0 * cells - 2.0) / records
    return float(by_group.sum() + (1.0 / expected).sum())


def _chance(statistic: float, freedom: int, variance: float) -> float:
    """Return the tail of the gamma distribution with the statistic's mean and variance."""
    return float(scipy.special.gammaincc(freedom**2 / variance, statistic * freedom / variance))


class _Cells:
    """The cells of the chi-square test: for each true value, groups of released values.

    Released values are taken by their distance from the true one, modulo m; distance 0 is the
    true value itself. The other m − 1 distances are divided into `groups` runs of almost equal
    length. The true value has a cell of its own if that expects enough records, and else joins
    the first run.
    """

    def __init__(self, records: Integers, retention: Retention) -> None:
        size = len(retention)
        other = (1.0 - retention) / size
        own = retention + other
        beside = records * other * (size - 1)
        groups = np.minimum(np.floor(beside / _LEAST_EXPECTED), size - 1).astype(np.int64)
        alone = records * own >= _LEAST_EXPECTED
        # A group of records with fewer than two cells says nothing; it has no cells.
        groups[groups + alone < 2] = 0
        self._size = size
        self._groups = groups
        self._alone = alone & (groups > 0)
        self._cells = groups + self._alone
        self._first = np.concatenate(([0], np.cumsum(self._cells)))
        self._records = records
        self.expected = self._expectations(own, other)

    @property
    def freedom(self) -> int:
        """The statistic's expectation: one less than the cells, for each true value."""
        return int((self._cells[self._groups > 0] - 1).sum())

    @property
    def variance(self) -> float:
        """The statistic's exact variance."""
        used = self._groups > 0
        return _variance(self._cells[used].astype(float), self._records[used], self.expected)

    def count(self, true: Codes, released: Codes) -> Integers:
        """Return how many records fall into each cell."""
        counts = np.zeros(self._first[-1], dtype=np.int64)
        for start in range(0, len(true), _BLOCK):
            block = slice(start, start + _BLOCK)
            cells = self._cell_of(true[block], released[block].astype(np.int64))
            counts += np.bincount(cells, minlength=len(counts))
        return counts

    def _cell_of(self, true: Codes, released: Integers) -> Integers:
        used = self._groups[true] > 0
        origin, seen = true[used], released[used]
        distance = (seen - origin) % self._size
        run = (np.maximum(distance, 1) - 1) * self._groups[origin] // (self._size - 1)
        within = np.where(distance > 0, run + self._alone[origin], 0)
        return self._first[origin] + within

    def _expectations(self, own: Retention, other: Retention) -> Floats:
        used = np.flatnonzero(self._groups > 0)
        value = np.repeat(used, self._cells[used])
        within = np.arange(len(value)) - self._first[value]
        run = within - self._alone[value].astype(np.int64)
        groups = self._groups[value]
        # Run r holds the distances d with floor((d − 1)·groups/(m − 1)) = r.
        last = -(-(run + 1) * (self._size - 1) // groups)
        length = last + (-run * (self._size - 1) // groups)
        shares = np.where(run < 0, 0.0, length.astype(np.float64) * other[value])
        shares[within == 0] += own[value[within == 0]]
        return np.asarray(self._records[value] * shares, dtype=np.float64)
