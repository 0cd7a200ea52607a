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
Places = npt.NDArray[np.int64]

_TILE: Final = 1 << 15
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
    starts, lengths = ends[:-1] - ends[0], np.diff(ends)
    # Words are read in pairs, the last ones from behind the text's end.
    words = np.zeros(int(ends[-1] - ends[0]) // _WORD + 3, dtype="<u8")
    words.view(np.uint8)[: ends[-1] - ends[0]] = texts.data[ends[0] : ends[-1]]
    out = np.empty(len(hashes) * BLOCK_BYTES + BLOCK_BYTES - 1, dtype=np.uint8)
    rows: npt.NDArray[np.intp] | None = None  # all
    at = -_WORD
    while len(lengths):
        blocks = hashes if rows is None else hashes[rows]
        first = (lengths + (parts << 48)).view("<u8") if at < 0 else None
        blocks[:, 0] ^= _word(words, starts, lengths, at) if first is None else first
        blocks[:, 1] ^= _word(words, starts, lengths, at + _WORD)
        cipher.encrypt(blocks.view(np.uint8).reshape(-1), out)
        hashes[slice(None) if rows is None else rows] = (
            out[: len(blocks) * BLOCK_BYTES].view("<u8").reshape(-1, 2)
        )
        at += BLOCK_BYTES
        longer = lengths > at
        if not longer.all():
            kept = np.flatnonzero(longer)
            rows = kept if rows is None else rows[kept]
            starts, lengths = starts[kept], lengths[kept]


def _word(words: Hashes, starts: Places, lengths: Places, at: int) -> npt.NDArray[np.uint64]:
    """Return 8 bytes of each text from its byte `at` on, zeros behind its end."""
    places = starts + at
    shift = ((places & 7) << 3).view(np.uint64)
    places >>= 3
    found: npt.NDArray[np.uint64] = words.take(places)
    found >>= shift
    places += 1
    following = words.take(places)
    # By 64 bits less the shift, in two steps since it may be 64.
    following <<= np.uint64(1)
    following <<= shift ^ np.uint64(63)
    found |= following
    kept = lengths - at
    if kept.min() < _WORD:
        found &= _MASKS.take(np.clip(kept, 0, _WORD))
    return found
