"""One small group: its true distribution beside what can be reconstructed of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.disclosure.grouped_values import Floats, GroupedValues, Integers
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms.reconstruction.law import ResampledLaw


@dataclass(frozen=True)
class GroupView:
    """One group's true distribution and what can be reconstructed of it. For the custodian only.

    Parameters
    ----------
    size
        The group's number of records.
    values
        The values' codes, the most frequent first, shape (k,).
    true
        Their true shares, shape (k,).
    estimated
        Their shares as reconstructed from the release, shape (k,); None where there is none.
    spread
        Half the width of the interval that holds 95 % of all estimates, shape (k,).
    """

    size: int
    values: Integers
    true: Floats
    estimated: Floats | None
    spread: Floats


def group_view(
    grouped: GroupedValues,
    group: int,
    matrix: PerturbationMatrix,
    released: npt.NDArray[np.int64] | None = None,
    law: ResampledLaw | None = None,
) -> GroupView:
    """Return one group's true distribution beside its reconstruction.

    Parameters
    ----------
    grouped
        The groups with their true values.
    group
        The group.
    matrix
        The release's perturbation matrix.
    released
        How often each value was released in the group, shape (m,); None where no release is at
        hand.
    law
        The law of the groups where the release repeats records; None where every record is
        perturbed by itself.

    Raises
    ------
    EstimationError
        If the release can't tell values apart.
    """
    size = int(grouped.sizes[group])
    true = np.asarray(grouped.counts[[group]].todense(), dtype=np.float64).ravel() / size
    variances = np.maximum(matrix.apply_squared_inverse(matrix.apply(true)) - true, 0.0) / size
    if law is not None:
        asked = np.arange(grouped.groups) == group
        variances = law.estimate_variance(asked, true) / size**2
    spread = 1.96 * np.sqrt(variances)
    estimated = None if released is None else matrix.solve(released / released.sum())
    order = np.argsort(-true, kind="stable")
    return GroupView(
        size,
        order.astype(np.int64),
        true[order],
        None if estimated is None else estimated[order],
        spread[order],
    )


def by_subtraction(
    larger: npt.NDArray[np.int64], rest: npt.NDArray[np.int64], matrix: PerturbationMatrix
) -> Floats:
    """Reconstruct a group's shares from a larger set of records and what else is in that.

    Whoever estimates the distribution in X and in Y = X − S has an estimate for S in
    (|X|·F'_X − |Y|·F'_Y)/|S|. It equals the estimate made from S itself (Wang, Han and Fu 2012,
    lemma 4.3), so an attacker gains nothing by the detour.

    Parameters
    ----------
    larger, rest
        How often each value was released in X and in Y, shape (m,).
    matrix
        The release's perturbation matrix.

    Raises
    ------
    EstimationError
        If nothing remains, or the release can't tell values apart.
    """
    size = int(larger.sum() - rest.sum())
    if size < 1 or (rest > larger).any():
        raise EstimationError(
            "The second set of records is not a proper part of the first.",
            "Take records away that are in the larger set, and not all of them.",
        )
    whole = larger.sum() * matrix.solve(larger / larger.sum())
    other = rest.sum() * matrix.solve(rest / rest.sum()) if rest.sum() else 0.0
    shares: Floats = (whole - other) / size
    return shares
