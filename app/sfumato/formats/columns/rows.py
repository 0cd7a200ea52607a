"""What rows are called in messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def number_in_file(position: int, left_out: Sequence[int]) -> int:
    """Return a row's number in its file, counted from 1.

    Parameters
    ----------
    position
        The row's position, from 0, among the rows that are read.
    left_out
        The numbers of the rows that are not, increasing.
    """
    numbers = np.asarray(left_out, dtype=np.int64)
    read_before = numbers - np.arange(1, len(numbers) + 1)
    return position + 1 + int(np.searchsorted(read_before, position, side="right"))
