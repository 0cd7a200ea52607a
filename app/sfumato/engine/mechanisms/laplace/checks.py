"""What a released column with Laplace noise should look like, examined without keys.

The noise of a release, or what one release adds to another, has a known law in whole steps. It is
counted in cells of about equal probability, apart for low and for high true numbers, so that noise
which knows of the number it hides is seen as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.goodness_of_fit import examine_matrix
from sfumato.engine.matrices.laplace_law import LaplaceLaw
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.mechanisms.categorical import check_rows, check_spread
from sfumato.engine.mechanisms.laplace.settings import Grid

Floats = npt.NDArray[np.float64]
Steps = npt.NDArray[np.int64]

_CELLS: Final = 64
_GROUPS: Final = 8
"""The noise is looked at apart in so many groups of records, by the number that it is added to."""


def check_noise(true: Floats, column: pd.Series, grid: Grid, law: LaplaceLaw) -> tuple[Check, ...]:
    """Examine a released column against the true numbers.

    Parameters
    ----------
    true
        The true numbers, NaN where missing, shape (n,).
    column
        The released column.
    grid
        The numbers that there can be.
    law
        The law of the noise.
    """
    rows = check_rows(len(true), len(column), "the table")
    shown, numbers = _steps_of(column, grid, law)
    if shown is None or not rows.holds:
        return rows, numbers
    gaps = _check_gaps(np.isnan(true), column.isna().to_numpy(), "the table")
    if not gaps.holds:
        return rows, numbers, gaps
    known = ~np.isnan(true)
    origin = grid.places(true[known]).astype(np.int64)
    return rows, numbers, gaps, _check_law(origin, shown[known] - origin, law, law.up_to)


def check_noise_between(
    upper: pd.Series, upper_law: LaplaceLaw, lower: pd.Series, lower_law: LaplaceLaw, grid: Grid
) -> tuple[Check, ...]:
    """Examine whether one released column is another with jumps added, or none.

    Parameters
    ----------
    upper, lower
        The columns of the more and of the less trusted release.
    upper_law, lower_law
        The laws of their noise.
    grid
        The numbers that there can be.
    """
    rows = check_rows(len(upper), len(lower), "the more trusted release")
    above, above_numbers = _steps_of(upper, grid, upper_law)
    below, below_numbers = _steps_of(lower, grid, lower_law)
    checks = (rows, above_numbers, below_numbers)
    if above is None or below is None or not rows.holds:
        return checks
    missing = upper.isna().to_numpy()
    gaps = _check_gaps(missing, lower.isna().to_numpy(), "the more trusted release")
    if not gaps.holds:
        return *checks, gaps
    origin, jumps = above[~missing], (below - above)[~missing]
    stays = lower_law.unchanged_from(upper_law)

    def up_to(noise: Steps | Floats) -> Floats:
        found: Floats = stays * (noise >= 0) + (1.0 - stays) * lower_law.up_to(noise)
        return found

    return *checks, gaps, _check_law(origin, jumps, lower_law, up_to)


def _check_law(
    origin: Steps, noise: Steps, law: LaplaceLaw, up_to: Callable[[Steps], Floats]
) -> Check:
    """Examine how noise spreads, in groups of records by the numbers that it was added to."""
    far = np.array([law.half_width(1.0 - 2.0 * share / _CELLS) for share in range(1, _CELLS // 2)])
    edges = np.unique(np.concatenate([-far - 1, [-1, 0], far]))
    below = up_to(edges)
    shares = np.diff(np.concatenate([[0.0], below, [1.0]]))
    cells = np.searchsorted(edges, noise, side="left")
    order = np.argsort(origin, kind="stable")
    groups = np.empty(len(origin), dtype=np.uint32)
    groups[order] = np.arange(len(origin)) * _GROUPS // max(len(origin), 1)
    size = max(len(shares), _GROUPS)
    entries = np.zeros((size, size))
    entries[: len(shares)] = np.maximum(shares, 0.0)[:, np.newaxis]
    found = examine_matrix(groups, cells.astype(np.uint32), entries)
    return check_spread(found.spread, "Size, shape and independence of the noise")


def _steps_of(column: pd.Series, grid: Grid, law: LaplaceLaw) -> tuple[Steps | None, Check]:
    """Return a released column in steps of the grid, 0 where missing."""
    title = "Released values"
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    missing = column.isna().to_numpy()
    steps = np.rint((np.where(missing, 0.0, numbers) - float(grid.lowest)) / float(grid.step))
    near = np.isfinite(steps) & (-law.beyond <= steps) & (steps <= grid.steps + law.beyond)
    found = np.where(near & ~missing, steps, 0.0).astype(np.int64)
    wrong = ~missing & (~near | ~np.isclose(grid.numbers(found), numbers, rtol=1e-12, atol=0.0))
    if wrong.any():
        finding = Sentence(
            "{outside:,} {outside:value is|values are} not among the numbers that can be released,"
            " first in row {first:,}.",
            outside=int(wrong.sum()),
            first=int(wrong.argmax()) + 1,
        )
        return None, Check(title, False, finding)
    return found, Check(title, True, "All values are numbers that can be released.")


def _check_gaps(expected: npt.NDArray[np.bool_], found: npt.NDArray[np.bool_], whose: str) -> Check:
    differing = int((expected != found).sum())
    finding = Sentence("They are missing where they are in {whose}.", whose=whose)
    if differing:
        finding = Sentence(
            "{differing:,} {differing:record is|records are} missing here and not in {whose}, or"
            " the other way round.",
            differing=differing,
            whose=whose,
        )
    return Check("Missing numbers", differing == 0, finding)
