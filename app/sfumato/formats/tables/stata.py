"""Stata .dta files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

import numpy as np

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import Table
from sfumato.formats.statistical.package import Moments, NameRules, Package, WriteRules
from sfumato.formats.statistical.reading import StatisticalFormat
from sfumato.formats.statistical.writing import not_whole, write_statistical
from sfumato.formats.table_format import Rows, WriteResult, in_order

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


class _Stata(StatisticalFormat):
    package = _PACKAGE
    name = "dta"
    title = "Stata"
    extensions = (".dta",)
    order = 50
    can_write = True

    def recognises(self, path: Path, head: bytes) -> bool:
        if head.startswith(b"<stata_dta>"):
            return True
        old = len(head) > 2 and head[0] in _OLD_VERSIONS and head[1] in (1, 2) and head[2] == 1
        return old and path.suffix.lower() in self.extensions

    def names_in_file(self, columns: tuple[str, ...]) -> dict[str, str]:
        return _RULES.names.fit(columns)

    def write(self, table: Table, path: Path, context: Context, order: Rows = None) -> WriteResult:
        table = in_order(table, order, Part(context, 0.0, 0.3), path.parent)
        rest = Part(context, 0.3, 1.0)
        result = write_statistical(table, path, _write_data, _RULES, _PACKAGE, rest)
        _finish(path)
        return result


def _write_data(frame: Any, path: Path, **described: Any) -> None:
    import pyreadstat  # noqa: PLC0415

    pyreadstat.write_dta(frame, path, version=14, **described)


def _finish(path: Path) -> None:
    """Set the time of writing to one that is always the same, so that the bytes are.

    Raises
    ------
    OSError
        If the file is not as long as its map of itself says.
    """
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
