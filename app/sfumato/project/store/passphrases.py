"""How long a passphrase would withstand guessing, roughly and on the careful side."""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import Final

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
