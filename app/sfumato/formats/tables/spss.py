"""SPSS .sav files."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import Table
from sfumato.formats.options import ReadOptions
from sfumato.formats.statistical.package import Moments, NameRules, Package, WriteRules
from sfumato.formats.statistical.reading import StatisticalFormat, damaged, holds_rows
from sfumato.formats.statistical.writing import not_whole, write_statistical
from sfumato.formats.table_format import ReadResult, Rows, WriteResult, in_order

_HEADER_BYTES: Final = 176
_LAYOUT_AT: Final = 64
_LITTLE_LAYOUTS: Final = frozenset({b"\2\0\0\0", b"\3\0\0\0"})
_VARIABLE, _LABELS, _LABELLED, _DOCUMENT, _EXTENSION = 2, 3, 4, 6, 7
_WIDEST: Final = 255


def is_sound(path: Path) -> bool:
    """Whether each text has its room, and all labels belong to variables that are there.

    A text of more than 8 bytes takes further records of variables, marked by -1.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        order = "<" if head[_LAYOUT_AT : _LAYOUT_AT + 4] in _LITTLE_LAYOUTS else ">"
        try:
            return _Dictionary(file, order).is_sound()
        except (struct.error, OSError, OverflowError):
            return False


class _Dictionary:
    def __init__(self, file: BinaryIO, order: str) -> None:
        self._file = file
        self._order = order
        self._widths: list[int] = []

    def is_sound(self) -> bool:
        """Go through the records up to the last."""
        further = 0
        while True:
            (kind,) = self._numbers(1)
            if kind == _VARIABLE:
                width = self._variable()
                if (width == -1) != (further > 0) or not -1 <= width <= _WIDEST:
                    return False
                further = further - 1 if width == -1 else max(0, (width + 7) // 8 - 1)
                self._widths.append(width)
            elif further or not self._widths:
                return False
            elif kind == _LABELLED:
                (count,) = self._numbers(1)
                if not all(self._is_variable(place) for place in self._numbers(count)):
                    return False
            elif not self._skipped(kind):
                return True

    def _variable(self) -> int:
        width, labelled, missing, *_ = self._numbers(5)
        self._skip(8)
        if labelled:
            (length,) = self._numbers(1)
            self._skip((length + 3) // 4 * 4)
        self._skip(8 * min(abs(missing), 3))
        return width

    def _is_variable(self, place: int) -> bool:
        return 1 <= place <= len(self._widths) and self._widths[place - 1] != -1

    def _skipped(self, kind: int) -> bool:
        """Skip a record that is not looked at; False where the dictionary ends."""
        if kind == _LABELS:
            (count,) = self._numbers(1)
            for _ in range(count):
                self._skip(8)
                (length,) = struct.unpack("B", self._file.read(1))
                self._skip((length + 8) // 8 * 8 - 1)
        elif kind == _DOCUMENT:
            (lines,) = self._numbers(1)
            self._skip(80 * lines)
        elif kind == _EXTENSION:
            _, size, count = self._numbers(3)
            self._skip(size * count)
        else:
            return False
        return True

    def _numbers(self, count: int) -> tuple[int, ...]:
        if not 0 <= count <= 1 << 20:
            raise struct.error
        return struct.unpack(f"{self._order}{count}i", self._file.read(4 * count))

    def _skip(self, size: int) -> None:
        if size < 0:
            raise struct.error
        self._file.seek(size, os.SEEK_CUR)


_DATES: Final = re.compile(r"(DATE|ADATE|EDATE|JDATE|SDATE)\d*")
_MOMENTS: Final = re.compile(r"(DATETIME|YMDHMS)\d*(\.\d+)?")

_PACKAGE: Final = Package(
    title="SPSS",
    reader="read_sav",
    moments=Moments(
        origin=np.datetime64("1582-10-14"),
        seconds_per_date=1,
        units_per_second=1,
        is_date=lambda shown: _DATES.fullmatch(shown) is not None,
        is_moment=lambda shown: _MOMENTS.fullmatch(shown) is not None,
    ),
    # F8.2 is what SPSS and other tools give a number of which nothing is said.
    whole=re.compile(r"(F|COMMA|DOT|DOLLAR|N)\d+(\.0)?|F8\.2"),
)
_RULES: Final = WriteRules(
    names=NameRules(
        longest=64,
        others=".",
        reserved=frozenset(
            ("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with")
        ),
        folds_case=True,
    ),
    longest_text=32_767,
    longest_label=256,
    longest_value_label=120,
    keeps_trailing_blanks=False,
    labels_text=True,
    largest_integer=0,
    whole_format="F20.0",
    decimal_format="F20.6",
    date_format="DATE11",
    # One of those that every version of the libraries for R and Python knows as a moment.
    moment_format="DATETIME23.2",
)
_TIME_AT: Final = 92
_TIME: Final = b"01 Jan 7000:00:00"
"""The day and time of writing in a file's header: always the same, so that the bytes are."""


class _Spss(StatisticalFormat):
    package = _PACKAGE
    name = "sav"
    title = "SPSS"
    extensions = (".sav", ".zsav")
    order = 40
    reading_options = frozenset(("keep_user_missing", "column_types", "bad_values", "any_size"))
    can_write = True

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith((b"$FL2", b"$FL3"))

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        if not is_sound(path):
            raise damaged(path, _PACKAGE.title)
        return super().read(path, options, context, rows)

    def names_in_file(self, columns: tuple[str, ...]) -> dict[str, str]:
        return _RULES.names.fit(columns)

    def write(self, table: Table, path: Path, context: Context, order: Rows = None) -> WriteResult:
        table = in_order(table, order, Part(context, 0.0, 0.3), path.parent)
        rest = Part(context, 0.3, 1.0)
        result = write_statistical(table, path, _write_data, _RULES, _PACKAGE, rest)
        if not holds_rows(path, _PACKAGE, table.rows):
            raise not_whole()
        with path.open("r+b") as file:
            file.seek(_TIME_AT)
            file.write(_TIME)
        return result


def _write_data(frame: Any, path: Path, **described: Any) -> None:
    import pyreadstat  # noqa: PLC0415

    pyreadstat.write_sav(frame, path, row_compress=True, **described)


FORMAT: Final = _Spss()
