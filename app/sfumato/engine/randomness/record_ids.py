"""Identifiers of records and of units: what every draw of theirs is a function of.

An identifier by key survives sorting, inserting and deleting rows. Keys are told apart by 128 bits,
the keyed hash of their canonical text, of which any two of a billion share one with a probability
of 2e-21. A record's draws take the first 64: two of a billion share these with 3 %, and then, where
their true values are equal too, their draws.

The hash's 128 bits say nothing of a text to anyone without the key. It is the CBC-MAC with AES-256
of a text's bytes. A CBC-MAC is a pseudo-random function as long as no message is the beginning of
another one (Bellare, Kilian, Rogaway 2000), so every message starts with its length. Block j of all
messages is encrypted in one call, which is what makes it fast; no hash depends on which others are
made with it. Pseudonyms are made with it, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Bytes, Indices, Integers, Words, factorize
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey, BlockCipher, KeyRing

Hashes = Words

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

    data: Bytes
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
    rows: Indices | None = None  # all
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


def _word(words: Hashes, starts: Integers, lengths: Integers, at: int) -> Words:
    """Return 8 bytes of each text from its byte `at` on, zeros behind its end."""
    places = starts + at
    shift = ((places & 7) << 3).view(np.uint64)
    places >>= 3
    found: Words = words.take(places)
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


_ROWS: Final = 1 << 20
"""Rows whose keys are texts at a time."""
NAMED_ROWS: Final = 5
"""So many pairs of rows with one key are named."""

Ids = Words


def record_ids_by_position(rows: int) -> Ids:
    """Return each row's position, from 0, as its identifier; shape (rows,)."""
    return np.arange(rows, dtype=np.uint64)


def record_ids_by_key(column: pd.Series, keys: KeyRing, context: Context) -> Ids:
    """Return the keyed hash of each row's record key as its identifier.

    Parameters
    ----------
    column
        The record key, shape (n,).
    keys
        The project's keys.
    context
        Told of the progress; may stop the work.

    Returns
    -------
    numpy.ndarray
        Identifiers, shape (n,).

    Raises
    ------
    TableError
        If a key is missing, or stands in two rows. The rows are named, never the key.
    """
    refuse_missing(str(column.name), column.isna().to_numpy())
    key = keys.for_record_keys()
    ids = np.empty(len(column), dtype=np.uint64)
    for rows, hashes in _hashed([column], key, context):
        ids[rows] = hashes[:, 0]
    _refuse_duplicates(column, ids, key)
    return ids


def are_apart(column: pd.Series) -> bool:
    """Return whether record keys are found to differ by counting them, without their hashes.

    Whole numbers have a text each; of other keys, several may have one.
    """
    whole = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu"
    return whole and column.is_unique


def key_hashes(column: pd.Series, keys: KeyRing, context: Context) -> Words:
    """Return the keyed hash of each row's record key, shape (n, 2).

    Two rows with the same 128 bits have the same key, which nobody has looked for here: these may
    be some of a table's rows. The first word is the identifier of `record_ids_by_key`.

    Raises
    ------
    TableError
        If a key is missing.
    """
    refuse_missing(str(column.name), column.isna().to_numpy())
    found = np.empty((len(column), 2), dtype=np.uint64)
    for rows, hashes in _hashed([column], keys.for_record_keys(), context):
        found[rows] = hashes
    return found


def unit_ids(columns: Sequence[pd.Series], keys: KeyRing) -> Ids:
    """Return the keyed hash of what names each unit as its identifier, as of a record key.

    Parameters
    ----------
    columns
        What names the units together, nothing missing, shape (units,) each.
    keys
        The project's keys.
    """
    ids = np.empty(len(columns[0]), dtype=np.uint64)
    for rows, hashes in _hashed(columns, keys.for_units(), Silent()):
        ids[rows] = hashes[:, 0]
    return ids


def _hashed(
    columns: Sequence[pd.Series], key: AttributeKey, context: Context
) -> Iterator[tuple[slice, Words]]:
    """Yield stretches of rows with the hash of what stands in their columns, shape (k, 2)."""
    rows = len(columns[0])
    for start in range(0, rows, _ROWS):
        stretch = slice(start, min(start + _ROWS, rows))
        texts = [canonical_texts(column.iloc[stretch]) for column in columns]
        yield stretch, keyed_hash(texts, key, Part(context, start / rows, stretch.stop / rows))


def refuse_missing(name: str, missing: npt.NDArray[np.bool_]) -> None:
    """Raise `TableError` where a record key is missing in a row, shape (n,)."""
    if missing.any():
        raise TableError(
            "The record key {column} is missing in {count} {count:row|rows}, first in row {row}.",
            "Fill the key in, choose another record key, or identify records by position.",
            column=name,
            count=int(missing.sum()),
            row=int(missing.argmax()) + 1,
        )


def _refuse_duplicates(column: pd.Series, ids: Ids, key: AttributeKey) -> None:
    """Refuse equal keys: among those with one identifier, those whose whole hash is the same."""
    ordered = np.sort(ids)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(ids, kind="stable")
    same = ids[order[1:]] == ids[order[:-1]]
    suspects = np.union1d(order[1:][same], order[:-1][same])
    pieces = _hashed([column.iloc[suspects]], key, Silent())
    hashes = np.concatenate([found for _, found in pieces])
    first_rows: dict[bytes, int] = {}
    pairs: list[tuple[int, int]] = []
    for row, found in zip(map(int, suspects), hashes, strict=True):
        first = first_rows.setdefault(found.tobytes(), row)
        if first != row:
            pairs.append((first + 1, row + 1))
        if len(pairs) > NAMED_ROWS:
            break
    if pairs:
        raise repeated_key(str(column.name), pairs)


def repeated_key(name: str, pairs: Sequence[tuple[int, int]]) -> TableError:
    """Return what is said of a record key that rows share, in pairs of rows from 1 on."""
    return TableError(
        "The record key {column} is not unique: {pairs} share a key{more}.",
        "Choose a column whose values are unique, or identify records by position.",
        column=name,
        pairs=", ".join(f"rows {one} and {other}" for one, other in pairs[:NAMED_ROWS]),
        more=", and there are more" if len(pairs) > NAMED_ROWS else "",
    )
