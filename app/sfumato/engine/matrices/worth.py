"""What a release is worth: how large a plain random sample of true records tells as much.

A figure estimated from a release has an error; a random sample of N true records has the same.
This N is what the release is worth, whatever the mechanism: of a share f_v, with Cov the
covariance that estimated shares have for each record, N_v = n·f_v(1 − f_v)/Cov_vv; of all shares
together, N = n·(1 − Σf²)/tr Cov; of a mean, N = s²/(bias² + Var(Y)/n), with s² the variance of
the true numbers and Y what is released of them. Noise alone gives n·s²/(s² + σ²). A bias does not
average out: numbers that are clipped at a bound move the mean however many there are.

n is the *effective* number of records: by Kish (1965) where records have weights; of records that
are drawn once for a unit the same, with a unit's rows as its weight. Where rows of a unit are drawn
by themselves, the true values' part of the variance is that between units (cluster-robust).

A column that is coarsened or suppressed loses detail instead: what is kept is the mutual
information of the two columns, in the cells that are shown, over the entropy of the true one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Indices
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector

if TYPE_CHECKING:
    from sfumato.engine.matrices.estimate import VarianceLaw

WORTHLESS: Final = 30.0
"""What is worth fewer true records tells nobody anything of use."""
USEFUL: Final = 100.0
"""What is worth as many gives shares to within ten percentage points."""

_TABLE: Final = 1 << 22
"""Pairs of codes are counted in a table of up to so many cells; beyond, they are sorted."""

Whole = npt.NDArray[np.integer]


@dataclass(frozen=True)
class SharesWorth:
    """What estimated shares are worth.

    Parameters
    ----------
    records
        N: of all shares together.
    by_value
        N_v of each value's share, shape (m,); 0 for a value that nobody has.
    untold
        The places of values that can't be told apart; where there are any, all is worth 0.
    """

    records: float
    by_value: Vector
    untold: tuple[int, ...] = ()


def worth_of_shares(
    frequencies: Vector,
    matrix: PerturbationMatrix,
    records: float,
    sampling: Vector | None = None,
    law: VarianceLaw | None = None,
    moved: Vector | None = None,
) -> SharesWorth:
    """Return what a release is worth to somebody who estimates shares.

    Parameters
    ----------
    frequencies
        The true shares, shape (m,), summing to 1.
    matrix
        The release's perturbation matrix.
    records
        The effective number of records that leave, n.
    sampling
        The variance, for each record, of the true shares themselves, shape (m,); None for
        f(1 − f), that of records which have nothing to do with one another.
    law
        The variances that estimated shares have through perturbation alone, where records are not
        perturbed independently.
    moved
        How far the shares of the records that leave are from those of all, shape (m,); None for
        not at all. It does not average out.
    """
    own = frequencies * (1.0 - frequencies)
    sampled = own if sampling is None else sampling
    untold = tuple(np.asarray(matrix.untold).tolist())
    if untold:
        return SharesWorth(0.0, np.zeros(matrix.size), untold)
    if law is None:
        added = matrix.apply_squared_inverse(matrix.apply(frequencies)) - frequencies
    else:
        added = law(frequencies) * records
    return _of_variances(own, sampled + np.maximum(added, 0.0), records, moved)


def worth_of_member(
    frequencies: Vector,
    matrix: PerturbationMatrix,
    member: Indices,
    records: float,
    sampling: Vector | None = None,
    moved: Vector | None = None,
) -> SharesWorth:
    """Return what a release of combinations is worth to somebody who estimates one column's shares.

    Parameters
    ----------
    frequencies, matrix, records
        Of the combinations, as for `worth_of_shares`.
    member
        Each combination's value of the column, shape (m,), numbered from 0.
    sampling, moved
        As for `worth_of_shares`, of the column's k values, shape (k,).
    """
    size = int(member.max()) + 1
    if len(untold := np.asarray(matrix.untold)):
        return SharesWorth(0.0, np.zeros(size), tuple(np.unique(member[untold]).tolist()))
    shares = np.bincount(member, frequencies, minlength=size)
    shown = matrix.apply(frequencies)
    second = np.empty(size)
    for value in range(size):
        scores = matrix.solve_transposed((member == value).astype(np.float64))
        second[value] = float(shown @ scores**2)
    own = shares * (1.0 - shares)
    sampled = own if sampling is None else sampling
    return _of_variances(own, sampled + np.maximum(second - shares, 0.0), records, moved)


def _of_variances(
    own: Vector, variances: Vector, records: float, moved: Vector | None
) -> SharesWorth:
    """Return what variances of one record are worth beside those of a true one, each (m,)."""
    if moved is not None:
        variances = variances + records * np.square(moved)
    by_value = np.divide(own, variances, out=np.zeros_like(own), where=variances > 0.0)
    total = float(variances.sum())
    whole = float(own.sum()) / total if total > 0.0 else 1.0
    return SharesWorth(records * whole, records * by_value)


def worth_of_mean(
    true: Floats,
    means: Floats,
    variances: Floats,
    records: float,
    design: float = 1.0,
    moved: float = 0.0,
    variance: float | None = None,
) -> float:
    """Return N: what released numbers are worth to somebody who estimates their mean.

    Parameters
    ----------
    true
        The true numbers, none missing, shape (n,).
    means, variances
        The mean and the variance of what is released of each, shape (n,).
    records
        The effective number of records that leave.
    design
        By what the variance of the true numbers' mean is larger since rows belong to units.
    moved
        How far the mean of the records that leave is from that of all.
    variance
        The variance of all true numbers; None where `true` are all.

    Returns
    -------
    float
        At most `records`: clipping that happens to narrow a column is no further record.
    """
    spread = float(true.var()) if variance is None else variance
    shift = float(means.mean() - true.mean()) + moved
    released = design * float(means.var()) + float(variances.mean())
    error = shift**2 + released / records
    if error <= 0.0 or spread <= 0.0:
        return records if error <= 0.0 else 0.0
    return min(spread / error, records)


# ----- how many records stand behind a figure


def effective_records(weights: Floats) -> float:
    """Return Kish's effective number of records, (Σw)²/Σw²; 0 where nothing weighs anything."""
    square = float(np.square(weights).sum())
    return float(weights.sum()) ** 2 / square if square > 0.0 else 0.0


def variance_between_units(codes: Whole, units: Whole, size: int) -> Vector:
    """Return the cluster-robust variance of each value's share, for each record, shape (m,).

    Σ_u (n_uv − n_u·f_v)²/n over the units u, in time n log n, whatever the domain.

    Parameters
    ----------
    codes
        Each row's value, shape (n,).
    units
        Each row's unit, numbered from 0, shape (n,).
    size
        The number of values, m.
    """
    rows = np.bincount(units)
    pairs, counts = np.unique(units.astype(np.int64) * size + codes, return_counts=True)
    values, whose = pairs % size, pairs // size
    shares = np.bincount(values, counts, minlength=size) / len(codes)
    squares = np.bincount(values, counts.astype(np.float64) ** 2, minlength=size)
    crossed = np.bincount(values, counts * rows[whose].astype(np.float64), minlength=size)
    whole = float(np.square(rows.astype(np.float64)).sum())
    between: Vector = (squares - 2.0 * shares * crossed + shares**2 * whole) / len(codes)
    return np.maximum(between, 0.0)


def design_effect(numbers: Floats, units: Whole) -> float:
    """Return by what the variance of a mean is larger since rows belong to units.

    Parameters
    ----------
    numbers, units
        Each row's number, none missing, and its unit, numbered from 0, shape (n,).
    """
    centred = numbers - numbers.mean()
    own = float(np.square(centred).sum())
    between = float(np.square(np.bincount(units, centred)).sum())
    return between / own if own > 0.0 else 1.0


# ----- columns that are coarsened


def detail_kept(true: Whole, shown: Whole, hidden: Flags | None = None) -> float:
    """Return what a coarser column keeps: mutual information over the true column's entropy.

    With X the true column, Y the shown one and H whether a cell is hidden, the information of
    both is I(X; Y) = I(X; H) + P(shown)·I(X; Y | shown). The first is left out: cells are hidden
    for what their row shows in all columns, and where nearly every value is different whatever
    follows from the row seems to be told of the value.

    Parameters
    ----------
    true, shown
        Codes from 0 of each row, shape (n,).
    hidden
        The cells that are suppressed, shape (n,); None for none.

    Returns
    -------
    float
        From 0 (nothing can be told from it) to 1; 1 where the true column is constant.
    """
    own = _entropy(true)
    if own <= 0.0:
        return 1.0
    share = 1.0
    if hidden is not None:
        share = 1.0 - float(np.mean(hidden))
        if share <= 0.0:
            return 0.0
        true, shown = true[~hidden], shown[~hidden]
    size = int(shown.max(initial=0)) + 1
    pairs = true.astype(np.int64) * size + shown
    if (int(true.max(initial=0)) + 1) * size > _TABLE:
        pairs = np.unique(pairs, return_inverse=True)[1]
    told = _entropy(true) + _entropy(shown) - _entropy(pairs)
    return min(max(share * told / own, 0.0), 1.0)


def _entropy(codes: Whole) -> float:
    counts = np.bincount(codes)
    shares = counts[counts > 0] / counts.sum()
    return -float(shares @ np.log(shares))


# ----- what would help


def least_reaching(wanted: float, worth_at: Callable[[float], float], low: float) -> float | None:
    """Return the least trust from `low` to 1 at which a release is worth as much as wanted.

    None where none is. Worth rises with trust, so the interval is halved.

    Parameters
    ----------
    wanted
        What it is to be worth.
    worth_at
        What it is worth at a trust; may raise `EstimationError` where nothing can be told.
    low
        Where it is not worth as much.
    """

    def reaches(trust: float) -> bool:
        try:
            return worth_at(trust) >= wanted
        except EstimationError:
            return False

    high = 1.0
    if not reaches(high):
        return None
    while high - low > 1e-6 * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
