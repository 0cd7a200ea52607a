"""Which rows a view suppresses, told without the other rows, and without telling anybody else.

Whether a row shows "*" follows from its quasi-identifiers alone. So a plan that is carried out in
parts lists those that are suppressed, as keyed hashes: who has no key learns how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.engine.core.values import factorize
from sfumato.engine.randomness.keyed_hash import canonical_text, canonical_texts, keyed_hash
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.release.views import Coarsened


def suppressed_in(seen: Coarsened, table: Table, keys: KeyRing) -> tuple[str, ...]:
    """Return the hashes of the quasi-identifiers of all suppressed rows, in hexadecimal, sorted.

    Parameters
    ----------
    seen
        What the view makes of the table.
    table
        The rows.
    keys
        The project's keys.
    """
    names = sorted(seen.coarsening.hierarchies)
    frame = table.frame.loc[seen.view.suppressed, names].drop_duplicates()
    found = _hashes(Table(frame, is_part=True), names, keys)
    return tuple(sorted({each.hex() for each in found.tolist()}))


def is_suppressed(
    table: Table, names: Iterable[str], suppressed: Iterable[str], keys: KeyRing
) -> npt.NDArray[np.bool_]:
    """Return whether each row's quasi-identifiers are among those that are suppressed, shape (n,).

    Parameters
    ----------
    table
        Some rows.
    names
        The quasi-identifiers of the view.
    suppressed
        From `suppressed_in`.
    keys
        The keys by which it was made.
    """
    known = np.array([bytes.fromhex(each) for each in suppressed], dtype="V16")
    # A plan that was kept as text need not have its columns in their order any more.
    found = _hashes(table, sorted(names), keys)
    among: npt.NDArray[np.bool_] = pd.Index(found.tolist()).isin(known.tolist())
    return among


def _hashes(table: Table, names: list[str], keys: KeyRing) -> npt.NDArray[np.void]:
    """Return a hash of each row's values in some columns, shape (n,), 16 bytes each."""
    parts = [canonical_texts(_texts(table.column(name))) for name in names]
    return keyed_hash(parts, keys.for_suppressed_rows(), Silent()).view("V16").ravel()


def _texts(column: pd.Series) -> pd.Series:
    """Return each value's canonical text, what is missing among them."""
    positions, uniques = factorize(column)
    # What is missing comes last, at position -1, and is no text that a value could have.
    texts = [*(f"={canonical_text(value)}" for value in uniques.tolist()), "missing"]
    return pd.Series(pd.array(texts, dtype="str").take(positions), index=column.index)
