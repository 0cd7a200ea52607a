"""Files that are not tables, or not the tables they seem to be."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats import errors
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import detect_options, read_table, write_table
from tests.bad_inputs.workshop import CSV, Act, BadInput, Workshop


def reading(name: str, content: bytes | str, **changes: Any) -> Callable[[Workshop], Act]:
    """A stage on which a file is read as it is proposed, or with other options."""

    def stage(workshop: Workshop) -> Act:
        path = workshop.write(name, content)
        return lambda: read_table(path, replace(detect_options(path), **changes), Silent())

    return stage


def read_at(place: Callable[[Workshop], Path]) -> Callable[[Workshop], Act]:
    """A stage on which something is read that is no file."""
    return lambda workshop: lambda: detect_options(place(workshop))


def options(**plain: Any) -> Callable[[Workshop], Act]:
    return lambda _: lambda: ReadOptions.from_dict(plain)


def writing(
    frame: pd.DataFrame, format_name: str, name: str = "written"
) -> Callable[[Workshop], Act]:
    """A stage on which a table is written."""

    def stage(workshop: Workshop) -> Act:
        table = Table(frame)
        return lambda: write_table(table, workshop.folder / name, format_name, Silent())

    return stage


def cut_short(format_name: str) -> Callable[[Workshop], Act]:
    """A stage on which a good file of a format lost its end."""

    def stage(workshop: Workshop) -> Act:
        whole, cut = workshop.folder / "whole", workshop.folder / f"cut.{format_name}"
        frame = pd.DataFrame({"age": [float(i % 90) for i in range(2000)]})
        write_table(Table(frame), whole, format_name, Silent())
        content = whole.read_bytes()
        cut.write_bytes(content[: len(content) // 3])
        return lambda: read_table(cut, detect_options(cut), Silent())

    return stage


def _parquet() -> bytes:
    file = io.BytesIO()
    pd.DataFrame({"age": range(1000)}).to_parquet(file)
    return file.getvalue()


def _zip_of_a_text() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "Quicksilver")
    return file.getvalue()


SMALL = pd.DataFrame({"age": [1, 2, 3]})

CASES = (
    BadInput(
        "a table that is not there",
        errors.CannotOpen,
        "nowhere.csv",
        read_at(lambda w: w.folder / "nowhere.csv"),
    ),
    BadInput(
        "a folder in the place of a table", errors.CannotOpen, "out", read_at(lambda w: w.out)
    ),
    BadInput("an empty file", errors.EmptyFile, "empty.csv", reading("empty.csv", b"")),
    BadInput(
        "a file with a header and nothing else",
        errors.EmptyFile,
        "header.csv|no r",
        reading("header.csv", "age,diagnosis\n", header=True),
    ),
    BadInput(
        "a row with a field too many",
        errors.RaggedRow,
        "[Rr]ow 3",
        reading("ragged.csv", "age,ward\n1,A\n2,B\n3,C,Quicksilver\n4,D\n"),
    ),
    BadInput(
        "a row with a field too few",
        errors.RaggedRow,
        "[Rr]ow 2",
        reading("short.csv", "age,ward,cost\n1,A,2\n2,B\n4,D,3\n"),
    ),
    BadInput(
        "a quotation mark that never closes",
        errors.OpenQuote,
        "quotation mark",
        reading("quote.csv", 'age,ward\n1,A\n2,"Quicksilver\n3,C\n' + "4,D\n" * 50),
    ),
    BadInput(
        "bytes that are no UTF-8",
        errors.WrongEncoding,
        "UTF-8|utf-8",
        reading("latin.csv", "name,age\nZoé,1\nRené,2\n".encode("latin-1"), encoding="utf-8"),
    ),
    BadInput(
        "an encoding that does not exist",
        errors.BadOptions,
        "no encoding called klingon",
        options(encoding="klingon"),
    ),
    BadInput(
        "a delimiter of two characters",
        errors.BadOptions,
        "delimiter must be one character",
        options(delimiter=";;"),
    ),
    BadInput(
        "a delimiter beyond ASCII",
        errors.BadOptions,
        "delimiter must be an ASCII",
        options(delimiter="¦"),
    ),
    BadInput(
        "one mark for decimals and for thousands",
        errors.BadOptions,
        "can't be the decimal mark",
        options(decimal=",", thousands=","),
    ),
    BadInput(
        "a reading option that does not exist",
        errors.BadOptions,
        "no option colour",
        options(colour="red"),
    ),
    BadInput(
        "a word in a column of numbers",
        errors.BadValue,
        "age",
        reading(
            "word.csv",
            CSV.replace("A010,30,", "A010,Quicksilver,"),
            column_types={"age": ColumnType.INTEGER},
        ),
    ),
    BadInput(
        "a date that the calendar does not have",
        errors.BadValue,
        "admitted",
        reading(
            "date.csv",
            "admitted\n2026-01-31\n2026-02-31\n2026-03-31\n",
            column_types={"admitted": ColumnType.DATE},
        ),
    ),
    BadInput(
        "two columns of one name in a file",
        errors.BadHeader,
        "age",
        reading("twice.csv", "age,age\n1,2\n"),
    ),
    BadInput(
        "a picture that is called a table",
        errors.DamagedFile,
        "picture.csv",
        reading("picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20),
    ),
    BadInput(
        "a Parquet file cut short",
        errors.DamagedFile,
        "cut.parquet",
        reading("cut.parquet", _parquet()[:-400]),
    ),
    BadInput(
        "a zip file that is called a workbook",
        errors.DamagedFile,
        "book.xlsx",
        reading("book.xlsx", _zip_of_a_text()),
    ),
    BadInput(
        "an old workbook that is none",
        errors.DamagedFile,
        "book.xls",
        reading("book.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)),
    ),
    BadInput(
        "an encrypted workbook",
        errors.UnknownFormat,
        "book.xlsx",
        reading(
            "book.xlsx",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
        ),
    ),
    BadInput(
        "a zip file that is called a spreadsheet",
        errors.DamagedFile,
        "book.ods",
        reading("book.ods", _zip_of_a_text()),
    ),
    BadInput("an SPSS file cut short", errors.DamagedFile, "cut.sav", cut_short("sav")),
    BadInput("a Stata file cut short", errors.DamagedFile, "cut.dta", cut_short("dta")),
    BadInput(
        "a SAS file that is none",
        errors.DamagedFile,
        "none.sas7bdat",
        reading("none.sas7bdat", bytes(12) + b"\xc2\xea\x81\x60" + bytes(4000)),
    ),
    BadInput(
        "an SPSS portable file that ends after its head",
        errors.DamagedFile,
        "cut.por",
        reading("cut.por", b"0" * 456 + b"SPSSPORTA8/202611276/150"),
    ),
    BadInput(
        "a SAS transport file that ends after its head",
        errors.DamagedFile,
        "cut.xpt",
        reading("cut.xpt", b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!" + b"0" * 32),
    ),
    BadInput(
        "a transport file of PROC CPORT",
        errors.UnknownFormat,
        "PROC CPORT",
        reading("cport.xpt", b"**COMPRESSED** **COMPRESSED** " + bytes(400)),
    ),
    BadInput(
        "bytes in no known format",
        errors.UnknownFormat,
        "noise.bin",
        reading("noise.bin", bytes(range(256)) * 40),
    ),
    BadInput(
        "a format that nobody knows",
        errors.UnknownFormat,
        "cuneiform",
        writing(SMALL, "cuneiform"),
    ),
    BadInput(
        "a format that is read and not written",
        errors.UnknownFormat,
        "does not write",
        writing(SMALL, "sas7bdat"),
    ),
    BadInput(
        "writing where a folder stands",
        errors.CannotWrite,
        "is a folder",
        writing(SMALL, "csv", "out"),
    ),
    BadInput(
        "writing into a folder that is not there",
        errors.CannotWrite,
        "nowhere",
        writing(SMALL, "csv", "nowhere/table.csv"),
    ),
)
