"""Files of statistical programs: SPSS .sav, Stata .dta, SAS .sas7bdat with a catalog of labels."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final

import numpy as np

from sfumato.engine.core.periods import Period
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.formats.errors import (
    BadOptions,
    DamagedFile,
    EmptyFile,
    UnknownFormat,
    UnsupportedColumn,
    Way,
)
from sfumato.formats.files import is_file
from sfumato.formats.notes import WEIGHTED, Note
from sfumato.formats.options import ReadOptions
from sfumato.formats.statistical.child import names_of_tables
from sfumato.formats.statistical.dates import MomentStorage
from sfumato.formats.statistical.displays import sas_display, spss_display, stata_display
from sfumato.formats.statistical.encodings import library_name
from sfumato.formats.statistical.reading import (
    LibraryProcess,
    Package,
    StatisticalFormat,
    damaged,
)
from sfumato.formats.statistical.writing import (
    NameRules,
    WritableFormat,
    WriteRules,
    holds_rows,
    not_whole,
)
from sfumato.formats.table_format import ReadResult

_HEADER_BYTES: Final = 176
_LAYOUT_AT: Final = 64
_WEIGHT_AT: Final = 76
"""Where the place stands of the variable that weights the records, from 1; 0 for none."""
_LITTLE_LAYOUTS: Final = frozenset({b"\2\0\0\0", b"\3\0\0\0"})
_VARIABLE, _LABELS, _LABELLED, _DOCUMENT, _EXTENSION = 2, 3, 4, 6, 7
_WIDEST: Final = 255
_ENCODING_NAME: Final = 20
"""The subtype of the extension that names an encoding."""
_MACHINE: Final = (3, 4, 8)
"""Subtype, size and count of the extension whose last number is the code page."""
_ASCII_PAGES: Final = (2, 3)


def is_sound(path: Path) -> bool:
    """Whether each text has its room, and all labels belong to variables that are there.

    A text of more than 8 bytes takes further records of variables, marked by -1.
    """
    with path.open("rb") as file:
        dictionary = _Dictionary(file)
        try:
            return dictionary.is_sound()
        except (struct.error, OSError, OverflowError):
            return False


def _usual_encoding(path: Path) -> str | None:
    """Return in which encoding a file without a stated one is read; None if it has one.

    SPSS before version 15 stated a code page at most, and often that of ASCII whatever it wrote.
    """
    dictionary = _gone_through(path)
    if dictionary.states_encoding:
        return None
    return "cp1252" if dictionary.code_page in _ASCII_PAGES else "utf-8"


def _gone_through(path: Path) -> _Dictionary:
    """Return what stands before a file's rows, as far as it can be read."""
    with path.open("rb") as file:
        dictionary = _Dictionary(file)
        with suppress(struct.error, OSError, OverflowError):
            dictionary.is_sound()
    return dictionary


class _Dictionary:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._head = file.read(_HEADER_BYTES)
        little = self._head[_LAYOUT_AT : _LAYOUT_AT + 4] in _LITTLE_LAYOUTS
        self._order = "<" if little else ">"
        self._widths: list[int] = []
        self._named = False
        self.code_page = 0
        """The number of the code page; 0 where none is stated."""

    @property
    def states_encoding(self) -> bool:
        """Whether what was gone through says in which encoding texts are."""
        return self._named or self.code_page not in {0, *_ASCII_PAGES}

    @property
    def weight(self) -> int | None:
        """Which number of what was gone through weights the records, from 0; None if none."""
        (place,) = struct.unpack_from(f"{self._order}i", self._head, _WEIGHT_AT)
        if not 1 <= place <= len(self._widths) or self._widths[place - 1] != 0:
            return None
        return self._widths[: place - 1].count(0)

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
            subtype, size, count = self._numbers(3)
            self._named = self._named or subtype == _ENCODING_NAME
            if (subtype, size, count) == _MACHINE:
                self.code_page = self._numbers(count)[-1]
            else:
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
    moments=MomentStorage(
        origin=np.datetime64("1582-10-14"),
        seconds_per_date=1,
        units_per_second=1,
        is_date=lambda shown: _SPSS_DATES.fullmatch(shown) is not None,
        is_moment=lambda shown: _SPSS_MOMENTS.fullmatch(shown) is not None,
    ),
    display=spss_display,
    # F8.2 is what SPSS and other tools give a number of which nothing is said.
    whole=re.compile(r"(F|COMMA|DOT|DOLLAR|N)\d+(\.0)?|F8\.2"),
    reasons_by_codes=True,
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
    missing_letters=False,
    period_formats={
        Period.MONTH: "MOYR8",
        Period.QUARTER: "QYR8",
        Period.WEEK: "WKYR10",
    },
    time_formats=("TIME5", "TIME8", "TIME10.1", "TIME11.2", "TIME12.3"),
)
_ENCRYPTED: Final = b"ENCRYPTEDSAV"
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
    reading_options = StatisticalFormat.reading_options | {"keep_user_missing"}

    def recognises(self, path: Path, head: bytes) -> bool:
        if head[8:].startswith(_ENCRYPTED):
            raise UnknownFormat(
                "{file} is an SPSS file with a password, and encrypted.",
                "Open it in SPSS, and save it without a password.",
                file=path.name,
            )
        return head.startswith((b"$FL2", b"$FL3"))

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        if not is_sound(path):
            raise damaged(path, _SPSS.title)
        found = super().read(path, options, context, rows)
        weight = _gone_through(path).weight if options.version > 1 else None
        if weight is None:
            return found
        with self._library(path, options) as library:
            encoding = library_name(options.encoding)
            _, told = library.call(Silent(), metadataonly=True, encoding=encoding)
        numbers = [name for name in told["names"] if told["kinds"][name] != "string"]
        weighted = (_weighted_note(name) for name in numbers[weight : weight + 1])
        return replace(found, notes=(*found.notes, *weighted))

    def usual_encoding(self, path: Path) -> str | None:
        return _usual_encoding(path)

    def finish(self, path: Path, rows: int) -> None:
        if not holds_rows(path, _SPSS, rows):
            raise not_whole()
        with path.open("r+b") as file:
            file.seek(_SPSS_TIME_AT)
            file.write(_SPSS_TIME)


def _weighted_note(column: str) -> Note:
    return Note(
        WEIGHTED,
        {"title": _SPSS.title, "column": column},
        caution=True,
        columns=(column,),
    )


SPSS: Final = _Spss()


_FIRST_IN_UNICODE: Final = 118
_OLD_VERSIONS: Final = frozenset(range(104, 116))

_STATA: Final = Package(
    title="Stata",
    reader="read_dta",
    moments=MomentStorage(
        origin=np.datetime64("1960-01-01"),
        seconds_per_date=86_400,
        units_per_second=1_000,
        is_date=lambda shown: shown.startswith(("%td", "%d", "%-td", "%-d")),
        is_moment=lambda shown: shown.startswith(("%tc", "%tC", "%-tc", "%-tC")),
    ),
    display=stata_display,
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
    missing_letters=True,
    period_formats={
        Period.YEAR: "%ty",
        Period.HALF_YEAR: "%th",
        Period.QUARTER: "%tq",
        Period.MONTH: "%tm",
        Period.WEEK: "%tw",
    },
    time_formats=("%tcHH:MM", *(f"%tcHH:MM:SS{part}" for part in ("", ".s", ".ss", ".sss"))),
)
_STATA_TIME: Final = b"01 Jan 1970 00:00"
_STATA_TIME_MARK: Final = b"<timestamp>\x11"
_MAP_MARK: Final = b"<map>"
_END_IN_MAP: Final = 13 * 8
"""Where in the file's map of itself its end stands, after the starts of its parts."""
_TEXTS_IN_MAP: Final = 10 * 8
_TEXTS_MARK: Final = b"<strls>"
_BINARY: Final = 129
_FIRST_IN_PARTS: Final = 117
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

    def usual_encoding(self, path: Path) -> str | None:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        newer = re.search(rb"<release>(\d+)</release>", head)
        return None if newer and int(newer[1]) >= _FIRST_IN_UNICODE else "cp1252"

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        """Read a file, or its first rows; see `read_statistical`.

        Raises
        ------
        UnsupportedColumn
            If it holds bytes that are no text.
        """
        places = _binary_texts(path) if options.version > 1 else None
        if places is not None:
            variable, row = places
            raise UnsupportedColumn(
                "{file} holds bytes that are no text (strL), first in column number {column}, row"
                " {row}.",
                "Drop this column in Stata, or write what it holds as text.",
                file=path.name,
                column=variable,
                row=row,
            )
        return super().read(path, options, context, rows)

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


def _binary_texts(path: Path) -> tuple[int, int] | None:
    """Return the column and row, from 1, of the first long text that is stated to be binary.

    The library reads it as a text, up to its first NUL.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        newer = re.search(rb"<release>(\d+)</release><byteorder>(MSF|LSF)", head)
        map_at = head.find(_MAP_MARK)
        if newer is None or map_at < 0:
            return None
        order = "<" if newer[2] == b"LSF" else ">"
        # Rows have 4 bytes in the first version that has such texts, and 8 in all later ones.
        entry = struct.Struct(f"{order}3sI{'I' if int(newer[1]) == _FIRST_IN_PARTS else 'Q'}BI")
        (begin,) = struct.unpack_from(f"{order}Q", head, map_at + len(_MAP_MARK) + _TEXTS_IN_MAP)
        file.seek(begin)
        if file.read(len(_TEXTS_MARK)) != _TEXTS_MARK:
            return None
        while len(told := file.read(entry.size)) == entry.size:
            mark, variable, row, kind, length = entry.unpack(told)
            if mark != b"GSO":
                break
            if kind == _BINARY:
                return variable, row
            file.seek(length, os.SEEK_CUR)
    return None


STATA: Final = _Stata()


_MAGIC: Final = bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c"
_SAS_ENCODING_AT: Final = 70
_SAS_DATES: Final = re.compile(
    r"(DATE|DTDATE|WEEKDATE|WEEKDATX|(MMDDYY|DDMMYY|YYMMDD)[BCDNPS]?|(IS|[EB])8601DA)[\d.]*"
)
_SAS_MOMENTS: Final = re.compile(r"(DATETIME|DATEAMPM|MDYAMPM|(IS|[EB])8601D[TN])[\d.]*")

_SAS_FORMATS: Final = re.compile(
    r"BEST[DX]?|F|NUM(ERIC|X)?|COMMAX?|DOLLARX?|EUROX?|D|E|Z|PERCENTN?|NEGPAREN|FRACT|HEX|BINARY"
    r"|OCTAL|ROMAN|SSN|WORD[SF]|P?IBR?|P[DK]|RB|ZD[BV]?|S370F\w*|YEN|NL(MN|NUM|BEST|PCT|NI)\w*"
    r"|BITS|FLOAT|IEEER?|ODDSR|PVALUE|SIZEK(MG)?|VAXRB|VMSZN"
    r"|\$(CHAR|F|VARYING|HEX|BINARY|OCTAL|QUOTE|REVER[JS]|UPCASE|ASCII|EBCDIC|BASE64X|MSGCASE"
    r"|KANJIX?|N8601\w*|(UCS|UTF|UESC|UPAREN|LOG|VISLOG|BIDI|CPT)\w*)?"
)
"""SAS's own formats that are not of dates, without their widths."""

_SAS: Final = Package(
    title="SAS",
    reader="read_sas7bdat",
    moments=MomentStorage(
        origin=np.datetime64("1960-01-01"),
        seconds_per_date=86_400,
        units_per_second=1,
        is_date=lambda shown: _SAS_DATES.fullmatch(shown) is not None,
        is_moment=lambda shown: _SAS_MOMENTS.fullmatch(shown) is not None,
    ),
    display=sas_display,
    # Most numbers have no format; of the others, those that show no decimals.
    whole=re.compile(r"|(BEST|F|Z|COMMA|[A-Z]\w*[A-Z_])?\d*(\.0?)?"),
    built_in=_SAS_FORMATS,
)


class _SasFile(StatisticalFormat):
    package = _SAS
    name = "sas7bdat"
    title = "SAS"
    extensions = (".sas7bdat",)
    order = 60

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(_MAGIC)

    def usual_encoding(self, path: Path) -> str | None:
        with path.open("rb") as file:
            file.seek(_SAS_ENCODING_AT)
            return "cp1252" if file.read(1) == b"\0" else None

    def label_sets(self, path: Path, options: ReadOptions) -> Mapping[str, Mapping[Any, str]]:
        return _catalog_labels(path, options)


def _catalog_labels(path: Path, options: ReadOptions) -> dict[str, dict[Any, str]]:
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
        _, found = library.call(Silent(), encoding=library_name(options.encoding))
    if found is None:
        raise DamagedFile(
            "The catalog {file} with the value labels can't be read.",
            "Copy it again, or move it away: the table can be read without it.",
            file=catalog.name,
        )
    return {name: dict(pairs) for name, pairs in found["label_sets"].items()}


SAS: Final = _SasFile()


_PORTABLE_AT: Final = 456
"""Where a portable file says what it is, its ends of lines not counted."""


class _Portable(StatisticalFormat):
    package = replace(_SPSS, title="SPSS portable", reader="read_por", richer=".sav")
    name = "por"
    title = "SPSS portable"
    extensions = (".por",)
    order = 45
    reading_options = StatisticalFormat.reading_options - {"missing_reasons", "encoding"}

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        start = head[:600].replace(b"\r", b"").replace(b"\n", b"")
        return start[_PORTABLE_AT:].startswith(b"SPSSPORT")


_TRANSPORT: Final = b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!"
_TRANSPORT_8: Final = b"HEADER RECORD*******LIBV8   HEADER RECORD!!!!!!!"
_CPORT: Final = b"**COMPRESSED** **COMPRESSED**"


class _Transport(StatisticalFormat):
    package = replace(_SAS, title="SAS transport", reader="read_xport", richer=".sas7bdat")
    name = "xpt"
    title = "SAS transport"
    extensions = (".xpt", ".xport", ".stx")
    order = 65
    reading_options = (StatisticalFormat.reading_options | {"sheet"}) - {"missing_reasons"}

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith((_TRANSPORT, _TRANSPORT_8, _CPORT))

    def usual_encoding(self, path: Path) -> str:  # noqa: ARG002
        return "utf-8"

    def detect_beside(self, path: Path, stated: Mapping[str, Any]) -> ReadOptions:
        """Propose how to read a file: the first of several tables, unless another is stated."""
        names = self.sheets(path, Silent())
        found = super().detect_beside(path, stated)
        return replace(found, sheet=found.sheet or (names[0] if names else ""))

    def sheets(self, path: Path, context: Context) -> tuple[str, ...]:  # noqa: ARG002
        with path.open("rb") as file:
            names = tuple(names_of_tables(file))
        return names if len(names) > 1 else ()

    def table_read(self, path: Path, options: ReadOptions) -> int:
        names = self.sheets(path, Silent())
        if not options.sheet:
            return 0
        if options.sheet not in names:
            raise BadOptions(
                "{file} has no table called {table}.",
                "Choose one of: {known}." if names else "Leave out which table is read.",
                file=path.name,
                table=options.sheet,
                known=", ".join(names),
            )
        return names.index(options.sheet)

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        """Read one table of a file, and say which where there are several.

        Raises
        ------
        UnknownFormat
            If the file was written by PROC CPORT, whose form is not published.
        BadOptions
            If it has no such table.
        """
        with path.open("rb") as file:
            if file.read(len(_CPORT)) == _CPORT:
                raise UnknownFormat(
                    "{file} was written by PROC CPORT of SAS, which SAS alone can read.",
                    "Write the table there as .sas7bdat, or by the engine XPORT as .xpt.",
                    file=path.name,
                )
        names = self.sheets(path, context)
        if not names:
            return super().read(path, options, context, rows)
        read = names[self.table_read(path, options)]
        left = tuple(name for name in names if name != read)
        others = listed(left)
        try:
            found = super().read(path, options, context, rows)
        except EmptyFile:
            raise EmptyFile(
                "The table {table} of {file} has no records.",
                "Choose another of its tables: {others}.",
                ways=[
                    Way(Sentence("Read {table}", table=name), replace(options, sheet=name))
                    for name in left
                ],
                table=read,
                file=path.name,
                others=others,
            ) from None
        note = Note(
            "The file holds {count} {count:table|tables}: {table} is read. Another can be chosen as"
            " its sheet: {others}.",
            {"count": len(names), "table": read, "others": others},
            caution=True,
            count=len(names),
        )
        return replace(found, notes=(*found.notes, note))


PORTABLE: Final = _Portable()
TRANSPORT: Final = _Transport()
FORMATS: Final = (SPSS, PORTABLE, STATA, SAS, TRANSPORT)
