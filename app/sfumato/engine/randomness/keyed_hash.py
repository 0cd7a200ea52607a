"""Canonical texts of identifiers, a keyed hash of texts, and the pseudonyms made with it.

The hash's 128 bits say nothing of a text to anyone without the key. It is the CBC-MAC with AES-256
of a text's bytes. A CBC-MAC is a pseudo-random function as long as no message is the beginning of
another one (Bellare, Kilian, Rogaway 2000), so every message starts with its length. Block j of all
messages is encrypted in one call, which is what makes it fast; no hash depends on which others are
made with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import factorize
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey, BlockCipher

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

_TILE: Final = 1 << 15
"""Texts that are hashed at once: their blocks stay in the processor's cache."""

_WORD: Final = 8
_MASKS: Final = np.array([(1 << 8 * kept) - 1 for kept in range(_WORD + 1)], dtype="<u8")
"""What keeps the first 0 to 8 bytes of a word."""

LETTERS: Final = 26
"""Two words of 64 bits are 13 letters each."""

_ALPHABET: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", dtype=np.uint8)
"""That of base32 (RFC 4648): no spreadsheet takes such a text for a number."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts as bytes, one after the other.

    Attributes
    ----------
    data
        The bytes of all.
    ends
        Where the first text starts, then where each one ends, shape (n + 1,).
    """

    data: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.ends) - 1


def canonical_texts(column: pd.Series) -> Texts:
    """Return the canonical text (`canonical_text`) of each value of a column, none missing."""
    values = column
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if pd.api.types.is_float_dtype(values.dtype):
        whole = (values % 1 == 0) & (values.abs() <= 2**53)
        values = values.astype(np.int64) if whole.all() else values
    if pd.api.types.is_integer_dtype(values.dtype):
        values = values.astype("str")
    if isinstance(values.dtype, pd.StringDtype) and values.dtype.storage == "pyarrow":
        texts = _of_arrow(values)
        if not (texts.data & 0x80).any():
            return texts
    # Text that was read with the wrong encoding can hold what UTF-8 has no bytes for.
    encoded = [canonical_text(value).encode(errors="surrogatepass") for value in values.tolist()]
    ends = np.cumsum([0, *map(len, encoded)])
    return Texts(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)


def canonical_text(key: object) -> str:
    """Return the text by which a record key is known, however a file's reader typed it.

    The number 12, the number 12.0 and the text "12" are one key; "012" is another. Dates are
    their ISO texts, midnight left out. Texts are in Unicode's normal form C.
    """
    if isinstance(key, str):
        return key if key.isascii() else normalize("NFC", key)
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, float):
        return str(int(key)) if key.is_integer() else repr(key)
    if isinstance(key, Decimal):
        return str(int(key)) if key == key.to_integral_value() else str(key.normalize())
    if isinstance(key, datetime):
        return key.date().isoformat() if key.time() == time(0) else key.isoformat()
    if isinstance(key, date):
        return key.isoformat()
    return normalize("NFC", str(key))


def _of_arrow(column: pd.Series) -> Texts:
    """Return the texts of a column that Arrow holds, without a copy."""
    held = column.array.__arrow_array__()
    held = held.combine_chunks() if hasattr(held, "chunks") else held
    _, ends, data = held.buffers()
    width = "<i8" if str(held.type) == "large_string" else "<i4"
    bounds = np.frombuffer(ends, dtype=width)[held.offset : held.offset + len(held) + 1]
    whole = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    return Texts(whole[bounds[0] : bounds[-1]], bounds - bounds[0])


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


def pseudonyms(column: pd.Series, key: AttributeKey, context: Context) -> pd.Series:
    """Return each row's pseudonym: the same for the same value, missing where that is missing.

    A pseudonym is the keyed hash of the value's canonical text, five bits a letter, each word's
    lowest first.

    Parameters
    ----------
    column
        The identifiers, shape (n,).
    key
        From `KeyRing.for_pseudonyms`: another key gives pseudonyms that have nothing to do with
        these.
    context
        Progress and cancelling.
    """
    positions, uniques = factorize(column)
    words = keyed_hash([canonical_texts(uniques.to_series())], key, context)
    letters = np.empty((*words.shape, LETTERS // 2), dtype=np.uint8)
    for place in range(LETTERS // 2):
        letters[..., place] = words >> np.uint64(5 * place) & np.uint64(31)
    texts = _ALPHABET[letters].reshape(-1, LETTERS).view(f"S{LETTERS}").ravel()
    shown = pd.array(texts.astype(np.str_), dtype="str").take(positions, allow_fill=True)
    return pd.Series(shown, index=column.index, name=column.name)
