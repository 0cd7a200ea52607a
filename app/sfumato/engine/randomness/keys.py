"""Keyed randomness: everything a release draws is a pure function of a secret.

A draw is one block of AES-256. The block that is encrypted holds the record's identifier
(64 bits), the code of its true value (32 bits) and the number of a stream (32 bits), so that

* the same record shows the same draws in every release and every edition,
* a record whose true value was corrected gets draws that have nothing to do with the old ones,
* no draw tells anything about another to anyone without the key.

Blocks are encrypted one by one (ECB). As a way to encrypt *messages* that would be a mistake,
because equal blocks give equal ciphertexts; here the blocks are the distinct inputs of a
pseudo-random function, equal inputs must give equal outputs, and nobody is shown either.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Context
from sfumato.engine.randomness.canonical_texts import canonical_text

SECRET_BYTES: Final = 32
"""The length of a project's secret."""

BLOCK_BYTES: Final = 16
"""The length of one block of AES: four words of 32 bits."""

RECORD_KEY_PURPOSE: Final = "record ids"
ROW_ORDER_PURPOSE: Final = "row order"

_HASH_ROWS: Final = 50_000
_NAMED_ROWS: Final = 5


class BlockCipher:
    """A pseudo-random function on blocks, for one thread.

    Parameters
    ----------
    key
        32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(key hidden)"

    def encrypt(self, blocks: npt.NDArray[np.uint8], out: npt.NDArray[np.uint8]) -> None:
        """Encrypt each block into its place in `out`.

        Parameters
        ----------
        blocks
            Whole blocks, shape (16·n,), contiguous.
        out
            Room for the result, shape (16·n + 15,) or longer, contiguous; the last 15 bytes
            are scratch that the library asks for.
        """
        self._encryptor.update_into(blocks.data, out.data)


class AttributeKey:
    """The key of one attribute's draws; its text form hides it."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) != SECRET_BYTES:
            raise ValueError(f"a key has {SECRET_BYTES} bytes")
        self._key = key

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a key is not pickled")

    def cipher(self) -> BlockCipher:
        """Return the key's pseudo-random function; each thread takes its own."""
        return BlockCipher(self._key)

    def hasher(self) -> hashlib.blake2b:
        """Return a keyed BLAKE2b of 64 bits that has read nothing yet."""
        return hashlib.blake2b(key=self._key, digest_size=8)


class KeyRing:
    """All keys of a project, derived from its secret when they are asked for.

    Parameters
    ----------
    secret
        32 bytes from the operating system's generator. Whoever has them can tell which
        released values are true.

    Raises
    ------
    ValueError
        If the secret has another length.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"a secret has {SECRET_BYTES} bytes")
        self._secret = bytes(secret)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a key ring is not pickled")

    def for_attribute(self, name: str, domain_fingerprint: str, purpose: str) -> AttributeKey:
        """Return the key of one attribute for one purpose (HKDF with SHA-256, RFC 5869).

        Parameters
        ----------
        name
            The attribute's name.
        domain_fingerprint
            The digest of its domain: another domain is another ladder.
        purpose
            What is drawn, for instance a mechanism's name.
        """
        return self._derive("attribute", name, domain_fingerprint, purpose)

    def for_record_keys(self) -> AttributeKey:
        """Return the key that turns record keys into record identifiers."""
        return self._derive(RECORD_KEY_PURPOSE)

    def for_units(self) -> AttributeKey:
        """Return the key that turns what names a unit into the unit's identifier."""
        return self._derive("unit ids")

    def for_unit_rows(self) -> AttributeKey:
        """Return the key that chooses which rows of a unit leave."""
        return self._derive("unit rows")

    def for_statistics(self, what: str, drawn_for: str) -> AttributeKey:
        """Return the key of the noise of some statistics of the table.

        Parameters
        ----------
        what
            What is measured.
        drawn_for
            A digest of the exact statistics, and how much noise there is to be: other
            statistics get noise that has nothing to do with this one's.
        """
        return self._derive("statistics", what, drawn_for)

    def for_pseudonyms(self, column: str, scope: str) -> AttributeKey:
        """Return the key of a column's pseudonyms for whoever is in a scope."""
        return self._derive("pseudonyms", column, scope)

    def for_row_order(self, release_id: str) -> AttributeKey:
        """Return the key that orders the rows of one release (`randomness.row_order`)."""
        return self._derive(ROW_ORDER_PURPOSE, release_id)

    def _derive(self, *parts: str) -> AttributeKey:
        # JSON keeps the parts apart: no two lists of parts give one text.
        label = json.dumps(["sfumato", 1, *parts]).encode()
        derived = HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=None, info=label)
        return AttributeKey(derived.derive(self._secret))


def record_ids_by_position(rows: int) -> npt.NDArray[np.uint64]:
    """Return each row's position, from 0, as its identifier; shape (rows,)."""
    return np.arange(rows, dtype=np.uint64)


def record_ids_by_key(column: pd.Series, keys: KeyRing, context: Context) -> npt.NDArray[np.uint64]:
    """Return the keyed hash of each row's record key as its identifier.

    The identifiers survive sorting, inserting and deleting rows. They are the first 64 bits
    of a keyed BLAKE2b of the key's canonical text (`canonical_text`). Two different keys among
    ten million share an identifier with a probability of 3e-6; such records would share their
    draws where their true values are equal, and nothing else follows.

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
    _refuse_missing(column)
    hasher = keys.for_record_keys().hasher()
    rows = len(column)
    ids = np.empty(rows, dtype=np.uint64)
    for start in range(0, rows, _HASH_ROWS):
        context.report(start / rows, "Hashing the record key")
        texts = _canonical_texts(column.iloc[start : start + _HASH_ROWS])
        digests = b"".join(_digests(texts, hasher))
        ids[start : start + _HASH_ROWS] = np.frombuffer(digests, dtype="<u8")
    context.report(1.0, "Hashing the record key")
    _refuse_duplicates(column, ids)
    return ids


def unit_ids(columns: Sequence[pd.Series], keys: KeyRing) -> npt.NDArray[np.uint64]:
    """Return the keyed hash of what names each unit as its identifier, as of a record key.

    Parameters
    ----------
    columns
        What names the units together, nothing missing, shape (units,) each.
    keys
        The project's keys.
    """
    # JSON keeps the parts apart, as for keys.
    named = zip(*(map(canonical_text, column.tolist()) for column in columns), strict=True)
    texts = map(json.dumps, named)
    return np.frombuffer(b"".join(_digests(texts, keys.for_units().hasher())), dtype="<u8")


def _canonical_texts(column: pd.Series) -> Iterable[str]:
    """Return each key's canonical text."""
    if pd.api.types.is_integer_dtype(column.dtype):
        return map(str, column.tolist())
    return map(canonical_text, column.tolist())


def _digests(texts: Iterable[str], hasher: hashlib.blake2b) -> Iterator[bytes]:
    for text in texts:
        one = hasher.copy()
        # Text that was read with the wrong encoding can hold what UTF-8 has no bytes for.
        one.update(text.encode(errors="surrogatepass"))
        yield one.digest()


def _refuse_missing(column: pd.Series) -> None:
    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(
            "The record key {column} is missing in {count} rows, first in row {row}.",
            "Fill the key in, choose another record key, or identify records by position.",
            column=column.name,
            count=int(missing.sum()),
            row=int(missing.argmax()) + 1,
        )


def _refuse_duplicates(column: pd.Series, ids: npt.NDArray[np.uint64]) -> None:
    ordered = np.sort(ids)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(ids, kind="stable")
    same = ids[order[1:]] == ids[order[:-1]]
    suspects = np.union1d(order[1:][same], order[:-1][same])
    # Two keys can share a hash without being equal.
    first_rows: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for row in map(int, suspects):
        first = first_rows.setdefault(canonical_text(column.iloc[row]), row)
        if first != row:
            pairs.append((first + 1, row + 1))
        if len(pairs) > _NAMED_ROWS:
            break
    if pairs:
        raise TableError(
            "The record key {column} is not unique: {pairs} share a key{more}.",
            "Choose a column whose values are unique, or identify records by position.",
            column=column.name,
            pairs=", ".join(f"rows {one} and {other}" for one, other in pairs[:_NAMED_ROWS]),
            more=", and there are more" if len(pairs) > _NAMED_ROWS else "",
        )
