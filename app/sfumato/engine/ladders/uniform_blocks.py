"""The blocks of records on the uniform ladder, and the words drawn with them, as arrays."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.randomness.keys import BLOCK_BYTES, BlockCipher

Rows = npt.NDArray[np.intp]
Ids = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Streams = npt.NDArray[np.uint32]

_SLACK: Final = BLOCK_BYTES - 1
_SMALL_DOMAIN: Final = 64


class Blocks:
    """Buffers for the blocks of some records, and for what they are encrypted to.

    Parameters
    ----------
    cipher
        The pseudo-random function.
    capacity
        The largest number of blocks.
    """

    def __init__(self, cipher: BlockCipher, capacity: int) -> None:
        self._cipher = cipher
        self._plain = np.zeros(BLOCK_BYTES * capacity, dtype=np.uint8)
        self._drawn = np.zeros(BLOCK_BYTES * capacity + _SLACK, dtype=np.uint8)
        self._written: tuple[int | None, int] = None, 0

    def fill(self, codes: Codes, ids: Ids) -> None:
        """Write the records' identifiers and true codes into their blocks."""
        plain = self._plain[: BLOCK_BYTES * len(codes)]
        plain.view("<u8")[0::2] = ids
        plain.view("<u4")[2::4] = codes

    def take(self, other: Blocks, rows: Rows) -> None:
        """Copy some records' blocks from another buffer."""
        # A complex number is the plain type of 16 bytes that numpy copies fastest.
        target = self._plain[: BLOCK_BYTES * len(rows)].view(np.complex128)
        other._plain.view(np.complex128).take(rows, out=target, mode="clip")
        self._written = None, 0

    def draw(self, count: int, numbers: int | Streams) -> Bytes:
        """Encrypt the first `count` blocks with these streams; return the bytes drawn.

        The next draw overwrites them.
        """
        plain = self._plain[: BLOCK_BYTES * count]
        number = numbers if isinstance(numbers, int) else None
        # The same stream for stretch after stretch is written once.
        if number is None or number != self._written[0] or count > self._written[1]:
            plain.view("<u4")[3::4] = numbers
            self._written = number, count
        self._cipher.encrypt(plain, self._drawn[: BLOCK_BYTES * count + _SLACK])
        return self._drawn[: BLOCK_BYTES * count]


class GroupWords:
    """How the words beside a group's bits are laid out and turned into values.

    A word of b bits times the domain's size m, shifted right by b, is a value below m, since
    ``(2^b - 1)·m < m·2^b``. It is exactly uniform once the words are refused whose product
    leaves less than ``2^b mod m`` in its low b bits (Lemire, ACM TOMACS 29, 2019). Where a
    word is refused, or a block has no word left, the value is drawn by a block of its own.

    Parameters
    ----------
    size
        The number of values in the domain, m.
    """

    def __init__(self, size: int) -> None:
        small = size <= _SMALL_DOMAIN
        self.word_type: Final = np.dtype("<u1" if small else "<u2")
        self.product_type: Final = np.dtype(np.uint16 if small else np.uint32)
        bits = 8 * self.word_type.itemsize
        self.size: Final = self.product_type.type(size)
        self.bits: Final = self.product_type.type(bits)
        self.low_mask: Final = self.product_type.type((1 << bits) - 1)
        self.refused_below: Final = self.product_type.type((1 << bits) % size)
        self.per_block: Final = BLOCK_BYTES // self.word_type.itemsize
        self.count: Final = self.per_block // 2
        self.before_first: Final = self.per_block - self.count - 1
