"""Keyed pseudonyms: texts that stand for an identifier and say nothing of it without the key."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import numpy as np
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
    authenticate = key.mac()
    made: list[str] = []
    for place, value in enumerate(uniques.tolist()):
        if place % _AT_ONCE == 0:
            context.report(place / len(uniques), "Making pseudonyms")
        one = authenticate.copy()
        one.update(canonical_text(value).encode(errors="surrogatepass"))
        made.append(base64.b32encode(one.digest()[:BYTES]).decode("ascii"))
    _refuse_shared(column, positions, uniques, made)
    # A missing value has position -1, which is the last entry of the lookup.
    shown = np.array([*made, None], dtype=object)[positions]
    return pd.Series(shown, index=column.index, name=column.name, dtype="str")


def _refuse_shared(
    column: pd.Series, positions: np.ndarray, uniques: pd.Index, made: list[str]
) -> None:
    """Refuse two different values with one pseudonym, which would make two units one."""
    if len(set(made)) == len(made):
        return
    first: dict[str, int] = {}
    texts = [canonical_text(value) for value in uniques.tolist()]
    for place, pseudonym in enumerate(made):
        other = first.setdefault(pseudonym, place)
        if texts[other] != texts[place]:
            rows = [int(np.flatnonzero(positions == p)[0]) + 1 for p in (other, place)]
            raise TableError(
                "In column {column}, the values in rows {one} and {two} share a pseudonym.",
                "Give one of them another identifier in the source table, or drop the column.",
                column=column.name,
                one=rows[0],
                two=rows[1],
            )
