"""Statistics of the true table with keyed noise, for what stands in a bundle beside the values.

A profile that is solved from exact frequencies, or a mean that is published, tells whoever knows
all records but one about that one. Made from counts with noise, they tell no more than e^ε0 times
the odds (differential privacy; one record replaced), and that is counted in the promise.

The noise is the discrete Laplace law, Pr[z] ∝ exp(−|z|·ε0/Δ), drawn without any floating-point
number, so that no value of it gives itself away (Canonne, Kamath and Steinke, "The Discrete
Gaussian for Differential Privacy", 2020, algorithms 1 and 2; the floating-point attack: Mironov,
2012). All its randomness is keyed: a pure function of the secret, of what is measured, of the
exact statistics and of ε0. Asking again gives the same noise, so it can't be averaged away;
another table gives noise that has nothing to do with it.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.values import Floats, is_number
from sfumato.engine.randomness.keys import BLOCK_BYTES, SECRET_BYTES, AttributeKey, KeyRing

SENSITIVITY_OF_COUNTS: Final = 2
"""One record with another value lowers one count by 1 and raises another by 1."""

SMALLEST_EPSILON: Final = 1e-6
LARGEST_EPSILON: Final = 20.0

_BLOCKS_AT_ONCE: Final = 512


class KeyedNoise:
    """The source of noise for statistics: a project's keys, or passing ones before it has any.

    Parameters
    ----------
    keys
        Whoever has them can take the noise away again.
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    @classmethod
    def passing(cls) -> KeyedNoise:
        """Return noise by a key that is thrown away, for a document without a project yet."""
        return cls(KeyRing(secrets.token_bytes(SECRET_BYTES)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(keys hidden)"

    def counts(
        self, what: str, counts: npt.NDArray[np.integer] | Sequence[int], epsilon: float
    ) -> tuple[int, ...]:
        """Return how often each value occurs, with noise that is ε0-differentially private.

        Parameters
        ----------
        what
            What is counted, with the attribute's name and its domain's fingerprint.
        counts
            The exact counts, shape (m,); each record is in just one of them.
        epsilon
            ε0: two tables that differ in one record give any result with probabilities that
            differ by a factor of at most e^ε0.

        Returns
        -------
        tuple of int
            Shape (m,); some may be below 0.

        Raises
        ------
        LevelError
            If ε0 is out of range.
        """
        return self.integers(what, [int(count) for count in counts], SENSITIVITY_OF_COUNTS, epsilon)

    def integers(
        self, what: str, exact: Iterable[int], sensitivity: int, epsilon: float
    ) -> tuple[int, ...]:
        """Return integer statistics with noise that is ε0-differentially private.

        Parameters
        ----------
        what
            What is measured.
        exact
            The exact statistics, of any size. Numbers have to be clipped and counted in whole
            steps first.
        sensitivity
            Δ: how far they move, summed over all of them (L1), where one record is replaced by
            any other. Nothing is promised where it is stated too low.
        epsilon
            ε0.

        Raises
        ------
        LevelError
            If ε0 is out of range.
        """
        values = [int(value) for value in exact]
        check_epsilon(epsilon)
        if sensitivity < 1:
            raise ValueError("a sensitivity is a whole number from 1")
        digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()
        drawn_for = json.dumps([digest, sensitivity, float(epsilon).hex()])
        bits = _Bits(self._keys.for_statistics(what, drawn_for))
        scale = Fraction(sensitivity) / Fraction(float(epsilon))
        return tuple(value + _discrete_laplace(bits, scale) for value in values)


def check_epsilon(epsilon: float) -> float:
    """Return an ε0 of statistics with noise.

    Raises
    ------
    LevelError
        If it is no number, or out of range.
    """
    if not is_number(epsilon) or not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise LevelError(
            "The privacy loss ε0 of statistics with noise is not a number from {low:g} to"
            " {high:g}.",
            "Give a small number such as 0.1.",
            low=SMALLEST_EPSILON,
            high=LARGEST_EPSILON,
        )
    return float(epsilon)


def standard_deviation(sensitivity: int, epsilon: float) -> float:
    """Return the standard deviation of one statistic's noise."""
    ratio = math.exp(-epsilon / sensitivity)
    return math.sqrt(2.0 * ratio) / (1.0 - ratio)


def shares_of(counts: Sequence[int] | npt.NDArray[np.integer]) -> Floats:
    """Return the shares that counts with noise stand for, shape (m,), summing to 1.

    Counts below 0 stand for 0; where nothing is left, every share is the same.
    """
    kept = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    total = float(kept.sum())
    if total <= 0.0:
        return np.full(len(kept), 1.0 / len(kept))
    return kept / total


class _Bits:
    """An endless stream of keyed bytes: AES-256 of the numbers from 0 on."""

    def __init__(self, key: AttributeKey) -> None:
        self._cipher = key.cipher()
        self._next_block = 0
        self._bytes = b""
        self._used = 0

    def take(self, count: int) -> int:
        """Return the next bytes as a whole number."""
        while len(self._bytes) - self._used < count:
            self._bytes = self._bytes[self._used :] + self._encrypted()
            self._used = 0
        taken = self._bytes[self._used : self._used + count]
        self._used += count
        return int.from_bytes(taken, "little")

    def _encrypted(self) -> bytes:
        numbers = np.zeros((_BLOCKS_AT_ONCE, 2), dtype="<u8")
        numbers[:, 0] = np.arange(self._next_block, self._next_block + _BLOCKS_AT_ONCE)
        self._next_block += _BLOCKS_AT_ONCE
        out = np.zeros(_BLOCKS_AT_ONCE * BLOCK_BYTES + BLOCK_BYTES - 1, dtype=np.uint8)
        self._cipher.encrypt(numbers.view(np.uint8).reshape(-1), out)
        return out[: _BLOCKS_AT_ONCE * BLOCK_BYTES].tobytes()

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to below a limit, each equally likely (by rejection)."""
        width = (limit - 1).bit_length()
        if width == 0:
            return 0
        size = (width + 7) // 8
        surplus = 8 * size - width
        while True:
            drawn = self.take(size) >> surplus
            if drawn < limit:
                return drawn


def _happens(bits: _Bits, numerator: int, denominator: int) -> bool:
    """Return true with probability exp(−numerator/denominator), a fraction from 0 to 1.

    The first k at which an event of probability γ/k fails is odd with probability e^(−γ).
    """
    k = 1
    while bits.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def _discrete_laplace(bits: _Bits, scale: Fraction) -> int:
    """Return z with probability proportional to exp(−|z|/scale)."""
    t, s = scale.numerator, scale.denominator
    while True:
        fine = bits.below(t)
        if not _happens(bits, fine, t):
            continue
        coarse = 0
        while _happens(bits, 1, 1):
            coarse += 1
        size = (fine + t * coarse) // s
        negative = bits.below(2) == 1
        if not (negative and size == 0):
            return -size if negative else size
