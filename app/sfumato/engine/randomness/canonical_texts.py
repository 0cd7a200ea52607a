"""The texts by which identifiers are known, however a file's reader typed them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
import pandas as pd


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts as bytes, one after the other.

    Attributes
    ----------
    data
        The bytes of all.
    ends
        Where the first text starts, then where each one ends, shape (n + 1,).
    """

    data: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.ends) - 1


def canonical_texts(column: pd.Series) -> Texts:
    """Return the canonical text (`canonical_text`) of each value of a column, none missing."""
    values = column
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if pd.api.types.is_float_dtype(values.dtype):
        whole = (values % 1 == 0) & (values.abs() <= 2**53)
        values = values.astype(np.int64) if whole.all() else values
    if pd.api.types.is_integer_dtype(values.dtype):
        values = values.astype("str")
    if isinstance(values.dtype, pd.StringDtype) and values.dtype.storage == "pyarrow":
        texts = _of_arrow(values)
        if not (texts.data & 0x80).any():
            return texts
    # Text that was read with the wrong encoding can hold what UTF-8 has no bytes for.
    encoded = [canonical_text(value).encode(errors="surrogatepass") for value in values.tolist()]
    ends = np.cumsum([0, *map(len, encoded)])
    return Texts(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)


def canonical_text(key: object) -> str:
    """Return the text by which a record key is known, however a file's reader typed it.

    The number 12, the number 12.0 and the text "12" are one key; "012" is another. Dates are
    their ISO texts, midnight left out. Texts are in Unicode's normal form C.
    """
    if isinstance(key, str):
        return key if key.isascii() else normalize("NFC", key)
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, float):
        return str(int(key)) if key.is_integer() else repr(key)
    if isinstance(key, Decimal):
        return str(int(key)) if key == key.to_integral_value() else str(key.normalize())
    if isinstance(key, datetime):
        return key.date().isoformat() if key.time() == time(0) else key.isoformat()
    if isinstance(key, date):
        return key.isoformat()
    return normalize("NFC", str(key))


def _of_arrow(column: pd.Series) -> Texts:
    """Return the texts of a column that Arrow holds, without a copy."""
    held = column.array.__arrow_array__()
    held = held.combine_chunks() if hasattr(held, "chunks") else held
    _, ends, data = held.buffers()
    width = "<i8" if str(held.type) == "large_string" else "<i4"
    bounds = np.frombuffer(ends, dtype=width)[held.offset : held.offset + len(held) + 1]
    whole = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    return Texts(whole[bounds[0] : bounds[-1]], bounds - bounds[0])
