"""The ladder whose replaced values are drawn from a fixed distribution instead of evenly.

Each value owns as many of 65,536 cells as its probability asks for. The uniform ladder runs over
the cells: a record starts in the first cell of its value, an event puts in a cell drawn evenly, and
what is shown is the value that owns the cell. Every event therefore puts in a draw from the
distribution, exactly, and all that holds of the uniform ladder holds here: P(p)·P(q) = P(p·q).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.randomness.keys import AttributeKey

CELLS: Final = 1 << 16
"""How many cells there are: probabilities are multiples of 1/65,536."""


def cells_of(shares: Sequence[float], even: float) -> tuple[int, ...]:
    """Return how many cells each value owns, at least one each, `CELLS` in all.

    Computed with exact fractions, so that every machine returns the same.

    Parameters
    ----------
    shares
        How frequent each value is taken to be, m numbers from 0 on, m at most `CELLS`.
    even
        The share of an even distribution that is mixed in, from 0 to 1.
    """
    exact, mixed = [Fraction(share) for share in shares], Fraction(even)
    # Whole numbers over one denominator: ten times as fast as fractions.
    size, common = len(exact), math.lcm(*(share.denominator for share in exact))
    counts = [share.numerator * (common // share.denominator) for share in exact]
    total, own = sum(counts), mixed.denominator - mixed.numerator
    wanted = [CELLS * (own * size * count + mixed.numerator * total) for count in counts]
    whole = mixed.denominator * size * total
    cells = [max(1, each // whole) for each in wanted]
    left = CELLS - sum(cells)
    # What rounding down left over goes to the largest remainders. Values that were given their
    # only cell take it from the most frequent ones.
    order = sorted(range(size), key=lambda place: (cells[place] * whole - wanted[place], place))
    for place in order[: max(left, 0)]:
        cells[place] += 1
    while sum(cells) > CELLS:
        cells[max(range(size), key=cells.__getitem__)] -= 1
    return tuple(cells)


def release_from_cells(
    codes: Codes,
    cells: Sequence[int],
    level: float,
    record_ids: npt.NDArray[np.uint64],
    key: AttributeKey,
    context: Context,
) -> Codes:
    """Return an attribute's codes as they are released at one level.

    Parameters
    ----------
    codes
        The true values, shape (n,).
    cells
        How many cells each value owns, m numbers that sum to `CELLS`.
    level, record_ids, key, context
        As for `sfumato.engine.ladders.uniform.release_codes`.

    Raises
    ------
    LevelError
        If the level is not between 0 and 1.
    """
    owned = np.asarray(cells)
    first = (np.cumsum(owned) - owned).astype(np.uint16)
    owner = np.repeat(np.arange(len(owned), dtype=codes.dtype), owned)
    shown: Codes = owner[release_codes(first[codes], CELLS, level, record_ids, key, context)]
    return shown
