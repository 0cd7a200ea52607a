"""The uniform ladder: releases of a categorical attribute at any trust level."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.engine.columns import Codes
from app.engine.errors import LevelError
from app.engine.progress import Context
from app.engine.randomness import AttributeKey

_BLOCK_RECORDS = 1 << 16


def check_level(level: float) -> None:
    """Raise `LevelError` where `level` is not a retention probability."""
    if not 0.0 <= level <= 1.0:
        raise LevelError(
            "The retention probability {level} is not between 0 and 1.",
            "Choose a number from 0 (nothing is kept) to 1 (the original).",
            level=level,
        )


def release_codes(
    codes: Codes,
    size: int,
    level: float,
    record_ids: npt.NDArray[np.uint64],
    key: AttributeKey,
    context: Context,
    threads: int = 2,  # noqa: ARG001
) -> Codes:
    """Return an attribute's codes as they are released at one level.

    Parameters
    ----------
    codes
        The true values, shape (n,).
    size
        The number of values in the domain, m.
    level
        The retention probability p, from 0 to 1.
    record_ids
        The records' identifiers, shape (n,).
    key
        The attribute's key.
    context
        Told of the progress; may stop the work.
    threads
        How many blocks of records are worked on at once.

    Returns
    -------
    numpy.ndarray
        The released codes, shape (n,), in the type of `codes`.

    Raises
    ------
    LevelError
        If the level is not between 0 and 1.
    """
    check_level(level)
    out = codes.copy()
    for start in range(0, len(codes), _BLOCK_RECORDS):
        context.report(start / len(codes), "Releasing")
        part = slice(start, start + _BLOCK_RECORDS)
        out[part] = _release_part(codes[part], size, level, record_ids[part], key)
    context.report(1.0, "Releasing")
    return out


def _release_part(
    codes: Codes, size: int, level: float, ids: npt.NDArray[np.uint64], key: AttributeKey
) -> Codes:
    out = codes.copy()
    if level == 1.0:
        return out
    cipher = key.cipher()
    active = np.arange(len(codes))
    position = np.ones(len(codes))
    event = 0
    while len(active):
        blocks = np.empty((len(active), 4), dtype="<u4")
        blocks.view("<u8")[:, 0] = ids[active]
        blocks[:, 2] = codes[active]
        blocks[:, 3] = event
        drawn = np.empty(16 * len(active) + 15, dtype=np.uint8)
        cipher.encrypt(blocks.reshape(-1).view(np.uint8), drawn)
        words = drawn[:-15].view("<u8").reshape(-1, 2)
        position = position * ((words[:, 0] >> np.uint64(11)) + 0.5) * 2.0**-53
        hit = position >= level
        values = ((words[:, 1] >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)
        out[active[hit]] = values[hit].astype(codes.dtype)
        active, position = active[hit], position[hit]
        if level == 0.0:
            break
        event += 1
    return out
