"""Inputs of every kind that is read, made by code, from which a campaign starts."""

from __future__ import annotations

import datetime as dt
import io
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import openpyxl
import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.writing import write_bundle
from sfumato.formats.reading import write_table
from sfumato.project.rules.rules import rules_of
from tests.formats.bundles import case
from tests.formats.sas_files import SasColumn, write_sas
from tests.formats.workbooks import zipped
from tests.project.making import document, new_project

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
        b"a\n" + b"1\n" * 500,
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


def _sas() -> tuple[bytes, ...]:
    columns = [
        SasColumn("name", ["xanthic", "b", None]),
        SasColumn("count", [48151623.0, None, 2.0]),
        SasColumn("day", [1.0, 2.0, 3.0], format="DATE9"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        return (write_sas(Path(folder) / "t.sas7bdat", columns).read_bytes(),)


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
    "parquet": lambda: (_written("parquet"),),
    "xlsx": _workbooks,
    "sav": lambda: (_written("sav"),),
    "dta": lambda: (_written("dta"),),
    "sas7bdat": _sas,
    "bundle": lambda: (_bundle("csv"), _bundle("parquet"), _bundle("dta")),
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
