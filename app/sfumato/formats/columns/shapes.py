"""What the characters of many texts look like, without making a Python string of any."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

CODE: Final = (
    r"^([+-]?0[0-9]+([.,][0-9]*)?"  # 007: a leading zero
    r"|\+[0-9]{7,}"  # +4930123456: a telephone number
    r"|[+-]?[0-9]+[eE][0-9]+"  # 2E10: no program writes a number so
    r"|[+-]?0[xX][0-9a-fA-F]+)$"  # 0x1F
)
_MINUS, _PLUS, _ZERO, _NINE, _BLANK = b"-+09 "

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32]


def first_code(texts: pa.Array) -> int:
    """Return the first position of a text that looks like a number and is a code; -1 if none.

    A code is what a number would not give back: leading zeros, a telephone number with its
    plus, a letter E between digits without a sign or point, hexadecimal digits.
    """
    starts, ends, data = _filled(texts)
    if not len(starts):
        return -1
    first = data[starts]
    digit_at = np.minimum(starts + ((first == _MINUS) | (first == _PLUS)), ends - 1)
    next_at = np.minimum(digit_at + 1, ends - 1)
    following = data[next_at]
    zero_led = (data[digit_at] == _ZERO) & (next_at > digit_at)
    zero_led &= ((following >= _ZERO) & (following <= _NINE)) | ((following | 0x20) == ord("x"))
    suspicious = zero_led | (first == _PLUS)
    if not suspicious.any() and not holds_byte(texts, b"eE"):
        return -1
    found = np.flatnonzero(
        pc.fill_null(pc.match_substring_regex(texts, CODE), False).to_numpy(zero_copy_only=False)
    )
    return int(found[0]) if len(found) else -1


def trimmed(texts: pa.Array) -> pa.Array:
    """Return texts without blanks at their ends; what is blank altogether becomes null."""
    starts, ends, data = _filled(texts)
    if len(starts) == len(texts) - texts.null_count and not (
        (data[starts] <= _BLANK).any() or (data[ends - 1] <= _BLANK).any()
    ):
        return texts
    texts = pc.ascii_trim_whitespace(texts)
    return pc.if_else(pc.equal(pc.binary_length(texts), 0), None, texts)


def holds_byte(texts: pa.Array, wanted: bytes) -> bool:
    """Whether one of the bytes `wanted` stands in any of the texts."""
    if not len(texts):
        return False
    offsets = _offsets(texts)
    used = _data(texts)[offsets[0] : offsets[-1]]
    return any(bool((used == byte).any()) for byte in wanted)


def _filled(texts: pa.Array) -> tuple[Offsets, Offsets, Bytes]:
    """Return where each text that is not empty starts and ends, and the bytes of all."""
    if not len(texts):
        empty = np.empty(0, dtype=np.int32)
        return empty, empty, np.empty(0, dtype=np.uint8)
    offsets = _offsets(texts)
    starts, ends = offsets[:-1], offsets[1:]
    full = ends > starts
    if not full.all():
        starts, ends = starts[full], ends[full]
    return starts, ends, _data(texts)


def _offsets(texts: pa.Array) -> Offsets:
    buffer = texts.buffers()[1]
    return np.frombuffer(buffer, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]


def _data(texts: pa.Array) -> Bytes:
    buffer = texts.buffers()[2]
    return np.frombuffer(buffer, dtype=np.uint8) if buffer else np.empty(0, dtype=np.uint8)
