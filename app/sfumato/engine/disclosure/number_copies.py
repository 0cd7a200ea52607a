"""Copies of a table's numbers as a mechanism releases them, to try attacks on.

They are made under keys that everyone knows: nothing here is released, and the same question
has the same answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.mechanisms.adopted_settings import ADOPTED
from sfumato.engine.mechanisms.base import Mechanism, ReleaseRequest, Settings
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Attribute, EncodedColumn

Floats = npt.NDArray[np.float64]

_KNOWN: Final = b"known to everyone: copies of numbers"


def complete_records(attributes: Sequence[Attribute], most: int | None = None) -> Floats:
    """Return records in which every number is known, evenly spaced, shape (N, n).

    Parameters
    ----------
    attributes
        N numeric attributes with their numbers.
    most
        At most how many records; None for all.
    """
    whole = np.stack([each.numbers for each in attributes if each.numbers is not None])
    known = np.flatnonzero(np.isfinite(whole).all(axis=0))
    if most is not None and len(known) > most:
        known = known[np.linspace(0, len(known) - 1, most).astype(np.intp)]
    return whole[:, known]


def simulated_copies(
    mechanism: Mechanism,
    attributes: Sequence[Attribute],
    settings: Settings,
    true: Floats,
    levels: Sequence[float],
    context: Context,
    *,
    apart: bool = False,
) -> Floats:
    """Return what a mechanism releases of some records at some levels, shape (M, N, n).

    Parameters
    ----------
    mechanism, settings
        What makes the releases. Earlier releases that were adopted are left out of account.
    attributes
        N numeric attributes.
    true
        The records' true numbers, shape (N, n).
    levels
        The M levels, in the mechanism's unit.
    context
        Progress and cancelling.
    apart
        Whether every copy has noise of its own, instead of being a rung of one ladder.
    """
    columns = tuple(
        EncodedColumn(attribute, np.ascontiguousarray(numbers))
        for attribute, numbers in zip(attributes, true, strict=True)
    )
    kept = {name: value for name, value in settings.items() if name != ADOPTED}
    ids = np.arange(true.shape[1], dtype=np.uint64)
    copies = np.empty((len(levels), *true.shape))
    for place, level in enumerate(levels):
        own = place.to_bytes(8) if apart else b""
        keys = KeyRing(hashlib.sha256(_KNOWN + own).digest())
        part = Part(context, place / len(levels), (place + 1) / len(levels))
        released = mechanism.release(ReleaseRequest(columns, kept, level, ids, keys), part)
        for row, attribute in enumerate(attributes):
            column = released[attribute.name]
            copies[place, row] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return copies
