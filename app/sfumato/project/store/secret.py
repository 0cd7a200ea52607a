"""The project secret, and the passphrase that wraps it.

The secret is 32 random bytes from the operating system. The file keeps it encrypted by
AES-256-GCM under a key that Argon2id (RFC 9106) derives from the passphrase, or scrypt (RFC
7914) in files from before and where the system's cryptography lacks Argon2id. The project's
identity is the associated data, so a wrapped secret can't be moved to another project.
Whoever has the secret can tell which released values are true.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import sqlite3
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict
from enum import Enum
from typing import ClassVar, Final

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from sfumato.engine.core.frozen import dataclass
from sfumato.project.document.model import canonical_json
from sfumato.project.errors import DamagedProject, PassphraseError, WrongPassphrase
from sfumato.project.store.schema import Contents, Row

SECRET_BYTES: Final = 32
SALT_BYTES: Final = 16
NONCE_BYTES: Final = 12

TAG_BYTES: Final = 16

LARGEST_WORK: Final = 2**22
"""Bounds n * r * p of scrypt: four times what Sfumato writes, about a second and 512 MiB."""
LARGEST_R: Final = 32
LARGEST_P: Final = 16
LARGEST_MEMORY: Final = 2**19
"""Bounds the memory of Argon2id in KiB, four times what Sfumato writes."""
LARGEST_PASSES: Final = 12
LARGEST_FILL: Final = 3 * 2**19
"""Bounds memory * passes of Argon2id: four times what Sfumato writes."""
LARGEST_LANES: Final = 16


WEAK_BITS: Final = 45.0
STRONG_BITS: Final = 70.0
BITS_OF_A_WORD: Final = 12.0
"""A word that a person picks is one of some four thousand."""

_TRIED_FIRST: Final = re.compile(
    "passphrase|passwor[dt]|p[a@]ssw0rd|geheim|hallo|iloveyou|letmein|qwert[yz]|asdf|welcome"
    "|willkommen|admin|sommer|summer|winter|sfumato|secret|(19|20)[0-9]{2}"
)
"""What every list of passwords begins with; each counts like a single letter."""


class Strength(Enum):
    """How long a passphrase would withstand guessing, roughly."""

    EMPTY = 0
    WEAK = 1
    FAIR = 2
    STRONG = 3


def guessing_bits(passphrase: str) -> float:
    """Estimate how many bits of guessing a passphrase withstands; on the careful side.

    Letters that repeat or follow one another count once, and so does what is tried first.
    Several words count as words rather than as letters: a guesser tries dictionaries.
    """
    pieces = [piece for piece in re.split(r"[\s\-_.,]+", passphrase) if piece]
    shortened = _TRIED_FIRST.sub("a", passphrase.lower())
    fresh = [
        now
        for before, now in zip(" " + shortened, shortened, strict=False)
        if ord(now) - ord(before) not in (-1, 0, 1)
    ]
    pools = ((r"[a-z]", 26), (r"[A-Z]", 26), (r"[0-9]", 10), (r"[^a-zA-Z0-9]", 33))
    alphabet = sum(size for pattern, size in pools if re.search(pattern, passphrase))
    letters = len(fresh) * math.log2(alphabet) if alphabet > 1 else 0.0
    if not all(re.fullmatch(r"[^\W\d_]+", piece) for piece in pieces):
        return letters * 0.8
    return min(letters, BITS_OF_A_WORD * len(set(map(str.lower, pieces))) * 1.5)


def strength_of(passphrase: str) -> Strength:
    """Return how strong a passphrase is, roughly."""
    if not passphrase:
        return Strength.EMPTY
    bits = guessing_bits(passphrase)
    if bits < WEAK_BITS:
        return Strength.WEAK
    return Strength.FAIR if bits < STRONG_BITS else Strength.STRONG


@dataclass(frozen=True)
class ScryptCost:
    """How much work one guess of the passphrase is, by scrypt (RFC 7914).

    Parameters
    ----------
    n
        Work and memory, a power of two; memory is ``128 * n * r`` bytes.
    r, p
        Block size and parallelism.

    Raises
    ------
    DamagedProject
        If the numbers are not ones that Sfumato writes: a crafted file could otherwise ask
        for all of the machine's memory, or for minutes of work.
    """

    kdf: ClassVar[str] = "scrypt"

    n: int
    r: int = 8
    p: int = 1

    def __post_init__(self) -> None:
        power_of_two = self.n >= 2 and self.n & (self.n - 1) == 0
        within = 1 <= self.r <= LARGEST_R and 1 <= self.p <= LARGEST_P
        within = within and self.n.bit_length() <= 16 * self.r  # RFC 7914, section 6
        if not (power_of_two and within and self.n * self.r * self.p <= LARGEST_WORK):
            raise _invalid_settings()

    def key_from(self, passphrase: bytes, salt: bytes) -> bytes:
        """Return the 32 bytes that a passphrase stands for."""
        return Scrypt(salt=salt, length=32, n=self.n, r=self.r, p=self.p).derive(passphrase)


@dataclass(frozen=True)
class Argon2Cost:
    """How much work one guess of the passphrase is, by Argon2id (RFC 9106).

    Parameters
    ----------
    memory
        In KiB; at least 8 for each lane.
    passes
        How often the memory is gone through.
    lanes
        How many processors can share the work.

    Raises
    ------
    DamagedProject
        If the numbers are not ones that Sfumato writes.
    """

    kdf: ClassVar[str] = "argon2id"

    memory: int
    passes: int = 3
    lanes: int = 4

    def __post_init__(self) -> None:
        within = 1 <= self.lanes <= LARGEST_LANES and 1 <= self.passes <= LARGEST_PASSES
        within = within and self.memory * self.passes <= LARGEST_FILL
        if not (within and 8 * self.lanes <= self.memory <= LARGEST_MEMORY):
            raise _invalid_settings()

    def key_from(self, passphrase: bytes, salt: bytes) -> bytes:
        """Return the 32 bytes that a passphrase stands for."""
        try:
            derivation = Argon2id(
                salt=salt,
                length=32,
                iterations=self.passes,
                lanes=self.lanes,
                memory_cost=self.memory,
            )
        except UnsupportedAlgorithm:
            raise PassphraseError(
                "The passphrase can't be tried here: the cryptography of this system lacks"
                " Argon2id.",
                "Open the project where Sfumato was installed from PyPI, or update the system's"
                " OpenSSL to 3.2 or later.",
            ) from None
        return derivation.derive(passphrase)


Cost = ScryptCost | Argon2Cost


def _standard_cost() -> Cost:
    try:
        Argon2id(salt=bytes(SALT_BYTES), length=32, iterations=1, lanes=1, memory_cost=8)
    except UnsupportedAlgorithm:  # an OpenSSL of the system's own, before 3.2
        return ScryptCost(2**17)
    return Argon2Cost(2**17)


STANDARD_COST: Final[Cost] = _standard_cost()
"""128 MiB of memory for each guess."""


def cost_to_json(cost: Cost) -> str:
    """Return what the file keeps of a cost beside its function's name."""
    return canonical_json(asdict(cost))


def cost_from_json(kdf: str, text: str) -> Cost:
    """Return the cost that a file names.

    Raises
    ------
    DamagedProject
        If the function is not known, or its numbers are not ones that Sfumato writes.
    """
    kinds: dict[str, type[Cost]] = {ScryptCost.kdf: ScryptCost, Argon2Cost.kdf: Argon2Cost}
    try:
        numbers = json.loads(text)
        if not all(type(number) is int for number in numbers.values()):
            raise _invalid_settings()
        return kinds[kdf](**numbers)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _invalid_settings() from None


def _invalid_settings() -> DamagedProject:
    return DamagedProject(
        "The passphrase settings of this project are not valid.",
        "The file was damaged or changed; restore an earlier copy.",
    )


@dataclass(frozen=True)
class WrappedSecret:
    """The secret as the file keeps it: useless without the passphrase.

    Raises
    ------
    DamagedProject
        If a part has another length than Sfumato writes.
    """

    salt: bytes
    nonce: bytes
    ciphertext: bytes
    cost: Cost

    def __post_init__(self) -> None:
        lengths = (len(self.salt), len(self.nonce), len(self.ciphertext))
        if lengths != (SALT_BYTES, NONCE_BYTES, SECRET_BYTES + TAG_BYTES):
            raise DamagedProject(
                "The wrapped secret of this project has the wrong length.",
                "The file was damaged or changed; restore an earlier copy.",
            )


class ProjectSecret:
    """The opened secret. Its text form shows nothing of it.

    Parameters
    ----------
    value
        The 32 bytes.
    """

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        if len(value) != SECRET_BYTES:
            raise DamagedProject(
                "The project's secret has the wrong length.",
                "The file was damaged or changed; restore an earlier copy.",
            )
        self._value = value

    @classmethod
    def generate(cls) -> ProjectSecret:
        """Return a new secret from the operating system's random source."""
        return cls(secrets.token_bytes(SECRET_BYTES))

    def reveal(self) -> bytes:
        """Return the 32 bytes, for the key ring only."""
        return self._value

    def derive(self, purpose: str) -> bytes:
        """Return a key of 32 bytes for one purpose (HKDF with SHA-256, RFC 5869)."""
        info = b"sfumato project\x00" + purpose.encode()
        return HKDF(hashes.SHA256(), SECRET_BYTES, salt=None, info=info).derive(self._value)

    def __repr__(self) -> str:
        return "ProjectSecret(hidden)"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("A project secret is never pickled.")


def wrap(
    secret: ProjectSecret, passphrase: str, project_id: str, cost: Cost = STANDARD_COST
) -> WrappedSecret:
    """Encrypt the secret under a passphrase.

    Parameters
    ----------
    secret
        What to wrap.
    passphrase
        Any text; spaces at the ends count, and accented letters match however they are typed.
    project_id
        The project that the secret belongs to; or that and which of its keys it is.
    cost
        The work of one guess.

    Raises
    ------
    PassphraseError
        If the passphrase is empty.
    """
    if not passphrase:
        raise PassphraseError("The passphrase is empty.", "Choose a passphrase of several words.")
    salt = secrets.token_bytes(SALT_BYTES)
    nonce = secrets.token_bytes(NONCE_BYTES)
    key = _key_from(passphrase, salt, cost)
    ciphertext = AESGCM(key).encrypt(nonce, secret.reveal(), project_id.encode())
    return WrappedSecret(salt, nonce, ciphertext, cost)


def unwrap(wrapped: WrappedSecret, passphrase: str, project_id: str) -> ProjectSecret:
    """Decrypt the secret.

    Raises
    ------
    WrongPassphrase
        If the passphrase is another one than it was wrapped under.
    """
    key = _key_from(passphrase, wrapped.salt, wrapped.cost)
    try:
        value = AESGCM(key).decrypt(wrapped.nonce, wrapped.ciphertext, project_id.encode())
    except InvalidTag:
        raise WrongPassphrase(
            "The passphrase does not open this project.",
            "Try again, minding capitals and the keyboard's language. Without the passphrase or a"
            " recovery sheet nobody can open the project.",
        ) from None
    return ProjectSecret(value)


def _key_from(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    # One passphrase can reach us in several Unicode forms, depending on the keyboard.
    typed = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    try:
        return cost.key_from(typed, salt)
    except MemoryError:
        raise PassphraseError(
            "There is too little memory to try the passphrase.",
            "Close other programs and try again.",
        ) from None


def wrapped_in(contents: Contents) -> WrappedSecret:
    """Return the wrapped secret that stands in a file.

    Raises
    ------
    DamagedProject
        If it is none that Sfumato writes.
    """
    if contents.version == 1:  # which knows scrypt alone
        _, salt, nonce, ciphertext, n, r, p = contents.row("secret")
        cost = canonical_json({"n": n, "p": p, "r": r})
        return wrapped_in_row((1, "scrypt", cost, salt, nonce, ciphertext))
    return wrapped_in_row(contents.row("wrapping"))


RECOVERY: Final = "recovery"
APPROVER: Final = "approver"
"""The kinds of further keys."""


def key_in(rows: Iterable[Row], kind: str, name: str = "") -> tuple[bytes, WrappedSecret] | None:
    """Return a further key among rows, its public part first; None where there is none.

    Raises
    ------
    DamagedProject
        If it is none that Sfumato writes.
    """
    for _kind, _name, public, kdf, cost, salt, nonce, ciphertext in rows:
        if (_kind, _name) == (kind, name):
            return public, WrappedSecret(salt, nonce, ciphertext, cost_from_json(kdf, cost))
    return None


def write_key(
    connection: sqlite3.Connection,
    kind: str,
    wrapped: WrappedSecret,
    name: str = "",
    public: bytes = b"",
) -> None:
    """Write a further key in the place of the one before, inside a transaction."""
    cost = wrapped.cost
    connection.execute(
        "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(kind, name, public, cost.kdf, cost_to_json(cost)),
            *(wrapped.salt, wrapped.nonce, wrapped.ciphertext),
        ),
    )


def wrapped_in_row(row: Row) -> WrappedSecret:
    """Return the wrapped secret that a row holds; raises as `wrapped_in`."""
    _, kdf, cost, salt, nonce, ciphertext = row
    return WrappedSecret(salt, nonce, ciphertext, cost_from_json(kdf, cost))


def write_wrapping(connection: sqlite3.Connection, wrapped: WrappedSecret) -> None:
    """Write a wrapped secret in the place of the one before, inside a transaction."""
    cost = wrapped.cost
    connection.execute(
        "INSERT OR REPLACE INTO wrapping VALUES (1, ?, ?, ?, ?, ?)",
        (cost.kdf, cost_to_json(cost), wrapped.salt, wrapped.nonce, wrapped.ciphertext),
    )
