"""The ladder of values that are replaced within their chapter first, and then everywhere.

Two uniform ladders. On the first, events put in a value of the whole domain. On the second, which
runs over the s places of a chapter, they put in an offset that begins at 0. What is shown is the
value of the first ladder, moved on within its chapter by the offset, modulo s.

From one level to a lower one the shown value becomes an even draw from the domain where the first
ladder has an event in between: its fresh value is even, whatever is added. Else it becomes an even
draw from its chapter where the second has one, for the fresh offset is even; else it stays. Events
in between know nothing of those before, so the lower release is a garbling of the upper one by the
matrix of the two ratios, and so on through all levels: P(p)·P(q) = P(p·q). Chapters of one size
share a second ladder. A record that has come to another chapter got there by an event of the first,
whose fresh value makes whatever the offsets tell of one another void.

The second ladder's draws depend on the true value through the identifier that they are made with:
else the offset would stay where a value was corrected, and two editions would tell how.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.randomness.keys import AttributeKey

_VALUE_SHIFT = np.uint64(44)


def release_in_chapters(
    codes: Codes,
    chapters: Sequence[int],
    levels: tuple[float, float],
    record_ids: npt.NDArray[np.uint64],
    keys: tuple[AttributeKey, AttributeKey],
    context: Context,
) -> Codes:
    """Return an attribute's codes as they are released at one level.

    Parameters
    ----------
    codes
        The true values, shape (n,).
    chapters
        The chapter of each value of the domain, as a number, m of them.
    levels
        How probably the place inside a chapter is kept, and how probably the chapter.
    record_ids
        The records' identifiers, shape (n,).
    keys
        The keys of the ladder inside chapters and of the one over the domain.
    context
        Told of the progress; may stop the work.
    """
    inside, everywhere = levels
    part = Part(context, 0.0, 0.5)
    shown = release_codes(codes, len(chapters), everywhere, record_ids, keys[1], part)
    own_ids = record_ids ^ (codes.astype(np.uint64) << _VALUE_SHIFT)
    of_value = np.asarray(chapters)
    order = np.argsort(of_value, kind="stable")
    _, first, sizes = np.unique(of_value[order], return_index=True, return_counts=True)
    numbers = np.unique(of_value, return_inverse=True)[1]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - first[numbers[order]]
    result = shown.copy()
    for size in np.unique(sizes[sizes > 1]).tolist():
        rows = np.flatnonzero(sizes[numbers[shown]] == size)
        start = np.zeros(len(rows), dtype=np.uint32)
        offset = release_codes(start, size, inside, own_ids[rows], keys[0], Part(context, 0.5, 1.0))
        here = shown[rows]
        moved = (place[here] + offset) % size
        result[rows] = order[first[numbers[here]] + moved]
    return result
