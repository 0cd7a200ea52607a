"""Ladders whose most trusted release is not the original.

Such a ladder begins with one keyed draw for each record, the top rung: a fine-grain profile or
any perturbation matrix. What the top rung shows then goes down the uniform ladder, so a release
at level s is the top rung, kept with probability s and otherwise replaced uniformly: every
release is a garbling of every one above it. For a profile q that is
P = diag(s·q) + (1/m)·1·(1 − s·q)ᵀ, the fine-grain matrix with every probability scaled by s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.ladders.record_draws import RecordDraws
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.ladders.uniform_cells import ATTEMPTS, Draw, stream
from sfumato.engine.ladders.uniform_kernel import TILE
from sfumato.engine.randomness.alias import CELL, alias_tables
from sfumato.engine.randomness.keys import AttributeKey

Rows = npt.NDArray[np.intp]
Words = npt.NDArray[np.uint64]

_TOP_STREAM: Final = stream(Draw.VALUE, cell=0) // ATTEMPTS
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

    def show(
        self,
        codes: Codes,
        record_ids: npt.NDArray[np.uint64],
        key: AttributeKey,
        context: Context,
    ) -> Codes:
        """Return the top rung's release: a pure function of key, record and true value."""
        out = np.empty_like(codes)

        def release(start: int) -> None:
            part = slice(start, start + TILE)
            draws = RecordDraws(codes[part], record_ids[part], key)
            words, evenly = draws.word_and_code(_TOP_STREAM, self.size)
            out[part] = self._show(codes[part], words, evenly)

        starts = range(0, len(codes), TILE)
        with ThreadPoolExecutor(_THREADS, "top rung") as pool:
            try:
                for done, _ in enumerate(pool.map(release, starts)):
                    context.report(done / len(starts), "Drawing the most trusted release")
            finally:
                pool.shutdown(cancel_futures=True)
        return out


class ProfileTop(TopRung):
    """A value is kept with a probability of its own and otherwise replaced evenly.

    Parameters
    ----------
    kept
        The probabilities q, shape (m,), each in [0, 1].
    """

    def __init__(self, kept: npt.NDArray[np.float64]) -> None:
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
        shown: Codes = np.where(keeps, codes, evenly.astype(codes.dtype))
        return shown


class MatrixTop(TopRung):
    """Any perturbation matrix.

    Parameters
    ----------
    entries
        Pr[released | original], shape (m, m), each column a distribution.
    """

    def __init__(self, entries: npt.NDArray[np.float64]) -> None:
        super().__init__(len(entries))
        self._tables = alias_tables(entries)

    def _show(self, codes: Codes, words: Words, evenly: Words) -> Codes:
        cell = evenly.astype(np.intp)
        own = (words >> np.uint64(64 - _CELL_BITS)) < self._tables.thresholds[cell, codes]
        shown = np.where(own, cell, self._tables.aliases[cell, codes])
        return shown.astype(codes.dtype)


def release_below(
    top: TopRung,
    level: float,
    codes: Codes,
    record_ids: npt.NDArray[np.uint64],
    key: AttributeKey,
    context: Context,
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
