"""Identifiers of records and of units: what every draw of theirs is a function of.

An identifier by key survives sorting, inserting and deleting rows. Keys are told apart by 128 bits,
the keyed hash of their canonical text, of which any two of a billion share one with a probability
of 2e-21. A record's draws take the first 64: two of a billion share these with 3 %, and then, where
their true values are equal too, their draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.randomness.keyed_hash import canonical_texts, keyed_hash
from sfumato.engine.randomness.keys import AttributeKey, KeyRing

_ROWS: Final = 1 << 20
"""Rows whose keys are texts at a time."""
_NAMED_ROWS: Final = 5

Ids = npt.NDArray[np.uint64]


def record_ids_by_position(rows: int) -> Ids:
    """Return each row's position, from 0, as its identifier; shape (rows,)."""
    return np.arange(rows, dtype=np.uint64)


def record_ids_by_key(column: pd.Series, keys: KeyRing, context: Context) -> Ids:
    """Return the keyed hash of each row's record key as its identifier.

    Parameters
    ----------
    column
        The record key, shape (n,).
    keys
        The project's keys.
    context
        Told of the progress; may stop the work.

    Returns
    -------
    numpy.ndarray
        Identifiers, shape (n,).

    Raises
    ------
    TableError
        If a key is missing, or stands in two rows. The rows are named, never the key.
    """
    _refuse_missing(column)
    key = keys.for_record_keys()
    ids = np.empty(len(column), dtype=np.uint64)
    for rows, hashes in _hashed([column], key, context):
        ids[rows] = hashes[:, 0]
    _refuse_duplicates(column, ids, key)
    return ids


def key_hashes(column: pd.Series, keys: KeyRing, context: Context) -> npt.NDArray[np.uint64]:
    """Return the keyed hash of each row's record key, shape (n, 2).

    Two rows with the same 128 bits have the same key, which nobody has looked for here: these may
    be some of a table's rows. The first word is the identifier of `record_ids_by_key`.

    Raises
    ------
    TableError
        If a key is missing.
    """
    _refuse_missing(column)
    found = np.empty((len(column), 2), dtype=np.uint64)
    for rows, hashes in _hashed([column], keys.for_record_keys(), context):
        found[rows] = hashes
    return found


def unit_ids(columns: Sequence[pd.Series], keys: KeyRing) -> Ids:
    """Return the keyed hash of what names each unit as its identifier, as of a record key.

    Parameters
    ----------
    columns
        What names the units together, nothing missing, shape (units,) each.
    keys
        The project's keys.
    """
    ids = np.empty(len(columns[0]), dtype=np.uint64)
    for rows, hashes in _hashed(columns, keys.for_units(), Silent()):
        ids[rows] = hashes[:, 0]
    return ids


def _hashed(
    columns: Sequence[pd.Series], key: AttributeKey, context: Context
) -> Iterator[tuple[slice, npt.NDArray[np.uint64]]]:
    """Yield stretches of rows with the hash of what stands in their columns, shape (k, 2)."""
    rows = len(columns[0])
    for start in range(0, rows, _ROWS):
        stretch = slice(start, min(start + _ROWS, rows))
        texts = [canonical_texts(column.iloc[stretch]) for column in columns]
        yield stretch, keyed_hash(texts, key, Part(context, start / rows, stretch.stop / rows))


def _refuse_missing(column: pd.Series) -> None:
    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(
            "The record key {column} is missing in {count} {count:row|rows}, first in row {row}.",
            "Fill the key in, choose another record key, or identify records by position.",
            column=column.name,
            count=int(missing.sum()),
            row=int(missing.argmax()) + 1,
        )


def _refuse_duplicates(column: pd.Series, ids: Ids, key: AttributeKey) -> None:
    """Refuse equal keys: among those with one identifier, those whose whole hash is the same."""
    ordered = np.sort(ids)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(ids, kind="stable")
    same = ids[order[1:]] == ids[order[:-1]]
    suspects = np.union1d(order[1:][same], order[:-1][same])
    pieces = _hashed([column.iloc[suspects]], key, Silent())
    hashes = np.concatenate([found for _, found in pieces])
    first_rows: dict[bytes, int] = {}
    pairs: list[tuple[int, int]] = []
    for row, found in zip(map(int, suspects), hashes, strict=True):
        first = first_rows.setdefault(found.tobytes(), row)
        if first != row:
            pairs.append((first + 1, row + 1))
        if len(pairs) > _NAMED_ROWS:
            break
    if pairs:
        raise TableError(
            "The record key {column} is not unique: {pairs} share a key{more}.",
            "Choose a column whose values are unique, or identify records by position.",
            column=column.name,
            pairs=", ".join(f"rows {one} and {other}" for one, other in pairs[:_NAMED_ROWS]),
            more=", and there are more" if len(pairs) > _NAMED_ROWS else "",
        )
