"""Zip files that were cut, altered, or made to confuse whoever unpacks them."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping

Entries = Mapping[str, bytes]

_LOCAL = b"PK\x03\x04"
_CENTRAL = b"PK\x01\x02"
_END = b"PK\x05\x06"


def packed(entries: Entries, method: int = zipfile.ZIP_DEFLATED, *more: str) -> bytearray:
    """Return a zip of the entries, and of further ones with nothing in them."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as archive:
        warnings.simplefilter("ignore")  # Names that occur twice are meant to.
        for name, content in entries.items():
            archive.writestr(name, content)
        for name in more:
            archive.writestr(name, b"")
    return bytearray(out.getvalue())


def _in_every(mark: bytes, offset: int, content: bytes) -> Callable[[Entries], bytearray]:
    """A zip in which each header of a kind holds other bytes at a place."""

    def make(entries: Entries) -> bytearray:
        whole = packed(entries)
        at = whole.find(mark)
        while at >= 0:
            whole[at + offset : at + offset + len(content)] = content
            at = whole.find(mark, at + 4)
        return whole

    return make


def _bad_checksum(entries: Entries) -> bytearray:
    whole = packed(entries, zipfile.ZIP_STORED)
    for content in entries.values():
        whole[whole.find(content) + len(content) // 2] ^= 0x01
    return whole


def _renamed(old: bytes, new: bytes) -> Callable[[Entries], bytearray]:
    return lambda entries: bytearray(bytes(packed(entries)).replace(old, new))


DAMAGED: Mapping[str, Callable[[Entries], bytearray]] = {
    "nothing": lambda entries: bytearray(),
    "its first half": lambda entries: packed(entries)[: len(packed(entries)) // 2],
    "all but its last byte": lambda entries: packed(entries)[:-1],
    "all but its first bytes": lambda entries: packed(entries)[50:],
    "its directory alone": lambda entries: packed(entries)[packed(entries).find(_CENTRAL) :],
    "wrong checksums": _bad_checksum,
    "encrypted entries": _in_every(_CENTRAL, 8, b"\x01\x00"),
    "strongly encrypted entries": _in_every(_CENTRAL, 8, b"\x41\x00"),
    "patched entries": _in_every(_CENTRAL, 8, b"\x20\x00"),
    "an unknown packing": _in_every(_CENTRAL, 10, b"\x63\x00"),
    "bzip2 packing": lambda entries: packed(entries, zipfile.ZIP_BZIP2),
    "LZMA packing": lambda entries: packed(entries, zipfile.ZIP_LZMA),
    "bytes said to be LZMA": _in_every(_CENTRAL, 10, b"\x0e\x00"),
    "bytes said to be stored": _in_every(_CENTRAL, 10, b"\x00\x00"),
    "a version of the future": _in_every(_CENTRAL, 6, b"\xff\x00"),
    "entries that begin nowhere": _in_every(_CENTRAL, 42, b"\xf0\xff\xff\x7f"),
    "entries that begin in one another": _in_every(_CENTRAL, 42, b"\x01\x00\x00\x00"),
    "sizes that are too small": _in_every(_CENTRAL, 24, b"\x01\x00\x00\x00"),
    "sizes that are too large": _in_every(_CENTRAL, 24, b"\xff\xff\xff\x00"),
    "entries of 4 GB": _in_every(_CENTRAL, 24, b"\xfe\xff\xff\xff"),
    "packed sizes of 4 GB": _in_every(_CENTRAL, 20, b"\xfe\xff\xff\xff"),
    "sizes of 64 bits that are missing": _in_every(_CENTRAL, 20, b"\xff" * 8),
    "a directory that begins nowhere": _in_every(_END, 16, b"\xf0\xff\xff\x7f"),
    "a directory that is too long": _in_every(_END, 12, b"\xff\xff\xff\x7f"),
    "a directory of nothing": _in_every(_END, 12, b"\x00\x00\x00\x00"),
    "names that are no UTF-8": lambda entries: bytearray(
        bytes(_in_every(_CENTRAL, 8, b"\x00\x08")(entries)).replace(b"d", b"\xff")
    ),
    "names that local headers deny": _in_every(_LOCAL, 30, b"x"),
    "headers that are none": _in_every(_LOCAL, 0, b"XX"),
    "names with a NUL": _renamed(b".csv", b"\0csv"),
    "names that go up": _renamed(b"data", b"../a"),
    "names of folders": _renamed(b".csv", b"csv/"),
    "names that occur twice": lambda entries: packed(
        entries, zipfile.ZIP_DEFLATED, *entries, *entries
    ),
    "a name of 60,000 characters": lambda entries: packed(
        entries, zipfile.ZIP_DEFLATED, "n" * 60_000
    ),
    "folders 2,000 deep": lambda entries: packed(entries, zipfile.ZIP_DEFLATED, "d/" * 2_000 + "x"),
    "an extra field that is cut": lambda entries: bytearray(
        bytes(packed(entries)).replace(_CENTRAL, _CENTRAL)[:-22] + _end_of(packed(entries))
    ),
}
"""Ways to damage a zip of files, by what it then holds. Some leave it readable."""


def _end_of(whole: bytearray) -> bytes:
    """Return a zip's end, its directory said to be a little longer than it is."""
    end = whole[-22:]
    (size,) = struct.unpack("<L", end[12:16])
    end[12:16] = struct.pack("<L", size + 1)
    return bytes(end)
