"""Equivalence classes as a criterion sees them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto

import numpy as np
import numpy.typing as npt

from sfumato.engine.generalization.bitsets import SetArray


class Need(Flag):
    """What a criterion has to know about a class."""

    NOTHING = 0
    SIZES = auto()
    """How many records it has."""
    SETS = auto()
    """Which sensitive values occur in it."""
    COUNTS = auto()
    """How often each sensitive value occurs in it."""


@dataclass(frozen=True)
class Classes:
    """Equivalence classes, with what was asked for.

    Parameters
    ----------
    sizes
        Records in each class, shape (C,).
    sets
        Sensitive values that occur, shape (C, words).
    counts
        Records with each sensitive value, shape (C, m).
    whole
        Records of the whole table with each sensitive value, shape (m,).
    """

    sizes: npt.NDArray[np.int64] | None = None
    sets: SetArray | None = None
    counts: npt.NDArray[np.int64] | None = None
    whole: npt.NDArray[np.int64] | None = None

    def known_sizes(self) -> npt.NDArray[np.int64]:
        """Return `sizes`, which must have been asked for."""
        if self.sizes is None:
            raise TypeError("the classes were grouped without their sizes")
        return self.sizes

    def known_sets(self) -> SetArray:
        """Return `sets`, which must have been asked for."""
        if self.sets is None:
            raise TypeError("the classes were grouped without their sets")
        return self.sets

    def known_whole(self) -> npt.NDArray[np.int64]:
        """Return `whole`, which must have been given."""
        if self.whole is None:
            raise TypeError("the classes were grouped without the whole table's frequencies")
        return self.whole

    def known_counts(self) -> npt.NDArray[np.int64]:
        """Return `counts`, which must have been asked for."""
        if self.counts is None:
            raise TypeError("the classes were grouped without their counts")
        return self.counts
