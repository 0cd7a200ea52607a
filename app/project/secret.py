"""The project secret, and the passphrase that wraps it.

The secret is 32 random bytes from the operating system. The file keeps it encrypted by
AES-256-GCM under a key that scrypt (RFC 7914) derives from the passphrase; the project's
identity is the associated data, so a wrapped secret can't be moved to another project.
Whoever has the secret can tell which released values are true.
"""

from __future__ import annotations

import secrets
import unicodedata
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from app.project.errors import DamagedProject, PassphraseError, WrongPassphrase

SECRET_BYTES: Final = 32
SALT_BYTES: Final = 16
NONCE_BYTES: Final = 12

LARGEST_N: Final = 2**20
LARGEST_R: Final = 32
LARGEST_P: Final = 16


@dataclass(frozen=True)
class ScryptCost:
    """How much work one guess of the passphrase is (RFC 7914).

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
        for all of the machine's memory.
    """

    n: int
    r: int = 8
    p: int = 1

    def __post_init__(self) -> None:
        power_of_two = self.n >= 2 and self.n & (self.n - 1) == 0
        within = self.n <= LARGEST_N and 1 <= self.r <= LARGEST_R and 1 <= self.p <= LARGEST_P
        if not (power_of_two and within):
            raise DamagedProject(
                "The passphrase settings of this project are not valid.",
                "The file was damaged or changed; use a copy of it from before.",
            )


STANDARD_COST: Final = ScryptCost(2**17)
"""128 MiB of memory for each guess."""


@dataclass(frozen=True)
class WrappedSecret:
    """The secret as the file keeps it: useless without the passphrase."""

    salt: bytes
    nonce: bytes
    ciphertext: bytes
    cost: ScryptCost


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
                "The file was damaged or changed; use a copy of it from before.",
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
    secret: ProjectSecret, passphrase: str, project_id: str, cost: ScryptCost = STANDARD_COST
) -> WrappedSecret:
    """Encrypt the secret under a passphrase.

    Parameters
    ----------
    secret
        What to wrap.
    passphrase
        Any text; spaces at the ends count, and accented letters match however they are typed.
    project_id
        The project that the secret belongs to.
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
            "Try again, minding capitals and the keyboard's language. Without the passphrase"
            " nobody can open the project.",
        ) from None
    return ProjectSecret(value)


def _key_from(passphrase: str, salt: bytes, cost: ScryptCost) -> bytes:
    # One passphrase can reach us in several Unicode forms, depending on the keyboard.
    typed = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    return Scrypt(salt=salt, length=32, n=cost.n, r=cost.r, p=cost.p).derive(typed)
