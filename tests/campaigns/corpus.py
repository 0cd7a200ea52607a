"""Inputs of every kind that is read, made by code, from which a campaign starts."""

from __future__ import annotations

import datetime as dt
import io
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.writing import write_bundle
from sfumato.formats.reading import write_table
from sfumato.project.rules.rules import rules_of
from tests.formats.bundles import case
from tests.formats.sas_files import SasColumn, write_sas
from tests.formats.test_other_workbooks import old_workbook, open_document
from tests.formats.workbooks import zipped
from tests.late import LateModule
from tests.project.making import document, new_project

duckdb = LateModule("duckdb")

TELLTALES: Final = ("xanthic", "48151623")
"""Values that stand in cells and that no message may hold."""

Corpus = dict[str, tuple[bytes, ...]]


def _frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": ["xanthic", "Møller", None, "a,b;c", 'say "no"'] * 4,
            "count": pd.array([48151623, 2, None, 4, 5] * 4, dtype="Int64"),
            "share": [0.25, np.nan, 1e10, -3.5, 0.0] * 4,
            "day": pd.Series(pd.date_range("1950-01-01", periods=20, freq="D")),
            "seen": pd.Series(pd.date_range("2024-01-01 10:30:15", periods=20, freq="h")),
            "yes": [True, False] * 10,
            "kind": pd.Categorical(["a", "b", "a", "c"] * 5),
        }
    )


def _written(format_name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{format_name}"
        write_table(Table(_frame(), {"count": {2: "two"}}), path, format_name, Silent())
        return path.read_bytes()


def _delimited() -> tuple[bytes, ...]:
    text = _frame().to_csv(index=False)
    other = _frame().to_csv(index=False, sep=";", decimal=",")
    wide = ",".join(f"c{i}" for i in range(300)) + "\n" + ",".join(["48151623"] * 300) + "\n"
    return (
        _written("csv"),
        text.encode(),
        other.encode("latin-1"),
        _frame().to_csv(index=False, sep="\t").encode("utf-16"),
        wide.encode(),
        *(national.encode(encoding) for encoding, national in _NATIONAL),
        b"a\n" + b"1\n" * 500,
    )


_NATIONAL: Final = (
    ("cp1251", "номер,пол\n48151623,муж\n2,жен\n"),
    ("gb18030", "编号,性别\n48151623,男性居民\n2,女性居民\n"),
    ("cp932", "番号,性別\n48151623,東京都の男性\n2,大阪府の女性\n"),
    ("cp850", "nr,ort\n48151623,Köln\n2,Gießen\n"),
    ("utf-32", "nr,ort\n48151623,Köln\n2,Gießen\n"),
)
LAYOUT: Final = ("name 1 8", "count 9 9", "share 18 5")


def _of_fixed_width() -> tuple[bytes, ...]:
    lines = [f"{name:<8}{number:>9} {number / 7:.3f}"[:23] for name, number in _PEOPLE * 9]
    text = "".join(f"{line}\n" for line in lines)
    return tuple(text.encode(encoding) for encoding in ("utf-8", "cp1252", "utf-16"))


_PEOPLE: Final = (("xanthic", 48151623), ("Møller", 2), ("", 3))


def _layouts() -> tuple[bytes, ...]:
    return (
        b"name,start,width,label\nsex,7,1,Sex\nage,8,3,\n",
        b"name;start;end\nsex;7;7\nage;8;10\n",
        b"DATA LIST FILE='a.dat' RECORDS=1\n /1 sex 7 age 8-10 name 11-20 (A).\nEXECUTE.\n",
        b"infix str sex 7 byte age 8-10 using a.dat, clear\n",
        b'<codeBook><var name="sex"><location StartPos="7" EndPos="7" width="1"/></var>'
        b'<var ID="V2" name="age"><location StartPos="8" EndPos="10"/></var></codeBook>',
    )


def _workbooks() -> tuple[bytes, ...]:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(_frame()))
    for row in _frame().astype(object).itertuples(index=False):
        sheet.append([None if pd.isna(cell) else cell for cell in row])
    sheet["I2"] = "=1+1"
    book.create_sheet("Second").append(["a", dt.date(2024, 1, 1)])
    out = io.BytesIO()
    book.save(out)
    return (out.getvalue(),)


def _saved(save: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        save(path)
        return path.read_bytes()


def _reasons_and_periods(path: Path, kind: str) -> None:
    """Save an SPSS or Stata file with reasons for missing values and months."""
    frame = pd.DataFrame({"answer": [1.0, 2.0, 99999.0, 48151623.0], "month": [96.0, 97, 98, 99]})
    labels = {"answer": {99999: "refused"}}
    if kind == "sav":
        ranges = {"answer": [{"lo": 99998, "hi": 99999}]}
        frame["month"] = [1.2e10, 1.25e10, 1.3e10, 1.3e10]
        pyreadstat.write_sav(
            frame,
            path,
            variable_value_labels=labels,
            missing_ranges=ranges,
            variable_format={"month": "MOYR8"},
        )
        return
    frame["answer"] = pd.Series([1.0, "a", "b", 48151623.0], dtype=object)
    pyreadstat.write_dta(
        frame,
        path,
        version=15,
        variable_value_labels={"answer": {1: "yes", "a": "refused"}},
        missing_user_values={"answer": ["a", "b"]},
        variable_format={"month": "%tm"},
    )


def _transport(version: int) -> bytes:
    frame = pd.DataFrame({"NAME": ["xanthic", "b"], "DAY": [3000.0, np.nan]})
    formats = {"DAY": "DATE9"}
    return _saved(
        lambda path: pyreadstat.write_xport(
            frame, path, file_format_version=version, variable_format=formats
        )
    )


def _portable() -> bytes:
    frame = pd.DataFrame({"NAME": ["xanthic", "b"], "MON": [1.2e10, np.nan]})
    return _saved(lambda path: pyreadstat.write_por(frame, path, variable_format={"MON": "MOYR8"}))


def _other_workbooks(save: Callable[[Path], Path]) -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        return (save(Path(folder) / "book").read_bytes(),)


def _sas() -> tuple[bytes, ...]:
    columns = [
        SasColumn("name", ["xanthic", "b", None]),
        SasColumn("count", [48151623.0, None, 2.0]),
        SasColumn("day", [1.0, 2.0, 3.0], format="DATE9"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        return (write_sas(Path(folder) / "t.sas7bdat", columns).read_bytes(),)


def _sqlite() -> tuple[bytes, ...]:
    made = []
    for encoding in ("UTF-8", "UTF-16"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.sqlite"
            with closing(sqlite3.connect(path)) as connection:
                connection.execute(f"PRAGMA encoding = '{encoding}'")
                _frame().to_sql("people", connection, index=False)
                connection.execute("CREATE INDEX of_kind ON people (kind, share > 1)")
                connection.execute("CREATE VIEW few AS SELECT name AS who, count FROM people")
                connection.commit()
            made.append(path.read_bytes())
    return tuple(made)


def _duckdb() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute("CREATE TABLE people (name VARCHAR, count BIGINT, day DATE)")
            connection.execute(
                "INSERT INTO people VALUES ('xanthic', 48151623, '2024-01-01'), (NULL, 2, NULL)"
            )
        return (path.read_bytes(),)


def _bundle(format_name: str) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bundle(case().contents, folder, format_name, Silent())
        return zipped({path.name: path.read_bytes() for path in sorted(folder.iterdir())})


def _packages() -> tuple[bytes, ...]:
    description = (
        b'{"name": "p", "resources": [{"name": "t", "path": "in/t.csv", "dialect": '
        b'{"delimiter": ";"}, "schema": {"fields": [{"name": "a", "type": "integer"},'
        b' {"name": "b", "type": "string"}], "missingValues": ["", "-"]}}]}'
    )
    return (zipped({"datapackage.json": description, "in/t.csv": b"a;b\n48151623;xanthic\n-;y\n"}),)


def _hierarchies() -> tuple[bytes, ...]:
    ages = "".join(f"{age};[{age // 5 * 5}, {age // 5 * 5 + 5});*\n" for age in range(20, 40))
    return (ages.encode(), b"value,level1,level2\nA,x,*\nB,x,*\n", ages.encode("utf-16"))


def _projects() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        with new_project(Path(folder)) as project:
            path = project.path
        return (path.read_bytes(),)


_MAKERS: Final[dict[str, Callable[[], tuple[bytes, ...]]]] = {
    "csv": _delimited,
    "fixed": _of_fixed_width,
    "layout": _layouts,
    "parquet": lambda: (_written("parquet"),),
    "xlsx": _workbooks,
    "xls": lambda: _other_workbooks(old_workbook),
    "ods": lambda: _other_workbooks(open_document),
    "sav": lambda: (_written("sav"), _saved(lambda path: _reasons_and_periods(path, "sav"))),
    "dta": lambda: (_written("dta"), _saved(lambda path: _reasons_and_periods(path, "dta"))),
    "por": lambda: (_portable(),),
    "xpt": lambda: tuple(map(_transport, (5, 8))),
    "sas7bdat": _sas,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "bundle": lambda: tuple(map(_bundle, ("csv", "parquet", "sav", "dta"))),
    "package": _packages,
    "hierarchy": _hierarchies,
    "rules": lambda: (rules_of(document()).encode(),),
    "project": _projects,
}
KINDS: Final = tuple(_MAKERS)


@cache
def seeds(kind: str) -> tuple[bytes, ...]:
    """Return the inputs of a kind, whole and sound."""
    return _MAKERS[kind]()


def members(packed: bytes) -> dict[str, bytes]:
    """Return the files in a zip."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
