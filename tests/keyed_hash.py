"""The keyed hash of a text, worked out a message at a time by the library's own CBC."""

from __future__ import annotations

import hmac
import json

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def key_of(secret: bytes, *parts: str) -> bytes:
    """HKDF with SHA-256 (RFC 5869), one block, no salt."""
    info = json.dumps(["sfumato", 1, *parts]).encode()
    return hmac.digest(hmac.digest(bytes(32), secret, "sha256"), info + b"\1", "sha256")


def message(*texts: bytes) -> bytes:
    """What is hashed: each text behind its length and the number of texts, in whole blocks."""
    whole = b""
    for text in texts:
        whole += len(text).to_bytes(6, "little") + len(texts).to_bytes(2, "little") + text
        whole += bytes(-len(whole) % 16)
    return whole


def cbc_mac(key: bytes, *texts: bytes) -> bytes:
    """The last block of a message's encryption in CBC mode from a block of zeros."""
    encryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    return encryptor.update(message(*texts))[-16:]


def pseudonym_by_hand(secret: bytes, column: str, scope: str, value: str) -> str:
    """A pseudonym, a value at a time: HKDF, then CBC-MAC, then 26 letters."""
    mac = cbc_mac(key_of(secret, "pseudonyms", column, scope), value.encode())
    words = int.from_bytes(mac[:8], "little"), int.from_bytes(mac[8:], "little")
    return "".join(ALPHABET[word // 32**place % 32] for word in words for place in range(13))
