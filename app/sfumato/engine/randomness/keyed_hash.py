"""A keyed hash of texts: 128 bits that say nothing of a text to anyone without the key.

It is the CBC-MAC with AES-256 of a text's bytes. A CBC-MAC is a pseudo-random function as long as
no message is the beginning of another one (Bellare, Kilian, Rogaway 2000), so every message starts
with its length. Block j of all messages is encrypted in one call, which is what makes it fast; no
hash depends on which others are made with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context
from sfumato.engine.randomness.canonical_texts import Texts
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey, BlockCipher

Hashes = npt.NDArray[np.uint64]

_TILE: Final = 1 << 16
"""Texts that are hashed at once: their blocks stay in the processor's cache."""

_WORD: Final = 8
_MASKS: Final = np.array([(1 << 8 * kept) - 1 for kept in range(_WORD + 1)], dtype="<u8")
"""What keeps the first 0 to 8 bytes of a word."""


def keyed_hash(parts: Sequence[Texts], key: AttributeKey, context: Context) -> Hashes:
    """Return the hash of each row's texts, two words of 64 bits each.

    A row's message is, for each part: the number of its bytes in 48 bits and that of the parts in
    16, little-endian; its bytes; zeros up to a whole block. No message is the beginning of another.

    Parameters
    ----------
    parts
        What is hashed together, n texts each.
    key
        Derived for this purpose alone.
    context
        Progress and cancelling.

    Returns
    -------
    numpy.ndarray
        Shape (n, 2), little-endian: a row's 16 bytes are its CBC-MAC. Any two of a billion rows
        share one with a probability of 2e-21.
    """
    rows, cipher = len(parts[0]), key.cipher()
    hashes = np.zeros((rows, 2), dtype="<u8")
    for start in range(0, rows, _TILE):
        context.report(start / rows, "Hashing")
        for texts in parts:
            _chain(hashes[start : start + _TILE], texts, start, len(parts), cipher)
    context.report(1.0, "Hashing")
    return hashes


def _chain(hashes: Hashes, texts: Texts, start: int, parts: int, cipher: BlockCipher) -> None:
    """Take the texts from `start` on into hashes, shape (k, 2), of which each is a chain's end."""
    ends = texts.ends[start : start + len(hashes) + 1].astype(np.int64)
    # Words are read from every byte on, the last ones from behind the text's end.
    data = np.zeros(int(ends[-1] - ends[0]) + 2 * _WORD, dtype=np.uint8)
    data[: -2 * _WORD] = texts.data[ends[0] : ends[-1]]
    words = np.ndarray((len(data) - _WORD + 1,), dtype="<u8", buffer=data, strides=(1,))
    starts, lengths = ends[:-1] - ends[0], np.diff(ends)
    out = np.empty(len(hashes) * BLOCK_BYTES + BLOCK_BYTES - 1, dtype=np.uint8)

    def word(rows: npt.NDArray[np.intp], at: int) -> npt.NDArray[np.uint64]:
        found: npt.NDArray[np.uint64] = words[starts[rows] + at]
        found &= _MASKS[np.clip(lengths[rows] - at, 0, _WORD)]
        return found

    rows, at = np.arange(len(hashes)), -_WORD
    while len(rows):
        blocks = hashes[rows]
        blocks[:, 0] ^= (lengths + (parts << 48)).view("<u8") if at < 0 else word(rows, at)
        blocks[:, 1] ^= word(rows, at + _WORD)
        cipher.encrypt(blocks.view(np.uint8).reshape(-1), out)
        hashes[rows] = out[: len(rows) * BLOCK_BYTES].view("<u8").reshape(-1, 2)
        at += BLOCK_BYTES
        rows = rows[lengths[rows] > at]
