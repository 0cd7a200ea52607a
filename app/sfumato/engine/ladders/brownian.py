"""The Brownian ladder: noise for numeric attributes at any level, from a key.

Each record has a Brownian motion W of its own in as many dimensions as there are attributes,
with the noise level σ² as its time. W is a pure function of the key, the record's identifier
and its true values: no release needs to know of any other, and releases at any levels, made in
any order, on any machine, have the noise of one ladder. The noise at a higher level is that at
a lower one plus something that knows nothing of the record, so a coalition learns what its most
trusted member knows (Li, Chen, Li and Zhang, TKDE 2012, Theorems 4 and 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.parallel import Worker, in_stretches
from sfumato.engine.core.progress import Context
from sfumato.engine.ladders.brownian_kernel import BrownianKernel
from sfumato.engine.ladders.brownian_tree import plan_for
from sfumato.engine.randomness.keys import AttributeKey

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.uint64]

STRETCH: Final = 1 << 16
"""How many records a thread works on at once: as many as leave the interpreter little to do."""

THREADS: Final = 2
"""How many stretches are worked on at once. No release depends on it."""


def brownian_motion(
    values: Floats,
    record_ids: Ids,
    key: AttributeKey,
    times: Sequence[float],
    context: Context,
    threads: int = THREADS,
    stretch: int = STRETCH,
) -> Floats:
    """Return W of every record at some times.

    Parameters
    ----------
    values
        The records' true values, NaN where missing, shape (N, n).
    record_ids
        The records' identifiers, shape (n,).
    key
        The key of the ladder.
    times
        The times, each positive.
    context
        Told of the progress; may stop the work.
    threads, stretch
        How the work is divided. The result does not depend on it.

    Returns
    -------
    numpy.ndarray
        Standard Brownian motion in N dimensions, shape (times, N, n).

    Raises
    ------
    ValueError
        If a time is not positive, or values and identifiers do not fit together.
    """
    check_shapes(values, record_ids)
    size, rows = values.shape
    plan = plan_for(times)
    motion = np.empty((len(times), size, rows))
    stretch = stretch_for(rows, stretch, threads)

    def worker() -> Worker:
        kernel = BrownianKernel(key.cipher(), size, stretch)

        def work(part: slice) -> None:
            kernel.walk(values[:, part], record_ids[part], plan, motion[:, :, part])

        return work

    workers = [worker() for _ in range(max(1, threads))]
    in_stretches(rows, stretch, workers, context, "Drawing the noise")
    return motion


def stretch_for(rows: int, most: int, threads: int) -> int:
    """Return how many rows to work on at once, so that no thread has nothing to do."""
    return max(1, min(most, -(-rows // max(1, threads))))


def check_shapes(values: Floats, record_ids: Ids) -> None:
    """Raise `ValueError` where values and identifiers do not fit together."""
    if values.ndim != 2 or not values.shape[0] or record_ids.shape != values.shape[1:]:
        raise ValueError("values are not a list of columns, as long as the record ids")
    if values.dtype != np.float64 or record_ids.dtype != np.uint64:
        raise ValueError("values or record ids are of another type")
