"""Keyed draws for some records: fair words of 64 bits, and codes drawn evenly from a domain."""

from __future__ import annotations

from typing import Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.ladders.uniform_blocks import Blocks, Ids, Words
from sfumato.engine.ladders.uniform_cells import ATTEMPTS
from sfumato.engine.randomness.keys import AttributeKey

_LOW_HALF: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)

STREAMS: Final = 1 << 24
"""How many streams there are: each has room for `ATTEMPTS` repetitions."""


class RecordDraws:
    """The draws of some records under one key: pure functions of record, true code and stream.

    Parameters
    ----------
    codes
        The records' true codes, shape (k,).
    record_ids
        Their identifiers, shape (k,).
    key
        The key. Whatever else is drawn with it has other streams.
    """

    def __init__(self, codes: Codes, record_ids: Ids, key: AttributeKey) -> None:
        self._count = len(codes)
        self._blocks = Blocks(key.cipher(), max(self._count, 1))
        self._blocks.fill(codes, record_ids)

    def words(self, stream: int) -> tuple[Words, Words]:
        """Return two independent fair words of 64 bits for each record, both of shape (k,)."""
        drawn = self._blocks.draw(self._count, stream * ATTEMPTS).view("<u8")
        return drawn[0::2].copy(), drawn[1::2].copy()

    def word_and_code(self, stream: int, size: int) -> tuple[Words, Codes]:
        """Return a fair word and, independently, a code drawn evenly from the domain.

        Parameters
        ----------
        stream
            Which draw, below `STREAMS`; one that `words` was not asked for.
        size
            The number of values in the domain, m, at most 2^31.
        """
        words = np.empty(0, dtype=np.uint64)
        values = np.zeros(self._count, dtype=np.uint64)
        left = np.arange(self._count)
        # A word of 32 bits times m leaves a remainder; the few that would favour some values
        # are refused (Lemire, ACM TOMACS 29, 2019) and drawn again.
        refused_below = np.uint64((1 << 32) % size)
        for attempt in range(ATTEMPTS):
            drawn = self._blocks.draw(self._count, stream * ATTEMPTS + attempt)
            if attempt == 0:
                words = drawn.view("<u8")[0::2].copy()
            product = drawn.view("<u4")[2::4][left].astype(np.uint64) * np.uint64(size)
            values[left] = product >> _HALF
            left = left[(product & _LOW_HALF) < refused_below]
            if not len(left):
                break
        return words, values
