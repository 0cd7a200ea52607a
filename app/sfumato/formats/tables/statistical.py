"""Files of statistical programs: SPSS .sav, Stata .dta, SAS .sas7bdat with a catalog of labels."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final

import numpy as np

from sfumato.engine.core.progress import Context, Silent
from sfumato.formats.errors import DamagedFile
from sfumato.formats.files import is_file
from sfumato.formats.options import ReadOptions
from sfumato.formats.statistical.reading import (
    LibraryProcess,
    Moments,
    Package,
    StatisticalFormat,
    damaged,
    holds_rows,
)
from sfumato.formats.statistical.writing import NameRules, WritableFormat, WriteRules, not_whole
from sfumato.formats.table_format import ReadResult

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


_SPSS_DATES: Final = re.compile(r"(DATE|ADATE|EDATE|JDATE|SDATE)\d*")
_SPSS_MOMENTS: Final = re.compile(r"(DATETIME|YMDHMS)\d*(\.\d+)?")

_SPSS: Final = Package(
    title="SPSS",
    reader="read_sav",
    moments=Moments(
        origin=np.datetime64("1582-10-14"),
        seconds_per_date=1,
        units_per_second=1,
        is_date=lambda shown: _SPSS_DATES.fullmatch(shown) is not None,
        is_moment=lambda shown: _SPSS_MOMENTS.fullmatch(shown) is not None,
    ),
    # F8.2 is what SPSS and other tools give a number of which nothing is said.
    whole=re.compile(r"(F|COMMA|DOT|DOLLAR|N)\d+(\.0)?|F8\.2"),
)
_SPSS_RULES: Final = WriteRules(
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
_SPSS_TIME_AT: Final = 92
_SPSS_TIME: Final = b"01 Jan 7000:00:00"
"""The day and time of writing in a file's header: always the same, so that the bytes are."""


class _Spss(WritableFormat):
    package, rules = _SPSS, _SPSS_RULES
    writer, settings = "write_sav", MappingProxyType({"row_compress": True})
    name = "sav"
    title = "SPSS"
    extensions = (".sav", ".zsav")
    order = 40
    reading_options = frozenset(("keep_user_missing", "column_types", "bad_values", "any_size"))

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith((b"$FL2", b"$FL3"))

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        if not is_sound(path):
            raise damaged(path, _SPSS.title)
        return super().read(path, options, context, rows)

    def finish(self, path: Path, rows: int) -> None:
        if not holds_rows(path, _SPSS, rows):
            raise not_whole()
        with path.open("r+b") as file:
            file.seek(_SPSS_TIME_AT)
            file.write(_SPSS_TIME)


SPSS: Final = _Spss()


_OLD_VERSIONS: Final = frozenset(range(104, 116))

_STATA: Final = Package(
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
_STATA_RULES: Final = WriteRules(
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
_STATA_TIME: Final = b"01 Jan 1970 00:00"
_STATA_TIME_MARK: Final = b"<timestamp>\x11"
_MAP_MARK: Final = b"<map>"
_END_IN_MAP: Final = 13 * 8
"""Where in the file's map of itself its end stands, after the starts of its parts."""
_HEAD_BYTES: Final = 4096


class _Stata(WritableFormat):
    package, rules = _STATA, _STATA_RULES
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
            time_at = head.find(_STATA_TIME_MARK) + len(_STATA_TIME_MARK)
            end_at = head.find(_MAP_MARK) + len(_MAP_MARK) + _END_IN_MAP
            end = int.from_bytes(head[end_at : end_at + 8], "little")
            if _MAP_MARK not in head or end != file.seek(0, os.SEEK_END):
                raise not_whole()
            file.seek(time_at)
            file.write(_STATA_TIME)


STATA: Final = _Stata()


_MAGIC: Final = bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c"
_SAS_DATES: Final = re.compile(
    r"(DATE|DTDATE|WEEKDATE|WEEKDATX|(MMDDYY|DDMMYY|YYMMDD)[BCDNPS]?|(IS|[EB])8601DA)[\d.]*"
)
_SAS_MOMENTS: Final = re.compile(r"(DATETIME|DATEAMPM|MDYAMPM|(IS|[EB])8601D[TN])[\d.]*")

_SAS: Final = Package(
    title="SAS",
    reader="read_sas7bdat",
    moments=Moments(
        origin=np.datetime64("1960-01-01"),
        seconds_per_date=86_400,
        units_per_second=1,
        is_date=lambda shown: _SAS_DATES.fullmatch(shown) is not None,
        is_moment=lambda shown: _SAS_MOMENTS.fullmatch(shown) is not None,
    ),
    # Most numbers have no format; of the others, those that show no decimals.
    whole=re.compile(r"|(BEST|F|Z|COMMA|[A-Z]\w*[A-Z_])?\d*(\.0?)?"),
)


class _Sas(StatisticalFormat):
    package = _SAS
    name = "sas7bdat"
    title = "SAS"
    extensions = (".sas7bdat",)
    order = 60

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(_MAGIC)

    def label_sets(self, path: Path) -> Mapping[str, Mapping[Any, str]]:
        return _catalog_labels(path)


def _catalog_labels(path: Path) -> dict[str, dict[Any, str]]:
    """Return the sets of value labels of a catalog of the same name beside the file.

    Raises
    ------
    DamagedFile
        If there is one and it can't be read.
    """
    catalog = path.with_suffix(".sas7bcat")
    if not is_file(catalog):
        return {}
    found = None
    with suppress(DamagedFile), LibraryProcess(catalog, "read_sas7bcat", "SAS") as library:
        _, found = library.call(Silent())
    if found is None:
        raise DamagedFile(
            "The catalog {file} with the value labels can't be read.",
            "Copy it again, or move it away: the table can be read without it.",
            file=catalog.name,
        )
    return {name: dict(pairs) for name, pairs in found["label_sets"].items()}


SAS: Final = _Sas()
FORMATS: Final = (SPSS, STATA, SAS)
