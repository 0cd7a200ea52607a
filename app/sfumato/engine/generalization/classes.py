"""Equivalence classes as a criterion sees them.

Sets of sensitive values are bit masks: bit v of word v // 64 stands for value v.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, auto
from typing import Final

import numpy as np
import numpy.typing as npt

SetArray = npt.NDArray[np.uint64]
"""Sets in rows, shape (number of sets, words)."""

WORD: Final = 64
"""The values that one word holds."""

_MANY: Final = 16
"""From this many sets on both sides, equal ones are looked at once."""

_CHUNK: Final = 1 << 20
"""Intersections that are counted at once."""


def words_for(size: int) -> int:
    """Return how many words hold a set of values out of `size`."""
    return max(1, -(-size // WORD))


def singletons(values: npt.NDArray[np.integer], size: int) -> SetArray:
    """Return the set {v} for every v of `values`, shape (len(values), words)."""
    sets = np.zeros((len(values), words_for(size)), dtype=np.uint64)
    word, bit = np.divmod(values, WORD)
    sets[np.arange(len(values)), word] = np.uint64(1) << bit.astype(np.uint64)
    return sets


def from_flags(flags: npt.NDArray[np.bool_]) -> SetArray:
    """Return the set of the true columns of every row of `flags`, shape (…, words).

    Parameters
    ----------
    flags
        Whether value v belongs to the set, shape (…, m).
    """
    words = words_for(flags.shape[-1])
    padded = np.zeros((*flags.shape[:-1], words * WORD), dtype=np.bool_)
    padded[..., : flags.shape[-1]] = flags
    packed = np.packbits(padded, axis=-1, bitorder="little")
    # Little-endian words whatever the machine, so that bit v of the bytes is bit v of the word.
    sets: SetArray = packed.view("<u8").astype(np.uint64, copy=False)
    return sets


def to_flags(sets: SetArray, size: int) -> npt.NDArray[np.bool_]:
    """Return which of `size` values belong to each set, shape (…, size)."""
    raw = np.ascontiguousarray(sets.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(raw, axis=-1, bitorder="little", count=size).astype(np.bool_)


def members(one: SetArray, size: int) -> tuple[int, ...]:
    """Return the values of one set, shape (words,), in order."""
    return tuple(int(value) for value in np.flatnonzero(to_flags(one, size)))


def cardinality(sets: SetArray) -> npt.NDArray[np.int64]:
    """Return the number of values in each set, shape (…,)."""
    counts: npt.NDArray[np.int64] = np.bitwise_count(sets).sum(axis=-1, dtype=np.int64)
    return counts


def distinct(sets: SetArray) -> SetArray:
    """Return each set once, in the order of their words."""
    once: SetArray = np.unique(sets, axis=0)
    return once


def inclusion_minimal(sets: SetArray) -> SetArray:
    """Return the sets that contain no other one of them, each once.

    An intersection with a larger set has at least as many values as one with a set inside it, so
    these are all that a test of intersections has to look at.
    """
    ordered = distinct(sets)
    ordered = ordered[np.argsort(cardinality(ordered), kind="stable")]
    kept: list[SetArray] = []
    while len(ordered):
        smallest = ordered[0]
        kept.append(smallest)
        contains = ((ordered & smallest) == smallest).all(axis=1)
        ordered = ordered[~contains]
    return np.array(kept, dtype=np.uint64).reshape(len(kept), sets.shape[1])


def intersections(first: SetArray, second: SetArray) -> SetArray:
    """Return the intersection of every set of `first` with every one of `second`, each once."""
    found = [
        distinct((first[start : start + step, None] & second).reshape(-1, first.shape[1]))
        for step in [max(1, _CHUNK // max(len(second), 1))]
        for start in range(0, len(first), step)
    ]
    return distinct(np.concatenate(found))


def smallest_intersections(sets: SetArray, others: SetArray) -> npt.NDArray[np.int64]:
    """Return the size of the smallest intersection of each set with one of `others`.

    Parameters
    ----------
    sets
        Shape (C, words).
    others
        Shape (r, words), at least one.

    Returns
    -------
    numpy.ndarray
        Shape (C,).
    """
    if len(others) > _MANY and len(sets) > _MANY:
        # Classes by the thousand have few different sets.
        once, of_set = np.unique(sets, axis=0, return_inverse=True)
        if len(once) < len(sets):
            return smallest_intersections(once, others)[of_set.reshape(-1)]
    smallest = cardinality(sets & others[0])
    for other in others[1:]:
        np.minimum(smallest, cardinality(sets & other), out=smallest)
    return smallest


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
    with_units
        Which classes have records of so many different units, shape (C,); None where every
        record is a unit of its own, or where records are counted as the most that units can be.
    """

    sizes: npt.NDArray[np.int64] | None = None
    sets: SetArray | None = None
    counts: npt.NDArray[np.int64] | None = None
    whole: npt.NDArray[np.int64] | None = None
    with_units: Callable[[int], npt.NDArray[np.bool_]] | None = None

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
