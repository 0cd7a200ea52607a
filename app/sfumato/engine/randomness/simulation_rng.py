"""Draws for averages and simulations: from AES under a key that everyone knows.

Nothing drawn here is released. The same question has the same answer, on every machine.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.randomness.keys import BLOCK_BYTES, SECRET_BYTES, BlockCipher

Places = npt.NDArray[np.int64]

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


def places_of(steps: Vector, draws: Vector) -> Places:
    """Return the value that each draw from [0, 1) falls on, given cumulated probabilities."""
    found: Places = np.searchsorted(steps, draws * steps[-1], side="right")
    places: Places = np.minimum(found, len(steps) - 1)
    return places


def draw_released(matrix: PerturbationMatrix, original: Places, draws: Vector) -> Places:
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
        retained: Places = np.where(draws < kept, original, replaced)
        return retained
    order = np.argsort(original, kind="stable")
    sorted_values = original[order]
    starts = np.flatnonzero(np.append(True, sorted_values[1:] != sorted_values[:-1]))
    released = np.empty_like(original)
    for start, end in itertools.pairwise([*starts.tolist(), len(original)]):
        steps = np.cumsum(matrix.column(int(sorted_values[start])))
        released[order[start:end]] = places_of(steps, draws[order[start:end]])
    return released
