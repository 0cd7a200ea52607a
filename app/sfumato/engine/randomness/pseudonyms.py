"""Keyed pseudonyms: texts that stand for an identifier and say nothing of it without the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import factorize
from sfumato.engine.randomness.keyed_hash import canonical_texts, keyed_hash

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import AttributeKey

LETTERS: Final = 26
"""Two words of 64 bits are 13 letters each."""

_ALPHABET: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", dtype=np.uint8)
"""That of base32 (RFC 4648): no spreadsheet takes such a text for a number."""


def pseudonyms(column: pd.Series, key: AttributeKey, context: Context) -> pd.Series:
    """Return each row's pseudonym: the same for the same value, missing where that is missing.

    A pseudonym is the keyed hash of the value's canonical text, five bits a letter, each word's
    lowest first.

    Parameters
    ----------
    column
        The identifiers, shape (n,).
    key
        From `KeyRing.for_pseudonyms`: another key gives pseudonyms that have nothing to do with
        these.
    context
        Progress and cancelling.
    """
    positions, uniques = factorize(column)
    words = keyed_hash([canonical_texts(uniques.to_series())], key, context)
    letters = np.empty((*words.shape, LETTERS // 2), dtype=np.uint8)
    for place in range(LETTERS // 2):
        letters[..., place] = words >> np.uint64(5 * place) & np.uint64(31)
    texts = _ALPHABET[letters].reshape(-1, LETTERS).view(f"S{LETTERS}").ravel()
    shown = pd.array(texts.astype(np.str_), dtype="str").take(positions, allow_fill=True)
    return pd.Series(shown, index=column.index, name=column.name)
