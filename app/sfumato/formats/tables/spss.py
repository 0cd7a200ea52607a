"""SPSS .sav files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyreadstat

from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.base import ReadResult, TableFormat, WriteResult
from sfumato.formats.columns.retyping import with_fixed_types
from sfumato.formats.options import ReadOptions
from sfumato.formats.statistical.package import Moments, NameRules, Package, WriteRules
from sfumato.formats.statistical.process import damaged
from sfumato.formats.statistical.reading import read_statistical
from sfumato.formats.statistical.spss_dictionary import is_sound
from sfumato.formats.statistical.writing import write_statistical

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


class _Spss(TableFormat):
    name = "sav"
    title = "SPSS"
    extensions = (".sav", ".zsav")
    order = 40
    reading_options = frozenset(("keep_user_missing", "column_types", "bad_values", "any_size"))
    can_write = True

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith((b"$FL2", b"$FL3"))

    def detect(self, path: Path) -> ReadOptions:  # noqa: ARG002
        return ReadOptions(format=self.name)

    def preview(self, path: Path, options: ReadOptions, rows: int) -> Table:
        if not is_sound(path):
            raise damaged(path, _PACKAGE.title)
        shown = read_statistical(path, _PACKAGE, options, Silent(), rows)
        return with_fixed_types(shown, options.tolerant()).table

    def read(self, path: Path, options: ReadOptions, context: Context) -> ReadResult:
        if not is_sound(path):
            raise damaged(path, _PACKAGE.title)
        return with_fixed_types(read_statistical(path, _PACKAGE, options, context), options)

    def names_in_file(self, columns: tuple[str, ...]) -> dict[str, str]:
        return _RULES.names.fit(columns)

    def write(self, table: Table, path: Path, context: Context) -> WriteResult:
        result = write_statistical(table, path, _write_data, _RULES, _PACKAGE, context)
        with path.open("r+b") as file:
            file.seek(_TIME_AT)
            file.write(_TIME)
        return result


def _write_data(frame: Any, path: Path, **described: Any) -> None:
    pyreadstat.write_sav(frame, path, row_compress=True, **described)


FORMAT: Final = _Spss()
