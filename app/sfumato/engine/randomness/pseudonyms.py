"""Keyed pseudonyms: texts that stand for an identifier and say nothing of it without the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import factorize
from sfumato.engine.randomness.keys import canonical_text

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import AttributeKey

BYTES: Final = 10
LETTERS: Final = 16
"""80 bits are 16 characters of base32: two of ten million identifiers share a pseudonym with a
probability of 4e-11."""

_ALPHABET: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", dtype="S1")
_AT_ONCE: Final = 50_000


def pseudonyms(column: pd.Series, key: AttributeKey, context: Context) -> pd.Series:
    """Return each row's pseudonym: the same for the same value, missing where that is missing.

    A pseudonym is HMAC-SHA-256 of the value's canonical text, cut to 80 bits, in base32.

    Parameters
    ----------
    column
        The identifiers, shape (n,).
    key
        From `KeyRing.for_pseudonyms`: another key gives pseudonyms that have nothing to do with
        these.
    context
        Progress and cancelling.

    Raises
    ------
    TableError
        If two different values share a pseudonym; their rows are named, never the values.
    """
    positions, uniques = factorize(column)
    texts = [canonical_text(value) for value in uniques.tolist()]
    digests = bytearray()
    for place, text in enumerate(texts):
        if place % _AT_ONCE == 0:
            context.report(place / len(texts), "Making pseudonyms")
        digests += key.authenticate(text)[:BYTES]
    made = _base32(bytes(digests))
    _refuse_shared(column, positions, texts, made)
    # A missing value has position -1, which is the last entry of the lookup.
    shown = np.array([*made.tolist(), None], dtype=object)[positions]
    return pd.Series(shown, index=column.index, name=column.name, dtype="str")


def _base32(digests: bytes) -> npt.NDArray[np.str_]:
    """Return digests of `BYTES` bytes each, one after the other, in base32 (RFC 4648)."""
    bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8)).reshape(-1, LETTERS, 5)
    places = bits @ np.array([16, 8, 4, 2, 1], dtype=np.uint8)
    letters = np.ascontiguousarray(_ALPHABET[places])
    return letters.view(f"S{LETTERS}").ravel().astype(np.str_)


def _refuse_shared(
    column: pd.Series,
    positions: npt.NDArray[np.integer],
    texts: list[str],
    made: npt.NDArray[np.str_],
) -> None:
    """Refuse two different values with one pseudonym, which would make two units one."""
    if len(np.unique(made)) == len(made):
        return
    first: dict[str, int] = {}
    for place, pseudonym in enumerate(made.tolist()):
        other = first.setdefault(pseudonym, place)
        if texts[other] != texts[place]:
            one, two = (int(np.flatnonzero(positions == p)[0]) + 1 for p in (other, place))
            raise TableError(
                "In column {column}, the values in rows {one} and {two} share a pseudonym.",
                "Give one of them another identifier in the source table, or drop the column.",
                column=column.name,
                one=one,
                two=two,
            )
