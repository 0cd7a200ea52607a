"""Keyed randomness: everything a release draws is a pure function of a secret.

A draw is one block of AES-256. The block that is encrypted holds the record's identifier
(64 bits), the code of its true value (32 bits) and the number of a stream (32 bits), so that

* the same record shows the same draws in every release and every edition,
* a record whose true value was corrected gets draws that have nothing to do with the old ones,
* no draw tells anything about another to anyone without the key.

Blocks are encrypted one by one (ECB). As a way to encrypt *messages* that would be a mistake,
because equal blocks give equal ciphertexts; here the blocks are the distinct inputs of a
pseudo-random function, equal inputs must give equal outputs, and nobody is shown either.

Draws for averages and simulations come from AES under a key that everyone knows: nothing of them is
released, and the same question has the same answer on every machine.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.values import Bytes, Indices, Integers
from sfumato.engine.matrices.hadamard_matrix import HadamardMatrix
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.matrices.retention_matrix import RetentionMatrix

SECRET_BYTES: Final = 32
"""The length of a project's secret."""

BLOCK_BYTES: Final = 16
"""The length of one block of AES: four words of 32 bits."""

RECORD_KEY_PURPOSE: Final = "record ids"
ROW_ORDER_PURPOSE: Final = "row order"


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

    def encrypt(self, blocks: Bytes, out: Bytes) -> None:
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

    def for_counts(self, table: str, edition: str, counts: str) -> AttributeKey:
        """Return the key of the noise of a table of counts.

        Parameters
        ----------
        table
            Its columns with their codings, whatever order they were named in.
        edition
            The digest of the source table.
        counts
            A digest of the exact counts: others never get the same noise.
        """
        return self._derive("counts", table, edition, counts)

    def for_pseudonyms(self, column: str, scope: str) -> AttributeKey:
        """Return the key of a column's pseudonyms for whoever is in a scope."""
        return self._derive("pseudonyms", column, scope)

    def for_suppressed_rows(self) -> AttributeKey:
        """Return the key by which a plan lists the rows that a view suppresses."""
        return self._derive("suppressed rows")

    def for_groups(self, entry: str) -> AttributeKey:
        """Return the key under which rows that a policy entry draws from are brought together."""
        return self._derive("group rows", entry)

    def for_classes(self) -> AttributeKey:
        """Return the key under which an engine counts classes of records."""
        return self._derive("classes")

    def for_row_order(self, release_id: str) -> AttributeKey:
        """Return the key that orders the rows of one release (`randomness.row_order`)."""
        return self._derive(ROW_ORDER_PURPOSE, release_id)

    def only(self, wanted: WantedKeys) -> DerivedKeys:
        """Return some of the keys without the secret that the others follow from."""
        found = {label: _derived(self._secret, label) for label in wanted.labels}
        return DerivedKeys({sha256(label).digest(): key for label, key in found.items()})

    def _derive(self, *parts: str) -> AttributeKey:
        return AttributeKey(_derived(self._secret, _label(parts)))


class WantedKeys(KeyRing):
    """Notes which keys are asked for; those that it gives are good for nothing else."""

    __slots__ = ("labels",)

    def __init__(self) -> None:
        super().__init__(bytes(SECRET_BYTES))
        self.labels: set[bytes] = set()

    def _derive(self, *parts: str) -> AttributeKey:
        self.labels.add(_label(parts))
        return super()._derive(*parts)


class DerivedKeys(KeyRing):
    """Some keys of a project without its secret, from which no other key follows.

    Parameters
    ----------
    keys
        32 bytes each, by the SHA-256 of what each is for.

    Raises
    ------
    ValueError
        If there is none, or one has another length.
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: Mapping[bytes, bytes]) -> None:
        if not keys or any(len(part) != SECRET_BYTES for pair in keys.items() for part in pair):
            raise ValueError("these are no keys")
        self._keys = dict(sorted(keys.items()))

    @classmethod
    def from_bytes(cls, content: bytes) -> DerivedKeys:
        """Return the keys that `to_bytes` wrote.

        Raises
        ------
        ValueError
            If it is anything else.
        """
        body = content.removeprefix(_MAGIC)
        if len(body) == len(content) or len(body) % (2 * SECRET_BYTES):
            raise ValueError("this is no file of keys")
        parts = [body[at : at + SECRET_BYTES] for at in range(0, len(body), SECRET_BYTES)]
        return cls(dict(zip(parts[::2], parts[1::2], strict=True)))

    def to_bytes(self) -> bytes:
        """Return the keys as a file holds them. Whoever has them has all that they protect."""
        return _MAGIC + b"".join(part for pair in self._keys.items() for part in pair)

    @property
    def fingerprint(self) -> str:
        """What tells these keys from others, and nothing about them: 128 bits in hexadecimal."""
        return _derived(self.to_bytes(), b"sfumato fingerprint")[:16].hex()

    def _derive(self, *parts: str) -> AttributeKey:
        key = self._keys.get(sha256(_label(parts)).digest())
        if key is None:
            raise PolicyError(
                "The keys are those of another plan: none is for {purpose}.",
                "Use the keys that were made together with the plan.",
                purpose=": ".join(parts[:2]),
            )
        return AttributeKey(key)


_MAGIC: Final = b"sfumato keys 1\n"


def _label(parts: Sequence[str]) -> bytes:
    # JSON keeps the parts apart: no two lists of parts give one text.
    return json.dumps(["sfumato", 1, *parts]).encode()


def _derived(secret: bytes, label: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=None, info=label).derive(secret)


_WORDS = BLOCK_BYTES // 4


def words(count: int, stream: int, start: int = 0) -> npt.NDArray[np.uint32]:
    """Return words of 32 bits that look random and are always the same, shape (count,).

    Parameters
    ----------
    count
        How many.
    stream
        Which of 2^64 sequences.
    start
        The block of the sequence with which to begin; a block has four words.
    """
    blocks = -(-count // _WORDS)
    plain = np.empty((blocks, 2), dtype="<u8")
    plain[:, 0] = np.arange(start, start + blocks, dtype=np.uint64)
    plain[:, 1] = stream
    drawn = np.empty(blocks * BLOCK_BYTES + BLOCK_BYTES - 1, dtype=np.uint8)
    BlockCipher(bytes(SECRET_BYTES)).encrypt(plain.view(np.uint8).reshape(-1), drawn)
    return drawn[: blocks * BLOCK_BYTES].view("<u4")[:count]


def uniforms(count: int, stream: int, start: int = 0) -> Vector:
    """Return numbers from [0, 1) that look random and are always the same, shape (count,).

    Parameters are those of `words`; a block of the sequence has two numbers.
    """
    pairs = words(2 * count, stream, start).view("<u8")
    return (pairs >> np.uint64(11)).astype(np.float64) * 2.0**-53


_SAMPLE_STREAM: Final = 0x0C10


def sample_rows(count: int, most: int) -> Indices:
    """Return at most so many rows, at random but always the same, ascending."""
    if count <= most:
        return np.arange(count)
    # One from each of `most` stretches of whole rows, so that none is there twice.
    bounds = np.arange(most + 1) * count // most
    within = uniforms(most, _SAMPLE_STREAM) * np.diff(bounds)
    chosen: Indices = bounds[:-1] + within.astype(np.intp)
    return chosen


def places_of(steps: Vector, draws: Vector) -> Integers:
    """Return the value that each draw from [0, 1) falls on, given cumulated probabilities."""
    found: Integers = np.searchsorted(steps, draws * steps[-1], side="right")
    return np.minimum(found, len(steps) - 1)


def draw_released(matrix: PerturbationMatrix, original: Integers, draws: Vector) -> Integers:
    """Draw a released value for each original one.

    Parameters
    ----------
    matrix
        What the release does.
    original
        Codes, shape (draws,).
    draws
        Numbers from [0, 1), shape (draws,).
    """
    if isinstance(matrix, RetentionMatrix):
        kept = matrix.retention[original]
        with np.errstate(divide="ignore", invalid="ignore"):
            other = np.nan_to_num((draws - kept) / (1.0 - kept) * matrix.size)
        replaced = np.clip(other, 0, matrix.size - 1).astype(np.int64)
        return np.where(draws < kept, original, replaced)
    if isinstance(matrix, HadamardMatrix):
        return matrix.released(original, draws)
    order = np.argsort(original, kind="stable")
    sorted_values = original[order]
    starts = np.flatnonzero(np.append(True, sorted_values[1:] != sorted_values[:-1]))
    released = np.empty_like(original)
    for start, end in itertools.pairwise([*starts.tolist(), len(original)]):
        steps = np.cumsum(matrix.column(int(sorted_values[start])))
        released[order[start:end]] = places_of(steps, draws[order[start:end]])
    return released
