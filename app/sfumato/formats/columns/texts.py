"""Columns of text, kept as categories while texts repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.columns.buffers import Buffer, Mask

_FIRST_LOOK: Final = 100_000
"""Rows after which a column whose texts hardly repeat is no longer kept as categories."""
_MOST_CATEGORIES: Final = 2_000_000
_PIECE: Final = 1 << 18
_DTYPE: Final = pd.StringDtype("pyarrow", na_value=np.nan)

Codes = npt.NDArray[np.signedinteger[Any]]
"""Positions among the distinct texts, -1 where missing."""


class TextBuffer:
    """A column of text that grows block by block.

    Every distinct text is stored once, with a small code a row, until it turns out that the
    texts hardly repeat; then they are stored as they come.

    Parameters
    ----------
    expected
        How many rows are likely to come.
    """

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._distinct: pa.Array = pa.array([], type=pa.string())
        self._codes = Buffer(np.int8, expected)
        self._plain: list[pa.Array] | None = None
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def add(self, texts: pa.Array) -> None:
        """Append an Arrow array of strings; nulls are missing values."""
        self._rows += len(texts)
        if self._plain is not None:
            self._plain.append(texts)
            return
        encoded = texts.dictionary_encode()
        known = pc.index_in(encoded.dictionary, value_set=self._distinct)
        new = known.is_null().to_numpy(zero_copy_only=False)
        lookup = np.full(len(new) + 1, -1, dtype=np.int32)
        lookup[:-1] = known.fill_null(-1).to_numpy(zero_copy_only=False)
        lookup[:-1][new] = np.arange(new.sum()) + len(self._distinct)
        if new.any():
            added = encoded.dictionary.filter(pa.array(new))
            self._distinct = pa.concat_arrays([self._distinct, added])
        codes = lookup[encoded.indices.fill_null(len(new)).to_numpy(zero_copy_only=False)]
        self._widen()
        self._codes.add(codes)
        many = len(self._distinct) > _MOST_CATEGORIES
        if many or (self._rows >= _FIRST_LOOK and len(self._distinct) * 2 > self._rows):
            self._plain = self._decoded(self._codes.finish())

    def add_missing(self, count: int) -> None:
        """Append missing values."""
        if count:
            self.add(pa.nulls(count, type=pa.string()))

    def finish(self, keep: Mask | None) -> pd.Series:
        """Return the column, of the rows in `keep` or of all rows.

        Texts of which each stands in two rows or more on average become categories, sorted by
        their characters; others become pandas' text type.
        """
        if self._plain is not None:
            texts = pa.chunked_array(self._plain, type=pa.string())
            self._plain = None
            return _text_series(texts if keep is None else texts.filter(pa.array(keep)))
        codes = self._codes.finish()
        if keep is not None:
            codes = codes[keep]
        occurring = np.flatnonzero(self._counts(codes))
        if not len(occurring) or len(occurring) * 2 > len(codes):
            return _text_series(pa.chunked_array(self._decoded(codes), type=pa.string()))
        categories = self._distinct.take(pa.array(occurring))
        order = pc.sort_indices(categories).to_numpy()
        ranks = np.full(len(self._distinct) + 1, -1, dtype=codes.dtype)
        ranks[occurring[order]] = np.arange(len(order))
        index = pd.Index(_text_array(pa.chunked_array([categories.take(pa.array(order))])))
        for piece in _pieces(codes):
            piece[:] = np.take(ranks, piece)
        dtype = pd.CategoricalDtype(index)
        return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), copy=False)

    def _counts(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Return how often each distinct text occurs."""
        counts = np.zeros(len(self._distinct) + 1, dtype=np.int64)
        for piece in _pieces(codes):
            counts += np.bincount(piece.astype(np.int64) + 1, minlength=len(counts))
        return counts[1:]

    def _widen(self) -> None:
        """Give the codes a type that holds all of them."""
        for dtype in (np.int16, np.int32):
            limit = np.iinfo(self._codes.dtype).max
            if len(self._distinct) > limit:
                self._codes.convert(dtype)

    def _decoded(self, codes: Codes) -> list[pa.Array]:
        """Return the texts that codes stand for, in pieces small enough for one array each."""
        return [self._distinct.take(pa.array(p, mask=p < 0)) for p in _pieces(codes)]


def _pieces(codes: Codes) -> Iterator[Codes]:
    """Yield views of codes: whatever is done to them takes little memory and time at once."""
    for start in range(0, len(codes), _PIECE):
        yield codes[start : start + _PIECE]


def _text_series(texts: pa.ChunkedArray) -> pd.Series:
    return pd.Series(_text_array(texts), copy=False)


def _text_array(texts: pa.ChunkedArray) -> pd.arrays.ArrowStringArray:
    return pd.arrays.ArrowStringArray(texts, dtype=_DTYPE)  # type: ignore[call-arg]
