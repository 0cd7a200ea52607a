"""How often each sensitive value occurs in each class, kept sparse.

A class has few of a large domain's values, and there may be as many classes as records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sfumato.engine.generalization.coded import IntArray

_CHUNK_CELLS: Final = 1 << 22
"""Frequencies that are spread out at once."""


def frequencies(
    of_class: IntArray,
    values: npt.NDArray[np.integer],
    records: npt.NDArray[np.int64],
    shape: tuple[int, int],
) -> sparse.csr_array:
    """Add up records by class and sensitive value.

    Parameters
    ----------
    of_class, values, records
        The class, the sensitive value and the number of records of each entry, of equal length.
    shape
        The number of classes and of sensitive values, (C, m).
    """
    entries = (records.astype(np.int64, copy=False), (of_class, values.astype(np.intp)))
    return sparse.csr_array(sparse.coo_array(entries, shape=shape))


def in_parts(counts: sparse.csr_array) -> Iterator[tuple[slice, npt.NDArray[np.int64]]]:
    """Yield the classes part by part, spread out, each of shape (part, m)."""
    classes, size = counts.shape
    step = max(1, _CHUNK_CELLS // max(size, 1))
    for first in range(0, classes, step):
        rows = slice(first, min(first + step, classes))
        yield rows, counts[rows].toarray()


def totals(counts: sparse.csr_array) -> npt.NDArray[np.int64]:
    """Return how often each sensitive value occurs in all classes together, shape (m,)."""
    return np.asarray(counts.sum(axis=0)).ravel().astype(np.int64)


def sizes(counts: sparse.csr_array) -> npt.NDArray[np.int64]:
    """Return the number of records of each class, shape (C,)."""
    return np.asarray(counts.sum(axis=1)).ravel().astype(np.int64)
