"""The keyed random order in which a release's rows leave.

Rows that stood in the table's order would give back what was dropped: whoever has a register
that is sorted like the table lays it beside the release, and two recipients lay their files
beside each other. So every release is sorted by a keyed hash of its records, under a key of its
own: without the secret its order is a random permutation, unrelated to the table's and to that
of any other release.

A record's hash depends on nothing but the key and the record, so rows can be sorted piece by
piece: put into buckets by the first bits of their hashes, and each bucket sorted by itself, they
come in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Integers, Words
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey

Positions = Integers
Hashes = Words

_TILE: Final = 1 << 16
"""Records that are hashed at once: their blocks stay in the processor's cache."""


def release_order(record_ids: Words, key: AttributeKey, context: Context) -> Positions:
    """Return the order in which a release's rows leave.

    Parameters
    ----------
    record_ids
        The identifier of each record that leaves, shape (n,).
    key
        The release's key (`sfumato.engine.randomness.keys.KeyRing.for_row_order`).
    context
        Progress and cancelling.

    Returns
    -------
    numpy.ndarray
        Shape (n,): the place in `record_ids` of the record in each row of the release. Records
        with one identifier, of which there should be none, stay in the order given.
    """
    first = np.empty(len(record_ids), dtype=np.uint64)
    for part, words in _hashed(record_ids, key):
        context.report(0.5 * part.start / max(len(record_ids), 1), "Ordering the rows")
        first[part] = words[:, 0]
    context.report(0.5, "Ordering the rows")
    order: Positions = np.argsort(first)
    # Half a block decides, unless two records share it: among ten million with 3e-6.
    if _any_alike(first, order):
        second = np.concatenate([words[:, 1].copy() for _, words in _hashed(record_ids, key)])
        order = np.lexsort((second, first))
    context.report(1.0, "Ordering the rows")
    return order


def order_words(record_ids: Words, key: AttributeKey) -> Hashes:
    """Return what records' rows are sorted by, shape (n, 2): by the first word, then the second.

    Parts of a release that are made apart come into its order by these.
    """
    words = np.empty((len(record_ids), 2), dtype=np.uint64)
    for part, found in _hashed(record_ids, key):
        words[part] = found
    return words


def _any_alike(numbers: Hashes, order: Positions) -> bool:
    """Whether two numbers in an order, one behind the other, are the same."""
    for start in range(0, len(order), _TILE):
        ordered = numbers[order[start : start + _TILE + 1]]
        if (ordered[1:] == ordered[:-1]).any():
            return True
    return False


def _hashed(record_ids: Words, key: AttributeKey) -> Iterator[tuple[slice, Hashes]]:
    """Yield stretches of records with their hashes, two words of 64 bits each, shape (k, 2)."""
    cipher = key.cipher()
    size = min(_TILE, len(record_ids))
    blocks = np.zeros((size, 2), dtype="<u8")
    out = np.empty(size * BLOCK_BYTES + BLOCK_BYTES - 1, dtype=np.uint8)
    for start in range(0, len(record_ids), _TILE):
        part = slice(start, min(start + _TILE, len(record_ids)))
        count = part.stop - part.start
        blocks[:count, 0] = record_ids[part]
        cipher.encrypt(blocks[:count].view(np.uint8).reshape(-1), out)
        yield part, out[: count * BLOCK_BYTES].view("<u8").reshape(count, 2)
