"""Ladders whose most trusted release is not the original.

Such a ladder begins with one keyed draw for each record, the top rung: a fine-grain profile or
any perturbation matrix. What the top rung shows then goes down the uniform ladder, so a release
at level s is the top rung, kept with probability s and otherwise replaced uniformly: every
release is a garbling of every one above it. For a profile q that is
P = diag(s·q) + (1/m)·1·(1 − s·q)ᵀ, the fine-grain matrix with every probability scaled by s.

Any column of a matrix is drawn from in constant time by Walker's alias method, on integers. Every
column is cut into m cells of one size. A cell holds at most two values: its own, up to a
threshold, and one other, its alias. A draw picks a cell evenly and compares a fair word with
the threshold. Weights are integers, so a column of the tables holds exactly the probabilities
that it was given, each rounded to 2^-50 of a cell; a value of probability 0 is never drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import in_stretches
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats, Integers, Words
from sfumato.engine.ladders.uniform import TILE, release_codes
from sfumato.engine.ladders.uniform_cells import ATTEMPTS, DrawPurpose, RecordDraws, stream
from sfumato.engine.randomness.keys import AttributeKey

CELL: Final = 1 << 50
"""The weight of a cell."""


@dataclass(frozen=True)
class AliasTables:
    """The cells of every column.

    Parameters
    ----------
    thresholds
        How much of each cell is its own value's, of `CELL`; shape (m, m), indexed [cell, column].
    aliases
        The other value of each cell; shape (m, m), indexed [cell, column].
    """

    thresholds: Words
    aliases: npt.NDArray[np.uint32]

    def weights(self) -> Integers:
        """Return the weight of every value in every column, of m·`CELL`; shape (m, m)."""
        size = len(self.thresholds)
        weights = self.thresholds.astype(np.int64)
        columns = np.broadcast_to(np.arange(size), (size, size))
        np.add.at(weights, (self.aliases, columns), CELL - self.thresholds.astype(np.int64))
        return weights


def alias_tables(entries: Floats) -> AliasTables:
    """Return the cells for a matrix whose columns are distributions.

    Parameters
    ----------
    entries
        Pr[released | original], shape (m, m), each column summing to 1 but for rounding.
    """
    size = len(entries)
    columns = np.arange(size)
    weights = _integer_weights(entries)
    # Values that fill no cell come first; the order among the others is of no account.
    order = np.argsort(weights >= CELL, axis=0, kind="stable")
    small = np.zeros(size, dtype=np.int64)
    large = (weights < CELL).sum(axis=0)
    first_large = large.copy()
    # A column whose weights are all one cell has no small value, and always a large one.
    left = weights[order[np.minimum(large, size - 1), columns], columns].copy()
    thresholds = np.full((size, size), CELL, dtype=np.uint64)
    aliases = np.tile(np.arange(size, dtype=np.uint32)[:, None], (1, size))
    for _ in range(size):
        current = order[np.minimum(large, size - 1), columns]
        overdrawn = (left < CELL) & (large < size - 1)
        takes = ~overdrawn & (small < first_large)
        # A large value that can't fill a cell any more closes its own with the next one.
        following = order[np.minimum(large + 1, size - 1), columns]
        filled = np.where(overdrawn, current, order[np.minimum(small, size - 1), columns])
        weight = np.where(overdrawn, left, weights[filled, columns])
        partner = np.where(overdrawn, following, current)
        active = overdrawn | takes
        at, column = filled[active], columns[active]
        thresholds[at, column] = weight[active]
        aliases[at, column] = partner[active]
        gained = np.where(overdrawn, weights[following, columns], left) - (CELL - weight)
        left = np.where(active, gained, left)
        large = np.where(overdrawn, large + 1, large)
        small = np.where(takes, small + 1, small)
        # The last large value of a column, or one with whole cells to spare, keeps its own.
        spare = ~active & (large < size - 1)
        large = np.where(spare, large + 1, large)
        left = np.where(spare, weights[order[np.minimum(large, size - 1), columns], columns], left)
    return AliasTables(thresholds, aliases)


def _integer_weights(entries: Floats) -> Integers:
    """Return the columns in units of 1/`CELL` of a cell, each summing to m cells exactly."""
    size = len(entries)
    weights = np.floor(entries * (float(size) * CELL)).astype(np.int64)
    # What rounding left over goes to the column's largest value, where it matters least.
    largest = weights.argmax(axis=0)
    weights[largest, np.arange(size)] += size * CELL - weights.sum(axis=0)
    return weights


_TOP_STREAM: Final = stream(DrawPurpose.VALUE, cell=0) // ATTEMPTS
"""Streams of this cell are free: the ladder's own cells are numbered from 1."""

_WORD: Final = 1 << 64

_THREADS: Final = 2
"""How many tiles are drawn at once. The release does not depend on it."""

_CELL_BITS: Final = CELL.bit_length() - 1


class TopRung(ABC):
    """What the most trusted release of a ladder does to values.

    Parameters
    ----------
    size
        The number of values in the domain, m.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def _show(self, codes: Codes, words: Words, evenly: Words) -> Codes:
        """Return what is shown for some records.

        Parameters
        ----------
        codes
            The true codes, shape (k,).
        words
            A fair word of 64 bits for each record.
        evenly
            A code drawn evenly from the domain for each record.
        """

    def show(self, codes: Codes, record_ids: Words, key: AttributeKey, context: Context) -> Codes:
        """Return the top rung's release: a pure function of key, record and true value."""
        out = np.empty_like(codes)

        def release(part: slice) -> None:
            draws = RecordDraws(codes[part], record_ids[part], key)
            words, evenly = draws.word_and_code(_TOP_STREAM, self.size)
            out[part] = self._show(codes[part], words, evenly)

        text = "Drawing the most trusted release"
        in_stretches(len(codes), TILE, _THREADS, lambda: release, context, text)
        return out


class ProfileTop(TopRung):
    """A value is kept with a probability of its own and otherwise replaced evenly.

    Parameters
    ----------
    kept
        The probabilities q, shape (m,), each in [0, 1].
    """

    def __init__(self, kept: Floats) -> None:
        super().__init__(len(kept))
        # 2^64·q rounded down, so that a value is never kept more often than promised.
        self._thresholds = np.array(
            [min(int(Fraction(share) * _WORD), _WORD - 1) for share in kept.tolist()],
            dtype=np.uint64,
        )
        self._always = kept >= 1.0
        self.kept = kept

    def _show(self, codes: Codes, words: Words, evenly: Words) -> Codes:
        keeps = (words < self._thresholds[codes]) | self._always[codes]
        return np.where(keeps, codes, evenly.astype(codes.dtype))


class MatrixTop(TopRung):
    """Any perturbation matrix.

    Parameters
    ----------
    entries
        Pr[released | original], shape (m, m), each column a distribution.
    """

    def __init__(self, entries: Floats) -> None:
        super().__init__(len(entries))
        self._tables = alias_tables(entries)

    def _show(self, codes: Codes, words: Words, evenly: Words) -> Codes:
        cell = evenly.astype(np.intp)
        own = (words >> np.uint64(64 - _CELL_BITS)) < self._tables.thresholds[cell, codes]
        shown = np.where(own, cell, self._tables.aliases[cell, codes])
        return shown.astype(codes.dtype)


def release_below(
    top: TopRung, level: float, codes: Codes, record_ids: Words, key: AttributeKey, context: Context
) -> Codes:
    """Return the release at a level of the ladder below a top rung.

    Parameters
    ----------
    top
        The top rung.
    level
        The chance s that a record still shows what the top rung shows, from 0 to 1.
    codes, record_ids, key, context
        As for `sfumato.engine.ladders.uniform.release_codes`.

    Raises
    ------
    LevelError
        If the level is not between 0 and 1.
    """
    shown = top.show(codes, record_ids, key, Part(context, 0.0, 0.5))
    return release_codes(
        codes, top.size, level, record_ids, key, Part(context, 0.5, 1.0), top=shown
    )
