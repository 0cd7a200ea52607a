"""Inputs with something wrong: bytes changed, left out, moved, or taken from elsewhere."""

from __future__ import annotations

import random
import struct
from typing import Final

from tests.campaigns.corpus import KINDS, members, seeds
from tests.formats.workbooks import zipped

_ODD: Final = (
    *(b"", b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b'"', b"'", b";", b","),
    *(b"nan", b"inf", b"-1", b"1e999", b"9" * 400, b"NULL", b"{}", b"[]", b"<", b"&#0;", b"../"),
    *(b"{0}", b"%s", b"\\", b"A" * 5_000, b"\xed\xa0\x80", b"2024-13-45", b"true", b"null"),
)
_PACKED: Final = frozenset({"xlsx", "ods", "bundle", "package"})


def mutated(seed: int, number: int, kinds: tuple[str, ...] = KINDS) -> tuple[str, bytes]:
    """Return the kind and the bytes of one input; the same for the same seed and number."""
    draw = random.Random(f"{seed} {number}")
    kind = kinds[number % len(kinds)]
    content = draw.choice(seeds(kind))
    if kind in _PACKED and draw.random() < 0.7:
        files = members(content)
        name = draw.choice(sorted(files))
        files[name] = _changed(draw, files[name], files[draw.choice(sorted(files))])
        if draw.random() < 0.1:
            del files[name]
        return kind, zipped(files)
    return kind, _changed(draw, content, draw.choice(seeds(draw.choice(kinds))))


def _changed(draw: random.Random, content: bytes, other: bytes) -> bytes:
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        content = _change(draw, content, other)
    return content


def _change(draw: random.Random, content: bytes, other: bytes) -> bytes:
    at = draw.randrange(len(content) + 1)
    length = draw.choice((1, 2, 4, 8, 64, 1024))
    until = min(at + length, len(content))
    match draw.randrange(9):
        case 0:
            flipped = bytes(byte ^ (1 << draw.randrange(8)) for byte in content[at : at + 1])
            return content[:at] + flipped + content[at + 1 :]
        case 1:
            return content[:at] + draw.randbytes(until - at) + content[until:]
        case 2:
            number = draw.choice((0, 1, -1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, -(2**31), 2**40))
            packed = struct.pack(draw.choice(("<q", ">q")), number)[: draw.choice((1, 2, 4, 8))]
            return content[:at] + packed + content[at + len(packed) :]
        case 3:
            return content[:at]
        case 4:
            return content[:at] + content[until:]
        case 5:
            times = draw.choice((1, 2, 50))
            return content[:until] + content[at:until] * times + content[until:]
        case 6:
            return content[:at] + draw.choice(_ODD) + content[at:]
        case 7:
            return content[:at] + draw.choice(_ODD) + content[until:]
        case _:
            begin = draw.randrange(len(other) + 1)
            return content[:at] + other[begin : begin + length] + content[at:]
