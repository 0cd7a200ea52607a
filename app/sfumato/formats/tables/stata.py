"""Stata .dta files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from sfumato.formats.statistical.reading import Moments, Package
from sfumato.formats.statistical.writing import (
    NameRules,
    WritableFormat,
    WriteRules,
    not_whole,
)

_OLD_VERSIONS: Final = frozenset(range(104, 116))

_PACKAGE: Final = Package(
    title="Stata",
    reader="read_dta",
    moments=Moments(
        origin=np.datetime64("1960-01-01"),
        seconds_per_date=86_400,
        units_per_second=1_000,
        is_date=lambda shown: shown.startswith(("%td", "%d", "%-td", "%-d")),
        is_moment=lambda shown: shown.startswith(("%tc", "%tC", "%-tc", "%-tC")),
    ),
    # What Stata shows a number by unless told otherwise, and formats without decimals.
    whole=re.compile(r"%-?(8|9|10|12)\.0gc?|%-?\d*\.0fc?"),
)
_RULES: Final = WriteRules(
    names=NameRules(
        longest=32,
        others="",
        reserved=frozenset(
            (
                *("_all", "_b", "_coef", "_cons", "_n", "_pi", "_pred", "_rc", "_skip"),
                *("byte", "double", "float", "if", "in", "int", "long", "strl", "using", "with"),
                *(f"str{length}" for length in range(1, 2046)),
            )
        ),
        folds_case=False,
    ),
    longest_text=2_045,
    longest_label=80,
    longest_value_label=32_000,
    keeps_trailing_blanks=True,
    labels_text=False,
    largest_integer=2_147_483_620,
    whole_format="%20.0f",
    decimal_format="%18.0g",
    date_format="%td",
    moment_format="%tc",
)
_TIME: Final = b"01 Jan 1970 00:00"
_TIME_MARK: Final = b"<timestamp>\x11"
_MAP_MARK: Final = b"<map>"
_END_IN_MAP: Final = 13 * 8
"""Where in the file's map of itself its end stands, after the starts of its parts."""
_HEAD_BYTES: Final = 4096


class _Stata(WritableFormat):
    package, rules = _PACKAGE, _RULES
    writer, settings = "write_dta", MappingProxyType({"version": 14})
    name = "dta"
    title = "Stata"
    extensions = (".dta",)
    order = 50

    def recognises(self, path: Path, head: bytes) -> bool:
        if head.startswith(b"<stata_dta>"):
            return True
        old = len(head) > 2 and head[0] in _OLD_VERSIONS and head[1] in (1, 2) and head[2] == 1
        return old and path.suffix.lower() in self.extensions

    def finish(self, path: Path, rows: int) -> None:  # noqa: ARG002
        """Set the time of writing, in a file that is as long as its map of itself says."""
        with path.open("r+b") as file:
            head = file.read(_HEAD_BYTES)
            time_at = head.find(_TIME_MARK) + len(_TIME_MARK)
            end_at = head.find(_MAP_MARK) + len(_MAP_MARK) + _END_IN_MAP
            end = int.from_bytes(head[end_at : end_at + 8], "little")
            if _MAP_MARK not in head or end != file.seek(0, os.SEEK_END):
                raise not_whole()
            file.seek(time_at)
            file.write(_TIME)


FORMAT: Final = _Stata()
