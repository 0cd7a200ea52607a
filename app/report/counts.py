"""Counts of records that may be shown: none below a threshold, none that gives one away."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


def shown_counts(counts: Counts, threshold: int) -> tuple[npt.NDArray[np.intp], int]:
    """Return which counts may be shown, and the sum of the others.

    Small counts are summed up. As long as their sum is small itself, and could be told from the
    total, the smallest of the others joins them.

    Parameters
    ----------
    counts
        How often each value occurs, shape (m,).
    threshold
        The smallest number of records that may be shown.

    Returns
    -------
    numpy.ndarray
        The positions of the counts that may be shown.
    int
        The sum of the others: 0, or at least the threshold. Where all records together are
        fewer, nothing may be shown, and it is 0 as well.
    """
    if threshold <= 0:
        return np.arange(len(counts)), 0
    occurring = counts > 0
    hidden = occurring & (counts < threshold)
    while hidden.any() and counts[hidden].sum() < threshold:
        left = np.flatnonzero(occurring & ~hidden)
        if not len(left):
            return np.empty(0, dtype=np.intp), 0
        hidden[left[np.argmin(counts[left])]] = True
    shown = np.flatnonzero(occurring & ~hidden)
    return shown, int(counts[hidden].sum())
