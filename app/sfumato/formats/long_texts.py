"""Texts that are long, of which a file can hold more than memory: packed, or once for many rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.columns.parsing import longest_of
from sfumato.formats.errors import TooLarge, Way
from sfumato.formats.options import ReadOptions

_LONG_TEXT: Final = 4 << 10
_MOST_LONG: Final = 256 << 20
"""Texts of more bytes than `_LONG_TEXT` are long; so many bytes of them are read unasked."""


class LongTexts:
    """Counts the long texts of a table that is read into memory, which may be packed small.

    Parameters
    ----------
    name
        The file, for messages.
    options
        How it is read.
    """

    def __init__(self, name: str, options: ReadOptions) -> None:
        self._name = name
        self._options = options
        self._unlimited = options.any_size or options.version < 2
        self._bytes = 0

    def see(self, arrays: Iterable[pa.Array]) -> None:
        """Count those of the next rows.

        Raises
        ------
        TooLarge
            If they are more than are read unasked, unless the options let any size be read.
        """
        for values in () if self._unlimited else arrays:
            self._bytes += bytes_of_long_texts(values)
        if self._bytes > _MOST_LONG:
            raise TooLarge(
                "{file} holds texts of more than {length:,} {length:byte|bytes} each, and more than"
                " {most:,} {most:byte|bytes} of them, more than are read unasked.",
                "If you know where it comes from and there is memory for it, let any size be read.",
                ways=(Way("Read it all the same", replace(self._options, any_size=True)),),
                file=self._name,
                length=_LONG_TEXT,
                most=_MOST_LONG,
            )


def bytes_of_long_texts(values: pa.Array) -> int:
    """Return how many bytes the long texts of an array have, 0 where it holds no texts."""
    codes = None
    if pa.types.is_dictionary(values.type):
        codes, values = values.indices, values.dictionary
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return 0
    if longest_of(values) <= _LONG_TEXT:
        return 0
    lengths = pc.binary_length(values)
    lengths = pc.if_else(pc.greater(lengths, _LONG_TEXT), lengths, 0).cast(pa.int64())
    if codes is not None:
        lengths = lengths.take(codes)
    return int(pc.sum(lengths).as_py() or 0)
